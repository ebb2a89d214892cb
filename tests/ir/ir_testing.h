// tests/ir/ir_testing.h -- a module to test on, and IR text read and written.
#ifndef IR_TESTING_H
#define IR_TESTING_H

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "ir/build.h"
#include "ir/ir.h"

class IrTest : public testing::Test {
protected:
  Arena arena;
  jmp_buf jb; // set but never jumped to: these tests do not run out of memory
  IrModule *m;
  HdError err;

  IrTest() {
    hdb_arena_init(&arena, nullptr);
    arena.on_oom = &jb;
    m = hdir_module_new(&arena, "test");
    hdb_error_clear(&err);
  }
  ~IrTest() override { hdb_arena_free(&arena); }

  const IrType *Scalar(IrKind k) { return hdir_scalar(&m->types, k); }

  // NULL, and err, if it is no module.
  IrModule *Parse(const std::string &text) {
    IrModule *r = nullptr;
    return hdir_parse(&arena, "t.ir", text.data(), text.size(), &err, &r) == HD_OK ? r : nullptr;
  }

  IrModule *ParseGood(const std::string &text) {
    IrModule *r = Parse(text);
    EXPECT_NE(r, nullptr) << err.where.line << ":" << err.where.column << ": " << err.detail << "\n" << text;
    if (r) {
      EXPECT_EQ(hdir_verify(r, &err), HD_OK) << err.detail << "\n" << text;
    }
    return r;
  }

  std::string Print(const IrModule *x) {
    Buf b;
    hdb_buf_init(&b, &arena);
    hdir_print_module(&b, x, nullptr);
    return b.data;
  }

  std::string Print(const IrFunc *fn) {
    Buf b;
    IrPrint how = {false, nullptr, nullptr};
    hdb_buf_init(&b, &arena);
    hdir_print_func(&b, fn, &how);
    return b.data;
  }

  // The function built anew by the folding builder, without what nothing uses.
  IrFunc *Rebuild(const IrFunc *fn, bool no_fold = false) {
    std::string name = std::string(fn->name) + (no_fold ? ".plain" : ".folded");
    const IrType *params[64];
    for (uint32_t k = 0; k < fn->body->nparams; k++) params[k] = fn->body->params[k]->type;
    IrFunc *copy =
        hdir_func_new(fn->module, name.c_str(), fn->is_kernel, fn->body->nparams, params, fn->nresults, fn->results);
    IrValue **map = HDB_NEW_N(&arena, IrValue *, fn->nvalues);
    for (uint32_t k = 0; k < fn->body->nparams; k++) {
      map[fn->body->params[k]->id] = copy->body->params[k];
      copy->body->params[k]->name = fn->body->params[k]->name;
    }
    IrBuilder b;
    hdir_build_begin(&b, copy);
    b.no_fold = no_fold;
    hdir_clone_region_body(&b, fn->body, map);
    DropUnused(copy);
    return copy;
  }

  void DropUnused(IrFunc *fn) {
    for (bool again = true; again;) {
      again = false;
      uint32_t *uses = hdir_count_uses(fn, &arena);
      for (IrInst *i = fn->body->first, *next; i; i = next) {
        next = hdir_inst_next(i);
        IrEffect fx = hdir_ops[i->op].effect;
        if ((fx == FX_PURE || fx == FX_LAUNCH) && uses[i->res[0]->id] == 0) {
          hdir_unlink(i);
          again = true;
        }
      }
    }
  }
};

// Equal, where any NaN equals any other: their sign and payload are not promised.
inline bool SameBits(const IrType *t, uint64_t a, uint64_t b) {
  if (a == b) return true;
  return hdir_is_float(t) && std::isnan(hdir_f64_of(t, a)) && std::isnan(hdir_f64_of(t, b));
}

#endif
