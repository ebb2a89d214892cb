/* backends/cpu/width.c -- how many lanes a gang has.
 *
 * Two registers a value hide latency where lanes wait for each other's arithmetic: measured, 16 lanes are up to 1.7 times
 * as fast as 8 on AVX2, and 32 up to 1.6 times as fast as 16 on AVX-512, in loops that lanes leave at different times and
 * that touch no memory of arrays (sphere tracing, Mandelbrot). Where values do not fit the registers, or local objects
 * leave little of the first cache, more lanes only add spills and misses (a Cholesky factor of 12 x 12: 1.3 times slower
 * with 16 than with 8).
 */
#include "backends/cpu/widen.h"

enum { LOCAL_BYTES = 8192, PRESSURE = 24, LATENCY_PRESSURE = 16 };

typedef struct Scan {
  const IrFunc *fn;
  const IrFacts *facts;
  uint32_t *first, *last; /* by value id: places between which it lives, last 0: nowhere */
  int32_t *change;        /* by place: values that begin less those that end             */
  uint32_t place;
  uint32_t loops; /* around the place at hand */
  bool *inside;   /* by place: of a loop */
  uint64_t local; /* bytes of local objects of a thread            */
  bool latency;   /* a divergent loop that touches registers only  */
} Scan;

static bool counts(const Scan *s, const IrValue *v) {
  return !hdir_is_const(v) && hdir_is_scalar(v->type) && s->facts->of[v->id].cls == IR_VARYING;
}

static void define(Scan *s, const IrValue *v) {
  if (counts(s, v)) s->first[v->id] = s->last[v->id] = s->place;
}

static void use(Scan *s, const IrValue *v) {
  if (counts(s, v) && s->place > s->last[v->id]) s->last[v->id] = s->place;
}

static bool touches_arrays(const IrInst *i) {
  switch (hdir_ops[i->op].effect) {
  case FX_READS:
  case FX_WRITES: return i->args[0]->type->space != IR_LOCAL;
  case FX_ATOMIC: return true;
  default: return false;
  }
}

static bool region_touches_arrays(const IrRegion *r) {
  for (const IrInst *i = r->first; i; i = i->next) {
    if (touches_arrays(i)) return true;
    for (uint32_t k = 0; k < i->nsubs; k++)
      if (region_touches_arrays(i->sub[k])) return true;
  }
  return false;
}

static void scan(Scan *s, const IrRegion *r);

/* What is used in the loop and made before it is used in the last round too. */
static void loop(Scan *s, const IrInst *i) {
  uint32_t begin = s->place;
  s->loops++;
  if (s->facts->divergent[i->id] && !region_touches_arrays(i->sub[0])) s->latency = true;
  for (uint32_t k = 0; k < i->sub[0]->nparams; k++) define(s, i->sub[0]->params[k]);
  scan(s, i->sub[0]);
  s->loops--;
  for (uint32_t v = 0; v < s->fn->nvalues; v++)
    if (s->last[v] > begin && s->first[v] <= begin) s->last[v] = s->place;
}

static void scan(Scan *s, const IrRegion *r) {
  for (const IrInst *i = r->first; i; i = i->next) {
    s->inside[++s->place] = s->loops > 0;
    for (uint32_t k = 0; k < i->nargs; k++) use(s, i->args[k]);
    if (i->op == IR_alloca) s->local += i->res[0]->type->elem->size;
    if (i->op == IR_loop)
      loop(s, i);
    else
      for (uint32_t k = 0; k < i->nsubs; k++) scan(s, i->sub[k]);
    for (uint32_t k = 0; k < i->nres; k++) define(s, i->res[k]);
  }
}

/* The most vectors of 32-bit lanes that live at one time; in loops, if there are any: that is where time goes. */
static int32_t pressure(Scan *s, Arena *a) {
  int32_t now = 0, most[2] = {0, 0};
  s->change = HDB_NEW_N(a, int32_t, s->place + 2);
  const IrType **type = HDB_NEW_N(a, const IrType *, s->fn->nvalues + 1);
  for (const IrInst *i = s->fn->body->first; i; i = hdir_inst_next(i)) {
    for (uint32_t k = 0; k < i->nres; k++) type[i->res[k]->id] = i->res[k]->type;
    for (uint32_t r = 0; r < i->nsubs; r++)
      for (uint32_t k = 0; k < i->sub[r]->nparams; k++) type[i->sub[r]->params[k]->id] = i->sub[r]->params[k]->type;
  }
  for (uint32_t v = 0; v < s->fn->nvalues; v++) {
    if (!s->last[v] || !type[v] || type[v]->kind == IR_BOOL) continue;
    int32_t n = hdir_bits(type[v]) == 64 ? 2 : 1;
    s->change[s->first[v]] += n;
    s->change[s->last[v]] -= n;
  }
  for (uint32_t p = 0; p <= s->place; p++) {
    now += s->change[p];
    if (now > most[s->inside[p]]) most[s->inside[p]] = now;
  }
  return most[most[1] > 0];
}

uint32_t hdcpu_choose_width(const IrFunc *fn, const IrFacts *facts, const CpuTarget *target, Arena *a) {
  if (target->isa != CPU_AVX512 && target->isa != CPU_AVX2) return 4;
  Scan s = {.fn = fn, .facts = facts};
  s.first = HDB_NEW_N(a, uint32_t, fn->nvalues + 1);
  s.last = HDB_NEW_N(a, uint32_t, fn->nvalues + 1);
  s.inside = HDB_NEW_N(a, bool, fn->ninsts + 2);
  scan(&s, fn->body);
  int32_t live = pressure(&s, a);
  uint32_t width = 16;
  if (target->isa == CPU_AVX512 && s.latency && live <= LATENCY_PRESSURE) width = 32;
  if (target->isa == CPU_AVX2 && live > PRESSURE) width = 8;
  while (width > 8 && s.local * width > LOCAL_BYTES) width /= 2;
  return width;
}
