// tests/fuzz/shrink.cc -- edits, numbered in the order in which they are worth trying.
#include "shrink.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "ir/build.h"

namespace fuzz {
namespace {

using diff::Case;
using diff::Copy;
using diff::Verdict;

using Values = std::vector<IrValue *>;

// --- editing ---

bool Storable(const IrType *t) { return hdir_is_scalar(t) || hdir_is_composite(t); }

bool HoldsArray(const IrType *t) {
  if (t->kind == IR_ARRAY || t->kind == IR_PTR) return true;
  for (uint32_t k = 0; k < t->nparts; k++)
    if (HoldsArray(hdir_part(t, k))) return true;
  return false;
}

// Zero of a type, made before `at`.
IrValue *ZeroBefore(IrInst *at, const IrType *t) {
  IrFunc *fn = at->region->fn;
  if (hdir_is_scalar(t)) return hdir_const(fn, t, 0);
  Values parts;
  for (uint32_t k = 0; k < t->nparts; k++) parts.push_back(ZeroBefore(at, hdir_part(t, k)));
  IrInst *i = hdir_inst_new(fn, IR_make, (uint32_t)parts.size(), parts.data(), 1, &t);
  hdir_insert_before(at, i);
  return i->res[0];
}

void ReplaceUses(IrFunc *fn, IrValue *from, IrValue *to) {
  std::vector<IrValue *> map(fn->nvalues + 1, nullptr);
  map[from->id] = to;
  hdir_replace_uses(fn, map.data());
}

// Calls f for each ender of `i` (an if's yields, a loop's breaks or continues, a scope's yields and leaves).
template <class F> void EachEnder(IrInst *i, IrOp op, const F &f) {
  for (uint32_t s = 0; s < i->nsubs; s++) {
    for (IrInst *x = i->sub[s]->first; x;) {
      IrInst *next = x->next;
      if (x->op == op) {
        bool own = op == IR_yield ? x->region == i->sub[s] : true;
        IrInst *p = x->region->parent; // whose it is
        while (p && op != IR_yield && p->op != (op == IR_leave ? IR_scope : IR_loop)) p = p->region->parent;
        if (op == IR_yield ? own : p == i) f(x);
      }
      if (x->nsubs) {
        next = x->sub[0]->first;
      } else {
        while (!next && x->region->parent && x->region->parent != i) { // up, and into the other side
          IrInst *up = x->region->parent;
          if (up->nsubs > 1 && x->region == up->sub[0])
            next = up->sub[1]->first;
          else
            next = up->next;
          x = up;
        }
      }
      x = next;
    }
  }
}

void DropArg(IrInst *i, uint32_t k) {
  for (uint32_t n = k + 1; n < i->nargs; n++) i->args[n - 1] = i->args[n];
  i->nargs--;
}

void DropValue(IrValue **v, uint32_t *count, uint32_t k) {
  for (uint32_t n = k + 1; n < *count; n++) v[n - 1] = v[n], v[n - 1]->index = n - 1;
  (*count)--;
}

// Move what stands in `r` before `at`, all but the ender, which is returned.
IrInst *Splice(IrRegion *r, IrInst *at) {
  while (r->first != r->last) {
    IrInst *x = r->first;
    hdir_unlink(x);
    hdir_insert_before(at, x);
  }
  return r->last;
}

// One side of an if (or a scope's body) in its place.
bool TakeSide(IrInst *i, uint32_t s) {
  IrInst *ender = Splice(i->sub[s], i);
  if (ender->op == IR_yield || (ender->op == IR_leave && i->op == IR_scope)) {
    for (uint32_t k = 0; k < i->nres; k++) ReplaceUses(i->region->fn, i->res[k], ender->args[k]);
    hdir_unlink(i);
    return true;
  }
  // The side leaves: what follows is not reached.
  IrRegion *r = i->region;
  while (r->last != i) hdir_unlink(r->last);
  hdir_unlink(ender);
  hdir_unlink(i);
  hdir_append(r, ender);
  return true;
}

// The body of a loop once, if it ends with continue: its results are then zero.
bool Once(IrInst *i) {
  IrRegion *body = i->sub[0];
  if (body->last->op != IR_continue) return false;
  int others = 0;
  EachEnder(i, IR_continue, [&](IrInst *x) { others += x != body->last; });
  EachEnder(i, IR_break, [&](IrInst *) { others++; });
  if (others) return false;
  for (uint32_t k = 0; k < body->nparams; k++) ReplaceUses(i->region->fn, body->params[k], i->args[k]);
  Splice(body, i);
  if (i->next && i->next->op == IR_unreachable) return false;
  hdir_unlink(i);
  return true;
}

bool Drop(IrInst *i) {
  for (uint32_t k = 0; k < i->nres; k++)
    if (!Storable(i->res[k]->type) || HoldsArray(i->res[k]->type)) return false;
  for (uint32_t k = 0; k < i->nres; k++) ReplaceUses(i->region->fn, i->res[k], ZeroBefore(i, i->res[k]->type));
  hdir_unlink(i);
  return true;
}

bool TakeOperand(IrInst *i, uint32_t k) {
  if (i->nres != 1 || k >= i->nargs || i->args[k]->type != i->res[0]->type || i->nsubs) return false;
  ReplaceUses(i->region->fn, i->res[0], i->args[k]);
  hdir_unlink(i);
  return true;
}

bool DropResult(IrInst *i, uint32_t k) {
  if (!i->nsubs || k >= i->nres) return false;
  for (const IrInst *u = i->region->fn->body->first; u; u = hdir_inst_next(u))
    for (uint32_t a = 0; a < u->nargs; a++)
      if (u->args[a] == i->res[k]) return false;
  std::vector<IrInst *> enders;
  auto take = [&](IrInst *x) { enders.push_back(x); };
  if (i->op == IR_loop)
    EachEnder(i, IR_break, take);
  else
    EachEnder(i, IR_yield, take);
  if (i->op == IR_scope) EachEnder(i, IR_leave, take);
  for (IrInst *x : enders) DropArg(x, k);
  DropValue(i->res, &i->nres, k);
  return true;
}

bool DropCarried(IrInst *i, uint32_t k) {
  if (i->op != IR_loop || k >= i->nargs) return false;
  ReplaceUses(i->region->fn, i->sub[0]->params[k], i->args[k]);
  std::vector<IrInst *> enders;
  EachEnder(i, IR_continue, [&](IrInst *x) { enders.push_back(x); });
  for (IrInst *x : enders) DropArg(x, k);
  DropArg(i, k);
  DropValue(i->sub[0]->params, &i->sub[0]->nparams, k);
  return true;
}

bool Smaller(IrInst *i, uint32_t k, int64_t x) {
  if (k >= i->nargs || !hdir_is_const(i->args[k]) || i->args[k]->bits == 0) return false;
  IrValue *to = x ? hdir_bits(i->args[k]->type) > 1
                        ? hdir_const(i->region->fn, i->args[k]->type, hdir_bits_of(i->args[k]->type, (double)x))
                        : nullptr
                  : hdir_const(i->region->fn, i->args[k]->type, 0);
  if (!to || to == i->args[k]) return false;
  i->args[k] = to;
  return true;
}

// Everything that does nothing goes.
void Sweep(IrFunc *fn) {
  for (bool again = true; again;) {
    again = false;
    std::vector<int> uses(fn->nvalues + 1, 0);
    std::vector<IrInst *> dead;
    for (IrInst *i = fn->body->first; i; i = hdir_inst_next(i))
      for (uint32_t k = 0; k < i->nargs; k++) uses[i->args[k]->id]++;
    for (IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) {
      IrEffect fx = hdir_ops[i->op].effect;
      if (fx != FX_PURE && fx != FX_LAUNCH && fx != FX_LOCAL && fx != FX_READS) continue;
      bool used = false;
      for (uint32_t k = 0; k < i->nres; k++) used |= uses[i->res[k]->id] > 0;
      if (!used) dead.push_back(i);
    }
    for (IrInst *i : dead) hdir_unlink(i), again = true;
  }
}

bool Uses(const IrFunc *fn, const IrValue *v) {
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i))
    for (uint32_t k = 0; k < i->nargs; k++)
      if (i->args[k] == v) return true;
  return false;
}

// A kernel's parameter that nothing reads.
bool DropParam(Case *c, IrFunc *fn, uint32_t k) {
  if (Uses(fn, fn->body->params[k])) return false;
  for (diff::Param &p : c->params)
    if (p.alias == (int)k) return false;
  c->params.erase(c->params.begin() + k);
  for (diff::Param &p : c->params)
    if (p.alias > (int)k) p.alias--;
  DropValue(fn->body->params, &fn->body->nparams, k);
  return true;
}

bool DropFunction(IrModule *m, IrFunc *fn) {
  for (uint32_t n = 0; n < m->nfuncs; n++)
    for (const IrInst *i = m->funcs[n]->body->first; i; i = hdir_inst_next(i))
      if (i->op == IR_call && i->callee == fn) return false;
  hdir_func_remove(m, fn);
  return true;
}

bool ReturnHere(IrInst *i) {
  IrRegion *r = i->region;
  if (r->parent || r->fn->nresults || hdir_is_ender(i->op)) return false;
  while (r->last != i) hdir_unlink(r->last);
  hdir_append(r, hdir_inst_new(r->fn, IR_return, 0, nullptr, 0, nullptr));
  hdir_unlink(i);
  return true;
}

constexpr int kEditsOfInst = 24;

// The edits of one instruction, larger ones first.
bool EditInst(IrInst *i, int which) {
  bool two_sides = i->op == IR_if;
  if (hdir_is_ender(i->op)) return which >= 20 && Smaller(i, (uint32_t)(which - 20) / 2, which & 1);
  switch (which) {
  case 0: return ReturnHere(i);
  case 1: return Drop(i);
  case 2:
  case 3: return (two_sides || (i->op == IR_scope && which == 2)) && TakeSide(i, (uint32_t)which - 2);
  case 4: return i->op == IR_loop && Once(i);
  case 5:
  case 6:
  case 7: return TakeOperand(i, (uint32_t)which - 5);
  case 8:
  case 9:
  case 10: return DropResult(i, (uint32_t)which - 8);
  case 11:
  case 12:
  case 13:
  case 14: return DropCarried(i, (uint32_t)which - 11);
  default: return which >= 16 && Smaller(i, (uint32_t)(which - 16) / 2, which & 1);
  }
}

enum class Done { kYes, kNot, kEnd };

// Edit number n of a case, on its module. Regions stand before what is in them, so large edits come first.
Done Edit(Case *c, int n) {
  IrModule *m = c->module;
  for (uint32_t f = 0; f < m->nfuncs; f++) {
    IrFunc *fn = m->funcs[f];
    if (fn->is_extern) continue;
    if (fn->is_kernel) {
      if (n < (int)fn->body->nparams) return DropParam(c, fn, (uint32_t)n) ? Done::kYes : Done::kNot;
      n -= (int)fn->body->nparams;
    } else if (n-- == 0) {
      return DropFunction(m, fn) ? Done::kYes : Done::kNot;
    }
  }
  for (int which = 0; which < kEditsOfInst; which++) {
    for (uint32_t f = m->nfuncs; f-- > 0;) { // the kernel stands last
      for (IrInst *i = m->funcs[f]->body->first; i; i = hdir_inst_next(i))
        if (n-- == 0) return EditInst(i, which) ? Done::kYes : Done::kNot;
    }
  }
  return Done::kEnd;
}

std::string Write(const Case &c) { return diff::Describe(c, "#") + diff::Text(c.module); }

bool Valid(const IrModule *m) {
  HdError err = {};
  return hdir_verify(m, &err) == HD_OK;
}

// Applies edit n to a copy of `text`; the text of the result, or "" if it cannot be done.
Done Candidate(const std::string &text, int n, std::string *out) {
  std::unique_ptr<Copy> copy;
  Case c;
  if (!LoadCase(text, &copy, &c).empty()) return Done::kEnd;
  Done done = Edit(&c, n);
  if (done != Done::kYes) return done;
  for (uint32_t f = 0; f < c.module->nfuncs; f++) Sweep(c.module->funcs[f]);
  if (!Valid(c.module)) return Done::kNot;
  *out = Write(c);
  return *out == text ? Done::kNot : Done::kYes;
}

// Failures are alike when they begin alike: crashes stay crashes, differences stay differences.
std::string KindOf(const std::string &failure) {
  if (failure.compare(0, 5, "crash") == 0 || failure.compare(0, 4, "hang") == 0) return failure.substr(0, 4);
  return failure.find("wanted") != std::string::npos ? "differs" : "error";
}

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

} // namespace

std::string LoadCase(const std::string &text, std::unique_ptr<Copy> *owner, Case *c) {
  *owner = std::make_unique<Copy>(text);
  if (!(*owner)->problem.empty()) return (*owner)->problem;
  c->module = (*owner)->module;
  for (uint32_t f = 0; f < c->module->nfuncs; f++) {
    if (!c->module->funcs[f]->is_kernel) continue;
    return diff::ReadDescription(text, c->module->funcs[f], c);
  }
  return "there is no kernel";
}

Verdict Apart(const std::function<Verdict()> &work, int seconds) {
  int fd[2];
  if (pipe(fd) != 0) return {false, ""};
  pid_t child = fork();
  if (child == 0) {
    // Of the processor's time, so that a busy machine is no hang; the clock is for threads that wait for each other.
    struct rlimit limit = {(rlim_t)seconds, (rlim_t)seconds + 1};
    setrlimit(RLIMIT_CPU, &limit);
    alarm((unsigned)seconds * 20);
    Verdict v = work();
    std::string message = (v.valid ? "+" : "-") + v.failure;
    size_t n = write(fd[1], message.data(), message.size() > 4000 ? 4000 : message.size()) < 0;
    _exit((int)n);
  }
  close(fd[1]);
  std::string message(4096, 0);
  ssize_t n = read(fd[0], &message[0], message.size());
  close(fd[0]);
  int status = 0;
  waitpid(child, &status, 0);
  int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal)
    return {true, signal == SIGALRM || signal == SIGXCPU ? "hang" : "crash by signal " + std::to_string(signal)};
  if (n <= 0) return {true, "crash: the child ended with status " + std::to_string(WEXITSTATUS(status))};
  message.resize((size_t)n);
  return {message[0] == '+', message.substr(1)};
}

Verdict JudgeApart(const Case &c, const Judge &judge, int seconds) {
  return Apart([&] { return judge(c); }, seconds);
}

std::string Shrink(const Case &c, const Judge &judge, int seconds) {
  double end = Now() + seconds;
  std::string best = Write(c), kind = KindOf(JudgeApart(c, judge, 20).failure);
  for (bool better = true; better && Now() < end;) {
    better = false;
    for (int n = 0; Now() < end;) {
      std::string text;
      Done done = Candidate(best, n, &text);
      std::unique_ptr<Copy> copy;
      Case smaller;
      if (done == Done::kEnd) break;
      if (done == Done::kNot || !LoadCase(text, &copy, &smaller).empty()) {
        n++;
        continue;
      }
      Verdict v = JudgeApart(smaller, judge, 10);
      if (v.valid && !v.failure.empty() && KindOf(v.failure) == kind)
        best = text, better = true;
      else
        n++;
    }
  }
  return best;
}

} // namespace fuzz
