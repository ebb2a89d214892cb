/* ir/fold.c -- constants, the laws of ops.def, and what cancels between neighbouring instructions.
 *
 * A rule may be here only if the answer has the same bits as the instruction for every operand (NaN payloads aside,
 * which nobody promises). Rules on element-wise ops hold for packed types too, where a constant is a `make` of
 * constants. Each rule looks at most a fixed number of instructions deep, so building stays linear.
 */
#include "ir/fold.h"

#include <assert.h>

/* Composites are folded part by part up to this size, and chains of inserts followed this far: unrolled code that fills
 * a long fixed array must not take quadratic time. */
enum { MOST_PARTS = 64 };

/* --- looking at operands --- */

static const IrInst *def_by(const IrValue *v, IrOp op) { return v->def && v->def->op == op ? v->def : NULL; }

/* Part k of a constant: of a scalar constant itself, or of a packed make. NULL if it is not known. */
static const IrValue *const_part(const IrValue *v, uint32_t k) {
  if (hdir_is_const(v)) return v;
  const IrInst *make = def_by(v, IR_make);
  return make && hdir_is_packed(v->type) && hdir_is_const(make->args[k]) ? make->args[k] : NULL;
}

static uint32_t elements(const IrType *t) { return hdir_is_scalar(t) ? 1 : t->nparts; }

static bool is_known(const IrValue *v) {
  if (hdir_is_const(v)) return true;
  if (!def_by(v, IR_make) || !hdir_is_packed(v->type)) return false;
  for (uint32_t k = 0; k < v->type->nparts; k++)
    if (!const_part(v, k)) return false;
  return true;
}

/* Whether each element of v is the constant with these bits. */
static bool is_all(const IrValue *v, uint64_t bits) {
  if (hdir_is_const(v)) return v->bits == bits;
  if (!def_by(v, IR_make) || !hdir_is_packed(v->type)) return false;
  for (uint32_t k = 0; k < v->type->nparts; k++) {
    const IrValue *c = const_part(v, k);
    if (!c || c->bits != bits) return false;
  }
  return true;
}

static uint64_t all_ones(const IrType *scalar) {
  uint32_t n = hdir_bits(scalar);
  return n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* --- constants --- */

static bool same_shape_ops(IrOp op) { return op <= IR_bitcast; }
static_assert(IR_bitcast + 1 == IR_make, "the element-wise ops stand before the composites in ops.def");

/* The op on constants, element by element. */
static IrValue *fold_constants(IrBuilder *b, IrOp op, const IrType *res, uint32_t n, IrValue **args) {
  for (uint32_t k = 0; k < n; k++)
    if (!is_known(args[k])) return NULL;
  const IrType *from = hdir_elem_scalar(args[n - 1]->type), *to = hdir_elem_scalar(res);
  uint32_t count = elements(res);
  IrValue *parts[MOST_PARTS];
  if (!from || count > MOST_PARTS) return NULL;
  for (uint32_t e = 0; e < count; e++) {
    uint64_t bits[3] = {0, 0, 0};
    for (uint32_t k = 0; k < n; k++) bits[k] = const_part(args[k], e)->bits;
    parts[e] = hdir_const(b->fn, to, hdir_eval(op, from, to, bits));
  }
  return hdir_is_scalar(res) ? parts[0] : hdir_make(b, res, parts);
}

/* --- the laws --- */

static uint64_t neutral_zero(IrOp op, const IrType *scalar) {
  return op == IR_add && hdir_is_float(scalar) ? UINT64_C(1) << (hdir_bits(scalar) - 1) : 0;
}

static IrValue *fold_laws(IrBuilder *b, IrOp op, uint32_t n, IrValue **args) {
  const uint32_t laws = hdir_ops[op].laws;
  IrValue *x = args[0];
  const IrType *s = hdir_elem_scalar(x->type);
  if (!laws || !s) return NULL;
  const bool whole = !hdir_is_float(s); /* integers and bool: the laws of exact arithmetic */
  if (n == 1) {
    const IrInst *inner = def_by(x, op);
    if (inner && laws & INVOL) return inner->args[0];
    return inner && laws & IDEM ? x : NULL;
  }
  if (laws & COMM && is_known(x) && !is_known(args[1])) {
    args[0] = args[1];
    args[1] = x;
    x = args[0];
  }
  IrValue *y = args[1];
  if (x == y) {
    if (laws & IDEM2) return x;
    if (laws & SELF_ZERO_I && whole) return hdir_zero(b, x->type);
  }
  if (!is_known(y)) return NULL;
  if (laws & (ID_ZERO | RID_ZERO) && is_all(y, neutral_zero(op, s))) return x;
  if (laws & (ID_ONE | RID_ONE) && is_all(y, hdir_bits_of(s, 1))) return x;
  if (laws & ZERO_I && whole && is_all(y, 0)) return y;
  if (laws & ASSOC_I && whole) {
    const IrInst *inner = def_by(x, op);
    if (inner && is_known(inner->args[1])) return hdir_bin(b, op, inner->args[0], hdir_bin(b, op, inner->args[1], y));
  }
  return NULL;
}

/* --- logic, comparison, choice --- */

static IrValue *fold_logic(IrOp op, IrValue **args) {
  const IrType *s = hdir_elem_scalar(args[0]->type);
  if ((op == IR_and || op == IR_or) && is_all(args[1], all_ones(s))) return op == IR_and ? args[0] : args[1];
  return NULL;
}

/* not (a < b) is a >= b, except of floats, where a NaN makes both false. */
static IrValue *fold_not(IrBuilder *b, IrValue *x) {
  static const IrOp opposite[IR_NOPS] = {[IR_eq] = IR_ne, [IR_ne] = IR_eq, [IR_lt] = IR_ge,
                                         [IR_ge] = IR_lt, [IR_gt] = IR_le, [IR_le] = IR_gt};
  if (!x->def || !opposite[x->def->op]) return NULL;
  const IrInst *cmp = x->def;
  if (cmp->op != IR_eq && cmp->op != IR_ne && hdir_is_float(hdir_elem_scalar(cmp->args[0]->type))) return NULL;
  return hdir_bin(b, opposite[cmp->op], cmp->args[0], cmp->args[1]);
}

static IrValue *truth(IrBuilder *b, const IrType *t, bool x) {
  IrValue *c = hdir_const_bool(b->fn, x);
  return hdir_is_scalar(t) ? c : hdir_splat(b, t, c);
}

static IrValue *fold_compare(IrBuilder *b, IrOp op, const IrType *res, IrValue **args) {
  if (args[0] != args[1]) return NULL;
  const IrType *s = hdir_elem_scalar(args[0]->type);
  if (op == IR_lt || op == IR_gt) return truth(b, res, false);
  if (hdir_is_float(s)) return NULL; /* x == x is false for a NaN */
  return truth(b, res, op != IR_ne);
}

static IrValue *fold_select(IrBuilder *b, IrValue **args) {
  IrValue *c = args[0], *x = args[1], *y = args[2];
  if (x == y) return x;
  if (is_all(c, 1)) return x;
  if (is_all(c, 0)) return y;
  const IrInst *not = def_by(c, IR_not);
  if (not) return hdir_select(b, not->args[0], y, x);
  if (x->type == c->type && x->type->kind == IR_BOOL && hdir_is_const(x) && hdir_is_const(y)) {
    return x->bits ? c : hdir_un(b, IR_not, c); /* x and y differ */
  }
  return NULL;
}

/* --- conversion --- */

/* Whether every value of `from` is one of `to` (a NaN may change its payload). */
static bool holds_all(const IrType *to, const IrType *from) {
  static const uint8_t mantissa[IR_NKINDS] = {[IR_F16] = 11, [IR_BF16] = 8, [IR_F32] = 24, [IR_F64] = 53};
  if (to == from) return true;
  if (from->kind == IR_BOOL) return true;
  if (to->kind == IR_BOOL) return false;
  if (hdir_is_float(from)) { return to->kind == IR_F64 || (to->kind == IR_F32 && from->kind != IR_F64); }
  uint32_t digits = hdir_bits(from) - hdir_is_signed(from);
  if (hdir_is_float(to)) return digits <= mantissa[to->kind]; /* MIN is a power of two */
  if (hdir_is_signed(from) && !hdir_is_signed(to)) return false;
  return digits <= hdir_bits(to) - hdir_is_signed(to);
}

/* cvt T (cvt U x) without the step by way of U. */
static IrValue *fold_cvt(IrBuilder *b, const IrType *res, IrValue *x) {
  const IrInst *inner = def_by(x, IR_cvt);
  if (x->type == res) return x;
  if (!inner) return NULL;
  const IrType *s = hdir_elem_scalar(inner->args[0]->type), *u = hdir_elem_scalar(x->type), *t = hdir_elem_scalar(res);
  bool skip = holds_all(u, s);
  /* From a float to an integer saturates, between integers wraps: the same only if nothing is out of range. */
  if (skip && hdir_is_float(u) && !hdir_is_float(t) && !hdir_is_float(s) && t->kind != IR_BOOL) skip = holds_all(t, s);
  if (hdir_is_int(s) && hdir_is_int(u) && hdir_is_int(t) && hdir_bits(t) <= hdir_bits(u)) skip = true;
  return skip ? hdir_cvt(b, res, inner->args[0]) : NULL;
}

static IrValue *fold_bitcast(IrBuilder *b, const IrType *res, IrValue *x) {
  const IrInst *inner = def_by(x, IR_bitcast);
  if (x->type == res) return x;
  return inner ? hdir_bitcast(b, res, inner->args[0]) : NULL;
}

/* --- composites --- */

/* make t (extract x 0) (extract x 1) .. is x. */
static IrValue *fold_make(const IrType *res, uint32_t n, IrValue **args) {
  const IrInst *first = def_by(args[0], IR_extract);
  if (!first || first->args[0]->type != res) return NULL;
  for (uint32_t k = 0; k < n; k++) {
    const IrInst *e = def_by(args[k], IR_extract);
    if (!e || e->imm != k || e->args[0] != first->args[0]) return NULL;
  }
  return first->args[0];
}

static IrValue *fold_extract(IrBuilder *b, IrValue *x, int64_t part) {
  IrValue *from = x;
  for (int steps = 0; steps < MOST_PARTS && def_by(from, IR_insert); steps++) {
    if (from->def->imm == part) return from->def->args[1];
    from = from->def->args[0];
  }
  if (def_by(from, IR_make)) return from->def->args[part];
  return from == x || def_by(from, IR_insert) ? NULL : hdir_extract(b, from, (uint32_t)part);
}

static IrValue *fold_insert(IrBuilder *b, IrValue **args, int64_t part) {
  const IrInst *from = args[0]->def, *same = def_by(args[1], IR_extract);
  if (same && same->args[0] == args[0] && same->imm == part) return args[0];
  if (!from) return NULL;
  if (from->op == IR_insert && from->imm == part) return hdir_insert(b, from->args[0], (uint32_t)part, args[1]);
  if (from->op == IR_make && from->nargs <= MOST_PARTS) {
    IrValue *parts[MOST_PARTS];
    memcpy(parts, from->args, sizeof *parts * from->nargs);
    parts[part] = args[1];
    return hdir_make(b, args[0]->type, parts);
  }
  return NULL;
}

/* A constant index, if it is one of the parts. */
static bool known_part(const IrType *t, const IrValue *i, uint32_t *part) {
  if (!hdir_is_const(i)) return false;
  int64_t k = hdir_const_i64(i);
  bool inside = k >= 0 && k < (int64_t)t->nparts;
  *part = inside ? (uint32_t)k : UINT32_MAX;
  return true;
}

static IrValue *fold_dynamic_part(IrBuilder *b, IrOp op, IrValue **args) {
  const IrType *t = op == IR_elem ? args[0]->type->elem : args[0]->type;
  uint32_t part;
  if (!known_part(t, args[1], &part)) return NULL;
  bool inside = part != UINT32_MAX;
  switch (op) {
  case IR_extract_at: return hdir_extract(b, args[0], inside ? part : 0);
  case IR_insert_at: return inside ? hdir_insert(b, args[0], part, args[2]) : args[0];
  default: return inside ? hdir_member(b, args[0], part) : NULL;
  }
}

/* A constant index, or one constant everywhere. */
static IrValue *fold_table(uint32_t n, IrValue **args) {
  if (hdir_is_const(args[0])) {
    int64_t at = hdir_const_i64(args[0]);
    return args[at >= 0 && at < (int64_t)n - 1 ? at + 1 : 1];
  }
  for (uint32_t k = 2; k < n; k++)
    if (args[k] != args[1]) return NULL;
  return args[1];
}

IrValue *hdir_fold(IrBuilder *b, IrOp op, const IrType *res, uint32_t n, IrValue **args, int64_t imm) {
  IrValue *r = NULL;
  if (same_shape_ops(op)) {
    if (op != IR_select || hdir_is_scalar(res)) r = fold_constants(b, op, res, n, args);
    if (!r) r = fold_laws(b, op, n, args);
    if (r) return r;
  }
  switch (op) {
  case IR_and:
  case IR_or: return fold_logic(op, args);
  case IR_not: return fold_not(b, args[0]);
  case IR_eq:
  case IR_ne:
  case IR_lt:
  case IR_le:
  case IR_gt:
  case IR_ge: return fold_compare(b, op, res, args);
  case IR_select: return fold_select(b, args);
  case IR_cvt: return fold_cvt(b, res, args[0]);
  case IR_bitcast: return fold_bitcast(b, res, args[0]);
  case IR_make: return fold_make(res, n, args);
  case IR_extract: return fold_extract(b, args[0], imm);
  case IR_insert: return fold_insert(b, args, imm);
  case IR_extract_at:
  case IR_insert_at:
  case IR_elem: return fold_dynamic_part(b, op, args);
  case IR_table: return fold_table(n, args);
  case IR_tex: return is_known(args[0]) && args[0]->bits == 0 ? hdir_zero(b, res) : NULL; /* no object */
  case IR_gang_min:
  case IR_gang_max: return hdir_is_const(args[0]) ? args[0] : NULL;
  default: return NULL;
  }
}
