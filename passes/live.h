/* passes/live.h -- what of a function anybody needs. */
#ifndef PASSES_LIVE_H
#define PASSES_LIVE_H

#include "ir/ir.h"
HD_BEGIN_DECLS

typedef struct OptEnder { /* list of the enders of one construct */
  struct OptEnder *next;
  const IrInst    *inst;
} OptEnder;

typedef struct OptLive {
  bool      *inst;    /* by instruction id: it has an effect, or a value that somebody needs    */
  bool      *value;   /* by value id; constants are not entered                                  */
  OptEnder **exits;   /* by instruction id: enders that give an if, loop or scope its results    */
  OptEnder **repeats; /* by instruction id: continues of a loop                                  */
  uint32_t   count;   /* instructions in all                                                     */
} OptLive;

/* Works backwards from effects. A result or carried value counts as needed only if it reaches one, so cycles of values
 * that only feed themselves are dead; stores to an alloca count only if its memory is read. */
void hdopt_live(OptLive *live, const IrFunc *fn, Arena *a);

HD_END_DECLS
#endif
