/* ir/mma.c -- the shapes of op mma. */
#include "ir/mma.h"

static const IrMma shapes[] = {
    {"m16n8k16", IR_F16, IR_F32, 16, 8, 16, 8, 4, 4, IR_UNIT_mma},
    {"m16n8k16", IR_BF16, IR_F32, 16, 8, 16, 8, 4, 4, IR_UNIT_dmma},
    {"m8n8k4", IR_F64, IR_F64, 8, 8, 4, 1, 1, 2, IR_UNIT_dmma},
};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

const IrMma *hdir_mma_at(uint32_t i) { return i < NSHAPES ? &shapes[i] : NULL; }

static bool is(const IrType *t, IrKind kind, uint32_t n) {
  return n == 1 ? t->kind == kind : t->kind == IR_VEC && t->rows == n && t->elem->kind == kind;
}

const IrMma *hdir_mma_of(const IrType *a, const IrType *b, const IrType *c) {
  for (uint32_t i = 0; i < NSHAPES; i++) {
    const IrMma *s = &shapes[i];
    if (is(a, s->in, s->a) && is(b, s->in, s->b) && is(c, s->sum, s->c)) return s;
  }
  return NULL;
}
