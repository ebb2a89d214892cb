/* backends/cpu/widen_aos.c -- neighbouring scalars of an array, or of an object that a group shares, together: fields of
 * structs and vectors, elements of rows.
 *
 * Loads (or stores) of one region with nothing between them that may write (or touch) memory form a group if their addresses
 * differ by constants only. A lane then reads its scalars 16 bytes at a time, and the rows of R = 16 / size lanes are
 * transposed inside 128-bit blocks, which every vector unit does well: R loads and R shuffles or so instead of R gathers of
 * a load a lane each. Where vectors of two or three follow each other without gaps, the whole memory of the gang is read or
 * written as it lies, and shuffled.
 *
 * Block g of row vector j holds the row of lane R g + j; after the transposition block g of field f holds lanes
 * R g .. R g + R - 1, in order. Lanes that are off read what the first lane that is on reads. No byte outside the array is
 * touched: what is read beyond the group's scalars belongs to the same element, or to the next one if there is one.
 */
#include "backends/cpu/widen.h"

enum { GROUP = 64, ROW = 16, LOOK = 400 }; /* members; bytes; instructions looked at */

/* --- addresses as a root and a constant --- */

typedef struct Place {
  const IrInst *root; /* the index that the address is made from, or the elem of what a group shares           */
  const IrValue *sum; /* of an elem: its index without what is added to it; roots that agree so far are one    */
  bool row;           /* of an index: roots that differ in the last index only, a constant, are one            */
  int64_t more;       /* bytes that the root has more than those that are one with it: by that constant or sum */
  int64_t off;        /* bytes from there, without `more` */
} Place;

/* `v` less the constant that is added to it. */
static const IrValue *addend(const IrValue *v, int64_t *more) {
  const IrInst *i = v->def;
  *more = 0;
  for (; i && (i->op == IR_add || i->op == IR_sub) && hdir_is_const(i->args[1]); i = v->def) {
    *more += (i->op == IR_add ? 1 : -1) * hdir_const_i64(i->args[1]);
    v = i->args[0];
  }
  return v;
}

/* Where `p` points to; false if its root is neither or there is more than constants after it. */
static bool place_of(const CpuWiden *w, const IrValue *p, Place *out) {
  int64_t off = 0;
  const IrInst *i = p->def;
  for (; i; i = i->args[0]->def) {
    if (i->op == IR_member)
      off += hdir_part_offset(i->args[0]->type->elem, (uint32_t)i->imm);
    else if (i->op == IR_elem && hdir_is_const(i->args[1]))
      off += hdir_const_i64(i->args[1]) * i->res[0]->type->elem->size;
    else
      break;
  }
  if (!i || (i->op != IR_index && i->op != IR_elem)) return false;
  const IrValue *last = i->args[i->nargs - 1];
  *out = (Place){.root = i};
  if (i->op == IR_elem) {
    if (p->type->space != IR_SHARED || hdir_bits(last->type) < 32) return false;
    out->sum = addend(last, &out->more);
  } else if (hdir_is_const(last) && w->options.dense) {
    out->row = true;
    out->more = hdir_const_i64(last);
  }
  out->more *= i->res[0]->type->elem->size;
  out->off = off + out->more;
  return true;
}

static bool same_root(const Place *a, const Place *b) {
  if (a->root == b->root) return true;
  if (a->sum && b->sum) return a->sum == b->sum && a->root->args[0] == b->root->args[0];
  if (!a->row || !b->row || a->root->nargs != b->root->nargs) return false;
  for (uint32_t k = 0; k + 1 < a->root->nargs; k++)
    if (a->root->args[k] != b->root->args[k]) return false;
  return true;
}

/* --- groups --- */

typedef struct Member {
  const IrInst *inst;
  int64_t off; /* from the first member's root, without its own constants */
} Member;

typedef struct Group {
  Member m[GROUP];
  uint32_t n, size; /* members; bytes of a scalar */
  int64_t lo, hi;   /* the first byte and the one after the last */
  int64_t end;      /* of the element that begins at byte 0; hi if that is not known */
  CpuAddr at;       /* of byte 0 */
} Group;

static bool ends_group(const IrInst *i, bool store) {
  switch (hdir_ops[i->op].effect) {
  case FX_PURE:
  case FX_LAUNCH: return false;
  case FX_READS: return store && i->args[0]->type->space != IR_LOCAL;
  case FX_WRITES: return !store && i->args[0]->type->space != IR_LOCAL;
  case FX_LOCAL: return false;
  default: return true;
  }
}

static uint32_t scalar_size(const IrInst *i, bool store) {
  const IrType *t = store ? i->args[1]->type : i->res[0]->type;
  return hdir_is_scalar(t) && (t->size == 4 || t->size == 8) ? t->size : 0;
}

/* False if it lies too far from the others. */
static bool add(Group *g, const IrInst *i, int64_t off) {
  int64_t lo = off < g->lo ? off : g->lo, hi = off + g->size > g->hi ? off + g->size : g->hi;
  if (hi - lo > 16 * ROW) return false;
  g->m[g->n++] = (Member){i, off};
  g->lo = lo;
  g->hi = hi;
  return true;
}

/* Takes `i` if it belongs to the group. False at a store that may write where a member does, which must stay before it. */
static bool take(const CpuWiden *w, const IrInst *i, bool store, const Place *first, Group *g) {
  Place p;
  if (i->op != (store ? IR_store : IR_load) || i->args[0]->type->space == IR_LOCAL) return true;
  if (!place_of(w, i->args[0], &p) || !same_root(first, &p)) return !store;
  if (g->n == GROUP || w->done[i->id] || w->group[i->id]) return !store;
  if (scalar_size(i, store) != g->size) return true; /* another field, apart from all members */
  return add(g, i, p.off) || !store;
}

/* All of the group that begins with `i`, in order; for stores as noted, if they were. */
static bool collect(const CpuWiden *w, const IrInst *i, bool store, Group *g) {
  Place first, p;
  *g = (Group){.size = scalar_size(i, store)};
  if (!g->size || !place_of(w, i->args[0], &first) || !w->addr[first.root->res[0]->id]) return false;
  g->lo = first.off;
  g->hi = first.off;
  uint32_t left = LOOK;
  bool noted = w->group[i->id] != NULL;
  for (const IrInst *at = i; at && left-- && !ends_group(at, store); at = at->next) {
    if (noted && w->group[at->id] == i && place_of(w, at->args[0], &p)) add(g, at, p.off);
    if (!noted && !take(w, at, store, &first, g)) break;
  }
  g->at = *w->addr[first.root->res[0]->id];
  g->at.off -= first.more;
  g->end = first.row || first.sum ? g->hi : first.root->res[0]->type->elem->size;
  return g->n > 1 && g->lo % g->size == 0;
}

static bool wanted(const Group *g, int64_t off) {
  for (uint32_t k = 0; k < g->n; k++)
    if (g->m[k].off == off) return true;
  return false;
}

/* --- shuffles --- */

/* The types that everything is done in: bits of integers travel as floats, which changes none. */
static const char *elem_type(const Group *g) { return g->size == 4 ? "float" : "double"; }

static const char *vector_type(CpuWiden *w, const Group *g, uint32_t n) {
  return hdcpu_fmt(w, "<%u x %s>", n, elem_type(g));
}

static const char *shuffle(CpuWiden *w, const char *type, const char *a, const char *b, uint32_t n,
                           const uint32_t *mask) {
  Buf m;
  hdb_buf_init(&m, w->a);
  for (uint32_t k = 0; k < n; k++) {
    hdb_put(&m, k ? ", " : "");
    if (mask[k] == UINT32_MAX)
      hdb_put(&m, "i32 poison");
    else
      hdb_putf(&m, "i32 %u", mask[k]);
  }
  return hdcpu_ins(w, "shufflevector %s %s, %s %s, <%u x i32> <%s>", type, a, type, b ? b : "poison", n, m.data);
}

/* Pieces joined, in order; a power of two of them, of `n` scalars each. */
static const char *joined(CpuWiden *w, const Group *g, const char **part, uint32_t count, uint32_t n) {
  uint32_t mask[64] = {0};
  for (uint32_t k = 0; k < 64; k++) mask[k] = k;
  for (; count > 1; count /= 2, n *= 2)
    for (uint32_t k = 0; k < count / 2; k++)
      part[k] = shuffle(w, vector_type(w, g, n), part[2 * k], part[2 * k + 1], 2 * n, mask);
  return part[0];
}

static const char *piece(CpuWiden *w, const Group *g, const char *v, uint32_t from, uint32_t n) {
  uint32_t mask[64] = {0};
  for (uint32_t k = 0; k < n; k++) mask[k] = from + k;
  return shuffle(w, vector_type(w, g, w->width), v, NULL, n, mask);
}

/* In every 128-bit block, element k comes from element sel[k] of the same block of a (below R) or b. */
static const char *in_blocks(CpuWiden *w, const Group *g, const char *a, const char *b, const uint32_t *sel) {
  uint32_t mask[64] = {0}, r = ROW / g->size;
  for (uint32_t k = 0; k < w->width; k++) {
    uint32_t s = sel[k % r], base = k / r * r;
    mask[k] = s < r ? base + s : w->width + base + s - r;
  }
  return shuffle(w, vector_type(w, g, w->width), a, b, w->width, mask);
}

/* v[0..R) of rows to v[0..R) of fields, or back. */
static void transpose(CpuWiden *w, const Group *g, const char **v) {
  static const uint32_t low2[] = {0, 2}, high2[] = {1, 3};
  static const uint32_t low[] = {0, 4, 1, 5}, high[] = {2, 6, 3, 7}, front[] = {0, 1, 4, 5}, back[] = {2, 3, 6, 7};
  if (g->size == 8) {
    const char *a = in_blocks(w, g, v[0], v[1], low2), *b = in_blocks(w, g, v[0], v[1], high2);
    v[0] = a, v[1] = b;
    return;
  }
  const char *a = in_blocks(w, g, v[0], v[1], low), *b = in_blocks(w, g, v[2], v[3], low);
  const char *c = in_blocks(w, g, v[0], v[1], high), *d = in_blocks(w, g, v[2], v[3], high);
  v[0] = in_blocks(w, g, a, b, front);
  v[1] = in_blocks(w, g, a, b, back);
  v[2] = in_blocks(w, g, c, d, front);
  v[3] = in_blocks(w, g, c, d, back);
}

/* --- vectors of two without gaps --- */

/* Bytes `o` and those of the next scalar, which is the last of its run, follow each other from lane to lane. */
static bool is_pair(const CpuWiden *w, const Group *g, int64_t o) {
  const CpuAddr *a = &g->at;
  return a->at == AT_AFFINE && !a->rstride && a->stride == 2 * (int64_t)g->size && hdcpu_all_on(w) && wanted(g, o) &&
         wanted(g, o + g->size) && !wanted(g, o - g->size) && !wanted(g, o + 2 * g->size);
}

static void load_pair(CpuWiden *w, const Group *g, const char *point, const char **out) {
  uint32_t n = w->width, mask[64] = {0};
  const char *type = vector_type(w, g, n);
  const char *low = hdcpu_ins(w, "load %s, ptr %s, align %u", type, point, g->size);
  const char *next = hdcpu_ins(w, "getelementptr i8, ptr %s, i64 %u", point, n * g->size);
  const char *high = hdcpu_ins(w, "load %s, ptr %s, align %u", type, next, g->size);
  for (uint32_t f = 0; f < 2; f++) {
    for (uint32_t k = 0; k < n; k++) mask[k] = 2 * k + f;
    out[f] = shuffle(w, type, low, high, n, mask);
  }
}

static void store_pair(CpuWiden *w, const Group *g, const char *point, const char *const *v) {
  uint32_t n = w->width, mask[64] = {0};
  const char *type = vector_type(w, g, n);
  for (uint32_t half = 0; half < 2; half++) {
    for (uint32_t k = 0; k < n; k++) mask[k] = (half * n + k) / 2 + k % 2 * n;
    const char *to = half ? hdcpu_ins(w, "getelementptr i8, ptr %s, i64 %u", point, n * g->size) : point;
    hdcpu_line(w, "store %s %s, ptr %s, align %u", type, shuffle(w, type, v[0], v[1], n, mask), to, g->size);
  }
}

/* --- vectors of three without gaps --- */

static bool is_triple(const CpuWiden *w, const Group *g, bool store) {
  const CpuAddr *a = &g->at;
  if (g->size != 4 || w->width < 4 || a->at != AT_AFFINE || a->rstride || a->stride != 12 || g->lo % 12 ||
      g->hi - g->lo != 12)
    return false;
  for (int64_t o = g->lo; store && o < g->hi; o += 4)
    if (!wanted(g, o)) return false;
  return hdcpu_all_on(w);
}

/* The three vectors that lie in memory, to x, y, z. Two wide registers shuffle freely on AVX-512; elsewhere 128-bit blocks
 * are loaded so that all shuffles stay inside blocks (after Intel, "3D Vector Normalization Using 256-Bit AVX", 2011). */
static void load_triples(CpuWiden *w, const Group *g, const char *point, const char **out) {
  uint32_t n = w->width, blocks = n / 4;
  const char *type = vector_type(w, g, n), *v[3] = {NULL};
  if (w->target->isa == CPU_AVX512 && n >= 8) {
    for (uint32_t k = 0; k < 3; k++)
      v[k] = hdcpu_ins(w, "load %s, ptr %s, align 4", type,
                       k ? hdcpu_ins(w, "getelementptr i8, ptr %s, i64 %u", point, 4 * n * k) : point);
    for (uint32_t f = 0; f < 3; f++) {
      uint32_t first[64] = {0}, then[64] = {0};
      for (uint32_t k = 0; k < n; k++) {
        uint32_t at = 3 * k + f;
        first[k] = at < 2 * n ? at : UINT32_MAX;
        then[k] = at < 2 * n ? k : at - n;
      }
      out[f] = shuffle(w, type, shuffle(w, type, v[0], v[1], n, first), v[2], n, then);
    }
    return;
  }
  for (uint32_t k = 0; k < 3; k++) {
    const char *part[16] = {NULL};
    for (uint32_t b = 0; b < blocks; b++)
      part[b] = hdcpu_ins(w, "load <4 x float>, ptr %s, align 4",
                          hdcpu_ins(w, "getelementptr i8, ptr %s, i64 %u", point, 48 * b + 16 * k));
    v[k] = joined(w, g, part, blocks, 4);
  }
  static const uint32_t xy[] = {2, 3, 5, 6}, yz[] = {1, 2, 4, 5}, x[] = {0, 3, 4, 6}, y[] = {0, 2, 5, 7},
                        z[] = {1, 3, 4, 7};
  const char *rxy = in_blocks(w, g, v[1], v[2], xy), *ryz = in_blocks(w, g, v[0], v[1], yz);
  out[0] = in_blocks(w, g, v[0], rxy, x);
  out[1] = in_blocks(w, g, ryz, rxy, y);
  out[2] = in_blocks(w, g, ryz, v[2], z);
}

static void store_triples(CpuWiden *w, const Group *g, const char *point, const char *const *v) {
  uint32_t n = w->width, blocks = n / 4;
  const char *type = vector_type(w, g, n), *r[3];
  if (w->target->isa == CPU_AVX512 && n >= 8) {
    for (uint32_t k = 0; k < 3; k++) {
      uint32_t first[64] = {0}, then[64] = {0};
      for (uint32_t e = 0; e < n; e++) {
        uint32_t at = n * k + e, f = at % 3, lane = at / 3;
        first[e] = f < 2 ? f * n + lane : UINT32_MAX;
        then[e] = f < 2 ? e : n + lane;
      }
      const char *s = shuffle(w, type, shuffle(w, type, v[0], v[1], n, first), v[2], n, then);
      hdcpu_line(w, "store %s %s, ptr %s, align 4", type, s,
                 k ? hdcpu_ins(w, "getelementptr i8, ptr %s, i64 %u", point, 4 * n * k) : point);
    }
    return;
  }
  static const uint32_t even[] = {0, 2, 4, 6}, odd[] = {1, 3, 5, 7}, cross[] = {0, 2, 5, 7};
  const char *xy = in_blocks(w, g, v[0], v[1], even), *yz = in_blocks(w, g, v[1], v[2], odd),
             *zx = in_blocks(w, g, v[2], v[0], cross);
  r[0] = in_blocks(w, g, xy, zx, even);
  r[1] = in_blocks(w, g, yz, xy, cross);
  r[2] = in_blocks(w, g, zx, yz, odd);
  for (uint32_t b = 0; b < blocks; b++)
    for (uint32_t k = 0; k < 3; k++)
      hdcpu_line(w, "store <4 x float> %s, ptr %s, align 4", piece(w, g, r[k], 4 * b, 4),
                 hdcpu_ins(w, "getelementptr i8, ptr %s, i64 %u", point, 48 * b + 16 * k));
}

/* --- rows --- */

typedef struct Rows { /* where each lane's byte 0 is: fixed distances from `point`, or .. */
  const CpuAddr *at;
  const char *point, *offsets; /* .. i64 lanes */
  bool stack;                  /* the offsets are on it */
} Rows;

/* Lanes that are off use the first lane that is on. */
static const char *safe_lanes(CpuWiden *w) {
  const char *first = hdcpu_call(w, "i32", "llvm.cttz.i32", "i32, i1", "i32 %s, i1 false", hdcpu_bits(w, hdcpu_on(w)));
  first = hdcpu_ins(w, "and i32 %s, %u", first, w->width - 1);
  const char *ty = w->vt[IR_I32];
  return hdcpu_ins(w, "select %s %s, %s %s, %s %s", w->bt, hdcpu_i1(w, hdcpu_on(w)), ty, hdcpu_ramp(w, 32, 1), ty,
                   hdcpu_splat(w, "i32", first));
}

static const char *at_byte(CpuWiden *w, const char *base, int64_t off) {
  return off ? hdcpu_ins(w, "getelementptr i8, ptr %s, i64 %lld", base, (long long)off) : base;
}

static Rows rows_of(CpuWiden *w, const CpuAddr *a) {
  Rows r = {.at = a, .point = hdcpu_point(w, a, 0)};
  if (a->at == AT_AFFINE && hdcpu_all_on(w)) return r;
  if (a->at == AT_AFFINE) {
    const char *step = a->rstride ? hdcpu_splat(w, "i64", a->rstride) : hdcpu_int(w, 64, true, a->stride);
    const char *lanes = hdcpu_ins(w, "zext %s %s to %s", w->vt[IR_I32], safe_lanes(w), w->vt[IR_I64]);
    r.offsets = hdcpu_ins(w, "mul %s %s, %s", w->vt[IR_I64], lanes, step);
  } else {
    r.offsets = hdcpu_offsets(w, a, 1, true);
  }
  /* scalar loads from the stack are cheaper than taking lanes out of the widest registers */
  r.stack = w->target->isa == CPU_AVX512 && w->width >= 16;
  if (r.stack) hdcpu_line(w, "store %s %s, ptr %s, align 64", w->vt[IR_I64], r.offsets, hdcpu_scratch(w, 1));
  return r;
}

/* The ptr of each lane, made in the block at hand. */
static void row_ptrs(CpuWiden *w, const Rows *r, const char **base) {
  const CpuAddr *a = r->at;
  if (!r->offsets && !a->rstride) {
    for (uint32_t k = 0; k < w->width; k++) base[k] = hdcpu_point(w, a, a->stride * k);
  } else if (!r->offsets) {
    const char *step[6];
    for (uint32_t k = 0; 1u << k < w->width; k++)
      step[k] = k ? hdcpu_ins(w, "shl i64 %s, %u", a->rstride, k) : a->rstride;
    base[0] = r->point;
    for (uint32_t k = 1; k < w->width; k++)
      base[k] = hdcpu_ins(w, "getelementptr i8, ptr %s, i64 %s", base[k & (k - 1)], step[__builtin_ctz(k)]);
  } else if (r->stack) {
    for (uint32_t k = 0; k < w->width; k++) {
      const char *at = hdcpu_ins(w, "load i64, ptr %s, align 8", at_byte(w, hdcpu_scratch(w, 1), 8 * k));
      base[k] = hdcpu_ins(w, "getelementptr i8, ptr %s, i64 %s", r->point, at);
    }
  } else {
    for (uint32_t k = 0; k < w->width; k++) base[k] = hdcpu_lane_ptr(w, r->point, r->offsets, k);
  }
}

/* One row of two or three scalars of 4 bytes; the rest of the 16 bytes may lie on a page that cannot be read. */
static const char *short_row(CpuWiden *w, const char *ptr, uint32_t n) {
  if (n == 2) {
    const char *d = hdcpu_ins(w, "load <2 x float>, ptr %s, align 4", ptr);
    return hdcpu_ins(
        w, "shufflevector <2 x float> %s, <2 x float> poison, <4 x i32> <i32 0, i32 1, i32 poison, i32 poison>", d);
  }
  if (w->target->isa == CPU_AVX2 || w->target->isa == CPU_AVX512)
    return hdcpu_call(w, "<4 x float>", "llvm.masked.load.v4f32.p0", "ptr, i32, <4 x i1>, <4 x float>",
                      "ptr %s, i32 4, <4 x i1> <i1 true, i1 true, i1 true, i1 false>, <4 x float> zeroinitializer",
                      ptr);
  const char *d = short_row(w, ptr, 2), *e = hdcpu_ins(w, "load float, ptr %s, align 4", at_byte(w, ptr, 8));
  return hdcpu_ins(w, "insertelement <4 x float> %s, float %s, i32 2", d, e);
}

/* The rows of n scalars from byte `at` on, or of R of them, whatever the others are. */
static void load_parts(CpuWiden *w, const Group *g, const Rows *rows, int64_t at, uint32_t n, const char **out) {
  uint32_t r = ROW / g->size, blocks = w->width / r;
  const char *base[32];
  row_ptrs(w, rows, base);
  for (uint32_t j = 0; j < r; j++) {
    const char *part[32] = {NULL};
    for (uint32_t b = 0; b < blocks; b++) {
      const char *ptr = at_byte(w, base[r * b + j], at);
      part[b] =
          n < r ? short_row(w, ptr, n) : hdcpu_ins(w, "load %s, ptr %s, align %u", vector_type(w, g, r), ptr, g->size);
    }
    out[j] = joined(w, g, part, blocks, r);
  }
}

/* No lane is at the last element: i1. */
static const char *none_is_last(CpuWiden *w, const CpuAddr *a) {
  bool wide = a->index_bits == 64;
  const char *n = hdcpu_param(w, "i64", 8, a->length), *ty = w->vt[wide ? IR_I64 : IR_I32];
  const char *last = hdcpu_ins(w, "sub i64 %s, 1", n);
  if (!wide) last = hdcpu_ins(w, "trunc i64 %s to i32", last);
  const char *before =
      hdcpu_ins(w, "icmp ne %s %s, %s", ty, hdcpu_safe_index(w, a), hdcpu_splat(w, wide ? "i64" : "i32", last));
  const char *bits = hdcpu_ins(w, "bitcast %s %s to i%u", w->bt, before, w->width);
  return hdcpu_ins(w, "icmp eq i%u %s, -1", w->width, bits);
}

/* Whole rows are several times cheaper than three scalars each. */
static void load_threes(CpuWiden *w, const Group *g, const Rows *rows, int64_t at, const char **out) {
  const char *whole = hdcpu_label(w), *three = hdcpu_label(w), *done = hdcpu_label(w), *from[2], *v[2][4];
  hdcpu_line(w, "br i1 %s, label %%%s, label %%%s, !prof !0", none_is_last(w, rows->at), whole, three);
  for (int k = 0; k < 2; k++) {
    hdcpu_open(w, k ? three : whole);
    load_parts(w, g, rows, at, k ? 3 : 4, v[k]);
    from[k] = w->block;
    hdcpu_line(w, "br label %%%s", done);
  }
  hdcpu_open(w, done);
  for (uint32_t j = 0; j < 4; j++)
    out[j] = hdcpu_ins(w, "phi %s [ %s, %%%s ], [ %s, %%%s ]", vector_type(w, g, w->width), v[0][j], from[0], v[1][j],
                       from[1]);
}

/* Fields `at`, at + size .. of all lanes: R of them, or n < R. */
static void load_window(CpuWiden *w, const Group *g, const Rows *rows, int64_t at, uint32_t n, const char **out) {
  if (at + ROW <= g->end)
    load_parts(w, g, rows, at, ROW / g->size, out);
  else if (n == 3 && rows->at->length)
    load_threes(w, g, rows, at, out);
  else
    load_parts(w, g, rows, at, n, out);
  transpose(w, g, out);
}

static void set_loaded(CpuWiden *w, Group *g, int64_t at, const char *v) {
  for (uint32_t k = 0; k < g->n; k++) {
    const IrInst *i = g->m[k].inst;
    if (g->m[k].off != at || w->done[i->id]) continue;
    const IrType *t = i->res[0]->type;
    bool cast = strcmp(elem_type(g), w->st[t->kind]) != 0;
    hdcpu_set(w, i->res[0],
              cast ? hdcpu_ins(w, "bitcast %s %s to %s", vector_type(w, g, w->width), v, w->vt[t->kind]) : v);
    w->done[i->id] = true;
  }
}

/* From where a window that has byte `off` starts: no byte beyond the group's. */
static int64_t window_at(const Group *g, int64_t off) {
  return off + ROW <= g->hi ? off : g->hi - ROW >= g->lo ? g->hi - ROW : g->lo;
}

static uint32_t in_window(const Group *g, int64_t at) {
  uint32_t n = 0;
  for (int64_t o = at; o < at + ROW && o < g->hi; o += g->size) n += wanted(g, o);
  return n;
}

static bool load_pays(const Group *g) { return in_window(g, window_at(g, g->m[0].off)) > 1; }

static void load_pairs(CpuWiden *w, Group *g) {
  for (int64_t o = g->lo; o < g->hi; o += g->size) {
    if (!is_pair(w, g, o)) continue;
    const char *v[2];
    load_pair(w, g, hdcpu_point(w, &g->at, o), v);
    for (uint32_t k = 0; k < 2; k++) set_loaded(w, g, o + k * g->size, v[k]);
  }
}

static bool all_done(const CpuWiden *w, const Group *g) {
  for (uint32_t k = 0; k < g->n; k++)
    if (!w->done[g->m[k].inst->id]) return false;
  return true;
}

static void load_rows(CpuWiden *w, Group *g) {
  Rows rows = rows_of(w, &g->at);
  uint32_t r = ROW / g->size;
  for (int64_t o = g->lo; o < g->hi;) {
    if (!wanted(g, o)) {
      o += g->size;
      continue;
    }
    int64_t at = window_at(g, o);
    uint32_t n = (uint32_t)((g->hi - at) / g->size);
    if (n > r) n = r;
    if (in_window(g, at) > 1) {
      const char *v[4] = {NULL};
      load_window(w, g, &rows, at, n, v);
      for (uint32_t k = 0; k < n; k++)
        if (at + k * g->size >= o) set_loaded(w, g, at + k * g->size, v[k]);
      o = at + n * g->size;
    } else {
      o += g->size; /* a lone one is loaded in its own turn */
    }
  }
}

bool hdcpu_load_fields(CpuWiden *w, const IrInst *i) {
  Group g;
  if (w->width < ROW / 4 || !collect(w, i, false, &g)) return false;
  if (g.at.at == AT_UNIFORM || (g.at.at == AT_AFFINE && !g.at.rstride && g.at.stride == g.size)) return false;
  for (uint32_t k = 0; k < g.n; k++)
    if (!hdcpu_is_vec(w, g.m[k].inst->res[0])) return false;
  if (is_triple(w, &g, false)) {
    const char *v[3];
    load_triples(w, &g, hdcpu_point(w, &g.at, g.lo), v);
    for (uint32_t k = 0; k < 3; k++) set_loaded(w, &g, g.lo + 4 * k, v[k]);
    return true;
  }
  if (!load_pays(&g)) return false;
  load_pairs(w, &g);
  if (!all_done(w, &g)) load_rows(w, &g);
  return w->done[i->id];
}

/* --- stores --- */

/* The last of the group stores for all of them. */
static const char *stored(CpuWiden *w, const Group *g, int64_t at) {
  const IrValue *v = NULL;
  for (uint32_t k = 0; k < g->n; k++)
    if (g->m[k].off == at) v = g->m[k].inst->args[1];
  if (!v) return "poison";
  const char *x = hdcpu_v(w, v);
  if (!strcmp(elem_type(g), w->st[v->type->kind])) return x;
  return hdcpu_ins(w, "bitcast %s %s to %s", w->vt[v->type->kind], x, vector_type(w, g, w->width));
}

static void store_row(CpuWiden *w, const Group *g, const char *v, uint32_t block, uint32_t n, const char *ptr) {
  uint32_t r = ROW / g->size, from = block * r;
  const char *row = piece(w, g, v, from, r == n ? r : n == 1 ? 1 : 2);
  hdcpu_line(w, "store %s %s, ptr %s, align %u", vector_type(w, g, r == n ? r : n == 1 ? 1 : 2), row, ptr, g->size);
  if (n == 3) hdcpu_line(w, "store <1 x float> %s, ptr %s, align 4", piece(w, g, v, from + 2, 1), at_byte(w, ptr, 8));
}

/* n scalars that follow each other. */
static void store_window(CpuWiden *w, const Group *g, const char *const *base, int64_t at, uint32_t n) {
  uint32_t r = ROW / g->size, blocks = w->width / r;
  const char *v[4] = {NULL};
  for (uint32_t k = 0; k < r; k++) v[k] = k < n ? stored(w, g, at + k * g->size) : "poison";
  transpose(w, g, v);
  for (uint32_t b = 0; b < blocks; b++) /* in the order of lanes: the last one wins where two write one place */
    for (uint32_t j = 0; j < r; j++) store_row(w, g, v[j], b, n, at_byte(w, base[r * b + j], at));
}

static uint32_t run_length(const Group *g, int64_t at) {
  uint32_t n = 0;
  while (n < ROW / g->size && wanted(g, at + n * g->size)) n++;
  return n;
}

static bool store_pays(const Group *g) {
  if (g->at.at == AT_UNIFORM || (g->at.at == AT_AFFINE && !g->at.rstride && g->at.stride == g->size)) return false;
  for (int64_t o = g->lo; o < g->hi; o += g->size)
    if (wanted(g, o) && run_length(g, o) < 2 && !(o > g->lo && wanted(g, o - g->size))) return false; /* scattered */
  return true;
}

/* The group is found at its first member and noted with each; the last one stores. */
bool hdcpu_store_fields(CpuWiden *w, const IrInst *i) {
  Group g;
  const IrInst *first = w->group[i->id];
  if (!first) {
    if (w->width < ROW / 4 || !hdcpu_all_on(w) || !collect(w, i, true, &g) || !store_pays(&g)) return false;
    for (uint32_t k = 0; k < g.n; k++) w->group[g.m[k].inst->id] = i;
    return true;
  }
  collect(w, first, true, &g);
  if (g.m[g.n - 1].inst != i) return true;
  if (is_triple(w, &g, true)) {
    const char *v[3];
    for (uint32_t k = 0; k < 3; k++) v[k] = stored(w, &g, g.lo + 4 * k);
    store_triples(w, &g, hdcpu_point(w, &g.at, g.lo), v);
    return true;
  }
  const char *base[32] = {NULL};
  for (int64_t o = g.lo; o < g.hi;) {
    uint32_t n = run_length(&g, o);
    if (is_pair(w, &g, o)) {
      store_pair(w, &g, hdcpu_point(w, &g.at, o), (const char *[]){stored(w, &g, o), stored(w, &g, o + g.size)});
    } else if (n) {
      Rows rows = rows_of(w, &g.at);
      if (!base[0]) row_ptrs(w, &rows, base);
      store_window(w, &g, base, o, n);
    }
    o += (n ? n : 1) * g.size;
  }
  return true;
}
