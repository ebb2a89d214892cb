/* backends/cpu/widen_private.c -- atomics whose result nobody reads, on a copy of the array that is the thread's own.
 *
 * When several threads count in one small histogram, its cache lines go back and forth between them, and each locked add
 * waits for one: some forty times the cost of a plain one. So a span of a launch that is long beside the array works on a
 * copy on its stack, which begins as zeros, with plain operations, and applies it at its end. That is right for integer
 * operations that no order matters to and that zero changes nothing for: add, or, xor, unsigned max.
 *
 * Nobody may see the delay: it is done only for a kernel's one atomic, on a parameter that the kernel uses for nothing else,
 * and if at the launch its memory is found apart from that of every other array. Arrays with gaps, whose extent takes more
 * to know, are left alone.
 */
#include "backends/cpu/widen.h"

enum { MOST_BYTES = 16384, LONG_SPAN = 1024 }; /* of the copy; threads, besides one for each byte of it */

/* The array of a kernel's parameter, or NULL. */
static const IrValue *array_of(const IrInst *index) {
  const IrValue *a = index->args[0];
  return a->region && !a->region->parent ? a : NULL;
}

static const IrInst *root_index(const IrValue *p) {
  const IrInst *i = p->def;
  while (i && (i->op == IR_member || i->op == IR_elem)) i = i->args[0]->def;
  return i && i->op == IR_index ? i : NULL;
}

bool hdcpu_may_be_private(const CpuWiden *w, const IrInst *atomic) {
  if (!w->options.dense || !hdir_is_int(atomic->args[1]->type) || w->uses[atomic->res[0]->id] != 0) return false;
  bool neutral = atomic->op == IR_atomic_add || atomic->op == IR_atomic_or || atomic->op == IR_atomic_xor ||
                 (atomic->op == IR_atomic_max && !hdir_is_signed(atomic->args[1]->type));
  if (!neutral) return false;
  const IrInst *root = root_index(atomic->args[0]);
  if (!root || !array_of(root)) return false;
  for (const IrInst *i = w->fn->body->first; i; i = hdir_inst_next(i)) {
    if (hdir_ops[i->op].effect == FX_ATOMIC && i != atomic) return false;
    if (hdir_calls_c(i) && !hdir_calls_pure(i)) return false; /* C may look at the array */
    if (i->op == IR_index && i != root && (!array_of(i) || array_of(i) == array_of(root))) return false;
  }
  return w->uses[root->res[0]->id] == 1;
}

/* --- once a span --- */

static const char *end_of(CpuWiden *w, const IrValue *array, const char *begin) {
  const char *n = hdcpu_fmt(w, "%u", array->type->elem->size);
  for (uint32_t k = 0; k < array->type->rows; k++)
    n = hdcpu_entry(w, "mul i64 %s, %s", n, hdcpu_param(w, "i64", 8, w->place[array->id] + 8 + 8 * k));
  return hdcpu_entry(w, "add i64 %s, %s", begin, n);
}

static const char *begin_of(CpuWiden *w, const IrValue *array) {
  return hdcpu_entry(w, "ptrtoint ptr %s to i64", hdcpu_param(w, "ptr", 8, w->place[array->id]));
}

/* The mode of the span, made once: w->plain is whether atomics are plain, w->shift the bytes from the array to the copy. */
static void make_mode(CpuWiden *w, const IrInst *atomic, const char *serial) {
  const IrValue *own = array_of(root_index(atomic->args[0]));
  const char *begin = begin_of(w, own), *end = end_of(w, own, begin);
  const char *bytes = hdcpu_entry(w, "sub i64 %s, %s", end, begin), *length = hdcpu_entry(w, "sub i64 %%end, %%begin");
  const char *yes = hdcpu_entry(w, "icmp ule i64 %s, %d", bytes, MOST_BYTES);
  const char *least = hdcpu_entry(w, "add i64 %s, %d", bytes, LONG_SPAN);
  yes = hdcpu_entry(w, "and i1 %s, %s", yes, hdcpu_entry(w, "icmp sge i64 %s, %s", length, least));
  yes = hdcpu_entry(w, "and i1 %s, %s", yes, hdcpu_entry(w, "xor i1 %s, true", serial));
  for (uint32_t k = 0; k < w->fn->body->nparams; k++) {
    const IrValue *other = w->fn->body->params[k];
    if (other == own || other->type->kind != IR_ARRAY) continue;
    const char *b = begin_of(w, other), *e = end_of(w, other, b);
    const char *before = hdcpu_entry(w, "icmp ule i64 %s, %s", e, begin);
    const char *after = hdcpu_entry(w, "icmp uge i64 %s, %s", b, end);
    yes = hdcpu_entry(w, "and i1 %s, %s", yes, hdcpu_entry(w, "or i1 %s, %s", before, after));
  }
  CpuPrivate *p = HDB_NEW(w->a, CpuPrivate);
  p->atomic = atomic;
  p->on = yes;
  p->copy = hdcpu_entry(w, "alloca [%d x i8], align 64", MOST_BYTES);
  p->array = hdcpu_param(w, "ptr", 8, w->place[own->id]);
  p->bytes = bytes;
  p->plain = hdcpu_entry(w, "or i1 %s, %s", yes, serial);
  const char *shift = hdcpu_entry(w, "sub i64 %s, %s", hdcpu_entry(w, "ptrtoint ptr %s to i64", p->copy), begin);
  p->shift = hdcpu_entry(w, "select i1 %s, i64 %s, i64 0", yes, shift);
  w->private = p;
}

const char *hdcpu_private_plain(CpuWiden *w, const IrInst *atomic, const char *serial) {
  if (!w->private) make_mode(w, atomic, serial);
  return w->private->plain;
}

/* By way of an integer: a pointer into one object may not be made from another's. */
const char *hdcpu_private_point(CpuWiden *w, const char *point) {
  const char *at = hdcpu_ins(w, "ptrtoint ptr %s to i64", point);
  return hdcpu_ins(w, "inttoptr i64 %s to ptr", hdcpu_ins(w, "add i64 %s, %s", at, w->private->shift));
}

void hdcpu_private_begin(CpuWiden *w, Buf *text) {
  const CpuPrivate *p = w->private;
  hdcpu_declare(w, "void", "llvm.memset.p0.i64", "ptr, i8, i64, i1");
  hdb_putf(text, "  br i1 %s, label %%clear, label %%start\nclear:\n", p->on);
  hdb_putf(text, "  call void @llvm.memset.p0.i64(ptr align 64 %s, i8 0, i64 %s, i1 false)\n  br label %%start\n",
           p->copy, p->bytes);
}

/* Apply what is not zero. */
void hdcpu_private_end(CpuWiden *w, Buf *text) {
  const CpuPrivate *p = w->private;
  const IrType *t = p->atomic->args[1]->type;
  IrOp op = p->atomic->op;
  const char *st = w->st[t->kind];
  const char *rmw = op == IR_atomic_add ? "add" : op == IR_atomic_or ? "or" : op == IR_atomic_xor ? "xor" : "umax";
  hdb_putf(text, "  br i1 %s, label %%flush, label %%return\nflush:\n", p->on);
  hdb_put(text, "  %flush.o = phi i64 [ 0, %exit ], [ %flush.next, %flushed ]\n");
  hdb_putf(text,
           "  %%flush.more = icmp ult i64 %%flush.o, %s\n  br i1 %%flush.more, label %%one, label %%return\none:\n",
           p->bytes);
  hdb_putf(text,
           "  %%flush.p = getelementptr i8, ptr %s, i64 %%flush.o\n  %%flush.x = load %s, ptr %%flush.p, align %u\n",
           p->copy, st, t->size);
  hdb_putf(text,
           "  %%flush.none = icmp eq %s %%flush.x, 0\n  br i1 %%flush.none, label %%flushed, label %%apply\napply:\n",
           st);
  hdb_putf(text, "  %%flush.at = getelementptr i8, ptr %s, i64 %%flush.o\n", p->array);
  hdb_putf(
      text,
      "  %%flush.old = atomicrmw %s ptr %%flush.at, %s %%flush.x monotonic, align %u\n  br label %%flushed\nflushed:\n",
      rmw, st, t->size);
  hdb_putf(text, "  %%flush.next = add i64 %%flush.o, %u\n  br label %%flush\nreturn:\n", t->size);
}
