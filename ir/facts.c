/* ir/facts.c -- which values are the same in all lanes, and which constructs lanes leave apart.
 *
 * Sampaio et al., "Divergence Analysis", TOPLAS 2013, on regions: what needs a post-dominance frontier there is read
 * off the tree here. A fact starts unknown and only ever sinks (unknown, affine with one stride, varying; uniform is
 * affine with stride 0), so the walk repeats until nothing moves. A walk keeps, for each open construct, whether some
 * lanes have parted in this round: gone on to the loop's next round or to the scope's end while others are still here.
 *
 * Strides are exact modulo 2^bits. When a kernel with groups is split, the n lanes of a gang lie in one n of the threads: so
 * they have one ltid / n, and their ltid % n count up. What is not followed: symbolic strides, and widening of anything but tid.
 */
#include "ir/facts.h"

#include "ir/layout.h"

typedef enum Kind { IN_FUNC, IN_UNIFORM_IF, IN_VARYING_IF, IN_LOOP, IN_SCOPE } Kind;

/* The values that the enders of one construct bring: are they one value, and what is their meet? */
typedef struct Meet {
  IrValue *first;
  bool differ, any;
  IrFact fact;
} Meet;

typedef struct Open {
  Kind kind;
  IrInst *inst;
  bool parted;     /* some lanes are further on in this round             */
  bool split_exit; /* a break, yield or leave that not all lanes reach    */
  bool split_next; /* a continue that not all lanes reach                 */
  Meet *results;   /* for each result                                     */
  Meet *next;      /* of a loop, for each parameter                       */
  struct Open *up;
} Open;

typedef struct Walk {
  IrFacts *f;
  Arena *a;
  int32_t inner_axis;
  bool gangs;       /* lanes are those of a gang; before a kernel is split, all threads of a group */
  int64_t lanes;    /* of a gang, or more; a power of two */
  bool *known;      /* by value id                                               */
  bool *left_early; /* by instruction id: a loop that lanes leave in different rounds */
  Open *top;
  bool changed;
} Walk;

/* --- facts and their order --- */

#define WHY(name) why_##name
#define IR_REASON(name, text) static const char why_##name[] = #name;
#include "ir/reasons.def"

static IrFact varying(const char *why, uint32_t cause) { return (IrFact){IR_VARYING, 0, why, cause}; }
static IrFact uniform(void) { return (IrFact){IR_UNIFORM, 0, NULL, 0}; }

static IrFact affine(const IrType *t, int64_t stride) {
  if (hdir_is_scalar(t)) {
    uint32_t drop = 64 - hdir_bits(t);
    stride = (int64_t)((uint64_t)stride << drop) >> drop;
  }
  return stride ? (IrFact){IR_AFFINE, stride, NULL, 0} : uniform();
}

static bool same(IrFact a, IrFact b) { return a.cls == b.cls && a.stride == b.stride; }

static IrFact fact(const Walk *w, const IrValue *v) {
  if (hdir_is_const(v) || !w->known[v->id]) return uniform(); /* unknown is better than all else */
  return w->f->of[v->id];
}

static void sink(Walk *w, const IrValue *v, IrFact to) {
  IrFact *at = &w->f->of[v->id];
  if (w->known[v->id]) {
    if (at->cls == IR_VARYING || same(*at, to)) return;
    if (to.cls != IR_VARYING) to = varying(WHY(carried), v->id);
  }
  *at = to;
  w->known[v->id] = w->changed = true;
}

static void meet(Walk *w, Meet *m, IrValue *v) {
  IrFact f = fact(w, v);
  if (f.cls == IR_VARYING) f.why = WHY(operand), f.cause = v->id;
  if (!m->any) *m = (Meet){v, false, true, f};
  if (m->first != v) m->differ = true;
  if (m->fact.cls != IR_VARYING && !same(m->fact, f)) m->fact = f.cls == IR_VARYING ? f : varying(WHY(operand), v->id);
}

static Meet *meets(Walk *w, uint32_t n) { return n ? HDB_NEW_N(w->a, Meet, n) : NULL; }

/* --- where lanes are --- */

/* Are there lanes in this round of `x` that are not here? NULL asks for the function: lanes that are off. */
static bool split(const Walk *w, const Open *x) {
  for (const Open *o = w->top; o; o = o->up) {
    if (o == x) return o->parted;
    if (o->kind == IN_VARYING_IF || o->parted) return true;
    if (o->kind == IN_LOOP && w->left_early[o->inst->id]) return true;
  }
  return false;
}

static Open *innermost(const Walk *w, Kind kind) {
  Open *o = w->top;
  while (o && o->kind != kind) o = o->up;
  return o;
}

static Open *innermost_if(const Walk *w) {
  Open *o = w->top;
  while (o->kind != IN_UNIFORM_IF && o->kind != IN_VARYING_IF) o = o->up;
  return o;
}

/* --- pure operations --- */

static IrFact all_uniform_or(const Walk *w, const IrInst *i, const char *why) {
  for (uint32_t k = 0; k < i->nargs; k++)
    if (fact(w, i->args[k]).cls != IR_UNIFORM) return varying(why, i->args[k]->id);
  return uniform();
}

/* A factor that is a constant, for an affine product; false if there is none. */
static bool const_factor(const Walk *w, const IrInst *i, int64_t *stride) {
  for (int k = 0; k < 2; k++) {
    IrFact f = fact(w, i->args[k]);
    if (!hdir_is_const(i->args[1 - k]) || f.cls != IR_AFFINE) continue;
    *stride = (int64_t)((uint64_t)f.stride * (uint64_t)hdir_const_i64(i->args[1 - k]));
    return true;
  }
  return false;
}

enum { PLACE_DEPTH = 6 }; /* how far places are looked for */

/* A multiple of `lanes` in all lanes. */
static bool is_round(const Walk *w, const IrValue *v, int depth) {
  if (hdir_is_const(v)) return hdir_const_i64(v) % w->lanes == 0;
  const IrInst *i = v->def;
  if (!i || depth == 0) return false;
  switch (i->op) {
  case IR_mul: return is_round(w, i->args[0], depth - 1) || is_round(w, i->args[1], depth - 1);
  case IR_shl: return hdir_is_const(i->args[1]) && w->lanes >> (i->args[1]->bits & (hdir_bits(v->type) - 1)) <= 1;
  case IR_add:
  case IR_sub: return is_round(w, i->args[0], depth - 1) && is_round(w, i->args[1], depth - 1);
  case IR_bitcast:
  case IR_cvt: return hdir_is_int(i->args[0]->type) && is_round(w, i->args[0], depth - 1);
  default: return false;
  }
}

/* A thread's place in its group and a multiple of `lanes`: the lanes of a gang have neighbours' places that no such multiple
 * parts. */
static bool is_place(const Walk *w, const IrValue *v, int depth) {
  const IrInst *i = hdir_is_const(v) ? NULL : v->def;
  if (!i || depth == 0 || hdir_bits(v->type) < 32) return false;
  switch (i->op) {
  case IR_ltid: return true;
  case IR_add:
    return (is_place(w, i->args[0], depth - 1) && is_round(w, i->args[1], depth - 1)) ||
           (is_place(w, i->args[1], depth - 1) && is_round(w, i->args[0], depth - 1));
  case IR_bitcast:
  case IR_cvt:
    return hdir_is_int(i->args[0]->type) && hdir_bits(v->type) == hdir_bits(i->args[0]->type) &&
           is_place(w, i->args[0], depth - 1);
  default: return false;
  }
}

/* A place cut at multiples of `lanes`: its block is one for the gang, and what is left counts its lanes. */
static bool place_cut(const Walk *w, const IrInst *i, IrFact *out) {
  if (!w->gangs) return false;
  if (i->op != IR_shr && i->op != IR_div && i->op != IR_and && i->op != IR_rem) return false;
  const IrValue *v = i->args[0], *by = i->args[1];
  if (!hdir_is_scalar(v->type) || !hdir_is_const(by) || !is_place(w, v, PLACE_DEPTH)) return false;
  bool plus = !hdir_is_signed(v->type) || v->def->op == IR_ltid; /* division goes towards zero */
  bool round = hdir_const_i64(by) > 0 && hdir_const_i64(by) % w->lanes == 0;
  bool low = (hdir_const_i64(by) & (w->lanes - 1)) == w->lanes - 1;
  switch (i->op) {
  case IR_shr: *out = uniform(); return w->lanes >> (by->bits & (hdir_bits(v->type) - 1)) <= 1;
  case IR_div: *out = uniform(); return plus && round;
  case IR_and: *out = affine(i->res[0]->type, 1); return low;
  case IR_rem: *out = affine(i->res[0]->type, 1); return plus && round;
  default: return false;
  }
}

/* Widening keeps a stride only where no lane wraps before another: tid lies in 0 .. 2^31 - 2, and 2^31 and 2^32 are
 * multiples of 32. */
static bool keeps_stride(const Walk *w, const IrValue *from, const IrType *to) {
  IrFact cut;
  if (!hdir_is_int(from->type) || !hdir_is_int(to)) return false;
  if (hdir_bits(to) <= hdir_bits(from->type)) return true;
  if (!from->def) return false;
  if (from->def->op == IR_tid || from->def->op == IR_ltid) return true;
  return w->gangs && (is_place(w, from, PLACE_DEPTH) || place_cut(w, from->def, &cut));
}

static IrFact integer_fact(const Walk *w, const IrInst *i) {
  const IrType *t = i->res[0]->type;
  IrFact a = fact(w, i->args[0]), b = i->nargs > 1 ? fact(w, i->args[1]) : uniform();
  int64_t s;
  if (a.cls == IR_VARYING || b.cls == IR_VARYING || !hdir_is_int(t)) return all_uniform_or(w, i, WHY(operand));
  IrFact cut;
  switch (i->op) {
  case IR_and:
  case IR_shr:
  case IR_div:
  case IR_rem:
    if (place_cut(w, i, &cut)) return cut;
    break;
  case IR_add: return affine(t, (int64_t)((uint64_t)a.stride + (uint64_t)b.stride));
  case IR_sub: return affine(t, (int64_t)((uint64_t)a.stride - (uint64_t)b.stride));
  case IR_neg: return affine(t, (int64_t)(0 - (uint64_t)a.stride));
  case IR_not: return affine(t, (int64_t)(0 - (uint64_t)a.stride));
  case IR_mul:
    if (const_factor(w, i, &s)) return affine(t, s);
    break;
  case IR_shl:
    if (hdir_is_const(i->args[1]))
      return affine(t, (int64_t)((uint64_t)a.stride << (i->args[1]->bits & (hdir_bits(t) - 1))));
    break;
  case IR_cvt:
  case IR_bitcast:
    if (a.cls == IR_AFFINE && keeps_stride(w, i->args[0], t)) return affine(t, a.stride);
    break;
  default: break;
  }
  return all_uniform_or(w, i, WHY(operand));
}

static IrFact select_fact(const Walk *w, const IrInst *i) {
  IrFact c = fact(w, i->args[0]), a = fact(w, i->args[1]), b = fact(w, i->args[2]);
  if (i->args[1] == i->args[2]) return a;
  if (c.cls != IR_UNIFORM) return varying(WHY(operand), i->args[0]->id);
  if (same(a, b) && a.cls != IR_VARYING) return a;
  return varying(WHY(operand), a.cls == IR_VARYING ? i->args[1]->id : i->args[2]->id);
}

/* An address: affine counts bytes and takes arrays as dense along their last axis. */
static IrFact index_fact(const Walk *w, const IrInst *i) {
  IrFact last = fact(w, i->args[i->nargs - 1]);
  for (uint32_t k = 0; k + 1 < i->nargs; k++)
    if (fact(w, i->args[k]).cls != IR_UNIFORM) return varying(WHY(operand), i->args[k]->id);
  if (last.cls == IR_VARYING) return varying(WHY(operand), i->args[i->nargs - 1]->id);
  return affine(i->res[0]->type, (int64_t)((uint64_t)last.stride * i->res[0]->type->elem->size));
}

static IrFact elem_fact(const Walk *w, const IrInst *i) {
  IrFact base = fact(w, i->args[0]), at = fact(w, i->args[1]);
  if (base.cls == IR_VARYING) return varying(WHY(operand), i->args[0]->id);
  if (at.cls == IR_VARYING) return varying(WHY(operand), i->args[1]->id);
  uint64_t bytes = i->res[0]->type->elem->size;
  return affine(i->res[0]->type, (int64_t)((uint64_t)base.stride + (uint64_t)at.stride * bytes));
}

static IrFact load_fact(const Walk *w, const IrInst *i) {
  IrFact p = fact(w, i->args[0]);
  if (i->args[0]->type->space == IR_LOCAL) return varying(WHY(local_memory), i->res[0]->id);
  return p.cls == IR_UNIFORM ? uniform() : varying(WHY(load_address), i->args[0]->id);
}

static IrFact result_fact(const Walk *w, const IrInst *i) {
  switch (i->op) {
  case IR_tid: return i->imm == w->inner_axis ? affine(i->res[0]->type, 1) : uniform();
  case IR_ltid: return affine(i->res[0]->type, 1);
  case IR_dim:
  case IR_has:
  case IR_gid:
  case IR_gdim:
  case IR_length:
  case IR_shared:
  case IR_alloca: return uniform();
  case IR_add:
  case IR_sub:
  case IR_neg:
  case IR_not:
  case IR_mul:
  case IR_shl:
  case IR_and:
  case IR_shr:
  case IR_div:
  case IR_rem:
  case IR_cvt:
  case IR_bitcast: return integer_fact(w, i);
  case IR_select: return select_fact(w, i);
  case IR_index: return index_fact(w, i);
  case IR_member:
    return fact(w, i->args[0]).cls == IR_VARYING ? varying(WHY(operand), i->args[0]->id) : fact(w, i->args[0]);
  case IR_elem: return elem_fact(w, i);
  case IR_load: return load_fact(w, i);
  case IR_gang_min:
  case IR_gang_max:
  case IR_gang_count: return w->gangs || !w->f->fn->group ? uniform() : all_uniform_or(w, i, WHY(operand));
  default: break;
  }
  if (hdir_ops[i->op].effect == FX_ATOMIC) return varying(WHY(atomic), i->res[0]->id);
  if (hdir_calls_c(i) && !hdir_calls_pure(i)) return varying(WHY(c_function), i->res[0]->id);
  return all_uniform_or(w, i, WHY(operand));
}

/* --- enders --- */

/* Is `v` the same in every round of `loop`? */
static bool invariant(const IrValue *v, const IrInst *loop) {
  if (hdir_is_const(v)) return true;
  const IrRegion *at = v->def ? v->def->region : v->region;
  return !hdir_region_contains(loop->sub[0], at);
}

/* Lanes that leave `to` in different rounds of a loop in it bring what those rounds had. */
static void bring_apart(Walk *w, const Open *to, const IrInst *ender) {
  for (const Open *o = w->top; o != to; o = o->up) {
    for (uint32_t k = 0; o->kind == IN_LOOP && k < ender->nargs; k++)
      if (!invariant(ender->args[k], o->inst)) to->results[k].fact = varying(WHY(temporal), ender->args[k]->id);
  }
}

static void bring(Walk *w, Meet *to, const IrInst *ender) {
  for (uint32_t k = 0; k < ender->nargs; k++) meet(w, &to[k], ender->args[k]);
}

static void ender(Walk *w, const IrInst *i) {
  Open *x;
  switch (i->op) {
  case IR_yield:
    if (i->region->parent->op == IR_threads) return;
    x = w->top; /* of an if's side, or the scope itself */
    if (x->kind == IN_SCOPE)
      x->split_exit |= split(w, x);
    else
      x = innermost_if(w);
    bring(w, x->results, i);
    return;
  case IR_break:
    x = innermost(w, IN_LOOP);
    x->split_exit |= split(w, x);
    bring(w, x->results, i);
    return;
  case IR_leave:
    x = innermost(w, IN_SCOPE);
    bring(w, x->results, i);
    if (!split(w, x)) return;
    x->split_exit = x->parted = true;
    bring_apart(w, x, i);
    return;
  case IR_continue:
    x = innermost(w, IN_LOOP);
    if (split(w, x)) x->split_next = x->parted = true;
    bring(w, x->next, i);
    return;
  case IR_return:
    x = innermost(w, IN_FUNC);
    x->parted |= split(w, x);
    return;
  default: return;
  }
}

/* --- constructs --- */

static void walk_region(Walk *w, IrRegion *r);

static void if_inst(Walk *w, IrInst *i) {
  IrFact c = fact(w, i->args[0]);
  bool apart = c.cls != IR_UNIFORM;
  Open o = {.kind = apart ? IN_VARYING_IF : IN_UNIFORM_IF, .inst = i, .results = meets(w, i->nres), .up = w->top};
  w->f->divergent[i->id] = apart;
  w->top = &o;
  for (uint32_t s = 0; s < i->nsubs; s++) walk_region(w, i->sub[s]);
  w->top = o.up;
  for (uint32_t k = 0; k < i->nres; k++) {
    Meet *m = &o.results[k];
    if (!m->any)
      sink(w, i->res[k], uniform()); /* neither side yields */
    else if (apart && m->differ)
      sink(w, i->res[k], varying(WHY(branch), i->args[0]->id));
    else
      sink(w, i->res[k], m->fact);
  }
}

static void loop_inst(Walk *w, IrInst *i) {
  IrRegion *body = i->sub[0];
  Open o = {.kind = IN_LOOP, .inst = i, .results = meets(w, i->nres), .next = meets(w, body->nparams), .up = w->top};
  for (uint32_t k = 0; k < body->nparams; k++) {
    IrFact f = fact(w, i->args[k]);
    sink(w, body->params[k], f.cls == IR_VARYING ? varying(WHY(operand), i->args[k]->id) : f);
  }
  w->top = &o;
  walk_region(w, body);
  w->top = o.up;
  if (o.split_exit && !w->left_early[i->id]) w->left_early[i->id] = w->changed = true;
  w->f->divergent[i->id] = w->left_early[i->id] || o.split_next;
  for (uint32_t k = 0; k < body->nparams; k++) {
    if (!o.next[k].any) continue;
    bool apart = o.split_next && o.next[k].differ;
    sink(w, body->params[k], apart ? varying(WHY(carried), body->params[k]->id) : o.next[k].fact);
  }
  for (uint32_t k = 0; k < i->nres; k++) {
    Meet *m = &o.results[k];
    bool early = w->left_early[i->id] && (m->differ || (m->any && !invariant(m->first, i)));
    if (!m->any)
      sink(w, i->res[k], uniform());
    else
      sink(w, i->res[k], early ? varying(WHY(temporal), i->res[k]->id) : m->fact);
  }
}

static void scope_inst(Walk *w, IrInst *i) {
  Open o = {.kind = IN_SCOPE, .inst = i, .results = meets(w, i->nres), .up = w->top};
  w->top = &o;
  walk_region(w, i->sub[0]);
  w->top = o.up;
  w->f->divergent[i->id] = o.split_exit;
  for (uint32_t k = 0; k < i->nres; k++) {
    Meet *m = &o.results[k];
    bool apart = o.split_exit && m->differ;
    if (!m->any)
      sink(w, i->res[k], uniform());
    else
      sink(w, i->res[k], apart ? varying(WHY(leave), i->res[k]->id) : m->fact);
  }
}

static void walk_region(Walk *w, IrRegion *r) {
  for (IrInst *i = r->first; i; i = i->next) {
    w->f->masked[i->id] = split(w, NULL);
    switch (i->op) {
    case IR_if: if_inst(w, i); break;
    case IR_loop: loop_inst(w, i); break;
    case IR_scope: scope_inst(w, i); break;
    case IR_threads: walk_region(w, i->sub[0]); break;
    default:
      if (hdir_is_ender(i->op)) ender(w, i);
      for (uint32_t k = 0; k < i->nres; k++) sink(w, i->res[k], result_fact(w, i));
    }
  }
}

IrFacts *hdir_facts(const IrFunc *fn, int32_t inner_axis, uint32_t lanes, Arena *a) {
  IrFacts *f = HDB_NEW(a, IrFacts);
  f->fn = fn;
  f->of = HDB_NEW_N(a, IrFact, fn->nvalues + 1);
  f->divergent = HDB_NEW_N(a, bool, fn->ninsts + 1);
  f->masked = HDB_NEW_N(a, bool, fn->ninsts + 1);
  Walk w = {.f = f, .a = a, .inner_axis = inner_axis, .gangs = hdir_is_split(fn), .lanes = lanes};
  w.known = HDB_NEW_N(a, bool, fn->nvalues + 1);
  w.left_early = HDB_NEW_N(a, bool, fn->ninsts + 1);
  for (uint32_t k = 0; k < fn->body->nparams; k++) {
    IrValue *p = fn->body->params[k];
    sink(&w, p, fn->is_kernel ? uniform() : varying(WHY(operand), p->id)); /* nobody says how a function is called */
  }
  do {
    Open func = {.kind = IN_FUNC};
    w.changed = false;
    w.top = &func;
    walk_region(&w, fn->body);
  } while (w.changed);
  return f;
}

/* --- text --- */

static const char *reason_text(const char *why) {
#define IR_REASON(name, text)                                                                                          \
  if (why == WHY(name)) return text;
#include "ir/reasons.def"
  return "";
}

static const IrValue *value_by_id(const IrFunc *fn, uint32_t id) {
  for (uint32_t k = 0; k < fn->body->nparams; k++)
    if (fn->body->params[k]->id == id) return fn->body->params[k];
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) {
    for (uint32_t k = 0; k < i->nres; k++)
      if (i->res[k]->id == id) return i->res[k];
    for (uint32_t s = 0; s < i->nsubs; s++)
      for (uint32_t k = 0; k < i->sub[s]->nparams; k++)
        if (i->sub[s]->params[k]->id == id) return i->sub[s]->params[k];
  }
  return NULL;
}

static void put_class(Buf *b, const IrFact *f) {
  if (f->cls == IR_UNIFORM)
    hdb_put(b, "uniform");
  else if (f->cls == IR_AFFINE)
    hdb_putf(b, "affine %lld", (long long)f->stride);
  else
    hdb_putf(b, "varying: %s", reason_text(f->why));
}

static void put_line(Buf *b, const IrValue *v) {
  if (v->def && v->def->loc.line) hdb_putf(b, " at line %u", v->def->loc.line);
}

/* Where the differences begin, in words of the source. */
static void put_source(Buf *b, const IrFact *f, const IrValue *v) {
  const char *what = f->cls != IR_VARYING              ? "the thread's own coordinate"
                     : f->why == WHY(tid)              ? "the thread's own coordinate"
                     : f->why == WHY(atomic)           ? "the result of an atomic"
                     : f->why == WHY(c_function)       ? "the result of a C function"
                     : v->def && v->def->op == IR_load ? "a value loaded"
                                                       : "what is computed";
  hdb_put(b, what);
  if (f->cls == IR_VARYING) put_line(b, v);
}

void hdir_facts_explain(Buf *b, const IrFacts *f, const IrValue *v) {
  const IrValue *named = v->name ? v : NULL, *c = v, *load = NULL;
  for (int depth = 0; depth < 100 && f->of[c->id].cls == IR_VARYING && f->of[c->id].cause != c->id; depth++) {
    const IrValue *next = value_by_id(f->fn, f->of[c->id].cause);
    if (c->def && c->def->op == IR_load) load = c; /* what it is loaded from matters less */
    if (!next || load) break;
    c = next;
    if (!named && c->name) named = c;
  }
  if (named) hdb_putf(b, "'%s', which depends on ", named->name);
  put_source(b, &f->of[c->id], c);
}

void hdir_facts_note(Buf *b, const IrValue *v, void *user) {
  const IrFacts *f = user;
  if (v->id >= f->fn->nvalues || hdir_is_const(v)) return;
  put_class(b, &f->of[v->id]);
}
