/* backends/cpu/widen_addr.c -- addresses: a scalar point, and how the lanes lie around it.
 *
 * An i32 index that is affine with a constant stride is taken as contiguous: an index that wraps lies outside the array
 * and is a mistake of the program. Local objects are interleaved, width values of each scalar in a row, so that lanes
 * that use the same index use one vector; there every index that is not constant is clamped to the object, which also
 * makes the lanes that are off safe.
 */
#include "backends/cpu/widen.h"

static const CpuAddr *of(CpuWiden *w, const IrInst *i, const IrValue *v) {
  static const CpuAddr nowhere = {.base = "null"};
  if (w->addr[v->id]) return w->addr[v->id];
  hdcpu_fail(w, i, HD_ERR_COMPILE, "an address is used before it is made");
  return &nowhere;
}

static CpuAddr *copy(CpuWiden *w, const IrInst *i, CpuAddr a) {
  return w->addr[i->res[0]->id] = hdb_copy(w->a, &a, sizeof a);
}

/* --- integers for addresses --- */

static const char *to_i64(CpuWiden *w, const IrType *t, const char *s) {
  return hdir_bits(t) == 64 ? s
                            : hdcpu_ins(w, "%s i%u %s to i64", hdir_is_signed(t) ? "sext" : "zext", hdir_bits(t), s);
}

static const char *to_i64s(CpuWiden *w, const IrType *t, const char *v) {
  if (hdir_bits(t) == 64) return v;
  return hdcpu_ins(w, "%s %s %s to %s", hdir_is_signed(t) ? "sext" : "zext", w->vt[t->kind], v, w->vt[IR_I64]);
}

static const char *times(CpuWiden *w, const char *x, int64_t n) {
  return n == 1 ? x : hdcpu_ins(w, "mul i64 %s, %lld", x, (long long)n);
}

static const char *plus(CpuWiden *w, const char *x, const char *y) {
  return x ? hdcpu_ins(w, "add i64 %s, %s", x, y) : y;
}

static const char *times_v(CpuWiden *w, const char *v, int64_t n) {
  return n == 1 ? v : hdcpu_ins(w, "mul %s %s, %s", w->vt[IR_I64], v, hdcpu_int(w, 64, true, n));
}

static const char *plus_v(CpuWiden *w, const char *x, const char *y) {
  return x ? hdcpu_ins(w, "add %s %s, %s", w->vt[IR_I64], x, y) : y;
}

static const char *move(CpuWiden *w, const char *ptr, const char *bytes) {
  return bytes ? hdcpu_ins(w, "getelementptr i8, ptr %s, i64 %s", ptr, bytes) : ptr;
}

static IrFact fact(const CpuWiden *w, const IrValue *v) {
  return hdir_is_const(v) ? (IrFact){IR_UNIFORM, 0, NULL, 0} : w->facts->of[v->id];
}

/* --- index --- */

typedef struct Axes {
  const IrInst *inst;
  uint32_t at, n; /* of the array in the argument block; axes */
  int64_t size;
  bool outer_moves, inner_varies;
} Axes;

/* Elements from neighbour to neighbour along axis k: i64, or NULL for 1. */
static const char *axis_stride(CpuWiden *w, const Axes *x, uint32_t k) {
  if (k + 1 == x->n && w->options.dense) return NULL;
  return hdcpu_param(w, "i64", 8, x->at + 8 + 8 * x->n + 8 * k);
}

static const char *scaled(CpuWiden *w, const char *i64, const char *stride) {
  return stride ? hdcpu_ins(w, "mul i64 %s, %s", i64, stride) : i64;
}

enum { BASE_DEPTH = 6 };

static bool scales(const IrInst *i) { return (i->op == IR_mul || i->op == IR_shl) && hdir_is_const(i->args[1]); }

/* The constant that an i32 of sums, differences and constant multiples comes to besides its base, modulo 2^32: with `base` the
 * rest, as text or NULL for 0. */
static uint32_t constant_of(CpuWiden *w, const IrValue *v, int depth, const char **base) {
  const IrInst *i = v->def;
  if (hdir_is_const(v)) return (uint32_t)v->bits;
  bool sum = i && (i->op == IR_add || i->op == IR_sub), inner = i && depth < BASE_DEPTH && (sum || scales(i));
  for (uint32_t k = 0; inner && k < 2; k++) inner = fact(w, i->args[k]).cls != IR_VARYING;
  if (!inner) {
    if (base) *base = hdcpu_s(w, v);
    return 0;
  }
  const char *x = NULL, *y = NULL;
  uint32_t c = constant_of(w, i->args[0], depth + 1, base ? &x : NULL);
  if (!sum) {
    uint32_t by = i->op == IR_mul ? (uint32_t)i->args[1]->bits : 1u << (i->args[1]->bits & 31);
    if (x) *base = hdcpu_ins(w, "mul i32 %s, %d", x, (int)by);
    return c * by;
  }
  uint32_t d = constant_of(w, i->args[1], depth + 1, base ? &y : NULL);
  if (base && y && (x || i->op == IR_sub))
    *base = hdcpu_ins(w, "%s i32 %s, %s", i->op == IR_add ? "add" : "sub", x ? x : "0", y);
  else if (base)
    *base = x ? x : y;
  return i->op == IR_add ? c + d : c - d;
}

/* `v` is tid plus a constant. */
static const IrInst *tid_plus(const IrValue *v, int64_t *more) {
  const IrInst *i = v->def;
  *more = 0;
  while (i && (i->op == IR_add || i->op == IR_sub) && hdir_is_const(i->args[1])) {
    *more += (i->op == IR_add ? 1 : -1) * (int64_t)(int32_t)i->args[1]->bits;
    i = i->args[0]->def;
  }
  return i && i->op == IR_tid && *more < INT32_MAX && *more > -INT32_MAX ? i : NULL;
}

/* An index as i64, but for a constant *more that may be added after widening, where it meets others like it: a sum that wraps
 * must lie outside of every array. So it is with a positive constant of a signed index, which wraps to a negative sum; and
 * with any that is added to tid, which lies in 0 .. 2^31 - 2. */
static const char *widened(CpuWiden *w, const IrValue *v, int64_t *more) {
  const IrInst *tid = hdir_bits(v->type) == 32 ? tid_plus(v, more) : NULL;
  if (tid && tid->imm == w->inner_axis) return w->lane0;
  if (tid) return to_i64(w, v->type, hdcpu_s(w, tid->res[0]));
  *more = v->type->kind == IR_I32 ? (int32_t)constant_of(w, v, 0, NULL) : 0;
  if (*more <= 0) {
    *more = 0;
    return to_i64(w, v->type, hdcpu_s(w, v));
  }
  const char *base = NULL;
  constant_of(w, v, 0, &base);
  return base ? hdcpu_ins(w, "sext i32 %s to i64", base) : "0";
}

/* Bytes that the uniform and affine indices, lane 0's, come to; the varying ones are left out. What is constant of it goes to
 * *off. */
static const char *common_bytes(CpuWiden *w, const Axes *x, bool affine_too, int64_t *off) {
  const char *sum = NULL;
  for (uint32_t k = 0; k < x->n; k++) {
    const IrValue *v = x->inst->args[1 + k];
    IrClass c = fact(w, v).cls;
    int64_t more = 0;
    if (c == IR_VARYING || (c == IR_AFFINE && !affine_too) || (hdir_is_const(v) && !v->bits)) continue;
    const char *stride = axis_stride(w, x, k);
    if (hdir_is_const(v) && !stride) {
      *off += hdir_const_i64(v) * x->size;
      continue;
    }
    sum = plus(w, sum, scaled(w, widened(w, v, &more), stride));
    if (stride && more)
      sum = plus(w, sum, times(w, stride, more));
    else
      *off += more * x->size;
  }
  return sum ? times(w, sum, x->size) : NULL;
}

static void affine_index(CpuWiden *w, const Axes *x, CpuAddr *a) {
  const char *sum = NULL;
  int64_t fixed = 0;
  for (uint32_t k = 0; k < x->n; k++) {
    IrFact f = fact(w, x->inst->args[1 + k]);
    if (f.cls != IR_AFFINE) continue;
    const char *stride = axis_stride(w, x, k);
    if (stride)
      sum = plus(w, sum, times(w, stride, f.stride * x->size));
    else
      fixed += f.stride * x->size;
  }
  a->at = AT_AFFINE;
  a->stride = fixed;
  if (sum) a->rstride = fixed ? hdcpu_ins(w, "add i64 %s, %lld", sum, (long long)fixed) : sum;
}

static void varying_index(CpuWiden *w, const Axes *x, CpuAddr *a) {
  const IrValue *last = x->inst->args[x->n];
  a->at = AT_VARYING;
  a->scale = x->size;
  if (!x->outer_moves && w->options.dense) {
    a->index = hdcpu_v(w, last);
    a->index_bits = hdir_bits(last->type);
    a->loaded = last->def && last->def->op == IR_load ? last->def : NULL;
    a->length = x->at + 8 * x->n;
    return;
  }
  const char *sum = NULL;
  for (uint32_t k = 0; k < x->n; k++) {
    const IrValue *v = x->inst->args[1 + k];
    if (fact(w, v).cls == IR_UNIFORM) continue;
    const char *wide = to_i64s(w, v->type, hdcpu_v(w, v)), *stride = axis_stride(w, x, k);
    if (stride) wide = hdcpu_ins(w, "mul %s %s, %s", w->vt[IR_I64], wide, hdcpu_splat(w, "i64", stride));
    sum = plus_v(w, sum, wide);
  }
  a->index = sum;
  a->index_bits = 64;
}

void hdcpu_index(CpuWiden *w, const IrInst *i) {
  Axes x = {i, w->place[i->args[0]->id], i->args[0]->type->rows, i->res[0]->type->elem->size, false, false};
  bool moves = false, varies = false;
  if (x.at == UINT32_MAX) {
    hdcpu_fail(w, i, HD_ERR_COMPILE, "an array that is no parameter");
    return;
  }
  for (uint32_t k = 0; k < x.n; k++) {
    IrClass c = fact(w, i->args[1 + k]).cls;
    moves |= c != IR_UNIFORM;
    varies |= c == IR_VARYING;
    x.outer_moves |= k + 1 < x.n && c != IR_UNIFORM;
  }
  CpuAddr a = {.root = i->res[0], .at = AT_UNIFORM};
  a.base = move(w, hdcpu_param(w, "ptr", 8, x.at), common_bytes(w, &x, !varies, &a.off));
  if (varies)
    varying_index(w, &x, &a);
  else if (moves)
    affine_index(w, &x, &a);
  copy(w, i, a);
}

/* --- local objects --- */

enum { LOCAL_MOST = 1 << 20 }; /* bytes of stack that the objects of one gang may take each */

void hdcpu_alloca(CpuWiden *w, const IrInst *i) {
  uint32_t size = i->res[0]->type->elem->size;
  uint64_t bytes = (uint64_t)size * w->width;
  if (bytes > LOCAL_MOST) {
    hdcpu_fail(w, i, HD_ERR_UNSUPPORTED, "a local variable of more than a megabyte for one gang");
    bytes = 16;
  }
  const char *p = hdcpu_entry(w, "alloca [%llu x i8], align 64", (unsigned long long)bytes);
  hdcpu_call(w, "void", "llvm.memset.p0.i64", "ptr, i8, i64, i1", "ptr align 64 %s, i8 0, i64 %llu, i1 false", p,
             (unsigned long long)bytes);
  copy(w, i, (CpuAddr){.root = i->res[0], .local = true, .at = AT_UNIFORM, .base = p});
}

/* A group runs on one thread of the host, so its memory lies on that one's stack. */
void hdcpu_shared(CpuWiden *w, const IrInst *i) {
  uint32_t size = i->res[0]->type->elem->size, around = 64; /* wide loads may read beyond it */
  const char *p = hdcpu_entry(w, "alloca [%u x i8], align 64", size + 2 * around);
  p = hdcpu_entry(w, "getelementptr i8, ptr %s, i64 %u", p, around);
  copy(w, i, (CpuAddr){.root = i->res[0], .at = AT_UNIFORM, .base = p});
}

/* --- parts --- */

void hdcpu_member(CpuWiden *w, const IrInst *i) {
  CpuAddr a = *of(w, i, i->args[0]);
  a.off += hdir_part_offset(i->args[0]->type->elem, (uint32_t)i->imm);
  copy(w, i, a);
}

/* An index of a local object, at most n - 1, as a value or for each lane. */
static const char *clamped(CpuWiden *w, const IrValue *v, bool vec, uint32_t n) {
  const char *x = hdcpu_get(w, v, vec), *ty = hdcpu_type(w, v->type, vec);
  const char *most = hdcpu_int(w, hdir_bits(v->type), vec, (int64_t)n - 1);
  const char *in = hdcpu_ins(w, "icmp ult %s %s, %s", ty, x, most);
  return hdcpu_ins(w, "select %s %s, %s %s, %s %s", vec ? w->bt : "i1", in, ty, x, ty, most);
}

static void local_elem(CpuWiden *w, const IrInst *i, CpuAddr *a) {
  const IrValue *v = i->args[1];
  int64_t size = i->res[0]->type->elem->size;
  uint32_t n = i->args[0]->type->elem->nparts;
  if (fact(w, v).cls == IR_UNIFORM) {
    const char *at = to_i64(w, v->type, clamped(w, v, false, n));
    a->base = move(w, a->base, times(w, at, size * w->width));
    return;
  }
  const char *x = clamped(w, v, true, n);
  if (hdir_bits(v->type) == 64) x = hdcpu_ins(w, "trunc %s %s to %s", w->vt[IR_I64], x, w->vt[IR_I32]);
  if (size != 1) x = hdcpu_ins(w, "mul %s %s, %s", w->vt[IR_I32], x, hdcpu_int(w, 32, true, size));
  if (a->at == AT_VARYING) x = hdcpu_ins(w, "add %s %s, %s", w->vt[IR_I32], a->index, x);
  a->at = AT_VARYING;
  a->index = x;
  a->index_bits = 32;
  a->scale = 1;
}

/* Byte offsets of any address as an AT_VARYING with 64-bit lanes. */
static const char *byte_lanes(CpuWiden *w, const CpuAddr *a) {
  if (a->at == AT_UNIFORM) return NULL;
  if (a->at == AT_AFFINE && !a->rstride) return hdcpu_ramp(w, 64, a->stride);
  if (a->at == AT_AFFINE)
    return hdcpu_ins(w, "mul %s %s, %s", w->vt[IR_I64], hdcpu_splat(w, "i64", a->rstride), hdcpu_ramp(w, 64, 1));
  const char *x = a->index;
  if (a->index_bits == 32) x = hdcpu_ins(w, "sext %s %s to %s", w->vt[IR_I32], x, w->vt[IR_I64]);
  return times_v(w, x, a->scale);
}

static void global_elem(CpuWiden *w, const IrInst *i, CpuAddr *a) {
  const IrValue *v = i->args[1];
  IrFact f = fact(w, v);
  int64_t size = i->res[0]->type->elem->size;
  if (f.cls == IR_UNIFORM || (f.cls == IR_AFFINE && a->at != AT_VARYING && !a->rstride)) {
    a->base = move(w, a->base, times(w, to_i64(w, v->type, hdcpu_s(w, v)), size));
    if (f.cls == IR_AFFINE) a->at = AT_AFFINE, a->stride += f.stride * size;
    if (a->at == AT_AFFINE && !a->stride && !a->rstride) a->at = AT_UNIFORM;
    a->root = i->res[0]; /* the base is another one now */
    return;
  }
  const char *x = times_v(w, to_i64s(w, v->type, hdcpu_v(w, v)), size);
  a->index = plus_v(w, byte_lanes(w, a), x);
  a->index_bits = 64;
  a->scale = 1;
  a->at = AT_VARYING;
  a->rstride = NULL;
  a->loaded = NULL;
  a->length = 0;
  a->root = i->res[0];
}

void hdcpu_elem(CpuWiden *w, const IrInst *i) {
  CpuAddr a = *of(w, i, i->args[0]);
  if (hdir_is_const(i->args[1]))
    a.off += hdir_const_i64(i->args[1]) * i->res[0]->type->elem->size;
  else if (a.local)
    local_elem(w, i, &a);
  else
    global_elem(w, i, &a);
  copy(w, i, a);
}

/* --- for loads and stores --- */

const char *hdcpu_point(CpuWiden *w, const CpuAddr *p, int64_t more) {
  int64_t off = p->local ? p->off * w->width + more : p->off + more;
  return off ? hdcpu_ins(w, "getelementptr i8, ptr %s, i64 %lld", p->base, (long long)off) : p->base;
}

/* In the lanes that are off a safe offset is 0: while some lane is on the array has an element 0. */
const char *hdcpu_safe_index(CpuWiden *w, const CpuAddr *p) {
  if (hdcpu_all_on(w)) return p->index;
  const char *ty = w->vt[p->index_bits == 64 ? IR_I64 : IR_I32];
  return hdcpu_ins(w, "select %s %s, %s %s, %s zeroinitializer", w->bt, hdcpu_i1(w, hdcpu_on(w)), ty, p->index, ty);
}

const char *hdcpu_offsets(CpuWiden *w, const CpuAddr *p, uint32_t size, bool safe) {
  CpuAddr a = *p;
  if (safe && a.at == AT_VARYING && !a.local) a.index = hdcpu_safe_index(w, p);
  if (a.local) a.scale *= w->width;
  const char *x = byte_lanes(w, &a);
  if (a.local) x = plus_v(w, x, hdcpu_ramp(w, 64, size));
  return x ? x : "zeroinitializer";
}

const char *hdcpu_lane_ptr(CpuWiden *w, const char *point, const char *offsets, uint32_t lane) {
  const char *o = hdcpu_ins(w, "extractelement %s %s, i32 %u", w->vt[IR_I64], offsets, lane);
  return hdcpu_ins(w, "getelementptr i8, ptr %s, i64 %s", point, o);
}

/* Nothing between the two writes memory or branches. */
static bool undisturbed(const IrInst *from, const IrInst *to) {
  for (uint32_t left = 100; from && left; left--, from = from->next) {
    if (from == to) return true;
    IrEffect e = hdir_ops[from->op].effect;
    if (e != FX_PURE && e != FX_LAUNCH && e != FX_READS) return false;
  }
  return false;
}

bool hdcpu_may_reload(CpuWiden *w, const CpuAddr *p, const IrInst *user) {
  const IrInst *load = p->loaded;
  if (p->at != AT_VARYING || !load || p->index_bits != 32 || w->uses[load->res[0]->id] != 1 || !hdcpu_all_on(w))
    return false;
  const CpuAddr *from = w->addr[load->args[0]->id];
  if (!from || from->local || from->at != AT_AFFINE || from->rstride || from->stride != 4) return false;
  return undisturbed(load, user);
}

const char *hdcpu_reload_offset(CpuWiden *w, const CpuAddr *p, uint32_t lane) {
  const CpuAddr *from = w->addr[p->loaded->args[0]->id];
  const char *x = hdcpu_ins(w, "load i32, ptr %s, align 4", hdcpu_point(w, from, 4 * lane));
  return times(w, hdcpu_ins(w, "sext i32 %s to i64", x), p->scale);
}

const char *hdcpu_ptrs(CpuWiden *w, const CpuAddr *p, uint32_t size) {
  const char *point = hdcpu_point(w, p, 0), *out = hdcpu_fmt(w, "ptr %s, %s", point, w->vt[IR_I32]);
  if (p->local) { /* a sign-extended 32-bit index makes one gather, anything else two */
    const char *x = hdcpu_ins(w, "mul %s %s, %s", w->vt[IR_I32], p->index, hdcpu_int(w, 32, true, p->scale * w->width));
    x = hdcpu_ins(w, "add %s %s, %s", w->vt[IR_I32], x, hdcpu_ramp(w, 32, size));
    return hdcpu_ins(w, "getelementptr i8, %s %s", out, x);
  }
  bool power = p->scale == 1 || p->scale == 2 || p->scale == 4 || p->scale == 8;
  if (p->at == AT_VARYING && p->index_bits == 32 && power)
    return hdcpu_ins(w, "getelementptr i%lld, %s %s", (long long)p->scale * 8, out, p->index);
  if (p->at == AT_AFFINE && !p->rstride && p->stride < 1 << 20 && p->stride > -(1 << 20))
    return hdcpu_ins(w, "getelementptr i8, %s %s", out, hdcpu_ramp(w, 32, p->stride));
  return hdcpu_ins(w, "getelementptr i8, ptr %s, %s %s", point, w->vt[IR_I64], hdcpu_offsets(w, p, size, false));
}
