// bench/worker.cc -- talks with bench/peers/worker.py: a request a line, an answer a line.
#include "bench/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tools/npy/npy.h"

namespace bench {
namespace {

const int PATIENCE = 300; // seconds that one request may take

std::string NewFolder() {
  char dir[] = "/tmp/heddle-bench-XXXXXX";
  if (!mkdtemp(dir)) Die("no temporary folder");
  return dir;
}

void RemoveFolder(const std::string &folder) {
  if (system(("rm -rf '" + folder + "'").c_str()) != 0) fprintf(stderr, "cannot remove %s\n", folder.c_str());
}

} // namespace

// --- inputs ---

Inputs::Inputs() : folder_(NewFolder()) {}
Inputs::~Inputs() { RemoveFolder(folder_); }

void Inputs::Put(const std::string &name, char kind, uint32_t size, const std::vector<int64_t> &length,
                 const void *data) {
  char why[OUT_WHY];
  OutFile out;
  std::string path = folder_ + "/" + name + ".npy";
  if (out_begin(path.c_str(), &out, why) != HD_OK ||
      npy_write(&out, NpyType{kind, size}, int32_t(length.size()), length.data(), data, why) != HD_OK ||
      out_commit(&out, why) != HD_OK)
    Die(why);
}

void Inputs::Array(const std::string &name, const std::vector<int64_t> &length, const Memory<float> &data) {
  Put(name, 'f', 4, length, data.data());
}
void Inputs::Array(const std::string &name, const std::vector<int64_t> &length, const Memory<int32_t> &data) {
  Put(name, 'i', 4, length, data.data());
}
void Inputs::Number(const std::string &name, double value) { Put(name, 'f', 8, {}, &value); }

// --- a worker ---

Worker::Worker(const std::string &name, int threads, const Options &options, const std::string &home)
    : name_(name), wall_(threads > 1) {
  std::string python = options.venvs + "/" + name + "/bin/python", script = options.folder + "/peers/worker.py",
              count = std::to_string(threads);
  if (access(python.c_str(), X_OK) != 0) {
    why_ = "not installed";
    return;
  }
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) Die(std::string("no pipe: ") + strerror(errno));
  const char *argv[] = {python.c_str(), script.c_str(), name.c_str(), count.c_str(), home.c_str(), nullptr};
  pid_ = fork();
  if (pid_ < 0) Die(std::string("cannot start a process: ") + strerror(errno));
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); // stopped as it mostly is, it would outlive us
    dup2(in[0], 0);
    dup2(out[1], 1);
    execv(argv[0], const_cast<char **>(argv));
    _exit(127);
  }
  close(in[0]), close(out[1]);
  to_ = in[1], from_ = out[0];
  std::string answer;
  if (Listen(&answer))
    version_ = answer;
  else
    End();
}

Worker::~Worker() { End(); }

int Worker::End() {
  int status = 0;
  if (pid_ < 0) return status;
  kill(pid_, SIGKILL);
  waitpid(pid_, &status, 0);
  close(to_), close(from_);
  pid_ = -1;
  return status;
}

bool Worker::Ask(const std::string &request, std::string *answer) {
  if (pid_ < 0) return false;
  kill(pid_, SIGCONT);
  std::string line = request + "\n";
  ssize_t n = write(to_, line.data(), line.size());
  if (n != ssize_t(line.size())) kill(pid_, SIGKILL); // it does not listen
  return Listen(answer);
}

// "ok WHAT" or "no WHY"; then the process is stopped.
bool Worker::Listen(std::string *answer) {
  std::string line = rest_;
  while (line.find('\n') == std::string::npos) {
    pollfd p = {from_, POLLIN, 0};
    char buffer[1024];
    int ready = poll(&p, 1, 1000 * PATIENCE);
    if (ready < 0 && errno == EINTR) continue;
    ssize_t n = ready > 0 ? read(from_, buffer, sizeof buffer) : 0;
    if (n <= 0) {
      int status = End();
      if (ready == 0)
        why_ = "no answer in " + std::to_string(PATIENCE) + " s";
      else if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
        why_ = std::string("it ended: ") + strsignal(WTERMSIG(status));
      else
        why_ = "it ended";
      return false;
    }
    line.append(buffer, size_t(n));
  }
  kill(pid_, SIGSTOP);
  size_t end = line.find('\n');
  rest_ = line.substr(end + 1);
  std::string word = line.substr(0, 3);
  *answer = line.substr(std::min<size_t>(3, end), end - std::min<size_t>(3, end));
  if (word == "ok " || word == "ok\n") return true;
  why_ = *answer;
  return false;
}

bool Worker::Prepare(const std::string &workload, const Inputs &inputs, double *first) {
  std::string answer;
  if (!Ask("prepare " + workload + " " + inputs.folder(), &answer)) return false;
  *first = atof(answer.c_str());
  return true;
}

double Worker::Run() {
  std::string answer;
  double cpu, wall;
  if (!Ask("run", &answer)) return NAN;
  if (sscanf(answer.c_str(), "%lf %lf", &cpu, &wall) != 2) return NAN;
  // A thread that only waits may burn time beside the one that works.
  return wall_ ? wall : std::min(cpu, wall);
}

bool Worker::Result(std::vector<float> *out) {
  std::string answer, folder = NewFolder(), path = folder + "/result";
  bool good = Ask("result " + path, &answer);
  if (good) {
    FILE *f = fopen(path.c_str(), "rb");
    out->assign(size_t(atoll(answer.c_str())), 0);
    good = f && fread(out->data(), sizeof(float), out->size(), f) == out->size();
    if (f) fclose(f);
    if (!good) why_ = "its result cannot be read";
  }
  RemoveFolder(folder);
  return good;
}

Workers::Workers(const Options &options) : options_(options), home_(NewFolder()) { signal(SIGPIPE, SIG_IGN); }
Workers::~Workers() {
  workers_.clear();
  RemoveFolder(home_);
}

std::vector<Worker *> Workers::With(int threads) {
  std::vector<Worker *> r;
  for (const std::string &name : options_.peers) {
    std::unique_ptr<Worker> &w = workers_[{name, threads}];
    if (!w) {
      std::string home = home_ + "/" + name;
      mkdir(home.c_str(), 0777);
      w.reset(new Worker(name, threads, options_, home));
      printf("%s, %d thread%s: %s\n", name.c_str(), threads, threads > 1 ? "s" : "",
             w->version().empty() ? w->why().c_str() : w->version().c_str());
      fflush(stdout);
    }
    r.push_back(w.get());
  }
  return r;
}

// --- turns ---

Guest::Guest(Worker *worker, const std::string &workload, const Inputs &inputs,
             const std::function<std::string(const std::vector<float> &)> &same)
    : worker_(worker) {
  std::vector<float> result;
  if (!worker->Prepare(workload, inputs, &first_) || !worker->Result(&result))
    why_ = worker->why();
  else
    why_ = same(result);
}

double Guest::Turn() {
  const double enough = 2; // seconds, after three turns
  if (!why_.empty() || (turns_ > 3 && spent_ > enough)) return NAN;
  double t = worker_->Run();
  turns_++;
  spent_ += t;
  return t;
}

} // namespace bench
