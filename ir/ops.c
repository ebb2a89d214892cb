/* ir/ops.c -- ops.def as an array, and names. */
#include "ir/ir.h"

const IrOpRow hdir_ops[IR_NOPS] = {
#define IR_OP(name, operands, result, effect, imm, laws, meaning)                                                      \
  {#name, operands, result, FX_##effect, IR_IMM_##imm, laws, meaning},
#include "ir/ops.def"
};

const char *const hdir_unit_names[IR_NUNITS] = {"mma", "tex", "dmma", "gang"};
