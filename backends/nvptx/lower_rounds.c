/* backends/nvptx/lower_rounds.c -- which loops get several rounds in a row, so that their loads are on the way together.
 *
 * LLVM does it, with a loop for the rounds that are left over. It is asked for loops that go over an array: the counter
 * begins at a constant, grows by a constant to what all threads of a launch have alike, and nothing but its test leaves
 * the loop. Loops whose ends each thread finds for itself are as often short, and stay as they are.
 */
#include "backends/nvptx/lower.h"

enum { FOUR_UP_TO = 24, TWO_UP_TO = 64, DEEPEST = 6 }; /* instructions of a round; a chain of operands */

/* The same for all threads: constants, what the launch gives, and what is computed from those. */
static bool alike(const IrValue *v, int depth) {
  if (hdir_is_const(v)) return true;
  if (!v->def) return !v->region->parent; /* a parameter of the kernel */
  IrOp op = v->def->op;
  if (op == IR_length || op == IR_dim || op == IR_gdim) return true;
  if (depth == DEEPEST || hdir_ops[op].effect != FX_PURE) return false;
  for (uint32_t k = 0; k < v->def->nargs; k++)
    if (!alike(v->def->args[k], depth + 1)) return false;
  return true;
}

/* Instructions of a round, without addresses; 0 if there is something else to it than arithmetic, loads and stores. */
static uint32_t round_size(const IrRegion *body, const IrInst *test) {
  uint32_t n = 0;
  for (const IrInst *i = body->first; i; i = hdir_inst_next(i)) {
    if (!hdir_region_contains(body, i->region)) break;
    IrEffect effect = hdir_ops[i->op].effect;
    bool plain =
        effect == FX_PURE || effect == FX_READS || effect == FX_WRITES || effect == FX_LAUNCH || hdptx_is_approx(i);
    bool head = i == test || i->region->parent == test;
    if (!plain && !head && i != body->last && i->op != IR_if && i->op != IR_yield) return 0;
    n += i->op != IR_index && i->op != IR_member && i->op != IR_elem;
  }
  return n;
}

/* Its head's test, if that does nothing but leave the loop or go on. */
static const IrInst *plain_test(const IrInst *loop) {
  const IrInst *i = hdir_head_test(loop);
  for (int s = 0; i && s < 2; s++)
    if (i->sub[s]->first->op != IR_yield && i->sub[s]->first->op != IR_break) return NULL;
  return i;
}

static bool counts(const IrInst *loop, const IrInst *test) {
  const IrRegion *body = loop->sub[0];
  const IrInst *cmp = test->args[0]->def;
  if (!cmp || cmp->op < IR_lt || cmp->op > IR_ge) return false;
  const IrValue *p = cmp->args[0], *end = cmp->args[1];
  if (p->region != body || !hdir_is_const(loop->args[p->index]) || !alike(end, 0)) return false;
  const IrInst *add = body->last->args[p->index]->def;
  return add && add->op == IR_add && add->args[0] == p && hdir_is_const(add->args[1]);
}

const char *hdptx_rounds(PtxLower *g, const IrInst *loop) {
  const IrRegion *body = loop->sub[0];
  const IrInst *test = body->last->op == IR_continue ? plain_test(loop) : NULL;
  uint32_t n = test && counts(loop, test) ? round_size(body, test) : 0;
  if (!n || n > TWO_UP_TO) return "";
  uint32_t id = PTX_MD_FREE + g->next_md++;
  hdb_putf(&g->decls, "!%u = distinct !{!%u, !%d}\n", id, id, n <= FOUR_UP_TO ? PTX_MD_FOUR : PTX_MD_TWO);
  return hdptx_fmt(g, ", !llvm.loop !%u", id);
}
