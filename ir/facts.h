/* ir/facts.h -- what holds of each value across the lanes of a gang: uniform, affine or varying, and why.
 *
 * One forward fixpoint over the region tree, after Sampaio et al., "Divergence Analysis", TOPLAS 2013, with the
 * structured form's simplifications. Lanes are neighbours along the innermost axis.
 */
#ifndef IR_FACTS_H
#define IR_FACTS_H

#include "ir/ir.h"
HD_BEGIN_DECLS

typedef enum IrClass { IR_UNIFORM, IR_AFFINE, IR_VARYING } IrClass;

typedef struct IrFact {
  IrClass     cls;
  int64_t     stride; /* AFFINE: lane k has lane 0's value plus k * stride (modulo 2^bits)          */
  const char *why;    /* VARYING: a row of reasons.def, as a name                                   */
  uint32_t    cause;  /* VARYING: the id of the value that made it so, or its own id at the source  */
} IrFact;

typedef struct IrFacts {
  const IrFunc *fn;
  IrFact       *of;        /* by value id                                                          */
  bool         *divergent; /* by instruction id: an if, loop or scope from which lanes part        */
  bool         *masked;    /* by instruction id: it may run with some lanes off (its own control)  */
} IrFacts;

/* `inner_axis` is the axis of the lanes: tid of it is affine with stride 1, of the others uniform. A gang has at most `lanes`
 * lanes, a power of two up to IR_NEIGHBOURS. */
IrFacts *hdir_facts(const IrFunc *fn, int32_t inner_axis, uint32_t lanes, Arena *a);
/* Why v differs from lane to lane, in words of the source: "'x', which depends on a value loaded at line 3". */
void hdir_facts_explain(Buf *b, const IrFacts *f, const IrValue *v);
/* A note for hdir_print: "; uniform", "; affine 4", "; varying (loaded at a varying address)". user is IrFacts*. */
void hdir_facts_note(Buf *b, const IrValue *v, void *user);

HD_END_DECLS
#endif
