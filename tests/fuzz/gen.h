// tests/fuzz/gen.h -- random programs that mean one thing only.
//
// A program is a module in IR, made from a seed with the builder (folding off, so that passes have work), with a
// description of its arguments. It uses every op, type and shape of control flow, and keeps to what Heddle promises
// to agree on: accesses stay in bounds, threads write only elements of their own or with atomics whose order does not
// matter, loops end, asserts hold, and the payload and sign of a NaN never reach anything but a float.
#ifndef GEN_H
#define GEN_H

#include <memory>

#include "tests/diff/diff.h"

namespace fuzz {

struct Program {
  Program();
  ~Program();
  Program(const Program &) = delete;

  Arena      arena;
  jmp_buf    on_oom;
  diff::Case c; // c.module lives in the arena
};

struct GenOptions {
  int statements = 10; // of the kernel's body
  int depth = 3;       // of regions in regions
  bool c_functions = true; // some of diff::CFunctions, which GPUs do not have
};

std::unique_ptr<Program> Generate(uint64_t seed, const GenOptions &options = {});

} // namespace fuzz

#endif
