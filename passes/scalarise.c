/* passes/scalarise.c -- takes composite values apart into their scalars.
 *
 * Every value of a composite type becomes its leaves (the scalars of ir_type.h's parts, in order; an array in a struct
 * is one leaf). Element-wise ops become one op a leaf, loads and stores one access a leaf, region results and carried
 * values one a leaf. Composite parameters stay as they are and are read by chains of extract; calls and returns get
 * their composites made again. A part chosen by a computed index comes from a table where all parts are constants and
 * more than MIN_TABLE; else it becomes a chain of selects, or, with more than MAX_CHAIN parts, goes through local memory.
 *
 * needs   nothing (after inline there are only calls of C functions to make composites for)
 * keeps   every result bit, the order of memory accesses
 * breaks  nothing        cost    linear in the leaves
 */
#include "ir/mma.h"
#include "passes/passes.h"
#include "passes/rebuild.h"

enum { MAX_CHAIN = 16, MIN_TABLE = 4 };

typedef struct Scalariser {
  IrValue ***leaves; /* by old id: the new leaves of a composite value; others are in the map */
} Scalariser;

static IrTypes *types_of(OptRebuild *rb) { return &rb->fn->module->types; }

/* --- leaves --- */

static void leaf_types(const IrType *t, const IrType **out, uint32_t *n) {
  if (!hdir_is_composite(t)) {
    out[(*n)++] = t;
    return;
  }
  for (uint32_t k = 0; k < t->nparts; k++) leaf_types(hdir_part(t, k), out, n);
}

static IrValue *const *leaves(OptRebuild *rb, IrValue *old) {
  Scalariser *sc = rb->self;
  if (hdir_is_composite(old->type)) return sc->leaves[old->id];
  IrValue **one = HDB_NEW(rb->scratch, IrValue *);
  *one = hdopt_get(rb, old);
  return one;
}

static void set_leaves(OptRebuild *rb, const IrValue *old, IrValue *const *now) {
  Scalariser *sc = rb->self;
  if (hdir_is_composite(old->type))
    sc->leaves[old->id] = hdb_copy(rb->scratch, now, sizeof *now * old->type->nleaves);
  else
    hdopt_set(rb, old, now[0]);
}

static void extract_leaves(OptRebuild *rb, IrValue *x, IrValue **out, uint32_t *n) {
  if (!hdir_is_composite(x->type)) {
    out[(*n)++] = x;
    return;
  }
  for (uint32_t k = 0; k < x->type->nparts; k++) extract_leaves(rb, hdir_extract(&rb->b, x, k), out, n);
}

static IrValue *make_again(OptRebuild *rb, const IrType *t, IrValue *const *leaf) {
  if (!hdir_is_composite(t)) return leaf[0];
  IrValue **parts = HDB_NEW_N(rb->scratch, IrValue *, t->nparts);
  for (uint32_t k = 0; k < t->nparts; k++) parts[k] = make_again(rb, hdir_part(t, k), leaf + hdopt_leaf_offset(t, k));
  return hdir_make(&rb->b, t, parts);
}

/* --- memory --- */

static void leaf_pointers(OptRebuild *rb, IrValue *p, IrValue **out, uint32_t *n) {
  const IrType *t = p->type->elem;
  if (!hdir_is_composite(t)) {
    out[(*n)++] = p;
    return;
  }
  for (uint32_t k = 0; k < t->nparts; k++) leaf_pointers(rb, hdir_member(&rb->b, p, k), out, n);
}

static IrValue **pointers(OptRebuild *rb, IrValue *p) {
  IrValue **list = HDB_NEW_N(rb->scratch, IrValue *, p->type->elem->nleaves);
  uint32_t n = 0;
  leaf_pointers(rb, p, list, &n);
  return list;
}

static void load_leaves(OptRebuild *rb, IrValue *p, IrValue **out) {
  IrValue *const *at = pointers(rb, p);
  for (uint32_t k = 0; k < p->type->elem->nleaves; k++) out[k] = hdir_load(&rb->b, at[k]);
}

static void store_leaves(OptRebuild *rb, IrValue *p, IrValue *const *x) {
  IrValue *const *at = pointers(rb, p);
  for (uint32_t k = 0; k < p->type->elem->nleaves; k++) hdir_store(&rb->b, at[k], x[k]);
}

/* --- parts at a computed index --- */

static IrValue *is_inside(OptRebuild *rb, IrValue *i, uint32_t n) {
  const IrType *u = hdir_scalar(types_of(rb), i->type->kind == IR_I64 ? IR_U64 : IR_U32);
  return hdir_bin(&rb->b, IR_lt, hdir_bitcast(&rb->b, u, i), hdir_const_int(rb->fn, u, n));
}

static IrValue *is_part(OptRebuild *rb, IrValue *i, uint32_t k) {
  return hdir_bin(&rb->b, IR_eq, i, hdir_const_int(rb->fn, i->type, k));
}

/* The composite in local memory, and the address of part i, or of part 0 where i is outside. */
static IrValue *spill(OptRebuild *rb, const IrType *t, IrValue *const *x, IrValue *i, IrValue **whole) {
  *whole = hdir_alloca(&rb->b, t);
  store_leaves(rb, *whole, x);
  IrValue *zero = hdir_const_int(rb->fn, i->type, 0);
  return hdir_elem(&rb->b, *whole, hdir_select(&rb->b, is_inside(rb, i, t->nparts), i, zero));
}

static bool all_constant(IrValue *const *x, uint32_t n) {
  for (uint32_t k = 0; k < n; k++)
    if (!hdir_is_const(x[k])) return false;
  return true;
}

/* Parts that are constants: a table for each of the n leaves of a part. */
static void take_from_tables(OptRebuild *rb, uint32_t nparts, IrValue *const *x, IrValue *at, uint32_t n, IrValue **r) {
  IrValue **entries = HDB_NEW_N(rb->scratch, IrValue *, nparts);
  for (uint32_t l = 0; l < n; l++) {
    for (uint32_t k = 0; k < nparts; k++) entries[k] = x[k * n + l];
    r[l] = hdir_table(&rb->b, at, nparts, entries);
  }
}

static void emit_extract_at(OptRebuild *rb, const IrInst *i) {
  const IrType *t = i->args[0]->type;
  IrValue *const *x = leaves(rb, i->args[0]);
  IrValue *at = hdopt_get(rb, i->args[1]), *whole;
  const uint32_t n = i->res[0]->type->nleaves;
  IrValue **r = HDB_NEW_N(rb->scratch, IrValue *, n);
  if (t->nparts > MIN_TABLE && all_constant(x, t->nleaves)) {
    take_from_tables(rb, t->nparts, x, at, n, r);
  } else if (t->nparts > MAX_CHAIN && !hdir_is_const(at)) {
    load_leaves(rb, spill(rb, t, x, at, &whole), r);
  } else {
    memcpy(r, x, sizeof *r * n);
    for (uint32_t k = 1; k < t->nparts; k++) {
      IrValue *here = is_part(rb, at, k);
      for (uint32_t l = 0; l < n; l++) r[l] = hdir_select(&rb->b, here, x[k * n + l], r[l]);
    }
  }
  set_leaves(rb, i->res[0], r);
}

static void emit_insert_at(OptRebuild *rb, const IrInst *i) {
  const IrType *t = i->args[0]->type;
  IrValue *const *x = leaves(rb, i->args[0]), *const *y = leaves(rb, i->args[2]);
  IrValue *at = hdopt_get(rb, i->args[1]), *whole;
  const uint32_t n = i->args[2]->type->nleaves;
  IrValue **r = HDB_NEW_N(rb->scratch, IrValue *, t->nleaves);
  if (t->nparts > MAX_CHAIN && !hdir_is_const(at)) {
    /* An index outside changes nothing: part 0 is then stored as it was. */
    IrValue *p = spill(rb, t, x, at, &whole), *inside = is_inside(rb, at, t->nparts);
    IrValue **part = HDB_NEW_N(rb->scratch, IrValue *, n);
    load_leaves(rb, p, part);
    for (uint32_t l = 0; l < n; l++) part[l] = hdir_select(&rb->b, inside, y[l], part[l]);
    store_leaves(rb, p, part);
    load_leaves(rb, whole, r);
  } else {
    for (uint32_t k = 0; k < t->nparts; k++) {
      IrValue *here = is_part(rb, at, k);
      for (uint32_t l = 0; l < n; l++) r[k * n + l] = hdir_select(&rb->b, here, y[l], x[k * n + l]);
    }
  }
  set_leaves(rb, i->res[0], r);
}

/* --- the other ops on composites --- */

static IrValue *emit_one(OptRebuild *rb, const IrInst *i, const IrType *to, IrValue *const a[]) {
  switch (i->op) {
  case IR_cvt: return hdir_cvt(&rb->b, to, a[0]);
  case IR_fma: return hdir_fma(&rb->b, a[0], a[1], a[2]);
  case IR_select: return hdir_select(&rb->b, a[0], a[1], a[2]);
  default: return i->nargs == 1 ? hdir_un(&rb->b, i->op, a[0]) : hdir_bin(&rb->b, i->op, a[0], a[1]);
  }
}

/* A scalar operand, such as the condition of a select, goes to every leaf. */
static void emit_element_wise(OptRebuild *rb, const IrInst *i) {
  const IrType *t = i->res[0]->type;
  IrValue *const *x[3], *a[3];
  IrValue **r = HDB_NEW_N(rb->scratch, IrValue *, t->nleaves);
  const IrType **to = HDB_NEW_N(rb->scratch, const IrType *, t->nleaves);
  uint32_t n = 0;
  leaf_types(t, to, &n);
  for (uint32_t k = 0; k < i->nargs; k++) x[k] = leaves(rb, i->args[k]);
  for (uint32_t l = 0; l < n; l++) {
    for (uint32_t k = 0; k < i->nargs; k++) a[k] = x[k][hdir_is_composite(i->args[k]->type) ? l : 0];
    r[l] = emit_one(rb, i, to[l], a);
  }
  set_leaves(rb, i->res[0], r);
}

static void emit_make(OptRebuild *rb, const IrInst *i) {
  OptVals all = {0};
  for (uint32_t k = 0; k < i->nargs; k++) {
    IrValue *const *x = leaves(rb, i->args[k]);
    for (uint32_t l = 0; l < i->args[k]->type->nleaves; l++) hdopt_push_val(rb, &all, x[l]);
  }
  set_leaves(rb, i->res[0], all.v);
}

static void emit_insert(OptRebuild *rb, const IrInst *i) {
  const IrType *t = i->res[0]->type;
  IrValue **r = hdb_copy(rb->scratch, leaves(rb, i->args[0]), sizeof *r * t->nleaves);
  memcpy(r + hdopt_leaf_offset(t, (uint32_t)i->imm), leaves(rb, i->args[1]), sizeof *r * i->args[1]->type->nleaves);
  set_leaves(rb, i->res[0], r);
}

static void emit_load(OptRebuild *rb, const IrInst *i) {
  IrValue **r = HDB_NEW_N(rb->scratch, IrValue *, i->res[0]->type->nleaves);
  load_leaves(rb, hdopt_get(rb, i->args[0]), r);
  set_leaves(rb, i->res[0], r);
}

static void emit_call(OptRebuild *rb, const IrInst *i) {
  OptVals args = {0};
  for (uint32_t k = 0; k < i->nargs; k++) {
    hdopt_push_val(rb, &args, make_again(rb, i->args[k]->type, leaves(rb, i->args[k])));
  }
  IrInst *call = hdir_call(&rb->b, i->callee, args.v);
  for (uint32_t k = 0; k < i->nres; k++) {
    IrValue **r = HDB_NEW_N(rb->scratch, IrValue *, i->res[k]->type->nleaves);
    uint32_t n = 0;
    extract_leaves(rb, call->res[k], r, &n);
    set_leaves(rb, i->res[k], r);
  }
}

/* Where it is left to a unit, a thread's parts of the matrices stay together. */
static void emit_mma(OptRebuild *rb, const IrInst *i) {
  IrValue *x[3], *r[IR_MMA_MOST_C];
  uint32_t n = 0;
  for (uint32_t k = 0; k < 3; k++) x[k] = make_again(rb, i->args[k]->type, leaves(rb, i->args[k]));
  extract_leaves(rb, hdir_mma(&rb->b, x[0], x[1], x[2]), r, &n);
  set_leaves(rb, i->res[0], r);
}

/* --- hooks --- */

static bool touches_composite(const IrInst *i) {
  for (uint32_t k = 0; k < i->nargs; k++) {
    if (hdir_is_composite(i->args[k]->type)) return true;
  }
  for (uint32_t k = 0; k < i->nres; k++) {
    if (hdir_is_composite(i->res[k]->type)) return true;
  }
  return false;
}

static bool visit(OptRebuild *rb, IrInst *i) {
  if (hdir_ops[i->op].effect == FX_CONTROL || hdir_is_ender(i->op) || !touches_composite(i)) return false;
  switch (i->op) {
  case IR_make: emit_make(rb, i); break;
  case IR_extract:
    set_leaves(rb, i->res[0], leaves(rb, i->args[0]) + hdopt_leaf_offset(i->args[0]->type, (uint32_t)i->imm));
    break;
  case IR_insert: emit_insert(rb, i); break;
  case IR_extract_at: emit_extract_at(rb, i); break;
  case IR_insert_at: emit_insert_at(rb, i); break;
  case IR_load: emit_load(rb, i); break;
  case IR_store: store_leaves(rb, hdopt_get(rb, i->args[0]), leaves(rb, i->args[1])); break;
  case IR_call: emit_call(rb, i); break;
  case IR_mma: emit_mma(rb, i); break;
  default: emit_element_wise(rb, i);
  }
  return true;
}

static void args_hook(OptRebuild *rb, const IrInst *target, OptList which, uint32_t n, IrValue *const old[],
                      OptVals *out) {
  (void)which;
  for (uint32_t k = 0; k < n; k++) {
    IrValue *const *x = leaves(rb, old[k]);
    if (target) {
      for (uint32_t l = 0; l < old[k]->type->nleaves; l++) hdopt_push_val(rb, out, x[l]);
    } else {
      hdopt_push_val(rb, out, make_again(rb, old[k]->type, x));
    }
  }
}

static void types_hook(OptRebuild *rb, const IrInst *target, uint32_t *n, const IrType *const **types) {
  uint32_t total = 0;
  for (uint32_t k = 0; k < target->nres; k++) total += target->res[k]->type->nleaves;
  const IrType **t = HDB_NEW_N(rb->scratch, const IrType *, total);
  *n = 0;
  for (uint32_t k = 0; k < target->nres; k++) leaf_types(target->res[k]->type, t, n);
  *types = t;
}

static void bind_hook(OptRebuild *rb, const IrInst *target, OptList which, uint32_t n, IrValue *const now[]) {
  (void)n;
  IrValue *const *old = which == OPT_PARAMS ? target->sub[0]->params : target->res;
  const uint32_t count = which == OPT_PARAMS ? target->sub[0]->nparams : target->nres;
  for (uint32_t k = 0; k < count; k++) {
    set_leaves(rb, old[k], now);
    now += old[k]->type->nleaves;
  }
}

static const OptHooks hooks = {.visit = visit, .args = args_hook, .types = types_hook, .bind = bind_hook};

static bool has_composites(const IrFunc *fn) {
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) {
    if (touches_composite(i) && i->op != IR_extract) return true;
    if (i->op == IR_extract && i->args[0]->def && i->args[0]->def->op != IR_extract) return true;
  }
  return false;
}

bool hdopt_scalarise(IrFunc *fn, OptContext *cx) {
  if (!has_composites(fn)) return false;
  Scalariser sc = {.leaves = HDB_NEW_N(cx->scratch, IrValue **, fn->nvalues)};
  OptRebuild rb = {.hooks = &hooks, .self = &sc};
  IrInst *first = hdopt_rebuild_begin(&rb, fn, cx->scratch);
  for (uint32_t k = 0; k < fn->body->nparams; k++) {
    IrValue *p = fn->body->params[k];
    if (!hdir_is_composite(p->type)) continue;
    IrValue **r = HDB_NEW_N(cx->scratch, IrValue *, p->type->nleaves);
    uint32_t n = 0;
    extract_leaves(&rb, p, r, &n);
    set_leaves(&rb, p, r);
  }
  hdopt_walk(&rb, first);
  return true;
}
