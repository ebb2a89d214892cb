/* tests/fakecuda/ptx_decode.c -- one instruction of text becomes one (seldom more) of the interpreter.
 *
 * An opcode has a function here, which takes the modifiers it knows. What is left over is an error.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/ptx_decode.h"

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

/* --- the table --- */

static const struct {
  const char *name;
  void (*decode)(Parser *p);
} opcodes[] = {
    {"abs", d_abs},
    {"activemask", ptx_d_activemask},
    {"add", d_add},
    {"addc", d_addc},
    {"alloca", ptx_d_alloca},
    {"and", d_and},
    {"atom", ptx_d_atom},
    {"bar", ptx_d_bar},
    {"barrier", ptx_d_barrier},
    {"bfe", d_bfe},
    {"bfi", d_bfi},
    {"bfind", d_bfind},
    {"bmsk", d_bmsk},
    {"bra", ptx_d_bra},
    {"brev", d_brev},
    {"brkpt", ptx_d_brkpt},
    {"brx", ptx_d_brx},
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
    {"elect", ptx_d_elect},
    {"ex2", d_ex2},
    {"exit", ptx_d_exit},
    {"fence", ptx_d_fence},
    {"fma", d_fma},
    {"fns", d_fns},
    {"isspacep", d_isspacep},
    {"ld", ptx_d_ld},
    {"ldu", ptx_d_ldu},
    {"lg2", d_lg2},
    {"lop3", d_lop3},
    {"mad", d_mad},
    {"mad24", d_mad24},
    {"madc", d_madc},
    {"match", ptx_d_match},
    {"max", d_max},
    {"membar", ptx_d_membar},
    {"min", d_min},
    {"mma", ptx_d_mma},
    {"mov", d_mov},
    {"mul", d_mul},
    {"mul24", d_mul24},
    {"nanosleep", ptx_d_nanosleep},
    {"neg", d_neg},
    {"not", d_not},
    {"or", d_or},
    {"popc", d_popc},
    {"prefetch", ptx_d_prefetch},
    {"prefetchu", ptx_d_prefetch},
    {"prmt", d_prmt},
    {"rcp", d_rcp},
    {"red", ptx_d_red},
    {"redux", ptx_d_redux},
    {"rem", d_rem},
    {"ret", ptx_d_ret},
    {"rsqrt", d_rsqrt},
    {"sad", d_sad},
    {"selp", d_selp},
    {"set", d_set},
    {"setp", d_setp},
    {"shf", d_shf},
    {"shfl", ptx_d_shfl},
    {"shl", d_shl},
    {"shr", d_shr},
    {"sin", d_sin},
    {"slct", d_slct},
    {"sqrt", d_sqrt},
    {"st", ptx_d_st},
    {"stackrestore", ptx_d_stackrestore},
    {"stacksave", ptx_d_stacksave},
    {"sub", d_sub},
    {"subc", d_subc},
    {"szext", d_szext},
    {"tanh", d_tanh},
    {"testp", d_testp},
    {"tex", ptx_d_tex},
    {"trap", ptx_d_trap},
    {"vote", ptx_d_vote},
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
