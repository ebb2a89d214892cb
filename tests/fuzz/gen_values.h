// tests/fuzz/gen_values.h -- the half of the generator that makes values: types, constants, ops, addresses, loads.
#ifndef GEN_VALUES_H
#define GEN_VALUES_H

#include <cmath>
#include <string>
#include <vector>

#include "gen.h"
#include "ir/build.h"

namespace fuzz {

using diff::ArraySpec;
using diff::Extent;
using diff::Rng;

using Types = std::vector<const IrType *>;
using Values = std::vector<IrValue *>;

// An array that a function has; `spec` is NULL where nothing is known of its length.
struct Array {
  IrValue *value;
  const ArraySpec *spec;
};

// A loop's counter: 0 <= value < limit inside its body.
struct Counter {
  IrValue *value;
  int limit;
};

// What is at hand.
struct Hand {
  Values values, places; // places: addresses that may be loaded from and stored to
  std::vector<Counter> counters;
};
// Makes values of what is at hand.
class ValueGen {
protected:
  ValueGen(Program *p, uint64_t seed, const GenOptions &o) : p_(p), r_(seed), o_(o) {}

  // --- types ---

  const IrType *Scalar(IrKind k) { return hdir_scalar(ts_, k); }
  const IrType *I32() { return Scalar(IR_I32); }
  const IrType *Bool() { return Scalar(IR_BOOL); }
  template <class T> const T &Pick(const std::vector<T> &v) { return v[(size_t)r_.Below((int)v.size())]; }

  const IrType *RandomPacked() {
    const IrType *s = Pick(scalars_);
    switch (r_.Below(8)) {
    case 0: return hdir_mat(ts_, s, (uint32_t)r_.In(1, 3), (uint32_t)r_.In(2, 3));
    case 1: return hdir_quat(ts_, hdir_is_float(s) ? s : Scalar(IR_F32));
    case 2: return hdir_transform(ts_, hdir_is_float(s) ? s : Scalar(IR_F32));
    case 3: return hdir_spatial(ts_, hdir_is_float(s) ? s : Scalar(IR_F64));
    default: return hdir_vec(ts_, s, (uint32_t)(r_.Chance(10) ? r_.In(1, 7) : r_.In(2, 4)));
    }
  }

  const IrType *RandomStruct(const std::string &name) {
    std::vector<IrField> fields((size_t)r_.In(1, 4));
    std::vector<std::string> names;
    for (size_t k = 0; k < fields.size(); k++) {
      const IrType *t = Pick(types_);
      if (r_.Chance(30)) t = hdir_fixed(ts_, t->nleaves > 8 ? Pick(scalars_) : t, (uint32_t)r_.In(1, 4));
      fields[k].name = hdb_printf(&p_->arena, "f%zu", k);
      fields[k].type = t->nleaves > 16 ? Pick(scalars_) : t;
    }
    return hdir_struct(ts_, hdb_strdup(&p_->arena, name.c_str()), (uint32_t)fields.size(), fields.data());
  }

  void ChooseTypes() {
    scalars_ = {I32(), Bool(), Scalar(IR_F32)};
    for (int k = r_.In(2, 5); k > 0; k--) scalars_.push_back(Scalar((IrKind)r_.In(IR_BOOL, IR_F64)));
    types_ = scalars_;
    for (int k = r_.In(0, 3); k > 0; k--) types_.push_back(RandomPacked());
    for (int k = r_.In(0, 2); k > 0; k--) types_.push_back(RandomStruct("S" + std::to_string(k)));
    if (r_.Chance(30)) types_.push_back(hdir_fixed(ts_, Pick(scalars_), (uint32_t)r_.In(1, 5)));
  }

  bool Indexable(const IrType *t) { return t->kind == IR_VEC || t->kind == IR_MAT || t->kind == IR_FIXED; }

  // --- constants ---

  IrValue *Int(const IrType *t, int64_t x) { return hdir_const_int(b_.fn, t, x); }
  IrValue *Int(int64_t x) { return Int(I32(), x); }

  IrValue *Const(const IrType *t) {
    if (t->kind == IR_BOOL) return hdir_const_bool(b_.fn, r_.Chance(50));
    if (hdir_is_float(t)) {
      static const double special[] = {0.0, -0.0, 1.0, -1.0, 2.0, 0.5, INFINITY, -INFINITY, NAN, 1e-41, 65504.0, 1e10};
      return hdir_const_float(b_.fn, t, r_.Chance(50) ? special[r_.Below(12)] : (r_.Unit() - 0.5) * r_.In(1, 100));
    }
    uint32_t bits = hdir_bits(t);
    switch (r_.Below(8)) {
    case 0: return Int(t, (int64_t)(1ull << (bits - 1)));
    case 1: return Int(t, (int64_t)((1ull << (bits - 1)) - 1));
    case 2: return Int(t, (int64_t)(1ull << r_.Below((int)bits)));
    case 3: return Int(t, -1);
    default: return Int(t, r_.In(-3, 12));
    }
  }

  IrValue *Leaf(const IrType *t) {
    if (hdir_is_scalar(t)) return Const(t);
    if (r_.Chance(30)) return hdir_zero(&b_, t);
    Values parts;
    for (uint32_t k = 0; k < t->nparts; k++) parts.push_back(Leaf(hdir_part(t, k)));
    return hdir_make(&b_, t, parts.data());
  }

  // --- values ---

  IrValue *Existing(const IrType *t) {
    Values match;
    for (IrValue *v : hand_.values)
      if (v->type == t) match.push_back(v);
    if (match.empty()) return nullptr;
    if (match.size() > 3 && r_.Chance(60)) return match[match.size() - 1 - (size_t)r_.Below(3)];
    return Pick(match);
  }

  IrValue *Value(const IrType *t, int depth) {
    if (b_.fn->ninsts > 400) depth = 0;
    IrValue *v = r_.Chance(depth > 0 ? 35 : 85) ? Existing(t) : nullptr;
    if (!v && depth > 0) v = Computed(t, depth);
    if (!v) v = Leaf(t);
    return v;
  }

  IrValue *Keep(IrValue *v) {
    if (v && v->type->nleaves) hand_.values.push_back(v);
    return v;
  }

  IrValue *Computed(const IrType *t, int depth) {
    for (int tries = 0; tries < 4; tries++) {
      IrValue *v = Compute(t, depth);
      if (v) return r_.Chance(50) ? Keep(v) : v;
    }
    return nullptr;
  }

  IrValue *Compute(const IrType *t, int depth) {
    switch (r_.Below(15)) {
    case 0: return Launch(t);
    case 1: return Select(t, depth);
    case 2: return Convert(t, depth);
    case 3: return Extract(t, depth);
    case 4: return Insert(t, depth);
    case 5: return Make(t, depth);
    case 6: return Bitcast(t, depth);
    case 7: return LoadPlace(t, depth);
    case 8: return LoadRead(t, depth);
    case 9: return Table(t, depth);
    default: return Elementwise(t, depth);
    }
  }

  IrValue *Launch(const IrType *t) {
    if (t->kind == IR_F32 && r_.Chance(10)) {
      IrValue *x[] = {Value(hdir_scalar(ts_, IR_U64), 0), Value(t, 0), Value(t, 0), Value(t, 0), Value(t, 0)};
      return hdir_tex(&b_, (uint32_t)r_.In(3, IR_MAX_TEX), x, (uint32_t)r_.Below(4));
    }
    if (t->kind == IR_BOOL) return hdir_has(&b_, r_.Chance(50) ? IR_UNIT_mma : IR_UNIT_tex);
    if (t->kind != IR_I32 && t->kind != IR_I64) return nullptr;
    if (r_.Chance(30) && !reads_.empty()) {
      IrValue *a = Pick(reads_).value;
      return hdir_length(&b_, a, (uint32_t)r_.Below((int)a->type->rows), t);
    }
    if (t->kind != IR_I32) return nullptr;
    return r_.Chance(80) ? hdir_tid(&b_, (uint32_t)r_.Below(ndim_)) : hdir_dim(&b_, (uint32_t)r_.Below(ndim_));
  }

  IrValue *Select(const IrType *t, int depth) {
    const IrType *c = hdir_is_packed(t) && r_.Chance(50) ? hdir_with_elem(ts_, t, Bool()) : Bool();
    IrValue *cond = Value(c, depth - 1), *x = Value(t, depth - 1);
    return hdir_select(&b_, cond, x, Value(t, depth - 1));
  }

  IrValue *Convert(const IrType *t, int depth) {
    if (!hdir_elem_scalar(t)) return nullptr;
    const IrType *from = hdir_with_elem(ts_, t, Pick(scalars_));
    if (from == t) return nullptr;
    return hdir_cvt(&b_, t, Value(from, depth - 1));
  }

  // A float whose NaN has the one pattern that a constant has: what may be turned into bits.
  IrValue *Settled(IrValue *x) {
    if (!hdir_is_float(hdir_elem_scalar(x->type))) return x;
    IrValue *nan = hdir_bin(&b_, IR_ne, x, x);
    const IrType *s = hdir_elem_scalar(x->type);
    IrValue *one = hdir_const_float(b_.fn, s, r_.Chance(50) ? NAN : 1.0);
    return hdir_select(&b_, nan, x->type == s ? one : hdir_splat(&b_, x->type, one), x);
  }

  IrValue *Bitcast(const IrType *t, int depth) {
    if (!hdir_is_scalar(t) || t->kind == IR_BOOL) return nullptr;
    const IrType *from = Pick(scalars_);
    if (from->size != t->size || from->kind == IR_BOOL || from == t) return nullptr;
    return hdir_bitcast(&b_, t, Settled(Value(from, depth - 1)));
  }

  IrValue *Elementwise(const IrType *t, int depth) {
    const IrType *s = hdir_elem_scalar(t);
    if (!s) return nullptr;
    if (s->kind == IR_BOOL) return Logic(t, depth);
    static const IrOp ints[] = {IR_add,   IR_sub, IR_mul,      IR_div, IR_rem, IR_min, IR_max,
                                IR_mulhi, IR_and, IR_or,       IR_xor, IR_shl, IR_shr, IR_neg,
                                IR_abs,   IR_not, IR_popcount, IR_clz, IR_ctz, IR_add, IR_mul};
    static const IrOp floats[] = {IR_add,  IR_sub,   IR_mul,  IR_div,   IR_min,  IR_max, IR_copysign, IR_neg, IR_abs,
                                  IR_sqrt, IR_floor, IR_ceil, IR_trunc, IR_rint, IR_add, IR_mul,      IR_fma, IR_mul};
    IrOp op = hdir_is_float(s) ? floats[r_.Below(18)] : ints[r_.Below(21)];
    IrValue *x = Value(t, depth - 1);
    size_t n = strlen(hdir_ops[op].operands);
    if (n == 1) return hdir_un(&b_, op, x);
    IrValue *y = Value(t, depth - 1);
    if (op == IR_copysign) y = Settled(y);
    if (n == 2) return Contractible(t, op, hdir_bin(&b_, op, x, y), depth);
    if (hdir_bits(s) < 32) return nullptr;
    return hdir_fma(&b_, x, y, Value(t, depth - 1));
  }

  // A product is often a term of a sum: food for the fma pass.
  IrValue *Contractible(const IrType *t, IrOp op, IrValue *v, int depth) {
    if (op != IR_mul || !r_.Chance(40)) return v;
    IrValue *z = Value(t, depth - 1);
    IrOp sum = r_.Chance(50) ? IR_add : IR_sub;
    return r_.Chance(50) ? hdir_bin(&b_, sum, v, z) : hdir_bin(&b_, sum, z, v);
  }

  IrValue *Logic(const IrType *t, int depth) {
    static const IrOp ops[] = {IR_and, IR_or, IR_xor, IR_not};
    static const IrOp cmp[] = {IR_eq, IR_ne, IR_lt, IR_le, IR_gt, IR_ge};
    if (r_.Chance(35)) {
      IrOp op = ops[r_.Below(4)];
      IrValue *x = Value(t, depth - 1);
      return op == IR_not ? hdir_un(&b_, op, x) : hdir_bin(&b_, op, x, Value(t, depth - 1));
    }
    const IrType *u = hdir_with_elem(ts_, t, Pick(scalars_));
    IrValue *x = Value(u, depth - 1);
    return hdir_bin(&b_, cmp[r_.Below(6)], x, Value(u, depth - 1));
  }

  IrValue *AnyIndex(int depth) {
    IrValue *i = Value(I32(), depth);
    return r_.Chance(20) ? hdir_cvt(&b_, Scalar(IR_I64), i) : i;
  }

  IrValue *Extract(const IrType *t, int depth) {
    const IrType *c = Pick(types_);
    if (!hdir_is_composite(c)) return nullptr;
    if (Indexable(c) && c->elem == t && r_.Chance(40)) {
      IrValue *v = Value(c, depth - 1);
      return hdir_extract_at(&b_, v, r_.Chance(50) ? Bounded((int)c->nparts, depth - 1) : AnyIndex(depth - 1));
    }
    uint32_t k = (uint32_t)r_.Below((int)c->nparts);
    if (hdir_part(c, k) != t) return nullptr;
    return hdir_extract(&b_, Value(c, depth - 1), k);
  }

  IrValue *Table(const IrType *t, int depth) {
    if (!hdir_is_scalar(t)) return nullptr;
    Values entries;
    for (int n = r_.Chance(80) ? r_.In(1, 18) : r_.In(19, 70); n > 0; n--) entries.push_back(Const(t));
    const uint32_t n = (uint32_t)entries.size();
    return hdir_table(&b_, r_.Chance(70) ? Bounded((int)n, depth - 1) : AnyIndex(depth - 1), n, entries.data());
  }

  IrValue *Insert(const IrType *t, int depth) {
    if (!hdir_is_composite(t)) return nullptr;
    IrValue *v = Value(t, depth - 1);
    if (Indexable(t) && r_.Chance(40)) {
      IrValue *i = r_.Chance(50) ? Bounded((int)t->nparts, depth - 1) : AnyIndex(depth - 1);
      return hdir_insert_at(&b_, v, i, Value(t->elem, depth - 1));
    }
    uint32_t k = (uint32_t)r_.Below((int)t->nparts);
    return hdir_insert(&b_, v, k, Value(hdir_part(t, k), depth - 1));
  }

  IrValue *Make(const IrType *t, int depth) {
    if (!hdir_is_composite(t)) return nullptr;
    Values parts;
    for (uint32_t k = 0; k < t->nparts; k++) parts.push_back(Value(hdir_part(t, k), depth - 1));
    return hdir_make(&b_, t, parts.data());
  }

  // --- indices ---

  // 0 <= result < n.
  IrValue *Bounded(int n, int depth) {
    if (r_.Chance(30)) return Int(r_.Below(n));
    std::vector<Counter> fit;
    for (const Counter &c : hand_.counters)
      if (c.limit <= n) fit.push_back(c);
    if (!fit.empty() && r_.Chance(60)) return Pick(fit).value;
    IrValue *e = Value(I32(), depth);
    if ((n & (n - 1)) == 0 && r_.Chance(70)) return hdir_bin(&b_, IR_and, e, Int(n - 1));
    IrValue *u = hdir_cvt(&b_, Scalar(IR_U32), e);
    return hdir_cvt(&b_, I32(), hdir_bin(&b_, IR_rem, u, Int(Scalar(IR_U32), n)));
  }

  // 0 <= result < the length of an axis, whatever that is (but not 0).
  IrValue *BoundedByLength(IrValue *array, uint32_t axis, int depth) {
    IrValue *e = Value(I32(), depth), *n = hdir_length(&b_, array, axis, I32());
    if (r_.Chance(40)) {
      IrValue *top = hdir_bin(&b_, IR_sub, n, Int(1));
      return hdir_bin(&b_, IR_min, hdir_bin(&b_, IR_max, e, Int(0)), top);
    }
    IrValue *u = hdir_cvt(&b_, Scalar(IR_U32), e);
    u = hdir_bin(&b_, IR_rem, u, hdir_cvt(&b_, Scalar(IR_U32), n));
    return hdir_cvt(&b_, I32(), u);
  }

  IrValue *Scaled(IrValue *i, int per) {
    if (per == 1) return i;
    return r_.Chance(50) ? hdir_bin(&b_, IR_mul, i, Int(per)) : hdir_bin(&b_, IR_mul, Int(per), i);
  }

  // tid * per + c where c < per + extra, forwards or backwards.
  IrValue *Affine(const Extent &e, int depth) {
    IrValue *i = hdir_tid(&b_, (uint32_t)e.axis);
    if (r_.Chance(15)) {
      IrValue *top = hdir_bin(&b_, IR_sub, hdir_dim(&b_, (uint32_t)e.axis), Int(1));
      i = hdir_bin(&b_, IR_sub, top, i);
    }
    IrValue *x = Scaled(i, r_.In(1, e.per)), *c = Bounded(e.per + e.extra, depth);
    return hdir_is_const(c) && c->bits == 0 ? x : hdir_bin(&b_, IR_add, x, c);
  }

  IrValue *ReadIndex(const Array &a, uint32_t axis, int depth) {
    IrValue *i;
    const Extent *e = a.spec ? &a.spec->extent[axis] : nullptr;
    if (e && e->axis >= 0 && r_.Chance(65))
      i = Affine(*e, depth);
    else if (e && e->extra > 0 && r_.Chance(50))
      i = Bounded(e->extra, depth);
    else
      i = BoundedByLength(a.value, axis, depth);
    return r_.Chance(15) ? hdir_cvt(&b_, Scalar(IR_I64), i) : i;
  }

  IrValue *ReadAddress(const Array &a, int depth) {
    Values at;
    for (uint32_t k = 0; k < a.value->type->rows; k++) at.push_back(ReadIndex(a, k, depth));
    return hdir_index(&b_, a.value, (uint32_t)at.size(), at.data());
  }

  // This thread's number among all.
  IrValue *Linear() {
    IrValue *x = hdir_tid(&b_, 0);
    for (int k = 1; k < ndim_; k++) {
      x = hdir_bin(&b_, IR_mul, x, hdir_dim(&b_, (uint32_t)k));
      x = hdir_bin(&b_, IR_add, x, hdir_tid(&b_, (uint32_t)k));
    }
    return x;
  }

  IrValue *OwnAddress(const Array &a, int depth) {
    Values at;
    for (const Extent &e : a.spec->extent) {
      IrValue *i = Scaled(e.axis == Extent::kAll ? Linear() : hdir_tid(&b_, (uint32_t)e.axis), e.per);
      if (e.per > 1) i = hdir_bin(&b_, IR_add, i, Bounded(e.per, depth));
      at.push_back(r_.Chance(15) ? hdir_cvt(&b_, Scalar(IR_I64), i) : i);
    }
    return hdir_index(&b_, a.value, (uint32_t)at.size(), at.data());
  }

  // --- memory ---

  // Some way down from an address, perhaps to a part of type `want`.
  IrValue *Descend(IrValue *p, const IrType *want, int depth) {
    while (hdir_is_composite(p->type->elem) && p->type->elem != want && (want || r_.Chance(70))) {
      const IrType *t = p->type->elem;
      if (Indexable(t) && r_.Chance(60))
        p = hdir_elem(&b_, p, Bounded((int)t->nparts, depth));
      else
        p = hdir_member(&b_, p, (uint32_t)r_.Below((int)t->nparts));
    }
    return want && p->type->elem != want ? nullptr : p;
  }

  bool Holds(const IrType *t, const IrType *part) {
    if (t == part) return true;
    for (uint32_t k = 0; k < t->nparts; k++)
      if (Holds(hdir_part(t, k), part)) return true;
    return false;
  }

  // An address at hand, or a new one of an own element.
  IrValue *Place(int depth) {
    if (!owns_.empty() && (hand_.places.empty() || r_.Chance(35))) {
      IrValue *p = OwnAddress(Pick(owns_), depth);
      if (r_.Chance(50)) hand_.places.push_back(p);
      return p;
    }
    return hand_.places.empty() ? nullptr : Pick(hand_.places);
  }

  IrValue *LoadPlace(const IrType *t, int depth) {
    IrValue *p = Place(depth - 1);
    if (!p || !Holds(p->type->elem, t)) return nullptr;
    p = Descend(p, t, depth - 1);
    return p ? hdir_load(&b_, p) : nullptr;
  }

  IrValue *LoadRead(const IrType *t, int depth) {
    if (reads_.empty()) return nullptr;
    const Array &a = Pick(reads_);
    if (!Holds(a.value->type->elem, t)) return nullptr;
    IrValue *p = Descend(ReadAddress(a, depth - 1), t, depth - 1);
    return p ? hdir_load(&b_, p) : nullptr;
  }

  Program *p_;
  Rng r_;
  GenOptions o_;
  IrTypes *ts_ = nullptr;
  IrBuilder b_ = {};
  int ndim_ = 1;
  Types scalars_, types_;
  Hand hand_;
  std::vector<Array> reads_, owns_;
};

} // namespace fuzz
#endif
