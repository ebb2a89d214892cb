/* passes/groups.c -- cutting a kernel with groups at its barriers (groups.h).
 *
 * After pocl's work-item loops (Jaaskelainen et al., "pocl: A Performance-Portable OpenCL Implementation", IJPP 2015), on
 * regions: a barrier has no copy of its tail, since what stands around it is the group's own code.
 */
#include "passes/groups.h"

#include "passes/rebuild.h"

typedef struct Plan {
  OptGroups *g;
  Arena *a;
  HdError *err;
  uint32_t chunk; /* the one at hand */
} Plan;

/* `parted` is the `if` at which threads part, or NULL. */
static HdStatus refuse(const Plan *p, const IrInst *i, const IrInst *parted, const char *what) {
  const IrModule *m = p->g->fn->module;
  HdSpan at = {0};
  Buf b;
  if (i->loc.line && i->loc.file < m->nfiles)
    at = (HdSpan){m->files[i->loc.file], (int32_t)i->loc.line, (int32_t)i->loc.column};
  hdb_buf_init(&b, p->a);
  hdb_put(&b, "");
  if (parted) {
    hdb_put(&b, "; they part ");
    if (parted->loc.line) hdb_putf(&b, "at line %u ", parted->loc.line);
    hdb_put(&b, "by ");
    hdir_facts_explain(&b, p->g->facts, parted->args[0]);
  }
  return hdb_fail_at(p->err, HD_ERR_SOURCE, at, "kernel '%.60s': %s%.200s", p->g->fn->name, what, b.data);
}

/* --- which constructs does the group run as one? --- */

static bool is_group_op(const IrInst *i) { return hdir_ops[i->op].effect == FX_GROUP; }
static bool is_control(const IrInst *i) { return hdir_ops[i->op].effect == FX_CONTROL; }

/* The construct that `ender` leaves or repeats; NULL is the kernel. */
static const IrInst *target_of(const IrInst *ender) { return hdopt_target(ender->region, ender->op); }

static bool is_escape(const IrInst *i) { return hdir_is_ender(i->op) && i->op != IR_unreachable && i->op != IR_yield; }

/* The enders within `i` that lead out of it, one after the other; NULL at the end. Pass NULL to begin. */
static const IrInst *next_escape(const IrInst *i, const IrInst *at) {
  const IrInst *stop = i->next;
  for (at = hdir_inst_next(at ? at : i); at && at != stop; at = hdir_inst_next(at)) {
    if (!hdir_region_contains(i->sub[0], at->region) && !(i->nsubs > 1 && hdir_region_contains(i->sub[1], at->region)))
      return NULL;
    if (!is_escape(at)) continue;
    const IrInst *to = target_of(at);
    if (!to) return at;
    if (to != i && !hdir_region_contains(i->sub[0], to->region) &&
        !(i->nsubs > 1 && hdir_region_contains(i->sub[1], to->region)))
      return at;
  }
  return NULL;
}

static HdStatus find_group_ops(Plan *p) {
  OptGroups *g = p->g;
  for (const IrInst *i = g->fn->body->first; i; i = hdir_inst_next(i)) {
    if (!is_group_op(i)) continue;
    if (g->facts->masked[i->id]) {
      for (const IrInst *c = i->region->parent; c; c = c->region->parent)
        if (c->op == IR_if && g->facts->divergent[c->id])
          return refuse(p, i, c, "only some threads of the group may come to this place");
      return refuse(p, i, NULL, "only some threads of the group may come to this place: others have left before");
    }
    for (const IrInst *c = i->region->parent; c; c = c->region->parent) {
      g->by_group[c->id] = true;
      g->in_loop[i->id] |= c->op == IR_loop;
    }
  }
  return HD_OK;
}

/* All threads leave i for places beyond together, if they do at all. */
static bool leaves_together(const OptGroups *g, const IrInst *i) {
  const IrInst *e = next_escape(i, NULL);
  if (!e) return false;
  for (; e; e = next_escape(i, e))
    if (g->facts->masked[e->id]) return false;
  return true;
}

/* A construct that all threads leave together, for an end that the group runs as one, is the group's too. */
static void find_exits(const OptGroups *g) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (const IrInst *i = g->fn->body->first; i; i = hdir_inst_next(i)) {
      if (!is_control(i) || g->by_group[i->id] || g->facts->divergent[i->id]) continue;
      if (i->region->parent && !g->by_group[i->region->parent->id]) continue;
      if (leaves_together(g, i)) g->by_group[i->id] = changed = true;
    }
  }
}

/* --- shared memory --- */

enum {
  SHARED_MOST = 227 << 10
}; /* what a block has at the most, on the GPUs with the most; others are the backend's to refuse */

static HdStatus check_shared(const Plan *p) {
  uint64_t size = 0;
  for (const IrInst *i = p->g->fn->body->first; i; i = hdir_inst_next(i)) {
    if (i->op != IR_shared) continue;
    size += (i->res[0]->type->elem->size + 15) & ~(uint64_t)15;
    if (size > SHARED_MOST)
      return refuse(p, i, NULL, "with this a group shares more than the 227 KiB that the largest GPUs have for one");
  }
  return HD_OK;
}

/* --- the cuts --- */

enum { FEW_AGAIN = 4 };

static bool is_address(IrOp op) { return op == IR_index || op == IR_member || op == IR_elem; }

/* Operations to compute v from what every chunk has; more than FEW_AGAIN if it cannot be, or is not worth it. */
static uint32_t again_cost(const OptGroups *g, const IrValue *v) {
  if (hdir_is_const(v) || g->chunk[v->id] == OPT_FOR_GROUP) return 0;
  if (!v->def) return 99;
  IrEffect fx = hdir_ops[v->def->op].effect;
  if (fx == FX_LAUNCH || v->def->op == IR_shared) return 0;
  if (fx != FX_PURE) return 99;
  uint32_t n = 1;
  for (uint32_t k = 0; k < v->def->nargs && n <= FEW_AGAIN; k++) n += again_cost(g, v->def->args[k]);
  return n;
}

bool hdopt_groups_again(const OptGroups *g, const IrValue *v) {
  if (!v->def) return false;
  if (is_address(v->def->op) || v->def->op == IR_alloca || v->def->op == IR_make) return true;
  return again_cost(g, v) <= FEW_AGAIN;
}

static bool group_has(const OptGroups *g, const IrValue *v) {
  return hdir_is_const(v) || g->chunk[v->id] == OPT_FOR_GROUP;
}

/* Computed by the group itself: pure, uniform, of what it has. */
static bool is_groups(const OptGroups *g, const IrInst *i) {
  IrEffect fx = hdir_ops[i->op].effect;
  if (i->nres != 1 || is_address(i->op) || !hdopt_groups_uniform(g, i->res[0])) return false;
  if (fx != FX_PURE && fx != FX_LAUNCH) return false;
  for (uint32_t k = 0; k < i->nargs; k++)
    if (!group_has(g, i->args[k])) return false;
  return true;
}

/* The chunk at hand uses v. */
static void use(Plan *p, const IrValue *v) {
  OptGroups *g = p->g;
  if (group_has(g, v) || (g->chunk[v->id] == p->chunk && p->chunk)) return;
  if (hdopt_groups_again(g, v)) {
    for (uint32_t k = 0; v->def && k < v->def->nargs; k++) use(p, v->def->args[k]);
    if (v->def && v->def->op == IR_alloca) g->kept[v->id] = true;
  } else if (hdopt_groups_uniform(g, v) && g->chunk[v->id]) {
    g->told[v->id] = true;
  } else {
    g->kept[v->id] = true;
  }
}

/* The group itself needs v, which is uniform. */
static void need(Plan *p, const IrValue *v) {
  if (!group_has(p->g, v)) p->g->told[v->id] = true;
}

/* Values go to results or carried values: of the group, or of each thread. */
static void pass_on(Plan *p, uint32_t n, IrValue *const from[], IrValue *const to[]) {
  for (uint32_t k = 0; k < n; k++) {
    if (hdopt_groups_uniform(p->g, to[k]))
      need(p, from[k]);
    else
      use(p, from[k]);
  }
}

/* Results or carried values of what the group runs as one. */
static void set_chunk(const OptGroups *g, uint32_t n, IrValue *const v[]) {
  for (uint32_t k = 0; k < n; k++) g->chunk[v[k]->id] = hdopt_groups_uniform(g, v[k]) ? OPT_FOR_GROUP : 0;
}

static void in_chunk(const Plan *p, const IrInst *i) {
  for (uint32_t k = 0; k < i->nres; k++) p->g->chunk[i->res[k]->id] = p->chunk;
  for (uint32_t s = 0; s < i->nsubs; s++) {
    for (uint32_t k = 0; k < i->sub[s]->nparams; k++) p->g->chunk[i->sub[s]->params[k]->id] = p->chunk;
    for (const IrInst *j = i->sub[s]->first; j; j = j->next) in_chunk(p, j);
  }
}

static void use_all(Plan *p, const IrInst *i) {
  for (uint32_t k = 0; k < i->nargs; k++) use(p, i->args[k]);
  for (uint32_t s = 0; s < i->nsubs; s++)
    for (const IrInst *j = i->sub[s]->first; j; j = j->next) use_all(p, j);
}

static HdStatus plan_region(Plan *p, const IrRegion *r);

static HdStatus plan_construct(Plan *p, const IrInst *i) {
  OptGroups *g = p->g;
  if (i->op == IR_if) need(p, i->args[0]);
  if (i->op == IR_loop) {
    set_chunk(g, i->sub[0]->nparams, i->sub[0]->params);
    pass_on(p, i->nargs, i->args, i->sub[0]->params);
  }
  for (uint32_t s = 0; s < i->nsubs; s++) {
    p->chunk++;
    HD_TRY(plan_region(p, i->sub[s]));
  }
  set_chunk(g, i->nres, i->res);
  p->chunk++;
  return HD_OK;
}

/* What comes from other threads stands in memory of the group, and is loaded behind the cut. */
static void plan_group_op(Plan *p, const IrInst *i) {
  for (uint32_t k = 0; k < i->nargs; k++)
    if (i->op != IR_shuffle || k == 0) use(p, i->args[k]);
  p->chunk++;
  if (i->op == IR_shuffle) use(p, i->args[1]);
  for (uint32_t k = 0; k < i->nres; k++) p->g->chunk[i->res[k]->id] = p->chunk;
  if (i->nres && p->g->in_loop[i->id]) p->chunk++;
}

/* Threads leave the construct of region r, or repeat it, from within i and at different places. */
static bool has_parting(const OptGroups *g, const IrInst *i) {
  return is_control(i) && !g->by_group[i->id] && next_escape(i, NULL);
}

/* A result of the tail passes through memory. */
static void out_of_tail(const OptGroups *g, const IrValue *v) {
  if (hdopt_groups_uniform(g, v)) g->told[v->id] = true;
}

/* The rest of r from i on, with results of its construct: all ways out of it lead to that construct's end, all to its next
 * round, or all to the kernel's end. */
static HdStatus plan_tail(Plan *p, const IrInst *i) {
  OptGroups *g = p->g;
  const IrInst *owner = i->region->parent;
  IrOp way = !owner ? IR_return : owner->op == IR_loop ? IR_continue : IR_leave;
  g->tail[i->id] = true;
  p->chunk++;
  for (const IrInst *at = i; at; at = at->next) {
    bool last = !at->next;
    if (last && is_escape(at) && (at->op == way && target_of(at) == owner)) continue;
    if (last && (at->op == IR_unreachable || (at->op == IR_yield && way == IR_leave))) continue;
    if (last)
      return refuse(p, at, NULL,
                    "threads of a group part before the end of what holds a barrier, and leave it in two ways");
    for (const IrInst *e = is_control(at) ? next_escape(at, NULL) : NULL; e; e = next_escape(at, e)) {
      const IrInst *c = e->region->parent;
      while (c != owner && c->op != IR_scope) c = c->region->parent;
      if (e->op != way || target_of(e) != owner || (c != owner && way != IR_return))
        return refuse(p, e, NULL,
                      "only some threads of a group leave here what holds a barrier; leave it together, or put what "
                      "follows into an if");
    }
  }
  for (uint32_t k = 0; owner && k < owner->nres && way == IR_leave; k++) out_of_tail(g, owner->res[k]);
  for (uint32_t k = 0; way == IR_continue && k < owner->sub[0]->nparams; k++) out_of_tail(g, owner->sub[0]->params[k]);
  for (const IrInst *at = i; at; at = at->next) in_chunk(p, at);
  for (const IrInst *at = i; at; at = at->next) use_all(p, at);
  return HD_OK;
}

static HdStatus plan_ender(Plan *p, const IrInst *i) {
  const IrInst *to = target_of(i);
  if (!to || i->op == IR_unreachable) return HD_OK;
  if (i->op == IR_continue)
    pass_on(p, i->nargs, i->args, to->sub[0]->params);
  else
    pass_on(p, i->nargs, i->args, to->res);
  return HD_OK;
}

static HdStatus plan_region(Plan *p, const IrRegion *r) {
  OptGroups *g = p->g;
  for (const IrInst *i = r->first; i; i = i->next) {
    if (hdir_is_ender(i->op)) return plan_ender(p, i);
    if (is_group_op(i)) {
      plan_group_op(p, i);
    } else if (is_control(i) && g->by_group[i->id]) {
      HD_TRY(plan_construct(p, i));
    } else if (has_parting(g, i)) {
      return plan_tail(p, i);
    } else if (i->op == IR_shared || is_groups(g, i)) {
      g->chunk[i->res[0]->id] = OPT_FOR_GROUP;
    } else {
      in_chunk(p, i);
      use_all(p, i);
    }
  }
  return HD_OK;
}

HdStatus hdopt_groups(const IrFunc *fn, Arena *a, HdError *err, OptGroups *out) {
  int32_t rank = fn->rank > 0 ? fn->rank : 1;
  OptGroups *g = out;
  *g = (OptGroups){.fn = fn, .facts = hdir_facts(fn, rank - 1, IR_NEIGHBOURS, a)};
  g->by_group = HDB_NEW_N(a, bool, fn->ninsts + 1);
  g->tail = HDB_NEW_N(a, bool, fn->ninsts + 1);
  g->in_loop = HDB_NEW_N(a, bool, fn->ninsts + 1);
  g->chunk = HDB_NEW_N(a, uint32_t, fn->nvalues + 1);
  g->kept = HDB_NEW_N(a, bool, fn->nvalues + 1);
  g->told = HDB_NEW_N(a, bool, fn->nvalues + 1);
  for (uint32_t k = 0; k < fn->body->nparams; k++) g->chunk[fn->body->params[k]->id] = OPT_FOR_GROUP;
  Plan p = {g, a, err, 1};
  HD_TRY(check_shared(&p));
  HD_TRY(find_group_ops(&p));
  find_exits(g);
  return plan_region(&p, fn->body);
}
