/* frontend/lang/convert.c -- values of a wanted type: literals that take it, constructors, conversions, lists. */
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "frontend/lang/lower.h"

/* --- literals --- */

static bool int_fits(const IrType *t, FeBig i) {
  if (hdir_is_float(t)) return true;
  uint32_t bits = hdir_bits(t);
  FeBig most = hdir_is_signed(t) ? ((FeBig)1 << (bits - 1)) - 1 : ((FeBig)1 << bits) - 1;
  FeBig least = hdir_is_signed(t) ? -((FeBig)1 << (bits - 1)) : 0;
  return i >= least && i <= most;
}

/* Rounded once: f32 from the text itself, since rounding to f64 in between can land on the wrong side. */
static double literal_double(FeLower *L, FeEx x, const IrType *t) {
  if (x.kind == FE_X_INT) return t->kind == IR_F64 ? (double)x.i : (double)(float)x.i;
  if (!x.text) return x.f;
  locale_t c = (locale_t)L->fe->c_locale;
  double d = t->kind == IR_F64 ? strtod_l(x.text, NULL, c) : (double)strtof_l(x.text, NULL, c);
  return x.negative ? -d : d;
}

IrValue *hdfe_literal(FeLower *L, FeEx x, const IrType *t, FeSpan span) {
  if (x.choice) {
    IrValue *a = hdfe_literal(L, x.choice->a, t, span), *b = hdfe_literal(L, x.choice->b, t, span);
    return a && b ? hdir_select(L->b, x.choice->c, a, b) : NULL;
  }
  if (x.kind == FE_X_INT && hdir_is_int(t)) {
    if (int_fits(t, x.i)) return hdir_const_int(L->b->fn, t, (int64_t)x.i);
    FeReport *r = hdfe_error(L, span, FE_D_literal_range, hdfe_big_text(L, x.i), hdfe_shown_type(L, t));
    if (x.i < 0 && !hdir_is_signed(t))
      hdfe_hint(L->fe, r, "%s(%s) converts it, which wraps", hdfe_shown_type(L, t), hdfe_big_text(L, x.i));
    else if (t->kind == IR_I32)
      hdfe_hint(L->fe, r, "say which type holds it: %s%s", hdfe_big_text(L, x.i), x.i > INT64_MAX ? "u64" : "i64");
    return NULL;
  }
  if (!hdir_is_float(t)) {
    FeReport *r = hdfe_error(L, span, FE_D_type_mismatch, hdfe_shown_type(L, t), hdfe_shown(L, x));
    if (hdir_is_int(t)) hdfe_hint(L->fe, r, "convert it: %s(..)", hdfe_shown_type(L, t));
    return NULL;
  }
  bool written = x.text || x.kind == FE_X_INT; /* 1.0 / 0.0 may be infinite, 1e39 may not */
  IrValue *v = hdir_const_float(L->b->fn, t, literal_double(L, x, t));
  if (!written || !isinf(hdir_const_f64(v))) return v;
  hdfe_error(L, span, FE_D_literal_range, x.text ? x.text : hdfe_big_text(L, x.i), hdfe_shown_type(L, t));
  return NULL;
}

IrValue *hdfe_default(FeLower *L, FeEx x, FeSpan span) {
  if (x.kind == FE_X_VALUE) return x.v;
  if (x.kind == FE_X_ERROR) return NULL;
  if (x.kind == FE_X_VOID) {
    hdfe_error(L, span, FE_D_void_value, "the function");
    return NULL;
  }
  return hdfe_literal(L, x, hdfe_scalar(L, x.kind == FE_X_INT ? IR_I32 : IR_F32), span);
}

static void hint_conversion(FeLower *L, FeReport *r, const IrType *want, const IrType *got) {
  if (hdir_is_scalar(want) && hdir_is_scalar(got))
    hdfe_hint(L->fe, r, "convert it: %s(..)", hdfe_shown_type(L, want));
  else if (hdir_is_scalar(got) && want->kind == IR_VEC && want->elem == got)
    hdfe_hint(L->fe, r, "repeat it: %s(..)", hdfe_shown_type(L, want));
  else if (hdir_is_packed(want) && want->kind == got->kind && want->rows == got->rows && want->cols == got->cols)
    hdfe_hint(L->fe, r, "convert it: %s(..)", hdfe_shown_type(L, want));
}

IrValue *hdfe_coerce(FeLower *L, FeEx x, const IrType *want, FeSpan span) {
  if (x.kind == FE_X_ERROR || !want) return NULL;
  if (x.kind == FE_X_VALUE && x.v->type == want) return x.v;
  if ((x.kind == FE_X_INT || x.kind == FE_X_FLOAT) && hdfe_is_number(want)) return hdfe_literal(L, x, want, span);
  FeReport *r = hdfe_error(L, span, FE_D_type_mismatch, hdfe_shown_type(L, want), hdfe_shown(L, x));
  if (x.kind == FE_X_VALUE) hint_conversion(L, r, want, x.v->type);
  if (x.kind != FE_X_VALUE && want->kind == IR_VEC) hdfe_hint(L->fe, r, "repeat it: %s(..)", hdfe_shown_type(L, want));
  if (x.kind == FE_X_INT && want->kind == IR_BOOL) hdfe_hint(L->fe, r, "write true or false");
  return NULL;
}

/* --- constructors --- */

static IrValue *convert_scalar(FeLower *L, const IrType *t, FeEx x, FeSpan span) {
  if (x.choice && t->kind == IR_BOOL) x = hdfe_ex(hdfe_default(L, x, span));
  if (x.kind == FE_X_ERROR) return NULL;
  if (x.kind == FE_X_INT || x.kind == FE_X_FLOAT) {
    if (t->kind == IR_BOOL) return hdir_const_bool(L->b->fn, x.kind == FE_X_INT ? x.i != 0 : x.f != 0);
    if (x.kind == FE_X_FLOAT && hdir_is_int(t)) { /* i32(1.5): as a conversion at run time would */
      IrValue *f = hdfe_literal(L, x, hdfe_scalar(L, IR_F64), span);
      return f ? hdir_cvt(L->b, t, f) : NULL;
    }
    if (x.kind == FE_X_INT && !x.choice && hdir_is_int(t) && !int_fits(t, x.i) && x.i <= INT64_MAX && x.i >= INT64_MIN)
      return hdir_const_int(L->b->fn, t, (int64_t)x.i); /* u32(-1): wraps, as it says that it converts */
    return hdfe_literal(L, x, t, span);
  }
  if (hdir_is_scalar(x.v->type)) return hdir_cvt(L->b, t, x.v);
  hdfe_error(L, span, FE_D_bad_conversion, hdfe_shown(L, x), hdfe_shown_type(L, t));
  return NULL;
}

static bool same_shape(const IrType *a, const IrType *b) {
  return a->kind == b->kind && a->rows == b->rows && a->cols == b->cols;
}

typedef struct Gather {
  IrValue **parts;
  uint32_t n, cap;
  bool failed;
} Gather;

/* An argument's parts behind one another: a scalar is one, a vector or quaternion all of its own. */
static void gather(FeLower *L, Gather *g, const IrType *t, FeEx x, FeSpan span) {
  IrValue *v = x.kind == FE_X_VALUE ? x.v : NULL;
  if (!v) v = hdfe_is_number(t->elem) ? hdfe_literal(L, x, t->elem, span) : hdfe_default(L, x, span);
  if (!v) {
    g->failed = true;
    return;
  }
  if (hdir_elem_scalar(v->type) != t->elem) {
    FeReport *r = hdfe_error(L, span, FE_D_constructor_part, g->n, hdfe_shown_type(L, t), hdfe_shown_type(L, t->elem),
                             hdfe_shown(L, x));
    if (hdir_is_scalar(v->type)) hdfe_hint(L->fe, r, "convert it: %s(..)", hdfe_shown_type(L, t->elem));
    g->failed = true;
    return;
  }
  if (hdir_is_scalar(v->type)) {
    HDB_PUSH(L->fe->arena, g->parts, g->n, g->cap, v);
    return;
  }
  for (uint32_t i = 0; i < v->type->nparts; i++) {
    IrValue *part = hdir_extract(L->b, v, i);
    HDB_PUSH(L->fe->arena, g->parts, g->n, g->cap, part);
  }
}

static FeEx construct_packed(FeLower *L, const IrType *t, uint32_t n, FeEx args[], FeExpr *e) {
  bool one_scalar = n == 1 && (args[0].kind != FE_X_VALUE || hdir_is_scalar(args[0].v->type));
  if (n == 1 && args[0].kind == FE_X_VALUE && same_shape(t, args[0].v->type))
    return hdfe_ex(hdir_cvt(L->b, t, args[0].v));
  if (one_scalar && t->kind == IR_MAT && t->nparts > 1) {
    hdfe_error(L, e->span, FE_D_matrix_splat);
    return hdfe_ex_error();
  }
  if (one_scalar && t->kind == IR_VEC) {
    FeEx x = args[0];
    IrValue *v = x.kind == FE_X_VALUE || t->elem->kind == IR_BOOL ? hdfe_coerce(L, x, t->elem, e->args[0]->span)
                                                                  : hdfe_literal(L, x, t->elem, e->args[0]->span);
    return v ? hdfe_ex(hdir_splat(L->b, t, v)) : hdfe_ex_error();
  }
  Gather g = {0};
  for (uint32_t i = 0; i < n; i++) gather(L, &g, t, args[i], e->args[i]->span);
  if (g.failed) return hdfe_ex_error();
  if (g.n != t->nparts) {
    FeReport *r = hdfe_error(L, e->span, FE_D_constructor_parts, hdfe_shown_type(L, t), t->nparts, g.n);
    if (n == 1 && args[0].kind == FE_X_VALUE && args[0].v->type->kind == IR_VEC && g.n > t->nparts)
      hdfe_hint(L->fe, r, "take the first components with a swizzle: v.xyz");
    return hdfe_ex_error();
  }
  return hdfe_ex(hdir_make(L->b, t, g.parts));
}

static FeEx construct_struct(FeLower *L, const IrType *t, uint32_t n, FeEx args[], FeExpr *e) {
  if (n != t->nparts) {
    FeReport *r = hdfe_error(L, e->span, FE_D_constructor_parts, hdfe_shown_type(L, t), t->nparts, n);
    hdfe_hint(L->fe, r, "to leave fields at zero, name the others: %s{..: ..}", hdfe_shown_type(L, t));
    return hdfe_ex_error();
  }
  IrValue **parts = HDB_NEW_N(L->fe->arena, IrValue *, n + 1);
  bool ok = true;
  for (uint32_t i = 0; i < n; i++) {
    parts[i] = hdfe_coerce(L, args[i], t->fields[i].type, e->args[i]->span);
    ok &= parts[i] != NULL;
  }
  return ok ? hdfe_ex(hdir_make(L->b, t, parts)) : hdfe_ex_error();
}

FeEx hdfe_construct(FeLower *L, const IrType *t, uint32_t n, FeEx args[], FeExpr *e) {
  for (uint32_t i = 0; i < n; i++) {
    if (args[i].kind == FE_X_ERROR) return hdfe_ex_error();
    if (args[i].kind == FE_X_VOID) {
      hdfe_error(L, e->args[i]->span, FE_D_void_value, "the function");
      return hdfe_ex_error();
    }
  }
  hdfe_at(L, e->span);
  if (hdir_is_scalar(t)) {
    if (n == 1) return hdfe_ex(convert_scalar(L, t, args[0], e->args[0]->span));
    hdfe_error(L, e->span, FE_D_constructor_parts, hdfe_shown_type(L, t), 1u, n);
    return hdfe_ex_error();
  }
  if (hdir_is_packed(t)) return construct_packed(L, t, n, args, e);
  if (t->kind == IR_STRUCT) return construct_struct(L, t, n, args, e);
  hdfe_error(L, e->span, FE_D_bad_conversion, "this", hdfe_shown_type(L, t));
  return hdfe_ex_error();
}

/* --- S{a: 1} --- */

static int field_index(FeLower *L, const IrType *t, const char *name, FeSpan span) {
  FeNearest n;
  hdfe_nearest_begin(&n, name);
  for (uint32_t i = 0; i < t->nparts; i++) {
    if (strcmp(t->fields[i].name, name) == 0) return (int)i;
    hdfe_nearest_offer(&n, t->fields[i].name);
  }
  hdfe_nearest_hint(L->fe, hdfe_error(L, span, FE_D_unknown_field, hdfe_shown_type(L, t), name), &n);
  return -1;
}

FeEx hdfe_init(FeLower *L, FeExpr *e) {
  const IrType *t = hdfe_type(L, e->callee);
  if (!t) return hdfe_ex_error();
  if (t->kind != IR_STRUCT) {
    FeReport *r = hdfe_error(L, e->span, FE_D_bad_conversion, "a list of fields", hdfe_shown_type(L, t));
    hdfe_hint(L->fe, r, "write %s(..)", hdfe_shown_type(L, t));
    return hdfe_ex_error();
  }
  IrValue **parts = HDB_NEW_N(L->fe->arena, IrValue *, t->nparts + 1);
  bool ok = true;
  for (uint32_t i = 0; i < e->nargs; i++) {
    int f = field_index(L, t, e->names[i], e->name_spans[i]);
    if (f < 0) {
      ok = false;
      continue;
    }
    if (parts[f]) hdfe_error(L, e->name_spans[i], FE_D_field_twice, e->names[i]);
    parts[f] = hdfe_value(L, e->args[i], t->fields[f].type);
    ok &= parts[f] != NULL;
  }
  if (!ok) return hdfe_ex_error();
  hdfe_at(L, e->span);
  for (uint32_t i = 0; i < t->nparts; i++) {
    if (parts[i]) continue;
    if (hdfe_has_array(t->fields[i].type)) {
      hdfe_error(L, e->span, FE_D_array_place);
      return hdfe_ex_error();
    }
    parts[i] = hdir_zero(L->b, t->fields[i].type);
  }
  return hdfe_ex(hdir_make(L->b, t, parts));
}

/* --- {1, 2, 3} --- */

IrValue *hdfe_list(FeLower *L, const IrType *t, FeExpr *e) {
  if (!t || t->kind != IR_FIXED) {
    hdfe_error(L, e->span, FE_D_list_place);
    return NULL;
  }
  if (e->nargs != t->nparts) {
    FeReport *r = hdfe_error(L, e->span, FE_D_list_count, e->nargs, hdfe_shown_type(L, t), t->nparts);
    if (e->nargs == 0) hdfe_hint(L->fe, r, "leave the initialiser out: a variable without one is zero");
    return NULL;
  }
  IrValue **parts = HDB_NEW_N(L->fe->arena, IrValue *, t->nparts + 1);
  bool ok = true;
  for (uint32_t i = 0; i < e->nargs; i++) {
    parts[i] = hdfe_value(L, e->args[i], t->elem);
    ok &= parts[i] != NULL;
  }
  hdfe_at(L, e->span);
  return ok ? hdir_make(L->b, t, parts) : NULL;
}
