/* backends/nvptx/lower_cvt.c -- conversions between scalars.
 *
 * The hardware's conversion to integers saturates as the IR's does; only for NaN it gives 0 just from f32 to at most 32
 * bits. LLVM's fptosi is undefined out of range, so the instruction is asked for by name.
 */
#include "backends/nvptx/lower.h"

static const char *op2(PtxLower *g, const char *name, const char *ty, const char *x, const char *y) {
  return hdptx_ins(g, "%s %s %s, %s", name, ty, x, y);
}
static const char *conv(PtxLower *g, const char *name, const char *from, const char *x, const char *to) {
  return hdptx_ins(g, "%s %s %s to %s", name, from, x, to);
}

static bool is_half(const IrType *t) { return t->kind == IR_F16 || t->kind == IR_BF16; }

/* --- halves from and to f32 --- */

static const char *widen_half(PtxLower *g, const IrType *from, const char *x) {
  if (from->kind == IR_F16) return conv(g, "fpext", "half", conv(g, "bitcast", "i16", x, "half"), "float");
  const char *wide = conv(g, "zext", "i16", x, "i32");
  return conv(g, "bitcast", "i32", op2(g, "shl", "i32", wide, "16"), "float");
}

/* To nearest, ties to even, in integers: for GPUs without bf16. A NaN stays one. */
static const char *round_to_bf16(PtxLower *g, const char *x) {
  const char *b = conv(g, "bitcast", "float", x, "i32");
  const char *up = op2(g, "lshr", "i32", b, "16");
  const char *odd = op2(g, "and", "i32", up, "1");
  const char *r = op2(g, "add", "i32", op2(g, "add", "i32", b, "32767"), odd);
  r = op2(g, "lshr", "i32", r, "16");
  r = hdptx_choose(g, hdptx_ins(g, "fcmp uno float %s, %s", x, x), "i32", op2(g, "or", "i32", up, "64"), r);
  return conv(g, "trunc", "i32", r, "i16");
}

static const char *narrow_f32(PtxLower *g, const IrType *to, const char *x) {
  if (to->kind == IR_F16) return conv(g, "bitcast", "half", conv(g, "fptrunc", "float", x, "half"), "i16");
  if (g->target->sm < 80) return round_to_bf16(g, x);
  return conv(g, "bitcast", "bfloat", conv(g, "fptrunc", "float", x, "bfloat"), "i16");
}

/* --- integers --- */

static const char *float_to_int(PtxLower *g, const IrType *from, const IrType *to, const char *x) {
  const char *f = hdptx_type(from), *low, *high;
  uint32_t bits = hdir_bits(to);
  bool sign = hdir_is_signed(to), wide = bits == 64, small = bits < 32;
  const char *i = wide ? "i64" : "i32";
  const char *name = hdptx_fmt(g, "llvm.nvvm.%c2%s.rz", from->kind == IR_F64 ? 'd' : 'f',
                               wide ? (sign ? "ll" : "ull") : (sign || small ? "i" : "ui"));
  const char *r = hdptx_call(g, i, name, f, "%s %s", f, x);
  if (from->kind == IR_F64 || wide) r = hdptx_choose(g, hdptx_ins(g, "fcmp ord %s %s, %s", f, x, x), i, r, "0");
  if (!small) return r;
  low = hdptx_int(g, 32, sign ? -(1ll << (bits - 1)) : 0);
  high = hdptx_int(g, 32, sign ? (1ll << (bits - 1)) - 1 : (1ll << bits) - 1);
  r = hdptx_choose(g, op2(g, "icmp sgt", "i32", r, low), "i32", r, low);
  r = hdptx_choose(g, op2(g, "icmp slt", "i32", r, high), "i32", r, high);
  return conv(g, "trunc", "i32", r, hdptx_type(to));
}

static const char *int_to_int(PtxLower *g, const IrType *from, const IrType *to, const char *x) {
  uint32_t a = hdir_bits(from), b = hdir_bits(to);
  if (a == b) return x;
  return conv(g, a > b ? "trunc" : hdir_is_signed(from) ? "sext" : "zext", hdptx_type(from), x, hdptx_type(to));
}

static const char *int_to_float(PtxLower *g, const IrType *from, const IrType *to, const char *x) {
  const char *name = hdir_is_signed(from) ? "sitofp" : "uitofp";
  if (is_half(to)) return narrow_f32(g, to, conv(g, name, hdptx_type(from), x, "float"));
  return conv(g, name, hdptx_type(from), x, hdptx_type(to));
}

/* --- bool --- */

static const char *from_bool(PtxLower *g, const IrType *to, const char *x) {
  if (hdir_is_int(to)) return conv(g, "zext", "i1", x, hdptx_type(to));
  uint64_t one = to->kind == IR_F16    ? 0x3c00
                 : to->kind == IR_BF16 ? 0x3f80
                 : to->kind == IR_F32  ? 0x3f800000
                                       : 0x3ffull << 52;
  return hdptx_choose(g, x, hdptx_type(to), hdptx_const(g, to, one), hdptx_const(g, to, 0));
}

static const char *to_bool(PtxLower *g, const IrType *from, const char *x) {
  const char *ty = hdptx_type(from);
  if (from->kind == IR_F32 || from->kind == IR_F64) return op2(g, "fcmp une", ty, x, hdptx_const(g, from, 0));
  if (is_half(from)) x = op2(g, "and", ty, x, "32767");
  return op2(g, "icmp ne", ty, x, "0");
}

/* --- all --- */

static const IrType f32_type = {.kind = IR_F32};

const char *hdptx_cvt(PtxLower *g, const IrType *from, const IrType *to, const char *x) {
  if (from->kind == to->kind) return x;
  if (from->kind == IR_BOOL) return from_bool(g, to, x);
  if (to->kind == IR_BOOL) return to_bool(g, from, x);
  if (hdir_is_int(from)) return hdir_is_int(to) ? int_to_int(g, from, to, x) : int_to_float(g, from, to, x);
  if (is_half(from)) return hdptx_cvt(g, &f32_type, to, widen_half(g, from, x));
  if (is_half(to)) return narrow_f32(g, to, hdptx_cvt(g, from, &f32_type, x));
  if (hdir_is_int(to)) return float_to_int(g, from, to, x);
  return conv(g, from->kind == IR_F32 ? "fpext" : "fptrunc", hdptx_type(from), x, hdptx_type(to));
}
