/* tests/fakecuda/ptx_tex.c -- tex: a texture unit asks for the texels around a place and weighs them.
 *
 * As the CUDA C++ Programming Guide has it ("Texture Fetching"): along an axis of N texels a normalised x stands for N x; the
 * nearest texel is floor(x); the linear filter takes (1 - a) T[i] + a T[i + 1] with i = floor(x - 0.5) and a, the rest, in a
 * fixed-point format with 8 bits behind the point. Whether these are rounded or cut off it leaves open, and so it is with the
 * place between two levels: by itself they are rounded, the adversary cuts off or rounds up. Numbers of channels that the texels
 * lack are NaN here: the manual does not say what they are.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/ptx_decode.h"

typedef uint32_t u32;
typedef uint64_t u64;

void ptx_space_texture(PtxSpace *s, uint64_t object, const PtxTexture *t) {
  u32 k = 0;
  while (k < s->nobjects && s->objects[k].handle != object) k++;
  if (!t) {
    if (k < s->nobjects) s->objects[k] = s->objects[--s->nobjects];
    return;
  }
  if (k == s->nobjects) {
    s->objects = ptx_realloc(s->objects, (k + 1) * sizeof *s->objects);
    s->nobjects++;
  }
  s->objects[k] = (PtxObject){object, *t};
}

/* --- what it says --- */

static void take_parts(Parser *p, const Operand *o, u32 n, bool result) {
  if (o->kind != OP_VEC || o->n != n) {
    bad(p, "the number of registers does not match");
    return;
  }
  for (u32 k = 0; k < n && !p->failed; k++)
    ptx_list_add(p, result ? ptx_result(p, &o->part[k], PT_F32) : ptx_source(p, &o->part[k], PT_F32));
}

/* tex[.base].1d, or .level with a level; .v4.f32.f32 alone: other types are for integers. */
void ptx_d_tex(Parser *p) {
  Ins x = {.fn = ptx_tex};
  bool level = take(p, "level");
  if (!level) (void)take(p, "base");
  int dims = 1 + TAKE(p, "1d", "2d", "3d");
  if (dims < 1) bad(p, ".1d, .2d or .3d is missing");
  if (!take(p, "v4")) bad(p, "it gives a .v4");
  if (take_type(p) != PT_F32 || take_type(p) != PT_F32) bad(p, "only .f32.f32 is known here");
  Operand d = operand(p);
  ptx_want(p, ',');
  ptx_want(p, '[');
  Operand object = operand(p), at = next_operand(p);
  ptx_want(p, ']');
  if (p->failed) return;
  x.op = (uint8_t)dims, x.op2 = level;
  x.a = ptx_source(p, &object, PT_B64);
  x.list = p->m->nlists, x.nlist = 4 + (dims == 3 ? 4 : (u32)dims);
  take_parts(p, &d, 4, true);
  take_parts(p, &at, dims == 3 ? 4 : (u32)dims, false); /* of three coordinates the fourth is not looked at */
  if (level) x.b = next_source(p, PT_F32);
  finish(p, &x);
}

/* --- what it does --- */

typedef struct Fetch {
  Warp *w;
  Ins *i;
  int lane;
  const PtxTexture *t;
  u64 random; /* 0: no adversary */
} Fetch;

/* With 8 bits behind the point. */
static double fixed(Fetch *f, double x) {
  if (!f->random) return floor(x * 256 + 0.5) / 256;
  return (ptx_random(&f->random) & 1 ? floor(x * 256) : ceil(x * 256)) / 256;
}

/* The texel that stands for number k of n; -1: the border. */
static int64_t wrapped(PtxTexWrap how, double k, u32 n) {
  double m = n;
  switch (how) {
  case PTX_TEX_WRAP: return (int64_t)(k - floor(k / m) * m);
  case PTX_TEX_MIRROR: k -= floor(k / (2 * m)) * 2 * m; return (int64_t)(k < m ? k : 2 * m - 1 - k);
  case PTX_TEX_BORDER: return k < 0 || k >= m ? -1 : (int64_t)k;
  default: return (int64_t)fmin(fmax(k, 0), m - 1);
  }
}

static bool texel(Fetch *f, u32 level, const int64_t at[3], double out[4]) {
  static const u32 sizes[] = {1, 2, 4};
  const PtxTexture *t = f->t;
  u32 size[3], bytes = sizes[t->format];
  for (int a = 0; a < 3; a++) size[a] = t->size[a] >> level > 1 ? t->size[a] >> level : 1;
  if (at[0] < 0 || at[1] < 0 || at[2] < 0) {
    for (u32 c = 0; c < 4; c++) out[c] = (double)t->border[c];
    return true;
  }
  u64 number = ((u64)at[2] * size[1] + (u64)at[1]) * size[0] + (u64)at[0];
  const uint8_t *from =
      ptx_resolve(f->w, f->i, f->lane, t->level[level] + number * t->channels * bytes, t->channels * bytes, PTX_READS);
  if (!from) return false;
  for (u32 c = 0; c < t->channels; c++, from += bytes) {
    uint16_t h;
    float x;
    memcpy(&h, from, bytes > 1 ? 2 : 1);
    if (bytes == 4) memcpy(&x, from, 4);
    out[c] = bytes == 1 ? (double)((float)*from / 255) : bytes == 2 ? ptx_f16_value(h) : (double)x;
  }
  return true;
}

static bool in_level(Fetch *f, u32 level, const double place[3], double out[4]) {
  const PtxTexture *t = f->t;
  double low[3], weight[3] = {0, 0, 0};
  u32 size[3];
  for (int a = 0; a < 3; a++) {
    size[a] = t->size[a] >> level > 1 ? t->size[a] >> level : 1;
    double x = a >= t->dims || !isfinite(place[a]) ? 0 : t->normalized ? place[a] * size[a] : place[a];
    if (t->linear && a < t->dims) x -= 0.5;
    low[a] = floor(x);
    if (t->linear && a < t->dims) weight[a] = fixed(f, x - low[a]);
  }
  for (int c = 0; c < 4; c++) out[c] = 0;
  for (int corner = 0; corner < (t->linear ? 1 << t->dims : 1); corner++) {
    int64_t at[3];
    double share = 1, v[4] = {NAN, NAN, NAN, NAN};
    for (int a = 0; a < 3; a++) {
      int high = corner >> a & 1;
      at[a] = wrapped(t->wrap[a], low[a] + high, size[a]);
      share *= high ? weight[a] : 1 - weight[a];
    }
    if (!texel(f, level, at, v)) return false;
    for (int c = 0; c < 4; c++) out[c] += share * v[c];
  }
  return true;
}

static bool sample(Fetch *f, const double place[3], double lod, double out[4]) {
  const PtxTexture *t = f->t;
  double last = t->levels - 1, upper[4];
  lod = fmin(fmax(lod + (double)t->bias, (double)t->least), (double)t->most);
  lod = fmin(fmax(lod, 0), last);
  if (!t->linear_levels) return in_level(f, (u32)floor(lod + 0.5), place, out);
  double low = floor(lod), share = fixed(f, lod - low);
  if (!in_level(f, (u32)low, place, out)) return false;
  if (share == 0) return true;
  if (!in_level(f, (u32)fmin(low + 1, last), place, upper)) return false;
  for (int c = 0; c < 4; c++) out[c] = (1 - share) * out[c] + share * upper[c];
  return true;
}

bool ptx_tex(Warp *w, Ins *i, u32 m) {
  const u32 *list = w->run->m->lists + i->list;
  const PtxSpace *s = w->run->m->space;
  u64 random = w->run->launch->seed ^ (u64)i->line << 40;
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    u64 object = COL(u64, i->a)[l];
    u32 k = 0;
    while (k < s->nobjects && s->objects[k].handle != object) k++;
    if (k == s->nobjects || s->objects[k].is.dims != i->op)
      return ptx_fault(w, i, l, PTX_ILLEGAL_ADDRESS, "0x%llx is no texture of %d dimensions",
                       (unsigned long long)object, i->op);
    Fetch f = {w, i, l, &s->objects[k].is, w->run->launch->adversary ? 1 + (ptx_random(&random) >> 1) : 0};
    double place[3] = {0, 0, 0}, out[4] = {NAN, NAN, NAN, NAN};
    for (int a = 0; a < i->op; a++) place[a] = (double)COL(float, list[4 + a])[l];
    if (!sample(&f, place, i->op2 ? (double)COL(float, i->b)[l] : 0, out)) return false;
    for (int c = 0; c < 4; c++)
      if (list[c] != UINT32_MAX) COL(float, list[c])[l] = (float)out[c];
  }
  return true;
}
