/* backends/nvptx/lower_fault.c -- assert and check: a cold path that fills in the launch's fault record.
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
               .column = (int32_t)i->loc.column};
  HDB_PUSH(g->a, g->sites->at, g->sites->n, g->sites->cap, s);
  return g->sites->n - 1;
}

static void put_coordinates(PtxLower *g, const char *record) {
  for (int32_t k = 0; k < HD_MAX_DIMS; k++) {
    const char *x = "0";
    if (k < g->rank) x = hdptx_ins(g, "zext i32 %s to i64", hdptx_tid(g, k));
    if (k == g->rank) {
      const char *y = hdptx_call(g, "i32", "llvm.nvvm.read.ptx.sreg.ctaid.y", "", "%s", "");
      x = hdptx_ins(g, "zext i32 %s to i64", y);
    }
    put(g, record, PTX_FAULT_TID + 8 * (uint32_t)k, "i64", x);
  }
}

void hdptx_report(PtxLower *g, const IrInst *i) {
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
