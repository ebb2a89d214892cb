/* backends/nvptx/lower_report.c -- assert and check: a cold path that fills in the launch's fault record; and print.
 *
 * The first thread to swap the record's state from 0 to 1 writes it and sets 2; the kernel goes on in any case. The text
 * and place stay on the host: the record has the number of the site.
 */
#include "backends/nvptx/lower.h"

static void put(PtxLower *g, const char *record, uint32_t offset, const char *type, const char *x) {
  const char *at = hdptx_ins(g, "getelementptr i8, ptr addrspace(1) %s, i64 %u", record, offset);
  hdptx_line(g, "store %s %s, ptr addrspace(1) %s, align %d", type, x, at, type[1] == '3' ? 4 : 8);
}

static const char *widened(PtxLower *g, const IrType *t, const char *x) {
  if (hdir_bits(t) == 64) return x;
  return hdptx_ins(g, "%s %s %s to i64", hdir_is_signed(t) ? "sext" : "zext", hdptx_type(t), x);
}

static uint32_t add_site(PtxLower *g, const IrInst *i) {
  bool known = i->loc.line && i->loc.file < g->fn->module->nfiles;
  PtxSite s = {.text = i->text ? hdb_strdup(g->a, i->text) : "",
               .file = known ? hdb_strdup(g->a, g->fn->module->files[i->loc.file]) : NULL,
               .line = (int32_t)i->loc.line,
               .column = (int32_t)i->loc.column,
               .prints = i->op == IR_print};
  HDB_PUSH(g->a, g->sites->at, g->sites->n, g->sites->cap, s);
  return g->sites->n - 1;
}

/* The thread's coordinate along an axis, i32; of the axes that the code does not tell apart, the first has all. */
static const char *coordinate(PtxLower *g, int32_t k) {
  if (k < g->rank) return hdptx_tid(g, k);
  return k == g->rank ? hdptx_call(g, "i32", "llvm.nvvm.read.ptx.sreg.ctaid.y", "", "%s", "") : "0";
}

static void put_coordinates(PtxLower *g, const char *record) {
  for (int32_t k = 0; k < HD_MAX_DIMS; k++) {
    const char *x = k > g->rank ? "0" : hdptx_ins(g, "zext i32 %s to i64", coordinate(g, k));
    put(g, record, PTX_FAULT_TID + 8 * (uint32_t)k, "i64", x);
  }
}

/* --- print --- */

static void write_print(PtxLower *g, const IrInst *i, const char *record) {
  const char *launch = hdptx_printing(g, "i64", 8, PTX_PRINTING_LAUNCH);
  put(g, record, PTX_PRINT_LAUNCH, "i32", hdptx_ins(g, "trunc i64 %s to i32", launch));
  for (int32_t k = 0; k < HD_MAX_DIMS; k++) put(g, record, PTX_PRINT_TID + 4 * (uint32_t)k, "i32", coordinate(g, k));
  for (uint32_t k = 0; k < i->nargs; k++) {
    const char *x = hdptx_get(g, i->args[k]);
    if (i->args[k]->type->kind == IR_F64) x = hdptx_ins(g, "bitcast double %s to i64", x);
    put(g, record, PTX_PRINT_VALUES + 8 * k, "i64", x);
  }
  put(g, record, PTX_PRINT_SITE, "i32", hdptx_int(g, 32, add_site(g, i) + 1));
}

static void print(PtxLower *g, const IrInst *i) {
  const char *fits = hdptx_label(g), *lost = hdptx_label(g), *done = hdptx_label(g);
  const char *at = hdptx_printing(g, "ptr addrspace(1)", 8, PTX_PRINTING_AT);
  const char *room = hdptx_printing(g, "i64", 8, PTX_PRINTING_ROOM);
  uint32_t size = PTX_PRINT_VALUES + 8 * i->nargs;
  const char *used =
      hdptx_ins(g, "atomicrmw add ptr addrspace(1) %s, i64 %u syncscope(\"device\") monotonic, align 8", at, size);
  const char *end = hdptx_ins(g, "add i64 %s, %u", used, size);
  hdptx_line(g, "br i1 %s, label %%%s, label %%%s", hdptx_ins(g, "icmp ule i64 %s, %s", end, room), fits, lost);
  hdptx_open(g, fits);
  const char *offset = hdptx_ins(g, "add i64 %s, 16", used);
  write_print(g, i, hdptx_ins(g, "getelementptr i8, ptr addrspace(1) %s, i64 %s", at, offset));
  hdptx_line(g, "br label %%%s", done);
  hdptx_open(g, lost);
  const char *count = hdptx_ins(g, "getelementptr i8, ptr addrspace(1) %s, i64 8", at);
  hdptx_ins(g, "atomicrmw add ptr addrspace(1) %s, i64 1 syncscope(\"device\") monotonic, align 8", count);
  hdptx_line(g, "br label %%%s", done);
  hdptx_open(g, done);
}

void hdptx_report(PtxLower *g, const IrInst *i) {
  if (i->op == IR_print) {
    print(g, i);
    return;
  }
  const char *done = hdptx_label(g), *fail = hdptx_label(g), *take = hdptx_label(g), *ok = hdptx_get(g, i->args[0]);
  const char *record = hdptx_launch(g, "ptr addrspace(1)", 8, PTX_LAUNCH_FAULT);
  bool check = i->op == IR_check;
  hdptx_line(g, "br i1 %s, label %%%s, label %%%s, !prof !1", ok, done, fail);
  hdptx_open(g, fail);
  const char *pair = hdptx_ins(
      g, "cmpxchg ptr addrspace(1) %s, i32 0, i32 1 syncscope(\"device\") monotonic monotonic, align 4", record);
  const char *won = hdptx_ins(g, "extractvalue { i32, i1 } %s, 1", pair);
  hdptx_line(g, "br i1 %s, label %%%s, label %%%s", won, take, done);
  hdptx_open(g, take);
  put(g, record, PTX_FAULT_SITE, "i32", hdptx_int(g, 32, add_site(g, i)));
  put(g, record, PTX_FAULT_HAS_INDEX, "i64", check ? "1" : "0");
  put(g, record, PTX_FAULT_INDEX, "i64", check ? widened(g, i->args[1]->type, hdptx_get(g, i->args[1])) : "0");
  put(g, record, PTX_FAULT_LIMIT, "i64", check ? widened(g, i->args[2]->type, hdptx_get(g, i->args[2])) : "0");
  put_coordinates(g, record);
  put(g, record, PTX_FAULT_STATE, "i32", "2");
  hdptx_line(g, "br label %%%s", done);
  hdptx_open(g, done);
}
