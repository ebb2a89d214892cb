/* frontend/lang/control.h -- what stmt.c and loop.c share: blocks, and values carried through regions. */
#ifndef FE_CONTROL_H
#define FE_CONTROL_H

#include "frontend/lang/lower.h"
HD_BEGIN_DECLS

typedef struct FeBlock {
  uint32_t outer; /* where the block around it begins */
} FeBlock;

FeBlock hdfe_block_begin(FeLower *L);
void    hdfe_block_end(FeLower *L, FeBlock b); /* its variables end; unused ones are reported */
void    hdfe_scoped(FeLower *L, FeStmt *s);    /* s in a block of its own */

/* Variables that regions assign, with their values before. */
typedef struct FeCarried {
  FeVars         vars;
  IrValue      **old;
  const IrType **types;
} FeCarried;

FeCarried hdfe_carried(FeLower *L, FeVars vars);
IrValue **hdfe_carried_now(FeLower *L, const FeVars *vars, uint32_t more); /* with room for `more` behind */
void      hdfe_carried_set(const FeVars *vars, IrValue *const values[]);

/* --- loop.c --- */
void hdfe_loop(FeLower *L, FeStmt *s); /* while, do, for, for in */
void hdfe_static_for(FeLower *L, FeStmt *s);
void hdfe_jump(FeLower *L, FeStmt *s); /* break, continue */

HD_END_DECLS
#endif
