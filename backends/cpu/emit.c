/* backends/cpu/emit.c -- LLVM text: names, types, constants, blocks, declarations.
 *
 * The oldest spelling that LLVM 19 to 22 all read: splats of constants are written out lane by lane, intrinsics are
 * declared. f16 and bf16 values are i16: no half ever reaches LLVM's legaliser, which would call the C library.
 */
#include "backends/cpu/widen.h"

#include <stdarg.h>
#include <stdio.h>

const char *hdcpu_fmt(CpuWiden *w, const char *fmt, ...) {
  char small[256];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(small, sizeof small, fmt, ap);
  va_end(ap);
  if (n < (int)sizeof small) return hdb_strndup(w->a, small, (size_t)n);
  char *s = hdb_alloc(w->a, (size_t)n + 1);
  va_start(ap, fmt);
  vsnprintf(s, (size_t)n + 1, fmt, ap);
  va_end(ap);
  return s;
}

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

const char *hdcpu_name(CpuWiden *w) {
  char s[16], *p = s + sizeof s;
  uint32_t n = w->next_name++;
  *--p = 0;
  do *--p = (char)('0' + n % 10);
  while (n /= 10);
  *--p = 'v';
  *--p = '%';
  return hdb_copy(w->a, p, (size_t)(s + sizeof s - p));
}

const char *hdcpu_ins(CpuWiden *w, const char *fmt, ...) {
  const char *name = hdcpu_name(w);
  va_list ap;
  hdb_put(w->out, "  ");
  hdb_put(w->out, name);
  hdb_put(w->out, " = ");
  va_start(ap, fmt);
  put_v(w->out, fmt, ap);
  va_end(ap);
  hdb_putc(w->out, '\n');
  return name;
}

void hdcpu_line(CpuWiden *w, const char *fmt, ...) {
  va_list ap;
  hdb_put(w->out, "  ");
  va_start(ap, fmt);
  put_v(w->out, fmt, ap);
  va_end(ap);
  hdb_putc(w->out, '\n');
}

const char *hdcpu_entry(CpuWiden *w, const char *fmt, ...) {
  const char *name = hdcpu_name(w);
  va_list ap;
  hdb_put(&w->entry, "  ");
  hdb_put(&w->entry, name);
  hdb_put(&w->entry, " = ");
  va_start(ap, fmt);
  put_v(&w->entry, fmt, ap);
  va_end(ap);
  hdb_putc(&w->entry, '\n');
  return name;
}

void hdcpu_declare(CpuWiden *w, const char *ret, const char *name, const char *params) {
  if (hdb_map_get_str(&w->declared, name)) return;
  hdb_map_set_str(&w->declared, name, w);
  hdb_putf(&w->decls, "declare %s @%s(%s)\n", ret, name, params);
}

const char *hdcpu_call(CpuWiden *w, const char *ret, const char *name, const char *params, const char *fmt, ...) {
  hdcpu_declare(w, ret, name, params);
  bool has = strcmp(ret, "void") != 0;
  const char *res = has ? hdcpu_name(w) : NULL;
  va_list ap;
  hdb_put(w->out, "  ");
  if (has) hdb_put(w->out, res), hdb_put(w->out, " = ");
  hdb_putf(w->out, "call %s @%s(", ret, name);
  va_start(ap, fmt);
  put_v(w->out, fmt, ap);
  va_end(ap);
  hdb_put(w->out, ")\n");
  return res;
}

const char *hdcpu_label(CpuWiden *w) { return hdcpu_fmt(w, "b%u", w->next_name++); }

void hdcpu_open(CpuWiden *w, const char *label) {
  hdb_put(w->out, label);
  hdb_put(w->out, ":\n");
  w->block = label;
  w->live = true;
  w->nmemo = 0;
}

void hdcpu_fail(CpuWiden *w, const IrInst *i, HdStatus st, const char *what) {
  if (w->status != HD_OK) return;
  HdSpan at = {0};
  if (i && i->loc.line && i->loc.file < w->fn->module->nfiles)
    at = (HdSpan){w->fn->module->files[i->loc.file], (int32_t)i->loc.line, (int32_t)i->loc.column};
  w->status = hdb_fail_at(w->err, st, at, "kernel '%s': %s%s%s", w->fn->name, what, i ? ": " : "",
                          i ? hdir_ops[i->op].name : "");
}

/* --- types --- */

static const char *vec_of(CpuWiden *w, const char *scalar) { return hdcpu_fmt(w, "<%u x %s>", w->width, scalar); }

const char *hdcpu_ity(CpuWiden *w, uint32_t bits, bool vec) {
  switch (bits) {
  case 1: return vec ? w->bt : "i1";
  case 8: return vec ? w->vt[IR_I8] : "i8";
  case 16: return vec ? w->vt[IR_I16] : "i16";
  case 32: return vec ? w->vt[IR_I32] : "i32";
  case 64: return vec ? w->vt[IR_I64] : "i64";
  default: return vec ? vec_of(w, hdcpu_fmt(w, "i%u", bits)) : hdcpu_fmt(w, "i%u", bits);
  }
}

const char *hdcpu_fty(CpuWiden *w, uint32_t bits, bool vec) {
  IrKind k = bits == 64 ? IR_F64 : IR_F32;
  return vec ? w->vt[k] : w->st[k];
}

const char *hdcpu_suffix(CpuWiden *w, char kind, uint32_t bits, bool vec) {
  return vec ? hdcpu_fmt(w, "v%u%c%u", w->width, kind, bits) : hdcpu_fmt(w, "%c%u", kind, bits);
}

const char *hdcpu_mem_type(const IrType *t) {
  switch (hdir_bits(t)) {
  case 1:
  case 8: return "i8";
  case 16: return "i16";
  case 32: return t->kind == IR_F32 ? "float" : "i32";
  default: return t->kind == IR_F64 ? "double" : "i64";
  }
}

/* --- constants --- */

static const char *repeat(CpuWiden *w, const char *type, const char *x) {
  Buf b;
  hdb_buf_init(&b, w->a);
  hdb_putc(&b, '<');
  for (uint32_t k = 0; k < w->width; k++) hdb_putf(&b, "%s%s %s", k ? ", " : "", type, x);
  hdb_putc(&b, '>');
  return b.data;
}

typedef struct ConstKey {
  uint64_t x;
  uint32_t bits, kind; /* kind: 0 integer splat, 1 ramp, else an IrKind */
} ConstKey;

const char *hdcpu_int(CpuWiden *w, uint32_t bits, bool vec, int64_t x) {
  if (bits < 64) x = (int64_t)((uint64_t)x << (64 - bits)) >> (64 - bits);
  if (bits == 1) return vec ? (x ? repeat(w, "i1", "true") : "zeroinitializer") : x ? "true" : "false";
  if (vec && x == 0) return "zeroinitializer";
  ConstKey key = {(uint64_t)x, bits, vec ? 0 : 2000};
  MapSlot *slot = hdb_map_slot(&w->consts, &key, sizeof key);
  if (!slot->value) {
    const char *s = hdcpu_fmt(w, "%lld", (long long)x);
    const char *text = vec ? repeat(w, hdcpu_ity(w, bits, false), s) : s;
    slot->value = (void *)(uintptr_t)text;
  }
  return slot->value;
}

const char *hdcpu_ramp(CpuWiden *w, uint32_t bits, int64_t step) {
  ConstKey key = {(uint64_t)step, bits, 1};
  MapSlot *slot = hdb_map_slot(&w->consts, &key, sizeof key);
  if (slot->value) return slot->value;
  Buf b;
  hdb_buf_init(&b, w->a);
  hdb_putc(&b, '<');
  for (uint32_t k = 0; k < w->width; k++)
    hdb_putf(&b, "%s%s %s", k ? ", " : "", hdcpu_ity(w, bits, false),
             hdcpu_int(w, bits, false, (int64_t)((uint64_t)step * k)));
  hdb_putc(&b, '>');
  slot->value = b.data;
  return b.data;
}

/* LLVM writes a float as the hexadecimal of the double that equals it; a NaN keeps its bits, shifted up. */
static const char *float_text(CpuWiden *w, const IrType *t, uint64_t bits) {
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
  return hdcpu_fmt(w, "0x%016llX", (unsigned long long)d);
}

const char *hdcpu_const(CpuWiden *w, const IrType *t, bool vec, uint64_t bits) {
  if (t->kind == IR_BOOL) return vec ? (bits ? w->all : w->none) : bits ? "true" : "false";
  if (t->kind != IR_F32 && t->kind != IR_F64) return hdcpu_int(w, hdir_bits(t), vec, (int64_t)bits);
  if (vec && !bits) return "zeroinitializer";
  ConstKey key = {bits, 0, (uint32_t)t->kind + (vec ? 100 : 200)};
  MapSlot *slot = hdb_map_slot(&w->consts, &key, sizeof key);
  if (!slot->value) {
    const char *s = float_text(w, t, bits);
    const char *text = vec ? repeat(w, w->st[t->kind], s) : s;
    slot->value = (void *)(uintptr_t)text;
  }
  return slot->value;
}

const char *hdcpu_zero(CpuWiden *w, const IrType *t, bool vec) { return hdcpu_const(w, t, vec, 0); }

const char *hdcpu_splat(CpuWiden *w, const char *scalar_type, const char *s) {
  const char *vt = vec_of(w, scalar_type);
  const char *one = hdcpu_ins(w, "insertelement %s poison, %s %s, i64 0", vt, scalar_type, s);
  return hdcpu_ins(w, "shufflevector %s %s, %s poison, <%u x i32> zeroinitializer", vt, one, vt, w->width);
}

/* --- values --- */

bool hdcpu_is_vec(const CpuWiden *w, const IrValue *v) {
  return !hdir_is_const(v) && w->facts->of[v->id].cls == IR_VARYING;
}

bool hdcpu_differs(const CpuWiden *w, const IrValue *v) {
  return !hdir_is_const(v) && w->facts->of[v->id].cls != IR_UNIFORM;
}

const char *hdcpu_type(const CpuWiden *w, const IrType *t, bool vec) { return vec ? w->vt[t->kind] : w->st[t->kind]; }

const char *hdcpu_s(CpuWiden *w, const IrValue *v) {
  if (hdir_is_const(v)) return hdcpu_const(w, v->type, false, v->bits);
  const char *s = w->val[v->id].s;
  if (!s) {
    hdcpu_fail(w, v->def, HD_ERR_COMPILE, "a value is used before it is widened");
    return hdcpu_zero(w, v->type, false);
  }
  return s;
}

/* Keep a vector made of a uniform or affine value, until the region at hand ends. */
static const char *keep(CpuWiden *w, const IrValue *v, const char *opnd) {
  HDB_PUSH(w->a, w->undo, w->nundo, w->cap_undo, ((CpuUndo){v, w->val[v->id].v}));
  w->val[v->id].v = opnd;
  return opnd;
}

const char *hdcpu_v(CpuWiden *w, const IrValue *v) {
  if (hdir_is_const(v)) return hdcpu_const(w, v->type, true, v->bits);
  CpuVal *at = &w->val[v->id];
  if (at->v) return at->v;
  const char *s = hdcpu_s(w, v), *st = w->st[v->type->kind];
  if (v->type->kind == IR_BOOL)
    return keep(w, v, hdcpu_ins(w, "select i1 %s, %s %s, %s %s", s, w->mt, w->all, w->mt, w->none));
  const char *flat = hdcpu_splat(w, st, s);
  const IrFact *f = &w->facts->of[v->id];
  if (f->cls == IR_AFFINE) {
    uint32_t bits = hdir_bits(v->type);
    flat = hdcpu_ins(w, "add %s %s, %s", w->vt[v->type->kind], flat, hdcpu_ramp(w, bits, f->stride));
  }
  return keep(w, v, flat);
}

const char *hdcpu_get(CpuWiden *w, const IrValue *v, bool vec) { return vec ? hdcpu_v(w, v) : hdcpu_s(w, v); }

void hdcpu_set(CpuWiden *w, const IrValue *v, const char *opnd) {
  w->val[v->id] = hdcpu_is_vec(w, v) ? (CpuVal){NULL, opnd} : (CpuVal){opnd, NULL};
}

uint32_t hdcpu_mark(const CpuWiden *w) { return w->nundo; }

void hdcpu_forget(CpuWiden *w, uint32_t mark) {
  while (w->nundo > mark) {
    CpuUndo *u = &w->undo[--w->nundo];
    w->val[u->value->id].v = u->v;
  }
}
