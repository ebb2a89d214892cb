/* frontend/lang/core.c -- the functions that the front end knows itself: rows, and what each becomes. */
#include "base/format.h"
#include "frontend/lang/lower.h"
#include "ir/mma.h"

typedef enum CoreKind {
  CORE_OP,     /* an IR op on scalars and vectors, scalars repeated        */
  CORE_SELECT, /* select(c, a, b)                                          */
  CORE_LAUNCH, /* tid, dim: an axis                                        */
  CORE_BITCAST,
  CORE_TYPE, /* a constant of a type: zero<T>()                          */
  CORE_LEN,
  CORE_ATOMIC,
  CORE_ASSERT,
  CORE_PRINT,
  CORE_GROUP,   /* of no argument: ids and barrier */
  CORE_SHUFFLE, /* shuffle(x, lane)                */
  CORE_BALLOT,
  CORE_HAS,  /* of no argument: a unit */
  CORE_GANG, /* gang_count(c) */
  CORE_TEX,  /* texture_unit(object, place, level) */
  CORE_MMA,  /* mma(a, b, c) */
} CoreKind;

typedef enum TypeFact {
  T_ZERO,
  T_INF,
  T_NAN,
  T_EPSILON,
  T_MAX,
  T_MIN,
  T_SIZEOF,
  T_BITS,
  T_SAME,
  T_ROWS,
  T_COLS
} TypeFact;
enum { NUMBERS, FLOATS, INTS, MULADD }; /* what a CORE_OP takes; MULADD: f32 and f64 */
enum { NEGATIVE = 1 };                  /* of a CORE_ATOMIC: with -x instead of x    */

typedef struct CoreRow {
  const char *name;
  CoreKind kind;
  uint32_t nargs;
  int op, takes;
} CoreRow;

static const CoreRow rows[] = {
    {"min", CORE_OP, 2, IR_min, NUMBERS},
    {"max", CORE_OP, 2, IR_max, NUMBERS},
    {"abs", CORE_OP, 1, IR_abs, NUMBERS},
    {"sqrt", CORE_OP, 1, IR_sqrt, FLOATS},
    {"floor", CORE_OP, 1, IR_floor, FLOATS},
    {"ceil", CORE_OP, 1, IR_ceil, FLOATS},
    {"trunc", CORE_OP, 1, IR_trunc, FLOATS},
    {"rint", CORE_OP, 1, IR_rint, FLOATS},
    {"copysign", CORE_OP, 2, IR_copysign, FLOATS},
    {"fma", CORE_OP, 3, IR_fma, MULADD},
    {"popcount", CORE_OP, 1, IR_popcount, INTS},
    {"clz", CORE_OP, 1, IR_clz, INTS},
    {"ctz", CORE_OP, 1, IR_ctz, INTS},
    {"mulhi", CORE_OP, 2, IR_mulhi, INTS},
    {"select", CORE_SELECT, 3, 0, 0},
    {"tid", CORE_LAUNCH, 1, IR_tid, 0},
    {"dim", CORE_LAUNCH, 1, IR_dim, 0},
    {"group_tid", CORE_GROUP, 0, IR_ltid, 0},
    {"group_id", CORE_GROUP, 0, IR_gid, 0},
    {"group_size", CORE_GROUP, 0, IR_gdim, 0},
    {"barrier", CORE_GROUP, 0, IR_barrier, 0},
    {"shuffle", CORE_SHUFFLE, 2, IR_shuffle, 0},
    {"ballot", CORE_BALLOT, 1, IR_ballot, 0},
    {"gang_min", CORE_OP, 1, IR_gang_min, INTS},
    {"gang_max", CORE_OP, 1, IR_gang_max, INTS},
    {"gang_count", CORE_GANG, 1, IR_gang_count, 0},
    {"has_gangs", CORE_HAS, 0, IR_UNIT_gang, 0},
    {"has_mma", CORE_HAS, 0, IR_UNIT_mma, 0},
    {"has_tex", CORE_HAS, 0, IR_UNIT_tex, 0},
    {"texture_unit", CORE_TEX, 3, IR_tex, 0},
    {"mma", CORE_MMA, 3, IR_mma, 0},
    {"bitcast", CORE_BITCAST, 1, 0, 0},
    {"len", CORE_LEN, 1, 0, 0},
    {"atomic_add", CORE_ATOMIC, 2, IR_atomic_add, 0},
    {"atomic_sub", CORE_ATOMIC, 2, IR_atomic_add, NEGATIVE},
    {"atomic_min", CORE_ATOMIC, 2, IR_atomic_min, 0},
    {"atomic_max", CORE_ATOMIC, 2, IR_atomic_max, 0},
    {"atomic_and", CORE_ATOMIC, 2, IR_atomic_and, 0},
    {"atomic_or", CORE_ATOMIC, 2, IR_atomic_or, 0},
    {"atomic_xor", CORE_ATOMIC, 2, IR_atomic_xor, 0},
    {"atomic_xchg", CORE_ATOMIC, 2, IR_atomic_xchg, 0},
    {"atomic_cas", CORE_ATOMIC, 3, IR_atomic_cas, 0},
    {"assert", CORE_ASSERT, 2, 0, 0},
    {"printf", CORE_PRINT, 0, 0, 0},
    {"zero", CORE_TYPE, 0, T_ZERO, 1},
    {"inf", CORE_TYPE, 0, T_INF, 1},
    {"nan", CORE_TYPE, 0, T_NAN, 1},
    {"epsilon", CORE_TYPE, 0, T_EPSILON, 1},
    {"max_value", CORE_TYPE, 0, T_MAX, 1},
    {"min_value", CORE_TYPE, 0, T_MIN, 1},
    {"sizeof", CORE_TYPE, 0, T_SIZEOF, 1},
    {"bits", CORE_TYPE, 0, T_BITS, 1},
    {"is_same", CORE_TYPE, 0, T_SAME, 2},
    {"rows", CORE_TYPE, 0, T_ROWS, 1},
    {"cols", CORE_TYPE, 0, T_COLS, 1},
};

static const CoreRow *find(const char *name) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].name[0] == name[0] && strcmp(rows[i].name, name) == 0) return &rows[i];
  return NULL;
}

bool hdfe_is_core(const char *name) { return find(name) != NULL; }

void hdfe_offer_core(FeNearest *n) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) hdfe_nearest_offer(n, rows[i].name);
}

static FeEx wrong_count(FeLower *L, FeExpr *e, const char *wanted) {
  hdfe_error(L, e->span, FE_D_argument_count, e->name, wanted, e->nargs);
  return hdfe_ex_error();
}

/* --- ops on numbers --- */

static bool takes(int what, const IrType *s) {
  switch (what) {
  case NUMBERS: return hdfe_is_number(s);
  case INTS: return hdir_is_int(s);
  case MULADD: return s->kind == IR_F32 || s->kind == IR_F64;
  default: return hdir_is_float(s);
  }
}

/* The type that all arguments become: the vector among them, else their scalar type; NULL if there is none. */
static const IrType *common_type(FeLower *L, uint32_t n, const FeEx args[], bool ints_stay) {
  const IrType *t = NULL;
  bool floats = false;
  for (uint32_t i = 0; i < n; i++) {
    floats |= args[i].kind == FE_X_FLOAT;
    if (args[i].kind != FE_X_VALUE) continue;
    const IrType *a = args[i].v->type;
    if (a->kind != IR_VEC && !hdir_is_scalar(a)) return NULL;
    if (!t || (t == a->elem)) /* a vector takes the scalar in */
      t = a;
    else if (t != a && t->elem != a)
      return NULL;
  }
  if (!t) return hdfe_scalar(L, floats || !ints_stay ? IR_F32 : IR_I32);
  return floats && !hdir_is_float(hdir_elem_scalar(t)) ? NULL : t;
}

static IrValue *to_type(FeLower *L, FeEx x, const IrType *t, FeSpan span) {
  const IrType *s = hdir_elem_scalar(t);
  if (x.kind == FE_X_VALUE && x.v->type == t) return x.v;
  IrValue *v = x.kind == FE_X_VALUE ? x.v : hdfe_is_number(s) ? hdfe_literal(L, x, s, span) : NULL;
  return !v ? NULL : t == s ? v : hdir_splat(L->b, t, v);
}

static bool core_op(FeLower *L, const CoreRow *r, FeExpr *e, FeEx args[], FeEx *out) {
  const IrType *t = common_type(L, r->nargs, args, r->takes == NUMBERS || r->takes == INTS);
  if (!t || !takes(r->takes, hdir_elem_scalar(t))) return false;
  IrValue *v[3];
  *out = hdfe_ex_error();
  for (uint32_t i = 0; i < r->nargs; i++)
    if (!(v[i] = to_type(L, args[i], t, e->args[i]->span))) return true;
  switch (r->nargs) {
  case 1: *out = hdfe_ex(hdir_un(L->b, (IrOp)r->op, v[0])); break;
  case 2: *out = hdfe_ex(hdir_bin(L->b, (IrOp)r->op, v[0], v[1])); break;
  default: *out = hdfe_ex(hdir_fma(L->b, v[0], v[1], v[2])); break;
  }
  return true;
}

static bool core_select(FeLower *L, FeExpr *e, FeEx args[], FeEx *out) {
  if (args[0].kind != FE_X_VALUE) return false;
  const IrType *c = args[0].v->type, *t;
  bool vector = c->kind == IR_VEC && c->elem->kind == IR_BOOL;
  if (c->kind != IR_BOOL && !vector) return false;
  if (args[1].kind == FE_X_VALUE && args[2].kind == FE_X_VALUE && args[1].v->type == args[2].v->type)
    t = args[1].v->type; /* structs, matrices and fixed arrays too */
  else
    t = common_type(L, 2, args + 1, true);
  if (!t || hdfe_has_array(t)) return false;
  if (vector && hdir_is_scalar(t)) t = hdir_vec(hdfe_types(L), t, c->rows);
  if (vector && (t->kind != IR_VEC || t->rows != c->rows)) return false;
  IrValue *x = to_type(L, args[1], t, e->args[1]->span), *y = to_type(L, args[2], t, e->args[2]->span);
  *out = x && y ? hdfe_ex(hdir_select(L->b, args[0].v, x, y)) : hdfe_ex_error();
  return true;
}

static bool core_bitcast(FeLower *L, FeExpr *e, FeEx args[], FeEx *out) {
  *out = hdfe_ex_error();
  if (e->callee->nargs != 1) {
    hdfe_error(L, e->span, FE_D_type_arguments, "bitcast", "the type: bitcast<u32>(x)", e->callee->nargs);
    return true;
  }
  const IrType *t = hdfe_type(L, e->callee->args[0]);
  IrValue *x = t ? hdfe_default(L, args[0], e->args[0]->span) : NULL;
  if (!x) return true;
  if (!hdir_is_scalar(t) || !hdir_is_scalar(x->type) || t->kind == IR_BOOL || x->type->kind == IR_BOOL) return false;
  if (t->size != x->type->size)
    hdfe_error(L, e->span, FE_D_bitcast_size, hdfe_shown_type(L, x->type), hdfe_shown_type(L, t));
  else
    *out = hdfe_ex(hdir_bitcast(L->b, t, x));
  return true;
}

/* --- groups --- */

bool hdfe_needs_group(FeLower *L, FeSpan span, const char *what) {
  if (!L->instance) { /* a constant's value, or a size */
    hdfe_error(L, span, FE_D_not_constant);
    return false;
  }
  if (!L->fn->is_kernel) L->instance->needs_group = true;
  if (!L->fn->is_kernel || L->instance->ir->group) return true;
  if (!L->fn->group) hdfe_error(L, span, FE_D_needs_group, what); /* else its @group was reported */
  return false;
}

static FeEx core_has(FeLower *L, const CoreRow *r, FeExpr *e) {
  IrUnit unit = (IrUnit)r->op;
  if (e->nargs) return wrong_count(L, e, "no arguments");
  if (e->callee->nargs > (unit == IR_UNIT_mma)) {
    const char *wanted = unit == IR_UNIT_mma ? "one type: has_mma<f16>()" : "no types";
    hdfe_error(L, e->span, FE_D_type_arguments, e->name, wanted, e->callee->nargs);
    return hdfe_ex_error();
  }
  if (e->callee->nargs) { /* of matrices of this type */
    const IrType *t = hdfe_type(L, e->callee->args[0]);
    if (!t) return hdfe_ex_error();
    if (t->kind != IR_F16 && t->kind != IR_BF16 && t->kind != IR_F64) return hdfe_ex(hdir_const_bool(L->b->fn, false));
    unit = t->kind == IR_F16 ? IR_UNIT_mma : IR_UNIT_dmma;
  }
  hdfe_at(L, e->span);
  return hdfe_ex(hdir_has(L->b, unit));
}

static FeEx core_group(FeLower *L, const CoreRow *r, FeExpr *e) {
  if (e->nargs) return wrong_count(L, e, "no arguments");
  if (!hdfe_needs_group(L, e->span, e->name)) return hdfe_ex_error();
  hdfe_at(L, e->span);
  switch (r->op) {
  case IR_ltid: return hdfe_ex(hdir_ltid(L->b));
  case IR_gid: return hdfe_ex(hdir_gid(L->b));
  case IR_barrier: hdir_barrier(L->b); return (FeEx){.kind = FE_X_VOID};
  default: return hdfe_ex(hdir_gdim(L->b));
  }
}

static bool core_shuffle(FeLower *L, FeExpr *e, FeEx args[], FeEx *out) {
  *out = hdfe_ex_error();
  if (!hdfe_needs_group(L, e->span, e->name)) return true;
  IrValue *x = hdfe_default(L, args[0], e->args[0]->span);
  if (!x) return true;
  if (!hdir_is_scalar(x->type)) return false;
  IrValue *lane = hdfe_coerce(L, args[1], hdfe_scalar(L, IR_I32), e->args[1]->span);
  hdfe_at(L, e->span);
  if (lane) *out = hdfe_ex(hdir_shuffle(L->b, x, lane));
  return true;
}

static bool core_ballot(FeLower *L, FeExpr *e, FeEx args[], FeEx *out) {
  *out = hdfe_ex_error();
  if (!hdfe_needs_group(L, e->span, e->name)) return true;
  IrValue *c = hdfe_coerce(L, args[0], hdfe_scalar(L, IR_BOOL), e->args[0]->span);
  hdfe_at(L, e->span);
  if (c) *out = hdfe_ex(hdir_ballot(L->b, c));
  return true;
}

static bool core_gang(FeLower *L, FeExpr *e, FeEx args[], FeEx *out) {
  IrValue *c = hdfe_coerce(L, args[0], hdfe_scalar(L, IR_BOOL), e->args[0]->span);
  hdfe_at(L, e->span);
  *out = c ? hdfe_ex(hdir_gang_count(L->b, c)) : hdfe_ex_error();
  return true;
}

static bool core_mma(FeLower *L, FeExpr *e, FeEx args[], FeEx *out) {
  for (uint32_t i = 0; i < 3; i++)
    if (args[i].kind != FE_X_VALUE) return false;
  IrValue *x = args[0].v, *y = args[1].v, *z = args[2].v;
  if (!hdir_mma_of(x->type, y->type, z->type)) return false;
  *out = hdfe_ex_error();
  if (!hdfe_needs_group(L, e->span, e->name)) return true;
  hdfe_at(L, e->span);
  *out = hdfe_ex(hdir_mma(L->b, x, y, z));
  return true;
}

/* --- texture units --- */

/* A number, or a vector of two or three. */
static uint32_t axes_of_place(const IrType *t) {
  if (t->kind == IR_F32) return 1;
  return t->kind == IR_VEC && t->elem->kind == IR_F32 && t->rows <= 3 && t->rows >= 2 ? t->rows : 0;
}

static bool core_tex(FeLower *L, FeExpr *e, FeEx args[], FeEx *out) {
  const IrType *f32 = hdfe_scalar(L, IR_F32);
  *out = hdfe_ex_error();
  IrValue *place = hdfe_default(L, args[1], e->args[1]->span), *x[IR_MAX_TEX], *number[4];
  if (!place) return true;
  uint32_t axes = axes_of_place(place->type);
  if (!axes) return false;
  x[0] = hdfe_coerce(L, args[0], hdfe_scalar(L, IR_U64), e->args[0]->span);
  x[1 + axes] = hdfe_coerce(L, args[2], f32, e->args[2]->span);
  if (!x[0] || !x[1 + axes]) return true;
  hdfe_at(L, e->span);
  for (uint32_t k = 0; k < axes; k++) x[1 + k] = axes == 1 ? place : hdir_extract(L->b, place, k);
  for (uint32_t k = 0; k < 4; k++) number[k] = hdir_tex(L->b, axes + 2, x, k);
  *out = hdfe_ex(hdir_make(L->b, hdir_vec(hdfe_types(L), f32, 4), number));
  return true;
}

bool hdfe_core(FeLower *L, FeExpr *e, uint32_t n, FeEx args[], FeEx *out) {
  const CoreRow *r = find(e->name);
  if (!r || r->nargs != n) return false;
  switch (r->kind) {
  case CORE_OP: return core_op(L, r, e, args, out);
  case CORE_GANG: return core_gang(L, e, args, out);
  case CORE_SELECT: return core_select(L, e, args, out);
  case CORE_BITCAST: return core_bitcast(L, e, args, out);
  case CORE_SHUFFLE: return core_shuffle(L, e, args, out);
  case CORE_BALLOT: return core_ballot(L, e, args, out);
  case CORE_TEX: return core_tex(L, e, args, out);
  case CORE_MMA: return core_mma(L, e, args, out);
  default: return false;
  }
}

/* --- those that do not evaluate their arguments, or not as values --- */

static FeEx core_launch(FeLower *L, const CoreRow *r, FeExpr *e) {
  FeBig axis = 0;
  if (e->nargs > 1) return wrong_count(L, e, "an axis or nothing");
  if (e->nargs == 1 && !hdfe_const_int(L, e->args[0], &axis)) return hdfe_ex_error();
  if (axis < 0 || axis >= HD_MAX_DIMS) {
    hdfe_error(L, e->args[0]->span, FE_D_axis_range, HD_MAX_DIMS - 1u);
    return hdfe_ex_error();
  }
  hdfe_at(L, e->span);
  return hdfe_ex(r->op == IR_tid ? hdir_tid(L->b, (uint32_t)axis) : hdir_dim(L->b, (uint32_t)axis));
}

static uint64_t float_bits(IrKind k, TypeFact f) { /* largest finite, smallest step above 1 */
  switch (k) {
  case IR_F16: return f == T_MAX ? 0x7bff : f == T_EPSILON ? 0x1400 : f == T_INF ? 0x7c00 : 0x7e00;
  case IR_BF16: return f == T_MAX ? 0x7f7f : f == T_EPSILON ? 0x3c00 : f == T_INF ? 0x7f80 : 0x7fc0;
  case IR_F32: return f == T_MAX ? 0x7f7fffff : f == T_EPSILON ? 0x34000000 : f == T_INF ? 0x7f800000 : 0x7fc00000;
  default:
    return f == T_MAX       ? 0x7fefffffffffffff
           : f == T_EPSILON ? 0x3cb0000000000000
           : f == T_INF     ? 0x7ff0000000000000
                            : 0x7ff8000000000000;
  }
}

/* A limit of a number type; NULL if the type has none of that kind. */
static IrValue *limit(FeLower *L, const IrType *s, TypeFact f) {
  if (hdir_is_float(s)) {
    uint64_t sign = f == T_MIN ? UINT64_C(1) << (hdir_bits(s) - 1) : 0;
    return hdir_const(L->b->fn, s, float_bits(s->kind, f == T_MIN ? T_MAX : f) | sign);
  }
  if (!hdir_is_int(s) || (f != T_MAX && f != T_MIN)) return NULL;
  uint64_t all = UINT64_MAX >> (64 - hdir_bits(s));
  if (f == T_MAX) return hdir_const(L->b->fn, s, hdir_is_signed(s) ? all >> 1 : all);
  return hdir_const(L->b->fn, s, hdir_is_signed(s) ? (all >> 1) + 1 : 0);
}

static FeEx core_type(FeLower *L, const CoreRow *r, FeExpr *e) {
  uint32_t want = (uint32_t)r->takes;
  const IrType *t[2] = {0};
  if (e->callee->nargs != want) {
    hdfe_error(L, e->span, FE_D_type_arguments, e->name,
               want == 1 ? "one type: f<f32>()" : "two types: is_same<T, f32>()", e->callee->nargs);
    return hdfe_ex_error();
  }
  if (e->nargs) return wrong_count(L, e, "no arguments");
  for (uint32_t i = 0; i < want; i++)
    if (!(t[i] = hdfe_type(L, e->callee->args[i]))) return hdfe_ex_error();
  hdfe_at(L, e->span);
  const IrType *s = hdir_elem_scalar(t[0]);
  IrValue *v = NULL;
  switch ((TypeFact)r->op) {
  case T_SAME: return hdfe_ex(hdir_const_bool(L->b->fn, t[0] == t[1]));
  case T_SIZEOF: return hdfe_ex_int(t[0]->size);
  case T_ROWS: return hdfe_ex_int(t[0]->kind == IR_ARRAY ? 0 : t[0]->rows);
  case T_COLS: return hdfe_ex_int(t[0]->kind == IR_ARRAY ? 0 : t[0]->cols);
  case T_BITS:
    if (s) return hdfe_ex_int(hdir_bits(s));
    break;
  case T_ZERO:
    if (!hdfe_has_array(t[0])) return hdfe_ex(hdir_zero(L->b, t[0]));
    break;
  default:
    if (s) v = limit(L, s, (TypeFact)r->op);
    if (v) return hdfe_ex(s == t[0] ? v : hdir_splat(L->b, t[0], v));
    break;
  }
  hdfe_error(L, e->callee->args[0]->span, FE_D_core_argument, e->name, hdfe_shown_type(L, t[0]));
  return hdfe_ex_error();
}

/* len(a): the type says it, nothing is read. */
static FeEx core_len(FeLower *L, FeExpr *e) {
  if (e->nargs != 1) return wrong_count(L, e, "1 argument");
  FePlace p = hdfe_place(L, e->args[0]);
  if (p.kind == FE_PLACE_ERROR) return hdfe_ex_error();
  if (p.kind != FE_PLACE_UNTYPED && (p.type->kind == IR_FIXED || p.type->kind == IR_VEC))
    return hdfe_ex_int(p.type->rows);
  FeReport *r = hdfe_error(L, e->span, FE_D_core_argument, e->name,
                           p.kind == FE_PLACE_UNTYPED ? hdfe_shown(L, p.ex) : hdfe_shown_type(L, p.type));
  if (p.kind != FE_PLACE_UNTYPED && p.type->kind == IR_ARRAY) hdfe_hint(L->fe, r, "the length of an array is x.length");
  return hdfe_ex_error();
}

static bool atomic_takes(IrOp op, const IrType *t) {
  if (!hdir_is_scalar(t)) { /* element by element; to compare all at once is not in their power */
    t = hdir_elem_scalar(t);
    if (!t || op == IR_atomic_cas) return false;
  }
  bool wide = t->kind == IR_I32 || t->kind == IR_I64 || t->kind == IR_U32 || t->kind == IR_U64;
  bool real = t->kind == IR_F32 || t->kind == IR_F64;
  return wide || (real && (op == IR_atomic_add || op == IR_atomic_min || op == IR_atomic_max || op == IR_atomic_xchg));
}

/* One step for each element of the place, in order; the old ones. */
static IrValue *atomic_steps(FeLower *L, IrOp op, FePlace *p, IrValue *x, IrValue *y) {
  if (hdir_is_scalar(p->type)) return hdir_atomic(L->b, op, p->value, x, y);
  IrValue **old = HDB_NEW_N(L->fe->arena, IrValue *, p->type->nparts);
  for (uint32_t i = 0; i < p->type->nparts; i++)
    old[i] = hdir_atomic(L->b, op, hdfe_place_part(L, p, i), hdir_extract(L->b, x, i), NULL);
  return hdir_make(L->b, p->type, old);
}

static FeEx emit_atomic(FeLower *L, IrOp op, FePlace *p, IrValue *x, IrValue *y) {
  if (!p->ok) return hdfe_ex(atomic_steps(L, op, p, x, y));
  IrInst *i = hdir_if_begin(L->b, p->ok, 1, &p->type);
  IrValue *v = atomic_steps(L, op, p, x, y);
  hdir_ender(L->b, IR_yield, 1, &v);
  hdir_if_else(L->b, i);
  v = hdir_zero(L->b, p->type);
  hdir_ender(L->b, IR_yield, 1, &v);
  hdir_end(L->b, i);
  return hdfe_ex(i->res[0]);
}

/* The element, or the elements, that an atomic changes: an error place after a report. */
static FePlace atomic_place(FeLower *L, IrOp op, FeExpr *e) {
  static const FePlace error = {.kind = FE_PLACE_ERROR};
  FePlace p = hdfe_place(L, e->args[0]);
  if (p.kind == FE_PLACE_ERROR) return p;
  if (p.kind != FE_PLACE_MEMORY || !(p.device || p.value->type->space == IR_SHARED)) {
    hdfe_error(L, e->args[0]->span, FE_D_atomic_place, e->name);
    return error;
  }
  if (p.repeated) {
    hdfe_error(L, e->args[0]->span, FE_D_repeated_swizzle, e->args[0]->name);
    return error;
  }
  if (!atomic_takes(op, p.type)) {
    FeReport *d = hdfe_error(L, e->args[0]->span, FE_D_atomic_type, e->name, hdfe_shown_type(L, p.type));
    hdfe_hint(L->fe, d, "%s",
              op == IR_atomic_cas ? "atomic_cas works on i32, i64, u32, u64"
                                  : "atomics work on i32, i64, u32, u64, vectors and matrices of these; "
                                    "add, sub, min, max and xchg on f32 and f64 too");
    return error;
  }
  return p;
}

static FeEx core_atomic(FeLower *L, const CoreRow *r, FeExpr *e) {
  if (e->nargs != r->nargs) return wrong_count(L, e, r->nargs == 2 ? "2 arguments" : "3 arguments");
  FePlace p = atomic_place(L, (IrOp)r->op, e);
  if (p.kind == FE_PLACE_ERROR) return hdfe_ex_error();
  IrValue *x = hdfe_value(L, e->args[1], p.type), *y = NULL;
  if (r->nargs == 3) y = hdfe_value(L, e->args[2], p.type);
  if (!x || (r->nargs == 3 && !y)) return hdfe_ex_error();
  hdfe_at(L, e->span);
  if (r->takes == NEGATIVE) x = hdir_un(L->b, IR_neg, x);
  return emit_atomic(L, (IrOp)r->op, &p, x, y);
}

static FeEx core_assert(FeLower *L, FeExpr *e) {
  if (e->nargs < 1 || e->nargs > 2) return wrong_count(L, e, "a condition and a message");
  FeExpr *c = e->args[0];
  const char *text = "assertion failed";
  if (e->nargs == 2 && e->args[1]->kind != FE_STRING) {
    hdfe_error(L, e->args[1]->span, FE_D_needs_string, "assert");
    return hdfe_ex_error();
  }
  if (e->nargs == 2) text = e->args[1]->text;
  uint32_t before = L->fe->nerrors;
  IrValue *v = hdfe_condition(L, c);
  if (L->fe->nerrors != before) return hdfe_ex_error();
  hdfe_at(L, e->span);
  hdir_assert(L->b, v, text);
  return (FeEx){.kind = FE_X_VOID};
}

/* --- printf --- */

typedef struct Printed {
  FeLower *L;
  Buf format; /* with a conversion for each scalar */
  IrValue *values[IR_MAX_PRINT];
  uint32_t n;
} Printed;

/* A scalar as its conversion takes it: 64 bits. NULL if it does not. */
static IrValue *as_printed(FeLower *L, IrValue *v, HdbConversionKind kind) {
  bool whole = hdir_is_int(v->type) || v->type->kind == IR_BOOL;
  if (kind == HDB_CONV_FLOAT) return hdir_is_float(v->type) ? hdir_cvt(L->b, hdfe_scalar(L, IR_F64), v) : NULL;
  if (!whole) return NULL;
  if (kind == HDB_CONV_INT) return hdir_cvt(L->b, hdfe_scalar(L, IR_I64), v);
  if (hdir_is_int(v->type) && hdir_is_signed(v->type)) { /* the bits of its own size */
    static const IrKind plain[] = {[IR_I8] = IR_U8, [IR_I16] = IR_U16, [IR_I32] = IR_U32, [IR_I64] = IR_U64};
    v = hdir_cvt(L->b, hdfe_scalar(L, plain[v->type->kind]), v);
  }
  return hdir_cvt(L->b, hdfe_scalar(L, IR_U64), v);
}

/* A value, its parts in brackets. False after a report. */
static bool print_value(Printed *p, IrValue *v, const HdbConversion *c, FeSpan span) {
  FeLower *L = p->L;
  if (hdir_is_composite(v->type) && v->type->nparts) {
    hdb_putc(&p->format, '(');
    for (uint32_t k = 0; k < v->type->nparts; k++) {
      if (k) hdb_put(&p->format, ", ");
      if (!print_value(p, hdir_extract(L->b, v, k), c, span)) return false;
    }
    hdb_putc(&p->format, ')');
    return true;
  }
  IrValue *x = hdir_is_scalar(v->type) ? as_printed(L, v, c->kind) : NULL;
  if (!x) {
    FeReport *r = hdfe_error(L, span, FE_D_print_type, (int)c->len, c->at, hdfe_shown_type(L, v->type));
    if (hdir_is_scalar(v->type))
      hdfe_hint(L->fe, r, hdir_is_float(v->type) ? "%%g prints it" : "%%d prints it, or convert it: f32(..)");
    return false;
  }
  if (p->n == IR_MAX_PRINT) {
    hdfe_error(L, span, FE_D_print_too_many, IR_MAX_PRINT);
    return false;
  }
  p->values[p->n++] = x;
  hdb_putn(&p->format, c->at, c->len);
  return true;
}

static FeEx core_print(FeLower *L, FeExpr *e) {
  if (e->nargs == 0 || e->args[0]->kind != FE_STRING) {
    hdfe_error(L, e->span, FE_D_needs_string, "printf");
    return hdfe_ex_error();
  }
  Printed p = {.L = L};
  const char *at = e->args[0]->text;
  uint32_t wanted = hdb_conversions(at);
  hdb_buf_init(&p.format, L->fe->arena);
  for (uint32_t k = 1;; k++) {
    HdbConversion c = hdb_conversion(at);
    hdb_putn(&p.format, at, (size_t)(c.at - at));
    if (c.kind == HDB_CONV_BAD) {
      hdfe_error(L, e->args[0]->span, FE_D_print_conversion, (int)c.len, c.at);
      return hdfe_ex_error();
    }
    if (c.kind == HDB_CONV_END || k >= e->nargs) break;
    IrValue *v = hdfe_value(L, e->args[k], NULL);
    hdfe_at(L, e->span);
    if (!v || !print_value(&p, v, &c, e->args[k]->span)) return hdfe_ex_error();
    at = c.at + c.len;
  }
  if (wanted != e->nargs - 1) {
    hdfe_error(L, e->span, FE_D_print_count, wanted, e->nargs - 1);
    return hdfe_ex_error();
  }
  hdfe_at(L, e->span);
  hdir_printf(L->b, p.format.len ? p.format.data : "", p.n, p.values);
  return (FeEx){.kind = FE_X_VOID};
}

bool hdfe_core_first(FeLower *L, FeExpr *e, FeEx *out) {
  const CoreRow *r = find(e->name);
  if (!r) return false;
  switch (r->kind) {
  case CORE_LAUNCH: *out = core_launch(L, r, e); return true;
  case CORE_TYPE: *out = core_type(L, r, e); return true;
  case CORE_LEN: *out = core_len(L, e); return true;
  case CORE_ATOMIC: *out = core_atomic(L, r, e); return true;
  case CORE_ASSERT: *out = core_assert(L, e); return true;
  case CORE_PRINT: *out = core_print(L, e); return true;
  case CORE_GROUP: *out = core_group(L, r, e); return true;
  case CORE_HAS: *out = core_has(L, r, e); return true;
  default: return false;
  }
}
