/* backends/nvptx/lower_approx.c -- the hardware's approximations, which fast code calls by the names of pass approx.
 *
 * What the PTX ISA says of their errors:
 *
 *     ex2     2 ulps                                          rsqrt   2^-22.9 relative
 *     lg2     2^-22 absolute within (1/2, 2), else relative   tanh    2^-11 relative
 *     sin, cos  2^-20.5 absolute within [-2 pi, 2 pi], 2^-14.7 within [-100 pi, 100 pi]
 *
 * In a fast kernel subnormal operands and results are zero. Before sm_75 there is no tanh: it is 1 - 2 / (e^2x + 1).
 */
#include "backends/nvptx/lower.h"

static const char prefix[] = "__gpu_";

static const char *hardware(const IrFunc *callee) {
  static const char *const names[] = {"ex2", "lg2", "sin", "cos", "rsqrt", "tanh"};
  if (strncmp(callee->name, prefix, sizeof prefix - 1) != 0) return NULL;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (strcmp(callee->name + sizeof prefix - 1, names[k]) == 0) return names[k];
  return NULL;
}

bool hdptx_is_approx(const IrInst *i) {
  return hdir_calls_pure(i) && i->nargs == 1 && i->nres == 1 && hardware(i->callee) != NULL;
}

static const char *instruction(PtxLower *g, const char *name, const char *x) {
  const char *full = hdptx_fmt(g, "llvm.nvvm.%s.approx%s.f", name, g->options.fast ? ".ftz" : "");
  return hdptx_call(g, "float", full, "float", "float %s", x);
}

static const char *number(PtxLower *g, float x) {
  static const IrType f32 = {.kind = IR_F32};
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return hdptx_const(g, &f32, bits);
}

static const char *old_tanh(PtxLower *g, const char *x) {
  const char *e = instruction(g, "ex2", hdptx_ins(g, "fmul float %s, %s", x, number(g, 2.88539008f))); /* 2 / ln 2 */
  const char *q =
      hdptx_ins(g, "fdiv arcp afn float %s, %s", number(g, -2), hdptx_ins(g, "fadd float %s, %s", e, number(g, 1)));
  return hdptx_ins(g, "fadd float %s, %s", q, number(g, 1));
}

void hdptx_approx(PtxLower *g, const IrInst *i) {
  const char *name = hardware(i->callee), *x = hdptx_get(g, i->args[0]);
  if (strcmp(name, "tanh") != 0)
    x = instruction(g, name, x);
  else if (g->target->sm < 75)
    x = old_tanh(g, x);
  else
    x = hdptx_ins(g, "call float asm \"tanh.approx.f32 $0, $1;\", \"=f,f\"(float %s)", x);
  hdptx_set(g, i->res[0], x);
}
