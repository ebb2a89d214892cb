/* backends/nvptx/ptx_text.c -- LLVM text: names, types, constants, blocks, declarations.
 *
 * The oldest spelling that LLVM 19 to 22 all read. f16 and bf16 values are i16: halves are only moved and converted.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/nvptx/lower.h"

static void put_v(Buf *b, const char *fmt, va_list ap) {
  char small[512];
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(small, sizeof small, fmt, ap);
  if (n < (int)sizeof small) {
    hdb_putn(b, small, (size_t)n);
  } else {
    char *s = hdb_alloc(b->arena, (size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, fmt, again);
    hdb_putn(b, s, (size_t)n);
  }
  va_end(again);
}

const char *hdptx_fmt(PtxLower *g, const char *fmt, ...) {
  Buf b;
  va_list ap;
  hdb_buf_init(&b, g->a);
  va_start(ap, fmt);
  put_v(&b, fmt, ap);
  va_end(ap);
  return b.data;
}

static const char *numbered(PtxLower *g, const char *before) {
  char s[24];
  int n = snprintf(s, sizeof s, "%s%u", before, g->next_name++);
  return hdb_copy(g->a, s, (size_t)n + 1);
}

const char *hdptx_name(PtxLower *g) { return numbered(g, "%v"); }

const char *hdptx_label(PtxLower *g) { return numbered(g, "b"); }

static const char *define(PtxLower *g, Buf *to, const char *fmt, va_list ap) {
  const char *name = hdptx_name(g);
  hdb_put(to, "  ");
  hdb_put(to, name);
  hdb_put(to, " = ");
  put_v(to, fmt, ap);
  hdb_putc(to, '\n');
  return name;
}

const char *hdptx_ins(PtxLower *g, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  const char *name = define(g, g->out, fmt, ap);
  va_end(ap);
  return name;
}

const char *hdptx_entry(PtxLower *g, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  const char *name = define(g, &g->entry, fmt, ap);
  va_end(ap);
  return name;
}

void hdptx_line(PtxLower *g, const char *fmt, ...) {
  va_list ap;
  hdb_put(g->out, "  ");
  va_start(ap, fmt);
  put_v(g->out, fmt, ap);
  va_end(ap);
  hdb_putc(g->out, '\n');
}

void hdptx_declare(PtxLower *g, const char *ret, const char *name, const char *params) {
  if (hdb_map_get_str(&g->declared, name)) return;
  hdb_map_set_str(&g->declared, name, g);
  hdb_putf(&g->decls, "declare %s @%s(%s)\n", ret, name, params);
}

const char *hdptx_call(PtxLower *g, const char *ret, const char *name, const char *params, const char *fmt, ...) {
  hdptx_declare(g, ret, name, params);
  const char *res = hdptx_name(g);
  va_list ap;
  hdb_putf(g->out, "  %s = call %s @%s(", res, ret, name);
  va_start(ap, fmt);
  put_v(g->out, fmt, ap);
  va_end(ap);
  hdb_put(g->out, ")\n");
  return res;
}

void hdptx_open(PtxLower *g, const char *label) {
  hdb_put(g->out, label);
  hdb_put(g->out, ":\n");
  g->block = label;
  g->live = true;
}

void hdptx_fail(PtxLower *g, const IrInst *i, HdStatus st, const char *what) {
  if (g->status != HD_OK) return;
  HdSpan at = {0};
  if (i && i->loc.line && i->loc.file < g->fn->module->nfiles)
    at = (HdSpan){g->fn->module->files[i->loc.file], (int32_t)i->loc.line, (int32_t)i->loc.column};
  g->status = hdb_fail_at(g->err, st, at, "kernel '%s': %s%s%s", g->fn->name, what, i ? ": " : "",
                          i ? hdir_ops[i->op].name : "");
}

/* --- types --- */

const char *hdptx_type(const IrType *t) {
  switch (t->kind) {
  case IR_BOOL: return "i1";
  case IR_I8:
  case IR_U8: return "i8";
  case IR_I16:
  case IR_U16:
  case IR_F16:
  case IR_BF16: return "i16";
  case IR_I32:
  case IR_U32: return "i32";
  case IR_F32: return "float";
  case IR_F64: return "double";
  default: return "i64";
  }
}

const char *hdptx_mem_type(const IrType *t) { return t->kind == IR_BOOL ? "i8" : hdptx_type(t); }

/* --- constants --- */

const char *hdptx_int(PtxLower *g, uint32_t bits, int64_t x) {
  if (bits < 64) x = (int64_t)((uint64_t)x << (64 - bits)) >> (64 - bits);
  if (bits == 1) return x ? "true" : "false";
  return hdptx_fmt(g, "%lld", (long long)x);
}

/* LLVM writes a float as the hexadecimal of the double that equals it; a NaN keeps its bits, shifted up. */
static const char *float_text(PtxLower *g, const IrType *t, uint64_t bits) {
  uint64_t d = bits;
  if (t->kind == IR_F32) {
    uint32_t b = (uint32_t)bits;
    if ((b & 0x7fffffff) > 0x7f800000) {
      d = (uint64_t)(b >> 31) << 63 | 0x7ffull << 52 | (uint64_t)(b & 0x7fffff) << 29;
    } else {
      float f;
      double x;
      memcpy(&f, &b, 4);
      x = f;
      memcpy(&d, &x, 8);
    }
  }
  return hdptx_fmt(g, "0x%016llX", (unsigned long long)d);
}

const char *hdptx_const(PtxLower *g, const IrType *t, uint64_t bits) {
  if (t->kind != IR_F32 && t->kind != IR_F64) return hdptx_int(g, hdir_bits(t), (int64_t)bits);
  const uint64_t key[2] = {bits, (uint64_t)t->kind};
  MapSlot *slot = hdb_map_slot(&g->consts, key, sizeof key);
  if (!slot->value) slot->value = (void *)(uintptr_t)float_text(g, t, bits);
  return slot->value;
}

/* --- choices --- */

/* A float constant other than zero and NaN. */
static bool is_plain_number(const char *x) {
  if (x[0] != '0' || x[1] != 'x') return false;
  uint64_t size = strtoull(x + 2, NULL, 16) << 1;
  return size != 0 && size <= (uint64_t)0x7ff << 53;
}

/* Where a comparison chooses between the floats that it compared, and one of them can be no NaN, LLVM writes min.f32 or max.f32,
 * for which -0 is less than 0: so floats are chosen as integers, unless there is a constant that leaves no doubt. */
const char *hdptx_choose(PtxLower *g, const char *c, const char *ty, const char *x, const char *y) {
  bool single = strcmp(ty, "float") == 0;
  if ((!single && strcmp(ty, "double") != 0) || is_plain_number(x) || is_plain_number(y))
    return hdptx_ins(g, "select i1 %s, %s %s, %s %s", c, ty, x, ty, y);
  const char *i = single ? "i32" : "i64";
  x = hdptx_ins(g, "bitcast %s %s to %s", ty, x, i);
  y = hdptx_ins(g, "bitcast %s %s to %s", ty, y, i);
  return hdptx_ins(g, "bitcast %s %s to %s", i, hdptx_ins(g, "select i1 %s, %s %s, %s %s", c, i, x, i, y), ty);
}

/* --- values --- */

const char *hdptx_get(PtxLower *g, const IrValue *v) {
  if (hdir_is_const(v)) return hdptx_const(g, v->type, v->bits);
  if (g->val[v->id]) return g->val[v->id];
  hdptx_fail(g, v->def, HD_ERR_COMPILE, "a value is used before it is lowered");
  return hdptx_const(g, v->type, 0);
}
