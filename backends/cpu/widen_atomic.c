/* backends/cpu/widen_atomic.c -- atomics: one for the gang where the address is one, else lane after lane.
 *
 * Integer operations that do not care about order, to one address, whose result nobody reads, are reduced over the lanes
 * first. Everything else runs in lane order, so that one thread alone gives the interpreter's bits also for floats. A
 * launch that runs on one thread sets a flag, and then plain loads and stores do: a locked instruction costs four to
 * eight times as much.
 */
#include "backends/cpu/widen.h"

static const char *serial(CpuWiden *w) {
  const char *have = hdb_map_get_str(&w->params, "serial");
  if (have) return have;
  const char *at = hdcpu_entry(w, "getelementptr i8, ptr %%span, i64 %d", CPU_SPAN_SERIAL);
  const char *x = hdcpu_entry(w, "load i32, ptr %s, align 4", at);
  have = hdcpu_entry(w, "icmp ne i32 %s, 0", x);
  hdb_map_set_str(&w->params, "serial", (void *)(uintptr_t)have);
  return have;
}

/* LLVM's name for the operation in atomicrmw; NULL where it has none with our meaning. */
static const char *rmw_name(IrOp op, const IrType *t) {
  bool s = hdir_is_signed(t), f = hdir_is_float(t);
  switch (op) {
  case IR_atomic_add: return f ? "fadd" : "add";
  case IR_atomic_min: return f ? NULL : s ? "min" : "umin"; /* LLVM's fmin has another rule for NaN */
  case IR_atomic_max: return f ? NULL : s ? "max" : "umax";
  case IR_atomic_and: return "and";
  case IR_atomic_or: return "or";
  case IR_atomic_xor: return "xor";
  case IR_atomic_xchg: return "xchg";
  default: return NULL;
  }
}

static IrOp plain_op(IrOp op) {
  switch (op) {
  case IR_atomic_add: return IR_add;
  case IR_atomic_min: return IR_min;
  case IR_atomic_max: return IR_max;
  case IR_atomic_and: return IR_and;
  case IR_atomic_or: return IR_or;
  default: return IR_xor;
  }
}

/* What the place holds afterwards. */
static const char *combined(CpuWiden *w, IrOp op, const IrType *t, const char *old, const char *x, const char *y) {
  if (op == IR_atomic_xchg) return x;
  if (op == IR_atomic_cas) {
    const char *eq = hdcpu_ins(w, "icmp eq %s %s, %s", w->st[t->kind], old, x);
    return hdcpu_ins(w, "select i1 %s, %s %s, %s %s", eq, w->st[t->kind], y, w->st[t->kind], old);
  }
  return hdcpu_op(w, plain_op(op), t, t, false, (const char *[]){old, x});
}

/* Compare and swap until nobody came between. Opens blocks. */
static const char *cas_loop(CpuWiden *w, IrOp op, const IrType *t, const char *ptr, const char *x) {
  const char *i = hdcpu_ity(w, t->size * 8, false), *st = w->st[t->kind];
  const char *head = hdcpu_label(w), *done = hdcpu_label(w), *before = w->block, *again = hdcpu_name(w);
  const char *first = hdcpu_ins(w, "load atomic %s, ptr %s monotonic, align %u", i, ptr, t->size);
  hdcpu_line(w, "br label %%%s", head);
  hdcpu_open(w, head);
  const char *bits = hdcpu_ins(w, "phi %s [ %s, %%%s ], [ %s, %%%s ]", i, first, before, again, head);
  const char *old = hdcpu_ins(w, "bitcast %s %s to %s", i, bits, st);
  const char *new = hdcpu_ins(w, "bitcast %s %s to %s", st, combined(w, op, t, old, x, NULL), i);
  const char *pair =
      hdcpu_ins(w, "cmpxchg ptr %s, %s %s, %s %s monotonic monotonic, align %u", ptr, i, bits, i, new, t->size);
  hdcpu_line(w, "%s = extractvalue { %s, i1 } %s, 0", again, i, pair);
  const char *ok = hdcpu_ins(w, "extractvalue { %s, i1 } %s, 1", i, pair);
  hdcpu_line(w, "br i1 %s, label %%%s, label %%%s", ok, done, head);
  hdcpu_open(w, done);
  return old;
}

static const char *locked(CpuWiden *w, IrOp op, const IrType *t, const char *ptr, const char *x, const char *y) {
  const char *st = w->st[t->kind], *name = rmw_name(op, t);
  if (op == IR_atomic_cas) {
    const char *pair =
        hdcpu_ins(w, "cmpxchg ptr %s, %s %s, %s %s monotonic monotonic, align %u", ptr, st, x, st, y, t->size);
    return hdcpu_ins(w, "extractvalue { %s, i1 } %s, 0", st, pair);
  }
  if (!name) return cas_loop(w, op, t, ptr, x);
  return hdcpu_ins(w, "atomicrmw %s ptr %s, %s %s monotonic, align %u", name, ptr, st, x, t->size);
}

/* Whether atomics may be plain, and where plain ones go. */
static const char *plain_mode(CpuWiden *w, const IrInst *i) {
  if (i->args[0]->type->space == IR_SHARED) return "true"; /* the gangs of a group run one after the other */
  return hdcpu_may_be_private(w, i) ? hdcpu_private_plain(w, i, serial(w)) : serial(w);
}

static const char *plain_point(CpuWiden *w, const IrInst *i, const char *point) {
  return hdcpu_may_be_private(w, i) ? hdcpu_private_point(w, point) : point;
}

/* One atomic of one thread, in one of two modes. Returns the old value. Opens blocks. */
static const char *one(CpuWiden *w, const IrInst *i, const char *plain, const char *ptr, const char *x, const char *y) {
  const IrType *t = i->args[1]->type;
  const char *st = w->st[t->kind], *label[3] = {hdcpu_label(w), hdcpu_label(w), hdcpu_label(w)};
  hdcpu_line(w, "br i1 %s, label %%%s, label %%%s", plain_mode(w, i), label[0], label[1]);
  hdcpu_open(w, label[0]);
  const char *a = hdcpu_ins(w, "load %s, ptr %s, align %u", st, plain, t->size);
  hdcpu_line(w, "store %s %s, ptr %s, align %u", st, combined(w, i->op, t, a, x, y), plain, t->size);
  hdcpu_line(w, "br label %%%s", label[2]);
  hdcpu_open(w, label[1]);
  const char *b = locked(w, i->op, t, ptr, x, y), *from = w->block;
  hdcpu_line(w, "br label %%%s", label[2]);
  hdcpu_open(w, label[2]);
  return hdcpu_ins(w, "phi %s [ %s, %%%s ], [ %s, %%%s ]", st, a, label[0], b, from);
}

/* --- all lanes to one place --- */

static bool reducible(const CpuWiden *w, const IrInst *i, const CpuAddr *p) {
  return p->at == AT_UNIFORM && hdir_is_int(i->args[1]->type) && w->uses[i->res[0]->id] == 0 &&
         i->op != IR_atomic_xchg && i->op != IR_atomic_cas;
}

/* The value that changes nothing. */
static const char *identity(CpuWiden *w, IrOp op, const IrType *t) {
  uint32_t bits = hdir_bits(t);
  int64_t top = (int64_t)((uint64_t)1 << (bits - 1)), x = 0;
  if (op == IR_atomic_and) x = -1;
  if (op == IR_atomic_min) x = hdir_is_signed(t) ? (int64_t)((uint64_t)top - 1) : -1;
  if (op == IR_atomic_max) x = hdir_is_signed(t) ? top : 0;
  return hdcpu_int(w, bits, true, x);
}

static void reduced(CpuWiden *w, const IrInst *i, const CpuAddr *p) {
  const IrType *t = i->args[1]->type;
  const char *name = i->op == IR_atomic_min   ? (hdir_is_signed(t) ? "smin" : "umin")
                     : i->op == IR_atomic_max ? (hdir_is_signed(t) ? "smax" : "umax")
                                              : rmw_name(i->op, t);
  const char *vt = w->vt[t->kind], *st = w->st[t->kind], *v = hdcpu_v(w, i->args[1]);
  v = hdcpu_pick(w, hdcpu_on(w), t, v, identity(w, i->op, t));
  const char *full = hdcpu_fmt(w, "llvm.vector.reduce.%s.%s", name, hdcpu_suffix(w, 'i', hdir_bits(t), true));
  const char *x = hdcpu_call(w, st, full, vt, "%s %s", vt, v);
  const char *ptr = hdcpu_point(w, p, 0);
  plain_mode(w, i);
  one(w, i, plain_point(w, i, ptr), ptr, x, NULL);
}

/* --- lane after lane --- */

static void spill(CpuWiden *w, int k, const char *vt, const char *v) {
  hdcpu_line(w, "store %s %s, ptr %s, align 64", vt, v, hdcpu_scratch(w, k));
}

static bool differs(const CpuWiden *w, const IrValue *v) {
  return !hdir_is_const(v) && w->facts->of[v->id].cls != IR_UNIFORM;
}

static const char *lane_of(CpuWiden *w, const IrValue *v, const char *lane) {
  if (!differs(w, v)) return hdcpu_s(w, v);
  return hdcpu_ins(w, "extractelement %s %s, i32 %s", w->vt[v->type->kind], hdcpu_v(w, v), lane);
}

static void each(CpuWiden *w, const IrInst *i, const CpuAddr *p) {
  const IrType *t = i->args[1]->type;
  const char *point = hdcpu_point(w, p, 0), *vt = w->vt[t->kind], *st = w->st[t->kind], *ptr = point;
  bool used = w->uses[i->res[0]->id] != 0;
  for (uint32_t k = 1; k < i->nargs; k++) /* made here, before the loop */
    if (differs(w, i->args[k])) hdcpu_v(w, i->args[k]);
  if (p->at != AT_UNIFORM) spill(w, 1, w->vt[IR_I64], hdcpu_offsets(w, p, t->size, false));
  if (used) spill(w, 2, vt, "zeroinitializer");
  plain_mode(w, i);
  const char *near = plain_point(w, i, point), *plain = near;
  CpuLanes l = hdcpu_lanes_begin(w, hdcpu_bits(w, hdcpu_on(w)));
  if (p->at != AT_UNIFORM) {
    const char *o = hdcpu_ins(w, "load i64, ptr %s, align 8", hdcpu_scratch_lane(w, 1, 8, l.lane));
    ptr = hdcpu_ins(w, "getelementptr i8, ptr %s, i64 %s", point, o);
    plain = near == point ? ptr : hdcpu_ins(w, "getelementptr i8, ptr %s, i64 %s", near, o);
  }
  const char *x = lane_of(w, i->args[1], l.lane), *y = i->nargs > 2 ? lane_of(w, i->args[2], l.lane) : NULL;
  const char *old = one(w, i, plain, ptr, x, y);
  if (used) hdcpu_line(w, "store %s %s, ptr %s, align %u", st, old, hdcpu_scratch_lane(w, 2, t->size, l.lane), t->size);
  hdcpu_lanes_end(w, &l);
  if (used) hdcpu_set(w, i->res[0], hdcpu_ins(w, "load %s, ptr %s, align 64", vt, hdcpu_scratch(w, 2)));
}

typedef struct Lane { /* of an atomic written out: its byte offset (NULL: where a load of its own finds it) and value */
  const char *offset, *x;
} Lane;

/* One atomic a lane, at `point` and the lane's offset. With `old`, a vector of what they found is built there. */
static void lanes(CpuWiden *w, const IrInst *i, const Lane *lane, const char *point, bool plain, const char **old) {
  const IrType *t = i->args[1]->type;
  const char *st = w->st[t->kind], *was;
  for (uint32_t k = 0; k < w->width; k++) {
    const char *o = lane[k].offset ? lane[k].offset : hdcpu_reload_offset(w, w->addr[i->args[0]->id], k);
    const char *ptr = hdcpu_ins(w, "getelementptr i8, ptr %s, i64 %s", point, o);
    if (plain) {
      was = hdcpu_ins(w, "load %s, ptr %s, align %u", st, ptr, t->size);
      hdcpu_line(w, "store %s %s, ptr %s, align %u", st, combined(w, i->op, t, was, lane[k].x, NULL), ptr, t->size);
    } else {
      was = locked(w, i->op, t, ptr, lane[k].x, NULL);
    }
    if (old) *old = hdcpu_ins(w, "insertelement %s %s, %s %s, i32 %u", w->vt[t->kind], *old, st, was, k);
  }
}

/* All lanes written out, twice: a test of the launch's flag and a lane's number for each would cost as much as the add. Old
 * values are put together in registers: a vector loaded over what scalars were just stored waits until all stores before it
 * have reached the cache. */
static void unrolled(CpuWiden *w, const IrInst *i, const CpuAddr *p) {
  const IrType *t = i->args[1]->type;
  const char *point = hdcpu_point(w, p, 0), *label[3], *offsets = NULL, *old[2] = {"poison", "poison"};
  const char *plain = plain_mode(w, i), *near = plain_point(w, i, point);
  bool used = w->uses[i->res[0]->id] != 0, loaded = hdcpu_may_reload(w, p, i);
  Lane lane[32];
  for (uint32_t k = 0; k < 3; k++) label[k] = hdcpu_label(w);
  for (uint32_t k = 0; k < w->width; k++) {
    if (!loaded && !offsets) offsets = hdcpu_offsets(w, p, t->size, false);
    lane[k].offset = loaded ? NULL : hdcpu_ins(w, "extractelement %s %s, i32 %u", w->vt[IR_I64], offsets, k);
    lane[k].x = lane_of(w, i->args[1], hdcpu_fmt(w, "%u", k));
  }
  hdcpu_line(w, "br i1 %s, label %%%s, label %%%s", plain, label[0], label[1]);
  for (int k = 0; k < 2; k++) {
    hdcpu_open(w, label[k]);
    lanes(w, i, lane, k ? point : near, k == 0, used ? &old[k] : NULL);
    hdcpu_line(w, "br label %%%s", label[2]);
  }
  hdcpu_open(w, label[2]);
  if (used)
    hdcpu_set(w, i->res[0],
              hdcpu_ins(w, "phi %s [ %s, %%%s ], [ %s, %%%s ]", w->vt[t->kind], old[0], label[0], old[1], label[1]));
}

void hdcpu_atomic(CpuWiden *w, const IrInst *i) {
  const CpuAddr *p = w->addr[i->args[0]->id];
  if (!p || p->local || i->args[1]->type->kind == IR_BOOL) {
    hdcpu_fail(w, i, HD_ERR_UNSUPPORTED, "an atomic that is not on a number in an array");
    return;
  }
  bool simple = hdcpu_all_on(w) && rmw_name(i->op, i->args[1]->type);
  if (reducible(w, i, p))
    reduced(w, i, p);
  else if (simple && p->at != AT_UNIFORM)
    unrolled(w, i, p);
  else
    each(w, i, p);
}
