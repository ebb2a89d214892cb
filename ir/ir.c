/* ir/ir.c -- modules, functions, constants, raw editing and walking. */
#include "ir/ir.h"

#include <assert.h>

#include "ir/build.h"

/* --- modules and functions --- */

IrModule *hdir_module_new(Arena *a, const char *name) {
  IrModule *m = HDB_NEW(a, IrModule);
  m->arena = a;
  m->name = hdb_strdup(a, name);
  hdir_types_init(&m->types, a);
  hdb_map_init(&m->by_name, a);
  return m;
}

uint32_t hdir_file(IrModule *m, const char *path) {
  for (uint32_t i = 0; i < m->nfiles; i++)
    if (strcmp(m->files[i], path) == 0) return i;
  HDB_PUSH(m->arena, m->files, m->nfiles, m->cap_files, hdb_strdup(m->arena, path));
  return m->nfiles - 1;
}

IrFunc *hdir_func_new(IrModule *m, const char *name, bool is_kernel, uint32_t nparams, const IrType *const params[],
                      uint32_t nresults, const IrType *const results[]) {
  assert(!hdir_func_find(m, name) && "names of functions are unique in a module");
  IrFunc *fn = HDB_NEW(m->arena, IrFunc);
  fn->module = m;
  fn->name = hdb_strdup(m->arena, name);
  fn->is_kernel = is_kernel;
  fn->nresults = nresults;
  fn->results = hdb_copy(m->arena, results, sizeof *results * nresults);
  hdb_map_init(&fn->consts, m->arena);
  fn->body = hdir_region_new(fn, NULL, nparams, params);
  HDB_PUSH(m->arena, m->funcs, m->nfuncs, m->cap_funcs, fn);
  hdb_map_set_str(&m->by_name, name, fn);
  return fn;
}

IrFunc *hdir_func_find(const IrModule *m, const char *name) { return hdb_map_get_str(&m->by_name, name); }

void hdir_func_rename(IrFunc *fn, const char *name) {
  IrModule *m = fn->module;
  assert(!hdir_func_find(m, name));
  hdb_map_set_str(&m->by_name, fn->name, NULL);
  fn->name = hdb_strdup(m->arena, name);
  hdb_map_set_str(&m->by_name, fn->name, fn);
}

void hdir_func_remove(IrModule *m, IrFunc *fn) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < m->nfuncs; i++)
    if (m->funcs[i] != fn) m->funcs[kept++] = m->funcs[i];
  if (kept == m->nfuncs) return;
  m->nfuncs = kept;
  hdb_map_set_str(&m->by_name, fn->name, NULL);
}

static const IrType **import_types(IrModule *to, uint32_t n, const IrType *const types[]) {
  const IrType **r = HDB_NEW_N(to->arena, const IrType *, n);
  for (uint32_t i = 0; i < n; i++) r[i] = hdir_type_import(&to->types, types[i]);
  return r;
}

IrFunc *hdir_func_import(IrModule *to, const IrFunc *fn) {
  IrFunc *copy = hdir_func_find(to, fn->name);
  if (copy) return copy;
  const IrRegion *body = fn->body;
  const IrType **params = HDB_NEW_N(to->arena, const IrType *, body->nparams);
  for (uint32_t i = 0; i < body->nparams; i++) params[i] = hdir_type_import(&to->types, body->params[i]->type);
  copy = hdir_func_new(to, fn->name, fn->is_kernel, body->nparams, params, fn->nresults,
                       import_types(to, fn->nresults, fn->results));
  copy->fast = fn->fast;
  copy->is_extern = fn->is_extern;
  copy->is_pure = fn->is_pure;
  copy->rank = fn->rank;
  copy->group = fn->group;
  copy->loc = fn->loc;
  if (fn->loc.line && to != fn->module) copy->loc.file = hdir_file(to, fn->module->files[fn->loc.file]);
  IrValue **map = HDB_NEW_N(to->arena, IrValue *, fn->nvalues);
  for (uint32_t i = 0; i < body->nparams; i++) {
    const char *name = body->params[i]->name;
    copy->body->params[i]->name = name ? hdb_strdup(to->arena, name) : NULL;
    map[body->params[i]->id] = copy->body->params[i];
  }
  IrBuilder b;
  hdir_build_begin(&b, copy);
  b.no_fold = true;
  hdir_clone_region_body(&b, body, map);
  return copy;
}

/* --- constants --- */

IrValue *hdir_const(IrFunc *fn, const IrType *scalar, uint64_t bits) {
  uint32_t n = hdir_bits(scalar);
  if (n < 64) bits &= (UINT64_C(1) << n) - 1;
  const uint64_t key[2] = {scalar->id, bits};
  MapSlot *slot = hdb_map_slot(&fn->consts, key, sizeof key);
  if (slot->value) return slot->value;
  IrValue *v = hdir_value_new(fn, scalar);
  v->bits = bits;
  slot->value = v;
  return v;
}

IrValue *hdir_const_int(IrFunc *fn, const IrType *scalar, int64_t x) {
  assert(hdir_is_int(scalar));
  return hdir_const(fn, scalar, (uint64_t)x);
}

IrValue *hdir_const_float(IrFunc *fn, const IrType *scalar, double x) {
  assert(hdir_is_float(scalar));
  return hdir_const(fn, scalar, hdir_bits_of(scalar, x));
}

IrValue *hdir_const_bool(IrFunc *fn, bool x) { return hdir_const(fn, hdir_scalar(&fn->module->types, IR_BOOL), x); }

bool hdir_const_is_int(const IrValue *v, int64_t x) {
  return hdir_is_const(v) && hdir_is_int(v->type) && hdir_const_i64(v) == x;
}

int64_t hdir_const_i64(const IrValue *v) { return hdir_i64_of(v->type, v->bits); }

double hdir_const_f64(const IrValue *v) { return hdir_f64_of(v->type, v->bits); }

/* --- raw editing --- */

IrValue *hdir_value_new(IrFunc *fn, const IrType *type) {
  IrValue *v = HDB_NEW(fn->module->arena, IrValue);
  v->type = type;
  v->id = fn->nvalues++;
  return v;
}

IrInst *hdir_inst_new(IrFunc *fn, IrOp op, uint32_t nargs, IrValue *const args[], uint32_t nres,
                      const IrType *const res[]) {
  Arena *a = fn->module->arena;
  IrInst *i = HDB_NEW(a, IrInst);
  i->op = op;
  i->id = fn->ninsts++;
  i->nargs = nargs;
  i->nres = nres;
  if (nargs) i->args = hdb_copy(a, args, sizeof *args * nargs);
  if (nres) i->res = HDB_NEW_N(a, IrValue *, nres);
  for (uint32_t k = 0; k < nres; k++) {
    i->res[k] = hdir_value_new(fn, res[k]);
    i->res[k]->def = i;
    i->res[k]->index = k;
  }
  return i;
}

IrRegion *hdir_region_new(IrFunc *fn, IrInst *parent, uint32_t nparams, const IrType *const params[]) {
  Arena *a = fn->module->arena;
  IrRegion *r = HDB_NEW(a, IrRegion);
  r->fn = fn;
  r->parent = parent;
  r->nparams = nparams;
  if (nparams) r->params = HDB_NEW_N(a, IrValue *, nparams);
  for (uint32_t k = 0; k < nparams; k++) {
    r->params[k] = hdir_value_new(fn, params[k]);
    r->params[k]->region = r;
    r->params[k]->index = k;
  }
  return r;
}

void hdir_append(IrRegion *r, IrInst *i) {
  assert(!i->region);
  i->region = r;
  i->prev = r->last;
  i->next = NULL;
  *(r->last ? &r->last->next : &r->first) = i;
  r->last = i;
}

void hdir_insert_before(IrInst *at, IrInst *i) {
  assert(!i->region && at->region);
  i->region = at->region;
  i->prev = at->prev;
  i->next = at;
  *(at->prev ? &at->prev->next : &at->region->first) = i;
  at->prev = i;
}

void hdir_unlink(IrInst *i) {
  IrRegion *r = i->region;
  *(i->prev ? &i->prev->next : &r->first) = i->next;
  *(i->next ? &i->next->prev : &r->last) = i->prev;
  i->region = NULL;
  i->prev = i->next = NULL;
}

/* --- walking --- */

IrInst *hdir_inst_next(const IrInst *i) {
  for (uint32_t k = 0; k < i->nsubs; k++)
    if (i->sub[k]->first) return i->sub[k]->first;
  for (;;) {
    if (i->next) return i->next;
    const IrRegion *r = i->region;
    i = r->parent;
    if (!i) return NULL;
    if (i->nsubs == 2 && r == i->sub[0] && i->sub[1]->first) return i->sub[1]->first;
  }
}

const IrInst *hdir_head_test(const IrInst *loop) {
  const IrInst *i = loop->sub[0]->first;
  while (hdir_ops[i->op].effect == FX_PURE || hdir_ops[i->op].effect == FX_LAUNCH) i = i->next;
  if (i->op != IR_if) return NULL;
  return (i->sub[0]->last->op == IR_break) != (i->sub[1]->last->op == IR_break) ? i : NULL;
}

bool hdir_region_contains(const IrRegion *outer, const IrRegion *inner) {
  while (inner && inner != outer) inner = inner->parent ? inner->parent->region : NULL;
  return inner == outer && outer;
}

void hdir_replace_uses(IrFunc *fn, IrValue **map) {
  for (IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) {
    for (uint32_t k = 0; k < i->nargs; k++) {
      while (map[i->args[k]->id]) i->args[k] = map[i->args[k]->id];
    }
  }
}

uint32_t *hdir_count_uses(const IrFunc *fn, Arena *a) {
  uint32_t *n = HDB_NEW_N(a, uint32_t, fn->nvalues);
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i))
    for (uint32_t k = 0; k < i->nargs; k++) n[i->args[k]->id]++;
  return n;
}
