/* tests/fakecuda/ptx_decode_flow.c -- decodes what is not arithmetic: memory, lanes together, barriers, jumps and calls. */
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/ptx_decode.h"

/* --- memory --- */

/* The words that change when something happens, not what: caches, eviction, and how strong the order is. */
static void take_hints(Parser *p, bool load) {
  int order = TAKE(p, "weak", "volatile", "relaxed", "acquire", "release", "mmio", "acq_rel");
  int scope = TAKE(p, "cta", "cluster", "gpu", "sys");
  if ((order >= 2) != (scope >= 0)) bad(p, "a strong access and its scope go together");
  if (order == (load ? 4 : 3) || order == 6) bad(p, "there is no such order here");
  if (load)
    (void)TAKE(p, "ca", "cg", "cs", "lu", "cv");
  else
    (void)TAKE(p, "wb", "cg", "cs", "wt");
  (void)TAKE(p, "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate");
  (void)TAKE(p, "L2::evict_normal", "L2::evict_first", "L2::evict_last");
  if (load) (void)TAKE(p, "L2::64B", "L2::128B", "L2::256B");
}

static uint32_t take_vector(Parser *p, PtxType t) {
  int v = TAKE(p, "v2", "v4", "v8");
  if (v == 2 && bytes_of(t) != 4) bad(p, ".v8 is for 32 bits");
  if (v == 1 && bytes_of(t) == 8 && p->m->target < 100) bad(p, ".v4 of 64 bits needs sm_100");
  return v < 0 ? 1 : 2u << v;
}

static void access_list(Parser *p, Ins *x, const Operand *o, uint32_t n, PtxType t, bool load) {
  uint32_t columns[8] = {0}, bytes = 0;
  if ((o->kind == OP_VEC ? o->n : 1) != n || (n > 1 && o->kind != OP_VEC)) {
    bad(p, "the number of registers does not match");
    return;
  }
  for (uint32_t i = 0; i < n && !p->failed; i++) {
    const Operand *e = o->kind == OP_VEC ? &o->part[i] : o;
    uint32_t own = 0;
    if (load && e->kind == OP_SINK) {
      columns[i] = UINT32_MAX;
      continue;
    }
    if (load && e->kind != OP_REG) {
      bad(p, "its result goes to a register");
      return;
    }
    columns[i] = ptx_source_wide(p, e, t, &own);
    if (load) columns[i] = ptx_result(p, e, e->type);
    if (bytes && own != bytes) bad(p, "registers of one size are expected");
    bytes = own;
  }
  x->size2 = (uint8_t)(bytes ? bytes : bytes_of(t));
  x->size1 = (uint8_t)bytes_of(t);
  x->type = (uint8_t)t;
  x->nlist = n, x->list = p->m->nlists;
  x->d = columns[0];
  for (uint32_t i = 0; i < n && !p->failed; i++) ptx_list_add(p, columns[i]);
}

static void d_load(Parser *p, bool ldu) {
  Ins x = {0};
  PtxType t = take_type(p);
  x.space = (uint8_t)take_space(p);
  bool nc = take(p, "nc");
  take_hints(p, true);
  if ((nc || ldu) && x.space != SP_GLOBAL && !(ldu && x.space == SP_GENERIC)) bad(p, "this is for global memory");
  if (t == PT_PRED || kind_of(t) == 'x' || is_half(t)) bad(p, "there is no such form");
  uint32_t n = take_vector(p, t);
  Operand d = operand(p);
  ptx_want(p, ',');
  ptx_memory(p, &x);
  if (p->failed) return;
  access_list(p, &x, &d, n, t, true);
  x.fn = p->failed ? NULL : ptx_load(&x);
  finish(p, &x);
}
void ptx_d_ld(Parser *p) { d_load(p, false); }
void ptx_d_ldu(Parser *p) { d_load(p, true); }

void ptx_d_st(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  x.space = (uint8_t)take_space(p);
  take_hints(p, false);
  if (t == PT_PRED || kind_of(t) == 'x' || is_half(t) || x.space == SP_CONST) bad(p, "there is no such form");
  uint32_t n = take_vector(p, t);
  ptx_memory(p, &x);
  Operand v = next_operand(p);
  if (p->failed) return;
  access_list(p, &x, &v, n, t, false);
  x.fn = p->failed ? NULL : ptx_store(&x);
  finish(p, &x);
}

void ptx_d_prefetch(Parser *p) {
  Ins x = {0};
  x.space = (uint8_t)take_space(p);
  if (TAKE(p, "L1", "L2") < 0) bad(p, "a cache is missing");
  ptx_memory(p, &x);
  x.fn = ptx_prefetch;
  finish(p, &x);
}

static void d_atomic(Parser *p, bool red) {
  Ins x = {0};
  PtxType t = take_type(p);
  int op = TAKE(p, "add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec");
  int order = TAKE(p, "relaxed", "acquire", "release", "acq_rel");
  (void)TAKE(p, "cta", "cluster", "gpu", "sys");
  bool noftz = take(p, "noftz");
  x.space = (uint8_t)take_space(p);
  bool b = kind_of(t) == 'b' && bytes_of(t) >= 4, w = is_int(t) && bytes_of(t) >= 4;
  bool known = false;
  switch (op) {
  case AT_ADD: known = (w && t != PT_S64) || is_float(t); break;
  case AT_MIN:
  case AT_MAX: known = w; break;
  case AT_AND:
  case AT_OR:
  case AT_XOR: known = b; break;
  case AT_EXCH: known = b && !red; break;
  case AT_CAS: known = (b || t == PT_B16) && !red; break;
  case AT_INC:
  case AT_DEC: known = t == PT_U32; break;
  default: break;
  }
  if (!known || t == PT_F32X2 || (noftz != (op == AT_ADD && is_half(t))) || (red && order > 0 && order != 2))
    bad(p, "there is no such form");
  if (x.space == SP_CONST || x.space == SP_PARAM || x.space == SP_LOCAL)
    bad(p, "there are no atomics in this state space");
  Operand d = {.kind = OP_SINK};
  if (!red) {
    d = operand(p);
    ptx_want(p, ',');
  }
  ptx_memory(p, &x);
  x.b = next_source(p, t);
  if (op == AT_CAS) x.c = next_source(p, t);
  x.d = red ? 0 : ptx_result(p, &d, t);
  x.type = (uint8_t)t, x.op = (uint8_t)op, x.size1 = (uint8_t)bytes_of(t), x.fn = ptx_atom;
  finish(p, &x);
}
void ptx_d_atom(Parser *p) { d_atomic(p, false); }
void ptx_d_red(Parser *p) { d_atomic(p, true); }

void ptx_d_alloca(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  Operand d = operand(p), size = next_operand(p);
  x.imm = 8;
  if (ptx_skip(p, ',')) {
    Operand align = operand(p);
    if (align.kind != OP_INT || align.bits == 0 || align.bits > 4096) bad(p, "an alignment is a small number");
    x.imm = (int64_t)align.bits;
  }
  if (t != PT_U64) bad(p, "there is no such form");
  x.a = ptx_source(p, &size, t), x.d = ptx_result(p, &d, t), x.fn = ptx_alloca;
  p->fn->grows = true;
  finish(p, &x);
}

void ptx_d_stacksave(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  Operand d = operand(p);
  if (t != PT_U64) bad(p, "there is no such form");
  x.d = ptx_result(p, &d, t), x.fn = ptx_stacksave;
  finish(p, &x);
}

void ptx_d_stackrestore(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  Operand a = operand(p);
  if (t != PT_U64) bad(p, "there is no such form");
  x.a = ptx_source(p, &a, t), x.fn = ptx_stackrestore;
  finish(p, &x);
}

/* --- lanes together --- */

void ptx_d_shfl(Parser *p) {
  Ins x = {.flow = FLOW_SYNC, .fn = ptx_shfl};
  PtxType t = take_type(p);
  int mode = TAKE(p, "up", "down", "bfly", "idx");
  if (!take(p, "sync")) bad(p, "only the .sync form is known here");
  if (mode < 0 || t != PT_B32) bad(p, "there is no such form");
  Operand d, e;
  two_results(p, &d, &e);
  x.op = (uint8_t)mode;
  x.a = next_source(p, t), x.b = next_source(p, PT_B32), x.c = next_source(p, PT_B32);
  uint32_t mask = next_source(p, PT_B32);
  x.d = ptx_result(p, &d, t);
  x.list = p->m->nlists, x.nlist = 1;
  ptx_list_add(p, e.kind ? ptx_result(p, &e, PT_PRED) : 0);
  x.e = mask;
  finish(p, &x);
}

void ptx_d_vote(Parser *p) {
  Ins x = {.flow = FLOW_SYNC, .fn = ptx_vote};
  PtxType t = take_type(p);
  int mode = TAKE(p, "all", "any", "uni", "ballot");
  if (!take(p, "sync")) bad(p, "only the .sync form is known here");
  if (mode < 0 || t != (mode == 3 ? PT_B32 : PT_PRED)) bad(p, "there is no such form");
  x.op = (uint8_t)mode;
  Operand d = operand(p);
  x.a = next_source(p, PT_PRED), x.e = next_source(p, PT_B32);
  x.d = ptx_result(p, &d, t);
  finish(p, &x);
}

void ptx_d_match(Parser *p) {
  Ins x = {.flow = FLOW_SYNC, .fn = ptx_match};
  PtxType t = take_type(p);
  int mode = TAKE(p, "any", "all");
  if (!take(p, "sync") || mode < 0 || (t != PT_B32 && t != PT_B64)) bad(p, "there is no such form");
  x.op = (uint8_t)mode, x.size1 = (uint8_t)bytes_of(t);
  Operand d, e;
  two_results(p, &d, &e);
  if (e.kind && mode == 0) bad(p, "it has one result");
  x.a = next_source(p, t), x.e = next_source(p, PT_B32);
  x.d = ptx_result(p, &d, PT_B32);
  x.list = p->m->nlists, x.nlist = 1;
  ptx_list_add(p, e.kind ? ptx_result(p, &e, PT_PRED) : 0);
  finish(p, &x);
}

void ptx_d_redux(Parser *p) {
  Ins x = {.flow = FLOW_SYNC, .fn = ptx_redux};
  PtxType t = take_type(p);
  int op = TAKE(p, "add", "min", "max", "and", "or", "xor");
  bool bits = op >= 3;
  if (!take(p, "sync") || op < 0 || (bits ? t != PT_B32 : (t != PT_U32 && t != PT_S32)))
    bad(p, "there is no such form");
  if (p->m->target < 80) bad(p, "it needs sm_80");
  x.op = (uint8_t)op, x.type = (uint8_t)t;
  Operand d = operand(p);
  x.a = next_source(p, t), x.e = next_source(p, PT_B32);
  x.d = ptx_result(p, &d, t);
  finish(p, &x);
}

void ptx_d_activemask(Parser *p) {
  Ins x = {.fn = ptx_activemask};
  PtxType t = take_type(p);
  Operand d = operand(p);
  if (t != PT_B32) bad(p, "there is no such form");
  x.d = ptx_result(p, &d, t);
  finish(p, &x);
}

void ptx_d_elect(Parser *p) {
  Ins x = {.flow = FLOW_SYNC, .fn = ptx_elect};
  Operand d, e;
  if (!take(p, "sync") || p->m->target < 90) bad(p, "it needs sm_90 and .sync");
  two_results(p, &d, &e);
  x.e = next_source(p, PT_B32);
  x.d = ptx_result(p, &d, PT_B32);
  x.list = p->m->nlists, x.nlist = 1;
  ptx_list_add(p, ptx_result(p, &e, PT_PRED));
  finish(p, &x);
}

/* --- barriers --- */

/* op: 0 sync, 1 arrive, 2 red.popc, 3 red.and, 4 red.or. abs: aligned. */
static void d_barrier_like(Parser *p, bool aligned) {
  Ins x = {.flow = FLOW_BAR};
  if (take(p, "warp")) {
    Operand mask = operand(p);
    x.flow = FLOW_WARPBAR;
    if (!take(p, "sync") || !aligned) bad(p, "there is no such form");
    x.e = ptx_source(p, &mask, PT_B32);
    finish(p, &x);
    return;
  }
  (void)take(p, "cta");
  if (take(p, "aligned")) aligned = true;
  x.abs = aligned;
  int kind = TAKE(p, "sync", "arrive", "red");
  if (kind < 0) bad(p, "there is no such form");
  Operand d = {0};
  x.op = (uint8_t)kind;
  if (kind == 2) {
    int red = TAKE(p, "popc", "and", "or");
    PtxType t = take_type(p);
    x.op = (uint8_t)(2 + red);
    if (red < 0 || t != (red ? PT_PRED : PT_U32)) bad(p, "there is no such form");
    d = operand(p);
    ptx_want(p, ',');
    x.d = ptx_result(p, &d, t);
  }
  Operand id = operand(p);
  x.a = ptx_source(p, &id, PT_U32);
  if (ptx_skip(p, ',')) {
    Operand n = operand(p);
    if (kind == 2 && n.kind == OP_REG && n.type == PT_PRED) {
      x.c = ptx_source(p, &n, PT_PRED);
    } else {
      x.b = ptx_source(p, &n, PT_U32);
      if (kind == 2) x.c = next_source(p, PT_PRED);
    }
  }
  if (kind == 1 && !x.b) bad(p, "the number of threads is missing");
  if (kind == 2 && !x.c) bad(p, "its predicate is missing");
  finish(p, &x);
}
void ptx_d_bar(Parser *p) { d_barrier_like(p, true); }
void ptx_d_barrier(Parser *p) { d_barrier_like(p, false); }

static bool nothing(Warp *w, Ins *i, uint32_t m) {
  (void)w, (void)i, (void)m;
  return true;
}

void ptx_d_membar(Parser *p) {
  Ins x = {.fn = nothing};
  if (TAKE(p, "cta", "gl", "sys") < 0) bad(p, "there is no such form");
  finish(p, &x);
}
void ptx_d_fence(Parser *p) {
  Ins x = {.fn = nothing};
  (void)TAKE(p, "sc", "acq_rel", "acquire", "release");
  if (TAKE(p, "cta", "cluster", "gpu", "sys") < 0) bad(p, "there is no such form");
  finish(p, &x);
}

void ptx_d_nanosleep(Parser *p) {
  Ins x = {.flow = FLOW_YIELD};
  Operand a = operand(p);
  if (take_type(p) != PT_U32) bad(p, "there is no such form");
  x.a = ptx_source(p, &a, PT_U32);
  finish(p, &x);
}

/* --- flow --- */

void ptx_label_target(Parser *p, uint32_t ins, uint32_t list) {
  if (p->tok.kind != TOK_NAME) {
    FAIL(p, "a label expected");
    return;
  }
  uint32_t name = ptx_name(p, p->tok.at, p->tok.n);
  GROW(p->fixups, p->nfixups, p->fixups_room);
  p->fixups[p->nfixups++] = (Fixup){name, p->tok.line, p->scope, ins, list};
  ptx_next(p);
}

void ptx_d_bra(Parser *p) {
  Ins x = {.flow = FLOW_BRA};
  (void)take(p, "uni");
  finish(p, &x);
  if (!p->failed) ptx_label_target(p, p->m->ncode - 1, UINT32_MAX);
}

void ptx_d_brx(Parser *p) {
  Ins x = {.flow = FLOW_BRX};
  if (!take(p, "idx")) bad(p, "there is no such form");
  (void)take(p, "uni");
  Operand a = operand(p);
  ptx_want(p, ',');
  const Symbol *s = p->tok.kind == TOK_NAME ? ptx_find(p, p->tok.at, p->tok.n) : NULL;
  if (!s || s->kind != SYM_TARGETS) {
    FAIL(p, "a list of labels expected");
    return;
  }
  ptx_next(p);
  x.list = s->at, x.nlist = s->count;
  x.a = ptx_source(p, &a, PT_U32);
  finish(p, &x);
}

static void d_plain(Parser *p, PtxFlow flow, uint8_t op) {
  Ins x = {.flow = (uint8_t)flow, .op = op};
  (void)take(p, "uni");
  finish(p, &x);
}
void ptx_d_ret(Parser *p) { d_plain(p, p->fn->is_entry ? FLOW_EXIT : FLOW_RET, 0); }
void ptx_d_exit(Parser *p) { d_plain(p, FLOW_EXIT, 0); }
void ptx_d_trap(Parser *p) { d_plain(p, FLOW_TRAP, 0); }
void ptx_d_brkpt(Parser *p) { d_plain(p, FLOW_TRAP, 1); }

/* --- calls --- */

static uint32_t actuals(Parser *p, Operand *list) {
  uint32_t n = 0;
  if (!ptx_want(p, '(')) return 0;
  while (!p->failed && !ptx_is(p, ')')) {
    if (n == 64) {
      bad(p, "more than 64 arguments");
      break;
    }
    ptx_operand(p, &list[n++]);
    if (!ptx_skip(p, ',')) break;
  }
  ptx_want(p, ')');
  return n;
}

static PtxActual *resolve_actuals(Parser *p, const Operand *list, uint32_t n, const PtxFormal *formals, bool out) {
  PtxActual *a = ptx_arena(p->m, (n + 1) * sizeof *a);
  for (uint32_t i = 0; i < n && !p->failed; i++) {
    const Operand *o = &list[i];
    const PtxFormal *f = formals ? &formals[i] : NULL;
    if (o->kind == OP_FRAME && o->bits == 0) {
      a[i] = (PtxActual){.kind = 1, .at = o->at, .size = 0};
      const char *wrong = f && f->is_reg ? "a variable where a register is meant" : NULL;
      if (wrong) bad(p, wrong);
      if (f) a[i].size = f->size;
      continue;
    }
    PtxType t = f ? f->type : o->kind == OP_REG ? o->type : PT_B32;
    a[i].kind = 0, a[i].bytes = (uint8_t)(bytes_of(t) == 1 ? 2 : bytes_of(t)), a[i].size = bytes_of(t);
    if (f && f->size != bytes_of(t)) bad(p, "an argument of another size");
    a[i].at = out ? ptx_result(p, o, t) : ptx_source(p, o, t);
  }
  return a;
}

void ptx_call(Parser *p) {
  Ins x = {.flow = FLOW_CALL};
  Operand out[64], in[64], target = {0};
  PtxCall c = {.func = UINT32_MAX};
  (void)take(p, "uni");
  if (ptx_is(p, '(')) {
    c.nout = actuals(p, out);
    ptx_want(p, ',');
  }
  ptx_operand(p, &target);
  if (p->failed) return;
  if (ptx_skip(p, ',')) {
    if (ptx_is(p, '(')) {
      c.nin = actuals(p, in);
      if (ptx_skip(p, ',')) ptx_next(p); /* the prototype, or a list of targets */
    } else {
      ptx_next(p);
    }
  }
  if (p->failed) return;
  const PtxFunc *f = NULL;
  if (target.kind == OP_FUNC) {
    f = &p->m->funcs[target.at];
    c.func = target.at;
    if (f->is_entry) bad(p, "a kernel cannot be called");
    if (f->nin != c.nin || f->nout != c.nout) bad(p, "the number of arguments does not match");
    GROW(p->fn_calls, p->nfn_calls, p->fn_calls_room);
    p->fn_calls[p->nfn_calls++] = target.at;
  } else {
    x.a = ptx_source(p, &target, PT_B64);
    p->fn->indirect = true;
  }
  if (p->failed) return;
  c.in = resolve_actuals(p, in, c.nin, f ? f->in : NULL, false);
  c.out = resolve_actuals(p, out, c.nout, f ? f->out : NULL, true);
  GROW(p->m->calls, p->m->ncalls, p->calls_room);
  p->m->calls[p->m->ncalls] = c;
  x.target = p->m->ncalls++;
  finish(p, &x);
}
