// tests/gpu/on_driver.cc -- arrays there and back, launches, faults.
#include "on_driver.h"

#include <cstring>

namespace gpu {
namespace {

std::string Words(const HdError &e) { return std::string(e.arg) + (e.arg[0] ? ": " : "") + e.detail; }

RtView Whole(void *p, size_t n, RtDevice *on) {
  RtView v = {};
  v.data = static_cast<char *>(p);
  v.length[0] = static_cast<int64_t>(n);
  v.stride[0] = 1;
  v.ndim = 1;
  v.elem = 1;
  v.on = on;
  return v;
}

class Code {
public:
  explicit Code(const std::string &bytes) : bytes_(bytes), artifact_(bytes_) {
    Gpu &g = Gpu::Get();
    HdError err = {};
    problem = g.problem;
    if (problem.empty() && !artifact_.Ok()) problem = "the artifact cannot be read";
    if (problem.empty() && hdcu_load(&g.device.base, &artifact_.a, &err, &code_) != HD_OK) problem = Words(err);
  }
  ~Code() {
    if (code_.own) hdcu_unload(code_.device, &code_);
  }
  Code(const Code &) = delete;

  std::string Run(diff::Inputs *in, diff::Faults *faults, bool graph) const {
    HdError err = {};
    RtFaultCopy fault = {};
    Arrays there;
    RtGraph *g = nullptr;
    HdStatus status = graph ? hdrt_graph_new(&Gpu::Get().device.base, &err, &g) : HD_OK;
    Gpu::Get().stream->keeping = g;
    if (status == HD_OK) status = Send(in, &there, &err);
    if (status == HD_OK) status = Launch(in, there.args, &err);
    if (status == HD_OK) status = Fetch(in, there, &err);
    Gpu::Get().stream->keeping = nullptr;
    if (status == HD_OK && g) status = hdrt_stream_graph(Gpu::Get().stream, g, &err);
    if (status == HD_OK) status = hdrt_stream_wait(Gpu::Get().stream, &fault, &err);
    diff::Printed::Take(&Gpu::Get().stream->printer, in);
    hdrt_graph_free(g);
    RtDevice *d = &Gpu::Get().device.base;
    for (HdBlock *b : there.blocks)
      if (b) d->ops->free(d, b);
    if (faults) faults->clear();
    if (fault.status == HD_OK) return status == HD_OK ? "" : Words(err);
    std::string text = diff::SpellFault(fault.text, fault.tid, fault.index, fault.limit);
    if (!faults) return "a fault: " + text;
    faults->insert(text);
    return "";
  }

  std::string problem;

private:
  struct Arrays {
    std::vector<HdBlock *> blocks; // NULL for an array that is another's
    std::vector<void *> data;
    std::vector<uint8_t> args;
  };

  static HdStatus Send(diff::Inputs *in, Arrays *there, HdError *err) {
    Gpu &g = Gpu::Get();
    in->Bind();
    there->args = in->args;
    for (size_t k = 0; k < in->buffers.size(); k++) {
      diff::Buffer &b = in->buffers[k];
      HdBlock *block = nullptr;
      void *at = b.alias < 0 ? nullptr : there->data[static_cast<size_t>(b.alias)];
      if (b.alias < 0) {
        HD_TRY(g.device.base.ops->alloc(&g.device.base, b.bytes.size() + 1, err, &block, &at));
        there->blocks.push_back(block);
        RtView from = Whole(b.bytes.data(), b.bytes.size(), nullptr), to = Whole(at, b.bytes.size(), &g.device.base);
        HD_TRY(hdrt_stream_copy(g.stream, &from, &to, err));
      } else {
        there->blocks.push_back(nullptr);
      }
      there->data.push_back(at);
      const diff::Buffer &real = b.alias < 0 ? b : in->buffers[static_cast<size_t>(b.alias)];
      char *first = static_cast<char *>(at) + real.origin;
      memcpy(&there->args[in->patch[k]], &first, 8);
    }
    return HD_OK;
  }

  HdStatus Launch(const diff::Inputs *in, const std::vector<uint8_t> &args, HdError *err) const {
    RtLaunch l = {};
    l.code = &code_;
    l.args = args.data();
    l.ndim = static_cast<int32_t>(in->dim.size());
    for (int64_t &d : l.dim) d = 1;
    for (size_t k = 0; k < in->dim.size(); k++) l.dim[k] = in->dim[k];
    return hdrt_stream_launch(Gpu::Get().stream, &l, args.size(), err);
  }

  static HdStatus Fetch(diff::Inputs *in, const Arrays &there, HdError *err) {
    Gpu &g = Gpu::Get();
    for (size_t k = 0; k < there.blocks.size(); k++) {
      if (!there.blocks[k]) continue;
      diff::Buffer &b = in->buffers[k];
      RtView from = Whole(there.data[k], b.bytes.size(), &g.device.base),
             to = Whole(b.bytes.data(), b.bytes.size(), nullptr);
      HD_TRY(hdrt_stream_copy(g.stream, &from, &to, err));
    }
    return HD_OK;
  }

  std::string bytes_;
  Artifact artifact_;
  RtCode code_ = {};
};

} // namespace

Gpu &Gpu::Get() {
  static Gpu gpu;
  return gpu;
}

Gpu::Gpu() {
  HdError err = {};
  if (hdcu_driver_open(&driver, &err) != HD_OK ||
      hdcu_device_init(&device, &driver, 0, &hdb_system_allocator, &err) != HD_OK ||
      hdrt_stream_new(&device.base, true, &err, &stream) != HD_OK)
    problem = Words(err);
}

Gpu::~Gpu() {
  if (stream) hdrt_stream_free(stream);
  if (device.base.ops) hdcu_device_end(&device);
  hdcu_driver_close(&driver);
}

diff::Rival OnDriver(const std::string &bytes, const Way &way, bool graph) {
  diff::Rival r;
  r.name = "GPU " + Name(way) + (graph ? " in a graph" : "");
  r.dense_only = way.dense;
  auto code = std::make_shared<Code>(bytes);
  r.problem = code->problem;
  r.run = [code, graph](diff::Inputs *in, diff::Faults *f) { return code->Run(in, f, graph); };
  return r;
}

} // namespace gpu
