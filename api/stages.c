/* api/stages.c -- the stages of the compiler as text or bytes, for looking inside. */
#include <stdio.h>

#include "api/modules.h"
#include "backends/nvptx/nvptx.h"
#include "ir/facts.h"
#include "ir/layout.h"
#include "passes/passes.h"

typedef struct EmitJob {
  HdModule *m;
  const char *kernel; /* NULL: all */
  HdEmit what;
  const char *target;
  Arena scratch;
  Buf out; /* in m->emitted */
} EmitJob;

/* --- IR --- */

/* The kernels that were asked for, with what they call, in a module in the scratch arena. */
static HdStatus copy_wanted(EmitJob *j, IrModule **out) {
  HdModule *m = j->m;
  HD_TRY(hdapi_module_ir(m));
  IrModule *copy = hdir_module_new(&j->scratch, m->ir->name);
  for (uint32_t i = 0; i < m->ir->nfuncs; i++) {
    const IrFunc *fn = m->ir->funcs[i];
    if (fn->is_kernel && (!j->kernel || strcmp(fn->name, j->kernel) == 0)) hdir_func_import(copy, fn);
  }
  *out = copy;
  return HD_OK;
}

static HdStatus emit_ir(EmitJob *j) {
  HD_TRY(hdapi_module_ir(j->m));
  if (!j->kernel) {
    hdir_print_module(&j->out, j->m->ir, NULL);
    return HD_OK;
  }
  IrModule *copy;
  HD_TRY(copy_wanted(j, &copy));
  hdir_print_module(&j->out, copy, NULL);
  return HD_OK;
}

typedef struct Notes {
  uint32_t n;
  IrFacts **facts;
} Notes;

static void note(Buf *b, const IrValue *v, void *user) {
  const Notes *notes = user;
  const IrFunc *fn = v->def ? v->def->region->fn : v->region ? v->region->fn : NULL;
  for (uint32_t i = 0; fn && i < notes->n; i++)
    if (notes->facts[i]->fn == fn) hdir_facts_note(b, v, notes->facts[i]);
}

static bool for_gpu(const EmitJob *j) {
  return j->what == HD_EMIT_PTX || (j->target && strncmp(j->target, "sm_", 3) == 0);
}

static HdStatus gpu_target(EmitJob *j, PtxTarget *out) {
  return hdptx_target(j->target ? j->target : "sm_75", &j->scratch, &j->m->ctx->err, out);
}

static HdStatus optimise(EmitJob *j, IrModule *m) {
  OptContext cx = {.err = &j->m->ctx->err, .units = CPU_UNITS};
  PtxTarget gpu;
  if (for_gpu(j)) {
    HD_TRY(gpu_target(j, &gpu));
    cx.units = hdptx_units(&gpu);
  }
  return hdopt_run(m, for_gpu(j) ? "gpu" : "cpu", &cx);
}

static int32_t inner_axis(const IrFunc *fn) {
  int32_t rank = hdir_launch_rank(fn);
  return rank > 0 ? rank - 1 : 0;
}

static HdStatus emit_ir_opt(EmitJob *j) {
  IrModule *m;
  HD_TRY(copy_wanted(j, &m));
  HD_TRY(optimise(j, m));
  Notes notes = {m->nfuncs, HDB_NEW_N(&j->scratch, IrFacts *, m->nfuncs + 1)};
  for (uint32_t i = 0; i < m->nfuncs; i++)
    notes.facts[i] = hdir_facts(m->funcs[i], inner_axis(m->funcs[i]), IR_NEIGHBOURS, &j->scratch);
  IrPrint how = {.locations = true, .note = note, .user = &notes};
  hdir_print_module(&j->out, m, &how);
  return HD_OK;
}

/* --- code --- */

/* The kernel alone, after the passes. */
static HdStatus prepare(EmitJob *j, const char *name, IrFunc **out) {
  HdModule *m = j->m;
  IrFunc *fn = hdir_func_find(m->ir, name);
  if (!fn)
    return hdb_fail(&m->ctx->err, HD_ERR_SOURCE, "", "'%.200s' has changed since it was loaded; load it again",
                    m->name);
  IrModule *alone = hdapi_alone(fn, &j->scratch)->module;
  HD_TRY(optimise(j, alone));
  *out = hdir_func_find(alone, name);
  return HD_OK;
}

static HdStatus emit_kernel(EmitJob *j, const char *name, const CpuTarget *target) {
  HdModule *m = j->m;
  HdError *err = &m->ctx->err;
  CpuOptions o = hdapi_cpu_options(m, true);
  IrFunc *fn;
  HD_TRY(prepare(j, name, &fn));
  if (j->what == HD_EMIT_LLVM) {
    int32_t width;
    return hdcpu_widen(fn, target, &o, &j->out, err, &width);
  }
  CpuCode code = {0};
  HD_TRY(
      hdcpu_compile(fn, target, &o, j->what == HD_EMIT_ASM ? CPU_EMIT_ASM : CPU_EMIT_OBJECT, &j->scratch, err, &code));
  if (j->what == HD_EMIT_ASM)
    hdb_put(&j->out, code.assembly);
  else
    hdb_putn(&j->out, code.object, code.object_size);
  return HD_OK;
}

static bool wanted(const EmitJob *j, const char *name) { return !j->kernel || strcmp(name, j->kernel) == 0; }

static HdStatus emit_gpu_kernel(EmitJob *j, const char *name, const PtxTarget *target) {
  HdModule *m = j->m;
  PtxOptions o = {.dense = true, .small = true, .fast = m->options.fast, .opt_level = m->options.opt_level};
  PtxCode code = {0};
  IrFunc *fn;
  HD_TRY(prepare(j, name, &fn));
  if (j->what == HD_EMIT_LLVM) return hdptx_print(fn, target, &o, &j->out, &m->ctx->err, NULL);
  HD_TRY(hdptx_compile(fn, target, &o, PTX_EMIT_PTX, &j->scratch, &m->ctx->err, &code));
  const char *head_end = j->out.len ? strstr(code.ptx, ".address_size") : NULL; /* a second header is no PTX */
  hdb_put(&j->out, head_end ? strchr(head_end, '\n') : code.ptx);
  return HD_OK;
}

static HdStatus emit_gpu(EmitJob *j) {
  HdModule *m = j->m;
  PtxTarget target;
  if (j->what != HD_EMIT_PTX && j->what != HD_EMIT_LLVM)
    return hdb_fail(&m->ctx->err, HD_ERR_ARG, "what", "for '%.20s' there is PTX and LLVM text only", j->target);
  HD_TRY(gpu_target(j, &target));
  HD_TRY(hdapi_module_ir(m));
  for (uint32_t i = 0; i < m->nkernels; i++) {
    const char *name = m->kernels[i].sig.kernel;
    if (wanted(j, name)) HD_TRY(emit_gpu_kernel(j, name, &target));
  }
  return HD_OK;
}

static HdStatus emit_code(EmitJob *j) {
  HdModule *m = j->m;
  CpuTarget target;
  if (for_gpu(j)) return emit_gpu(j);
  HD_TRY(hdapi_module_target(m, j->target, &j->scratch, false, &target));
  HD_TRY(hdapi_module_ir(m));
  if (j->what == HD_EMIT_OBJ && m->nkernels == 0)
    return hdb_fail(&m->ctx->err, HD_ERR_NOT_FOUND, "kernel", "'%.200s' has no kernel to make an object of", m->name);
  if (j->what == HD_EMIT_OBJ && !j->kernel && m->nkernels != 1)
    return hdb_fail(&m->ctx->err, HD_ERR_ARG, "kernel", "the module has %u kernels and an object holds one: name it",
                    m->nkernels);
  for (uint32_t i = 0; i < m->nkernels; i++) {
    const char *name = m->kernels[i].sig.kernel;
    if (wanted(j, name)) HD_TRY(emit_kernel(j, name, &target));
  }
  return HD_OK;
}

static HdStatus emit(void *job) {
  EmitJob *j = job;
  hdb_buf_init(&j->out, &j->m->emitted);
  hdb_put(&j->out, "");
  switch (j->what) {
  case HD_EMIT_IR: return emit_ir(j);
  case HD_EMIT_IR_OPT: return emit_ir_opt(j);
  case HD_EMIT_LLVM:
  case HD_EMIT_ASM:
  case HD_EMIT_OBJ:
  case HD_EMIT_PTX: return emit_code(j);
  }
  return hdb_fail(&j->m->ctx->err, HD_ERR_ARG, "what", "%d is no stage; see HdEmit", (int)j->what);
}

/* Three arenas are at work: the module's, its emitted texts' and the scratch. */
static HdStatus guard_inner(void *job) {
  EmitJob *j = job;
  return hdapi_guard(j->m->ctx, &j->scratch, &j->m->emitted, emit, j);
}

static bool has_kernel(const HdModule *m, const char *name) {
  for (uint32_t i = 0; i < m->nkernels; i++)
    if (strcmp(m->kernels[i].sig.kernel, name) == 0) return true;
  return false;
}

static HdStatus module_emit(HdModule *m, const char *kernel, HdEmit what, const char *target, const char **data,
                            size_t *size) {
  HdContext *ctx = m->ctx;
  if (!data || !size) return hdb_fail(&ctx->err, HD_ERR_ARG, data ? "size" : "data", "it is NULL");
  if (kernel && !has_kernel(m, kernel))
    return hdb_fail(&ctx->err, HD_ERR_NOT_FOUND, "kernel", "'%.60s' is no kernel of '%.200s'", kernel, m->name);
  EmitJob j = {.m = m, .kernel = kernel, .what = what, .target = target};
  hdb_arena_init(&j.scratch, &ctx->mem);
  hdb_arena_free(&m->emitted);
  HdStatus status = hdapi_guard(ctx, &m->arena, NULL, guard_inner, &j);
  hdapi_keep_where(ctx);
  hdb_arena_free(&j.scratch);
  if (status != HD_OK) return status;
  *data = j.out.data;
  *size = j.out.len;
  return HD_OK;
}

HdStatus hd_module_emit(HdModule *module, const char *kernel, HdEmit what, const char *target, const char **data,
                        size_t *size) {
  if (!module) return HD_ERR_ARG;
  hdapi_begin(module->ctx);
  return hdapi_end(module->ctx, "hd_module_emit", module_emit(module, kernel, what, target, data, size));
}
