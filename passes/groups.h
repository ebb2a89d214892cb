/* passes/groups.h -- how a kernel with groups is cut at its barriers.
 *
 * What all threads of a group run together (FX_GROUP) stands where all of them come to. The constructs around it, and
 * those that all threads leave together for a place beyond, are run once for the group; the code between is cut into
 * chunks that run for one thread after the other.
 */
#ifndef PASSES_GROUPS_H
#define PASSES_GROUPS_H

#include "ir/facts.h"
HD_BEGIN_DECLS

enum { OPT_FOR_GROUP = UINT32_MAX };

typedef struct OptGroups {
  const IrFunc *fn;
  IrFacts      *facts;     /* along the axis of the groups                                                        */
  bool         *by_group;  /* by instruction id: a control instruction that the group runs as one                 */
  bool         *tail;      /* by instruction id: it and what follows in its region is one chunk, in which threads
                              leave the construct around it (or the kernel) at different places                   */
  bool         *in_loop;   /* by instruction id, of FX_GROUP: it may run again                                    */
  uint32_t     *chunk;     /* by value id: the chunk that computes it, or OPT_FOR_GROUP; results and carried values of
                              what the group runs as one, and what comes from other threads, have chunk 0         */
  bool         *kept;      /* by value id: a value of each thread that another chunk needs                        */
  bool         *told;      /* by value id: a uniform value of a chunk that the group or another chunk needs       */
} OptGroups;

/* For a kernel without calls. HD_ERR_SOURCE with the place if only some threads come to what all must run together, or
 * leave what stands around it in a way that cannot be cut, or if the group's objects are too large. */
HdStatus hdopt_groups(const IrFunc *fn, Arena *a, HdError *err, OptGroups *out);

/* Is it the same in all threads of the group? */
static inline bool hdopt_groups_uniform(const OptGroups *g, const IrValue *v) {
  return g->facts->of[v->id].cls == IR_UNIFORM;
}

/* Is it computed again in each chunk, rather than kept? */
bool hdopt_groups_again(const OptGroups *g, const IrValue *v);

HD_END_DECLS
#endif
