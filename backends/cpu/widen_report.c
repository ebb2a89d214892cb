/* backends/cpu/widen_report.c -- assert, check and print.
 *
 * An assert or check is a cold path that fills in the launch's fault record. The first thread to swap the record's state from
 * 0 to 1 writes it and sets 2; the kernel goes on in any case. No call is made: the code has no symbol for it, and a call
 * would spill every vector register on the hot path. A print calls the launch's function, lane after lane.
 */
#include "backends/cpu/widen.h"

/* A string among the constants; NULL for a NULL. */
static const char *text_global(CpuWiden *w, const char *s) {
  if (!s) return "null";
  const char *key = hdcpu_fmt(w, "\"%s", s), *have = hdb_map_get_str(&w->params, key);
  if (have) return have;
  have = hdcpu_fmt(w, "@t%u", w->next_global++);
  hdb_putf(&w->globals, "%s = private unnamed_addr constant [%zu x i8] c\"", have, strlen(s) + 1);
  for (const unsigned char *c = (const unsigned char *)s; *c; c++) {
    if (*c >= ' ' && *c < 127 && *c != '"' && *c != '\\')
      hdb_putc(&w->globals, (char)*c);
    else
      hdb_putf(&w->globals, "\\%02X", *c);
  }
  hdb_put(&w->globals, "\\00\"\n");
  hdb_map_set_str(&w->params, key, (void *)(uintptr_t)have);
  return have;
}

static const char *record(CpuWiden *w) {
  const char *have = hdb_map_get_str(&w->params, "fault");
  if (have) return have;
  const char *at = hdcpu_entry(w, "getelementptr i8, ptr %%span, i64 %d", CPU_SPAN_FAULT);
  have = hdcpu_entry(w, "load ptr, ptr %s, align 8", at);
  hdb_map_set_str(&w->params, "fault", (void *)(uintptr_t)have);
  return have;
}

static void put(CpuWiden *w, uint32_t offset, const char *type, const char *x) {
  const char *at = hdcpu_ins(w, "getelementptr i8, ptr %s, i64 %u", record(w), offset);
  hdcpu_line(w, "store %s %s, ptr %s, align %d", type, x, at, type[0] == 'i' && type[1] == '3' ? 4 : 8);
}

/* An operand of a lane, as i64; of an f64 the bits. */
static const char *of_lane(CpuWiden *w, const IrValue *v, const char *lane) {
  const char *st = w->st[v->type->kind];
  const char *x = hdcpu_differs(w, v)
                      ? hdcpu_ins(w, "extractelement %s %s, i32 %s", w->vt[v->type->kind], hdcpu_v(w, v), lane)
                      : hdcpu_s(w, v);
  if (v->type->kind == IR_F64) return hdcpu_ins(w, "bitcast double %s to i64", x);
  if (hdir_bits(v->type) == 64) return x;
  return hdcpu_ins(w, "%s %s %s to i64", hdir_is_signed(v->type) ? "sext" : "zext", st, x);
}

static void put_place(CpuWiden *w, const IrInst *i, const char *lane) {
  bool known = i->loc.line && i->loc.file < w->fn->module->nfiles;
  put(w, CPU_FAULT_LINE, "i32", hdcpu_int(w, 32, false, i->loc.line));
  put(w, CPU_FAULT_COLUMN, "i32", hdcpu_int(w, 32, false, i->loc.column));
  put(w, CPU_FAULT_TEXT, "ptr", text_global(w, i->text ? i->text : ""));
  put(w, CPU_FAULT_FILE, "ptr", text_global(w, known ? w->fn->module->files[i->loc.file] : NULL));
  for (int32_t k = 0; k < HD_MAX_DIMS; k++) {
    const char *x = "0";
    if (k < w->inner_axis) {
      const char *at = hdcpu_ins(w, "getelementptr i8, ptr %%span, i64 %d", CPU_SPAN_AT + 8 * k);
      x = hdcpu_ins(w, "load i64, ptr %s, align 8", at);
    } else if (k == w->inner_axis) {
      x = hdcpu_ins(w, "add i64 %s, %s", w->lane0, hdcpu_ins(w, "zext i32 %s to i64", lane));
    }
    put(w, CPU_FAULT_TID + 8 * (uint32_t)k, "i64", x);
  }
}

static void cold(CpuWiden *w, const IrInst *i, const char *bad, const char *done) {
  const char *take = hdcpu_label(w);
  const char *swap = hdcpu_ins(w, "cmpxchg ptr %s, i32 0, i32 1 acquire monotonic, align 4", record(w));
  hdcpu_line(w, "br i1 %s, label %%%s, label %%%s", hdcpu_ins(w, "extractvalue { i32, i1 } %s, 1", swap), take, done);
  hdcpu_open(w, take);
  const char *bits = hdcpu_bits(w, bad);
  const char *z = hdcpu_call(w, "i32", "llvm.cttz.i32", "i32, i1", "i32 %s, i1 false", bits);
  const char *lane = hdcpu_ins(w, "and i32 %s, %u", z, w->width - 1);
  put_place(w, i, lane);
  put(w, CPU_FAULT_HAS_INDEX, "i32", i->op == IR_check ? "1" : "0");
  put(w, CPU_FAULT_INDEX, "i64", i->op == IR_check ? of_lane(w, i->args[1], lane) : "0");
  put(w, CPU_FAULT_LIMIT, "i64", i->op == IR_check ? of_lane(w, i->args[2], lane) : "0");
  hdcpu_line(w, "store atomic i32 2, ptr %s release, align 4", record(w));
  hdcpu_line(w, "br label %%%s", done);
}

/* --- print --- */

static void print(CpuWiden *w, const IrInst *i) {
  uint32_t n = i->nargs;
  const char *values = hdcpu_entry(w, "alloca [%u x i64], align 8", n ? n : 1);
  const char *at = hdcpu_entry(w, "getelementptr i8, ptr %%span, i64 %d", CPU_SPAN_PRINT);
  for (uint32_t k = 0; k < n; k++) /* what differs by lane is made before the loop over lanes */
    if (hdcpu_differs(w, i->args[k])) hdcpu_v(w, i->args[k]);
  CpuLanes l = hdcpu_lanes_begin(w, hdcpu_bits(w, hdcpu_on(w)));
  for (uint32_t k = 0; k < n; k++) {
    const char *to = hdcpu_ins(w, "getelementptr i64, ptr %s, i32 %u", values, k);
    hdcpu_line(w, "store i64 %s, ptr %s, align 8", of_lane(w, i->args[k], l.lane), to);
  }
  const char *x = hdcpu_ins(w, "add i64 %s, %s", w->lane0, hdcpu_ins(w, "zext i32 %s to i64", l.lane));
  const char *call = hdcpu_ins(w, "load ptr, ptr %s, align 8", at);
  hdcpu_line(w, "call void %s(ptr %%span, i64 %s, ptr %s, i32 %u, ptr %s)", call, x, text_global(w, i->text), n,
             values);
  hdcpu_lanes_end(w, &l);
}

void hdcpu_report(CpuWiden *w, const IrInst *i) {
  if (i->op == IR_print) {
    print(w, i);
    return;
  }
  const IrValue *c = i->args[0];
  const char *done = hdcpu_label(w), *fail = hdcpu_label(w), *bad = hdcpu_on(w), *ok;
  uint32_t mark;
  if (!hdcpu_differs(w, c)) {
    ok = hdcpu_s(w, c);
  } else {
    bad = hdcpu_mask_andnot(w, hdcpu_on(w), hdcpu_v(w, c));
    ok = hdcpu_ins(w, "xor i1 %s, true", hdcpu_any(w, bad));
  }
  hdcpu_line(w, "br i1 %s, label %%%s, label %%%s, !prof !0", ok, done, fail);
  mark = hdcpu_mark(w);
  hdcpu_open(w, fail);
  cold(w, i, bad, done);
  hdcpu_forget(w, mark);
  hdcpu_open(w, done);
}
