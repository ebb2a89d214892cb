// tests/fakecuda/ptx_testing.h -- runs a few lines of PTX on arrays.
#ifndef FAKECUDA_PTX_TESTING_H
#define FAKECUDA_PTX_TESTING_H

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fakecuda/ptx.h"

namespace ptx {

inline constexpr char kHead[] = ".version 8.6\n.target sm_100\n.address_size 64\n";
inline const PtxSchedule kSchedules[] = {PTX_LOCKSTEP, PTX_THREADS, PTX_RANDOM};

// A kernel k(p) as it is launched.
struct Way {
  unsigned block = 32, grid = 1, shared = 0;
  PtxSchedule schedule = PTX_LOCKSTEP;
  uint64_t seed = 1, max_steps = 0;
  bool exact_shared = false, adversary = false;
  std::string globals;  // in front of the kernel
  std::string head;     // kHead if empty
  const PtxTexture *texture = nullptr;  // object 7; its levels lie in the data
};

struct Result {
  PtxError err;
  std::string text;     // what went wrong
  std::string printed;
};

inline void Collect(void *user, const char *text, size_t n) { static_cast<std::string *>(user)->append(text, n); }

template <typename T> Result RunKernel(const std::string &body, std::vector<T> *data, const Way &way) {
  const std::string text = (way.head.empty() ? kHead : way.head) + way.globals + ".visible .entry k(.param .u64 p)\n{\n" + body + "\n}\n";
  Result r = {};
  PtxModule *m = ptx_parse(text.c_str(), text.size(), &r.err);
  r.text = r.err.text;
  if (!m) return r;
  PtxSpace *s = ptx_space_new();
  uint64_t at = reinterpret_cast<uintptr_t>(data->data());
  ptx_space_add(s, at, data->size() * sizeof(T), data->data(), 0, "data");
  if (way.texture) {
    PtxTexture t = *way.texture;
    for (uint32_t k = 0; k < t.levels; k++) t.level[k] += at;
    ptx_space_texture(s, 7, &t);
  }
  PtxLaunch l = {};
  l.entry = "k";
  l.grid[0] = way.grid, l.grid[1] = l.grid[2] = 1;
  l.block[0] = way.block, l.block[1] = l.block[2] = 1;
  l.shared_bytes = way.shared;
  l.params = &at;
  l.param_bytes = 8;
  l.schedule = way.schedule;
  l.seed = way.seed;
  l.max_steps = way.max_steps;
  l.exact_shared = way.exact_shared;
  l.adversary = way.adversary;
  l.print = Collect;
  l.user = &r.printed;
  if (!ptx_link(m, s, nullptr, nullptr, &r.err)) ptx_run(m, &l, nullptr, &r.err);
  r.text = r.err.code ? r.err.text : "";
  ptx_module_free(m);
  ptx_space_free(s);
  return r;
}

// "" or what went wrong.
template <typename T>
std::string RunPtx(const std::string &body, std::vector<T> *data, unsigned block, unsigned grid = 1,
                   PtxSchedule schedule = PTX_LOCKSTEP, uint64_t seed = 1) {
  Way way;
  way.block = block, way.grid = grid, way.schedule = schedule, way.seed = seed;
  return RunKernel(body, data, way).text;
}

} // namespace ptx
#endif
