/* backends/cpu/widen.c -- a kernel as a function over a row of threads: gangs, the tail, what the launch gives.
 *
 * Full gangs run a copy of the body in which the mask is a constant, so that first-level mask logic and masked accesses
 * fold away; what is left of the row runs once through a second, masked copy. Big kernels have one masked copy only:
 * there the time to compile counts for more.
 */
#include "backends/cpu/widen.h"

#include <stdio.h>

enum { TWO_COPIES = 1500 }; /* instructions; compilers.md section 3.6 */

/* --- what the launch gives --- */

const char *hdcpu_param(CpuWiden *w, const char *type, uint32_t align, uint32_t offset) {
  const char *key = hdcpu_fmt(w, "%s@%u", type, offset);
  const char *have = hdb_map_get_str(&w->params, key);
  if (have) return have;
  const char *at = hdcpu_entry(w, "getelementptr i8, ptr %%args, i64 %u", offset);
  have = hdcpu_entry(w, "load %s, ptr %s, align %u", type, at, align);
  hdb_map_set_str(&w->params, key, (void *)(uintptr_t)have);
  return have;
}

static const char *scalar_param(CpuWiden *w, const IrType *t, uint32_t offset) {
  const char *x = hdcpu_param(w, hdcpu_mem_type(t), t->align, offset);
  if (t->kind != IR_BOOL) return x;
  const char *key = hdcpu_fmt(w, "bool@%u", offset), *have = hdb_map_get_str(&w->params, key);
  if (have) return have;
  have = hdcpu_entry(w, "icmp ne i8 %s, 0", x);
  hdb_map_set_str(&w->params, key, (void *)(uintptr_t)have);
  return have;
}

static const char *span_i32(CpuWiden *w, uint32_t offset) {
  const char *key = hdcpu_fmt(w, "span@%u", offset), *have = hdb_map_get_str(&w->params, key);
  if (have) return have;
  const char *at = hdcpu_entry(w, "getelementptr i8, ptr %%span, i64 %u", offset);
  const char *x = hdcpu_entry(w, "load i64, ptr %s, align 8", at);
  have = hdcpu_entry(w, "trunc i64 %s to i32", x);
  hdb_map_set_str(&w->params, key, (void *)(uintptr_t)have);
  return have;
}

static void extract(CpuWiden *w, const IrInst *i) {
  const IrValue *res = i->res[0];
  if (hdcpu_c_part(w, i)) return;
  if (w->place[i->args[0]->id] == UINT32_MAX) {
    hdcpu_fail(w, i, HD_ERR_COMPILE, "a composite value that is no parameter");
    return;
  }
  uint32_t at = w->place[i->args[0]->id] + hdir_part_offset(i->args[0]->type, (uint32_t)i->imm);
  w->place[res->id] = at;
  if (hdir_is_scalar(res->type)) hdcpu_set(w, res, scalar_param(w, res->type, at));
}

static void length(CpuWiden *w, const IrInst *i) {
  const char *n = hdcpu_param(w, "i64", 8, w->place[i->args[0]->id] + 8 + 8 * (uint32_t)i->imm);
  if (hdir_bits(i->res[0]->type) == 32) n = hdcpu_ins(w, "trunc i64 %s to i32", n);
  hdcpu_set(w, i->res[0], n);
}

void hdcpu_launch(CpuWiden *w, const IrInst *i) {
  uint32_t axis = (uint32_t)i->imm;
  switch (i->op) {
  case IR_tid:
    if (i->imm == w->inner_axis)
      hdcpu_set(w, i->res[0], hdcpu_ins(w, "trunc i64 %s to i32", w->lane0));
    else
      hdcpu_set(w, i->res[0], i->imm < w->inner_axis ? span_i32(w, CPU_SPAN_AT + 8 * axis) : "0");
    break;
  case IR_ltid: hdcpu_set(w, i->res[0], hdcpu_ins(w, "trunc i64 %s to i32", w->local0)); break;
  case IR_gid: {
    const char *n = hdcpu_ins(w, "udiv i64 %s, %d", w->group0, w->fn->group);
    hdcpu_set(w, i->res[0], hdcpu_ins(w, "trunc i64 %s to i32", n));
    break;
  }
  case IR_gdim: hdcpu_set(w, i->res[0], hdcpu_int(w, 32, false, w->fn->group)); break;
  case IR_dim: hdcpu_set(w, i->res[0], span_i32(w, CPU_SPAN_DIM + 8 * axis)); break;
  case IR_has: hdcpu_set(w, i->res[0], "false"); break;
  case IR_length: length(w, i); break;
  default: extract(w, i);
  }
}

/* --- copies of the body --- */

static void copy_begin(CpuWiden *w) {
  memset(w->val, 0, sizeof *w->val * w->fn->nvalues);
  memset(w->addr, 0, sizeof *w->addr * w->fn->nvalues);
  memset(w->done, 0, w->fn->ninsts);
  memset(w->group, 0, sizeof *w->group * w->fn->ninsts);
  memset(w->place, 0xff, sizeof *w->place * w->fn->nvalues);
  memset(w->leaves, 0, sizeof *w->leaves * w->fn->nvalues);
  for (uint32_t k = 0; k < w->fn->body->nparams; k++) {
    const IrValue *p = w->fn->body->params[k];
    w->place[p->id] = w->args_at[k];
    if (hdir_is_scalar(p->type) && w->uses[p->id]) hdcpu_set(w, p, scalar_param(w, p->type, w->args_at[k]));
  }
}

/* The lanes below `end` of a gang that starts at `x`. */
static const char *tail_mask(CpuWiden *w, const char *x) {
  const char *left = hdcpu_ins(w, "sub i64 %%end, %s", x);
  const char *few = hdcpu_ins(w, "icmp slt i64 %s, %u", left, w->width);
  const char *n = hdcpu_ins(w, "select i1 %s, i64 %s, i64 %u", few, left, w->width);
  const char *n32 = hdcpu_ins(w, "trunc i64 %s to i32", n);
  const char *all = hdcpu_splat(w, "i32", n32);
  return hdcpu_mask(w, hdcpu_ins(w, "icmp slt %s %s, %s", w->vt[IR_I32], hdcpu_ramp(w, 32, 1), all));
}

/* for (x = begin; x + width <= end; x += width) body; then the tail */
static void two_copies(CpuWiden *w) {
  const char *last = hdcpu_ins(w, "sub i64 %%end, %u", w->width), *x = hdcpu_name(w), *next = hdcpu_name(w);
  hdcpu_line(w, "%%full = icmp sle i64 %%begin, %s", last);
  hdcpu_line(w, "br i1 %%full, label %%gang, label %%rest");
  Buf *outer = w->out, inner;
  hdb_buf_init(&inner, w->a);
  w->out = &inner;
  w->block = "gang";
  w->live = true;
  w->nmemo = 0;
  w->lane0 = x;
  copy_begin(w);
  hdcpu_body(w, w->all, true);
  w->out = outer;
  hdb_putf(w->out, "gang:\n  %s = phi i64 [ %%begin, %%start ], [ %s, %%%s ]\n", x, next, w->block);
  if (inner.len) hdb_putn(w->out, inner.data, inner.len);
  hdcpu_line(w, "%s = add i64 %s, %u", next, x, w->width);
  hdcpu_line(w, "%%more = icmp sle i64 %s, %s", next, last);
  hdcpu_line(w, "br i1 %%more, label %%gang, label %%rest");
  const char *from = w->block;
  hdcpu_open(w, "rest");
  hdcpu_line(w, "%%at = phi i64 [ %%begin, %%start ], [ %s, %%%s ]", next, from);
  hdcpu_line(w, "%%some = icmp slt i64 %%at, %%end");
  hdcpu_line(w, "br i1 %%some, label %%tail, label %%exit");
  hdcpu_open(w, "tail");
  w->lane0 = "%at";
  copy_begin(w);
  hdcpu_body(w, tail_mask(w, "%at"), true);
  hdcpu_line(w, "br label %%exit");
}

/* By gangs with a tail; a kernel with groups (passes/split.c) by whole groups, whose gangs are its own loops. */
static void one_copy(CpuWiden *w) {
  const char *x = hdcpu_name(w), *next = hdcpu_name(w);
  uint32_t step = w->fn->group ? (uint32_t)w->fn->group : w->width;
  hdcpu_line(w, "%%some = icmp slt i64 %%begin, %%end");
  hdcpu_line(w, "br i1 %%some, label %%gang, label %%exit");
  Buf *outer = w->out, inner;
  hdb_buf_init(&inner, w->a);
  w->out = &inner;
  w->block = "gang";
  w->live = true;
  w->nmemo = 0;
  w->lane0 = w->group0 = x;
  copy_begin(w);
  hdcpu_body(w, w->fn->group ? w->all : tail_mask(w, x), true);
  w->out = outer;
  hdb_putf(w->out, "gang:\n  %s = phi i64 [ %%begin, %%start ], [ %s, %%%s ]\n", x, next, w->block);
  if (inner.len) hdb_putn(w->out, inner.data, inner.len);
  hdcpu_line(w, "%s = add i64 %s, %u", next, x, step);
  hdcpu_line(w, "%%more = icmp slt i64 %s, %%end", next);
  hdcpu_line(w, "br i1 %%more, label %%gang, label %%exit");
}

/* --- the function --- */

static uint32_t count_insts(const IrFunc *fn) {
  uint32_t n = 0;
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) n++;
  return n;
}

static void types(CpuWiden *w) {
  static const char *const names[] = {[IR_BOOL] = "i1",   [IR_I8] = "i8",   [IR_I16] = "i16",  [IR_I32] = "i32",
                                      [IR_I64] = "i64",   [IR_U8] = "i8",   [IR_U16] = "i16",  [IR_U32] = "i32",
                                      [IR_U64] = "i64",   [IR_F16] = "i16", [IR_BF16] = "i16", [IR_F32] = "float",
                                      [IR_F64] = "double"};
  for (int k = IR_BOOL; k <= IR_F64; k++) {
    w->st[k] = names[k];
    w->vt[k] = hdcpu_fmt(w, "<%u x %s>", w->width, names[k]);
  }
  w->bt = hdcpu_fmt(w, "<%u x i1>", w->width);
  w->mt = w->mask_bits == 1 ? w->bt : hdcpu_fmt(w, "<%u x i%u>", w->width, w->mask_bits);
  w->vt[IR_BOOL] = w->mt;
  Buf b;
  hdb_buf_init(&b, w->a);
  for (uint32_t k = 0; k < w->width; k++)
    hdb_putf(&b, "%si%u %s", k ? ", " : "<", w->mask_bits, w->mask_bits == 1 ? "true" : "-1");
  hdb_putc(&b, '>');
  w->all = b.data;
  w->none = "zeroinitializer";
}

/* Masks have the width of what they mostly choose between. */
static uint32_t mask_bits(const IrFunc *fn, const IrFacts *facts, const CpuTarget *target) {
  if (target->isa == CPU_AVX512) return 1;
  uint32_t n32 = 0, n64 = 0;
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i))
    for (uint32_t k = 0; k < i->nres; k++) {
      const IrType *t = i->res[k]->type;
      if (!hdir_is_scalar(t) || t->kind == IR_BOOL || facts->of[i->res[k]->id].cls != IR_VARYING) continue;
      if (hdir_bits(t) == 64)
        n64++;
      else
        n32++;
    }
  return n64 > n32 ? 64 : 32;
}

static void put_attributes(CpuWiden *w, Buf *text) {
  hdb_putf(text, "attributes #0 = { nounwind \"target-cpu\"=\"%s\" \"target-features\"=\"%s\" \"no-builtins\"",
           w->target->cpu, w->target->features);
  if (w->target->isa == CPU_AVX512) /* without both LLVM splits 512-bit vectors on some tunings */
    hdb_put(text, " \"min-legal-vector-width\"=\"512\" \"prefer-vector-width\"=\"512\"");
  hdb_put(text, " }\n");
}

static void function(CpuWiden *w, Buf *text) {
  Buf body;
  hdb_buf_init(&body, w->a);
  w->out = &body;
  hdcpu_open(w, "start");
  if (!w->fn->group && count_insts(w->fn) <= TWO_COPIES)
    two_copies(w);
  else
    one_copy(w);
  hdb_putf(text, "; kernel %s, %u lanes, %s\n", w->fn->name, w->width, w->target->cpu);
  if (w->globals.len) hdb_putn(text, w->globals.data, w->globals.len);
  hdb_putf(text, "\ndefine void @\"hd_%s\"(ptr %%args, ptr %%span, ptr %%user) #0 {\nentry:\n", w->fn->name);
  hdb_putf(text, "  %%begin.p = getelementptr i8, ptr %%span, i64 %d\n  %%begin = load i64, ptr %%begin.p, align 8\n",
           CPU_SPAN_BEGIN);
  hdb_putf(text, "  %%end.p = getelementptr i8, ptr %%span, i64 %d\n  %%end = load i64, ptr %%end.p, align 8\n",
           CPU_SPAN_END);
  if (w->entry.len) hdb_putn(text, w->entry.data, w->entry.len);
  if (w->private)
    hdcpu_private_begin(w, text);
  else
    hdb_put(text, "  br label %start\n");
  hdb_putn(text, body.data, body.len);
  hdb_put(text, "exit:\n");
  if (w->private) hdcpu_private_end(w, text);
  hdb_put(text, "  ret void\n}\n\n");
  if (w->decls.len) hdb_putn(text, w->decls.data, w->decls.len);
  put_attributes(w, text);
  hdb_put(text, "!0 = !{!\"branch_weights\", i32 2000, i32 1}\n"); /* of asserts */
}

static bool width_ok(int32_t width) { return width > 0 && width <= 32 && (width & (width - 1)) == 0; }

HdStatus hdcpu_widen(const IrFunc *kernel, const CpuTarget *target, const CpuOptions *options, Buf *text, HdError *err,
                     int32_t *width) {
  Arena *a = text->arena;
  if (!kernel->is_kernel) return hdb_fail(err, HD_ERR_COMPILE, kernel->name, "it is a function, not a kernel");
  if (options->width && !width_ok(options->width))
    return hdb_fail(err, HD_ERR_OPTION, "width", "wanted 1, 2, 4, 8, 16 or 32 lanes, got %d", options->width);
  int32_t rank = hdir_launch_rank(kernel);
  CpuWiden *w = HDB_NEW(a, CpuWiden);
  *w = (CpuWiden){.a = a,
                  .fn = kernel,
                  .target = target,
                  .options = *options,
                  .err = err,
                  .status = HD_OK,
                  .inner_axis = rank > 1 ? rank - 1 : 0};
  w->facts = hdir_facts(kernel, w->inner_axis, IR_NEIGHBOURS, a);
  w->width = options->width ? (uint32_t)options->width : hdcpu_choose_width(kernel, w->facts, target, a);
  if (kernel->group && w->width < IR_NEIGHBOURS) w->facts = hdir_facts(kernel, w->inner_axis, w->width, a);
  w->mask_bits = mask_bits(kernel, w->facts, target);
  hdb_buf_init(&w->entry, a);
  hdb_buf_init(&w->globals, a);
  hdb_buf_init(&w->decls, a);
  hdb_map_init(&w->declared, a);
  hdb_map_init(&w->consts, a);
  hdb_map_init(&w->params, a);
  w->val = HDB_NEW_N(a, CpuVal, kernel->nvalues + 1);
  w->addr = HDB_NEW_N(a, CpuAddr *, kernel->nvalues + 1);
  w->place = HDB_NEW_N(a, uint32_t, kernel->nvalues + 1);
  w->leaves = HDB_NEW_N(a, const char **, kernel->nvalues + 1);
  w->done = HDB_NEW_N(a, bool, kernel->ninsts + 1);
  w->group = HDB_NEW_N(a, const IrInst *, kernel->ninsts + 1);
  w->leaves_out = HDB_NEW_N(a, bool, kernel->ninsts + 1);
  w->args_at = HDB_NEW_N(a, uint32_t, kernel->body->nparams + 1);
  w->uses = hdir_count_uses(kernel, a);
  hdir_args_layout(kernel, w->args_at);
  types(w);
  hdcpu_leavers(w);
  function(w, text);
  if (w->status == HD_OK && width) *width = (int32_t)w->width;
  return w->status;
}
