/* backends/nvptx/lower_tex.c -- what the texture units give.
 *
 * One instruction gives four numbers, and an op is one of them: ops that stand one behind the other and ask the same share it.
 * An object of 0, which is none, must not reach it, so it stands behind a branch; LLVM drops that where the program has the same.
 */
#include "backends/nvptx/lower.h"

#define FOUR "{ float, float, float, float }"

static bool asks_the_same(const IrInst *a, const IrInst *b) {
  return a && a->op == IR_tex && a->nargs == b->nargs && !memcmp(a->args, b->args, a->nargs * sizeof *a->args);
}

static const char *ask(PtxLower *g, const IrInst *i) {
  uint32_t axes = i->nargs - 2;
  const char *object = hdptx_get(g, i->args[0]), *types = "i64", *list = hdptx_fmt(g, "i64 %s", object);
  for (uint32_t k = 1; k < i->nargs; k++) {
    types = hdptx_fmt(g, "%s, float", types);
    list = hdptx_fmt(g, "%s, float %s", list, hdptx_get(g, i->args[k]));
  }
  const char *name = hdptx_fmt(g, "llvm.nvvm.tex.unified.%ud.level.v4f32.f32", axes);
  const char *some = hdptx_label(g), *done = hdptx_label(g), *from = g->block;
  hdptx_line(g, "br i1 %s, label %%%s, label %%%s", hdptx_ins(g, "icmp eq i64 %s, 0", object), done, some);
  hdptx_open(g, some);
  const char *all = hdptx_call(g, FOUR, name, types, "%s", list);
  hdptx_line(g, "br label %%%s", done);
  hdptx_open(g, done);
  return hdptx_ins(g, "phi " FOUR " [ zeroinitializer, %%%s ], [ %s, %%%s ]", from, all, some);
}

void hdptx_tex(PtxLower *g, const IrInst *i) {
  if (!g->options.fast) {
    hdptx_set(g, i->res[0], hdptx_const(g, i->res[0]->type, 0));
    return;
  }
  if (i->prev != g->asked || !asks_the_same(g->asked, i)) g->texel = ask(g, i);
  g->asked = i;
  hdptx_set(g, i->res[0], hdptx_ins(g, "extractvalue " FOUR " %s, %lld", g->texel, (long long)i->imm));
}
