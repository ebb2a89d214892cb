// tests/gpu/device_cubin_test.cc -- machine code by ptxas: kept in the cache, loaded instead of PTX, and PTX wherever that fails. The
// simulated driver takes no machine code, so what is loaded in the end is always PTX there.
#include <fstream>
#include <sstream>

#include "device_fixture.h"

namespace {

class Cubin : public Gpu {
protected:
  void SetUp() override {
    Cache();
    unsetenv("HEDDLE_PTXAS");
  }
  // A program that stands for ptxas and counts its runs.
  std::string Program(const std::string &body) {
    std::string path = cache + "/ptxas";
    std::ofstream(path, std::ios::trunc) << "#!/bin/sh\n# " << serial_++ << "\necho run >>" << cache << "/runs\n"
                                         << body;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  size_t Runs() const {
    std::ifstream f(cache + "/runs");
    std::string line;
    size_t n = 0;
    while (std::getline(f, line)) n++;
    return n;
  }
  // What the files of the cache with this ending hold.
  std::vector<std::string> Entries(const std::string &ending) const {
    std::vector<std::string> all;
    for (const auto &f : std::filesystem::directory_iterator(cache)) {
      if (f.path().extension() != ending) { continue; }
      std::stringstream text;
      text << std::ifstream(f.path(), std::ios::binary).rdbuf();
      all.push_back(text.str());
    }
    return all;
  }
  void ExpectItWorks() {
    HdArray x = New(gpu, {64});
    ASSERT_EQ(Launch("add", {64}, {hd_arg_array(&x), hd_arg_i32(7)}), HD_OK) << Why();
    EXPECT_EQ(Fetch(x), std::vector<int32_t>(64, 7));
    EXPECT_EQ(hd_context_error(ctx)->status, HD_OK);
  }

private:
  int serial_ = 0;
};

// The option as ptxas is given it: the target, then the input, -o and the output.
constexpr char kMakes[] = "grep -q '.visible .entry' \"$2\" || exit 9\nprintf '\\177ELF code for %s' \"$1\" >\"$4\"\n";

TEST_F(Cubin, IsMadeOnceAndKept) {
  std::string program = Program(kMakes);
  options.ptxas = program.c_str();
  for (int round = 0; round < 3; round++) {
    Open("sm=86");
    ExpectItWorks();
    EXPECT_EQ(Runs(), 1u) << "the cache has it";
    EXPECT_NE(log.find("kernel 'add' goes to the driver as PTX: cuModuleLoadDataEx gave 209"), std::string::npos)
        << log;
    Close();
    std::vector<std::string> kept = Entries(".cubin");
    ASSERT_EQ(kept.size(), 1u);
    for (const std::string &part : {std::string("\177ELF code for -arch=sm_86"), std::string("target=sm_86\n"),
                                    "ptxas=" + program, std::string("tier=cubin\nptx=")})
      EXPECT_NE(kept[0].find(part), std::string::npos) << part;
  }
  Open("sm=90"); // another target
  ExpectItWorks();
  EXPECT_EQ(Runs(), 2u);
  Close();
  program = Program(std::string(kMakes) + "# another assembler\n");
  options.ptxas = program.c_str();
  Open("sm=86");
  ExpectItWorks();
  EXPECT_EQ(Runs(), 3u);
  EXPECT_EQ(Entries(".cubin").size(), 3u);
  int64_t whole = 0;
  auto bad = [](void *, const char *, const char *) { return true; };
  EXPECT_EQ(hd_cache_verify(ctx, bad, nullptr, &whole), HD_OK);
  EXPECT_GE(whole, 3);
  EXPECT_EQ(hd_cache_clear(ctx, nullptr), HD_OK);
  EXPECT_EQ(Entries(".cubin").size(), 0u);
}

TEST_F(Cubin, IsDoneWithoutWhereItCannotBeMade) {
  struct Trouble {
    std::string program, why;
  } const troubles[] = {
      {"echo 'ptxas fatal : unknown target' >&2\nexit 255\n", "status 255: ptxas fatal : unknown target"},
      {"exit 0\n", "it wrote nothing"},
      {"kill -9 $$\n", "could not be run to its end"},
      {"yes | head -c 200000\nexit 3\n", "status 3: y"},
      {"rm -f \"$4\"\n", "it wrote nothing"},
  };
  for (const Trouble &t : troubles) {
    std::string program = Program(t.program);
    options.ptxas = program.c_str();
    Open("sm=90");
    ExpectItWorks();
    EXPECT_NE(log.find(t.why), std::string::npos) << t.program << log;
    Close();
    EXPECT_EQ(Entries(".cubin").size(), 0u);
  }
}

TEST_F(Cubin, IsAskedForByNameOrNotAtAll) {
  Program(kMakes);
  const std::string path = std::string(getenv("PATH")), dir = cache + ":" + path;
  setenv("PATH", dir.c_str(), 1);
  options.ptxas = "ptxas";
  Open("sm=90");
  ExpectItWorks();
  EXPECT_EQ(Runs(), 1u);
  Close();
  setenv("HEDDLE_PTXAS", "ptxas", 1);
  options.ptxas = nullptr;
  Open("sm=80");
  ExpectItWorks();
  EXPECT_EQ(Runs(), 2u);
  Close();
  options.ptxas = "";
  Open("sm=75");
  ExpectItWorks();
  EXPECT_EQ(Runs(), 2u) << "off by the option";
  Close();
  unsetenv("HEDDLE_PTXAS");
  options.ptxas = nullptr;
  Open("sm=75");
  ExpectItWorks();
  EXPECT_EQ(Runs(), 2u) << "off unless it is asked for";
  Close();
  options.ptxas = "no-such-assembler";
  Open("sm=75");
  EXPECT_NE(log.find("no ptxas 'no-such-assembler'; the driver assembles"), std::string::npos) << log;
  ExpectItWorks();
  setenv("PATH", path.c_str(), 1);
}

TEST_F(Cubin, IsElfFromTheToolkit) {
  if (system("ptxas --version >/dev/null 2>&1") != 0) { GTEST_SKIP() << "there is no ptxas"; }
  options.ptxas = "ptxas";
  Open("sm=90");
  ExpectItWorks();
  Close();
  std::vector<std::string> kept = Entries(".cubin");
  ASSERT_EQ(kept.size(), 1u) << log;
  EXPECT_NE(kept[0].find("\177ELF"), std::string::npos);
  EXPECT_NE(kept[0].find(".text."), std::string::npos) << "a section of code";
}

TEST_F(Cubin, FindsTheHostFullAndGoesOn) {
  std::string program = Program(kMakes);
  for (int64_t n = 1; n < 400; n++) {
    FailingMemory memory;
    options.ptxas = program.c_str();
    OpenContext("sm=90", &memory);
    ASSERT_EQ(hd_device_find(ctx, "cuda:0", &gpu), HD_OK) << Why();
    ASSERT_EQ(hd_module_load_source(ctx, "t.hd", kKernels, strlen(kKernels), nullptr, &module), HD_OK) << Why();
    HdKernel *k;
    memory.asked = 0, memory.refuse = n;
    HdStatus status = hd_module_kernel(module, "add", gpu, &k);
    bool reached = memory.asked >= n;
    memory.refuse = 0;
    EXPECT_TRUE(status == HD_OK || status == HD_ERR_NOMEM) << Why();
    EXPECT_EQ(hd_module_kernel(module, "add", gpu, &k), HD_OK) << Why();
    Close();
    EXPECT_EQ(memory.out, 0) << n;
    if (!reached || HasFailure()) { break; }
  }
}

} // namespace
