// tests/fuzz/gen.cc -- the program generator: types and parameters first, then functions, then the kernel.
//
// Values (gen_values.h) are made on demand for a wanted type: one that is at hand, a constant, or an op whose operands are made in the
// same way. Statements (stores, regions, calls) come from a budget. What is at hand is a list that is cut back at the end
// of each region, so that a use is always below its definition.
#include <cstdlib>

#include "gen_values.h"
#include "ir/mma.h"

namespace fuzz {
namespace {

using diff::Param;
using diff::Role;

enum class Kind { kFunction, kIf, kLoop, kScope, kTogether /* all threads of a group run it, and leave it as one */ };

// A region that is open.
struct Open {
  Kind kind;
  Types results;
  Types carried; // of a loop, after its counter
  IrValue *counter = nullptr;
  bool reached = false; // something comes after it
  bool may_continue = true;
};

struct Callee {
  IrFunc *fn;
  int cost;
};

class Gen : ValueGen {
public:
  Gen(Program *p, uint64_t seed, const GenOptions &o) : ValueGen(p, seed, o) {}

  void Run() {
    p_->c.module = m_ = hdir_module_new(&p_->arena, "random");
    ts_ = &m_->types;
    ChooseTypes();
    int nfuncs = r_.Chance(60) ? r_.In(1, 3) : 0;
    if (o_.c_functions && r_.Chance(40)) ExternFunctions();
    for (int k = 0; k < nfuncs; k++) Function(k);
    Kernel();
  }

private:
  // --- memory ---

  void Store() {
    IrValue *p = Place(1);
    if (!p) return;
    p = Descend(p, nullptr, 1);
    hdir_store(&b_, p, Value(p->type->elem, 3));
  }

  void Local() {
    const IrType *t = Pick(types_);
    if (r_.Chance(60) && t->nleaves <= 8) t = hdir_fixed(ts_, t, (uint32_t)r_.In(2, 8));
    hand_.places.push_back(hdir_alloca(&b_, t));
    int n = r_.In(0, 2);
    for (int k = 0; k < n; k++) {
      IrValue *p = Descend(hand_.places.back(), nullptr, 1);
      hdir_store(&b_, p, Value(p->type->elem, 2));
    }
  }

  static bool AtomicType(const IrType *t, IrOp op) {
    bool is_int = t->kind == IR_I32 || t->kind == IR_I64 || t->kind == IR_U32 || t->kind == IR_U64;
    if (op == IR_atomic_and || op == IR_atomic_or || op == IR_atomic_xor || op == IR_atomic_cas) return is_int;
    return is_int || t->kind == IR_F32 || t->kind == IR_F64;
  }

  // On memory that other threads change too: one op for the whole array, and its result is forgotten.
  void SharedAtomic() {
    const Array &a = Pick(atomics_);
    size_t k = (size_t)(&a - atomics_.data());
    IrValue *p = ReadAddress(a, 1);
    hdir_atomic(&b_, atomic_ops_[k], p, Value(p->type->elem, 2), nullptr);
  }

  // On the thread's own element: any op, and the result counts.
  void OwnAtomic() {
    static const IrOp ops[] = {IR_atomic_add, IR_atomic_min, IR_atomic_max,  IR_atomic_and,
                               IR_atomic_or,  IR_atomic_xor, IR_atomic_xchg, IR_atomic_cas};
    if (owns_.empty()) return;
    IrValue *p = Descend(OwnAddress(Pick(owns_), 1), nullptr, 1);
    const IrType *t = p->type->elem;
    IrOp op = ops[r_.Below(8)];
    for (int tries = 0; tries < 4 && !AtomicType(t, op); tries++) op = ops[r_.Below(8)];
    if (!AtomicType(t, op)) return Store();
    IrValue *x = Value(t, 2), *y = op == IR_atomic_cas ? Value(t, 1) : nullptr;
    if (op == IR_atomic_cas && r_.Chance(50)) x = hdir_load(&b_, p);
    Keep(hdir_atomic(&b_, op, p, x, y));
  }

  // --- statements ---

  void Statement(int depth) {
    switch (r_.Below(16)) {
    case 0:
    case 1: If(depth); break;
    case 2:
    case 3: Loop(depth); break;
    case 4: Scope(depth); break;
    case 5: Local(); break;
    case 6: Call(); break;
    case 7: Report(); break;
    case 8: atomics_.empty() ? Store() : SharedAtomic(); break;
    case 9: OwnAtomic(); break;
    case 10:
    case 11:
    case 12: Keep(Value(Pick(types_), 4)); break;
    default: Store();
    }
  }

  // Statements, then an end if nothing has ended the region.
  void Block(int n, int depth) {
    Hand saved = hand_;
    for (int k = 0; k < n && !hdir_ended(&b_); k++) Statement(depth);
    if (!hdir_ended(&b_)) End();
    hand_ = saved;
  }

  Values Several(const Types &types, int depth) {
    Values v;
    for (const IrType *t : types) v.push_back(Value(t, depth));
    return v;
  }

  Types RandomTypes(int max) {
    Types t;
    for (int k = r_.In(0, max); k > 0; k--) t.push_back(Pick(types_));
    return t;
  }

  Open *Innermost(Kind kind) {
    for (size_t k = open_.size(); k-- > 0;)
      if (open_[k].kind == kind) return &open_[k];
    return nullptr;
  }

  void Ender(IrOp op, const Values &v) { hdir_ender(&b_, op, (uint32_t)v.size(), v.data()); }

  bool Exit(int which) {
    Open *loop = Innermost(Kind::kLoop), *scope = Innermost(Kind::kScope);
    if (which == 0 && loop) return Break(loop), true;
    if (which == 1 && loop && loop->may_continue) return Continue(loop), true;
    if (which == 2 && scope) return Leave(scope), true;
    if (which == 3 && may_return_) return Ender(IR_return, Several(open_[0].results, 2)), true;
    return false;
  }

  void Break(Open *loop) {
    Values v = Several(loop->results, 2);
    loop->reached = true;
    Ender(IR_break, v);
  }

  void Leave(Open *scope) {
    Values v = Several(scope->results, 2);
    scope->reached = true;
    Ender(IR_leave, v);
  }

  void Continue(Open *loop) {
    Values v = {hdir_bin(&b_, IR_add, loop->counter, Int(1))};
    for (const IrType *t : loop->carried) v.push_back(Value(t, 2));
    Ender(IR_continue, v);
  }

  // The usual end of the region at hand, or an early exit.
  void End() {
    Open &o = open_.back();
    if (o.kind != Kind::kFunction && r_.Chance(18) && Exit(r_.Below(4))) return;
    if (o.kind == Kind::kFunction) return Ender(IR_return, Several(o.results, 2));
    if (o.kind == Kind::kLoop) return Continue(&o);
    Values v = Several(open_.back().results, 2);
    open_.back().reached = true;
    if (o.kind == Kind::kScope && r_.Chance(30)) return Ender(IR_leave, v);
    Ender(IR_yield, v);
  }

  // After a region instruction: its results, or the knowledge that nothing comes here.
  void Close(IrInst *i) {
    bool reached = open_.back().reached;
    open_.pop_back();
    hdir_end(&b_, i);
    if (!reached) return Ender(IR_unreachable, {});
    for (uint32_t k = 0; k < i->nres; k++) Keep(i->res[k]);
  }

  void Begin(Kind kind, const Types &results) {
    Open o;
    o.kind = kind;
    o.results = results;
    open_.push_back(o);
  }

  void If(int depth) {
    if (depth <= 0) return;
    Types results = RandomTypes(2);
    IrInst *i = hdir_if_begin(&b_, Value(Bool(), 3), (uint32_t)results.size(), results.data());
    Begin(Kind::kIf, results);
    Block(r_.In(0, 4), depth - 1);
    hdir_if_else(&b_, i);
    if (r_.Chance(40))
      Block(0, depth - 1);
    else
      Block(r_.In(0, 4), depth - 1);
    Close(i);
  }

  void Scope(int depth) {
    if (depth <= 0) return;
    Types results = RandomTypes(2);
    IrInst *i = hdir_scope_begin(&b_, (uint32_t)results.size(), results.data());
    Begin(Kind::kScope, results);
    Block(r_.In(1, 4), depth - 1);
    Close(i);
  }

  IrValue *Trips(int *limit) {
    if (r_.Chance(35)) return *limit = r_.In(0, 5), Int(*limit);
    *limit = r_.Chance(50) ? 3 : 7;
    return hdir_bin(&b_, IR_and, Value(I32(), 2), Int(*limit)); // uniform or not, as it comes
  }

  void Loop(int depth) {
    if (depth <= 0 || rounds_ > 8) return;
    int limit;
    IrValue *n = Trips(&limit);
    Types results = RandomTypes(2), carried = RandomTypes(3);
    Values init = Several(carried, 2);
    init.insert(init.begin(), r_.Chance(60) ? Int(0) : hdir_bin(&b_, IR_and, Value(I32(), 2), Int(limit)));
    IrInst *i = hdir_loop_begin(&b_, (uint32_t)init.size(), init.data(), (uint32_t)results.size(), results.data());
    IrRegion *body = b_.at;
    Begin(Kind::kLoop, results);
    open_.back().carried = carried;
    open_.back().counter = body->params[0];
    rounds_ *= limit + 1;
    Hand saved = hand_;
    for (uint32_t k = 0; k < body->nparams; k++) Keep(body->params[k]);
    r_.Chance(75) ? WhileBody(n, limit, depth) : DoBody(n, depth);
    hand_ = saved;
    rounds_ /= limit + 1;
    Close(i);
  }

  // How a loop whose time has come ends: nearly always with a break.
  void Done(IrValue *cond) {
    IrInst *i = hdir_if_begin(&b_, cond, 0, nullptr);
    Hand saved = hand_;
    size_t loop = open_.size() - 1;
    Begin(Kind::kIf, {});
    if (!r_.Chance(12) || !Exit(r_.In(2, 3))) Break(&open_[loop]);
    hand_ = saved;
    hdir_if_else(&b_, i);
    Ender(IR_yield, {});
    open_.back().reached = true;
    Close(i);
  }

  void WhileBody(IrValue *n, int limit, int depth) {
    Done(hdir_bin(&b_, IR_ge, open_.back().counter, n));
    if (limit > 0) hand_.counters.push_back({open_.back().counter, limit});
    Block(r_.In(1, 5), depth - 1);
  }

  // The test comes last, so nothing before it may continue: that would skip it.
  void DoBody(IrValue *n, int depth) {
    open_.back().may_continue = false;
    for (int k = r_.In(1, 4); k > 0 && !hdir_ended(&b_); k--) Statement(depth - 1);
    if (hdir_ended(&b_)) return;
    Done(hdir_bin(&b_, IR_ge, open_.back().counter, n));
    Continue(&open_.back());
  }

  void Print() {
    IrValue *i = hdir_cvt(&b_, Scalar(IR_I64), Value(Scalar(IR_I32), 2));
    if (r_.Chance(50)) return hdir_printf(&b_, "at %d\n", 1, &i);
    IrValue *u = hdir_cvt(&b_, Scalar(IR_U64), Value(Scalar(IR_U32), 2));
    IrValue *values[] = {i, u, hdir_cvt(&b_, Scalar(IR_F64), Value(Scalar(IR_F32), 2))};
    hdir_printf(&b_, "%d %08x %.9g\n", 3, values);
  }

  void Report() {
    IrValue *c = Value(Bool(), 2);
    if (r_.Chance(40)) return hdir_assert(&b_, hdir_bin(&b_, IR_or, c, hdir_un(&b_, IR_not, c)), "one or the other");
    if (r_.Chance(30)) return Print();
    int n = r_.In(1, 9);
    const IrType *t = Scalar(IR_I64);
    IrValue *i = hdir_cvt(&b_, t, Bounded(n, 2));
    hdir_check(&b_, hdir_bin(&b_, IR_lt, i, Int(t, n)), i, Int(t, n), "in bounds");
  }

  // --- what the threads of a group do together: nothing here depends on which thread it is ---

  IrValue *Agreed() {
    IrValue *v = uniforms_.empty() || r_.Chance(15) ? Int(r_.In(0, 9)) : Pick(uniforms_);
    return v->type == I32() ? v : hdir_cvt(&b_, I32(), v);
  }

  IrValue *AgreedBool() { return hdir_bin(&b_, r_.Chance(50) ? IR_lt : IR_ne, Agreed(), Int(r_.In(0, 5))); }

  // Each thread's value for another one.
  void Exchange() {
    const IrType *t = Pick(types_);
    IrValue *row = hdir_shared(&b_, hdir_fixed(ts_, t, (uint32_t)b_.fn->group));
    hdir_store(&b_, hdir_elem(&b_, row, hdir_ltid(&b_)), Value(t, 3));
    hdir_barrier(&b_);
    IrValue *from = hdir_bin(&b_, IR_rem, hdir_bin(&b_, IR_and, Value(I32(), 2), Int(INT32_MAX)), hdir_gdim(&b_));
    Keep(hdir_load(&b_, hdir_elem(&b_, row, from)));
    hdir_barrier(&b_);
  }

  // Matrices of any bits; halves seldom, as they become much code.
  void Product() {
    const IrMma *s = hdir_mma_at(r_.Chance(85) ? 2 : (uint32_t)r_.Below(2));
    auto held = [&](IrKind kind, uint32_t n) {
      const IrType *one = Scalar(kind);
      if (n == 1) return Value(one, 2);
      std::vector<IrValue *> parts;
      for (uint32_t k = 0; k < n; k++) parts.push_back(Value(one, 1));
      return hdir_make(&b_, hdir_vec(ts_, one, n), parts.data());
    };
    IrValue *a = held(s->in, s->a), *b = held(s->in, s->b), *r = hdir_mma(&b_, a, b, held(s->sum, s->c));
    for (uint32_t k = 0; k < s->c; k++) Keep(hdir_extract(&b_, r, k));
  }

  // One number that all threads change, and then know.
  void Gather() {
    static const IrOp ops[] = {IR_atomic_add, IR_atomic_min, IR_atomic_max, IR_atomic_and, IR_atomic_or, IR_atomic_xor};
    static const IrKind kinds[] = {IR_I32, IR_U32, IR_I64, IR_U64};
    const IrType *t = Scalar(kinds[r_.Below(4)]);
    IrValue *p = hdir_shared(&b_, t), *start = Value(t, 1);
    IrInst *first = hdir_if_begin(&b_, hdir_bin(&b_, IR_eq, hdir_ltid(&b_), Int(r_.In(0, 31))), 0, nullptr);
    hdir_store(&b_, p, start);
    hdir_ender(&b_, IR_yield, 0, nullptr);
    hdir_end(&b_, first);
    hdir_barrier(&b_);
    hdir_atomic(&b_, ops[r_.Below(6)], p, Value(t, 3), nullptr);
    hdir_barrier(&b_);
    uniforms_.push_back(hdir_load(&b_, p));
    Keep(uniforms_.back());
    hdir_barrier(&b_);
  }

  // The sides, rounds or insides that a group runs as one: those of `If` and so on, but for how they end.
  void TogetherBody(int depth, const Types &results, IrOp end, const Values &first) {
    Hand saved = hand_;
    Values known = uniforms_;
    TogetherStatements(r_.In(0, 3), depth - 1);
    if (!hdir_ended(&b_)) {
      Values v = first;
      for (const IrType *t : results) v.push_back(Value(t, 2));
      Ender(end, v);
    }
    hand_ = saved;
    uniforms_ = known;
  }

  void TogetherIf(int depth) {
    Types results = RandomTypes(2);
    IrInst *i = hdir_if_begin(&b_, AgreedBool(), (uint32_t)results.size(), results.data());
    Begin(Kind::kTogether, results);
    open_.back().reached = true;
    TogetherBody(depth, results, IR_yield, {});
    hdir_if_else(&b_, i);
    TogetherBody(depth, results, IR_yield, {});
    Close(i);
  }

  void LeaveTogether(IrOp end, IrValue *cond, const Types &results) {
    IrInst *i = hdir_if_begin(&b_, cond, 0, nullptr);
    Hand saved = hand_;
    Ender(end, Several(results, 2));
    hand_ = saved;
    hdir_if_else(&b_, i);
    Ender(IR_yield, {});
    hdir_end(&b_, i);
  }

  void TogetherScope(int depth) {
    Types results = RandomTypes(2);
    IrInst *i = hdir_scope_begin(&b_, (uint32_t)results.size(), results.data());
    Begin(Kind::kTogether, results);
    open_.back().reached = true;
    Hand saved = hand_;
    Values known = uniforms_;
    TogetherStatements(r_.In(0, 2), depth - 1);
    LeaveTogether(IR_leave, AgreedBool(), results);
    TogetherBody(depth, results, IR_yield, {});
    hand_ = saved;
    uniforms_ = known;
    Close(i);
  }

  void TogetherLoop(int depth) {
    if (rounds_ > 8) return;
    Types results = RandomTypes(2), carried = RandomTypes(3);
    Values init = Several(carried, 2);
    init.insert(init.begin(), Int(0));
    IrValue *n = hdir_bin(&b_, IR_and, Agreed(), Int(3));
    IrInst *i = hdir_loop_begin(&b_, (uint32_t)init.size(), init.data(), (uint32_t)results.size(), results.data());
    IrRegion *body = b_.at;
    IrValue *round = body->params[0];
    Begin(Kind::kTogether, results);
    open_.back().reached = true;
    rounds_ *= 4;
    Hand saved = hand_;
    Values known = uniforms_;
    for (uint32_t k = 0; k < body->nparams; k++) Keep(body->params[k]);
    uniforms_.push_back(round);
    LeaveTogether(IR_break, hdir_bin(&b_, IR_ge, round, n), results);
    TogetherStatements(r_.In(1, 3), depth - 1);
    if (r_.Chance(30)) LeaveTogether(IR_break, AgreedBool(), results);
    TogetherBody(depth, carried, IR_continue, {hdir_bin(&b_, IR_add, round, Int(1))});
    hand_ = saved;
    uniforms_ = known;
    rounds_ /= 4;
    Close(i);
  }

  void Together(int depth) {
    switch (r_.Chance(5) ? -1 : r_.Below(depth > 0 ? 9 : 6)) {
    case -1: Product(); break;
    case 0:
    case 1: Exchange(); break;
    case 2: Gather(); break;
    case 3: hdir_barrier(&b_); break;
    case 4: Keep(hdir_shuffle(&b_, Value(Pick(scalars_), 3), Value(I32(), 2))); break;
    case 5: Keep(hdir_ballot(&b_, Value(Bool(), 3))); break;
    case 6: TogetherIf(depth); break;
    case 7: TogetherScope(depth); break;
    default: TogetherLoop(depth);
    }
  }

  void TogetherStatements(int n, int depth) {
    for (int k = 0; k < n && !hdir_ended(&b_); k++) r_.Chance(50) ? Together(depth) : Statement(depth);
  }

  // Threads go ways of their own only when all they do together is done.
  void GroupBody(int n) {
    may_return_ = false;
    Keep(hdir_ltid(&b_));
    Keep(hdir_gid(&b_));
    TogetherStatements(n, o_.depth);
    may_return_ = true;
  }

  // --- functions ---

  void Call() {
    if (callees_.empty() || rounds_ > 8) return;
    const Callee &f = Pick(callees_);
    Values args;
    for (uint32_t k = 0; k < f.fn->body->nparams; k++) {
      IrValue *v = Argument(f.fn->body->params[k]->type);
      if (!v) return;
      args.push_back(v);
    }
    IrInst *i = hdir_call(&b_, f.fn, args.data());
    for (uint32_t k = 0; k < i->nres; k++) Keep(i->res[k]);
  }

  IrValue *Argument(const IrType *t) {
    if (t->kind == IR_ARRAY) {
      Values match;
      for (const Array &a : reads_)
        if (a.value->type == t) match.push_back(a.value);
      return match.empty() ? nullptr : Pick(match);
    }
    if (t->kind != IR_PTR) return Value(t, 2);
    for (int tries = 0; tries < 4; tries++) {
      IrValue *p = Place(1);
      if (p && p->type->space == t->space && Holds(p->type->elem, t->elem) && (p = Descend(p, t->elem, 1))) return p;
    }
    if (t->space != IR_LOCAL) return nullptr;
    IrValue *p = hdir_alloca(&b_, t->elem);
    hand_.places.push_back(p);
    return p;
  }

  void StartBody(IrFunc *fn, const Types &results) {
    hand_ = Hand();
    reads_.clear(), owns_.clear(), atomics_.clear(), atomic_ops_.clear();
    open_.clear();
    hdir_build_begin(&b_, fn);
    b_.no_fold = true;
    Begin(Kind::kFunction, results);
  }

  // Some of the C functions, pure or not: which makes no difference to their results.
  void ExternFunctions() {
    for (const diff::CFunction &f : diff::CFunctions()) {
      if (!r_.Chance(40)) continue;
      IrModule *declared = nullptr;
      HdError err = {};
      if (hdir_parse(&p_->arena, "head", f.ir, strlen(f.ir), &err, &declared) != HD_OK) abort();
      IrFunc *fn = hdir_func_import(m_, declared->funcs[0]);
      fn->is_pure = r_.Chance(60);
      callees_.push_back({fn, 1});
    }
  }

  void Function(int number) {
    Types params, results;
    for (int k = r_.In(1, 5); k > 0; k--) params.push_back(Pick(types_));
    if (r_.Chance(40)) params.push_back(hdir_ptr(ts_, Pick(types_), IR_LOCAL));
    if (r_.Chance(30)) params.push_back(hdir_ptr(ts_, Pick(types_), IR_GLOBAL));
    if (r_.Chance(40)) params.push_back(hdir_array(ts_, Pick(types_), (uint32_t)r_.In(1, 2)));
    for (int k = r_.In(0, 3); k > 0; k--) results.push_back(Pick(types_));
    std::string name = "f" + std::to_string(number);
    IrFunc *fn = hdir_func_new(m_, hdb_strdup(&p_->arena, name.c_str()), false, (uint32_t)params.size(), params.data(),
                               (uint32_t)results.size(), results.data());
    StartBody(fn, results);
    for (uint32_t k = 0; k < fn->body->nparams; k++) {
      IrValue *v = fn->body->params[k];
      if (v->type->kind == IR_PTR)
        hand_.places.push_back(v);
      else if (v->type->kind == IR_ARRAY)
        reads_.push_back({v, nullptr});
      else
        Keep(v);
    }
    ndim_ = 1; /* so that no function raises the kernel's rank */
    rounds_ = 3;
    Block(r_.In(1, o_.statements / 2), o_.depth - 1);
    callees_.push_back({fn, 1});
    // A kernel must have arrays for the function's array parameters.
    for (const IrType *t : params)
      if (t->kind == IR_ARRAY)
        wanted_.push_back(t);
      else if (t->kind == IR_PTR && t->space == IR_GLOBAL)
        wanted_owns_.push_back(t->elem);
  }

  // --- the kernel ---

  // `following` axes before it grow with the launch: at most two may, and the others stay short, since all is filled.
  Extent ReadExtent(uint32_t nd, int following) {
    Extent e;
    e.axis = following < 2 && r_.Chance(65) ? r_.Below(ndim_) : Extent::kNone;
    e.per = following || r_.Chance(70) ? 1 : r_.In(2, 4);
    e.extra = e.axis >= 0 ? r_.In(0, 4) : r_.In(1, nd > 2 ? 4 : 12);
    return e;
  }

  ArraySpec ReadSpec(uint32_t nd) {
    ArraySpec a;
    int following = 0;
    a.role = Role::kRead;
    for (uint32_t k = 0; k < nd; k++) {
      a.extent.push_back(ReadExtent(nd, following));
      following += a.extent.back().axis >= 0;
    }
    if (r_.Chance(40)) a.fill.wild = false, a.fill.lo = -4, a.fill.hi = 12;
    return a;
  }

  ArraySpec OwnSpec() {
    ArraySpec a;
    a.role = Role::kOwn;
    if (ndim_ == 1 || r_.Chance(30)) {
      a.extent = {Extent{ndim_ == 1 ? 0 : Extent::kAll, r_.Chance(60) ? 1 : r_.In(2, 3), 0}};
      return a;
    }
    for (int k = 0; k < ndim_; k++) a.extent.push_back(Extent{k, 1, 0});
    if (r_.Chance(30)) std::swap(a.extent[0], a.extent[(size_t)ndim_ - 1]);
    if (r_.Chance(30)) a.extent[(size_t)r_.Below(ndim_)].per = 2;
    return a;
  }

  void AddArray(const IrType *elem, const ArraySpec &spec, Types *types) {
    types->push_back(hdir_array(ts_, elem, (uint32_t)spec.extent.size()));
    Param p;
    p.arrays = {spec};
    p_->c.params.push_back(p);
  }

  // A struct with a number, an array, and perhaps another one.
  void AddStruct(Types *types) {
    uint32_t n = (uint32_t)r_.In(2, 3);
    std::vector<IrField> f(n);
    Param p;
    for (uint32_t k = 0; k < n; k++) {
      f[k].name = hdb_printf(&p_->arena, "g%u", k);
      f[k].type = Pick(types_);
      if (k == 0) continue;
      p.arrays.push_back(ReadSpec((uint32_t)r_.In(1, 2)));
      f[k].type = hdir_array(ts_, f[k].type, (uint32_t)p.arrays.back().extent.size());
    }
    types->push_back(hdir_struct(ts_, "Group", n, f.data()));
    p_->c.params.push_back(p);
  }

  Types Params() {
    Types types;
    for (int k = r_.In(1, 3); k > 0; k--)
      AddArray(Pick(types_), ReadSpec((uint32_t)r_.In(1, r_.Chance(15) ? 4 : 2)), &types);
    for (const IrType *t : wanted_) AddArray(t->elem, ReadSpec(t->rows), &types);
    for (int k = r_.In(1, 3); k > 0; k--) AddArray(Pick(types_), OwnSpec(), &types);
    for (const IrType *t : wanted_owns_) AddArray(t, OwnSpec(), &types);
    if (r_.Chance(20)) { // the last array once more, under another name
      p_->c.params.push_back(p_->c.params.back());
      p_->c.params.back().alias = (int)p_->c.params.size() - 2;
      types.push_back(types.back());
    }
    for (int k = r_.In(0, 2); k > 0; k--) AddAtomic(&types);
    for (int k = r_.In(1, 3); k > 0; k--) {
      Param p;
      if (r_.Chance(50)) p.fill.wild = false, p.fill.lo = 0, p.fill.hi = 9;
      types.push_back(Pick(types_));
      p_->c.params.push_back(p);
    }
    if (r_.Chance(25)) AddStruct(&types);
    return types;
  }

  void AddAtomic(Types *types) {
    static const IrKind kinds[] = {IR_I32, IR_U32, IR_I64, IR_U64};
    ArraySpec a = ReadSpec(1);
    a.role = Role::kAtomic;
    AddArray(Scalar(kinds[r_.Below(4)]), a, types);
  }

  void TakeParam(IrValue *v, const Param &p) {
    static const IrOp ops[] = {IR_atomic_add, IR_atomic_min, IR_atomic_max, IR_atomic_and, IR_atomic_or, IR_atomic_xor};
    if (v->type->kind == IR_STRUCT && !p.arrays.empty()) {
      for (uint32_t k = 0; k < v->type->nparts; k++) {
        IrValue *x = hdir_extract(&b_, v, k);
        if (x->type->kind == IR_ARRAY)
          reads_.push_back({x, &p.arrays[k - 1]});
        else
          Keep(x);
      }
    } else if (p.arrays.empty()) {
      Keep(v);
      if (hdir_is_scalar(v->type)) uniforms_.push_back(v);
    } else if (p.arrays[0].role == Role::kRead) {
      reads_.push_back({v, &p.arrays[0]});
    } else if (p.arrays[0].role == Role::kOwn) {
      owns_.push_back({v, &p.arrays[0]});
    } else {
      atomics_.push_back({v, &p.arrays[0]});
      atomic_ops_.push_back(ops[r_.Below(6)]);
    }
  }

  // Something that varies, to begin with.
  void SeedHand() {
    for (int k = 0; k < ndim_; k++) // the last one always: it says how many axes there are
      if (k + 1 == ndim_ || r_.Chance(70)) Keep(hdir_tid(&b_, (uint32_t)k));
    for (const Array &a : reads_)
      if (r_.Chance(80)) Keep(hdir_load(&b_, ReadAddress(a, 0)));
    for (const Array &a : owns_)
      if (r_.Chance(40)) Keep(hdir_load(&b_, OwnAddress(a, 0)));
    size_t n = hand_.values.size();
    for (size_t k = 0; k < n; k++) { // and the parts of it
      IrValue *v = hand_.values[k];
      if (hdir_is_composite(v->type)) Keep(hdir_extract(&b_, v, (uint32_t)r_.Below((int)v->type->nparts)));
    }
  }

  void Kernel() {
    ndim_ = r_.Chance(60) ? 1 : r_.In(2, 4);
    for (int k = 0; k < ndim_; k++) p_->c.dim.push_back(k + 1 == ndim_ ? 37 : r_.In(1, 3));
    int group = r_.Chance(25) ? 32 * r_.In(1, 3) : 0;
    if (group) p_->c.dim.back() = 2 * group;
    Types types = Params();
    IrFunc *fn = hdir_func_new(m_, "k", true, (uint32_t)types.size(), types.data(), 0, nullptr);
    fn->group = group;
    p_->c.kernel = "k";
    StartBody(fn, {});
    for (uint32_t k = 0; k < fn->body->nparams; k++) {
      fn->body->params[k]->name = hdb_printf(&p_->arena, "x%u", k);
      TakeParam(fn->body->params[k], p_->c.params[k]);
    }
    rounds_ = 1;
    SeedHand();
    if (group) GroupBody(r_.In(1, 5));
    int n = r_.In(2, o_.statements);
    for (int k = 0; k < n && !hdir_ended(&b_); k++) Statement(o_.depth);
    for (const Array &a : owns_) { // what was computed must be seen
      if (hdir_ended(&b_)) break;
      IrValue *p = OwnAddress(a, 1);
      hdir_store(&b_, p, Value(a.value->type->elem, 2));
    }
    if (!hdir_ended(&b_)) Ender(IR_return, {});
  }

  IrModule *m_ = nullptr;
  int rounds_ = 1; // of all loops around, at most
  Types wanted_, wanted_owns_;
  std::vector<Array> atomics_;
  std::vector<IrOp> atomic_ops_;
  std::vector<Open> open_;
  std::vector<Callee> callees_;
  Values uniforms_; // of a kernel: numbers that are the same in all threads of a group
  bool may_return_ = true;
};

} // namespace

Program::Program() { hdb_arena_init(&arena, &hdb_system_allocator); }
Program::~Program() { hdb_arena_free(&arena); }

__attribute__((noinline)) static void RunGen(Program *p, uint64_t seed, const GenOptions &options) {
  Gen(p, seed, options).Run();
}

// Nothing is left to do when a test has no memory.
__attribute__((noinline)) static void AbortWithoutMemory(Program *p, uint64_t seed, const GenOptions &options) {
  if (p->arena.on_oom = &p->on_oom, setjmp(p->on_oom) != 0) abort();
  RunGen(p, seed, options);
}

std::unique_ptr<Program> Generate(uint64_t seed, const GenOptions &options) {
  auto p = std::make_unique<Program>();
  p->c.name = "seed " + std::to_string(seed);
  p->c.seed = seed;
  AbortWithoutMemory(p.get(), seed, options);
  return p;
}

} // namespace fuzz
