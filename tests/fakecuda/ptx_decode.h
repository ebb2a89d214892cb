/* tests/fakecuda/ptx_decode.h -- what the decoders of instructions share: modifiers, and the common shapes of operands. */
#ifndef FAKECUDA_PTX_DECODE_H
#define FAKECUDA_PTX_DECODE_H

#include "tests/fakecuda/ptx_text.h"

/* --- modifiers --- */

static inline bool take(Parser *p, const char *word) {
  for (uint32_t i = 0; i < p->nmods; i++)
    if (!p->used[i] && ptx_word(&p->mods[i], word)) return p->used[i] = true;
  return false;
}

/* One of the words, or -1. */
static inline int take_one(Parser *p, const char *const words[], int n) {
  for (int i = 0; i < n; i++)
    if (take(p, words[i])) return i;
  return -1;
}
#define TAKE(p, ...)                                                                                                   \
  take_one(p, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static inline PtxType take_type(Parser *p) {
  for (uint32_t i = 0; i < p->nmods; i++) {
    PtxType t = p->used[i] ? PTX_NOTYPE : ptx_type_of(p->mods[i].at, p->mods[i].n);
    if (!t) continue;
    p->used[i] = true;
    return t;
  }
  ptx_error_at(p, p->op_line, "'%.*s' needs a type", (int)p->op_n, p->op);
  return PT_B32;
}

static inline bool bad(Parser *p, const char *why) {
  return ptx_error_at(p, p->op_line, "'%.*s': %s", (int)p->op_n, p->op, why);
}

static inline void take_round(Parser *p, Ins *x, bool *given) {
  int r = TAKE(p, "rn", "rz", "rm", "rp");
  *given = r >= 0;
  x->round = (uint8_t)(r > 0 ? r : RN);
}

/* --- the common shapes --- */

static inline Operand operand(Parser *p) {
  Operand o;
  ptx_operand(p, &o);
  return o;
}
static inline Operand next_operand(Parser *p) {
  ptx_want(p, ',');
  return operand(p);
}
static inline uint32_t next_source(Parser *p, PtxType t) {
  Operand o = next_operand(p);
  return ptx_source(p, &o, t);
}

/* All modifiers must have been understood. */
static inline bool modifiers_done(Parser *p) {
  for (uint32_t i = 0; i < p->nmods; i++)
    if (!p->used[i])
      return ptx_error_at(p, p->op_line, "'%.*s': '.%.*s' is not known here", (int)p->op_n, p->op, (int)p->mods[i].n,
                          p->mods[i].at);
  return true;
}

static inline void finish(Parser *p, Ins *x) {
  modifiers_done(p);
  if (p->failed) return;
  if (!x->fn && !x->flow) {
    bad(p, "there is no such form");
    return;
  }
  x->line = p->op_line;
  x->guard = p->guard, x->guard_not = p->guard_not;
  Ins *to = ptx_emit(p, NULL);
  *to = *x;
}

/* d, a[, b[, c]] of the types given; the result first. */
static inline void shape(Parser *p, Ins *x, PtxType d, PtxType a, PtxType b, PtxType c) {
  Operand to = operand(p);
  x->wide = 1;
  x->a = next_source(p, a);
  if (b) x->b = next_source(p, b);
  if (c) x->c = next_source(p, c);
  x->d = ptx_result(p, &to, d);
  finish(p, x);
}

static inline char kind_of(PtxType t) { return ptx_types[t].kind; }
static inline uint32_t bytes_of(PtxType t) { return ptx_types[t].bytes; }
static inline bool is_int(PtxType t) { return kind_of(t) == 'u' || kind_of(t) == 's'; }
static inline bool is_half(PtxType t) { return t == PT_F16 || t == PT_BF16 || t == PT_F16X2 || t == PT_BF16X2; }
static inline bool is_float(PtxType t) { return kind_of(t) == 'f' || is_half(t) || t == PT_F32X2; }

static inline PtxType double_of(PtxType t) {
  return t == PT_U16 ? PT_U32 : t == PT_S16 ? PT_S32 : t == PT_U32 ? PT_U64 : t == PT_S32 ? PT_S64 : PTX_NOTYPE;
}

static inline int take_space(Parser *p) {
  static const char *const words[] = {"global", "shared", "shared::cta",  "local",
                                      "const",  "param",  "param::entry", "param::func"};
  static const uint8_t spaces[] = {SP_GLOBAL, SP_SHARED, SP_SHARED, SP_LOCAL, SP_CONST, SP_PARAM, SP_PARAM, SP_PARAM};
  int i = take_one(p, words, 8);
  return i < 0 ? SP_GENERIC : spaces[i];
}

/* p|q, or p */
static inline void two_results(Parser *p, Operand *d, Operand *e) {
  *d = operand(p);
  *e = (Operand){0};
  if (ptx_skip(p, '|')) *e = operand(p);
}

/* --- memory, lanes together and flow (ptx_decode_flow.c) --- */

typedef void PtxDecoder(Parser *p);
PtxDecoder ptx_d_ld, ptx_d_ldu, ptx_d_st, ptx_d_prefetch, ptx_d_atom, ptx_d_red, ptx_d_alloca, ptx_d_stacksave,
           ptx_d_stackrestore, ptx_d_shfl, ptx_d_vote, ptx_d_match, ptx_d_redux, ptx_d_activemask, ptx_d_elect,
           ptx_d_mma, ptx_d_tex, ptx_d_bar, ptx_d_barrier, ptx_d_membar, ptx_d_fence, ptx_d_nanosleep, ptx_d_bra, ptx_d_brx,
           ptx_d_ret, ptx_d_exit, ptx_d_trap, ptx_d_brkpt;

#endif
