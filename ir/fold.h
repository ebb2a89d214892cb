/* ir/fold.h -- what an instruction would simplify to; used by build.c alone. */
#ifndef IR_FOLD_H
#define IR_FOLD_H

#include "ir/build.h"
HD_BEGIN_DECLS

/* The value that `op` with these operands and this result type is equal to, or NULL if it has to be emitted. Operands
 * may be put into canonical order (constants right). May append instructions that the answer needs. */
IrValue *hdir_fold(IrBuilder *b, IrOp op, const IrType *res, uint32_t n, IrValue **args, int64_t imm);

HD_END_DECLS
#endif
