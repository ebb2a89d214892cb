/* backends/interp/group.c -- what all threads of a group run together.
 *
 * Each thread of a group has frames of its own and runs until it comes to such an instruction or to its end. When all
 * have, they must stand at the same one: it is then run for all, and each goes on.
 */
#include "backends/interp/exec.h"
#include "ir/mma.h"

static const uint64_t *operand(const InterpThread *t, uint32_t k) { return hdinterp_leaves(t->frame, t->at->args[k]); }

/* Results are kept until all are known: an operand may stand where a result goes. */
static void shuffle(InterpThread t[], uint32_t n, uint64_t result[]) {
  for (uint32_t k = 0; k < n; k++) {
    uint32_t from = (uint32_t)*operand(&t[k], 1) % IR_NEIGHBOURS;
    result[k] = *operand(&t[k - k % IR_NEIGHBOURS + from], 0);
  }
}

static void ballot(InterpThread t[], uint32_t n, uint64_t result[]) {
  for (uint32_t k = 0; k < n; k++) {
    result[k] = 0;
    for (uint32_t j = 0; j < IR_NEIGHBOURS; j++)
      result[k] |= (uint64_t)(*operand(&t[k - k % IR_NEIGHBOURS + j], 0) != 0) << j;
  }
}

/* --- products of matrices --- */

static const IrType float_type = {.kind = IR_F32}, double_type = {.kind = IR_F64};

static uint64_t product(const IrMma *s, const IrInst *i, const InterpThread t[], uint32_t k, uint32_t part) {
  const IrType *in = hdir_elem_scalar(i->args[0]->type), *sum = s->sum == IR_F64 ? &double_type : &float_type;
  uint32_t row = hdir_mma_row(k % IR_NEIGHBOURS, part), column = hdir_mma_column(k % IR_NEIGHBOURS, part);
  uint64_t x[3];
  x[2] = operand(&t[k], 2)[part];
  for (uint32_t along = 0; along < s->k; along++) {
    const InterpThread *first = &t[k - k % IR_NEIGHBOURS + hdir_mma_quarter(s, along)];
    x[0] = operand(&first[row % 8 * 4], 0)[hdir_mma_part_a(s, row, along)];
    x[1] = operand(&first[column * 4], 1)[hdir_mma_part_b(s, along)];
    for (int f = 0; f < 2 && s->in != s->sum; f++) x[f] = hdir_eval(IR_cvt, in, sum, &x[f]);
    x[2] = hdir_eval(IR_fma, sum, sum, x);
  }
  return x[2];
}

static void mma(const IrInst *i, const InterpThread t[], uint32_t n, uint64_t result[]) {
  const IrMma *s = hdir_mma_of(i->args[0]->type, i->args[1]->type, i->args[2]->type);
  for (uint32_t k = 0; k < n; k++)
    for (uint32_t part = 0; part < s->c; part++) *result++ = product(s, i, t, k, part);
}

HdStatus hdinterp_meet(InterpThread t[], uint32_t n, uint64_t scratch[]) {
  const IrInst *i = t[0].at;
  for (uint32_t k = 0; k < n; k++)
    if (t[k].at != i) return hdinterp_fault(t, i ? i : t[k].at, "not all threads of the group come to this place");
  if (!i) return HD_OK;
  if (i->op == IR_shuffle) shuffle(t, n, scratch);
  if (i->op == IR_ballot) ballot(t, n, scratch);
  if (i->op == IR_mma) mma(i, t, n, scratch);
  uint32_t parts = i->nres ? i->res[0]->type->nleaves : 0;
  for (uint32_t k = 0; k < n; k++) {
    if (parts) memcpy(hdinterp_leaves(t[k].frame, i->res[0]), scratch + (size_t)k * parts, parts * sizeof *scratch);
    t[k].at = i->next;
  }
  return HD_OK;
}
