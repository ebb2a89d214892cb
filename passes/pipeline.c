/* passes/pipeline.c -- which passes run for what, and in which order. */
#include "passes/pipeline.h"

#include <stddef.h>

/* Of both: taking composites apart first lets promote see scalars; what promote makes visible, simplify folds, and
 * only then are equal addresses equal values, which forward wants. Unrolling makes indices of local arrays constant,
 * so promote has a second turn. flatten comes late: before it, an `if` still tells forward and licm what runs. */
#define TO_SCALARS(unroll)                                                                                             \
  "inline,units,expand,scalarise,promote,simplify," unroll ",promote,simplify,"                                        \
  "gvn,forward,licm,flatten,simplify,legalise,gvn"

const OptPipeline hdopt_pipelines[] = {
    {"canon", "contract", NULL},
    {"cpu", "contract", TO_SCALARS("unroll") ",together,split"},
    {"gpu", "approx,contract", TO_SCALARS("unroll_local,unroll") ",converge"},
    {NULL, NULL, NULL},
};
