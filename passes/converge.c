/* passes/converge.c -- holds a kernel with groups to what its barriers ask.
 *
 * A barrier, a shuffle or a ballot waits for all threads of the group, so it has to stand where all of them come to. A
 * GPU would hang at one that is not, or worse; what reaches a backend has been through here or through split, which
 * asks the same (groups.h).
 *
 * needs   a kernel without calls (inline)        keeps   everything
 * breaks  nothing                                cost    linear
 */
#include "passes/groups.h"
#include "passes/passes.h"

bool hdopt_converge(IrFunc *fn, OptContext *cx) {
  OptGroups g;
  if (fn->group) cx->status = hdopt_groups(fn, cx->scratch, cx->err, &g);
  return false;
}
