/* passes/unroll.h -- writing out counted loops, for the passes that choose which. */
#ifndef PASSES_UNROLL_H
#define PASSES_UNROLL_H

#include "passes/live.h"
HD_BEGIN_DECLS

bool hdopt_has_loop(const IrFunc *fn);
/* Write out the counted loops that become at most `limit` instructions each and `budget` in all; if `only` is not NULL, of
 * the loops that it marks by instruction id. */
bool hdopt_write_out(IrFunc *fn, const OptLive *live, uint32_t limit, int64_t budget, const bool *only, Arena *scratch);

HD_END_DECLS
#endif
