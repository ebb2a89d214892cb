/* backends/cpu/widen_table.c -- tables of constants: constants of the program, in one vector where they fit, else gathered.
 *
 *     index        all have            entries of 32 bits, no more than lanes        others
 *     uniform      one scalar load     one scalar load                               one scalar load
 *     by lane                          AVX2 and AVX-512: a permutation               a gather, or lane by lane (widen_mem.c)
 *
 * An index outside is replaced by 0 first, so every lane reads the table, also one that is off.
 */
#include "backends/cpu/widen.h"

/* The entries from 0 to `room`, "float 0x.., float 0x.."; behind the last the first again. */
static const char *entries(CpuWiden *w, const IrInst *i, uint32_t room) {
  const IrType *t = i->res[0]->type;
  const char *st = hdcpu_mem_type(t);
  Buf b;
  hdb_buf_init(&b, w->a);
  for (uint32_t k = 0; k < room; k++) {
    const IrValue *c = i->args[k + 1 < i->nargs ? k + 1 : 1];
    const char *x = t->kind == IR_BOOL ? c->bits ? "1" : "0" : hdcpu_const(w, t, false, c->bits);
    hdb_putf(&b, "%s%s %s", k ? ", " : "", st, x);
  }
  return b.data;
}

/* One constant of the program for all tables that are equal. */
static const char *global(CpuWiden *w, const IrInst *i) {
  const IrType *t = i->res[0]->type;
  uint32_t n = i->nargs - 1;
  const char *text = entries(w, i, n), *key = hdcpu_fmt(w, "table %s", text), *have = hdb_map_get_str(&w->params, key);
  if (have) return have;
  have = hdcpu_fmt(w, "@t%u", w->next_global++);
  hdb_putf(&w->globals, "%s = private unnamed_addr constant [%u x %s] [%s], align %u\n", have, n, hdcpu_mem_type(t),
           text, t->size);
  hdb_map_set_str(&w->params, key, (void *)(uintptr_t)have);
  return have;
}

/* The index, or 0 where it is outside. */
static const char *inside(CpuWiden *w, const IrInst *i, bool vec) {
  const IrType *t = i->args[0]->type;
  const char *ty = hdcpu_type(w, t, vec), *x = hdcpu_get(w, i->args[0], vec), *zero = hdcpu_zero(w, t, vec);
  const char *in = hdcpu_ins(w, "icmp ult %s %s, %s", ty, x, hdcpu_int(w, hdir_bits(t), vec, i->nargs - 1));
  return hdcpu_ins(w, "select %s %s, %s %s, %s %s", vec ? w->bt : "i1", in, ty, x, ty, zero);
}

/* The processor's instruction that permutes a vector of 32-bit lanes by another, or NULL. */
static const char *permutation(const CpuWiden *w, const IrInst *i) {
  const IrType *t = i->res[0]->type;
  CpuIsa isa = w->target->isa;
  bool f = t->kind == IR_F32;
  if (t->size != 4 || i->nargs - 1 > w->width) return NULL;
  if (w->width == 16 && isa == CPU_AVX512)
    return f ? "llvm.x86.avx512.permvar.sf.512" : "llvm.x86.avx512.permvar.si.512";
  if (w->width == 8 && (isa == CPU_AVX2 || isa == CPU_AVX512))
    return f ? "llvm.x86.avx2.permps" : "llvm.x86.avx2.permd";
  return NULL;
}

static const char *permuted(CpuWiden *w, const IrInst *i, const char *name, const char *at) {
  const char *ty = w->vt[i->res[0]->type->kind], *ints = w->vt[IR_I32];
  if (hdir_bits(i->args[0]->type) == 64) at = hdcpu_ins(w, "trunc %s %s to %s", w->vt[IR_I64], at, ints);
  return hdcpu_call(w, ty, name, hdcpu_fmt(w, "%s, %s", ty, ints), "%s <%s>, %s %s", ty, entries(w, i, w->width), ints,
                    at);
}

void hdcpu_table(CpuWiden *w, const IrInst *i) {
  const IrType *t = i->res[0]->type;
  bool vec = hdcpu_is_vec(w, i->res[0]);
  const char *at = inside(w, i, vec), *name = vec ? permutation(w, i) : NULL;
  if (name) {
    hdcpu_set(w, i->res[0], permuted(w, i, name, at));
    return;
  }
  uint32_t bits = hdir_bits(i->args[0]->type);
  if (vec) {
    CpuAddr p = {.at = AT_VARYING, .base = global(w, i), .index = at, .index_bits = bits, .scale = t->size};
    hdcpu_set(w, i->res[0], hdcpu_load_lanes(w, &p, t));
    return;
  }
  const char *st = hdcpu_mem_type(t), *p = hdcpu_ins(w, "getelementptr %s, ptr %s, i%u %s", st, global(w, i), bits, at);
  const char *x = hdcpu_ins(w, "load %s, ptr %s, align %u", st, p, t->size);
  hdcpu_set(w, i->res[0], t->kind == IR_BOOL ? hdcpu_ins(w, "icmp ne i8 %s, 0", x) : x);
}
