/* frontend/lang/call.c -- calls: constructors, core functions, functions of the file, of its imports, of the library.
 *
 * The nearest definition that fits wins: the caller's own file and its imports, then the core, then the library. A ref
 * parameter is copied in and out through a further result; a fixed array goes by the address of a local one.
 */
#include <stdio.h>

#include "frontend/lang/lower.h"
#include "ir/layout.h"

/* --- finding --- */

/* The functions of a name that the file or its imports have: up to 9 chains. */
typedef struct Chains {
  FeFn *list[9];
  uint32_t n;
} Chains;

static Chains near_chains(const FeLower *L, const char *name) {
  Chains c = {0};
  FeFn *own = hdb_map_get_str(&L->unit->fns, name);
  if (own) c.list[c.n++] = own;
  for (uint32_t i = 0; i < L->unit->nimports && c.n < 9; i++) {
    FeFn *f = hdb_map_get_str(&L->unit->imports[i]->fns, name);
    if (f) c.list[c.n++] = f;
  }
  return c;
}

static Chains far_chains(FeLower *L, const char *name) {
  Chains c = {0};
  FeUnit *units[8];
  uint32_t n = hdfe_library_units(L->fe, name, units);
  for (uint32_t i = 0; i < n; i++) {
    FeFn *f = units[i] == L->unit ? NULL : hdb_map_get_str(&units[i]->fns, name);
    if (f) c.list[c.n++] = f;
  }
  return c;
}

static bool chain_has_ref(const Chains *c, uint32_t nargs, uint32_t arg) {
  for (uint32_t i = 0; i < c->n; i++)
    for (const FeFn *f = c->list[i]; f; f = f->next)
      if (f->nparams == nargs && f->params[arg].is_ref) return true;
  return false;
}

bool hdfe_calls_with_ref(FeLower *L, const FeExpr *call, uint32_t arg) {
  if (call->kind != FE_CALL) return false;
  Chains c = near_chains(L, call->name);
  if (chain_has_ref(&c, call->nargs, arg)) return true;
  if (hdfe_is_core(call->name) || hdfe_type_named(L, call->name)) return false;
  c = far_chains(L, call->name);
  return chain_has_ref(&c, call->nargs, arg);
}

/* --- instances --- */

/* Letters and digits of a type's name: vec<f32, 3> is vec_f32_3. */
static void put_plain(Buf *b, const char *s) {
  bool gap = false;
  for (; *s; s++) {
    bool plain =
        (*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_' || *s == '.';
    if (plain && gap) hdb_putc(b, '_');
    if (plain) hdb_putc(b, *s);
    gap = !plain && b->len > 0 && b->data[b->len - 1] != '.';
  }
}

static const char *operator_word(const char *op) {
  static const char *const words[][2] = {{"+", "add"},  {"-", "sub"},  {"*", "mul"}, {"/", "div"}, {"%", "rem"},
                                         {"&", "and"},  {"|", "or"},   {"^", "xor"}, {"~", "not"}, {"<<", "shl"},
                                         {">>", "shr"}, {"!", "lnot"}, {"==", "eq"}, {"!=", "ne"}, {"<", "lt"},
                                         {"<=", "le"},  {">", "gt"},   {">=", "ge"}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i][0], op) == 0) return words[i][1];
  return "op";
}

/* dot.f32.3 for a generic function, sin.f64 for one of several, the bare name otherwise. */
static const char *instance_name(FeLower *L, const FeInstance *i) {
  FeFn *f = i->fn;
  Buf b;
  hdb_buf_init(&b, L->fe->arena);
  if (f->is_kernel) return f->name;
  if (strncmp(f->name, "operator", 8) == 0 && !((f->name[8] | 32) >= 'a' && (f->name[8] | 32) <= 'z') &&
      f->name[8] != '_')
    hdb_putf(&b, "operator_%s", operator_word(f->name + 8));
  else
    hdb_put(&b, f->name);
  FeFn *chain = hdb_map_get_str(&f->unit->fns, f->name);
  bool several = f->unit->library || (chain && chain->next);
  for (uint32_t k = 0; k < f->ngenerics; k++) {
    hdb_putc(&b, '.');
    if (i->binds[k].type)
      put_plain(&b, hdir_type_name(L->fe->arena, i->binds[k].type));
    else
      hdb_putf(&b, "%lld", (long long)i->binds[k].size);
  }
  for (uint32_t k = 0; several && !f->ngenerics && k < f->nparams; k++) {
    hdb_putc(&b, '.');
    put_plain(&b, hdir_type_name(L->fe->arena, i->params[k]));
  }
  return b.data;
}

static const char *unused_name(FeLower *L, const char *base) {
  const char *name = base;
  for (uint32_t k = 2; hdir_func_find(L->fe->module, name); k++) name = hdb_printf(L->fe->arena, "%s.%u", base, k);
  return name;
}

/* The name that the module gives to a function. Those of kernels and C functions are known outside, so another that has the
 * name already takes a new one; NULL if that one is known outside too. */
static const char *take_name(FeLower *L, const FeFn *f, const char *name) {
  IrFunc *other = hdir_func_find(L->fe->module, name);
  if (!other || !(f->is_kernel || f->is_extern)) return unused_name(L, name);
  if (other->is_kernel || other->is_extern) return NULL;
  hdir_func_rename(other, unused_name(L, name));
  return name;
}

/* What travels by address: a shared object, and by ref a fixed array or a struct with one. */
static bool by_address(const FeParam *p, const IrType *t) { return p->is_shared || (p->is_ref && hdfe_has_fixed(t)); }
static IrSpace space_of(const FeParam *p) { return p->is_shared ? IR_SHARED : IR_LOCAL; }

static void extern_error(FeLower *in, FeSpan at, const char *what, const char *instead) {
  FeReport *r = hdfe_error(in, at, FE_D_extern_parameter, what);
  hdfe_hint(in->fe, r, "%s", instead);
}

/* What C cannot take; the verifier has the same rules. */
static bool check_extern(FeLower *in, FeInstance *i) {
  FeFn *f = i->fn;
  bool array = false;
  for (uint32_t k = 0; k < f->nparams; k++) {
    const IrType *t = i->params[k];
    array |= t->kind == IR_ARRAY;
    if (f->params[k].is_ref) {
      extern_error(in, f->params[k].span, "a ref parameter", "let it return a struct with all that it gives");
      return false;
    }
    if (t->kind != IR_ARRAY && hdfe_has_array(t)) {
      extern_error(in, f->params[k].span, "a parameter that is a struct with arrays", "make each array a parameter");
      return false;
    }
  }
  if (f->pure && (array || !i->result)) {
    hdfe_error(in, f->span, FE_D_extern_pure, f->name,
               array ? "has an array, whose elements may change between two calls"
                     : "has no result, and that is all it could give");
    return false;
  }
  return true;
}

static bool check_head(FeLower *in, FeInstance *i) {
  FeFn *f = i->fn;
  if (f->result) {
    i->result = hdfe_type(in, f->result);
    if (!i->result) return false;
    if (hdfe_has_array(i->result)) {
      hdfe_error(in, f->result->span, FE_D_array_place);
      return false;
    }
  }
  for (uint32_t k = 0; k < f->nparams; k++) {
    if (!f->params[k].is_ref || !hdfe_has_array(i->params[k])) continue;
    FeReport *r = hdfe_error(in, f->params[k].type->span, FE_D_type_argument,
                             f->params[k].is_shared ? "a shared parameter" : "a ref parameter", "an array");
    hdfe_hint(in->fe, r,
              f->params[k].is_shared ? "state its size: shared f32 a[64]"
                                     : "leave ref out: the elements of an array can be assigned anyway");
    return false;
  }
  return f->is_extern ? check_extern(in, i) : true;
}

static bool same_head(const IrFunc *g, const FeInstance *i, uint32_t np, const IrType *const params[]) {
  bool same = g->is_extern && g->is_pure == i->fn->pure && g->body->nparams == np;
  for (uint32_t k = 0; same && k < np; k++) same = g->body->params[k]->type == params[k];
  return same && (g->nresults ? g->results[0] : NULL) == i->result;
}

/* Of @group(..); 0 after a report. */
static int32_t group_size(FeLower *L, FeExpr *e) {
  FeBig n = 0;
  if (!hdfe_const_int(L, e, &n)) return 0;
  if (n >= 0 && n <= HD_MAX_GROUP && hdir_is_group_size((int64_t)n)) return (int32_t)n;
  hdfe_error(L, e->span, FE_D_group_size, (long long)n);
  return 0;
}

/* The head of an instance's IR; false if there is no body to lower: the module has the function already, or never will. */
static bool instance_func(FeLower *L, FeInstance *i, FeSpan span) {
  FeFn *f = i->fn;
  Arena *a = L->fe->arena;
  const IrType **params = HDB_NEW_N(a, const IrType *, f->nparams + 1),
               **results = HDB_NEW_N(a, const IrType *, f->nparams + 2);
  uint32_t np = 0, nr = 0;
  if (i->result) results[nr++] = i->result;
  for (uint32_t k = 0; k < f->nparams; k++) {
    const FeParam *p = &f->params[k];
    if (p->is_const) continue;
    bool address = by_address(p, i->params[k]);
    params[np++] = address ? hdir_ptr(hdfe_types(L), i->params[k], space_of(p)) : i->params[k];
    if (p->is_ref && !address) results[nr++] = i->params[k];
  }
  const char *name = f->is_extern ? f->name : instance_name(L, i);
  IrFunc *have = hdir_func_find(L->fe->module, name);
  if (L->fe->linking && f->unit->library && (i->ir = have)) {
    i->needs_group = hdir_needs_group(have);
    return false;
  }
  if (f->is_extern && have && same_head(have, i, np, params)) { /* declared in two files */
    i->ir = have;
    return false;
  }
  if (!(name = take_name(L, f, name))) {
    hdfe_error(L, span, FE_D_extern_twice, f->name);
    i->broken = true;
    return false;
  }
  i->ir = hdir_func_new(L->fe->module, name, f->is_kernel, np, params, nr, results);
  i->ir->fast = f->fast || (f->is_kernel && L->fe->options->fast);
  i->ir->is_extern = f->is_extern;
  i->ir->is_pure = f->pure;
  i->ir->loc = (IrLoc){f->unit->file, f->span.line, f->span.col};
  i->ir->group = f->group ? group_size(L, f->group) : 0;
  if (!f->is_extern) return true;
  for (uint32_t k = 0; k < np; k++) i->ir->body->params[k]->name = f->params[k].name;
  HDB_PUSH(L->fe->arena, L->fe->done, L->fe->ndone, L->fe->cap_done, i->ir);
  return false;
}

static void instance_lower(FeLower *L, FeInstance *i, FeSpan span) {
  IrBuilder *b = HDB_NEW(L->fe->arena, IrBuilder);
  hdir_build_begin(b, i->ir);
  FeLower in = {.fe = L->fe,
                .unit = i->fn->unit,
                .fn = i->fn,
                .instance = i,
                .binds = i->binds,
                .b = b,
                .caller = i->fn->is_kernel ? NULL : L,
                .call_span = span,
                .depth = L->depth + 1};
  i->busy = true;
  hdfe_lower_body(&in);
  i->busy = false;
  HDB_PUSH(L->fe->arena, L->fe->done, L->fe->ndone, L->fe->cap_done, i->ir);
}

FeInstance *hdfe_instance(FeLower *L, const FeMatch *m, FeSpan span) {
  uint32_t n = m->fn->ngenerics;
  uint64_t *key = HDB_NEW_N(L->fe->arena, uint64_t, 1 + 2 * n);
  key[0] = (uint64_t)(uintptr_t)m->fn;
  for (uint32_t k = 0; k < n; k++) {
    key[1 + 2 * k] = (uint64_t)(uintptr_t)m->binds[k].type;
    key[2 + 2 * k] = (uint64_t)m->binds[k].size;
  }
  MapSlot *slot = hdb_map_slot(&L->fe->instances, key, sizeof *key * (1 + 2 * n));
  if (slot->value) {
    FeInstance *i = slot->value;
    if (i->busy) hdfe_error(L, span, FE_D_recursion, m->fn->name);
    return i->busy || i->broken ? NULL : i;
  }
  FeInstance *i = HDB_NEW(L->fe->arena, FeInstance);
  slot->value = i;
  *i = (FeInstance){.fn = m->fn, .binds = m->binds, .params = m->params};
  FeLower in = hdfe_outside(L->fe, m->fn->unit, m->binds, m->fn);
  i->broken = !hdfe_count(L, 16, span);
  if (L->depth >= FE_MAX_CALLS) {
    hdfe_error(L, span, FE_D_call_depth, FE_MAX_CALLS);
    i->broken = true;
  }
  if (i->broken || !check_head(&in, i)) {
    i->broken = true;
    return NULL;
  }
  if (instance_func(&in, i, m->fn->span)) instance_lower(L, i, span);
  return i->broken ? NULL : i;
}

/* --- the call itself --- */

typedef struct Out { /* a ref argument to be written back */
  FePlace *place;
  IrValue *temp; /* the local copy, or NULL: the call's next result */
} Out;

/* The load of a place that only its type was asked of. */
static void forget_load(IrValue *now, const IrValue *from) {
  if (now->def && now->def->op == IR_load && now->def->args[0] == from) hdir_unlink(now->def);
}

/* The address for a ref parameter that travels by address: the variable's own, or a copy's. */
static IrValue *ref_address(FeLower *L, FePlace *p, IrValue *now, Out *out) {
  IrValue *own = hdfe_place_pointer(L, p);
  if (own && own->type->space == IR_LOCAL && !p->ok) {
    forget_load(now, own);
    out->place = NULL;
    return own;
  }
  out->temp = hdir_alloca(L->b, p->type);
  hdir_store(L->b, out->temp, now);
  return out->temp;
}

/* The address of a shared object; NULL after a report. */
static IrValue *shared_address(FeLower *L, const FeMatch *m, uint32_t k, FeEx x, FePlace *place, FeExpr *e) {
  const FeParam *p = &m->fn->params[k];
  IrValue *own = place ? hdfe_place_pointer(L, place) : NULL; /* an index outside was made 0 */
  if (!own || own->type->space != IR_SHARED) {
    FeReport *r = hdfe_error(L, e->span, FE_D_shared_argument, k + 1, p->name);
    hdfe_note(L->fe, r, m->fn->unit, p->span, FE_D_declared_here, p->name);
    return NULL;
  }
  forget_load(x.v, own);
  return own;
}

static IrValue *pass(FeLower *L, const FeMatch *m, uint32_t k, FeEx x, FePlace *place, FeExpr *e, Out *out) {
  const FeParam *p = &m->fn->params[k];
  if (p->is_shared) return shared_address(L, m, k, x, place, e);
  if (!p->is_ref) return hdfe_coerce(L, x, m->params[k], e->span);
  if (!place || place->kind == FE_PLACE_VALUE || place->kind == FE_PLACE_UNTYPED) {
    if (place && place->var && place->var->locked) {
      hdfe_place_assignable(L, place, e);
      return NULL;
    }
    FeReport *r = hdfe_error(L, e->span, FE_D_ref_argument, k + 1, p->name);
    hdfe_note(L->fe, r, m->fn->unit, p->span, FE_D_declared_here, p->name);
    return NULL;
  }
  if (!hdfe_place_assignable(L, place, e)) return NULL;
  out->place = place;
  return by_address(p, m->params[k]) ? ref_address(L, place, x.v, out) : x.v;
}

static FeEx emit_call(FeLower *L, const FeMatch *m, uint32_t n, FeEx args[], FePlace *places[], FeExpr *const exprs[],
                      FeSpan span) {
  Arena *a = L->fe->arena;
  IrValue **values = HDB_NEW_N(a, IrValue *, n + 1);
  Out *outs = HDB_NEW_N(a, Out, n + 1);
  bool ok = true;
  hdfe_at(L, span);
  for (uint32_t k = 0; k < n; k++)
    ok &= (values[k] = pass(L, m, k, args[k], places ? places[k] : NULL, exprs[k], &outs[k])) != NULL;
  FeInstance *i = hdfe_instance(L, m, span);
  if (!i || !ok || (i->needs_group && !hdfe_needs_group(L, span, m->fn->name))) return hdfe_ex_error();
  hdfe_at(L, span);
  IrInst *call = hdir_call(L->b, i->ir, values);
  uint32_t r = i->result ? 1 : 0;
  for (uint32_t k = 0; k < n; k++) {
    if (!outs[k].place) continue;
    IrValue *back = outs[k].temp ? hdir_load(L->b, outs[k].temp) : call->res[r++];
    hdfe_place_write(L, outs[k].place, back);
  }
  return i->result ? hdfe_ex(call->res[0]) : (FeEx){.kind = FE_X_VOID};
}

/* --- errors --- */

static void note_candidates(FeLower *L, FeReport *r, const FeOverloads *all) {
  for (uint32_t i = 0; i < all->count && i < 4; i++) {
    FeFn *f = all->first[i];
    hdfe_note(L->fe, r, f->unit, f->span, FE_D_candidate, hdfe_shown_fn(L, f));
  }
}

static FeEx no_function(FeLower *L, FeExpr *e, uint32_t n, const FeEx args[]) {
  if (hdfe_is_core(e->name)) {
    hdfe_error(L, e->span, FE_D_core_argument, e->name, hdfe_shown_args(L, n, args));
    return hdfe_ex_error();
  }
  FeSpan at = e->callee ? e->callee->span : e->span;
  FeReport *r = hdfe_error(L, at, FE_D_unknown_function, e->name);
  FeNearest near;
  hdfe_nearest_begin(&near, e->name);
  hdfe_offer_core(&near);
  for (uint32_t i = 0; i < L->unit->nfns; i++) hdfe_nearest_offer(&near, L->unit->fn_list[i]->name);
  for (uint32_t u = 0; u < L->unit->nimports; u++)
    for (uint32_t i = 0; i < L->unit->imports[u]->nfns; i++)
      hdfe_nearest_offer(&near, L->unit->imports[u]->fn_list[i]->name);
  hdfe_offer_types(L, &near);
  if (r && !near.best) near.best = hdfe_library_near(L->fe, e->name);
  hdfe_nearest_hint(L->fe, r, &near);
  return hdfe_ex_error();
}

static const char *count_text(FeLower *L, uint32_t n) {
  return hdb_printf(L->fe->arena, n == 0 ? "no arguments" : n == 1 ? "1 argument" : "%u arguments", n);
}

static FeEx no_match(FeLower *L, FeExpr *e, uint32_t n, const FeEx args[], const FeOverloads *all) {
  FeFn *f = all->first[0];
  if (all->broken) return hdfe_ex_error(); /* its head was reported */
  if (f->is_kernel) {
    hdfe_error(L, e->span, FE_D_call_kernel, e->name);
    return hdfe_ex_error();
  }
  FeReport *r;
  if (all->count == 1 && f->nparams != n) {
    r = hdfe_error(L, e->span, FE_D_argument_count, e->name, count_text(L, f->nparams), n);
  } else if (all->count == 1 && all->infer) {
    r = hdfe_error(L, e->span, FE_D_cannot_infer, all->infer, e->name);
    hdfe_hint(L->fe, r, "state it: %s<..>(..)", e->name);
  } else {
    r = hdfe_error(L, e->span, FE_D_no_match, e->name, hdfe_shown_args(L, n, args));
  }
  note_candidates(L, r, all);
  return hdfe_ex_error();
}

/* --- choosing --- */

static bool choose(FeLower *L, const Chains *c, FeExpr *e, const char *name, uint32_t n, const FeEx args[],
                   const FeTypeRef *callee, FeMatch *best, FeOverloads *all) {
  for (uint32_t i = 0; i < c->n; i++) hdfe_overload(L, c->list[i], n, args, callee, best, all);
  if (best->fn && best->tie) {
    FeReport *r = hdfe_error(L, e->span, FE_D_ambiguous, name, hdfe_shown_args(L, n, args));
    note_candidates(L, r, all);
  }
  return best->fn != NULL;
}

static FeEx call_function(FeLower *L, FeExpr *e, uint32_t n, FeEx args[], FePlace *places[]) {
  FeMatch best = {0};
  FeOverloads all = {0};
  FeEx out;
  Chains near = near_chains(L, e->name);
  if (choose(L, &near, e, e->name, n, args, e->callee, &best, &all))
    return best.tie ? hdfe_ex_error() : emit_call(L, &best, n, args, places, e->args, e->span);
  hdfe_at(L, e->span);
  if (hdfe_core(L, e, n, args, &out)) return out;
  bool core = all.count == 0 && hdfe_is_core(e->name); /* what the library adds to it is not what was meant */
  Chains far = far_chains(L, e->name);
  if (choose(L, &far, e, e->name, n, args, e->callee, &best, &all))
    return best.tie ? hdfe_ex_error() : emit_call(L, &best, n, args, places, e->args, e->span);
  return all.count && !core ? no_match(L, e, n, args, &all) : no_function(L, e, n, args);
}

FeEx hdfe_call_named(FeLower *L, const char *name, uint32_t n, FeEx args[], FeExpr *e, bool *found) {
  FeMatch best = {0};
  FeOverloads all = {0};
  Chains near = near_chains(L, name), far;
  FeExpr *exprs[2] = {e->a, e->b ? e->b : e->a};
  *found = choose(L, &near, e, name, n, args, NULL, &best, &all);
  if (!*found) {
    far = far_chains(L, name);
    *found = choose(L, &far, e, name, n, args, NULL, &best, &all);
  }
  if (all.broken && !*found) *found = true; /* be silent */
  if (!best.fn || best.tie) return hdfe_ex_error();
  return emit_call(L, &best, n, args, NULL, exprs, e->span);
}

/* --- all kinds --- */

static FeEx call_method(FeLower *L, FeExpr *e) {
  FePlace p = hdfe_place(L, e->a);
  if (p.kind == FE_PLACE_ERROR) return hdfe_ex_error();
  bool array = p.kind != FE_PLACE_UNTYPED && p.type->kind == IR_ARRAY;
  if (!array || strcmp(e->name, "length") != 0) {
    FeReport *r = hdfe_error(L, e->at, FE_D_unknown_field,
                             p.kind == FE_PLACE_UNTYPED ? hdfe_shown(L, p.ex) : hdfe_shown_type(L, p.type), e->name);
    hdfe_hint(L->fe, r, "functions are called as %s(x, ..)", e->name);
    return hdfe_ex_error();
  }
  FeBig axis = 0;
  if (e->nargs > 1) {
    hdfe_error(L, e->span, FE_D_argument_count, "length", "an axis or nothing", e->nargs);
    return hdfe_ex_error();
  }
  if (e->nargs == 1 && !hdfe_const_int(L, e->args[0], &axis)) return hdfe_ex_error();
  if (axis < 0 || axis >= p.type->rows) {
    hdfe_error(L, e->args[0]->span, FE_D_axis_range, p.type->rows - 1);
    return hdfe_ex_error();
  }
  hdfe_at(L, e->span);
  return hdfe_ex(hdir_length(L->b, hdfe_place_read(L, &p), (uint32_t)axis, hdfe_scalar(L, IR_I32)));
}

static bool may_be_place(const FeExpr *e) { return e->kind == FE_NAME || e->kind == FE_INDEX || e->kind == FE_FIELD; }

/* The arguments from left to right; those that may be ref as places. False if one had an error. */
static bool eval_args(FeLower *L, FeExpr *e, FeEx args[], FePlace *places[]) {
  bool ok = true;
  for (uint32_t i = 0; i < e->nargs; i++) {
    FeExpr *arg = e->args[i];
    if (places && may_be_place(arg) && hdfe_calls_with_ref(L, e, i)) {
      places[i] = HDB_NEW(L->fe->arena, FePlace);
      *places[i] = hdfe_place(L, arg);
      hdfe_at(L, arg->span);
      FePlaceKind k = places[i]->kind;
      args[i] = k == FE_PLACE_UNTYPED ? places[i]->ex
                : k == FE_PLACE_ERROR ? hdfe_ex_error()
                                      : hdfe_ex(hdfe_place_read(L, places[i]));
    } else {
      args[i] = hdfe_expr(L, arg);
    }
    if (args[i].kind == FE_X_VOID) {
      hdfe_error(L, arg->span, FE_D_void_value, arg->name ? arg->name : "the function");
      args[i] = hdfe_ex_error();
    }
    ok &= args[i].kind != FE_X_ERROR;
  }
  return ok;
}

/* Whether the name before ( is a type here. */
static bool names_type(FeLower *L, FeExpr *e) {
  if (hdfe_type_named(L, e->name)) return true;
  if (hdfe_is_type_family(e->name) && (e->callee->nargs || strcmp(e->name, "vec") == 0 || strcmp(e->name, "mat") == 0))
    return true;
  Chains c = near_chains(L, e->name);
  return c.n == 0 && !hdfe_is_core(e->name) && hdfe_find_struct(L, e->name);
}

FeEx hdfe_call(FeLower *L, FeExpr *e) {
  if (e->kind == FE_METHOD) return call_method(L, e);
  FeEx *args = HDB_NEW_N(L->fe->arena, FeEx, e->nargs + 1);
  FePlace **places = HDB_NEW_N(L->fe->arena, FePlace *, e->nargs + 1);
  FeVar *v = hdfe_find_var(L, e->name);
  if (v) {
    v->used = true;
    FeReport *r = v->kind == FE_VAR_ERROR ? NULL
                                          : hdfe_error(L, e->callee->span, FE_D_not_a_function, e->name,
                                                       v->is_param ? "parameter" : "variable");
    hdfe_note(L->fe, r, L->unit, v->span, FE_D_declared_here, e->name);
    return hdfe_ex_error();
  }
  if (names_type(L, e)) {
    const IrType *t = hdfe_type(L, e->callee);
    bool ok = eval_args(L, e, args, NULL);
    return t && ok ? hdfe_construct(L, t, e->nargs, args, e) : hdfe_ex_error();
  }
  FeEx out;
  if (near_chains(L, e->name).n == 0 && hdfe_core_first(L, e, &out)) return out;
  if (!eval_args(L, e, args, places)) return hdfe_ex_error();
  return call_function(L, e, e->nargs, args, places);
}
