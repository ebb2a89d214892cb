// tests/gpu/on_interpreter.cc -- memory, launches and faults for the PTX interpreter.
#include "on_interpreter.h"
#include "base/format.h"

#include <cstring>

namespace gpu {
namespace {

class Simulated {
public:
  Simulated(const std::string &bytes, const Way &way, const Schedule &schedule)
      : bytes_(bytes), artifact_(bytes_), way_(way), schedule_(schedule) {
    if (!artifact_.Ok()) {
      problem = "the artifact cannot be read";
      return;
    }
    PtxError err = {};
    space_ = ptx_space_new();
    module_ = ptx_parse(static_cast<const char *>(artifact_.a.code), artifact_.a.code_size - 1, &err);
    if (!module_ || ptx_link(module_, space_, nullptr, nullptr, &err)) problem = err.text;
  }
  ~Simulated() {
    if (module_) ptx_module_free(module_);
    if (space_) ptx_space_free(space_);
  }
  Simulated(const Simulated &) = delete;

  std::string Run(diff::Inputs *in, diff::Faults *faults) {
    RtGpuFault fault = {};
    records_->head = {};
    memset(records_->bytes, 0, sizeof records_->bytes);
    std::string what = AddMemory(in, &fault);
    if (what.empty()) what = Add(records_.get(), sizeof *records_, "what is printed");
    if (what.empty()) what = Launch(in, &fault);
    for (uint64_t at : added_) ptx_space_drop(space_, at);
    added_.clear();
    Read(*records_, in);
    if (!what.empty()) return what;
    if (faults) faults->clear();
    if (fault.state == 0) return "";
    if (fault.site < 0 || static_cast<uint32_t>(fault.site) >= artifact_.a.nsites) return "a fault of no site";
    std::string text = diff::SpellFault(artifact_.a.sites[fault.site].text, fault.tid, fault.index, fault.limit);
    if (!faults) return "a fault: " + text;
    faults->insert(text);
    return "";
  }

  std::string problem;

private:
  static uint64_t Address(const void *p) { return reinterpret_cast<uintptr_t>(p); }

  std::string Add(void *p, size_t n, const char *name) {
    if (ptx_space_add(space_, Address(p), n, p, 0, name)) return std::string("no place for ") + name;
    added_.push_back(Address(p));
    return "";
  }

  // Room for what the kernel prints, and its records as they lie there.
  struct Records {
    RtGpuPrinted head;
    uint8_t bytes[1 << 20];
  };
  void Read(const Records &r, diff::Inputs *in) const {
    diff::Printed printed;
    printed.printer.lost = static_cast<int64_t>(r.head.lost);
    for (size_t at = 0; at + sizeof(RtGpuPrint) <= std::min<size_t>(r.head.used, sizeof r.bytes);) {
      RtGpuPrint p;
      memcpy(&p, &r.bytes[at], sizeof p);
      if (p.site == 0 || p.site > artifact_.a.nsites) break;
      const char *format = artifact_.a.sites[p.site - 1].text;
      std::vector<uint64_t> values(hdb_conversions(format));
      if (!values.empty()) memcpy(values.data(), &r.bytes[at + sizeof p], 8 * values.size());
      int64_t thread = 0;
      for (size_t k = 0; k < in->dim.size(); k++) thread = thread * in->dim[k] + p.tid[k];
      hdrt_printer_add(&printed.printer, thread, format, static_cast<uint32_t>(values.size()), values.data());
      at += sizeof p + 8 * values.size();
    }
    printed.TakeTo(in);
  }

  // The arrays lie where they are; the bytes around their elements are theirs, too, and are compared.
  std::string AddMemory(diff::Inputs *in, RtGpuFault *fault) {
    std::string what = Add(fault, sizeof *fault, "the fault record");
    for (size_t k = 0; k < in->buffers.size() && what.empty(); k++) {
      diff::Buffer &b = in->buffers[k];
      if (b.alias < 0 && !b.bytes.empty())
        what = Add(b.bytes.data(), b.bytes.size(), ("array " + std::to_string(k)).c_str());
    }
    return what;
  }

  std::string Launch(diff::Inputs *in, RtGpuFault *fault) {
    const RtArtifact &a = artifact_.a;
    RtGpuLaunch g = {};
    uint64_t count = 1, repeat = 1;
    for (int k = 0; k < HD_MAX_DIMS; k++) {
      int64_t n = k < static_cast<int>(in->dim.size()) ? in->dim[static_cast<size_t>(k)] : 1;
      g.dim[k] = n;
      g.len[k] = static_cast<uint32_t>(n);
      (k < a.rank ? count : repeat) *= static_cast<uint64_t>(n);
      // floor(n / len) for n < 2^31: the least power of two from len on, and how much its reciprocal falls short
      for (g.shift[k] = 0; (1ull << g.shift[k]) < static_cast<uint64_t>(n); g.shift[k]++) {}
      if (n)
        g.mul[k] = static_cast<uint32_t>(
            ((1ull << 32) * ((1ull << g.shift[k]) - static_cast<uint64_t>(n))) / static_cast<uint64_t>(n) + 1);
    }
    if (count * repeat == 0) return "";
    g.count = static_cast<int64_t>(count);
    g.fault = Address(fault);
    const PtxEntry *entry = ptx_entry(module_, a.symbol);
    if (!entry) return std::string("no entry ") + a.symbol;
    const RtGpuPrinting printing = {Address(records_.get()), sizeof records_->bytes, 0};
    const bool prints = entry->nparams == 3 && entry->params[2].size == sizeof printing;
    if ((entry->nparams != 2 && !prints) || entry->params[1].size != sizeof g)
      return "the entry's parameters are others";
    std::vector<uint8_t> params(entry->param_bytes, 0);
    const void *args = in->Bind();
    memcpy(&params[entry->params[0].offset], args, std::min<size_t>(entry->params[0].size, in->args.size()));
    memcpy(&params[entry->params[1].offset], &g, sizeof g);
    if (prints) memcpy(&params[entry->params[2].offset], &printing, sizeof printing);
    PtxLaunch l = {};
    PtxError err = {};
    l.entry = a.symbol;
    l.block[0] = static_cast<uint32_t>(a.block);
    l.block[1] = l.block[2] = l.grid[2] = 1;
    l.grid[0] = static_cast<uint32_t>((count + l.block[0] - 1) / l.block[0]);
    l.grid[1] = static_cast<uint32_t>(repeat);
    l.shared_bytes = a.shared;
    l.params = params.data();
    l.param_bytes = params.size();
    l.schedule = schedule_.kind;
    l.seed = schedule_.seed;
    l.adversary = true; // the default mode leaves nothing to approximation
    return ptx_run(module_, &l, nullptr, &err) ? err.text : "";
  }

  std::string bytes_;
  Artifact artifact_;
  Way way_;
  Schedule schedule_;
  PtxSpace *space_ = nullptr;
  PtxModule *module_ = nullptr;
  std::vector<uint64_t> added_;
  std::unique_ptr<Records> records_ = std::make_unique<Records>();
};

} // namespace

diff::Rival OnInterpreter(const IrFunc *kernel, const Way &way, const Schedule &schedule) {
  static const char *const names[] = {"lockstep", "threads", "random"};
  diff::Rival r;
  r.name = "PTX " + Name(way) + ", " + names[schedule.kind];
  r.dense_only = way.dense;
  std::string bytes = Compile(kernel, way, &r.problem);
  if (!r.problem.empty()) return r;
  auto code = std::make_shared<Simulated>(bytes, way, schedule);
  r.problem = code->problem;
  r.run = [code](diff::Inputs *in, diff::Faults *f) { return code->Run(in, f); };
  return r;
}

} // namespace gpu
