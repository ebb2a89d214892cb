/* ir/build.c -- appending instructions: folding first, then value numbering, then a new instruction.
 *
 * The table of values is not unwound at the end of a region. An entry counts only if its instruction stands in a
 * region around the place at hand, and one that does not is overwritten; so a pass may move the builder as it likes.
 * After Click, "Global Code Motion / Global Value Numbering", PLDI 1995, section 3.
 */
#include "ir/build.h"

#include <assert.h>

#include "ir/fold.h"
#include "ir/mma.h"

static IrTypes *types(const IrBuilder *b) { return &b->fn->module->types; }
static Arena *arena(const IrBuilder *b) { return b->fn->module->arena; }

void hdir_build_begin(IrBuilder *b, IrFunc *fn) { *b = (IrBuilder){.fn = fn, .at = fn->body}; }

/* --- value numbering --- */

typedef struct Numbered {
  IrInst *inst;
  uint32_t hash;
} Numbered;

struct IrScopeTable {
  Numbered *slots;
  uint32_t count, cap; /* cap is a power of two */
};

static uint32_t mix(uint32_t h, uint64_t x) {
  uint64_t m = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
  return (uint32_t)(m >> 32);
}

static bool commutes(IrOp op) { return hdir_ops[op].laws & COMM; }

static uint32_t hash_inst(IrOp op, const IrType *res, uint32_t n, IrValue *const args[], int64_t imm) {
  uint32_t h = mix(mix(mix(op, res->id), (uint64_t)imm), n);
  if (commutes(op)) return mix(h, (uint64_t)args[0]->id + args[1]->id);
  for (uint32_t k = 0; k < n; k++) h = mix(h, args[k]->id);
  return h;
}

static bool same_inst(const IrInst *i, IrOp op, const IrType *res, uint32_t n, IrValue *const args[], int64_t imm) {
  if (i->op != op || i->imm != imm || i->nargs != n || i->res[0]->type != res) return false;
  if (n == 0 || memcmp(i->args, args, sizeof *args * n) == 0) return true;
  return commutes(op) && i->args[0] == args[1] && i->args[1] == args[0];
}

static void grow_table(IrBuilder *b) {
  IrScopeTable *t = b->scope;
  IrScopeTable bigger = {.cap = t->cap ? t->cap * 2 : 64};
  bigger.slots = HDB_NEW_N(arena(b), Numbered, bigger.cap);
  for (uint32_t k = 0; k < t->cap; k++) {
    if (!t->slots[k].inst || !t->slots[k].inst->region) continue; /* free, or removed by a pass */
    uint32_t at = t->slots[k].hash & (bigger.cap - 1);
    while (bigger.slots[at].inst) at = (at + 1) & (bigger.cap - 1);
    bigger.slots[at] = t->slots[k];
    bigger.count++;
  }
  *t = bigger;
}

/* The slot of an equal instruction, or the free one where it belongs. */
static Numbered *find_slot(IrBuilder *b, uint32_t hash, IrOp op, const IrType *res, uint32_t n, IrValue *const args[],
                           int64_t imm) {
  if (!b->scope) b->scope = HDB_NEW(arena(b), IrScopeTable);
  IrScopeTable *t = b->scope;
  if (t->count >= t->cap / 4 * 3) grow_table(b);
  uint32_t at = hash & (t->cap - 1);
  for (;; at = (at + 1) & (t->cap - 1)) {
    Numbered *s = &t->slots[at];
    if (!s->inst) {
      s->hash = hash;
      t->count++;
      return s;
    }
    if (s->hash == hash && same_inst(s->inst, op, res, n, args, imm)) return s;
  }
}

static bool visible(const IrBuilder *b, const IrInst *i) { return i->region && hdir_region_contains(i->region, b->at); }

/* --- emission --- */

static IrInst *append(IrBuilder *b, IrOp op, uint32_t n, IrValue *const args[], uint32_t nres,
                      const IrType *const res[]) {
  assert(!hdir_ended(b) && "nothing follows an ender");
  IrInst *i = hdir_inst_new(b->fn, op, n, args, nres, res);
  i->loc = b->loc;
  hdir_append(b->at, i);
  return i;
}

/* One result; `args` may be reordered. */
static IrValue *emit(IrBuilder *b, IrOp op, const IrType *res, uint32_t n, IrValue **args, int64_t imm) {
  IrEffect fx = hdir_ops[op].effect;
  Numbered *slot = NULL;
  if (!b->no_fold && (fx == FX_PURE || fx == FX_LAUNCH)) {
    IrValue *v = op == IR_gdim && b->fn->group ? hdir_const_int(b->fn, res, b->fn->group)
                 : b->no_laws                  ? NULL
                                               : hdir_fold(b, op, res, n, args, imm);
    if (v) return v;
    slot = find_slot(b, hash_inst(op, res, n, args, imm), op, res, n, args, imm);
    if (slot->inst && visible(b, slot->inst)) return slot->inst->res[0];
  }
  IrInst *i = append(b, op, n, args, 1, &res);
  i->imm = imm;
  if (slot) slot->inst = i;
  return i->res[0];
}

IrValue *hdir_un(IrBuilder *b, IrOp op, IrValue *x) {
  assert(hdir_elem_scalar(x->type) && strlen(hdir_ops[op].operands) == 1);
  return emit(b, op, x->type, 1, (IrValue *[]){x}, 0);
}

IrValue *hdir_bin(IrBuilder *b, IrOp op, IrValue *x, IrValue *y) {
  assert(x->type == y->type && hdir_elem_scalar(x->type) && strlen(hdir_ops[op].operands) == 2);
  const IrType *res = x->type;
  if (hdir_ops[op].result[0] == 'b') res = hdir_with_elem(types(b), res, hdir_scalar(types(b), IR_BOOL));
  return emit(b, op, res, 2, (IrValue *[]){x, y}, 0);
}

IrValue *hdir_fma(IrBuilder *b, IrValue *x, IrValue *y, IrValue *z) {
  assert(x->type == y->type && y->type == z->type);
  return emit(b, IR_fma, x->type, 3, (IrValue *[]){x, y, z}, 0);
}

IrValue *hdir_select(IrBuilder *b, IrValue *c, IrValue *x, IrValue *y) {
  assert(x->type == y->type && hdir_elem_scalar(c->type)->kind == IR_BOOL);
  return emit(b, IR_select, x->type, 3, (IrValue *[]){c, x, y}, 0);
}

IrValue *hdir_cvt(IrBuilder *b, const IrType *to, IrValue *x) { return emit(b, IR_cvt, to, 1, (IrValue *[]){x}, 0); }

IrValue *hdir_bitcast(IrBuilder *b, const IrType *to, IrValue *x) {
  assert(to->size == x->type->size);
  return emit(b, IR_bitcast, to, 1, (IrValue *[]){x}, 0);
}

/* --- composites --- */

IrValue *hdir_make(IrBuilder *b, const IrType *t, IrValue *const parts[]) {
  assert(hdir_is_composite(t));
  for (uint32_t k = 0; k < t->nparts; k++) assert(parts[k]->type == hdir_part(t, k));
  return emit(b, IR_make, t, t->nparts, (IrValue **)parts, 0); /* make does not reorder */
}

IrValue *hdir_splat(IrBuilder *b, const IrType *t, IrValue *x) {
  IrValue **parts = HDB_NEW_N(arena(b), IrValue *, t->nparts);
  for (uint32_t k = 0; k < t->nparts; k++) parts[k] = x;
  return hdir_make(b, t, parts);
}

IrValue *hdir_zero(IrBuilder *b, const IrType *t) {
  if (hdir_is_scalar(t)) return hdir_const(b->fn, t, 0);
  if (t->kind != IR_STRUCT) return hdir_splat(b, t, hdir_zero(b, t->elem));
  IrValue **parts = HDB_NEW_N(arena(b), IrValue *, t->nparts);
  for (uint32_t k = 0; k < t->nparts; k++) parts[k] = hdir_zero(b, hdir_part(t, k));
  return hdir_make(b, t, parts);
}

IrValue *hdir_extract(IrBuilder *b, IrValue *x, uint32_t part) {
  return emit(b, IR_extract, hdir_part(x->type, part), 1, (IrValue *[]){x}, part);
}

IrValue *hdir_insert(IrBuilder *b, IrValue *x, uint32_t part, IrValue *y) {
  assert(y->type == hdir_part(x->type, part));
  return emit(b, IR_insert, x->type, 2, (IrValue *[]){x, y}, part);
}

IrValue *hdir_extract_at(IrBuilder *b, IrValue *x, IrValue *i) {
  return emit(b, IR_extract_at, hdir_part(x->type, 0), 2, (IrValue *[]){x, i}, 0);
}

IrValue *hdir_table(IrBuilder *b, IrValue *i, uint32_t n, IrValue *const constants[]) {
  IrValue **args = HDB_NEW_N(arena(b), IrValue *, n + 1);
  args[0] = i;
  for (uint32_t k = 0; k < n; k++) {
    assert(hdir_is_const(constants[k]) && constants[k]->type == constants[0]->type);
    args[k + 1] = constants[k];
  }
  return emit(b, IR_table, constants[0]->type, n + 1, args, 0);
}

IrValue *hdir_insert_at(IrBuilder *b, IrValue *x, IrValue *i, IrValue *y) {
  assert(y->type == hdir_part(x->type, 0));
  return emit(b, IR_insert_at, x->type, 3, (IrValue *[]){x, i, y}, 0);
}

/* --- memory and the launch --- */

IrValue *hdir_length(IrBuilder *b, IrValue *array, uint32_t axis, const IrType *as) {
  assert(array->type->kind == IR_ARRAY && axis < array->type->rows);
  return emit(b, IR_length, as, 1, (IrValue *[]){array}, axis);
}

IrValue *hdir_index(IrBuilder *b, IrValue *array, uint32_t n, IrValue *const at[]) {
  assert(array->type->kind == IR_ARRAY && n == array->type->rows);
  IrValue *args[1 + HD_MAX_DIMS] = {array};
  for (uint32_t k = 0; k < n; k++) args[1 + k] = at[k];
  return emit(b, IR_index, hdir_ptr(types(b), array->type->elem, IR_GLOBAL), 1 + n, args, 0);
}

IrValue *hdir_alloca(IrBuilder *b, const IrType *t) {
  return emit(b, IR_alloca, hdir_ptr(types(b), t, IR_LOCAL), 0, NULL, 0);
}

IrValue *hdir_member(IrBuilder *b, IrValue *p, uint32_t part) {
  const IrType *res = hdir_ptr(types(b), hdir_part(p->type->elem, part), p->type->space);
  return emit(b, IR_member, res, 1, (IrValue *[]){p}, part);
}

IrValue *hdir_elem(IrBuilder *b, IrValue *p, IrValue *i) {
  const IrType *res = hdir_ptr(types(b), hdir_part(p->type->elem, 0), p->type->space);
  return emit(b, IR_elem, res, 2, (IrValue *[]){p, i}, 0);
}

IrValue *hdir_load(IrBuilder *b, IrValue *p) {
  assert(p->type->kind == IR_PTR);
  return emit(b, IR_load, p->type->elem, 1, (IrValue *[]){p}, 0);
}

void hdir_store(IrBuilder *b, IrValue *p, IrValue *x) {
  assert(p->type->kind == IR_PTR && p->type->elem == x->type);
  append(b, IR_store, 2, (IrValue *[]){p, x}, 0, NULL);
}

IrValue *hdir_atomic(IrBuilder *b, IrOp op, IrValue *p, IrValue *x, IrValue *y) {
  assert(hdir_ops[op].effect == FX_ATOMIC && p->type->elem == x->type && !y == (op != IR_atomic_cas));
  return emit(b, op, x->type, y ? 3 : 2, (IrValue *[]){p, x, y}, 0);
}

static const IrType *i32(const IrBuilder *b) { return hdir_scalar(types(b), IR_I32); }

IrValue *hdir_tid(IrBuilder *b, uint32_t axis) { return emit(b, IR_tid, i32(b), 0, NULL, axis); }
IrValue *hdir_dim(IrBuilder *b, uint32_t axis) { return emit(b, IR_dim, i32(b), 0, NULL, axis); }

IrValue *hdir_tex(IrBuilder *b, uint32_t n, IrValue *const args[], uint32_t channel) {
  IrValue *x[IR_MAX_TEX];
  assert(n >= 3 && n <= IR_MAX_TEX);
  memcpy(x, args, n * sizeof *x);
  return emit(b, IR_tex, hdir_scalar(types(b), IR_F32), n, x, channel);
}

IrValue *hdir_gang_count(IrBuilder *b, IrValue *c) { return emit(b, IR_gang_count, i32(b), 1, &c, 0); }

IrValue *hdir_has(IrBuilder *b, IrUnit unit) { return emit(b, IR_has, hdir_scalar(types(b), IR_BOOL), 0, NULL, unit); }

IrValue *hdir_ltid(IrBuilder *b) { return emit(b, IR_ltid, i32(b), 0, NULL, 0); }
IrValue *hdir_gid(IrBuilder *b) { return emit(b, IR_gid, i32(b), 0, NULL, 0); }

IrValue *hdir_gdim(IrBuilder *b) { return emit(b, IR_gdim, i32(b), 0, NULL, 0); }

IrValue *hdir_shared(IrBuilder *b, const IrType *t) {
  return emit(b, IR_shared, hdir_ptr(types(b), t, IR_SHARED), 0, NULL, 0);
}

void hdir_barrier(IrBuilder *b) { append(b, IR_barrier, 0, NULL, 0, NULL); }

IrValue *hdir_shuffle(IrBuilder *b, IrValue *x, IrValue *lane) {
  return emit(b, IR_shuffle, x->type, 2, (IrValue *[]){x, lane}, 0);
}

IrValue *hdir_ballot(IrBuilder *b, IrValue *c) { return emit(b, IR_ballot, hdir_scalar(types(b), IR_U32), 1, &c, 0); }

IrValue *hdir_mma(IrBuilder *b, IrValue *x, IrValue *y, IrValue *z) {
  assert(hdir_mma_of(x->type, y->type, z->type));
  return emit(b, IR_mma, z->type, 3, (IrValue *[]){x, y, z}, 0);
}

void hdir_assert(IrBuilder *b, IrValue *c, const char *text) {
  append(b, IR_assert, 1, &c, 0, NULL)->text = hdb_strdup(arena(b), text);
}

void hdir_check(IrBuilder *b, IrValue *c, IrValue *index, IrValue *limit, const char *text) {
  append(b, IR_check, 3, (IrValue *[]){c, index, limit}, 0, NULL)->text = hdb_strdup(arena(b), text);
}

void hdir_printf(IrBuilder *b, const char *format, uint32_t n, IrValue *const args[]) {
  append(b, IR_print, n, args, 0, NULL)->text = hdb_strdup(arena(b), format);
}

IrInst *hdir_call(IrBuilder *b, IrFunc *callee, IrValue *const args[]) {
  for (uint32_t k = 0; k < callee->body->nparams; k++) assert(args[k]->type == callee->body->params[k]->type);
  IrInst *i = append(b, IR_call, callee->body->nparams, args, callee->nresults, callee->results);
  i->callee = callee;
  return i;
}

/* --- control --- */

static void enter(IrBuilder *b, IrInst *i, uint32_t nparams, const IrType *const params[]) {
  IrRegion *r = hdir_region_new(b->fn, i, nparams, params);
  i->sub[i->nsubs++] = r;
  b->at = r;
}

IrInst *hdir_if_begin(IrBuilder *b, IrValue *c, uint32_t nres, const IrType *const res[]) {
  assert(c->type->kind == IR_BOOL);
  IrInst *i = append(b, IR_if, 1, &c, nres, res);
  enter(b, i, 0, NULL);
  return i;
}

void hdir_if_else(IrBuilder *b, IrInst *i) {
  assert(i->op == IR_if && i->nsubs == 1 && b->at == i->sub[0] && hdir_ended(b));
  enter(b, i, 0, NULL);
}

IrInst *hdir_loop_begin(IrBuilder *b, uint32_t n, IrValue *const init[], uint32_t nres, const IrType *const res[]) {
  IrInst *i = append(b, IR_loop, n, init, nres, res);
  const IrType **params = n ? HDB_NEW_N(arena(b), const IrType *, n) : NULL;
  for (uint32_t k = 0; k < n; k++) params[k] = init[k]->type;
  enter(b, i, n, params);
  return i;
}

IrInst *hdir_scope_begin(IrBuilder *b, uint32_t nres, const IrType *const res[]) {
  IrInst *i = append(b, IR_scope, 0, NULL, nres, res);
  enter(b, i, 0, NULL);
  return i;
}

IrInst *hdir_threads_begin(IrBuilder *b) {
  IrInst *i = append(b, IR_threads, 0, NULL, 0, NULL);
  enter(b, i, 0, NULL);
  return i;
}

void hdir_end(IrBuilder *b, IrInst *i) {
  assert(b->at->parent == i && hdir_ended(b));
  if (i->op == IR_if && i->nsubs == 1) {
    assert(i->nres == 0);
    hdir_if_else(b, i);
    hdir_ender(b, IR_yield, 0, NULL);
  }
  b->at = i->region;
}

void hdir_ender(IrBuilder *b, IrOp op, uint32_t n, IrValue *const args[]) {
  assert(hdir_is_ender(op));
  append(b, op, n, args, 0, NULL);
}

bool hdir_ended(const IrBuilder *b) { return b->at->last && hdir_is_ender(b->at->last->op); }

/* --- copying --- */

typedef struct Cloner {
  IrBuilder *b;
  const IrModule *from;
  IrValue **map;
  bool foreign; /* from another module: types, callees, texts and files have to be brought over */
} Cloner;

static const IrType *clone_type(const Cloner *c, const IrType *t) {
  return c->foreign ? hdir_type_import(types(c->b), t) : t;
}

static IrValue *clone_use(const Cloner *c, IrValue *v) {
  if (c->map[v->id]) return c->map[v->id];
  if (!hdir_is_const(v)) return v;
  return hdir_const(c->b->fn, clone_type(c, v->type), v->bits);
}

static void set_result(const Cloner *c, const IrValue *old, IrValue *v) {
  c->map[old->id] = v;
  if (old->name && v->def && !v->name) v->name = c->foreign ? hdb_strdup(arena(c->b), old->name) : old->name;
}

static void clone_control(const Cloner *c, const IrInst *i, IrValue **args, const IrType **res) {
  IrBuilder *b = c->b;
  IrInst *copy;
  switch (i->op) {
  case IR_if: copy = hdir_if_begin(b, args[0], i->nres, res); break;
  case IR_loop: copy = hdir_loop_begin(b, i->nargs, args, i->nres, res); break;
  case IR_threads: copy = hdir_threads_begin(b); break;
  default: copy = hdir_scope_begin(b, i->nres, res); break;
  }
  for (uint32_t k = 0; k < i->sub[0]->nparams; k++) {
    IrValue *old = i->sub[0]->params[k], *v = copy->sub[0]->params[k];
    c->map[old->id] = v;
    if (old->name) v->name = c->foreign ? hdb_strdup(arena(b), old->name) : old->name;
  }
  hdir_clone_region_body(b, i->sub[0], c->map);
  if (i->op == IR_if) {
    hdir_if_else(b, copy);
    hdir_clone_region_body(b, i->sub[1], c->map);
  }
  hdir_end(b, copy);
  for (uint32_t k = 0; k < i->nres; k++) set_result(c, i->res[k], copy->res[k]);
}

/* A part lies where the whole does, which the map may have moved to another kind of memory. */
static const IrType *moved(const Cloner *c, const IrInst *i, const IrType *t, IrValue *const args[]) {
  bool part = i->op == IR_member || i->op == IR_elem;
  if (!part || t->space == args[0]->type->space) return t;
  return hdir_ptr(types(c->b), t->elem, args[0]->type->space);
}

static void clone_one(const Cloner *c, const IrInst *i, IrValue **args, const IrType **res) {
  IrBuilder *b = c->b;
  switch (hdir_ops[i->op].effect) {
  case FX_CONTROL: clone_control(c, i, args, res); return;
  case FX_CALL: {
    IrInst *call = hdir_call(b, c->foreign ? hdir_func_import(b->fn->module, i->callee) : i->callee, args);
    for (uint32_t k = 0; k < i->nres; k++) set_result(c, i->res[k], call->res[k]);
    return;
  }
  default: break;
  }
  if (i->nres) {
    set_result(c, i->res[0], emit(b, i->op, moved(c, i, res[0], args), i->nargs, args, i->imm));
    return;
  }
  IrInst *copy = append(b, i->op, i->nargs, args, 0, NULL);
  copy->text = i->text && c->foreign ? hdb_strdup(arena(b), i->text) : i->text;
}

enum { FEW = 8 }; /* operands and results that need no memory of their own */

void hdir_clone_inst(IrBuilder *b, const IrInst *i, IrValue **map) {
  IrFunc *fn = i->region->fn;
  Cloner c = {.b = b, .from = fn->module, .map = map, .foreign = fn->module != b->fn->module};
  IrValue *few_args[FEW], **args = few_args;
  const IrType *few_res[FEW], **res = few_res;
  if (i->nargs > FEW) args = HDB_NEW_N(arena(b), IrValue *, i->nargs);
  if (i->nres > FEW) res = HDB_NEW_N(arena(b), const IrType *, i->nres);
  for (uint32_t k = 0; k < i->nargs; k++) args[k] = clone_use(&c, i->args[k]);
  for (uint32_t k = 0; k < i->nres; k++) res[k] = clone_type(&c, i->res[k]->type);
  IrLoc loc = b->loc;
  b->loc = i->loc;
  if (c.foreign && i->loc.line) b->loc.file = hdir_file(b->fn->module, c.from->files[i->loc.file]);
  clone_one(&c, i, args, res);
  b->loc = loc;
}

void hdir_clone_region_body(IrBuilder *b, const IrRegion *r, IrValue **map) {
  for (const IrInst *i = r->first; i; i = i->next) hdir_clone_inst(b, i, map);
}
