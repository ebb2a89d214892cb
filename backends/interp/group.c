/* backends/interp/group.c -- what all threads of a group run together.
 *
 * Each thread of a group has frames of its own and runs until it comes to such an instruction or to its end. When all
 * have, they must stand at the same one: it is then run for all, and each goes on.
 */
#include "backends/interp/exec.h"

static uint64_t *operand(const InterpThread *t, uint32_t k) { return hdinterp_leaves(t->frame, t->at->args[k]); }

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

HdStatus hdinterp_meet(InterpThread t[], uint32_t n, uint64_t scratch[]) {
  const IrInst *i = t[0].at;
  for (uint32_t k = 0; k < n; k++)
    if (t[k].at != i) return hdinterp_fault(t, i ? i : t[k].at, "not all threads of the group come to this place");
  if (!i) return HD_OK;
  if (i->op == IR_shuffle) shuffle(t, n, scratch);
  if (i->op == IR_ballot) ballot(t, n, scratch);
  for (uint32_t k = 0; k < n; k++) {
    if (i->nres) *hdinterp_leaves(t[k].frame, i->res[0]) = scratch[k];
    t[k].at = i->next;
  }
  return HD_OK;
}
