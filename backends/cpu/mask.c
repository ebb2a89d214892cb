/* backends/cpu/mask.c -- masks: which lanes run, and bools that differ by lane.
 *
 * With mask registers (AVX-512) a mask is <width x i1>. Elsewhere i1 vectors that live across blocks are widened by
 * LLVM to whatever it likes and packed and unpacked on every trip, so there a mask is all-ones or zero integers of the
 * gang's main lane width, and an i1 vector is made by a comparison in each block that wants one (measured: a fifth of
 * the run time on loops with masks). A memo keeps both forms of what was met in the block at hand.
 */
#include "backends/cpu/widen.h"

static void remember(CpuWiden *w, const char *mask, const char *i1) {
  uint32_t n = sizeof w->memo / sizeof *w->memo;
  w->memo[w->nmemo++ % n] = (CpuMemo){mask, i1};
}

static uint32_t held(const CpuWiden *w) {
  uint32_t n = sizeof w->memo / sizeof *w->memo;
  return w->nmemo < n ? w->nmemo : n;
}

const char *hdcpu_i1(CpuWiden *w, const char *mask) {
  if (w->mask_bits == 1) return mask;
  if (mask == w->none) return "zeroinitializer";
  if (mask == w->all) return hdcpu_int(w, 1, true, 1);
  for (uint32_t k = 0; k < held(w); k++)
    if (w->memo[k].mask == mask) return w->memo[k].i1;
  const char *i1 = hdcpu_ins(w, "icmp slt %s %s, zeroinitializer", w->mt, mask);
  remember(w, mask, i1);
  return i1;
}

const char *hdcpu_mask(CpuWiden *w, const char *i1) {
  if (w->mask_bits == 1) return i1;
  for (uint32_t k = 0; k < held(w); k++)
    if (w->memo[k].i1 == i1) return w->memo[k].mask;
  const char *mask = hdcpu_ins(w, "sext %s %s to %s", w->bt, i1, w->mt);
  remember(w, mask, i1);
  return mask;
}

const char *hdcpu_mask_and(CpuWiden *w, const char *a, const char *b) {
  if (a == w->none || b == w->none) return w->none;
  if (a == w->all || a == b) return b;
  if (b == w->all) return a;
  return hdcpu_ins(w, "and %s %s, %s", w->mt, a, b);
}

const char *hdcpu_mask_or(CpuWiden *w, const char *a, const char *b) {
  if (a == w->all || b == w->all) return w->all;
  if (a == w->none || a == b) return b;
  if (b == w->none) return a;
  return hdcpu_ins(w, "or %s %s, %s", w->mt, a, b);
}

const char *hdcpu_mask_xor(CpuWiden *w, const char *a, const char *b) {
  if (a == w->none) return b;
  if (b == w->none) return a;
  return hdcpu_ins(w, "xor %s %s, %s", w->mt, a, b);
}

const char *hdcpu_mask_not(CpuWiden *w, const char *a) {
  if (a == w->none) return w->all;
  if (a == w->all) return w->none;
  return hdcpu_ins(w, "xor %s %s, %s", w->mt, a, w->all);
}

const char *hdcpu_mask_andnot(CpuWiden *w, const char *a, const char *b) {
  if (a == w->none || b == w->all) return w->none;
  return hdcpu_mask_and(w, a, hdcpu_mask_not(w, b));
}

/* Lanes of a mask that one register holds. */
static uint32_t register_lanes(const CpuWiden *w) {
  uint32_t bits = w->target->isa == CPU_AVX2 ? 256 : 128;
  return bits / w->mask_bits;
}

/* Halves of a wide mask folded together by `op`, down to one register; *n is how many lanes are left. */
static const char *fold(CpuWiden *w, const char *mask, const char *op, uint32_t *n) {
  for (*n = w->width; *n > register_lanes(w); *n /= 2) {
    const char *type = hdcpu_fmt(w, "<%u x i%u>", *n, w->mask_bits), *half[2];
    for (uint32_t h = 0; h < 2; h++) {
      Buf b;
      hdb_buf_init(&b, w->a);
      for (uint32_t k = 0; k < *n / 2; k++) hdb_putf(&b, "%si32 %u", k ? ", " : "", h * (*n / 2) + k);
      half[h] = hdcpu_ins(w, "shufflevector %s %s, %s poison, <%u x i32> <%s>", type, mask, type, *n / 2, b.data);
    }
    mask = hdcpu_ins(w, "%s <%u x i%u> %s, %s", op, *n / 2, w->mask_bits, half[0], half[1]);
  }
  return mask;
}

static const char *packed(CpuWiden *w, const char *i1, uint32_t n) {
  return hdcpu_ins(w, "bitcast <%u x i1> %s to i%u", n, i1, n);
}

const char *hdcpu_any(CpuWiden *w, const char *mask) {
  if (mask == w->all) return "true";
  if (mask == w->none) return "false";
  uint32_t n = w->width;
  if (w->mask_bits == 1) return hdcpu_ins(w, "icmp ne i%u %s, 0", n, packed(w, mask, n));
  const char *m = fold(w, mask, "or", &n);
  const char *i1 =
      m == mask ? hdcpu_i1(w, m) : hdcpu_ins(w, "icmp slt <%u x i%u> %s, zeroinitializer", n, w->mask_bits, m);
  return hdcpu_ins(w, "icmp ne i%u %s, 0", n, packed(w, i1, n));
}

const char *hdcpu_all(CpuWiden *w, const char *mask) {
  if (mask == w->all) return "true";
  if (mask == w->none) return "false";
  uint32_t n = w->width;
  if (w->mask_bits == 1) return hdcpu_ins(w, "icmp eq i%u %s, -1", n, packed(w, mask, n));
  const char *m = fold(w, mask, "and", &n);
  const char *i1 =
      m == mask ? hdcpu_i1(w, m) : hdcpu_ins(w, "icmp slt <%u x i%u> %s, zeroinitializer", n, w->mask_bits, m);
  return hdcpu_ins(w, "icmp eq i%u %s, -1", n, packed(w, i1, n));
}

const char *hdcpu_bits(CpuWiden *w, const char *mask) {
  const char *b = packed(w, hdcpu_i1(w, mask), w->width);
  return w->width == 32 ? b : hdcpu_ins(w, "zext i%u %s to i32", w->width, b);
}

/* x in the lanes of `mask`, y in the others. */
const char *hdcpu_pick(CpuWiden *w, const char *mask, const IrType *t, const char *x, const char *y) {
  if (x == y || mask == w->all) return x;
  if (mask == w->none) return y;
  if (t->kind == IR_BOOL && w->mask_bits > 1) {
    /* (x & mask) | (y & ~mask), as bits: a blend of integers by a comparison would go through i1 */
    const char *a = hdcpu_mask_and(w, x, mask), *b = hdcpu_mask_andnot(w, y, mask);
    return hdcpu_mask_or(w, a, b);
  }
  const char *ty = w->vt[t->kind];
  return hdcpu_ins(w, "select %s %s, %s %s, %s %s", w->bt, hdcpu_i1(w, mask), ty, x, ty, y);
}

bool hdcpu_all_on(const CpuWiden *w) { return hdcpu_on(w) == w->all; }
