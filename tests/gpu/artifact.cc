// tests/gpu/artifact.cc -- compiling, and bytes.
#include "artifact.h"

#include "backends/nvptx/nvptx.h"
#include "runtime/bytes.h"

namespace gpu {

namespace {

std::string CompileIn(Arena *a, const IrFunc *kernel, const Way &way, std::string *problem) {
  HdError err = {};
  PtxTarget target;
  PtxCode code = {};
  PtxOptions o = {way.dense, way.dense, false, way.opt_level, way.block};
  if (hdptx_target(("sm_" + std::to_string(way.sm)).c_str(), a, &err, &target) != HD_OK ||
      hdptx_compile(kernel, &target, &o, PTX_EMIT_PTX, a, &err, &code) != HD_OK) {
    *problem = err.detail;
    return "";
  }
  std::vector<RtSite> sites;
  for (uint32_t i = 0; i < code.sites.n; i++) {
    const PtxSite &s = code.sites.at[i];
    sites.push_back({s.text ? s.text : "", s.file ? s.file : "", s.line, s.column, s.prints});
  }
  RtArtifact r = {};
  r.kind = RT_CODE_PTX;
  r.symbol = code.symbol;
  r.code = code.ptx;
  r.code_size = code.ptx_size + 1;
  r.nsites = code.sites.n;
  r.sites = sites.data();
  r.rank = code.rank;
  r.block = code.block;
  r.shared = code.shared;
  r.sig.group = kernel->group;
  r.width = 1;
  RtWriter w = {};
  w.mem = &hdb_system_allocator;
  hdrt_put_artifact(&w, &r);
  std::string bytes(reinterpret_cast<const char *>(w.data), w.len);
  hdrt_writer_free(&w);
  return bytes;
}

// Runs f with the arena guarded; false if memory ran out.
template <typename F> __attribute__((noinline)) bool Guarded(Arena *a, F f) {
  jmp_buf jb;
  HDB_GUARD(a, jb) {
    f();
    return true;
  }
  return false;
}

RtReader ReaderOf(const std::string &bytes) {
  const uint8_t *at = reinterpret_cast<const uint8_t *>(bytes.data());
  return {at, at + bytes.size(), false};
}

} // namespace

std::string Name(const Way &way) {
  return "sm_" + std::to_string(way.sm) + (way.dense ? " dense" : " general") + " -O" + std::to_string(way.opt_level) +
         " blocks of " + std::to_string(way.block);
}

std::string Compile(const IrFunc *kernel, const Way &way, std::string *problem) {
  Arena a;
  std::string bytes;
  hdb_arena_init(&a, &hdb_system_allocator);
  if (!Guarded(&a, [&] { bytes = CompileIn(&a, kernel, way, problem); })) *problem = "out of memory";
  hdb_arena_free(&a);
  return bytes;
}

Artifact::Artifact(const std::string &bytes) {
  RtReader r = ReaderOf(bytes), again = r;
  if (!hdrt_get_artifact(&r, nullptr, 0, nullptr, 0, &a)) return;
  sites_.resize(a.nsites + 1);
  ok_ = hdrt_get_artifact(&again, sites_.data(), a.nsites, nullptr, 0, &a);
  a.sig.kernel = a.symbol;
}

} // namespace gpu
