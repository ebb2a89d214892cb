/* backends/nvptx/lower_mma.c -- products of matrices by the units for them.
 *
 * A thread's parts (ir/mma.h) are the registers of PTX's mma, two halves in each. sm_75 multiplies half as many columns of
 * halves at a time as what came after, so there it takes two.
 */
#include "backends/nvptx/lower.h"
#include "ir/mma.h"

enum { MOST_PARTS = 8 };

/* Part k of an operand: made of scalars, the result of another product, or a parameter. */
static const char *part(PtxLower *g, const IrValue *v, uint32_t k) {
  if (hdir_is_scalar(v->type)) return hdptx_get(g, v);
  if (v->def && v->def->op == IR_make) return hdptx_get(g, v->def->args[k]);
  if (v->def && v->def->op == IR_mma) return hdptx_mma_part(g, v, k);
  return hdptx_param_part(g, v, k);
}

const char *hdptx_mma_part(PtxLower *g, const IrValue *v, uint32_t k) {
  const IrType *t = v->type;
  const char *one = hdptx_type(t->elem), *types = one;
  for (uint32_t i = 1; i < t->rows; i++) types = hdptx_fmt(g, "%s, %s", types, one);
  return hdptx_ins(g, "extractvalue { %s } %s, %u", types, g->val[v->id], k);
}

/* Registers of an operand, as text for the call: two halves go into one. */
static uint32_t take_registers(PtxLower *g, const IrValue *v, const char *out[]) {
  const IrType *elem = hdir_elem_scalar(v->type);
  uint32_t parts = v->type->nleaves, n = 0;
  bool halves = elem->kind == IR_F16 || elem->kind == IR_BF16;
  const char *to = elem->kind == IR_F16 ? "<2 x half>" : "i32";
  for (uint32_t k = 0; k < parts; k += halves ? 2 : 1) {
    const char *x = part(g, v, k);
    if (!halves) {
      out[n++] = hdptx_fmt(g, "%s %s", hdptx_type(elem), x);
      continue;
    }
    const char *low = hdptx_ins(g, "insertelement <2 x i16> poison, i16 %s, i32 0", x);
    const char *both = hdptx_ins(g, "insertelement <2 x i16> %s, i16 %s, i32 1", low, part(g, v, k + 1));
    out[n++] = hdptx_fmt(g, "%s %s", to, hdptx_ins(g, "bitcast <2 x i16> %s to %s", both, to));
  }
  return n;
}

static const char *join(PtxLower *g, const char *list, uint32_t n, const char *const more[]) {
  for (uint32_t k = 0; k < n; k++) list = hdptx_fmt(g, "%s%s%s", list, *list ? ", " : "", more[k]);
  return list;
}

/* "<2 x half>, .., float": the types alone. */
static const char *types_of(PtxLower *g, uint32_t n, const char *const x[]) {
  const char *list = "";
  for (uint32_t k = 0; k < n; k++) {
    const char *end = strrchr(x[k], ' ');
    list = hdptx_fmt(g, "%s%s%.*s", list, *list ? ", " : "", (int)(end - x[k]), x[k]);
  }
  return list;
}

static const char *multiply(PtxLower *g, const char *name, uint32_t na, const char *const a[], uint32_t nb,
                            const char *const b[], uint32_t nc, const char *const c[]) {
  const char *list = join(g, join(g, join(g, "", na, a), nb, b), nc, c), *sums = types_of(g, nc, c);
  const char *params = hdptx_fmt(g, "%s, %s, %s", types_of(g, na, a), types_of(g, nb, b), sums);
  const char *result = hdptx_fmt(g, "{ %s }", sums);
  hdptx_declare(g, result, name, params);
  return hdptx_ins(g, "call %s @%s(%s) convergent", result, name, list); /* LLVM does not say so of it by itself */
}

static const char *name_of(const IrMma *s) {
  switch (s->in) {
  case IR_F16: return "llvm.nvvm.mma.m16n8k16.row.col.f32.f32";
  case IR_BF16: return "llvm.nvvm.mma.m16n8k16.row.col.bf16";
  default: return "llvm.nvvm.mma.m8n8k4.row.col.f64";
  }
}

void hdptx_mma(PtxLower *g, const IrInst *i) {
  const IrMma *s = hdir_mma_of(i->args[0]->type, i->args[1]->type, i->args[2]->type);
  const char *a[MOST_PARTS], *b[MOST_PARTS], *c[MOST_PARTS];
  if (!g->options.fast || !(hdptx_units(g->target) >> s->unit & 1)) {
    hdptx_fail(g, i, HD_ERR_COMPILE, "an operation that passes should have taken apart");
    return;
  }
  uint32_t na = take_registers(g, i->args[0], a), nb = take_registers(g, i->args[1], b);
  uint32_t nc = take_registers(g, i->args[2], c);
  if (g->target->sm >= 80) {
    hdptx_set(g, i->res[0], multiply(g, name_of(s), na, a, nb, b, nc, c));
    return;
  }
  const char *half = "llvm.nvvm.mma.m16n8k8.row.col.f32.f32";
  hdptx_set(g, i->res[0], multiply(g, half, na / 2, a, nb / 2, b, nc, c));
  for (uint32_t k = 0; k < nc; k++)
    c[k] = hdptx_fmt(g, "%s %s", hdptx_type(i->res[0]->type->elem), hdptx_mma_part(g, i->res[0], k));
  hdptx_set(g, i->res[0], multiply(g, half, na / 2, a + na / 2, nb / 2, b + nb / 2, nc, c));
}
