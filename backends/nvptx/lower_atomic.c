/* backends/nvptx/lower_atomic.c -- atomics: relaxed, seen by the whole device, in shared memory by the group.
 *
 * What has no instruction with our meaning (minimum and maximum of floats) compares and swaps until nobody came between.
 * The hardware's f32 addition in global memory flushes denormals, and the order of additions is not promised anyway.
 */
#include "backends/nvptx/lower.h"

/* LLVM's name for the operation in atomicrmw; NULL where it has none with our meaning. */
static const char *rmw_name(IrOp op, const IrType *t) {
  bool s = hdir_is_signed(t), f = hdir_is_float(t);
  switch (op) {
  case IR_atomic_add: return f ? "fadd" : "add";
  case IR_atomic_min: return f ? NULL : s ? "min" : "umin";
  case IR_atomic_max: return f ? NULL : s ? "max" : "umax";
  case IR_atomic_and: return "and";
  case IR_atomic_or: return "or";
  case IR_atomic_xor: return "xor";
  case IR_atomic_xchg: return "xchg";
  default: return NULL;
  }
}

static const char *scope(const PtxAddr *a) { return a->space == IR_SHARED ? "block" : "device"; }

static const char *swap(PtxLower *g, const PtxAddr *a, const char *ty, const char *p, const char *old, const char *new,
                        uint32_t size) {
  return hdptx_ins(g, "cmpxchg %s %s, %s %s, %s %s syncscope(\"%s\") monotonic monotonic, align %u", hdptx_space(a), p,
                   ty, old, ty, new, scope(a), size);
}

/* Opens blocks. Nothing is written where the old value stays. */
static const char *float_extreme(PtxLower *g, IrOp op, const IrType *t, const PtxAddr *a, const char *p,
                                 const char *x) {
  const char *i = t->size == 8 ? "i64" : "i32", *f = hdptx_type(t);
  const char *head = hdptx_label(g), *done = hdptx_label(g), *before = g->block, *again = hdptx_name(g);
  const char *first = hdptx_ins(g, "load atomic %s, %s %s syncscope(\"%s\") monotonic, align %u", i, hdptx_space(a), p,
                                scope(a), t->size);
  hdptx_line(g, "br label %%%s", head);
  hdptx_open(g, head);
  const char *bits = hdptx_ins(g, "phi %s [ %s, %%%s ], [ %s, %%%s ]", i, first, before, again, head);
  const char *old = hdptx_ins(g, "bitcast %s %s to %s", i, bits, f);
  const char *r = hdptx_op(g, op == IR_atomic_min ? IR_min : IR_max, t, t, (const char *[]){old, x});
  const char *pair = swap(g, a, i, p, bits, hdptx_ins(g, "bitcast %s %s to %s", f, r, i), t->size);
  hdptx_line(g, "%s = extractvalue { %s, i1 } %s, 0", again, i, pair);
  const char *ok = hdptx_ins(g, "extractvalue { %s, i1 } %s, 1", i, pair);
  hdptx_line(g, "br i1 %s, label %%%s, label %%%s", ok, done, head);
  hdptx_open(g, done);
  return old;
}

void hdptx_atomic(PtxLower *g, const IrInst *i) {
  const IrType *t = i->args[1]->type;
  const PtxAddr *a;
  const char *ty = hdptx_type(t), *p = hdptx_point(g, i, &a), *x = hdptx_get(g, i->args[1]), *r;
  if (a->space == IR_LOCAL || (t->size != 4 && t->size != 8)) {
    hdptx_fail(g, i, HD_ERR_UNSUPPORTED, "an atomic that is not on a number of 4 or 8 bytes in an array");
    return;
  }
  const char *name = rmw_name(i->op, t);
  if (i->op == IR_atomic_cas)
    r = hdptx_ins(g, "extractvalue { %s, i1 } %s, 0", ty, swap(g, a, ty, p, x, hdptx_get(g, i->args[2]), t->size));
  else if (!name)
    r = float_extreme(g, i->op, t, a, p, x);
  else
    r = hdptx_ins(g, "atomicrmw %s %s %s, %s %s syncscope(\"%s\") monotonic, align %u", name, hdptx_space(a), p, ty, x,
                  scope(a), t->size);
  hdptx_set(g, i->res[0], r);
}
