/* backends/nvptx/lower.c -- a kernel as a PTX entry: which thread this is, parameters, what the launch gives. */
#include "backends/nvptx/lower.h"

#include "ir/layout.h"

enum {
  DEFAULT_BLOCK = 256,
  MOST_PARAMS = 4096,      /* bytes of parameters: PTX ISA, "Kernel Function Parameter Attributes" */
  MOST_PARAMS_NEW = 32764, /* from PTX 8.1 on */
};

/* --- parameters: constant memory, so loading one again costs nothing --- */

static const char *param(PtxLower *g, const char *which, const char *type, uint32_t align, uint32_t offset) {
  const char *key = hdptx_fmt(g, "%s%s@%u", which, type, offset), *have = hdb_map_get_str(&g->params, key);
  if (have) return have;
  const char *at = hdptx_entry(g, "getelementptr i8, ptr %%%s, i64 %u", which, offset);
  have = hdptx_entry(g, "load %s, ptr %s, align %u", type, at, align);
  hdb_map_set_str(&g->params, key, (void *)(uintptr_t)have);
  return have;
}

const char *hdptx_param(PtxLower *g, const char *type, uint32_t align, uint32_t offset) {
  return param(g, "args", type, align, offset);
}

const char *hdptx_launch(PtxLower *g, const char *type, uint32_t align, uint32_t offset) {
  return param(g, "launch", type, align, offset);
}

const char *hdptx_printing(PtxLower *g, const char *type, uint32_t align, uint32_t offset) {
  return param(g, "printing", type, align, offset);
}

static const char *scalar_param(PtxLower *g, const IrType *t, uint32_t offset) {
  const char *x = hdptx_param(g, hdptx_mem_type(t), t->align, offset);
  if (t->kind != IR_BOOL) return x;
  const char *key = hdptx_fmt(g, "bool@%u", offset), *have = hdb_map_get_str(&g->params, key);
  if (have) return have;
  have = hdptx_entry(g, "icmp ne i8 %s, 0", x);
  hdb_map_set_str(&g->params, key, (void *)(uintptr_t)have);
  return have;
}

/* --- coordinates --- */

static const char *launch_u32(PtxLower *g, uint32_t offset, int32_t k) {
  return hdptx_launch(g, "i32", 4, offset + 4 * (uint32_t)k);
}

/* n / (len[k] * .. * len[r-1]); for k = r, n itself. */
static const char *quotient(PtxLower *g, int32_t k) {
  if (k == g->rank) return "%n";
  if (g->rest[k]) return g->rest[k];
  const char *n = quotient(g, k + 1);
  hdptx_declare(g, "i32", "llvm.nvvm.mulhi.ui", "i32, i32");
  const char *mul = launch_u32(g, PTX_LAUNCH_MUL, k), *shift = launch_u32(g, PTX_LAUNCH_SHIFT, k);
  const char *high = hdptx_entry(g, "call i32 @llvm.nvvm.mulhi.ui(i32 %s, i32 %s)", n, mul);
  const char *sum = hdptx_entry(g, "add i32 %s, %s", high, n);
  return g->rest[k] = hdptx_entry(g, "lshr i32 %s, %s", sum, shift);
}

const char *hdptx_tid(PtxLower *g, int32_t k) {
  if (k >= g->rank) return "0";
  if (g->tid[k]) return g->tid[k];
  const char *x = quotient(g, k + 1);
  if (k > 0) {
    const char *whole = hdptx_entry(g, "mul i32 %s, %s", quotient(g, k), launch_u32(g, PTX_LAUNCH_LEN, k));
    x = hdptx_entry(g, "sub i32 %s, %s", x, whole);
  }
  if (k < g->rank - 1) x = hdptx_entry(g, "add i32 %s, %s", x, launch_u32(g, PTX_LAUNCH_AT, k));
  return g->tid[k] = x;
}

/* --- what the launch gives --- */

const char *hdptx_param_part(PtxLower *g, const IrValue *v, uint32_t k) {
  uint32_t at = g->place[v->id];
  if (at == UINT32_MAX) hdptx_fail(g, v->def, HD_ERR_COMPILE, "a composite value that is no parameter");
  return scalar_param(g, hdir_part(v->type, k), at == UINT32_MAX ? 0 : at + hdir_part_offset(v->type, k));
}

static void extract(PtxLower *g, const IrInst *i) {
  const IrValue *res = i->res[0];
  if (i->args[0]->def && i->args[0]->def->op == IR_mma) {
    hdptx_set(g, res, hdptx_mma_part(g, i->args[0], (uint32_t)i->imm));
    return;
  }
  if (g->place[i->args[0]->id] == UINT32_MAX) {
    hdptx_fail(g, i, HD_ERR_COMPILE, "a composite value that is no parameter");
    return;
  }
  uint32_t at = g->place[i->args[0]->id] + hdir_part_offset(i->args[0]->type, (uint32_t)i->imm);
  g->place[res->id] = at;
  if (hdir_is_scalar(res->type)) hdptx_set(g, res, scalar_param(g, res->type, at));
}

/* As i32 the low half is read: little endian. */
static const char *low_or_whole(PtxLower *g, const IrType *t, bool of_launch, uint32_t offset) {
  const char *type = hdptx_type(t);
  uint32_t align = hdir_bits(t) / 8;
  return of_launch ? hdptx_launch(g, type, align, offset) : hdptx_param(g, type, align, offset);
}

void hdptx_launch_inst(PtxLower *g, const IrInst *i) {
  const IrType *t = i->res[0]->type;
  uint32_t axis = (uint32_t)i->imm;
  switch (i->op) {
  case IR_tid: hdptx_set(g, i->res[0], hdptx_tid(g, (int32_t)axis)); break;
  case IR_dim: hdptx_set(g, i->res[0], low_or_whole(g, t, true, PTX_LAUNCH_DIM + 8 * axis)); break;
  case IR_has:
    hdptx_set(g, i->res[0], g->options.fast && hdptx_units(g->target) >> i->imm & 1 ? "true" : "false");
    break;
  case IR_length: hdptx_set(g, i->res[0], low_or_whole(g, t, false, g->place[i->args[0]->id] + 8 + 8 * axis)); break;
  default: extract(g, i);
  }
}

/* --- the function --- */

static void begin(PtxLower *g) {
  memset(g->place, 0xff, sizeof *g->place * g->fn->nvalues);
  for (uint32_t k = 0; k < g->fn->body->nparams; k++) {
    const IrValue *p = g->fn->body->params[k];
    g->place[p->id] = g->args_at[k];
    if (hdir_is_scalar(p->type) && g->uses[p->id]) hdptx_set(g, p, scalar_param(g, p->type, g->args_at[k]));
  }
}

static void put_sreg(PtxLower *g, Buf *text, const char *name) {
  const char *full = hdptx_fmt(g, "llvm.nvvm.read.ptx.sreg.%s", name);
  hdptx_declare(g, "i32", full, "");
  hdb_putf(text, "  %%%s = call i32 @%s()\n", name, full);
}

/* n fits 32 bits: the grid is at most 2^31 - 1 threads, rounded up to a block. Blocks that are groups are full. */
static void put_guard(PtxLower *g, Buf *text) {
  put_sreg(g, text, "ctaid.x");
  put_sreg(g, text, "ntid.x");
  put_sreg(g, text, "tid.x");
  hdb_put(text, "  %first = mul i32 %ctaid.x, %ntid.x\n  %n = add i32 %first, %tid.x\n");
  if (g->fn->group) {
    hdb_put(text, "  br label %run\n");
    return;
  }
  hdb_putf(text, "  %%count.p = getelementptr i8, ptr %%launch, i64 %d\n", PTX_LAUNCH_COUNT);
  hdb_put(text, "  %count = load i32, ptr %count.p, align 8\n  %in = icmp ult i32 %n, %count\n"
                "  br i1 %in, label %run, label %exit\n");
}

static bool prints(const IrFunc *kernel) {
  for (const IrInst *i = kernel->body->first; i; i = hdir_inst_next(i))
    if (i->op == IR_print) return true;
  return false;
}

static void function(PtxLower *g, const char *symbol, uint32_t args_size, Buf *text) {
  Buf body;
  hdb_buf_init(&body, g->a);
  g->out = &body;
  g->block = "body";
  g->live = true;
  begin(g);
  hdptx_region(g, g->fn->body);
  hdb_putf(text, "; kernel %s, %s\n\n", g->fn->name, g->target->cpu);
  hdb_putf(text,
           "define ptx_kernel void @\"%s\"(ptr byval([%u x i8]) align 8 %%args, ptr byval([%d x i8]) align 8 %%launch",
           symbol, args_size, PTX_LAUNCH_SIZE);
  if (prints(g->fn)) hdb_putf(text, ", ptr byval([%d x i8]) align 8 %%printing", PTX_PRINTING_SIZE);
  hdb_put(text, ") #0 {\n");
  hdb_put(text, "entry:\n");
  if (g->allocas.len) hdb_putn(text, g->allocas.data, g->allocas.len);
  put_guard(g, text);
  hdb_put(text, "run:\n");
  if (g->entry.len) hdb_putn(text, g->entry.data, g->entry.len);
  hdb_put(text, "  br label %body\nbody:\n");
  hdb_putn(text, body.data, body.len);
  hdb_put(text, "exit:\n  ret void\n}\n\n");
  if (g->decls.len) hdb_putn(text, g->decls.data, g->decls.len);
  hdb_putf(text, "attributes #0 = { nounwind \"no-builtins\"%s }\n",
           g->options.fast ? " \"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\"" : "");
  hdb_putf(text, "!nvvm.annotations = !{!0}\n!0 = !{ptr @\"%s\", !\"%s\", i32 %d}\n", symbol,
           g->fn->group ? "reqntidx" : "maxntidx", hdptx_block(g->fn, &g->options));
  hdb_putf(text, "!%d = !{!\"branch_weights\", i32 2000, i32 1}\n!%d = !{}\n", PTX_MD_SELDOM, PTX_MD_NONE);
  if (!g->next_md) return;
  hdb_putf(text, "!%d = !{!\"llvm.loop.unroll.count\", i32 4}\n", PTX_MD_FOUR);
  hdb_putf(text, "!%d = !{!\"llvm.loop.unroll.count\", i32 2}\n", PTX_MD_TWO);
}

/* What PTX allows in names: letters, digits, "_" and "$". */
const char *hdptx_symbol(const IrFunc *kernel, Arena *a) {
  Buf b;
  hdb_buf_init(&b, a);
  hdb_put(&b, "hd_");
  for (const unsigned char *c = (const unsigned char *)kernel->name; *c; c++) {
    bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_';
    if (plain)
      hdb_putc(&b, (char)*c);
    else
      hdb_putf(&b, "$%02x", *c);
  }
  return b.data;
}

static HdStatus check_limits(const IrFunc *kernel, const PtxTarget *target, const PtxOptions *options,
                             uint32_t args_size, HdError *err) {
  uint32_t most = target->ptx_version >= 81 ? MOST_PARAMS_NEW : MOST_PARAMS;
  if (!kernel->is_kernel) return hdb_fail(err, HD_ERR_COMPILE, kernel->name, "it is a function, not a kernel");
  if (options->block < 0 || options->block > 1024)
    return hdb_fail(err, HD_ERR_OPTION, "block", "wanted 1 to 1024 threads, got %d", options->block);
  if (args_size + PTX_LAUNCH_SIZE + PTX_PRINTING_SIZE > most)
    return hdb_fail(err, HD_ERR_UNSUPPORTED, kernel->name, "its parameters take %u bytes; %s has room for %u",
                    args_size, target->cpu, most - PTX_LAUNCH_SIZE - PTX_PRINTING_SIZE);
  uint32_t shared = hdptx_shared_size(kernel);
  if (shared <= target->shared) return HD_OK;
  HdStatus status = hdb_fail(err, HD_ERR_UNSUPPORTED, kernel->name, "a group shares %u bytes; %s has %u KiB for one",
                             shared, target->cpu, target->shared >> 10);
  if (err) err->remedy = "share less, or compile for a GPU with more";
  return status;
}

static void refuse_c_functions(PtxLower *g) {
  for (const IrInst *i = g->fn->body->first; i; i = hdir_inst_next(i))
    if (hdir_calls_c(i) && !hdptx_is_approx(i))
      hdptx_fail(g, i, HD_ERR_UNSUPPORTED,
                 hdptx_fmt(g, "it calls the C function '%.60s', which only the CPU can", i->callee->name));
}

HdStatus hdptx_print(const IrFunc *kernel, const PtxTarget *target, const PtxOptions *options, Buf *text, HdError *err,
                     PtxSites *sites) {
  Arena *a = text->arena;
  uint32_t *args_at = HDB_NEW_N(a, uint32_t, kernel->body->nparams + 1);
  uint32_t args_size = hdir_args_layout(kernel, args_at);
  HD_TRY(check_limits(kernel, target, options, args_size, err));
  PtxLower *g = HDB_NEW(a, PtxLower);
  *g = (PtxLower){.a = a,
                  .fn = kernel,
                  .target = target,
                  .options = *options,
                  .err = err,
                  .status = HD_OK,
                  .args_at = args_at,
                  .rank = hdptx_rank(kernel)};
  g->options.fast |= kernel->fast;
  g->sites = sites ? sites : HDB_NEW(a, PtxSites);
  hdb_buf_init(&g->allocas, a);
  hdb_buf_init(&g->entry, a);
  hdb_buf_init(&g->decls, a);
  hdb_map_init(&g->declared, a);
  hdb_map_init(&g->consts, a);
  hdb_map_init(&g->params, a);
  g->val = HDB_NEW_N(a, const char *, kernel->nvalues + 1);
  g->addr = HDB_NEW_N(a, PtxAddr *, kernel->nvalues + 1);
  g->place = HDB_NEW_N(a, uint32_t, kernel->nvalues + 1);
  g->written = HDB_NEW_N(a, bool, kernel->module->types.count + 1);
  g->uses = hdir_count_uses(kernel, a);
  hdptx_writes(g);
  refuse_c_functions(g); /* before what is made for them is met */
  if (g->status != HD_OK) return g->status;
  function(g, hdptx_symbol(kernel, a), args_size ? args_size : 8, text);
  return g->status;
}

int32_t hdptx_block(const IrFunc *kernel, const PtxOptions *options) {
  return kernel->group ? kernel->group : options->block ? options->block : DEFAULT_BLOCK;
}

int32_t hdptx_rank(const IrFunc *kernel) {
  int32_t rank = hdir_launch_rank(kernel);
  if (prints(kernel) && !kernel->group) return HD_MAX_DIMS; /* which thread prints must be known */
  return rank > 1 ? rank : 1;
}
