/* passes/expand.c -- a product of matrices by 32 neighbours (op mma) becomes shuffles and chains of fma.
 *
 * A thread's row of A lies in the four threads that it is one of, its columns of B in four others each; halves travel in pairs.
 * The chains are those that the op is defined by (ir/mma.h), so every bit stays. What a unit of the target does
 * (OptContext.units) stays as it is in a fast kernel.
 *
 * needs   a kernel without calls (inline): functions leave it to whatever calls them
 * keeps   every result bit, except NaN payloads
 * breaks  nothing            cost    linear
 */
#include "ir/mma.h"
#include "passes/passes.h"
#include "passes/rebuild.h"

enum { MOST_WORDS = 4, QUARTERS = 4, MOST_COLUMNS = 2 };

static const IrType *scalar(OptRebuild *rb, IrKind kind) { return hdir_scalar(&rb->fn->module->types, kind); }

static IrValue *int_const(OptRebuild *rb, int64_t x) { return hdir_const_int(rb->fn, scalar(rb, IR_I32), x); }

static IrValue *bin_const(OptRebuild *rb, IrOp op, IrValue *x, int64_t y) {
  return hdir_bin(&rb->b, op, x, int_const(rb, y));
}

/* --- what travels: a double, or two halves --- */

static IrValue *half_bits(OptRebuild *rb, IrValue *x, uint32_t part) {
  IrValue *h = hdir_bitcast(&rb->b, scalar(rb, IR_U16), hdir_extract(&rb->b, x, part));
  return hdir_cvt(&rb->b, scalar(rb, IR_U32), h);
}

static IrValue *word(OptRebuild *rb, IrValue *x, uint32_t at) {
  if (hdir_is_scalar(x->type)) return x;
  IrValue *high = hdir_bin(&rb->b, IR_shl, half_bits(rb, x, 2 * at + 1), hdir_const(rb->fn, scalar(rb, IR_U32), 16));
  return hdir_bin(&rb->b, IR_or, half_bits(rb, x, 2 * at), high);
}

/* Element `part` of a thread, out of its words. */
static IrValue *element(OptRebuild *rb, const IrMma *s, IrValue *const words[], uint32_t part) {
  if (s->in == IR_F64) return words[part];
  IrValue *w = words[part / 2];
  if (part % 2) w = hdir_bin(&rb->b, IR_shr, w, hdir_const(rb->fn, scalar(rb, IR_U32), 16));
  IrValue *h = hdir_bitcast(&rb->b, scalar(rb, s->in), hdir_cvt(&rb->b, scalar(rb, IR_U16), w));
  return hdir_cvt(&rb->b, scalar(rb, s->sum), h);
}

/* The n words of x in the four threads from `first` on. */
static void fetch(OptRebuild *rb, IrValue *x, uint32_t n, IrValue *first, IrValue *out[QUARTERS][MOST_WORDS]) {
  for (uint32_t q = 0; q < QUARTERS; q++)
    for (uint32_t k = 0; k < n; k++) out[q][k] = hdir_shuffle(&rb->b, word(rb, x, k), bin_const(rb, IR_or, first, q));
}

/* --- the product --- */

static IrValue *emit_product(OptRebuild *rb, const IrMma *s, IrValue *x, IrValue *y, IrValue *z) {
  IrBuilder *b = &rb->b;
  IrValue *a[QUARTERS][MOST_WORDS], *of_column[MOST_COLUMNS][QUARTERS][MOST_WORDS], *sum[IR_MMA_MOST_C];
  const uint32_t per_word = s->in == IR_F64 ? 1 : 2;
  IrValue *me = hdir_ltid(b), *columns = bin_const(rb, IR_shl, bin_const(rb, IR_and, me, 3), 3);
  fetch(rb, x, s->a / per_word, bin_const(rb, IR_and, me, -QUARTERS), a);
  for (uint32_t c = 0; c < MOST_COLUMNS; c++)
    fetch(rb, y, s->b / per_word, bin_const(rb, IR_or, columns, (int64_t)c * QUARTERS), of_column[c]);
  for (uint32_t i = 0; i < s->c; i++) {
    uint32_t row = hdir_mma_row(0, i), c = hdir_mma_column(0, i); /* as far as i goes */
    sum[i] = hdir_extract(b, z, i);
    for (uint32_t k = 0; k < s->k; k++) {
      uint32_t q = hdir_mma_quarter(s, k);
      sum[i] = hdir_fma(b, element(rb, s, a[q], hdir_mma_part_a(s, row, k)),
                        element(rb, s, of_column[c][q], hdir_mma_part_b(s, k)), sum[i]);
    }
  }
  return hdir_make(b, z->type, sum);
}

static const IrMma *shape_of(const IrInst *i) {
  return hdir_mma_of(i->args[0]->type, i->args[1]->type, i->args[2]->type);
}

static bool needs_work(const IrInst *i, uint32_t units) { return i->op == IR_mma && !(units >> shape_of(i)->unit & 1); }

static bool visit(OptRebuild *rb, IrInst *i) {
  const uint32_t *units = rb->self;
  if (!needs_work(i, *units)) return false;
  IrValue *x[3];
  for (uint32_t k = 0; k < 3; k++) x[k] = hdopt_get(rb, i->args[k]);
  hdopt_set(rb, i->res[0], emit_product(rb, shape_of(i), x[0], x[1], x[2]));
  return true;
}

static const OptHooks hooks = {.visit = visit};

bool hdopt_expand(IrFunc *fn, OptContext *cx) {
  bool any = false;
  uint32_t units = fn->fast ? cx->units : 0;
  if (!fn->is_kernel) return false;
  for (const IrInst *i = fn->body->first; i && !any; i = hdir_inst_next(i)) any = needs_work(i, units);
  if (!any) return false;
  OptRebuild rb = {.hooks = &hooks, .self = &units};
  hdopt_rebuild(&rb, fn, cx->scratch);
  return true;
}
