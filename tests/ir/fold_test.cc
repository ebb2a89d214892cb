// tests/ir/fold_test.cc -- folding changes no bits: what the builder makes of a computation has the value of the computation.
//
// Random computations are built twice, once folded and once as they are, and both are evaluated on random bits. The
// special constants that the laws look for come up often. Results that depend on the sign or payload of a NaN, which are
// not promised, are not compared.
#include <random>
#include <vector>

#include "tests/ir/ir_testing.h"

namespace {

// Values of a function without control, element by element.
class Evaluator {
public:
  Evaluator(const IrFunc *fn, const std::vector<uint64_t> &inputs) : inputs_(inputs), known_(fn->nvalues) {}

  std::vector<uint64_t> Of(const IrValue *v) {
    std::vector<uint64_t> &r = known_[v->id];
    if (r.empty()) r = Compute(v);
    return r;
  }
  bool leaked_nan = false; // a result depends on a NaN's sign or payload

private:
  const std::vector<uint64_t> &inputs_;
  std::vector<std::vector<uint64_t>> known_;

  std::vector<uint64_t> Compute(const IrValue *v) {
    if (hdir_is_const(v)) return {v->bits};
    if (v->region) {
      size_t first = v->index * 16u; // sixteen inputs for each parameter
      uint32_t n = hdir_is_scalar(v->type) ? 1 : v->type->nparts;
      std::vector<uint64_t> r;
      for (uint32_t k = 0; k < n; k++)
        r.push_back(hdir_bits(hdir_elem_scalar(v->type)) == 64
                        ? inputs_[first + k]
                        : inputs_[first + k] & ((UINT64_C(1) << hdir_bits(hdir_elem_scalar(v->type))) - 1));
      return r;
    }
    const IrInst *i = v->def;
    std::vector<std::vector<uint64_t>> a;
    for (uint32_t k = 0; k < i->nargs; k++) a.push_back(Of(i->args[k]));
    switch (i->op) {
    case IR_make: {
      std::vector<uint64_t> r;
      for (auto &part : a) r.push_back(part[0]);
      return r;
    }
    case IR_extract: return {a[0][(size_t)i->imm]};
    case IR_insert: a[0][(size_t)i->imm] = a[1][0]; return a[0];
    case IR_extract_at: return {a[0][At(i, a[1][0], 0)]};
    case IR_insert_at: {
      size_t at = At(i, a[1][0], SIZE_MAX);
      if (at != SIZE_MAX) a[0][at] = a[2][0];
      return a[0];
    }
    default: return Elementwise(i, a);
    }
  }

  size_t At(const IrInst *i, uint64_t bits, size_t outside) {
    int64_t k = hdir_i64_of(i->args[1]->type, bits);
    return k >= 0 && k < (int64_t)i->args[0]->type->nparts ? (size_t)k : outside;
  }

  std::vector<uint64_t> Elementwise(const IrInst *i, const std::vector<std::vector<uint64_t>> &a) {
    const IrType *from = hdir_elem_scalar(i->args[i->nargs - 1]->type), *to = hdir_elem_scalar(i->res[0]->type);
    uint32_t n = hdir_is_scalar(i->res[0]->type) ? 1 : i->res[0]->type->nparts;
    std::vector<uint64_t> r;
    for (uint32_t e = 0; e < n; e++) {
      uint64_t args[3] = {0, 0, 0};
      for (uint32_t k = 0; k < i->nargs; k++) args[k] = a[k].size() == 1 ? a[k][0] : a[k][e];
      if (i->op == IR_bitcast && IsNan(from, args[0])) leaked_nan = true;
      if (i->op == IR_copysign && IsNan(from, args[1])) leaked_nan = true;
      r.push_back(hdir_eval(i->op, from, to, args));
    }
    return r;
  }

  static bool IsNan(const IrType *t, uint64_t bits) { return hdir_is_float(t) && std::isnan(hdir_f64_of(t, bits)); }
};

struct FoldTest : IrTest {
  std::mt19937_64 rng{99};

  uint64_t SpecialBits(const IrType *t) {
    if (t->kind == IR_BOOL) return rng() & 1;
    if (hdir_is_int(t)) {
      switch (rng() % 6) {
      case 0:
      case 1: return 0;
      case 2: return 1;
      case 3: return UINT64_MAX;
      case 4: return UINT64_C(1) << (hdir_bits(t) - 1);
      default: return rng();
      }
    }
    const double values[] = {0.0, -0.0, 0.0, -0.0, 1, -1, 0.5, 2, NAN, INFINITY, 1e-40, 3.25};
    return rng() % 8 == 0 ? rng() : hdir_bits_of(t, values[rng() % 12]);
  }

  // --- a random computation: steps that can be built by two builders ---

  struct Step {
    IrOp op;
    const IrType *type;    // of the result, where it is stated
    std::vector<int> args; // steps before it
    int64_t imm;
    uint64_t bits; // of a constant: op is IR_NOPS
  };

  std::vector<const IrType *> types_of; // of each step
  std::vector<Step> steps;

  int AnyOf(const IrType *t, bool constant) { // a value of this type; made if there is none
    std::vector<int> have;
    for (size_t k = 0; k < steps.size(); k++)
      if (types_of[k] == t) have.push_back((int)k);
    if (!have.empty() && !constant) return have[rng() % have.size()];
    if (hdir_is_scalar(t)) {
      Add({IR_NOPS, t, {}, 0, SpecialBits(t)}, t);
    } else {
      Step s = {IR_make, t, {}, 0, 0};
      int same = rng() % 2 ? AnyOf(t->elem, true) : -1;
      for (uint32_t k = 0; k < t->nparts; k++) s.args.push_back(same >= 0 ? same : AnyOf(t->elem, rng() % 2));
      Add(s, t);
    }
    return (int)steps.size() - 1;
  }

  void Add(const Step &s, const IrType *t) {
    steps.push_back(s);
    types_of.push_back(t);
  }

  int Operand(const IrType *t) { return AnyOf(t, rng() % 4 == 0); }

  bool Takes(char letter, const IrType *s) {
    switch (letter) {
    case 'N': return s->kind != IR_BOOL;
    case 'I': return hdir_is_int(s);
    case 'F': return hdir_is_float(s);
    case 'L': return !hdir_is_float(s);
    default: return true;
    }
  }

  const IrType *Bool(const IrType *t) { return hdir_with_elem(&m->types, t, Scalar(IR_BOOL)); }

  void RandomStep(const std::vector<const IrType *> &pool) {
    const IrType *t = pool[rng() % pool.size()], *s = hdir_elem_scalar(t);
    IrOp op = (IrOp)(rng() % (IR_insert_at + 1));
    const IrOpRow &row = hdir_ops[op];
    Step step = {op, t, {}, 0, 0};
    switch (op) {
    case IR_select:
      step.args = {Operand(rng() % 2 && !hdir_is_scalar(t) ? Bool(t) : Scalar(IR_BOOL)), Operand(t), Operand(t)};
      return Add(step, t);
    case IR_cvt: {
      const IrType *from = hdir_with_elem(&m->types, t, Scalar((IrKind)(IR_BOOL + rng() % 13)));
      step.args = {Operand(from)};
      return Add(step, t);
    }
    case IR_bitcast: {
      if (!hdir_is_scalar(t) || s->kind == IR_BOOL) return;
      const IrType *from = Scalar((IrKind)(IR_I8 + rng() % 12));
      if (from->size != t->size) return;
      step.args = {Operand(from)};
      return Add(step, t);
    }
    case IR_make:
      if (hdir_is_scalar(t)) return;
      AnyOf(t, true);
      return;
    case IR_extract:
    case IR_insert:
      if (hdir_is_scalar(t)) return;
      step.args = {Operand(t)};
      step.imm = (int64_t)(rng() % t->nparts);
      if (op == IR_insert) step.args.push_back(Operand(t->elem));
      return Add(step, op == IR_insert ? t : t->elem);
    case IR_extract_at:
    case IR_insert_at:
      if (hdir_is_scalar(t)) return;
      step.args = {Operand(t)};
      if (rng() % 2) Add({IR_NOPS, Scalar(IR_I32), {}, 0, rng() % 5 - 1}, Scalar(IR_I32));
      step.args.push_back(Operand(Scalar(IR_I32)));
      if (op == IR_insert_at) step.args.push_back(Operand(t->elem));
      return Add(step, op == IR_insert_at ? t : t->elem);
    default: break;
    }
    if (!Takes(row.operands[0], s) || (op == IR_fma && s->size < 4)) return;
    for (const char *l = row.operands; *l; l++) step.args.push_back(Operand(t));
    Add(step, row.result[0] == 'b' ? Bool(t) : t);
  }

  IrFunc *Build(const char *name, const std::vector<const IrType *> &params, bool no_fold) {
    IrFunc *fn = hdir_func_new(m, name, false, (uint32_t)params.size(), params.data(), 0, nullptr);
    IrBuilder b;
    hdir_build_begin(&b, fn);
    b.no_fold = no_fold;
    values.clear();
    for (size_t k = 0; k < steps.size(); k++) {
      const Step &s = steps[k];
      std::vector<IrValue *> a;
      for (int arg : s.args) a.push_back(values[(size_t)arg]);
      values.push_back(k < params.size() ? fn->body->params[k] : BuildStep(&b, s, a));
      EXPECT_EQ(values[k]->type, types_of[k]);
    }
    return fn;
  }

  IrValue *BuildStep(IrBuilder *b, const Step &s, const std::vector<IrValue *> &a) {
    switch (s.op) {
    case IR_NOPS: return hdir_const(b->fn, s.type, s.bits);
    case IR_select: return hdir_select(b, a[0], a[1], a[2]);
    case IR_cvt: return hdir_cvt(b, s.type, a[0]);
    case IR_bitcast: return hdir_bitcast(b, s.type, a[0]);
    case IR_make: return hdir_make(b, s.type, a.data());
    case IR_extract: return hdir_extract(b, a[0], (uint32_t)s.imm);
    case IR_insert: return hdir_insert(b, a[0], (uint32_t)s.imm, a[1]);
    case IR_extract_at: return hdir_extract_at(b, a[0], a[1]);
    case IR_insert_at: return hdir_insert_at(b, a[0], a[1], a[2]);
    case IR_fma: return hdir_fma(b, a[0], a[1], a[2]);
    default: return a.size() == 1 ? hdir_un(b, s.op, a[0]) : hdir_bin(b, s.op, a[0], a[1]);
    }
  }

  std::vector<IrValue *> values; // of the steps, in the function built last

  std::vector<const IrType *> Pool() {
    std::vector<const IrType *> pool;
    for (int k = IR_BOOL; k <= IR_F64; k++) pool.push_back(Scalar((IrKind)k));
    for (IrKind k : {IR_F32, IR_I32, IR_F16, IR_BOOL}) pool.push_back(hdir_vec(&m->types, Scalar(k), 3));
    pool.push_back(hdir_mat(&m->types, Scalar(IR_F64), 2, 2));
    pool.push_back(hdir_quat(&m->types, Scalar(IR_F32)));
    return pool;
  }
};

TEST_F(FoldTest, RandomComputationsKeepTheirBits) {
  uint32_t plain_insts = 0, folded_insts = 0, compared = 0;
  for (int program = 0; program < 1500; program++) {
    // Few types each time, so that steps meet.
    std::vector<const IrType *> all = Pool(), pool, params;
    for (int k = 0; k < 3; k++) pool.push_back(all[rng() % all.size()]);
    pool.push_back(Scalar(IR_BOOL));
    steps.clear();
    types_of.clear();
    for (const IrType *t : pool) {
      params.push_back(t);
      Add({IR_NOPS, t, {}, 0, 0}, t);
    }
    for (int k = 0; k < 60; k++) RandomStep(pool);
    std::string name = "p" + std::to_string(program);
    IrFunc *plain = Build((name + "a").c_str(), params, true);
    std::vector<IrValue *> plain_values = values;
    IrFunc *folded = Build((name + "b").c_str(), params, false);
    plain_insts += plain->ninsts;
    folded_insts += folded->ninsts;
    for (int round = 0; round < 6; round++) {
      std::vector<uint64_t> inputs;
      for (size_t k = 0; k < params.size(); k++)
        for (int e = 0; e < 16; e++) inputs.push_back(SpecialBits(hdir_elem_scalar(params[k])));
      Evaluator of_plain(plain, inputs), of_folded(folded, inputs);
      for (size_t k = 0; k < steps.size() && !of_plain.leaked_nan && !of_folded.leaked_nan; k++) {
        std::vector<uint64_t> want = of_plain.Of(plain_values[k]), got = of_folded.Of(values[k]);
        if (of_plain.leaked_nan || of_folded.leaked_nan) break;
        const IrType *s = hdir_elem_scalar(types_of[k]);
        for (size_t e = 0; e < want.size(); e++) {
          ASSERT_TRUE(SameBits(s, want[e], got[e]))
              << "program " << program << ", step " << k << " ("
              << (steps[k].op < IR_NOPS ? hdir_ops[steps[k].op].name : "const") << "), element " << e << ": "
              << std::hex << want[e] << " became " << got[e] << "\n"
              << Print(plain) << Print(folded);
          compared++;
        }
      }
    }
  }
  EXPECT_LT(folded_insts, plain_insts * 3 / 4) << "the laws apply often enough to be tested";
  EXPECT_GT(compared, 100000u);
}

// Every chain of two conversions.
TEST_F(FoldTest, ConversionChainsKeepTheirBits) {
  int folded = 0;
  for (int from = IR_BOOL; from <= IR_F64; from++) {
    for (int by = IR_BOOL; by <= IR_F64; by++) {
      for (int to = IR_BOOL; to <= IR_F64; to++) {
        const IrType *s = Scalar((IrKind)from), *u = Scalar((IrKind)by), *t = Scalar((IrKind)to);
        std::string name = std::to_string(from) + "." + std::to_string(by) + "." + std::to_string(to);
        IrFunc *fn = hdir_func_new(m, name.c_str(), false, 1, &s, 0, nullptr);
        IrBuilder b;
        hdir_build_begin(&b, fn);
        IrValue *y = hdir_cvt(&b, t, hdir_cvt(&b, u, fn->body->params[0]));
        folded += by != from && by != to && !(y->def && y->def->args[0]->type == u);
        for (int round = 0; round < 60; round++) {
          uint64_t bits = hdir_bits(s) == 64 ? ~UINT64_C(0) : (UINT64_C(1) << hdir_bits(s)) - 1;
          bits &= round % 2 ? SpecialBits(s) : rng() >> (rng() % 64);
          uint64_t half_way = hdir_eval(IR_cvt, s, u, &bits), want = hdir_eval(IR_cvt, u, t, &half_way);
          uint64_t got = Evaluator(fn, std::vector<uint64_t>(16, bits)).Of(y)[0];
          ASSERT_TRUE(SameBits(t, want, got)) << Print(fn) << std::hex << bits << ": " << want << ", " << got;
        }
      }
    }
  }
  EXPECT_GT(folded, 300);
}

// For each law of each row: applied to every type that the op takes.
TEST_F(FoldTest, EachLawOfEachRowIsUsed) {
  for (int n = 0; n < IR_make; n++) {
    IrOp op = (IrOp)n;
    const IrOpRow &row = hdir_ops[op];
    if (!row.laws) continue;
    for (const IrType *t : Pool()) {
      const IrType *s = hdir_elem_scalar(t);
      bool whole = !hdir_is_float(s);
      if (!Takes(row.operands[0], s)) continue;
      SCOPED_TRACE(std::string(row.name) + " on " + hdir_type_name(&arena, t));
      std::string name = std::string(row.name) + "_" + std::to_string(t->id);
      const IrType *params[2] = {t, t};
      IrFunc *fn = hdir_func_new(m, name.c_str(), false, 2, params, 0, nullptr);
      IrBuilder b;
      hdir_build_begin(&b, fn);
      IrValue *x = fn->body->params[0], *y = fn->body->params[1];
      auto all = [&](double c) {
        IrValue *one = hdir_const(fn, s, hdir_bits_of(s, c));
        return hdir_is_scalar(t) ? one : hdir_splat(&b, t, one);
      };
      double zero = op == IR_add ? -0.0 : 0.0;
      if (row.laws & COMM) { EXPECT_EQ(hdir_bin(&b, op, x, y), hdir_bin(&b, op, y, x)); }
      if (row.laws & ID_ZERO) { EXPECT_EQ(hdir_bin(&b, op, all(zero), x), x); }
      if (row.laws & (ID_ZERO | RID_ZERO)) { EXPECT_EQ(hdir_bin(&b, op, x, all(zero)), x); }
      if (row.laws & ID_ONE) { EXPECT_EQ(hdir_bin(&b, op, all(1), x), x); }
      if (row.laws & (ID_ONE | RID_ONE)) { EXPECT_EQ(hdir_bin(&b, op, x, all(1)), x); }
      if (row.laws & ZERO_I && whole) { EXPECT_EQ(hdir_bin(&b, op, x, all(0)), all(0)); }
      if (row.laws & SELF_ZERO_I && whole) { EXPECT_EQ(hdir_bin(&b, op, x, x), all(0)); }
      if (row.laws & IDEM2) { EXPECT_EQ(hdir_bin(&b, op, x, x), x); }
      if (row.laws & INVOL) { EXPECT_EQ(hdir_un(&b, op, hdir_un(&b, op, x)), x); }
      if (row.laws & IDEM) {
        IrValue *once = hdir_un(&b, op, x);
        EXPECT_EQ(hdir_un(&b, op, once), once);
      }
      if (row.laws & ASSOC_I && whole && s->kind != IR_BOOL) {
        IrValue *r = hdir_bin(&b, op, hdir_bin(&b, op, x, all(5)), all(6));
        ASSERT_NE(r->def, nullptr);
        EXPECT_EQ(r->def->args[0], x);
        EXPECT_TRUE(hdir_bin(&b, op, all(5), all(6)) == r->def->args[1]);
      }
      if (!whole && row.laws & (ID_ZERO | RID_ZERO)) { // the zero of the other sign is not neutral: -0.0 + 0.0 is 0.0
        EXPECT_NE(hdir_bin(&b, op, x, all(-zero)), x);
      }
    }
  }
}

// --- particular rules: the function folded, without what nothing uses ---

struct FoldText : IrTest {
  void Expect(const std::string &params, const std::string &result, const std::string &body, const std::string &want) {
    IrModule *x = ParseGood("func @f(" + params + ") -> " + result + " {\n" + body + "}\n");
    ASSERT_NE(x, nullptr);
    std::string text = Print(Rebuild(x->funcs[0]));
    size_t from = text.find("{\n") + 2;
    EXPECT_EQ(text.substr(from, text.size() - from - 2), want);
  }
};

TEST_F(FoldText, ConstantsMoveRight) {
  Expect("%x: i32", "i32", "%a: i32 = add 5i32, %x\n return %a\n", "  %a: i32 = add %x, 5i32\n  return %a\n");
  Expect("%x: i32", "i32", "%a: i32 = sub 5i32, %x\n return %a\n", "  %a: i32 = sub 5i32, %x\n  return %a\n");
}

TEST_F(FoldText, ConstantsAreComputed) {
  Expect("", "f32", "%a: f32 = div 1.0f32, 3.0f32\n return %a\n", "  return 0.33333334f32\n");
  Expect("", "i32", "%a: i32 = div 1i32, 0i32\n return %a\n", "  return 0i32\n");
  Expect("", "vec<f32, 2>", "%a: vec<f32, 2> = make 1.0f32, 2.0f32\n %b: vec<f32, 2> = add %a, %a\n return %b\n",
         "  %b: vec<f32, 2> = make 2.0f32, 4.0f32\n  return %b\n");
}

TEST_F(FoldText, NotTurnsComparisonsAroundWhereNanAllows) {
  Expect("%x: i32, %y: i32", "bool", "%a: bool = lt %x, %y\n %b: bool = not %a\n return %b\n",
         "  %b: bool = ge %x, %y\n  return %b\n");
  Expect("%x: f32, %y: f32", "bool", "%a: bool = lt %x, %y\n %b: bool = not %a\n return %b\n",
         "  %a: bool = lt %x, %y\n  %b: bool = not %a\n  return %b\n");
  Expect("%x: f32, %y: f32", "bool", "%a: bool = eq %x, %y\n %b: bool = not %a\n return %b\n",
         "  %b: bool = ne %x, %y\n  return %b\n");
}

TEST_F(FoldText, ComparisonWithItself) {
  Expect("%x: i32", "bool", "%a: bool = le %x, %x\n return %a\n", "  return true\n");
  Expect("%x: i32", "bool", "%a: bool = ne %x, %x\n return %a\n", "  return false\n");
  Expect("%x: f32", "bool", "%a: bool = lt %x, %x\n return %a\n", "  return false\n");
  Expect("%x: f32", "bool", "%a: bool = eq %x, %x\n return %a\n", "  %a: bool = eq %x, %x\n  return %a\n");
}

TEST_F(FoldText, Selects) {
  Expect("%x: f32, %y: f32", "f32", "%a: f32 = select true, %x, %y\n return %a\n", "  return %x\n");
  Expect("%c: bool, %y: f32", "f32", "%a: f32 = select %c, %y, %y\n return %a\n", "  return %y\n");
  Expect("%c: bool", "bool", "%a: bool = select %c, true, false\n return %a\n", "  return %c\n");
  Expect("%c: bool", "bool", "%a: bool = select %c, false, true\n return %a\n", "  %a: bool = not %c\n  return %a\n");
  Expect("%c: bool, %x: f32, %y: f32", "f32", "%n: bool = not %c\n %a: f32 = select %n, %x, %y\n return %a\n",
         "  %a: f32 = select %c, %y, %x\n  return %a\n");
}

TEST_F(FoldText, ConversionChainsOnlyWhereExact) {
  const char *exact = "  %b: f64 = cvt %x\n  return %b\n";
  Expect("%x: i16", "f64", "%a: f32 = cvt %x\n %b: f64 = cvt %a\n return %b\n", exact);
  Expect("%x: i32", "f64", "%a: f32 = cvt %x\n %b: f64 = cvt %a\n return %b\n",
         "  %a: f32 = cvt %x\n  %b: f64 = cvt %a\n  return %b\n");
  Expect("%x: f16", "f16", "%a: f64 = cvt %x\n %b: f16 = cvt %a\n return %b\n", "  return %x\n");
  Expect("%x: i32", "u32", "%a: u64 = cvt %x\n %b: u32 = cvt %a\n return %b\n", "  %b: u32 = cvt %x\n  return %b\n");
  Expect("%x: i32", "i32", "%a: u32 = cvt %x\n %b: i32 = cvt %a\n return %b\n", "  return %x\n");
  Expect("%x: i32", "i8", "%a: f64 = cvt %x\n %b: i8 = cvt %a\n return %b\n", // saturates, so it stays
         "  %a: f64 = cvt %x\n  %b: i8 = cvt %a\n  return %b\n");
  Expect("%x: f32", "f32", "%a: i32 = cvt %x\n %b: f32 = cvt %a\n return %b\n",
         "  %a: i32 = cvt %x\n  %b: f32 = cvt %a\n  return %b\n");
}

TEST_F(FoldText, Bitcasts) {
  Expect("%x: f32", "f32", "%a: u32 = bitcast %x\n %b: f32 = bitcast %a\n return %b\n", "  return %x\n");
  Expect("%x: f32", "i32", "%a: u32 = bitcast %x\n %b: i32 = bitcast %a\n return %b\n",
         "  %b: i32 = bitcast %x\n  return %b\n");
}

TEST_F(FoldText, PartsOfComposites) {
  Expect("%x: f32, %y: f32", "f32", "%v: vec<f32, 2> = make %x, %y\n %a: f32 = extract %v, 1\n return %a\n",
         "  return %y\n");
  Expect("%v: vec<f32, 3>, %y: f32", "f32",
         "%w: vec<f32, 3> = insert %v, 1, %y\n %a: f32 = extract %w, 1\n return %a\n", "  return %y\n");
  Expect("%v: vec<f32, 3>, %y: f32", "f32",
         "%w: vec<f32, 3> = insert %v, 1, %y\n %a: f32 = extract %w, 2\n return %a\n",
         "  %a: f32 = extract %v, 2\n  return %a\n");
  Expect("%v: vec<f32, 3>, %x: f32, %y: f32", "vec<f32, 3>",
         "%w: vec<f32, 3> = insert %v, 1, %y\n %u: vec<f32, 3> = insert %w, 1, %x\n return %u\n",
         "  %u: vec<f32, 3> = insert %v, 1, %x\n  return %u\n");
  Expect("%v: vec<f32, 2>", "vec<f32, 2>",
         "%a: f32 = extract %v, 0\n %b: f32 = extract %v, 1\n %w: vec<f32, 2> = make %a, %b\n return %w\n",
         "  return %v\n");
  Expect("%v: vec<f32, 2>", "vec<f32, 2>",
         "%a: f32 = extract %v, 0\n %b: f32 = extract %v, 1\n %w: vec<f32, 2> = make %b, %a\n return %w\n",
         "  %a: f32 = extract %v, 0\n  %b: f32 = extract %v, 1\n  %w: vec<f32, 2> = make %b, %a\n  return %w\n");
  Expect("%v: vec<f32, 2>", "f32", "%a: f32 = extract_at %v, 7i32\n return %a\n",
         "  %a: f32 = extract %v, 0\n  return %a\n");
  Expect("%i: i32", "f32", "%a: f32 = table 1i32, 2.0f32, 3.0f32\n return %a\n", "  return 3.0f32\n");
  Expect("%i: i32", "f32", "%a: f32 = table 2i64, 2.0f32, 3.0f32\n return %a\n", "  return 2.0f32\n");
  Expect("%i: i32", "f32", "%a: f32 = table -1i32, 2.0f32, 3.0f32\n return %a\n", "  return 2.0f32\n");
  Expect("%i: i32", "i8", "%a: i8 = table %i, 4i8, 4i8, 4i8\n return %a\n", "  return 4i8\n");
  Expect("%i: i32", "i8", "%a: i8 = table %i, 4i8, 5i8\n return %a\n", "  %a: i8 = table %i, 4i8, 5i8\n  return %a\n");
  Expect("%v: vec<f32, 2>, %x: f32", "vec<f32, 2>", "%a: vec<f32, 2> = insert_at %v, -1i32, %x\n return %a\n",
         "  return %v\n");
}

TEST_F(FoldText, TexelsOfNoObjectAreZero) {
  Expect("%x: f32", "f32", "%a: f32 = tex 0u64, 1, %x, %x\n return %a\n", "  return 0.0f32\n");
  Expect("%x: f32", "f32", "%a: f32 = tex 7u64, 1, %x, %x\n return %a\n",
         "  %a: f32 = tex 7u64, 1, %x, %x\n  return %a\n");
}

TEST_F(FoldText, LongChainsOfInsertsFoldInLinearTime) {
  const IrType *fixed = hdir_fixed(&m->types, Scalar(IR_F32), 20000);
  IrFunc *fn = hdir_func_new(m, "long", false, 1, &fixed, 0, nullptr);
  IrBuilder b;
  hdir_build_begin(&b, fn);
  IrValue *v = fn->body->params[0];
  for (uint32_t k = 0; k < 20000; k++) v = hdir_insert(&b, v, k, hdir_const_float(fn, Scalar(IR_F32), k));
  for (uint32_t k = 0; k < 20000; k++) hdir_extract(&b, v, k); // a minute, if each walked the whole chain
  EXPECT_LE(fn->ninsts, 60000u);
}

} // namespace
