/* tests/fakecuda/ptx_decode.c -- one instruction of text becomes one (seldom more) of the interpreter.
 *
 * An opcode has a function here, which takes the modifiers it knows. What is left over is an error.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/ptx_text.h"

/* --- modifiers --- */

static bool take(Parser *p, const char *word) {
  for (uint32_t i = 0; i < p->nmods; i++)
    if (!p->used[i] && ptx_word(&p->mods[i], word)) return p->used[i] = true;
  return false;
}

/* One of the words, or -1. */
static int take_one(Parser *p, const char *const words[], int n) {
  for (int i = 0; i < n; i++)
    if (take(p, words[i])) return i;
  return -1;
}
#define TAKE(p, ...)                                                                                                   \
  take_one(p, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static PtxType take_type(Parser *p) {
  for (uint32_t i = 0; i < p->nmods; i++) {
    PtxType t = p->used[i] ? PTX_NOTYPE : ptx_type_of(p->mods[i].at, p->mods[i].n);
    if (!t) continue;
    p->used[i] = true;
    return t;
  }
  ptx_error_at(p, p->op_line, "'%.*s' needs a type", (int)p->op_n, p->op);
  return PT_B32;
}

static bool bad(Parser *p, const char *why) {
  return ptx_error_at(p, p->op_line, "'%.*s': %s", (int)p->op_n, p->op, why);
}

static void take_round(Parser *p, Ins *x, bool *given) {
  int r = TAKE(p, "rn", "rz", "rm", "rp");
  *given = r >= 0;
  x->round = (uint8_t)(r > 0 ? r : RN);
}

/* --- the common shapes --- */

static Operand operand(Parser *p) {
  Operand o;
  ptx_operand(p, &o);
  return o;
}
static Operand next_operand(Parser *p) {
  ptx_want(p, ',');
  return operand(p);
}
static uint32_t next_source(Parser *p, PtxType t) {
  Operand o = next_operand(p);
  return ptx_source(p, &o, t);
}

/* All modifiers must have been understood. */
static bool modifiers_done(Parser *p) {
  for (uint32_t i = 0; i < p->nmods; i++)
    if (!p->used[i])
      return ptx_error_at(p, p->op_line, "'%.*s': '.%.*s' is not known here", (int)p->op_n, p->op, (int)p->mods[i].n,
                          p->mods[i].at);
  return true;
}

static void finish(Parser *p, Ins *x) {
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
static void shape(Parser *p, Ins *x, PtxType d, PtxType a, PtxType b, PtxType c) {
  Operand to = operand(p);
  x->wide = 1;
  x->a = next_source(p, a);
  if (b) x->b = next_source(p, b);
  if (c) x->c = next_source(p, c);
  x->d = ptx_result(p, &to, d);
  finish(p, x);
}

static char kind_of(PtxType t) { return ptx_types[t].kind; }
static uint32_t bytes_of(PtxType t) { return ptx_types[t].bytes; }
static bool is_int(PtxType t) { return kind_of(t) == 'u' || kind_of(t) == 's'; }
static bool is_half(PtxType t) { return t == PT_F16 || t == PT_BF16 || t == PT_F16X2 || t == PT_BF16X2; }
static bool is_float(PtxType t) { return kind_of(t) == 'f' || is_half(t) || t == PT_F32X2; }

static PtxType double_of(PtxType t) {
  return t == PT_U16 ? PT_U32 : t == PT_S16 ? PT_S32 : t == PT_U32 ? PT_U64 : t == PT_S32 ? PT_S64 : PTX_NOTYPE;
}

/* Registers that hold halves may be declared as bits of the same size. */

static void float_modifiers(Parser *p, Ins *x, PtxType t, bool needs_round) {
  bool given;
  take_round(p, x, &given);
  x->ftz = take(p, "ftz");
  x->sat = take(p, "sat");
  x->type = (uint8_t)t;
  if (needs_round && !given) bad(p, "a rounding is missing");
  if (given && x->round != RN && is_half(t)) bad(p, "halves are rounded to nearest");
  if (x->ftz && t != PT_F32 && t != PT_F16 && t != PT_F16X2 && t != PT_F32X2) bad(p, ".ftz is not for this type");
  if (x->sat && t != PT_F32 && t != PT_F16 && t != PT_F16X2) bad(p, ".sat is not for this type");
}

static void float_op(Parser *p, Ins *x, PtxFloat op, PtxType t, int n) {
  x->op = (uint8_t)op;
  x->type = (uint8_t)t;
  x->fn = ptx_float(op, x);
  shape(p, x, t, t, n > 1 ? t : PTX_NOTYPE, n > 2 ? t : PTX_NOTYPE);
}

/* Mixed forms of sums (PTX 8.6): .f32.f16 and .f32.bf16, whose first operands are halves. Or PTX_NOTYPE. */
static PtxType take_half(Parser *p, PtxType t) {
  if (t != PT_F32) return PTX_NOTYPE;
  return take(p, "f16") ? PT_F16 : take(p, "bf16") ? PT_BF16 : PTX_NOTYPE;
}

static void mixed_op(Parser *p, Ins *x, PtxFloat op, PtxType half) {
  x->op = (uint8_t)op;
  x->type2 = (uint8_t)half;
  x->fn = ptx_mixed;
  if (x->ftz) bad(p, ".ftz is not for this type");
  if (op == FL_FMA)
    shape(p, x, PT_F32, half, half, PT_F32);
  else
    shape(p, x, PT_F32, half, PT_F32, PTX_NOTYPE);
}

/* --- arithmetic --- */

static void d_add_sub(Parser *p, bool sub) {
  Ins x = {0};
  PtxType t = take_type(p), half = take_half(p, t);
  if (half) {
    float_modifiers(p, &x, t, false);
    mixed_op(p, &x, sub ? FL_SUB : FL_ADD, half);
    return;
  }
  if (is_float(t)) {
    float_modifiers(p, &x, t, false);
    float_op(p, &x, sub ? FL_SUB : FL_ADD, t, 2);
    return;
  }
  bool cc = take(p, "cc"), sat = take(p, "sat");
  PtxAlu op = cc ? (sub ? AL_SUB_CC : AL_ADD_CC) : sat ? (sub ? AL_SUB_SAT : AL_ADD_SAT) : sub ? AL_SUB : AL_ADD;
  if (sat && t != PT_S32) bad(p, ".sat is for .s32");
  x.fn = ptx_alu(op, t);
  shape(p, &x, t, t, t, PTX_NOTYPE);
}
static void d_add(Parser *p) { d_add_sub(p, false); }
static void d_sub(Parser *p) { d_add_sub(p, true); }

static void d_carry(Parser *p, PtxAlu plain, PtxAlu cc) {
  Ins x = {0};
  PtxType t = take_type(p);
  x.fn = ptx_alu(take(p, "cc") ? cc : plain, t);
  shape(p, &x, t, t, t, PTX_NOTYPE);
}
static void d_addc(Parser *p) { d_carry(p, AL_ADDC, AL_ADDC_CC); }
static void d_subc(Parser *p) { d_carry(p, AL_SUBC, AL_SUBC_CC); }

static void d_mul(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  if (is_float(t)) {
    float_modifiers(p, &x, t, false);
    float_op(p, &x, FL_MUL, t, 2);
    return;
  }
  int half = TAKE(p, "lo", "hi", "wide");
  if (half < 0) bad(p, ".lo, .hi or .wide is missing");
  x.fn = ptx_alu(half == 2 ? AL_MUL_WIDE : half ? AL_MUL_HI : AL_MUL_LO, t);
  shape(p, &x, half == 2 ? double_of(t) : t, t, t, PTX_NOTYPE);
}

static void d_mad_carry(Parser *p, bool carry_in) {
  Ins x = {0};
  PtxType t = take_type(p);
  if (!carry_in && is_float(t)) {
    float_modifiers(p, &x, t, true);
    float_op(p, &x, FL_FMA, t, 3);
    return;
  }
  int half = TAKE(p, "lo", "hi", "wide");
  bool cc = take(p, "cc");
  if (half < 0 || (half == 2 && (cc || carry_in))) bad(p, ".lo or .hi is missing");
  if (half == 2)
    x.fn = ptx_alu(AL_MAD_WIDE, t);
  else if (carry_in)
    x.fn = ptx_alu(half ? (cc ? AL_MADC_HI_CC : AL_MADC_HI) : cc ? AL_MADC_LO_CC : AL_MADC_LO, t);
  else
    x.fn = ptx_alu(half ? (cc ? AL_MAD_HI_CC : AL_MAD_HI) : cc ? AL_MAD_LO_CC : AL_MAD_LO, t);
  PtxType wide = half == 2 ? double_of(t) : t;
  shape(p, &x, wide, t, t, wide);
}
static void d_mad(Parser *p) { d_mad_carry(p, false); }
static void d_madc(Parser *p) { d_mad_carry(p, true); }

static void d_24(Parser *p, bool mad) {
  Ins x = {0};
  PtxType t = take_type(p);
  int half = TAKE(p, "lo", "hi");
  if (half < 0) bad(p, ".lo or .hi is missing");
  x.fn = ptx_alu(mad ? (half ? AL_MAD24_HI : AL_MAD24_LO) : half ? AL_MUL24_HI : AL_MUL24_LO, t);
  shape(p, &x, t, t, t, mad ? t : PTX_NOTYPE);
}
static void d_mul24(Parser *p) { d_24(p, false); }
static void d_mad24(Parser *p) { d_24(p, true); }

static void d_sad(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p), u = t == PT_S16 ? PT_U16 : t == PT_S32 ? PT_U32 : t == PT_S64 ? PT_U64 : t;
  x.fn = ptx_alu(AL_SAD, t);
  shape(p, &x, u, t, t, u);
}

static void d_fma(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  PtxType half = take_half(p, t);
  if (!is_float(t)) bad(p, "fma is for floats");
  if (half) {
    float_modifiers(p, &x, t, true);
    mixed_op(p, &x, FL_FMA, half);
    return;
  }
  bool relu = take(p, "relu");
  if (relu && !is_half(t)) bad(p, ".relu is for halves");
  float_modifiers(p, &x, t, true);
  float_op(p, &x, relu ? FL_FMA_RELU : FL_FMA, t, 3);
}

static void d_div(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  if (!is_float(t)) {
    x.fn = ptx_alu(AL_DIV, t);
    shape(p, &x, t, t, t, PTX_NOTYPE);
    return;
  }
  int kind = TAKE(p, "approx", "full");
  if (t != PT_F32 && (t != PT_F64 || kind >= 0)) bad(p, "there is no such form");
  float_modifiers(p, &x, t, kind < 0);
  float_op(p, &x, kind == 0 ? FL_DIV_APPROX : kind == 1 ? FL_DIV_FULL : FL_DIV, t, 2);
}

static void d_rem(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  x.fn = ptx_alu(AL_REM, t);
  shape(p, &x, t, t, t, PTX_NOTYPE);
}

static void d_root(Parser *p, PtxFloat exact, PtxFloat approx) {
  Ins x = {0};
  PtxType t = take_type(p);
  bool about = take(p, "approx");
  if (t != PT_F32 && t != PT_F64) bad(p, "there is no such form");
  if (about && t == PT_F64) {
    /* Of doubles there is only .approx.ftz, of rcp and rsqrt; rsqrt also without .ftz. */
    bool ftz = take(p, "ftz");
    if (approx == FL_SQRT_APPROX || (!ftz && approx == FL_RCP_APPROX)) bad(p, "there is no such form");
    x.ftz = ftz;
  } else {
    float_modifiers(p, &x, t, !about);
  }
  if (!about && exact == FL_COUNT) bad(p, ".approx is missing");
  if (x.sat) bad(p, "there is no .sat here");
  float_op(p, &x, about ? approx : exact, t, 1);
}
static void d_sqrt(Parser *p) { d_root(p, FL_SQRT, FL_SQRT_APPROX); }
static void d_rcp(Parser *p) { d_root(p, FL_RCP, FL_RCP_APPROX); }
static void d_rsqrt(Parser *p) { d_root(p, FL_COUNT, FL_RSQRT_APPROX); }

static void d_approx(Parser *p, PtxFloat op, bool ftz_allowed, bool halves) {
  Ins x = {0};
  PtxType t = take_type(p);
  if (!take(p, "approx")) bad(p, ".approx is missing");
  x.ftz = take(p, "ftz");
  if (x.ftz && !ftz_allowed) bad(p, "there is no .ftz here");
  if (t != PT_F32 && !(halves && is_half(t))) bad(p, "there is no such form");
  float_op(p, &x, op, t, 1);
}
static void d_ex2(Parser *p) { d_approx(p, FL_EX2, true, true); }
static void d_lg2(Parser *p) { d_approx(p, FL_LG2, true, false); }
static void d_sin(Parser *p) { d_approx(p, FL_SIN, true, false); }
static void d_cos(Parser *p) { d_approx(p, FL_COS, true, false); }
static void d_tanh(Parser *p) { d_approx(p, FL_TANH, false, true); }

static void d_sign(Parser *p, PtxAlu alu, PtxFloat fl) {
  Ins x = {0};
  PtxType t = take_type(p);
  if (is_float(t)) {
    x.ftz = take(p, "ftz");
    if (x.ftz && t != PT_F32 && t != PT_F16 && t != PT_F16X2) bad(p, ".ftz is not for this type");
    float_op(p, &x, fl, t, 1);
    return;
  }
  if (kind_of(t) != 's') bad(p, "there is no such form");
  x.fn = ptx_alu(alu, t);
  shape(p, &x, t, t, PTX_NOTYPE, PTX_NOTYPE);
}
static void d_abs(Parser *p) { d_sign(p, AL_ABS, FL_ABS); }
static void d_neg(Parser *p) { d_sign(p, AL_NEG, FL_NEG); }

static void d_min_max(Parser *p, bool max) {
  Ins x = {0};
  PtxType t = take_type(p);
  if (is_float(t)) {
    bool nan = take(p, "NaN");
    x.ftz = take(p, "ftz");
    if (t == PT_F32X2 || (t == PT_F64 && (nan || x.ftz))) bad(p, "there is no such form");
    float_op(p, &x, max ? (nan ? FL_MAX_NAN : FL_MAX) : nan ? FL_MIN_NAN : FL_MIN, t, 2);
    return;
  }
  bool relu = take(p, "relu"); /* PTX 8.0 */
  x.fn = ptx_alu(relu ? (max ? AL_MAX_RELU : AL_MIN_RELU) : max ? AL_MAX : AL_MIN, t);
  shape(p, &x, t, t, t, PTX_NOTYPE);
}
static void d_min(Parser *p) { d_min_max(p, false); }
static void d_max(Parser *p) { d_min_max(p, true); }

static void d_copysign(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  if (t != PT_F32 && t != PT_F64) bad(p, "there is no such form");
  float_op(p, &x, FL_COPYSIGN, t, 2);
}

static void d_testp(Parser *p) {
  Ins x = {0};
  int op = TAKE(p, "finite", "infinite", "number", "notanumber", "normal", "subnormal");
  x.type = (uint8_t)take_type(p);
  x.op = (uint8_t)op, x.fn = ptx_testp;
  if (op < 0 || (x.type != PT_F32 && x.type != PT_F64)) bad(p, "there is no such form");
  shape(p, &x, PT_PRED, (PtxType)x.type, PTX_NOTYPE, PTX_NOTYPE);
}

/* --- bits --- */

static void d_logic(Parser *p, PtxAlu op, int n) {
  Ins x = {0};
  PtxType t = take_type(p);
  x.fn = kind_of(t) == 'b' || t == PT_PRED ? ptx_alu(op, t) : NULL;
  shape(p, &x, t, t, n > 1 ? t : PTX_NOTYPE, PTX_NOTYPE);
}
static void d_and(Parser *p) { d_logic(p, AL_AND, 2); }
static void d_or(Parser *p) { d_logic(p, AL_OR, 2); }
static void d_xor(Parser *p) { d_logic(p, AL_XOR, 2); }
static void d_not(Parser *p) { d_logic(p, AL_NOT, 1); }
static void d_cnot(Parser *p) { d_logic(p, AL_CNOT, 1); }

static void d_shift(Parser *p, PtxAlu op) {
  Ins x = {0};
  PtxType t = take_type(p);
  x.fn = op == AL_SHL && kind_of(t) != 'b' ? NULL : ptx_alu(op, t);
  shape(p, &x, t, t, PT_U32, PTX_NOTYPE);
}
static void d_shl(Parser *p) { d_shift(p, AL_SHL); }
static void d_shr(Parser *p) { d_shift(p, AL_SHR); }

static void d_shf(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  int dir = TAKE(p, "l", "r"), mode = TAKE(p, "wrap", "clamp");
  if (dir < 0 || mode < 0 || t != PT_B32) bad(p, "there is no such form");
  x.fn = ptx_alu(dir ? (mode ? AL_SHF_R_CLAMP : AL_SHF_R_WRAP) : mode ? AL_SHF_L_CLAMP : AL_SHF_L_WRAP, t);
  shape(p, &x, t, t, t, PT_U32);
}

static void d_lop3(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  Operand to = operand(p);
  x.wide = 1, x.fn = ptx_alu(AL_LOP3, t);
  x.a = next_source(p, t), x.b = next_source(p, t), x.c = next_source(p, t);
  Operand table = next_operand(p);
  if (table.kind != OP_INT || table.bits > 255) bad(p, "its table is a number below 256");
  x.imm = (int64_t)table.bits;
  x.d = ptx_result(p, &to, t);
  finish(p, &x);
}

static void d_prmt(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  x.op = (uint8_t)(1 + TAKE(p, "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"));
  x.fn = ptx_alu(AL_PRMT, t);
  shape(p, &x, t, t, t, PT_B32);
}

static void d_bfe(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  x.fn = ptx_alu(AL_BFE, t);
  shape(p, &x, t, t, PT_U32, PT_U32);
}

static void d_bfi(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  Operand to = operand(p);
  x.wide = 1, x.fn = ptx_alu(AL_BFI, t);
  x.a = next_source(p, t), x.b = next_source(p, t), x.c = next_source(p, PT_U32), x.e = next_source(p, PT_U32);
  x.d = ptx_result(p, &to, t);
  finish(p, &x);
}

static void d_count(Parser *p, PtxAlu op) {
  Ins x = {0};
  PtxType t = take_type(p);
  x.fn = ptx_alu(op, t);
  shape(p, &x, op == AL_BREV ? t : PT_B32, t, PTX_NOTYPE, PTX_NOTYPE);
}
static void d_bfind(Parser *p) { d_count(p, take(p, "shiftamt") ? AL_BFIND_SHIFT : AL_BFIND); }
static void d_clz(Parser *p) { d_count(p, AL_CLZ); }
static void d_popc(Parser *p) { d_count(p, AL_POPC); }
static void d_brev(Parser *p) { d_count(p, AL_BREV); }

static void d_mask_like(Parser *p, PtxAlu clamp, PtxAlu wrap) {
  Ins x = {0};
  PtxType t = take_type(p);
  int mode = TAKE(p, "clamp", "wrap");
  if (mode < 0) bad(p, ".clamp or .wrap is missing");
  x.fn = ptx_alu(mode ? wrap : clamp, t);
  shape(p, &x, t, t, PT_U32, PTX_NOTYPE);
}
static void d_bmsk(Parser *p) { d_mask_like(p, AL_BMSK_CLAMP, AL_BMSK_WRAP); }
static void d_szext(Parser *p) { d_mask_like(p, AL_SZEXT_CLAMP, AL_SZEXT_WRAP); }

static void d_fns(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  x.fn = ptx_alu(AL_FNS, t);
  shape(p, &x, t, t, PT_B32, PT_S32);
}

static void d_dot(Parser *p, PtxFn *fn, bool two) {
  Ins x = {0};
  PtxType a = take_type(p), b = take_type(p);
  int half = two ? TAKE(p, "lo", "hi") : 0;
  if ((a != PT_U32 && a != PT_S32) || (b != PT_U32 && b != PT_S32) || half < 0) bad(p, "there is no such form");
  x.type = (uint8_t)a, x.type2 = (uint8_t)b, x.op = (uint8_t)half, x.fn = fn;
  shape(p, &x, PT_B32, PT_B32, PT_B32, PT_B32);
}
static void d_dp4a(Parser *p) { d_dot(p, ptx_dp4a, false); }
static void d_dp2a(Parser *p) { d_dot(p, ptx_dp2a, true); }

/* --- compare and choose --- */

static int take_cmp(Parser *p, PtxType t) {
  int cmp = TAKE(p, "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu",
                 "geu", "num", "nan");
  char kind = kind_of(t);
  if (cmp < 0) bad(p, "a comparison is missing");
  if (cmp >= CMP_EQU && !is_float(t)) bad(p, "this comparison is for floats");
  if (cmp >= CMP_LO && cmp <= CMP_HS && kind != 'u') bad(p, "this comparison is for unsigned numbers");
  if (kind == 'b' && cmp > CMP_NE) bad(p, "bits are only equal or not");
  if (t == PT_PRED || bytes_of(t) == 1) bad(p, "there is no such form");
  return cmp < 0 ? 0 : cmp;
}

/* p|q, or p */
static void two_results(Parser *p, Operand *d, Operand *e) {
  *d = operand(p);
  *e = (Operand){0};
  if (ptx_skip(p, '|')) *e = operand(p);
}

static void d_setp(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  int cmp = take_cmp(p, t);
  x.op2 = (uint8_t)(1 + TAKE(p, "and", "or", "xor"));
  x.ftz = take(p, "ftz");
  if (x.ftz && t != PT_F32 && t != PT_F16 && t != PT_F16X2) bad(p, ".ftz is not for this type");
  x.type = (uint8_t)t, x.op = (uint8_t)cmp, x.wide = 1, x.fn = ptx_setp((PtxCmp)cmp, t, x.ftz);
  Operand d, e;
  two_results(p, &d, &e);
  x.a = next_source(p, t), x.b = next_source(p, t);
  if (x.op2) x.c = next_source(p, PT_PRED);
  x.d = ptx_result(p, &d, PT_PRED);
  if (e.kind) x.e = ptx_result(p, &e, PT_PRED);
  if (kind_of(t) == 'x' && !e.kind) bad(p, "it has two results");
  finish(p, &x);
}

/* set is setp into a scratch predicate, then the choice of a number. */
static void d_set(Parser *p) {
  Ins x = {0}, y = {0};
  PtxType to = take_type(p), t = take_type(p);
  int cmp = take_cmp(p, t);
  x.op2 = (uint8_t)(1 + TAKE(p, "and", "or", "xor"));
  x.ftz = take(p, "ftz");
  if ((to != PT_U32 && to != PT_S32 && to != PT_F32) || kind_of(t) == 'x') bad(p, "there is no such form");
  x.type = (uint8_t)t, x.op = (uint8_t)cmp, x.wide = 1, x.fn = ptx_setp((PtxCmp)cmp, t, x.ftz);
  Operand d = operand(p);
  x.a = next_source(p, t), x.b = next_source(p, t);
  if (x.op2) x.c = next_source(p, PT_PRED);
  x.d = ptx_new_reg(p, PT_PRED);
  finish(p, &x);
  y.d = ptx_result(p, &d, to), y.a = x.d, y.type2 = (uint8_t)to, y.wide = 1, y.fn = ptx_set;
  finish(p, &y);
}

static void d_selp(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  x.fn = ptx_alu(AL_SELP, t);
  shape(p, &x, t, t, t, PT_PRED);
}

static void d_slct(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p), by = take_type(p);
  x.ftz = take(p, "ftz");
  if (by != PT_S32 && by != PT_F32) bad(p, "there is no such form");
  x.fn = ptx_alu(by == PT_S32 ? AL_SLCT_S32 : AL_SLCT_F32, t);
  shape(p, &x, t, t, t, by);
}

/* --- moves and conversions --- */

static void d_mov(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  x.wide = 1, x.type = (uint8_t)t, x.size1 = (uint8_t)bytes_of(t);
  Operand d = operand(p), a = next_operand(p);
  if (bytes_of(t) == 1 || (kind_of(t) == 'x' && t != PT_F32X2)) bad(p, "there is no such form");
  const Operand *v = d.kind == OP_VEC ? &d : a.kind == OP_VEC ? &a : NULL;
  if (!v) {
    x.fn = ptx_alu(AL_MOV, t);
    x.a = ptx_source(p, &a, t);
    x.d = ptx_result(p, &d, t);
    finish(p, &x);
    return;
  }
  if (kind_of(t) != 'b' || (v->n != 2 && v->n != 4) || (d.kind == OP_VEC && a.kind == OP_VEC))
    bad(p, "there is no such form");
  if (p->failed) return;
  uint32_t part = bytes_of(t) / v->n;
  PtxType pt = part == 4 ? PT_B32 : part == 2 ? PT_B16 : PT_B8;
  if (part < 2) bad(p, "parts of 8 bits are not known here");
  uint32_t columns[4] = {0};
  for (uint32_t i = 0; i < v->n && !p->failed; i++)
    columns[i] = d.kind == OP_VEC ? ptx_result(p, &v->part[i], pt) : ptx_source(p, &v->part[i], pt);
  x.nlist = v->n, x.size2 = (uint8_t)part;
  x.list = p->m->nlists;
  for (uint32_t i = 0; i < v->n && !p->failed; i++) ptx_list_add(p, columns[i]);
  if (d.kind == OP_VEC)
    x.fn = ptx_unpack, x.a = ptx_source(p, &a, t);
  else
    x.fn = ptx_pack, x.d = ptx_result(p, &d, t);
  finish(p, &x);
}

static void cvt_packed(Parser *p, Ins *x, PtxType to) {
  bool given;
  take_round(p, x, &given);
  PtxType from = take_type(p);
  bool relu = take(p, "relu");
  if (!given || x->round > RZ || from != PT_F32 || to == PT_F32X2) bad(p, "there is no such form");
  x->type = (uint8_t)to, x->type2 = (uint8_t)from, x->op = relu, x->fn = ptx_cvt_pack;
  shape(p, x, PT_B32, PT_F32, PT_F32, PTX_NOTYPE);
}

static void d_cvt(Parser *p) {
  Ins x = {0};
  bool given;
  PtxType to = take_type(p);
  if (kind_of(to) == 'x') {
    cvt_packed(p, &x, to);
    return;
  }
  PtxType from = take_type(p);
  bool f_to = is_float(to), f_from = is_float(from);
  int integral = TAKE(p, "rni", "rzi", "rmi", "rpi");
  take_round(p, &x, &given);
  x.ftz = take(p, "ftz"), x.sat = take(p, "sat");
  x.type = (uint8_t)to, x.type2 = (uint8_t)from;
  if (kind_of(to) == 'b' || kind_of(from) == 'b' || kind_of(from) == 'x' || to == PT_PRED || from == PT_PRED)
    bad(p, "there is no such form");
  bool narrows =
      f_to && f_from && (bytes_of(to) < bytes_of(from) || (to != from && bytes_of(to) == 2 && bytes_of(from) == 2));
  if (narrows || (f_to && !f_from)) {
    if (!given || integral >= 0) bad(p, "a rounding is missing");
  } else if (!f_to && f_from) {
    if (integral < 0 || given) bad(p, "a rounding to integers is missing");
  } else if (given) {
    bad(p, "nothing is rounded here");
  }
  if (integral >= 0) {
    if (!f_from || (f_to && to != from)) bad(p, "there is no such form");
    x.op = 1, x.round = (uint8_t)integral;
  }
  if (x.ftz && to != PT_F32 && from != PT_F32) bad(p, ".ftz is for .f32");
  Operand d = operand(p), a = next_operand(p);
  uint32_t bytes = 0;
  x.a = ptx_source_wide(p, &a, from, &bytes);
  x.size2 = (uint8_t)bytes;
  if (p->failed) return;
  PtxType reg = d.kind == OP_REG ? d.type : to;
  uint32_t at = ptx_result(p, &d, d.kind == OP_REG ? d.type : to);
  Operand probe = {.kind = OP_REG, .type = reg, .at = PTX_IN_FUNC};
  if (d.kind == OP_REG) ptx_source_wide(p, &probe, to, &bytes);
  x.d = at, x.size1 = (uint8_t)(bytes_of(reg) == 1 ? 2 : bytes_of(reg)), x.wide = 1;
  x.fn = p->failed ? NULL : ptx_cvt(&x);
  finish(p, &x);
}

static int take_space(Parser *p) {
  static const char *const words[] = {"global", "shared", "shared::cta",  "local",
                                      "const",  "param",  "param::entry", "param::func"};
  static const uint8_t spaces[] = {SP_GLOBAL, SP_SHARED, SP_SHARED, SP_LOCAL, SP_CONST, SP_PARAM, SP_PARAM, SP_PARAM};
  int i = take_one(p, words, 8);
  return i < 0 ? SP_GENERIC : spaces[i];
}

static void d_cvta(Parser *p) {
  Ins x = {0};
  bool to = take(p, "to");
  PtxType t = take_type(p);
  x.space = (uint8_t)take_space(p);
  if (x.space == SP_GENERIC || t != PT_U64) bad(p, "there is no such form");
  Operand d = operand(p), a = next_operand(p);
  if (a.kind == OP_REG && (ptx_skip(p, '+') || ptx_is(p, '-'))) bad(p, "an offset behind a register is not known here");
  if (a.kind == OP_VAR && !p->failed && p->m->vars[a.at].space != x.space)
    bad(p, "the variable lies in another state space");
  x.a = ptx_source(p, &a, PT_B64);
  x.d = ptx_result(p, &d, t);
  x.fn = to ? ptx_cvta_to : ptx_cvta_from, x.wide = 1;
  finish(p, &x);
}

static void d_isspacep(Parser *p) {
  Ins x = {0};
  x.space = (uint8_t)take_space(p), x.fn = ptx_isspacep;
  if (x.space == SP_GENERIC) bad(p, "a state space is missing");
  shape(p, &x, PT_PRED, PT_B64, PTX_NOTYPE, PTX_NOTYPE);
}

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
static void d_ld(Parser *p) { d_load(p, false); }
static void d_ldu(Parser *p) { d_load(p, true); }

static void d_st(Parser *p) {
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

static void d_prefetch(Parser *p) {
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
static void d_atom(Parser *p) { d_atomic(p, false); }
static void d_red(Parser *p) { d_atomic(p, true); }

static void d_alloca(Parser *p) {
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

static void d_stacksave(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  Operand d = operand(p);
  if (t != PT_U64) bad(p, "there is no such form");
  x.d = ptx_result(p, &d, t), x.fn = ptx_stacksave;
  finish(p, &x);
}

static void d_stackrestore(Parser *p) {
  Ins x = {0};
  PtxType t = take_type(p);
  Operand a = operand(p);
  if (t != PT_U64) bad(p, "there is no such form");
  x.a = ptx_source(p, &a, t), x.fn = ptx_stackrestore;
  finish(p, &x);
}

/* --- lanes together --- */

static void d_shfl(Parser *p) {
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

static void d_vote(Parser *p) {
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

static void d_match(Parser *p) {
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

static void d_redux(Parser *p) {
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

static void d_activemask(Parser *p) {
  Ins x = {.fn = ptx_activemask};
  PtxType t = take_type(p);
  Operand d = operand(p);
  if (t != PT_B32) bad(p, "there is no such form");
  x.d = ptx_result(p, &d, t);
  finish(p, &x);
}

static void d_elect(Parser *p) {
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
static void d_bar(Parser *p) { d_barrier_like(p, true); }
static void d_barrier(Parser *p) { d_barrier_like(p, false); }

static bool nothing(Warp *w, Ins *i, uint32_t m) {
  (void)w, (void)i, (void)m;
  return true;
}

static void d_membar(Parser *p) {
  Ins x = {.fn = nothing};
  if (TAKE(p, "cta", "gl", "sys") < 0) bad(p, "there is no such form");
  finish(p, &x);
}
static void d_fence(Parser *p) {
  Ins x = {.fn = nothing};
  (void)TAKE(p, "sc", "acq_rel", "acquire", "release");
  if (TAKE(p, "cta", "cluster", "gpu", "sys") < 0) bad(p, "there is no such form");
  finish(p, &x);
}

static void d_nanosleep(Parser *p) {
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

static void d_bra(Parser *p) {
  Ins x = {.flow = FLOW_BRA};
  (void)take(p, "uni");
  finish(p, &x);
  if (!p->failed) ptx_label_target(p, p->m->ncode - 1, UINT32_MAX);
}

static void d_brx(Parser *p) {
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
static void d_ret(Parser *p) { d_plain(p, p->fn->is_entry ? FLOW_EXIT : FLOW_RET, 0); }
static void d_exit(Parser *p) { d_plain(p, FLOW_EXIT, 0); }
static void d_trap(Parser *p) { d_plain(p, FLOW_TRAP, 0); }
static void d_brkpt(Parser *p) { d_plain(p, FLOW_TRAP, 1); }

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

/* --- the table --- */

static const struct {
  const char *name;
  void (*decode)(Parser *p);
} opcodes[] = {
    {"abs", d_abs},
    {"activemask", d_activemask},
    {"add", d_add},
    {"addc", d_addc},
    {"alloca", d_alloca},
    {"and", d_and},
    {"atom", d_atom},
    {"bar", d_bar},
    {"barrier", d_barrier},
    {"bfe", d_bfe},
    {"bfi", d_bfi},
    {"bfind", d_bfind},
    {"bmsk", d_bmsk},
    {"bra", d_bra},
    {"brev", d_brev},
    {"brkpt", d_brkpt},
    {"brx", d_brx},
    {"call", ptx_call},
    {"clz", d_clz},
    {"cnot", d_cnot},
    {"copysign", d_copysign},
    {"cos", d_cos},
    {"cvt", d_cvt},
    {"cvta", d_cvta},
    {"div", d_div},
    {"dp2a", d_dp2a},
    {"dp4a", d_dp4a},
    {"elect", d_elect},
    {"ex2", d_ex2},
    {"exit", d_exit},
    {"fence", d_fence},
    {"fma", d_fma},
    {"fns", d_fns},
    {"isspacep", d_isspacep},
    {"ld", d_ld},
    {"ldu", d_ldu},
    {"lg2", d_lg2},
    {"lop3", d_lop3},
    {"mad", d_mad},
    {"mad24", d_mad24},
    {"madc", d_madc},
    {"match", d_match},
    {"max", d_max},
    {"membar", d_membar},
    {"min", d_min},
    {"mov", d_mov},
    {"mul", d_mul},
    {"mul24", d_mul24},
    {"nanosleep", d_nanosleep},
    {"neg", d_neg},
    {"not", d_not},
    {"or", d_or},
    {"popc", d_popc},
    {"prefetch", d_prefetch},
    {"prefetchu", d_prefetch},
    {"prmt", d_prmt},
    {"rcp", d_rcp},
    {"red", d_red},
    {"redux", d_redux},
    {"rem", d_rem},
    {"ret", d_ret},
    {"rsqrt", d_rsqrt},
    {"sad", d_sad},
    {"selp", d_selp},
    {"set", d_set},
    {"setp", d_setp},
    {"shf", d_shf},
    {"shfl", d_shfl},
    {"shl", d_shl},
    {"shr", d_shr},
    {"sin", d_sin},
    {"slct", d_slct},
    {"sqrt", d_sqrt},
    {"st", d_st},
    {"stackrestore", d_stackrestore},
    {"stacksave", d_stacksave},
    {"sub", d_sub},
    {"subc", d_subc},
    {"szext", d_szext},
    {"tanh", d_tanh},
    {"testp", d_testp},
    {"trap", d_trap},
    {"vote", d_vote},
    {"xor", d_xor},
};

static void guard(Parser *p) {
  p->guard = 0, p->guard_not = false;
  if (!ptx_skip(p, '@')) return;
  p->guard_not = ptx_skip(p, '!');
  Operand o;
  ptx_operand(p, &o);
  if (!p->failed && (o.kind != OP_REG || o.type != PT_PRED)) FAIL(p, "a predicate expected behind '@'");
  p->guard = o.at;
}

void ptx_instruction(Parser *p) {
  p->op = NULL;
  p->op_line = p->tok.line;
  guard(p);
  if (p->tok.kind != TOK_NAME) {
    FAIL(p, "an instruction expected");
    return;
  }
  p->op = p->tok.at, p->op_n = p->tok.n, p->op_line = p->tok.line;
  Token name = p->tok;
  ptx_next(p);
  p->nmods = 0;
  while (p->tok.kind == TOK_DOT && p->nmods < 24) {
    p->used[p->nmods] = false;
    p->mods[p->nmods++] = p->tok;
    ptx_next(p);
  }
  for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++) {
    if (!ptx_word(&name, opcodes[i].name)) continue;
    opcodes[i].decode(p);
    if (!p->failed) ptx_want(p, ';');
    return;
  }
  ptx_error_at(p, name.line, "the instruction '%.*s' is not known here", (int)name.n, name.at);
}
