/* passes/gvn.c -- equal pure computations become one, calls of pure C functions among them.
 *
 * A walk in order with one table: an entry holds while its instruction is visible, which in a region tree is the same
 * as that it dominates. Entries of a region go when it is left. tid, dim and length count as pure. Carried values with
 * the same start and the same continues are equal too, and the later one goes.
 *
 * needs   nothing        keeps   every result bit, the place of what stays
 * breaks  nothing        cost    linear
 */
#include "passes/live.h"
#include "passes/passes.h"
#include "passes/rebuild.h"

enum { MAX_CARRIED = 32 }; /* carried values of one loop that are compared with each other */

typedef struct Entry {
  struct Entry *next; /* in the bucket */
  IrInst *inst;
  uint32_t hash;
} Entry;

typedef struct Numbering {
  Arena *scratch;
  IrValue **map; /* by value id: what stands for it now */
  Entry **buckets;
  uint32_t mask;
  Entry **entered; /* in order, to be taken out again */
  uint32_t nentered, cap_entered;
  OptLive live;
  bool changed;
} Numbering;

static IrValue *find(const Numbering *nb, IrValue *v) {
  IrValue *now = hdir_is_const(v) ? NULL : nb->map[v->id];
  return now ? now : v;
}

/* --- the table --- */

static uint32_t mix(uint32_t h, uint64_t x) { return (uint32_t)(((h ^ x) * 0x9e3779b97f4a7c15u) >> 29); }

static bool commutes(const IrInst *i) { return hdir_ops[i->op].laws & COMM; }

static uint32_t hash_inst(const IrInst *i) {
  uint32_t h = mix(mix(i->op, i->res[0]->type->id), (uint64_t)i->imm);
  if (commutes(i)) return mix(h, (uint64_t)i->args[0]->id + i->args[1]->id);
  for (uint32_t k = 0; k < i->nargs; k++) h = mix(h, i->args[k]->id);
  return h;
}

static bool same_inst(const IrInst *a, const IrInst *b) {
  if (a->op != b->op || a->imm != b->imm || a->nargs != b->nargs || a->res[0]->type != b->res[0]->type) return false;
  if (a->callee != b->callee) return false;
  if (a->nargs == 0 || !memcmp(a->args, b->args, sizeof *a->args * a->nargs)) return true;
  return commutes(a) && a->args[0] == b->args[1] && a->args[1] == b->args[0];
}

/* The instruction that stands for i: itself if it is the first of its kind. */
static IrInst *enter(Numbering *nb, IrInst *i) {
  const uint32_t h = hash_inst(i);
  Entry **bucket = &nb->buckets[h & nb->mask];
  for (Entry *e = *bucket; e; e = e->next) {
    if (e->hash == h && same_inst(e->inst, i)) return e->inst;
  }
  Entry *e = HDB_NEW(nb->scratch, Entry);
  *e = (Entry){*bucket, i, h};
  *bucket = e;
  HDB_PUSH(nb->scratch, nb->entered, nb->nentered, nb->cap_entered, e);
  return i;
}

static void leave_region(Numbering *nb, uint32_t mark) {
  while (nb->nentered > mark) {
    const Entry *e = nb->entered[--nb->nentered];
    nb->buckets[e->hash & nb->mask] = e->next; /* newest first, so it is at the front */
  }
}

/* --- carried values --- */

static bool always_equal(const Numbering *nb, const IrInst *loop, uint32_t j, uint32_t k) {
  IrValue *const *p = loop->sub[0]->params;
  if (p[j]->type != p[k]->type || find(nb, loop->args[j]) != find(nb, loop->args[k])) return false;
  for (const OptEnder *e = nb->live.repeats[loop->id]; e; e = e->next) {
    const IrValue *a = e->inst->args[j], *b = e->inst->args[k];
    if (a == b || (a == p[j] && b == p[k])) continue;
    /* One step deep, assuming what is to be shown: i + 1 and j + 1. */
    const IrInst *x = a->def, *y = b->def;
    if (!x || !y || x->op != y->op || hdir_ops[x->op].effect != FX_PURE || x->imm != y->imm) return false;
    if (x->nargs != y->nargs || a->type != b->type) return false;
    for (uint32_t n = 0; n < x->nargs; n++) {
      if (x->args[n] != y->args[n] && !(x->args[n] == p[j] && y->args[n] == p[k])) return false;
    }
  }
  return true;
}

static void merge_carried(Numbering *nb, const IrInst *loop) {
  const IrRegion *body = loop->sub[0];
  for (uint32_t k = 1; k < body->nparams && k < MAX_CARRIED; k++) {
    for (uint32_t j = 0; j < k; j++) {
      if (nb->map[body->params[j]->id] || !always_equal(nb, loop, j, k)) continue;
      nb->map[body->params[k]->id] = body->params[j];
      break;
    }
  }
}

/* --- the walk --- */

static void number_region(Numbering *nb, IrRegion *r) {
  const uint32_t mark = nb->nentered;
  for (IrInst *i = r->first, *next; i; i = next) {
    next = i->next;
    for (uint32_t k = 0; k < i->nargs; k++) {
      IrValue *now = find(nb, i->args[k]);
      nb->changed |= now != i->args[k];
      i->args[k] = now;
    }
    const IrEffect fx = hdir_ops[i->op].effect;
    if ((fx == FX_PURE || fx == FX_LAUNCH || hdir_calls_pure(i)) && i->nres == 1) {
      const IrInst *first = enter(nb, i);
      if (first == i) continue;
      nb->map[i->res[0]->id] = first->res[0];
      hdir_unlink(i);
      nb->changed = true;
    }
    if (i->op == IR_loop) merge_carried(nb, i);
    for (uint32_t k = 0; k < i->nsubs; k++) number_region(nb, i->sub[k]);
  }
  leave_region(nb, mark);
}

bool hdopt_gvn(IrFunc *fn, OptContext *cx) {
  Numbering nb = {.scratch = cx->scratch, .map = HDB_NEW_N(cx->scratch, IrValue *, fn->nvalues)};
  hdopt_live(&nb.live, fn, cx->scratch);
  nb.mask = 64;
  while (nb.mask < nb.live.count) nb.mask *= 2;
  nb.buckets = HDB_NEW_N(cx->scratch, Entry *, nb.mask);
  nb.mask--;
  number_region(&nb, fn->body);
  return nb.changed;
}
