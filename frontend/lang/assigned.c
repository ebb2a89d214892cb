/* frontend/lang/assigned.c -- which variables a statement may assign: those are what its regions carry out.
 *
 * Names are looked up as the statement would: a variable that it declares itself hides the outer one. A call counts as
 * assigning each argument for which some function of that name and number of parameters has ref.
 */
#include "frontend/lang/lower.h"

typedef struct Scan {
  FeLower *L;
  FeVars *out;
  const char **hidden; /* declared on the way, innermost last */
  uint32_t n, cap;
} Scan;

static void scan_stmt(Scan *x, const FeStmt *s);
static void scan_expr(Scan *x, const FeExpr *e);

static void hide(Scan *x, const char *name) { HDB_PUSH(x->L->fe->arena, x->hidden, x->n, x->cap, name); }

/* The variable at the root of v.x[i].y */
static void mark_root(Scan *x, const FeExpr *e) {
  while (e->kind == FE_FIELD || e->kind == FE_INDEX) e = e->a;
  if (e->kind != FE_NAME) return;
  for (uint32_t i = 0; i < x->n; i++)
    if (x->hidden[i] == e->name) return;
  FeVar *v = hdfe_find_var(x->L, e->name);
  if (!v || v->kind != FE_VAR_VALUE || v->locked) return;
  for (uint32_t i = 0; i < x->out->n; i++)
    if (x->out->list[i] == v) return;
  HDB_PUSH(x->L->fe->arena, x->out->list, x->out->n, x->out->cap, v);
}

static void scan_expr(Scan *x, const FeExpr *e) {
  if (!e) return;
  scan_expr(x, e->a);
  scan_expr(x, e->b);
  scan_expr(x, e->c);
  for (uint32_t i = 0; i < e->nargs; i++) {
    const FeExpr *arg = e->args[i];
    scan_expr(x, arg);
    bool place = arg->kind == FE_NAME || arg->kind == FE_FIELD || arg->kind == FE_INDEX;
    if (e->kind == FE_CALL && place && hdfe_calls_with_ref(x->L, e, i)) mark_root(x, arg);
  }
}

static void scan_scoped(Scan *x, const FeStmt *s) {
  uint32_t n = x->n;
  scan_stmt(x, s);
  x->n = n;
}

static void scan_stmt(Scan *x, const FeStmt *s) {
  if (!s) return;
  uint32_t n = x->n;
  switch (s->kind) {
  case FE_DECL:
    scan_expr(x, s->a);
    if (s->name) hide(x, s->name);
    return; /* hidden until the end of the block around it */
  case FE_ASSIGN:
  case FE_STEP:
    scan_expr(x, s->a);
    scan_expr(x, s->b);
    mark_root(x, s->a);
    return;
  case FE_BLOCK:
    for (uint32_t i = 0; i < s->nlist; i++) scan_stmt(x, s->list[i]);
    break;
  case FE_FOR:
    scan_stmt(x, s->init);
    scan_expr(x, s->a);
    for (uint32_t i = 0; i < s->nlist; i++) scan_stmt(x, s->list[i]);
    scan_scoped(x, s->body);
    break;
  case FE_RANGE:
  case FE_STATIC_FOR:
    scan_expr(x, s->a);
    scan_expr(x, s->b);
    if (s->name) hide(x, s->name);
    scan_scoped(x, s->body);
    break;
  default:
    scan_expr(x, s->a);
    scan_scoped(x, s->body);
    scan_scoped(x, s->other);
    break;
  }
  x->n = n;
}

void hdfe_assigned_stmt(FeLower *L, const FeStmt *s, FeVars *out) {
  Scan x = {.L = L, .out = out};
  scan_stmt(&x, s);
}

void hdfe_assigned_expr(FeLower *L, const FeExpr *e, FeVars *out) {
  Scan x = {.L = L, .out = out};
  scan_expr(&x, e);
}
