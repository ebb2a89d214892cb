/* frontend/lang/konst.c -- what is known when a kernel is compiled: untyped numbers, constants, -D values.
 *
 * The builder folds while it builds, so a constant expression is lowered like any other and then looked at: pure
 * instructions over constants are evaluated here, part by part, with the IR's own meaning.
 */
#include <math.h>

#include "frontend/lang/lower.h"

static FeBig big_max(void) { return (FeBig)UINT64_MAX; }

const char *hdfe_big_text(FeLower *L, FeBig i) {
  bool negative = i < 0;
  uint64_t mag = (uint64_t)(negative ? -i : i);
  return hdb_printf(L->fe->arena, "%s%llu", negative ? "-" : "", (unsigned long long)mag);
}

/* --- untyped arithmetic --- */

static FeEx fold_int(FeLower *L, FeTok op, FeBig x, FeBig y, FeSpan span) {
  FeBig r = 0;
  switch (op) {
  case TK_PLUS: r = x + y; break;
  case TK_MINUS: r = x - y; break;
  case TK_STAR: /* 65 bits times 65 bits do not fit in 128 */
    if (x != 0 && ((x < 0 ? -x : x) > big_max() / (y < 0 ? -y : y == 0 ? 1 : y))) {
      hdfe_error(L, span, FE_D_const_overflow);
      return hdfe_ex_error();
    }
    r = x * y;
    break;
  case TK_SLASH:
  case TK_PERCENT:
    if (y == 0) {
      hdfe_error(L, span, FE_D_const_division);
      return hdfe_ex_error();
    }
    r = op == TK_SLASH ? x / y : x % y;
    break;
  case TK_AMP: r = x & y; break;
  case TK_BAR: r = x | y; break;
  case TK_CARET: r = x ^ y; break;
  case TK_SHL:
  case TK_SHR:
    if (y < 0 || y > 63) {
      hdfe_error(L, span, FE_D_const_overflow);
      return hdfe_ex_error();
    }
    r = op == TK_SHL ? (FeBig)((unsigned __int128)x << (unsigned)y) : x >> (unsigned)y;
    break;
  default: break;
  }
  if (r > big_max() || r < -(FeBig)INT64_MAX - 1) {
    hdfe_error(L, span, FE_D_const_overflow);
    return hdfe_ex_error();
  }
  return hdfe_ex_int(r);
}

static bool compare(FeTok op, int c, bool ordered) {
  switch (op) {
  case TK_EQ: return ordered && c == 0;
  case TK_NE: return !ordered || c != 0;
  case TK_LT: return ordered && c < 0;
  case TK_LE: return ordered && c <= 0;
  case TK_GT: return ordered && c > 0;
  default: return ordered && c >= 0;
  }
}

static FeEx fold_float(FeTok op, double x, double y) {
  FeEx r = {.kind = FE_X_FLOAT};
  switch (op) {
  case TK_PLUS: r.f = x + y; break;
  case TK_MINUS: r.f = x - y; break;
  case TK_STAR: r.f = x * y; break;
  case TK_SLASH: r.f = x / y; break;
  case TK_PERCENT: r.f = fmod(x, y); break;
  default: r.kind = FE_X_ERROR; break;
  }
  return r;
}

FeEx hdfe_fold(FeLower *L, FeTok op, FeEx x, FeEx y, FeSpan span) {
  bool ints = x.kind == FE_X_INT && y.kind == FE_X_INT;
  const char *left = hdfe_shown(L, x), *right = hdfe_shown(L, y);
  if (!ints) {
    if (x.kind == FE_X_INT) x.f = (double)x.i;
    if (y.kind == FE_X_INT) y.f = (double)y.i;
  }
  switch (op) {
  case TK_EQ:
  case TK_NE:
  case TK_LT:
  case TK_LE:
  case TK_GT:
  case TK_GE: {
    int c = ints ? (x.i > y.i) - (x.i < y.i) : (x.f > y.f) - (x.f < y.f);
    bool ordered = ints || (x.f == x.f && y.f == y.f);
    return hdfe_ex(hdir_const_bool(L->b->fn, compare(op, c, ordered)));
  }
  default: break;
  }
  if (ints) return fold_int(L, op, x.i, y.i, span);
  FeEx r = fold_float(op, x.f, y.f);
  if (r.kind == FE_X_ERROR) hdfe_error(L, span, FE_D_binary_types, hdfe_token_text(op), left, right);
  return r;
}

/* --- values to constants --- */

static FeKonst *konst_value(FeLower *L, const IrValue *v, uint32_t depth);

static FeKonst *konst_leaf(FeLower *L, const IrType *t, uint64_t bits) {
  FeKonst *k = HDB_NEW(L->fe->arena, FeKonst);
  k->kind = FE_X_VALUE;
  k->type = t;
  k->bits = bits;
  return k;
}

static FeKonst *konst_composite(FeLower *L, const IrType *t) {
  FeKonst *k = konst_leaf(L, t, 0);
  k->parts = HDB_NEW_N(L->fe->arena, FeKonst *, t->nparts + 1);
  return k;
}

/* A scalar op on constants, or part by part on packed ones; a scalar among packed operands stands for all parts. */
static FeKonst *konst_apply(FeLower *L, const IrInst *i, FeKonst *args[3]) {
  const IrType *t = i->res[0]->type, *first = i->args[i->op == IR_select]->type;
  uint64_t bits[3] = {0};
  if (hdir_is_scalar(t)) {
    for (uint32_t k = 0; k < i->nargs; k++) bits[k] = args[k]->bits;
    return konst_leaf(L, t, hdir_eval(i->op, first, t, bits));
  }
  if (!hdir_is_packed(t)) return NULL;
  FeKonst *r = konst_composite(L, t);
  for (uint32_t p = 0; p < t->nparts; p++) {
    for (uint32_t k = 0; k < i->nargs; k++) bits[k] = args[k]->parts ? args[k]->parts[p]->bits : args[k]->bits;
    r->parts[p] = konst_leaf(L, t->elem, hdir_eval(i->op, hdir_elem_scalar(first), t->elem, bits));
  }
  return r;
}

static FeKonst *konst_inst(FeLower *L, const IrInst *i, uint32_t depth) {
  const IrType *t = i->res[0]->type;
  FeKonst *args[3] = {0};
  if (i->op == IR_make) {
    FeKonst *k = konst_composite(L, t);
    for (uint32_t p = 0; p < i->nargs; p++)
      if (!(k->parts[p] = konst_value(L, i->args[p], depth + 1))) return NULL;
    return k;
  }
  bool composite_op = i->op == IR_extract || i->op == IR_insert || i->op == IR_extract_at;
  if (i->nargs == 0 || i->nargs > 3 || hdir_ops[i->op].effect != FX_PURE) return NULL;
  if (!composite_op && i->op > IR_bitcast) return NULL;
  for (uint32_t k = 0; k < i->nargs; k++)
    if (!(args[k] = konst_value(L, i->args[k], depth + 1))) return NULL;
  switch (i->op) {
  case IR_extract: return args[0]->parts[i->imm];
  case IR_extract_at: {
    int64_t at = hdir_i64_of(i->args[1]->type, args[1]->bits);
    return args[0]->parts[at >= 0 && at < (int64_t)i->args[0]->type->nparts ? at : 0];
  }
  case IR_insert: {
    FeKonst *k = konst_composite(L, t);
    memcpy(k->parts, args[0]->parts, sizeof *k->parts * t->nparts);
    k->parts[i->imm] = args[1];
    return k;
  }
  default: return konst_apply(L, i, args);
  }
}

static FeKonst *konst_value(FeLower *L, const IrValue *v, uint32_t depth) {
  if (hdir_is_const(v)) return konst_leaf(L, v->type, v->bits);
  return v->def && v->def->nres == 1 && depth < 64 ? konst_inst(L, v->def, depth) : NULL;
}

FeKonst *hdfe_konst_of(FeLower *L, FeEx x) {
  if (x.kind == FE_X_VALUE) return konst_value(L, x.v, 0);
  if ((x.kind != FE_X_INT && x.kind != FE_X_FLOAT) || x.choice) return NULL;
  FeKonst *k = HDB_NEW(L->fe->arena, FeKonst);
  *k = (FeKonst){.kind = x.kind, .i = x.i, .f = x.f, .text = x.text, .negative = x.negative};
  return k;
}

static IrValue *konst_build(FeLower *L, const FeKonst *k) {
  if (hdir_is_scalar(k->type)) return hdir_const(L->b->fn, k->type, k->bits);
  IrValue **parts = HDB_NEW_N(L->fe->arena, IrValue *, k->type->nparts + 1);
  for (uint32_t i = 0; i < k->type->nparts; i++) parts[i] = konst_build(L, k->parts[i]);
  return hdir_make(L->b, k->type, parts);
}

FeEx hdfe_konst_ex(FeLower *L, const FeKonst *k) {
  if (k->kind == FE_X_VALUE) return hdfe_ex(konst_build(L, k));
  return (FeEx){.kind = k->kind, .i = k->i, .f = k->f, .text = k->text, .negative = k->negative};
}

/* --- constant expressions --- */

bool hdfe_const_int(FeLower *L, FeExpr *e, FeBig *out) {
  FeEx x = hdfe_expr(L, e);
  if (x.kind == FE_X_INT && !x.choice) {
    *out = x.i;
    return true;
  }
  if (x.kind == FE_X_ERROR) return false;
  FeKonst *k = x.kind == FE_X_VALUE && hdir_is_int(x.v->type) ? hdfe_konst_of(L, x) : NULL;
  if (k) {
    *out = k->type->kind == IR_U64 ? (FeBig)k->bits : (FeBig)hdir_i64_of(k->type, k->bits);
    return true;
  }
  if (x.choice || (x.kind == FE_X_VALUE && hdir_is_int(x.v->type)))
    hdfe_error(L, e->span, FE_D_not_constant);
  else
    hdfe_error(L, e->span, FE_D_type_mismatch, "an integer constant", hdfe_shown(L, x));
  return false;
}

bool hdfe_const_bool(FeLower *L, FeExpr *e, bool *out) {
  FeEx x = hdfe_expr(L, e);
  if (x.kind == FE_X_ERROR) return false;
  if (x.kind != FE_X_VALUE || x.v->type->kind != IR_BOOL) {
    hdfe_error(L, e->span, FE_D_condition_type, hdfe_shown(L, x));
    return false;
  }
  FeKonst *k = hdfe_konst_of(L, x);
  if (!k) hdfe_error(L, e->span, FE_D_not_constant);
  if (k) *out = k->bits != 0;
  return k != NULL;
}

/* --- constants at the top of a file, and -D --- */

FeConstItem *hdfe_find_const(FeLower *L, const char *name) {
  FeConstItem *c = hdb_map_get_str(&L->unit->consts, name);
  for (uint32_t i = 0; !c && i < L->unit->nimports; i++) c = hdb_map_get_str(&L->unit->imports[i]->consts, name);
  if (c) return c;
  FeUnit *units[8];
  uint32_t n = hdfe_library_units(L->fe, name, units);
  for (uint32_t i = 0; !c && i < n; i++) c = hdb_map_get_str(&units[i]->consts, name);
  return c;
}

FeKonst *hdfe_define(FeLower *L, const char *name, const IrType *type, FeSpan span) {
  const FeOptions *o = L->fe->options;
  for (uint32_t i = o->ndefines; i-- > 0;) {
    if (strcmp(o->defines[i].name, name) != 0) continue;
    L->fe->define_used[i] = true;
    const char *text = o->defines[i].value;
    FeUnit *u = hdfe_unit_new(L->fe, hdb_printf(L->fe->arena, "-D %s", name), text, strlen(text), false);
    hdfe_lex(L->fe, u);
    FeLower at = hdfe_outside(L->fe, u, NULL, NULL);
    uint32_t before = L->fe->nerrors;
    FeExpr *e = hdfe_parse_value(L->fe, u);
    FeEx x = L->fe->nerrors == before ? hdfe_expr(&at, e) : hdfe_ex_error();
    bool fits = x.kind == FE_X_INT || x.kind == FE_X_FLOAT || (x.kind == FE_X_VALUE && x.v->type == type);
    IrValue *v = fits ? hdfe_coerce(&at, x, type, e->span) : NULL;
    FeKonst *k = v ? hdfe_konst_of(&at, hdfe_ex(v)) : NULL;
    if (!k && L->fe->nerrors == before) hdfe_error(L, span, FE_D_bad_define, name, text, hdfe_shown_type(L, type));
    return k;
  }
  FeReport *r = hdfe_error(L, span, FE_D_const_unbound, name);
  hdfe_hint(L->fe, r, "define it: -D %s=VALUE", name);
  return NULL;
}

static FeKonst *const_compute(FeCompiler *fe, FeConstItem *c) {
  FeLower L = hdfe_outside(fe, c->unit, NULL, NULL);
  const IrType *t = c->type ? hdfe_type(&L, c->type) : NULL;
  if (c->type && !t) return NULL;
  if (!c->value) return t ? hdfe_define(&L, c->name, t, c->span) : NULL;
  FeEx x = t ? hdfe_ex(hdfe_value(&L, c->value, t)) : hdfe_expr(&L, c->value);
  if (x.kind == FE_X_ERROR) return NULL;
  FeKonst *k = hdfe_konst_of(&L, x);
  if (!k) hdfe_error(&L, c->value->span, FE_D_not_constant);
  return k;
}

FeKonst *hdfe_const_item(FeCompiler *fe, FeConstItem *c) {
  if (c->state == FE_CONST_BUSY) {
    hdfe_report(fe, c->unit, c->span, FE_D_const_cycle, c->name);
    return NULL;
  }
  if (c->state == FE_CONST_NEW) {
    c->state = FE_CONST_BUSY;
    c->konst = const_compute(fe, c);
    c->state = c->konst ? FE_CONST_DONE : FE_CONST_BAD;
  }
  return c->konst;
}
