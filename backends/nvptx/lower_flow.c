/* backends/nvptx/lower_flow.c -- if, loop, scope and their enders as blocks and phis.
 *
 * Threads that part at a branch meet where the structure says they do: ptxas finds that place again from the blocks.
 */
#include "backends/nvptx/lower.h"

/* --- joins --- */

static void jump(PtxLower *g, PtxJoin *to, uint32_t n, IrValue *const args[], const char *metadata) {
  PtxEdge e = {g->block, HDB_NEW_N(g->a, const char *, n + 1)};
  for (uint32_t k = 0; k < n; k++) e.x[k] = hdptx_get(g, args[k]);
  if (!to->label) to->label = hdptx_label(g);
  hdptx_line(g, "br label %%%s%s", to->label, metadata);
  HDB_PUSH(g->a, to->edges, to->nedges, to->cap, e);
  g->live = false;
}

static void put_phi(PtxLower *g, const PtxJoin *j, uint32_t k, const char *name, const IrType *t) {
  hdb_putf(g->out, "  %s = phi %s ", name, hdptx_type(t));
  for (uint32_t e = 0; e < j->nedges; e++)
    hdb_putf(g->out, "%s[ %s, %%%s ]", e ? ", " : "", j->edges[e].x[k], j->edges[e].block);
  hdb_putc(g->out, '\n');
}

static bool all_the_same(const PtxJoin *j, uint32_t k) {
  for (uint32_t e = 1; e < j->nedges; e++)
    if (strcmp(j->edges[e].x[k], j->edges[0].x[k]) != 0) return false;
  return true;
}

/* Go on behind a construct with its results; nowhere if no path leads there. */
static void land(PtxLower *g, const PtxJoin *j, const IrInst *i) {
  if (!j->nedges) return;
  hdptx_open(g, j->label);
  for (uint32_t k = 0; k < i->nres; k++) {
    const IrValue *v = i->res[k];
    if (j->nedges == 1 || all_the_same(j, k)) {
      hdptx_set(g, v, j->edges[0].x[k]);
      continue;
    }
    const char *name = hdptx_name(g);
    put_phi(g, j, k, name, v->type);
    hdptx_set(g, v, name);
  }
}

/* --- constructs --- */

static void enter(PtxLower *g, PtxCon *c, const IrInst *i) {
  *c = (PtxCon){.inst = i, .up = g->con};
  g->con = c;
}

static bool is_empty(const IrRegion *r) { return r->first->op == IR_yield; }

static void lower_if(PtxLower *g, const IrInst *i) {
  PtxCon c;
  const char *label[2] = {NULL, NULL}, *from = g->block, *cond = hdptx_get(g, i->args[0]);
  enter(g, &c, i);
  c.end.label = hdptx_label(g);
  for (int s = 0; s < 2; s++) label[s] = is_empty(i->sub[s]) ? c.end.label : hdptx_label(g);
  if (!strcmp(label[0], label[1])) label[1] = hdptx_label(g); /* two edges from one block would need two entries */
  hdptx_line(g, "br i1 %s, label %%%s, label %%%s", cond, label[0], label[1]);
  for (int s = 0; s < 2; s++) {
    if (label[s] == c.end.label) { /* straight to the end, with the yield's values */
      const IrInst *y = i->sub[s]->first;
      PtxEdge e = {from, HDB_NEW_N(g->a, const char *, y->nargs + 1)};
      for (uint32_t k = 0; k < y->nargs; k++) e.x[k] = hdptx_get(g, y->args[k]);
      HDB_PUSH(g->a, c.end.edges, c.end.nedges, c.end.cap, e);
      continue;
    }
    hdptx_open(g, label[s]);
    hdptx_region(g, i->sub[s]);
  }
  g->con = c.up;
  g->live = false;
  land(g, &c.end, i);
}

static void lower_loop(PtxLower *g, const IrInst *i) {
  const IrRegion *body = i->sub[0];
  PtxCon c;
  Buf *outer = g->out, inner;
  enter(g, &c, i);
  jump(g, &c.head, i->nargs, i->args, "");
  c.again = hdptx_rounds(g, i);
  for (uint32_t k = 0; k < body->nparams; k++) hdptx_set(g, body->params[k], hdptx_name(g));
  hdb_buf_init(&inner, g->a);
  g->out = &inner; /* the phis of the head need the continues inside */
  g->block = c.head.label;
  g->live = true;
  hdptx_region(g, body);
  g->out = outer;
  hdptx_open(g, c.head.label);
  for (uint32_t k = 0; k < body->nparams; k++)
    put_phi(g, &c.head, k, hdptx_get(g, body->params[k]), body->params[k]->type);
  hdb_putn(g->out, inner.data, inner.len);
  g->con = c.up;
  g->live = false;
  land(g, &c.end, i);
}

static void lower_scope(PtxLower *g, const IrInst *i) {
  PtxCon c;
  enter(g, &c, i);
  hdptx_region(g, i->sub[0]);
  g->con = c.up;
  g->live = false;
  land(g, &c.end, i);
}

static PtxCon *around(PtxLower *g, const IrInst *ender) {
  PtxCon *c = g->con;
  IrOp want = ender->op == IR_leave ? IR_scope : IR_loop;
  if (ender->op == IR_yield) {
    while (c && c->inst != ender->region->parent) c = c->up;
  } else {
    while (c && c->inst->op != want) c = c->up;
  }
  return c;
}

static void lower_ender(PtxLower *g, const IrInst *i) {
  if (i->op == IR_unreachable) return; /* verify saw to it that no path leads here */
  if (i->op == IR_return) {
    hdptx_line(g, "br label %%exit");
    g->live = false;
    return;
  }
  PtxCon *c = around(g, i);
  if (c)
    jump(g, i->op == IR_continue ? &c->head : &c->end, i->nargs, i->args, i->op == IR_continue ? c->again : "");
  else
    hdptx_fail(g, i, HD_ERR_COMPILE, "an ender without its construct");
}

/* --- instructions --- */

static void lower_inst(PtxLower *g, const IrInst *i) {
  switch (i->op) {
  case IR_if: lower_if(g, i); return;
  case IR_loop: lower_loop(g, i); return;
  case IR_scope: lower_scope(g, i); return;
  case IR_call:
    if (!hdptx_is_approx(i)) break;
    hdptx_approx(g, i);
    return;
  case IR_index: hdptx_index(g, i); return;
  case IR_alloca: hdptx_alloca(g, i); return;
  case IR_shared: hdptx_shared(g, i); return;
  case IR_member: hdptx_member(g, i); return;
  case IR_elem: hdptx_elem(g, i); return;
  case IR_load: hdptx_load(g, i); return;
  case IR_store: hdptx_store(g, i); return;
  case IR_make: return; /* for a product of matrices, which looks through it */
  case IR_extract: hdptx_launch_inst(g, i); return;
  case IR_tex: hdptx_tex(g, i); return;
  case IR_ltid:
  case IR_gid:
  case IR_gdim: hdptx_group_id(g, i); return;
  default: break;
  }
  switch (hdir_ops[i->op].effect) {
  case FX_LAUNCH: hdptx_launch_inst(g, i); break;
  case FX_ATOMIC: hdptx_atomic(g, i); break;
  case FX_REPORT: hdptx_report(g, i); break;
  case FX_GROUP: hdptx_group(g, i); break;
  case FX_PURE: hdptx_pure(g, i); break;
  case FX_END: lower_ender(g, i); break;
  default: hdptx_fail(g, i, HD_ERR_COMPILE, "an operation that passes should have taken apart");
  }
}

void hdptx_region(PtxLower *g, const IrRegion *r) {
  for (const IrInst *i = r->first; i && g->live && g->status == HD_OK; i = i->next) lower_inst(g, i);
}
