/* backends/cpu/widen_mem.c -- loads and stores: what the address says about the lanes decides the form.
 *
 *     address             all lanes on                  masked
 *     uniform load        one scalar load               the same: code runs only while a lane is on
 *     uniform store       the last lane's value         the last lane's that is on
 *     contiguous          a vector                      masked vector; per lane where there is none; a plain load where
 *                                                       the array is padded
 *     backwards           a vector and a reversal       as others
 *     others              gather or scatter on AVX-512 (32- and 64-bit lanes), else lane by lane; lanes that are off
 *                         load from a safe place and store in no case (another thread may own that place)
 *
 * Only 32- and 64-bit lanes have masked forms on AVX2, and none have on SSE4 and NEON.
 */
#include "backends/cpu/widen.h"

/* --- forms of values in memory --- */

static const char *mem_vec(CpuWiden *w, const IrType *t) { return t->kind == IR_BOOL ? w->vt[IR_I8] : w->vt[t->kind]; }

const char *hdcpu_to_mem(CpuWiden *w, const IrType *t, const char *v) {
  return t->kind == IR_BOOL ? hdcpu_ins(w, "zext %s %s to %s", w->bt, hdcpu_i1(w, v), w->vt[IR_I8]) : v;
}

const char *hdcpu_from_mem(CpuWiden *w, const IrType *t, const char *v) {
  if (t->kind != IR_BOOL) return v;
  return hdcpu_mask(w, hdcpu_ins(w, "icmp ne %s %s, zeroinitializer", w->vt[IR_I8], v));
}

static const char *suffix(CpuWiden *w, const IrType *t) {
  bool f = t->kind == IR_F32 || t->kind == IR_F64;
  return hdcpu_suffix(w, f ? 'f' : 'i', t->size * 8, true);
}

static bool has_masked(const CpuWiden *w, const IrType *t) {
  return w->target->isa == CPU_AVX512 || (w->target->isa == CPU_AVX2 && t->size >= 4);
}

static bool has_gather(const CpuWiden *w, const IrType *t) { return w->target->isa == CPU_AVX512 && t->size >= 4; }

static uint32_t row_align(const CpuWiden *w, const IrType *t) {
  uint32_t bytes = t->size * w->width;
  return bytes < 64 ? bytes : 64;
}

/* --- the stack --- */

const char *hdcpu_scratch(CpuWiden *w, int k) {
  if (!w->scratch[k]) w->scratch[k] = hdcpu_entry(w, "alloca [%u x i64], align 64", w->width);
  return w->scratch[k];
}

const char *hdcpu_scratch_lane(CpuWiden *w, int k, uint32_t size, const char *lane) {
  return hdcpu_ins(w, "getelementptr i%u, ptr %s, i32 %s", size * 8, hdcpu_scratch(w, k), lane);
}

static const char *dummy(CpuWiden *w) {
  if (!w->dummy) {
    w->dummy = hdcpu_entry(w, "alloca [8 x i64], align 64");
    hdb_putf(&w->entry, "  store <8 x i64> zeroinitializer, ptr %s, align 64\n", w->dummy);
  }
  return w->dummy;
}

CpuLanes hdcpu_lanes_begin(CpuWiden *w, const char *bits) {
  CpuLanes l = {hdcpu_label(w), hdcpu_label(w), hdcpu_name(w), hdcpu_name(w), NULL};
  const char *before = w->block;
  hdcpu_line(w, "br label %%%s", l.head);
  hdcpu_open(w, l.head);
  hdcpu_line(w, "%s = phi i32 [ %s, %%%s ], [ %s, %%%s ]", l.bits, bits, before, l.next, l.latch);
  l.lane = hdcpu_call(w, "i32", "llvm.cttz.i32", "i32, i1", "i32 %s, i1 false", l.bits);
  return l;
}

void hdcpu_lanes_end(CpuWiden *w, CpuLanes *l) {
  const char *done = hdcpu_label(w);
  hdcpu_line(w, "br label %%%s", l->latch);
  hdcpu_open(w, l->latch);
  const char *less = hdcpu_ins(w, "sub i32 %s, 1", l->bits);
  hdcpu_line(w, "%s = and i32 %s, %s", l->next, l->bits, less);
  hdcpu_line(w, "br i1 %s, label %%%s, label %%%s", hdcpu_ins(w, "icmp ne i32 %s, 0", l->next), l->head, done);
  hdcpu_open(w, done);
}

/* --- loads --- */

static const char *plain_load(CpuWiden *w, const char *ptr, const IrType *t, uint32_t align) {
  return hdcpu_ins(w, "load %s, ptr %s, align %u", mem_vec(w, t), ptr, align);
}

static const char *masked_load(CpuWiden *w, const char *ptr, const IrType *t) {
  const char *ty = mem_vec(w, t), *name = hdcpu_fmt(w, "llvm.masked.load.%s.p0", suffix(w, t));
  return hdcpu_call(w, ty, name, hdcpu_fmt(w, "ptr, i32, %s, %s", w->bt, ty),
                    "ptr %s, i32 %u, %s %s, %s zeroinitializer", ptr, t->size, w->bt, hdcpu_i1(w, hdcpu_on(w)), ty);
}

/* Lane by lane. Lanes that are off load from their array's first element if the index differs by lane, else, as that
 * is not in reach, from a place on the stack. */
static const char *each_load(CpuWiden *w, const CpuAddr *p, const IrType *t) {
  const char *st = hdcpu_mem_type(t), *vt = mem_vec(w, t), *all = "poison", *point = hdcpu_point(w, p, 0);
  bool fixed = p->at == AT_AFFINE && !p->rstride && !p->local;
  bool guard = !hdcpu_all_on(w) && !p->local && p->at != AT_VARYING;
  const char *offsets = fixed ? NULL : hdcpu_offsets(w, p, t->size, true);
  const char *bits = guard ? hdcpu_bits(w, hdcpu_on(w)) : NULL;
  for (uint32_t k = 0; k < w->width; k++) {
    const char *ptr = fixed ? hdcpu_point(w, p, p->stride * k) : hdcpu_lane_ptr(w, point, offsets, k);
    if (guard) {
      const char *b = hdcpu_ins(w, "and i32 %s, %u", bits, 1u << k);
      ptr = hdcpu_ins(w, "select i1 %s, ptr %s, ptr %s", hdcpu_ins(w, "icmp ne i32 %s, 0", b), ptr, dummy(w));
    }
    const char *x = hdcpu_ins(w, "load %s, ptr %s, align %u", st, ptr, t->size);
    all = hdcpu_ins(w, "insertelement %s %s, %s %s, i32 %u", vt, all, st, x, k);
  }
  return all;
}

static const char *gather(CpuWiden *w, const CpuAddr *p, const IrType *t) {
  const char *ty = mem_vec(w, t), *name = hdcpu_fmt(w, "llvm.masked.gather.%s.v%up0", suffix(w, t), w->width);
  const char *on = p->local ? w->all : hdcpu_on(w); /* any place in a local object may be read */
  const char *ptrs = hdcpu_ptrs(w, p, t->size);
  return hdcpu_call(w, ty, name, hdcpu_fmt(w, "<%u x ptr>, i32, %s, %s", w->width, w->bt, ty),
                    "<%u x ptr> %s, i32 %u, %s %s, %s zeroinitializer", w->width, ptrs, t->size, w->bt, hdcpu_i1(w, on),
                    ty);
}

static const char *reversed(CpuWiden *w, const IrType *t, const char *v) {
  const char *ty = mem_vec(w, t);
  Buf b;
  hdb_buf_init(&b, w->a);
  for (uint32_t k = 0; k < w->width; k++) hdb_putf(&b, "%si32 %u", k ? ", " : "", w->width - 1 - k);
  return hdcpu_ins(w, "shufflevector %s %s, %s poison, <%u x i32> <%s>", ty, v, ty, w->width, b.data);
}

static const char *lanes_in_memory(CpuWiden *w, const CpuAddr *p, const IrType *t) {
  if (p->local && p->at == AT_UNIFORM) return plain_load(w, hdcpu_point(w, p, 0), t, row_align(w, t));
  if (p->at == AT_AFFINE && !p->rstride && !p->local) {
    bool padded = w->options.padded && t->size * (w->width - 1) <= 64;
    if (p->stride == t->size) {
      if (hdcpu_all_on(w) || padded) return plain_load(w, hdcpu_point(w, p, 0), t, t->size);
      if (has_masked(w, t)) return masked_load(w, hdcpu_point(w, p, 0), t);
    }
    if (p->stride == -(int64_t)t->size && (hdcpu_all_on(w) || padded))
      return reversed(w, t, plain_load(w, hdcpu_point(w, p, -(int64_t)t->size * (w->width - 1)), t, t->size));
  }
  return has_gather(w, t) ? gather(w, p, t) : each_load(w, p, t);
}

const char *hdcpu_load_lanes(CpuWiden *w, const CpuAddr *p, const IrType *t) {
  return hdcpu_from_mem(w, t, lanes_in_memory(w, p, t));
}

static const char *scalar_load(CpuWiden *w, const CpuAddr *p, const IrType *t) {
  const char *x = hdcpu_ins(w, "load %s, ptr %s, align %u", hdcpu_mem_type(t), hdcpu_point(w, p, 0), t->size);
  return t->kind == IR_BOOL ? hdcpu_ins(w, "icmp ne i8 %s, 0", x) : x;
}

void hdcpu_load(CpuWiden *w, const IrInst *i) {
  const IrType *t = i->res[0]->type;
  const CpuAddr *p = w->addr[i->args[0]->id];
  if (!p || !hdir_is_scalar(t)) {
    hdcpu_fail(w, i, HD_ERR_COMPILE, "a load that is not of a scalar");
    return;
  }
  if (!hdcpu_is_vec(w, i->res[0])) {
    hdcpu_set(w, i->res[0], scalar_load(w, p, t));
    return;
  }
  if (!p->local && p->at == AT_UNIFORM) { /* facts knows less than the address */
    const char *x = scalar_load(w, p, t);
    if (t->kind == IR_BOOL)
      x = hdcpu_ins(w, "select i1 %s, %s %s, %s %s", x, w->mt, w->all, w->mt, w->none);
    else
      x = hdcpu_splat(w, w->st[t->kind], x);
    hdcpu_set(w, i->res[0], x);
    return;
  }
  if (hdcpu_load_fields(w, i)) return;
  hdcpu_set(w, i->res[0], hdcpu_load_lanes(w, p, t));
}

/* --- stores --- */

static void plain_store(CpuWiden *w, const char *ptr, const IrType *t, const char *v, uint32_t align) {
  hdcpu_line(w, "store %s %s, ptr %s, align %u", mem_vec(w, t), v, ptr, align);
}

static void masked_store(CpuWiden *w, const char *ptr, const IrType *t, const char *v) {
  const char *ty = mem_vec(w, t), *name = hdcpu_fmt(w, "llvm.masked.store.%s.p0", suffix(w, t));
  hdcpu_call(w, "void", name, hdcpu_fmt(w, "%s, ptr, i32, %s", ty, w->bt), "%s %s, ptr %s, i32 %u, %s %s", ty, v, ptr,
             t->size, w->bt, hdcpu_i1(w, hdcpu_on(w)));
}

/* A masked vector store is several times slower than a plain one on AMD's AVX2: try the plain one first. */
static void tested_store(CpuWiden *w, const char *ptr, const IrType *t, const char *v) {
  const char *all = hdcpu_label(w), *some = hdcpu_label(w), *done = hdcpu_label(w);
  hdcpu_line(w, "br i1 %s, label %%%s, label %%%s", hdcpu_all(w, hdcpu_on(w)), all, some);
  hdcpu_open(w, all);
  plain_store(w, ptr, t, v, t->size);
  hdcpu_line(w, "br label %%%s", done);
  hdcpu_open(w, some);
  masked_store(w, ptr, t, v);
  hdcpu_line(w, "br label %%%s", done);
  hdcpu_open(w, done);
}

static void each_store(CpuWiden *w, const CpuAddr *p, const IrType *t, const char *v) {
  const char *st = hdcpu_mem_type(t), *vt = mem_vec(w, t), *point = hdcpu_point(w, p, 0);
  bool fixed = p->at == AT_AFFINE && !p->rstride && !p->local;
  const char *offsets = fixed ? NULL : hdcpu_offsets(w, p, t->size, false);
  for (uint32_t k = 0; k < w->width; k++) {
    const char *ptr = fixed ? hdcpu_point(w, p, p->stride * k) : hdcpu_lane_ptr(w, point, offsets, k);
    const char *x = hdcpu_ins(w, "extractelement %s %s, i32 %u", vt, v, k);
    hdcpu_line(w, "store %s %s, ptr %s, align %u", st, x, ptr, t->size);
  }
}

/* Only the lanes that are on, in a loop over them: values and offsets go through the stack. */
static void some_store(CpuWiden *w, const CpuAddr *p, const IrType *t, const char *v) {
  const char *st = hdcpu_mem_type(t), *point = hdcpu_point(w, p, 0);
  plain_store(w, hdcpu_scratch(w, 0), t, v, row_align(w, t));
  hdcpu_line(w, "store %s %s, ptr %s, align 64", w->vt[IR_I64], hdcpu_offsets(w, p, t->size, false),
             hdcpu_scratch(w, 1));
  CpuLanes l = hdcpu_lanes_begin(w, hdcpu_bits(w, hdcpu_on(w)));
  const char *x = hdcpu_ins(w, "load %s, ptr %s, align %u", st, hdcpu_scratch_lane(w, 0, t->size, l.lane), t->size);
  const char *o = hdcpu_ins(w, "load i64, ptr %s, align 8", hdcpu_scratch_lane(w, 1, 8, l.lane));
  const char *ptr = hdcpu_ins(w, "getelementptr i8, ptr %s, i64 %s", point, o);
  hdcpu_line(w, "store %s %s, ptr %s, align %u", st, x, ptr, t->size);
  hdcpu_lanes_end(w, &l);
}

static void scatter(CpuWiden *w, const CpuAddr *p, const IrType *t, const char *v) {
  const char *ty = mem_vec(w, t), *name = hdcpu_fmt(w, "llvm.masked.scatter.%s.v%up0", suffix(w, t), w->width);
  const char *ptrs = hdcpu_ptrs(w, p, t->size);
  hdcpu_call(w, "void", name, hdcpu_fmt(w, "%s, <%u x ptr>, i32, %s", ty, w->width, w->bt),
             "%s %s, <%u x ptr> %s, i32 %u, %s %s", ty, v, w->width, ptrs, t->size, w->bt, hdcpu_i1(w, hdcpu_on(w)));
}

/* A row of a local object is the gang's own: blend. */
static void row_store(CpuWiden *w, const CpuAddr *p, const IrType *t, const char *v) {
  const char *ptr = hdcpu_point(w, p, 0), *ty = mem_vec(w, t);
  if (!hdcpu_all_on(w)) {
    const char *old = plain_load(w, ptr, t, row_align(w, t));
    v = hdcpu_ins(w, "select %s %s, %s %s, %s %s", w->bt, hdcpu_i1(w, hdcpu_on(w)), ty, v, ty, old);
  }
  plain_store(w, ptr, t, v, row_align(w, t));
}

/* All lanes to one place: the last of them wins, as if they ran one after the other. */
static void uniform_store(CpuWiden *w, const CpuAddr *p, const IrValue *v) {
  const IrType *t = v->type;
  const char *st = hdcpu_mem_type(t), *x;
  if (hdir_is_const(v) || w->facts->of[v->id].cls == IR_UNIFORM) {
    x = hdcpu_s(w, v);
    if (t->kind == IR_BOOL) x = hdcpu_ins(w, "zext i1 %s to i8", x);
  } else {
    const char *all = hdcpu_to_mem(w, t, hdcpu_v(w, v)), *lane = hdcpu_fmt(w, "%u", w->width - 1);
    if (!hdcpu_all_on(w)) {
      const char *b = hdcpu_bits(w, hdcpu_on(w));
      const char *z = hdcpu_call(w, "i32", "llvm.ctlz.i32", "i32, i1", "i32 %s, i1 false", b);
      lane = hdcpu_ins(w, "and i32 %s, %u", hdcpu_ins(w, "sub i32 31, %s", z), w->width - 1);
    }
    x = hdcpu_ins(w, "extractelement %s %s, i32 %s", mem_vec(w, t), all, lane);
  }
  hdcpu_line(w, "store %s %s, ptr %s, align %u", st, x, hdcpu_point(w, p, 0), t->size);
}

static void store_lanes(CpuWiden *w, const CpuAddr *p, const IrType *t, const char *v) {
  bool fixed = p->at == AT_AFFINE && !p->rstride && !p->local;
  if (fixed && p->stride == t->size) {
    const char *ptr = hdcpu_point(w, p, 0);
    if (hdcpu_all_on(w))
      plain_store(w, ptr, t, v, t->size);
    else if (w->target->isa == CPU_AVX512)
      masked_store(w, ptr, t, v);
    else if (has_masked(w, t))
      tested_store(w, ptr, t, v);
    else
      some_store(w, p, t, v);
    return;
  }
  if (fixed && p->stride == -(int64_t)t->size && hdcpu_all_on(w)) {
    plain_store(w, hdcpu_point(w, p, -(int64_t)t->size * (w->width - 1)), t, reversed(w, t, v), t->size);
    return;
  }
  if (has_gather(w, t))
    scatter(w, p, t, v);
  else if (hdcpu_all_on(w))
    each_store(w, p, t, v);
  else
    some_store(w, p, t, v);
}

void hdcpu_store(CpuWiden *w, const IrInst *i) {
  const IrValue *v = i->args[1];
  const CpuAddr *p = w->addr[i->args[0]->id];
  if (!p || !hdir_is_scalar(v->type)) {
    hdcpu_fail(w, i, HD_ERR_COMPILE, "a store that is not of a scalar");
    return;
  }
  if (p->at == AT_UNIFORM && !p->local) {
    uniform_store(w, p, v);
    return;
  }
  if (!p->local && hdcpu_store_fields(w, i)) return;
  const char *x = hdcpu_to_mem(w, v->type, hdcpu_v(w, v));
  if (p->local && p->at == AT_UNIFORM)
    row_store(w, p, v->type, x);
  else
    store_lanes(w, p, v->type, x);
}
