/* frontend/lang/overload.c -- which function a call means, and what its generic parameters stand for.
 *
 * A candidate fits if each typed argument has exactly its parameter's type (generic parameters are found by matching
 * the two) and each untyped number can take it. Of those that fit, the one that asks least of the untyped numbers
 * wins (an integer wants to be i32, else f32, else f64, else any other number; a float the same without i32), then
 * the one whose parameters say most about their types.
 */
#include "frontend/lang/lower.h"

enum { CONCRETE = 16 }; /* how much a parameter without generics says; below are the classes and shapes */

typedef struct Matching {
  FeLower in; /* the candidate's unit and bindings */
  FeFn *fn;
  FeBind *binds;
  int penalty, specific;
} Matching;

static bool class_has(FeClass c, const IrType *t) {
  switch (c) {
  case FE_NUMBER: return hdfe_is_number(t);
  case FE_FLOATS: return hdir_is_float(t);
  case FE_INTEGER: return hdir_is_int(t);
  case FE_SIGNED: return hdir_is_signed(t) || hdir_is_float(t);
  default: return true;
  }
}

static int class_says(FeClass c) {
  static const int says[] = {[FE_ANY] = 0, [FE_NUMBER] = 1, [FE_SIGNED] = 2, [FE_FLOATS] = 3, [FE_INTEGER] = 3};
  return c == FE_SIZE ? 0 : says[c];
}

static int generic_of(const Matching *m, const char *name) {
  for (uint32_t i = 0; name && i < m->fn->ngenerics; i++)
    if (m->fn->generics[i].name == name) return (int)i;
  return -1;
}

static bool bind_type(Matching *m, int g, const IrType *t) {
  FeBind *b = &m->binds[g];
  if (m->fn->generics[g].cls == FE_SIZE) return false;
  if (b->bound) return b->type == t;
  if (!class_has(m->fn->generics[g].cls, t)) return false;
  *b = (FeBind){.type = t, .bound = true};
  return true;
}

/* A size as written against one that is known: binds a lone name; other expressions are compared at the end. */
static bool match_size(Matching *m, const FeExpr *e, int64_t n) {
  if (e->kind == FE_INT) {
    m->specific += 1;
    return (int64_t)e->integer == n;
  }
  int g = e->kind == FE_NAME ? generic_of(m, e->name) : -1;
  if (g < 0) return true;
  if (m->fn->generics[g].cls != FE_SIZE) return false;
  FeBind *b = &m->binds[g];
  if (b->bound) return b->size == n;
  *b = (FeBind){.size = n, .bound = true};
  return true;
}

static bool match_type(Matching *m, const FeTypeRef *p, const IrType *t);

static bool match_family(Matching *m, const FeTypeRef *p, const IrType *t) {
  static const struct {
    const char *name;
    IrKind kind;
  } all[] = {{"vec", IR_VEC},         {"mat", IR_MAT},    {"quat", IR_QUAT}, {"transform", IR_TRANSFORM},
             {"spatial", IR_SPATIAL}, {"array", IR_ARRAY}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (strcmp(all[i].name, p->name) != 0) continue;
    if (t->kind != all[i].kind || !match_type(m, p->args[0], t->elem)) return false;
    if (p->nargs > 1 && p->args[1]->size && !match_size(m, p->args[1]->size, t->rows)) return false;
    return p->nargs <= 2 || !p->args[2]->size || match_size(m, p->args[2]->size, t->cols);
  }
  return false;
}

static bool match_type(Matching *m, const FeTypeRef *p, const IrType *t) {
  switch (p->kind) {
  case FE_TYPE_SIZE: return true;
  case FE_TYPE_FIXED:
    m->specific += 4;
    return t->kind == IR_FIXED && match_type(m, p->elem, t->elem) && match_size(m, p->size, t->rows);
  case FE_TYPE_ARRAY:
    m->specific += 4;
    return t->kind == IR_ARRAY && t->rows == p->ndim && match_type(m, p->elem, t->elem);
  default: break;
  }
  int g = p->nargs == 0 ? generic_of(m, p->name) : -1;
  if (g >= 0) {
    m->specific += class_says(m->fn->generics[g].cls);
    return bind_type(m, g, t);
  }
  if (p->nargs) {
    m->specific += 4;
    return match_family(m, p, t);
  }
  m->specific += CONCRETE;
  const IrType *named = hdfe_type_named(&m->in, p->name);
  if (named) return named == t;
  if (t->kind != IR_STRUCT) return false;
  FeStruct *s = hdfe_find_struct(&m->in, p->name);
  return s && hdfe_struct_type(m->in.fe, s) == t;
}

static bool literal_fits(Matching *m, FeEx x, const IrType *t) {
  if (!t || !hdfe_is_number(t)) return false;
  if (x.kind == FE_X_FLOAT && !hdir_is_float(t)) return false;
  static const IrKind order[] = {IR_I32, IR_F32, IR_F64};
  int asked = x.kind == FE_X_INT ? 0 : 1;
  while (asked < 3 && t->kind != order[asked]) asked++;
  m->penalty += asked;
  return true;
}

/* An untyped number against its parameter, once the typed arguments have bound what they can. */
static bool match_literal(Matching *m, const FeTypeRef *p, FeEx x) {
  if (p->kind != FE_TYPE_NAME || p->nargs) return false;
  int g = generic_of(m, p->name);
  if (g < 0) {
    m->specific += CONCRETE;
    return literal_fits(m, x, hdfe_type_named(&m->in, p->name));
  }
  if (m->binds[g].bound) return literal_fits(m, x, m->binds[g].type);
  FeClass cls = m->fn->generics[g].cls;
  const IrType *t = hdfe_scalar(&m->in, x.kind == FE_X_INT && cls != FE_FLOATS ? IR_I32 : IR_F32);
  m->specific += class_says(cls);
  return literal_fits(m, x, t) && bind_type(m, g, t);
}

/* f<f32, 4>(..) */
static bool bind_stated(FeLower *L, Matching *m, const FeTypeRef *callee) {
  if (!callee) return true;
  if (callee->nargs > m->fn->ngenerics) return false;
  for (uint32_t i = 0; i < callee->nargs; i++) {
    const FeTypeRef *a = callee->args[i];
    if (m->fn->generics[i].cls == FE_SIZE) {
      FeBig n;
      if (!a->size || !hdfe_const_int(L, a->size, &n) || n != (int64_t)n) return false;
      m->binds[i] = (FeBind){.size = (int64_t)n, .bound = true};
    } else {
      const IrType *t = a->kind == FE_TYPE_SIZE ? NULL : hdfe_type(L, a);
      if (!t || !bind_type(m, (int)i, t)) return false;
    }
  }
  return true;
}

static const IrType **param_types(Matching *m) {
  const IrType **types = HDB_NEW_N(m->in.fe->arena, const IrType *, m->fn->nparams + 1);
  for (uint32_t i = 0; i < m->fn->nparams; i++) {
    types[i] = hdfe_type(&m->in, m->fn->params[i].type);
    if (!types[i]) m->fn->broken = true;
    if (!types[i]) return NULL;
  }
  return types;
}

/* Whether f takes these arguments; fills m's bindings and *params. */
static bool match_fn(FeLower *L, Matching *m, uint32_t nargs, const FeEx args[], const FeTypeRef *callee,
                     const IrType ***params, FeOverloads *all) {
  FeFn *f = m->fn;
  if (nargs != f->nparams || !bind_stated(L, m, callee)) return false;
  for (uint32_t i = 0; i < nargs; i++)
    if (args[i].kind == FE_X_VALUE && !match_type(m, f->params[i].type, args[i].v->type)) return false;
  for (uint32_t i = 0; i < nargs; i++)
    if (args[i].kind != FE_X_VALUE && !match_literal(m, f->params[i].type, args[i])) return false;
  for (uint32_t i = 0; i < f->ngenerics; i++)
    if (!m->binds[i].bound) {
      all->infer = f->generics[i].name;
      return false;
    }
  *params = param_types(m);
  if (!*params) return false;
  for (uint32_t i = 0; i < nargs; i++) /* sizes that are expressions */
    if (args[i].kind == FE_X_VALUE && (*params)[i] != args[i].v->type) return false;
  return true;
}

/* One C function that two files declare; whether they agree on all of it is seen when it is called. */
static bool same_extern(const FeMatch *a, const FeMatch *b) {
  return a->fn->is_extern && b->fn->is_extern && a->fn->nparams == b->fn->nparams &&
         !memcmp(a->params, b->params, sizeof *a->params * a->fn->nparams);
}

static void keep_better(FeMatch *best, const Matching *m, const IrType **params) {
  FeMatch here = {.fn = m->fn, .binds = m->binds, .params = params, .penalty = m->penalty, .specific = m->specific};
  if (m->fn->ngenerics == 0) here.specific += 1 << 20; /* without generics beats any generic one */
  if (best->fn && best->penalty == here.penalty && best->specific == here.specific) {
    best->tie |= !same_extern(best, &here);
    return;
  }
  if (best->fn && (best->penalty < here.penalty || (best->penalty == here.penalty && best->specific > here.specific)))
    return;
  *best = here;
}

bool hdfe_overload(FeLower *L, FeFn *chain, uint32_t nargs, const FeEx args[], const FeTypeRef *callee, FeMatch *best,
                   FeOverloads *all) {
  bool any = false;
  for (FeFn *f = chain; f; f = f->next) {
    if (all->count < 4) all->first[all->count] = f;
    all->count++;
    all->broken |= f->broken;
    if (f->broken || f->is_kernel) continue;
    Matching m = {.fn = f};
    m.binds = HDB_NEW_N(L->fe->arena, FeBind, f->ngenerics + 1);
    m.in = hdfe_outside(L->fe, f->unit, m.binds, f);
    const IrType **params = NULL;
    if (match_fn(L, &m, nargs, args, callee, &params, all)) {
      keep_better(best, &m, params);
      any = true;
    }
    all->broken |= f->broken;
  }
  return any;
}
