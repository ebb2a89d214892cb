/* tests/fakecuda/ptx_mma.c -- mma.sync: a warp multiplies two small matrices whose parts its lanes hold.
 *
 * Where each element lies is the manual's "matrix fragments for mma": a row of A, a column of B and a row of the sum go with
 * lane / 4, the rest with lane % 4, and two halves lie in a register. What an element is, the manual leaves open for halves:
 * by itself it is a chain of fma along k. The adversary adds as the units do that have been looked into (Fasi et al.,
 * "Numerical behavior of NVIDIA tensor cores", PeerJ CS 7:e330, 2021): blocks of 4, 8 or 16 exact products and the sum so
 * far, all cut off at some place below the largest of them, are added up, and that is cut off to an f32. Doubles are rounded
 * properly, but the adversary changes their order.
 */
#include <math.h>
#include <string.h>

#include "tests/fakecuda/ptx_decode.h"

typedef uint32_t u32;
typedef uint64_t u64;

enum { MOST_K = 16 };

typedef struct Shape {
  const char *name;
  PtxType type; /* of A and B                                                                     */
  uint8_t m, n, k;
  uint8_t a, b, c; /* registers of a lane                                                            */
  int target, version;
} Shape;

static const Shape shapes[] = {
    {"m16n8k16", PT_F16, 16, 8, 16, 4, 2, 4, 80, 70}, {"m16n8k16", PT_BF16, 16, 8, 16, 4, 2, 4, 80, 70},
    {"m16n8k8", PT_F16, 16, 8, 8, 2, 1, 4, 75, 65},   {"m16n8k8", PT_BF16, 16, 8, 8, 2, 1, 4, 80, 70},
    {"m8n8k4", PT_F64, 8, 8, 4, 1, 1, 2, 80, 70},
};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

/* --- what it says --- */

static int take_shape(Parser *p) {
  const char *name = NULL;
  for (int i = 0; i < NSHAPES && !name; i++)
    if (take(p, shapes[i].name)) name = shapes[i].name;
  if (!name) return -1;
  PtxType d = take_type(p), a = take_type(p), b = take_type(p), c = take_type(p);
  PtxType sum = a == PT_F64 ? PT_F64 : PT_F32;
  for (int i = 0; i < NSHAPES; i++)
    if (strcmp(name, shapes[i].name) == 0 && shapes[i].type == a && b == a && c == sum && d == sum) return i;
  return -1;
}

static void take_registers(Parser *p, const Operand *o, u32 n, PtxType t, bool result) {
  if (o->kind != OP_VEC || o->n != n) {
    bad(p, "the number of registers does not match");
    return;
  }
  for (u32 k = 0; k < n && !p->failed; k++) {
    char kind = o->part[k].kind == OP_REG ? kind_of(o->part[k].type) : 'b';
    if (t == PT_B32 && kind != 'b' && kind != 'x') bad(p, "pairs of halves are in registers of type .b32");
    ptx_list_add(p, result ? ptx_result(p, &o->part[k], t) : ptx_source(p, &o->part[k], t));
  }
}

void ptx_d_mma(Parser *p) {
  Ins x = {.flow = FLOW_SYNC, .fn = ptx_mma};
  if (!take(p, "sync") || !take(p, "aligned")) bad(p, "it is .sync.aligned");
  int at = take_shape(p);
  if (at < 0 || !take(p, "row") || !take(p, "col")) {
    bad(p, "this shape is not known here");
    return;
  }
  const Shape *s = &shapes[at];
  if (s->type == PT_F64) (void)take(p, "rn");
  if (p->m->target < s->target) ptx_error_at(p, p->op_line, "'mma': this shape needs sm_%d", s->target);
  if (p->m->version < s->version)
    ptx_error_at(p, p->op_line, "'mma': this shape needs PTX %d.%d", s->version / 10, s->version % 10);
  PtxType in = s->type == PT_F64 ? PT_F64 : PT_B32, sum = s->type == PT_F64 ? PT_F64 : PT_F32;
  Operand d = operand(p), a = next_operand(p), b = next_operand(p), c = next_operand(p);
  if (p->failed) return;
  x.op = (uint8_t)at, x.e = ptx_const(p, 4, FULL);
  x.list = p->m->nlists, x.nlist = s->a + s->b + 2u * s->c;
  take_registers(p, &a, s->a, in, false);
  take_registers(p, &b, s->b, in, false);
  take_registers(p, &c, s->c, sum, false);
  take_registers(p, &d, s->c, sum, true);
  finish(p, &x);
}

/* --- what it does --- */

/* Where part `i` of a lane lies: in a row (A and the sum) or column (B), and how far along it. Halves count by twos. */
typedef struct Place {
  u32 line, at;
} Place;

static Place place(const Shape *s, u32 lane, u32 i, bool of_b, bool of_sum) {
  u32 group = lane / 4, in_group = lane % 4;
  if (s->type == PT_F64) return (Place){group, of_sum ? in_group * 2 + i : in_group};
  u32 low = in_group * 2 + (i & 1);
  if (of_sum) return (Place){group + 8 * (i >> 1), low};
  if (of_b) return (Place){group, low + 8 * (i >> 1)};
  return (Place){group + 8 * (i >> 1 & 1), low + 8 * (i >> 2)};
}

static double element(const Shape *s, const Warp *w, u32 column, u32 lane, u32 half) {
  if (s->type == PT_F64) return COL(double, column)[lane];
  uint16_t h = (uint16_t)(COL(u32, column)[lane] >> 16 * half);
  return s->type == PT_F16 ? ptx_f16_value(h) : ptx_bf16_value(h);
}

static float to_f32(double x, PtxRound r) {
  u64 b;
  memcpy(&b, &x, 8);
  u32 f = (u32)ptx_convert(ptx_f32, ptx_f64, b, r);
  if (fabs(x) >= 0x1p128) f = (f & 0x80000000u) | 0x7f800000u;
  float y;
  memcpy(&y, &f, 4);
  return y;
}

/* One step of the unit: c and n products, cut off `extra` bits below what an f32 as large as the largest has. */
static float block(float c, const double *product, u32 n, int extra) {
  double most = fabs((double)c), sum = c;
  for (u32 k = 0; k < n; k++) most = fmax(most, fabs(product[k])), sum += product[k];
  if (!isfinite(most) || sum != sum || most == 0) return (float)sum;
  int e;
  (void)frexp(most, &e);
  double unit = ldexp(1, e - 24 - extra);
  sum = trunc(c / unit) * unit;
  for (u32 k = 0; k < n; k++) sum += trunc(product[k] / unit) * unit;
  return to_f32(sum, RZ);
}

static u64 draw(const Warp *w, const Ins *i) {
  u64 s = w->run->launch->seed ^ (u64)i->line << 40;
  return w->run->launch->adversary ? 1 + (ptx_random(&s) >> 1) : 0;
}

static float sum_f32(const Shape *s, u64 drawn, float c, const double *a, const double *b) {
  double product[MOST_K];
  if (!drawn) {
    for (u32 k = 0; k < s->k; k++) c = fmaf((float)a[k], (float)b[k], c);
    return c;
  }
  for (u32 k = 0; k < s->k; k++) product[k] = a[k] * b[k];
  u32 n = 4u << drawn % 3;
  if (n > s->k) n = s->k;
  for (u32 k = 0; k < s->k; k += n) c = block(c, product + k, n, (int)(drawn / 3 % 4));
  return c;
}

static double sum_f64(const Shape *s, u64 drawn, double c, const double *a, const double *b) {
  for (u32 k = 0; k < s->k; k++) { /* steps of 1 or 3, from anywhere, come to all of the four */
    u32 at = drawn ? (u32)(drawn / 2 + k * (1 + drawn % 2 * 2)) % s->k : k;
    c = fma(a[at], b[at], c);
  }
  return c;
}

bool ptx_mma(Warp *w, Ins *i, u32 m) {
  const Shape *s = &shapes[i->op];
  const u32 *in = w->run->m->lists + i->list, *b_at = in + s->a, *c_at = b_at + s->b, *d_at = c_at + s->c;
  double a[16][MOST_K] = {{0}}, b[8][MOST_K] = {{0}}, sum[16][8];
  if (m != FULL)
    return ptx_fault(w, i, __builtin_ctz(m), PTX_TRAP, "mma.sync by lanes 0x%x alone, not by a whole warp", m);
  u32 halves = s->type == PT_F64 ? 1 : 2;
  for (u32 lane = 0; lane < LANES; lane++) {
    for (u32 k = 0; k < halves * s->a; k++) {
      Place at = place(s, lane, k, false, false);
      a[at.line][at.at] = element(s, w, in[k / halves], lane, k % halves);
    }
    for (u32 k = 0; k < halves * s->b; k++) {
      Place at = place(s, lane, k, true, false);
      b[at.line][at.at] = element(s, w, b_at[k / halves], lane, k % halves);
    }
    for (u32 k = 0; k < s->c; k++) {
      Place at = place(s, lane, k, false, true);
      sum[at.line][at.at] = s->type == PT_F64 ? COL(double, c_at[k])[lane] : (double)COL(float, c_at[k])[lane];
    }
  }
  u64 drawn = draw(w, i);
  for (u32 r = 0; r < s->m; r++)
    for (u32 k = 0; k < s->n; k++)
      sum[r][k] = s->type == PT_F64 ? sum_f64(s, drawn, sum[r][k], a[r], b[k])
                                    : (double)sum_f32(s, drawn, (float)sum[r][k], a[r], b[k]);
  for (u32 lane = 0; lane < LANES; lane++)
    for (u32 k = 0; k < s->c; k++) {
      Place at = place(s, lane, k, false, true);
      double x = sum[at.line][at.at];
      if (s->type == PT_F64)
        COL(double, d_at[k])[lane] = x;
      else if (x != x)
        COL(u32, d_at[k])[lane] = 0x7fffffffu;
      else
        COL(float, d_at[k])[lane] = (float)x;
    }
  return true;
}
