/* passes/split.c -- a kernel with groups becomes code that runs once for each group, around code for its threads.
 *
 * Between two cuts (groups.h) stands a region of `threads`. What one such region computes and another needs lies in
 * shared memory: a row with a place for each thread, or one place if all have the same value. A cheap value is computed
 * again instead. What a thread gets from others (shuffle, ballot) passes through rows, too.
 *
 * needs   a kernel without calls (inline), composites as scalars (scalarise)
 * keeps   every result bit; a kernel without groups as it is
 * breaks  barrier, shuffle and ballot are gone
 * cost    linear in the code and in the values kept
 */
#include "ir/build.h"
#include "passes/groups.h"
#include "passes/passes.h"
#include "passes/rebuild.h"

typedef struct Keep { /* at the end of a chunk: an old value, and the memory it goes to */
  IrValue *slot, *value;
} Keep;

typedef struct Split {
  OptGroups g;
  IrFunc *fn;
  Arena *a;
  IrBuilder b;
  IrValue **group;      /* by old value id: what the group has                                             */
  IrValue **map;        /* the same, and what the chunk at hand has                                        */
  IrValue **slot;       /* by old value id: a row for kept values and allocas, one place for told ones     */
  IrValue **row;        /* by old instruction id: of a shuffle's or ballot's operand                       */
  IrValue **ballots;    /* by old instruction id: the results, one for 32 threads                          */
  uint32_t nold;        /* values of the old code */
  bool *own;            /* by old value id: the chunk at hand computes it                                  */
  const IrInst **chunk; /* what waits to become one */
  uint32_t nchunk, cap_chunk;
  Keep *keep;
  uint32_t nkeep, cap_keep;
} Split;

/* --- memory --- */

static IrTypes *types(const Split *s) { return &s->fn->module->types; }
static const IrType *i32(const Split *s) { return hdir_scalar(types(s), IR_I32); }
static IrValue *int_const(const Split *s, int64_t x) { return hdir_const_int(s->fn, i32(s), x); }

static IrValue *new_row(Split *s, const IrType *t, uint32_t n) {
  return hdir_shared(&s->b, hdir_fixed(types(s), t, n));
}

/* This thread's place in a row. */
static IrValue *mine(Split *s, IrValue *row) { return hdir_elem(&s->b, row, hdir_ltid(&s->b)); }

/* A composite, which only C functions give and take, lies in memory scalar by scalar. */
static void put(Split *s, IrValue *p, IrValue *v) {
  if (!hdir_is_composite(v->type)) {
    hdir_store(&s->b, p, v);
    return;
  }
  for (uint32_t k = 0; k < v->type->nparts; k++) put(s, hdir_member(&s->b, p, k), hdir_extract(&s->b, v, k));
}

static IrValue *get(Split *s, IrValue *p) {
  const IrType *t = p->type->elem;
  if (!hdir_is_composite(t)) return hdir_load(&s->b, p);
  IrValue **part = HDB_NEW_N(s->a, IrValue *, t->nparts + 1);
  for (uint32_t k = 0; k < t->nparts; k++) part[k] = get(s, hdir_member(&s->b, p, k));
  return hdir_make(&s->b, t, part);
}

static void make_slot(Split *s, const IrValue *v) {
  uint32_t n = (uint32_t)s->fn->group;
  if (v->def && v->def->op == IR_alloca)
    s->slot[v->id] = s->g.kept[v->id] ? new_row(s, v->type->elem, n) : NULL;
  else if (s->g.kept[v->id])
    s->slot[v->id] = new_row(s, v->type, n);
  else if (s->g.told[v->id])
    s->slot[v->id] = hdir_shared(&s->b, v->type);
}

static void make_slots(Split *s, const IrInst *i) {
  uint32_t n = (uint32_t)s->fn->group;
  for (uint32_t k = 0; k < i->nres; k++) make_slot(s, i->res[k]);
  for (uint32_t r = 0; r < i->nsubs; r++) {
    for (uint32_t k = 0; k < i->sub[r]->nparams; k++) make_slot(s, i->sub[r]->params[k]);
    for (const IrInst *j = i->sub[r]->first; j; j = j->next) make_slots(s, j);
  }
  if (i->op == IR_shuffle || i->op == IR_ballot) s->row[i->id] = new_row(s, i->args[0]->type, n);
  if (i->op == IR_ballot) s->ballots[i->id] = new_row(s, i->res[0]->type, n / IR_NEIGHBOURS);
}

/* for (k = 0; k < n; k++) body: opens the loop and gives k. */
static IrValue *count_begin(Split *s, uint32_t n, IrInst **loop) {
  *loop = hdir_loop_begin(&s->b, 1, (IrValue *[]){int_const(s, 0)}, 0, NULL);
  IrValue *k = (*loop)->sub[0]->params[0];
  IrInst *more = hdir_if_begin(&s->b, hdir_bin(&s->b, IR_ge, k, int_const(s, n)), 0, NULL);
  hdir_ender(&s->b, IR_break, 0, NULL);
  hdir_end(&s->b, more);
  return k;
}

static void count_end(Split *s, IrInst *loop) {
  IrValue *next = hdir_bin(&s->b, IR_add, loop->sub[0]->params[0], int_const(s, 1));
  hdir_ender(&s->b, IR_continue, 1, &next);
  hdir_end(&s->b, loop);
}

/* An object is zero each time that its alloca is reached. */
static void clear(Split *s, IrValue *p) {
  const IrType *t = p->type->elem;
  IrInst *loop;
  if (!hdir_is_composite(t)) {
    hdir_store(&s->b, p, hdir_zero(&s->b, t));
  } else if (t->kind == IR_FIXED || t->kind == IR_VEC || t->kind == IR_MAT) {
    IrValue *k = count_begin(s, t->nparts, &loop);
    clear(s, hdir_elem(&s->b, p, k));
    count_end(s, loop);
  } else {
    for (uint32_t k = 0; k < t->nparts; k++) clear(s, hdir_member(&s->b, p, k));
  }
}

/* --- a chunk --- */

static void set_own(const Split *s, const IrInst *i) {
  for (uint32_t k = 0; k < i->nres; k++) s->own[i->res[k]->id] = true;
  for (uint32_t r = 0; r < i->nsubs; r++) {
    for (uint32_t k = 0; k < i->sub[r]->nparams; k++) s->own[i->sub[r]->params[k]->id] = true;
    for (const IrInst *j = i->sub[r]->first; j; j = j->next) set_own(s, j);
  }
}

/* What an old value is in the chunk at hand, if the chunk does not compute it. */
static void fetch(Split *s, IrValue *v) {
  if (hdir_is_const(v) || s->map[v->id] || s->own[v->id]) return;
  if (!hdopt_groups_again(&s->g, v)) {
    s->map[v->id] = get(s, mine(s, s->slot[v->id]));
  } else if (v->def->op == IR_alloca) {
    s->map[v->id] = mine(s, s->slot[v->id]);
  } else {
    for (uint32_t k = 0; k < v->def->nargs; k++) fetch(s, v->def->args[k]);
    hdir_clone_inst(&s->b, v->def, s->map);
  }
}

static void fetch_for(Split *s, const IrInst *i) {
  bool from_others = i->op == IR_shuffle || i->op == IR_ballot;
  for (uint32_t k = 0; k < i->nargs; k++)
    if (!from_others || (k == 1 && i->op == IR_shuffle)) fetch(s, i->args[k]);
  for (uint32_t r = 0; r < i->nsubs; r++)
    for (const IrInst *j = i->sub[r]->first; j; j = j->next) fetch_for(s, j);
}

static void chunk_begin(Split *s, const IrInst *const *list, uint32_t n) {
  hdir_threads_begin(&s->b);
  memcpy(s->map, s->group, sizeof *s->map * s->nold);
  memset(s->own, 0, s->nold);
  for (uint32_t k = 0; k < n; k++) set_own(s, list[k]);
  for (uint32_t k = 0; k < n; k++) fetch_for(s, list[k]);
  for (uint32_t k = 0; k < s->nkeep; k++) fetch(s, s->keep[k].value);
}

/* What one thread gets of the others, behind the cut. */
static IrValue *from_others(Split *s, const IrInst *i) {
  IrBuilder *b = &s->b;
  IrValue *me = hdir_ltid(b);
  if (i->op == IR_ballot) {
    IrValue *at = hdir_bin(b, IR_shr, me, int_const(s, 5));
    return hdir_load(b, hdir_elem(b, s->ballots[i->id], at));
  }
  IrValue *lane = hdir_cvt(b, i32(s), hdir_is_const(i->args[1]) ? i->args[1] : s->map[i->args[1]->id]);
  IrValue *first = hdir_bin(b, IR_and, me, int_const(s, -IR_NEIGHBOURS));
  IrValue *at = hdir_bin(b, IR_or, first, hdir_bin(b, IR_and, lane, int_const(s, IR_NEIGHBOURS - 1)));
  return hdir_load(b, hdir_elem(b, s->row[i->id], at));
}

static IrValue *now(const Split *s, IrValue *v) { return hdir_is_const(v) ? v : s->map[v->id]; }

static void keep(Split *s, const IrValue *old, IrValue *v) {
  if (s->g.kept[old->id])
    put(s, mine(s, s->slot[old->id]), v);
  else if (s->g.told[old->id])
    put(s, s->slot[old->id], v);
}

static void emit_in_chunk(Split *s, const IrInst *i) {
  s->b.loc = i->loc;
  if (i->op == IR_shuffle || i->op == IR_ballot) {
    s->map[i->res[0]->id] = from_others(s, i);
  } else if (i->op == IR_alloca && s->g.kept[i->res[0]->id]) {
    s->map[i->res[0]->id] = mine(s, s->slot[i->res[0]->id]);
    clear(s, s->map[i->res[0]->id]);
    return;
  } else {
    hdir_clone_inst(&s->b, i, s->map);
  }
  for (uint32_t k = 0; k < i->nres; k++) keep(s, i->res[k], s->map[i->res[k]->id]);
}

/* What a chunk has told, the group loads once. */
static void hear(Split *s, const IrInst *i) {
  for (uint32_t k = 0; k < i->nres; k++) {
    const IrValue *v = i->res[k];
    if (s->g.told[v->id] && !s->g.kept[v->id]) s->group[v->id] = get(s, s->slot[v->id]);
  }
}

static void chunk_end(Split *s) {
  IrInst *threads = s->b.at->parent;
  hdir_ender(&s->b, IR_yield, 0, NULL);
  hdir_end(&s->b, threads);
}

static void flush(Split *s) {
  if (!s->nchunk && !s->nkeep) return;
  chunk_begin(s, s->chunk, s->nchunk);
  for (uint32_t k = 0; k < s->nchunk; k++) emit_in_chunk(s, s->chunk[k]);
  for (uint32_t k = 0; k < s->nkeep; k++) put(s, mine(s, s->keep[k].slot), now(s, s->keep[k].value));
  chunk_end(s);
  for (uint32_t k = 0; k < s->nchunk; k++) hear(s, s->chunk[k]);
  s->nchunk = s->nkeep = 0;
}

static void keep_later(Split *s, IrValue *slot, IrValue *v) {
  HDB_PUSH(s->a, s->keep, s->nkeep, s->cap_keep, ((Keep){slot, v}));
}

/* --- what the group runs --- */

static bool of_group(const Split *s, const IrValue *v) { return hdopt_groups_uniform(&s->g, v); }

static IrValue *groups(const Split *s, IrValue *v) { return hdir_is_const(v) ? v : s->group[v->id]; }

/* Values on their way to results or carried values: each thread's go to memory, with the chunk at hand; the group's are
 * returned, after it. */
static uint32_t pass_on(Split *s, uint32_t n, IrValue *const from[], IrValue *const to[], IrValue ***out) {
  uint32_t m = 0;
  *out = HDB_NEW_N(s->a, IrValue *, n + 1);
  for (uint32_t k = 0; k < n; k++)
    if (!of_group(s, to[k]) && s->g.kept[to[k]->id]) keep_later(s, s->slot[to[k]->id], from[k]);
  flush(s);
  for (uint32_t k = 0; k < n; k++)
    if (of_group(s, to[k])) (*out)[m++] = groups(s, from[k]);
  return m;
}

static void bind(Split *s, uint32_t n, IrValue *const old[], IrValue *const v[]) {
  for (uint32_t k = 0; k < n; k++)
    if (of_group(s, old[k])) s->group[old[k]->id] = *v++;
}

static void region(Split *s, const IrRegion *r);

static void construct(Split *s, const IrInst *i) {
  const IrType **res = HDB_NEW_N(s->a, const IrType *, i->nres + 1);
  IrValue **init = NULL;
  uint32_t nres = 0, n = 0;
  IrInst *copy;
  for (uint32_t k = 0; k < i->nres; k++)
    if (of_group(s, i->res[k])) res[nres++] = i->res[k]->type;
  if (i->op == IR_loop) n = pass_on(s, i->nargs, i->args, i->sub[0]->params, &init);
  flush(s);
  s->b.loc = i->loc;
  switch (i->op) {
  case IR_if: copy = hdir_if_begin(&s->b, groups(s, i->args[0]), nres, res); break;
  case IR_loop:
    copy = hdir_loop_begin(&s->b, n, init, nres, res);
    bind(s, i->sub[0]->nparams, i->sub[0]->params, copy->sub[0]->params);
    break;
  default: copy = hdir_scope_begin(&s->b, nres, res);
  }
  region(s, i->sub[0]);
  if (i->op == IR_if) {
    hdir_if_else(&s->b, copy);
    region(s, i->sub[1]);
  }
  hdir_end(&s->b, copy);
  bind(s, i->nres, i->res, copy->res);
}

/* One bit for each of 32 neighbours. */
static void gather_bits(Split *s, const IrInst *i) {
  IrBuilder *b = &s->b;
  const IrType *u32 = hdir_scalar(types(s), IR_U32);
  IrInst *loop, *bits;
  IrValue *word = count_begin(s, (uint32_t)s->fn->group / IR_NEIGHBOURS, &loop);
  IrValue *init[2] = {int_const(s, 0), hdir_const(s->fn, u32, 0)};
  bits = hdir_loop_begin(b, 2, init, 1, &u32);
  IrValue *k = bits->sub[0]->params[0], *sum = bits->sub[0]->params[1];
  IrInst *more = hdir_if_begin(b, hdir_bin(b, IR_ge, k, int_const(s, IR_NEIGHBOURS)), 0, NULL);
  hdir_ender(b, IR_break, 1, &sum);
  hdir_end(b, more);
  IrValue *at = hdir_bin(b, IR_add, hdir_bin(b, IR_shl, word, int_const(s, 5)), k);
  IrValue *bit = hdir_cvt(b, u32, hdir_load(b, hdir_elem(b, s->row[i->id], at)));
  IrValue *next[2] = {hdir_bin(b, IR_add, k, int_const(s, 1)),
                      hdir_bin(b, IR_or, sum, hdir_bin(b, IR_shl, bit, hdir_cvt(b, u32, k)))};
  hdir_ender(b, IR_continue, 2, next);
  hdir_end(b, bits);
  hdir_store(b, hdir_elem(b, s->ballots[i->id], word), bits->res[0]);
  count_end(s, loop);
}

static void group_op(Split *s, const IrInst *i) {
  if (i->nres) keep_later(s, s->row[i->id], i->args[0]);
  flush(s);
  if (i->op == IR_ballot) gather_bits(s, i);
  if (!i->nres) return;
  HDB_PUSH(s->a, s->chunk, s->nchunk, s->cap_chunk, i);
  if (s->g.in_loop[i->id]) flush(s);
}

static void ender(Split *s, const IrInst *i, IrOp op, const IrRegion *from) {
  const IrInst *to = hdopt_target(from, op);
  IrValue **v = NULL;
  uint32_t n = 0;
  if (to && op == IR_continue)
    n = pass_on(s, i->nargs, i->args, to->sub[0]->params, &v);
  else if (to && op != IR_unreachable)
    n = pass_on(s, i->nargs, i->args, to->res, &v);
  flush(s);
  s->b.loc = i->loc;
  hdir_ender(&s->b, op, n, v);
}

/* The rest of a region, out of which threads go to its end by themselves: in a scope of each thread. At the end of the kernel
 * a thread's return ends its turn. */
static void tail(Split *s, const IrInst *first) {
  const IrInst *owner = first->region->parent;
  bool round = owner && owner->op == IR_loop;
  IrValue *const *to = !owner ? NULL : round ? owner->sub[0]->params : owner->res;
  uint32_t n = !owner ? 0 : round ? owner->sub[0]->nparams : owner->nres, count = 0;
  const IrType **res = HDB_NEW_N(s->a, const IrType *, n + 1);
  IrValue **v = HDB_NEW_N(s->a, IrValue *, n + 1);
  flush(s);
  for (const IrInst *i = first; i; i = i->next) HDB_PUSH(s->a, s->chunk, s->nchunk, s->cap_chunk, i);
  for (uint32_t k = 0; k < n; k++) res[k] = to[k]->type;
  chunk_begin(s, s->chunk, s->nchunk);
  IrInst *threads = s->b.at->parent, *scope = owner ? hdir_scope_begin(&s->b, n, res) : NULL;
  for (uint32_t k = 0; k < s->nchunk && !hdir_ended(&s->b); k++) hdir_clone_inst(&s->b, s->chunk[k], s->map);
  if (scope) hdir_end(&s->b, scope);
  for (uint32_t k = 0; k < n; k++) keep(s, to[k], scope->res[k]);
  if (scope) hdir_ender(&s->b, IR_yield, 0, NULL);
  hdir_end(&s->b, threads);
  s->nchunk = s->nkeep = 0;
  for (uint32_t k = 0; k < n; k++)
    if (of_group(s, to[k])) v[count++] = get(s, s->slot[to[k]->id]);
  hdir_ender(&s->b, !owner ? IR_return : round ? IR_continue : IR_yield, count, v);
}

static void region(Split *s, const IrRegion *r) {
  for (const IrInst *i = r->first; i && !hdir_ended(&s->b); i = i->next) {
    if (hdir_is_ender(i->op)) {
      ender(s, i, i->op, r);
    } else if (hdir_ops[i->op].effect == FX_GROUP) {
      group_op(s, i);
    } else if (s->g.by_group[i->id]) {
      construct(s, i);
    } else if (s->g.tail[i->id]) {
      tail(s, i);
    } else if (i->nres && s->g.chunk[i->res[0]->id] == OPT_FOR_GROUP) {
      s->b.loc = i->loc;
      hdir_clone_inst(&s->b, i, s->group);
    } else {
      HDB_PUSH(s->a, s->chunk, s->nchunk, s->cap_chunk, i);
    }
  }
}

/* In a tail, the ways out of the loop's round or of the scope become ways out of the tail's own scope. */
static void turn_exits(const OptGroups *g, IrFunc *fn) {
  for (IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) {
    if (!g->tail[i->id]) continue;
    const IrInst *owner = i->region->parent;
    for (IrInst *j = i; j; j = hdir_inst_next(j)) {
      if (!hdir_region_contains(i->region, j->region)) break;
      if (j->region == i->region && hdir_is_ender(j->op)) {
        if (j->op != IR_unreachable) j->op = IR_yield;
        break;
      }
      bool out = hdir_is_ender(j->op) && j->op != IR_yield && hdopt_target(j->region, j->op) == owner;
      if (out && j->op == IR_continue) j->op = IR_leave;
    }
  }
}

bool hdopt_split(IrFunc *fn, OptContext *cx) {
  Split s = {.fn = fn, .a = cx->scratch, .nold = fn->nvalues};
  if (!fn->group) return false;
  cx->status = hdopt_groups(fn, cx->scratch, cx->err, &s.g);
  if (cx->status != HD_OK) return false;
  s.group = HDB_NEW_N(s.a, IrValue *, s.nold + 1);
  s.map = HDB_NEW_N(s.a, IrValue *, s.nold + 1);
  s.slot = HDB_NEW_N(s.a, IrValue *, s.nold + 1);
  s.own = HDB_NEW_N(s.a, bool, s.nold + 1);
  s.row = HDB_NEW_N(s.a, IrValue *, fn->ninsts + 1);
  s.ballots = HDB_NEW_N(s.a, IrValue *, fn->ninsts + 1);
  turn_exits(&s.g, fn);
  IrRegion old = *fn->body;
  fn->body->first = fn->body->last = NULL;
  for (uint32_t k = 0; k < old.nparams; k++) s.group[old.params[k]->id] = old.params[k];
  hdir_build_begin(&s.b, fn);
  s.b.no_laws = true; /* what legalise made stays as it is */
  for (const IrInst *i = old.first; i; i = i->next) make_slots(&s, i);
  region(&s, &old);
  return true;
}
