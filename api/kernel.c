/* api/kernel.c -- the compile driver: a kernel's IR to code that is loaded, by way of the cache.
 *
 * For the CPU: canonical IR -> passes -> backends/cpu -> object -> loader; the cache stands between the IR's hash and the
 * object, so a hit needs neither IR nor LLVM. A kernel has two variants of code, for arrays without gaps and for any; the
 * second is made when a launch first wants it. For a GPU the same with backends/nvptx and PTX. For the interpreter: the
 * canonical IR itself.
 */
#include <stdio.h>

#include "api/modules.h"
#include "backends/interp/interp.h"
#include "backends/nvptx/nvptx.h"
#include "ir/layout.h"
#include "passes/passes.h"
#include "runtime/hash.h"

#ifndef HEDDLE_BUILD_ID
#ifdef __has_include
#if __has_include("api/build_id.h")
#include "api/build_id.h"
#endif
#endif
#endif
#ifndef HEDDLE_BUILD_ID
#define HEDDLE_BUILD_ID "unknown" /* code made by another state of the sources would be taken for ours */
#endif

const char *hdapi_build_id(void) { return HEDDLE_BUILD_ID; }

enum { RUNTIME_ABI = 3 }; /* of RtEntry, RtSpan, RtFault, RtGpuLaunch, RtGpuFault and the argument block */

/* What the code of a GPU expects, and what the runtime gives it. */
_Static_assert(sizeof(RtGpuLaunch) == PTX_LAUNCH_SIZE && offsetof(RtGpuLaunch, dim) == PTX_LAUNCH_DIM &&
                   offsetof(RtGpuLaunch, count) == PTX_LAUNCH_COUNT &&
                   offsetof(RtGpuLaunch, fault) == PTX_LAUNCH_FAULT && offsetof(RtGpuLaunch, at) == PTX_LAUNCH_AT &&
                   offsetof(RtGpuLaunch, len) == PTX_LAUNCH_LEN && offsetof(RtGpuLaunch, mul) == PTX_LAUNCH_MUL &&
                   offsetof(RtGpuLaunch, shift) == PTX_LAUNCH_SHIFT,
               "a launch");
_Static_assert(sizeof(RtGpuFault) == PTX_FAULT_SIZE && offsetof(RtGpuFault, state) == PTX_FAULT_STATE &&
                   offsetof(RtGpuFault, site) == PTX_FAULT_SITE &&
                   offsetof(RtGpuFault, has_index) == PTX_FAULT_HAS_INDEX &&
                   offsetof(RtGpuFault, index) == PTX_FAULT_INDEX && offsetof(RtGpuFault, limit) == PTX_FAULT_LIMIT &&
                   offsetof(RtGpuFault, tid) == PTX_FAULT_TID,
               "a fault");
_Static_assert(sizeof(RtGpuPrinting) == PTX_PRINTING_SIZE && offsetof(RtGpuPrinting, printed) == PTX_PRINTING_AT &&
                   offsetof(RtGpuPrinting, size) == PTX_PRINTING_ROOM &&
                   offsetof(RtGpuPrinting, launch) == PTX_PRINTING_LAUNCH && sizeof(RtGpuPrinted) == 16 &&
                   offsetof(RtGpuPrint, site) == PTX_PRINT_SITE && offsetof(RtGpuPrint, launch) == PTX_PRINT_LAUNCH &&
                   offsetof(RtGpuPrint, tid) == PTX_PRINT_TID && sizeof(RtGpuPrint) == PTX_PRINT_VALUES,
               "a printf");

/* --- targets and options --- */

static bool runs_on(const CpuTarget *code, const CpuTarget *host) {
  return (code->isa == CPU_NEON) == (host->isa == CPU_NEON) && code->isa <= host->isa;
}

HdStatus hdapi_module_target(HdModule *m, const char *name, Arena *a, bool must_run, CpuTarget *out) {
  const CpuTarget *host;
  HD_TRY(hdapi_host(m->ctx, &host));
  if (!name) name = m->options.target;
  if (!name) {
    *out = *host;
    return HD_OK;
  }
  HD_TRY(hdcpu_target(name, a, &m->ctx->err, out));
  if (must_run && !runs_on(out, host))
    return hdb_fail(&m->ctx->err, HD_ERR_TARGET, "options.target",
                    "'%.40s' has instructions that this machine lacks (it is %s)", name, m->ctx->cpu_text);
  return HD_OK;
}

CpuOptions hdapi_cpu_options(const HdModule *m, bool dense) {
  return (CpuOptions){
      .width = m->options.width, .dense = dense, .fast = m->options.fast, .opt_level = m->options.opt_level};
}

/* --- one variant of code --- */

typedef struct CodeJob {
  HdKernel *k;
  int variant;
  Arena scratch;
  CpuTarget target;
  PtxTarget ptx;
  const char *fields;
  RtEntryFile file; /* a hit of the cache */
  IrFunc *fn;       /* no hit: what is to be translated, and what came of it */
  RtArtifact made;
  double ms;
  HdError *err; /* of translating, which may be on a thread of its own */
  HdStatus status;
  RtWriter w;
  RtCode code;
  bool hit;
} CodeJob;

enum {
  GPU_BLOCK = 256
}; /* threads of a block, at the most: enough to fill a multiprocessor, few enough for 255 registers each */

static bool on_gpu(const CodeJob *j) { return j->k->device.kind == HD_DEVICE_CUDA; }

/* A GPU's variant for dense arrays takes only those that are small, too. */
static PtxOptions ptx_options(const CodeJob *j) {
  bool dense = j->variant == CODE_DENSE;
  return (PtxOptions){.dense = dense,
                      .small = dense,
                      .fast = j->k->module->options.fast,
                      .opt_level = j->k->module->options.opt_level,
                      .block = GPU_BLOCK};
}

static HdStatus put_fields(CodeJob *j) {
  const HdModule *m = j->k->module;
  CpuOptions o = hdapi_cpu_options(m, j->variant == CODE_DENSE);
  const char *llvm;
  Buf b;
  HD_TRY(hdapi_llvm_id(m->ctx, &llvm));
  hdb_buf_init(&b, &j->scratch);
  hdb_putf(&b, "tier=code\nbuild=%s\nabi=%d\nir=%s\nkernel=%s\n", hdapi_build_id(), RUNTIME_ABI, j->k->of->ir,
           j->k->of->sig.kernel);
  if (on_gpu(j))
    hdb_putf(&b, "triple=nvptx64\ncpu=%s\nfeatures=%s\nblock=%d\n", j->ptx.cpu, j->ptx.features, GPU_BLOCK);
  else
    hdb_putf(&b, "triple=%s\ncpu=%s\nfeatures=%s\n", j->target.triple, j->target.cpu, j->target.features);
  hdb_putf(&b, "width=%d\ndense=%d\npadded=%d\nfast=%d\nopt=%d\nllvm=%s\n", o.width, o.dense, o.padded, o.fast,
           o.opt_level, llvm);
  j->fields = b.data;
  return HD_OK;
}

/* --- machine code of a GPU, by ptxas --- */

static HdStatus make_cubin(CodeJob *j, const RtArtifact *a, const char *fields, const char *target, RtEntryFile *out) {
  HdContext *ctx = j->k->module->ctx;
  void *code = NULL;
  size_t size = 0;
  double start = hdapi_ms();
  HD_TRY(hdcu_ptxas_run(ctx->cuda.ptxas, target, a->code, a->code_size - 1, &ctx->mem, &ctx->err, &code, &size));
  hdapi_log(ctx, HD_LOG_INFO, "kernel '%s' was assembled for %s in %.1f ms", a->sig.kernel, target, hdapi_ms() - start);
  HdStatus status = hdrt_cache_put(&ctx->cache, RT_CACHE_CUBIN, fields, a->sig.kernel, target, code, size, &ctx->err);
  *out = (RtEntryFile){.data = code, .size = size, .payload = {code, (uint8_t *)code + size, false}};
  return status;
}

/* From the cache, or made now. */
static HdStatus find_cubin(CodeJob *j, const RtArtifact *a, RtEntryFile *out) {
  HdContext *ctx = j->k->module->ctx;
  const char *target = ((const CudaDevice *)j->k->rt)->target;
  char hash[33];
  bool found = false;
  hdrt_hash_hex(a->code, a->code_size, hash);
  const char *fields =
      hdb_printf(&j->scratch, "tier=cubin\nptx=%s\ntarget=%s\nptxas=%s\n", hash, target, ctx->cuda.ptxas_id);
  HD_TRY(hdrt_cache_get(&ctx->cache, RT_CACHE_CUBIN, fields, &ctx->err, &found, out));
  return found ? HD_OK : make_cubin(j, a, fields, target, out);
}

/* False, with the reason logged: the driver is to be given PTX. */
static bool load_cubin(CodeJob *j, const RtArtifact *a) {
  HdContext *ctx = j->k->module->ctx;
  RtEntryFile file = {0};
  RtArtifact machine = *a;
  HdStatus status = find_cubin(j, a, &file);
  if (status == HD_OK) {
    machine.code = file.payload.at;
    machine.code_size = (size_t)(file.payload.end - file.payload.at);
    status = j->k->rt->ops->load(j->k->rt, &machine, &ctx->err, &j->code);
  }
  hdrt_entry_free(&ctx->cache, &file);
  if (status == HD_OK) return true;
  hdapi_log(ctx, HD_LOG_WARNING, "kernel '%s' goes to the driver as PTX: %s", a->sig.kernel, ctx->err.detail);
  hdapi_begin(ctx);
  return false;
}

static HdStatus load_code(CodeJob *j, const RtArtifact *without_addresses) {
  HdKernel *k = j->k;
  RtArtifact bound = *without_addresses, *a = &bound;
  RtImport *imports = hdb_copy(&j->scratch, a->imports, sizeof *imports * a->nimports);
  HD_TRY(hdapi_bind(k->module, k->of->sig.kernel, a->nimports, imports));
  a->imports = imports;
  double start = hdapi_ms();
  bool loaded = on_gpu(j) && *k->module->ctx->cuda.ptxas && load_cubin(j, a);
  if (!loaded) HD_TRY(k->rt->ops->load(k->rt, a, &k->module->ctx->err, &j->code));
  k->times.load += hdapi_ms() - start;
  return HD_OK;
}

static HdStatus from_cache(CodeJob *j) {
  HdContext *ctx = j->k->module->ctx;
  RtArtifact a;
  HD_TRY(hdrt_cache_get(&ctx->cache, RT_CACHE_CODE, j->fields, &ctx->err, &j->hit, &j->file));
  if (!j->hit) return HD_OK;
  RtReader r = j->file.payload, again = r;
  j->hit = hdrt_get_artifact(&r, NULL, 0, NULL, 0, &a);
  if (!j->hit) return HD_OK;
  RtSite *sites = HDB_NEW_N(&j->scratch, RtSite, a.nsites);
  RtImport *imports = HDB_NEW_N(&j->scratch, RtImport, a.nimports);
  hdrt_get_artifact(&again, sites, a.nsites, imports, a.nimports, &a);
  a.sig = j->k->of->sig;
  HdStatus status = load_code(j, &a);
  /* An object that is not what it should be is no hit; it is made again and replaced. */
  j->hit = status == HD_OK;
  return status == HD_ERR_FORMAT || status == HD_ERR_UNSUPPORTED ? HD_OK : status;
}

/* The kernel by itself in the scratch arena. The IR may have to be made again, from files that may have changed since. */
static HdStatus kernel_ir(CodeJob *j, IrFunc **out) {
  HdModule *m = j->k->module;
  char now[33];
  HD_TRY(hdapi_module_ir(m));
  IrFunc *fn = hdir_func_find(m->ir, j->k->of->sig.kernel);
  if (fn) hdapi_ir_hash(fn, &j->scratch, now);
  if (!fn || strcmp(now, j->k->of->ir) != 0)
    return hdb_fail(&m->ctx->err, HD_ERR_SOURCE, "",
                    "a file that '%.200s' imports has changed since the module was loaded; load it again", m->name);
  *out = hdapi_alone(fn, &j->scratch);
  return HD_OK;
}

static HdStatus optimise(HdError *err, IrModule *m, const char *kernel, const PtxTarget *gpu) {
  OptContext cx = {.err = err, .units = gpu ? hdptx_units(gpu) : CPU_UNITS};
  HD_TRY(hdopt_run(m, gpu ? "gpu" : "cpu", &cx));
  if (hdir_verify(m, err) == HD_OK) return HD_OK;
  return hdb_fail(err, HD_ERR_COMPILE, kernel, "the passes left invalid IR: %s", err->detail);
}

static HdStatus compile_cpu(CodeJob *j, const IrFunc *fn, RtArtifact *out) {
  HdKernel *k = j->k;
  CpuOptions o = hdapi_cpu_options(k->module, j->variant == CODE_DENSE);
  CpuCode code = {0};
  HD_TRY(hdcpu_compile(fn, &j->target, &o, CPU_EMIT_OBJECT, &j->scratch, j->err, &code));
  k->times.widen += code.widen_ms;
  k->times.llvm_parse += code.parse_ms;
  k->times.llvm_opt += code.opt_ms;
  k->times.llvm_emit += code.emit_ms;
  uint32_t nimports;
  const RtImport *imports = hdapi_imports(fn->module, &j->scratch, &nimports);
  *out = (RtArtifact){.sig = k->of->sig,
                      .kind = RT_CODE_OBJECT,
                      .nimports = nimports,
                      .imports = imports,
                      .symbol = code.symbol,
                      .code = code.object,
                      .code_size = code.object_size,
                      .width = code.width};
  return HD_OK;
}

static HdStatus compile_ptx(CodeJob *j, const IrFunc *fn, RtArtifact *out) {
  HdKernel *k = j->k;
  PtxOptions o = ptx_options(j);
  PtxCode code = {0};
  HD_TRY(hdptx_compile(fn, &j->ptx, &o, PTX_EMIT_PTX, &j->scratch, j->err, &code));
  k->times.widen += code.print_ms;
  k->times.llvm_parse += code.parse_ms;
  k->times.llvm_opt += code.opt_ms;
  k->times.llvm_emit += code.emit_ms;
  RtSite *sites = HDB_NEW_N(&j->scratch, RtSite, code.sites.n);
  for (uint32_t i = 0; i < code.sites.n; i++) {
    const PtxSite *s = &code.sites.at[i];
    sites[i] = (RtSite){s->text ? s->text : "", s->file ? s->file : "", s->line, s->column, s->prints};
  }
  *out = (RtArtifact){.sig = k->of->sig,
                      .kind = RT_CODE_PTX,
                      .symbol = code.symbol,
                      .code = code.ptx,
                      .code_size = code.ptx_size + 1,
                      .nsites = code.sites.n,
                      .sites = sites,
                      .rank = code.rank,
                      .block = code.block,
                      .shared = code.shared,
                      .width = 1};
  return HD_OK;
}

/* Needs nothing of the context but what does not change: several threads do this at once. */
static HdStatus translate(CodeJob *j) {
  HdKernel *k = j->k;
  double start = hdapi_ms();
  HdStatus status = optimise(j->err, j->fn->module, k->of->sig.kernel, on_gpu(j) ? &j->ptx : NULL);
  k->times.passes += hdapi_ms() - start;
  HD_TRY(status);
  IrFunc *fn = hdir_func_find(j->fn->module, k->of->sig.kernel);
  HD_TRY(on_gpu(j) ? compile_ptx(j, fn, &j->made) : compile_cpu(j, fn, &j->made));
  j->ms = hdapi_ms() - start;
  return HD_OK;
}

/* Load what was made, and keep it in the cache. */
static HdStatus finish(CodeJob *j) {
  HdKernel *k = j->k;
  HdContext *ctx = k->module->ctx;
  RtArtifact a = j->made;
  hdapi_log(ctx, HD_LOG_INFO, "kernel '%s' was compiled for %s in %.1f ms, %d lanes%s", k->of->sig.kernel,
            hdapi_device_name(k->device), j->ms, a.width, j->variant == CODE_DENSE ? "" : ", for arrays with gaps");
  HD_TRY(load_code(j, &a));
  hdrt_put_artifact(&j->w, &a);
  if (j->w.failed) return hdb_fail(&ctx->err, HD_ERR_NOMEM, "", "%zu bytes for an entry of the cache", a.code_size);
  char target[96];
  if (on_gpu(j))
    snprintf(target, sizeof target, "%s", j->ptx.cpu);
  else
    snprintf(target, sizeof target, "%s w%d", j->target.cpu, a.width);
  return hdrt_cache_put(&ctx->cache, RT_CACHE_CODE, j->fields, k->of->sig.kernel, target, j->w.data, j->w.len,
                        &ctx->err);
}

static HdStatus find_target(CodeJob *j) {
  HdModule *m = j->k->module;
  if (!on_gpu(j)) return hdapi_module_target(m, NULL, &j->scratch, true, &j->target);
  int32_t level = hdapi_gpu_level(m->ctx, j->k->device);
  /* PTX for an older GPU runs on a newer one: the newest target that is not newer than the device. */
  for (uint32_t i = 0; hdptx_target_name(i); i++) {
    PtxTarget t;
    HD_TRY(hdptx_target(hdptx_target_name(i), &j->scratch, &m->ctx->err, &t));
    if (t.sm <= level && t.sm > j->ptx.sm) j->ptx = t;
  }
  if (j->ptx.sm) return HD_OK;
  return hdb_fail(&m->ctx->err, HD_ERR_TARGET, "device", "%s is sm_%d; sm_70 and newer are supported",
                  hdapi_device_name(j->k->device), level);
}

/* All that stands before translating. */
static HdStatus prepare(void *job) {
  CodeJob *j = job;
  HD_TRY(find_target(j));
  HD_TRY(put_fields(j));
  HD_TRY(from_cache(j));
  if (j->hit) return HD_OK;
  HD_TRY(kernel_ir(j, &j->fn));
  j->k->times.front = j->k->module->front_ms;
  return HD_OK;
}

static HdStatus finish_job(void *job) { return finish(job); }

static HdStatus make_code(void *job) {
  CodeJob *j = job;
  HD_TRY(prepare(j));
  if (j->hit) return HD_OK;
  HD_TRY(translate(j));
  return finish(j);
}

static HdStatus end_job(CodeJob *j, HdStatus status) {
  HdKernel *k = j->k;
  HdContext *ctx = k->module->ctx;
  hdapi_keep_where(ctx);
  hdrt_writer_free(&j->w);
  hdrt_entry_free(&ctx->cache, &j->file);
  hdb_arena_free(&j->scratch);
  if (status != HD_OK) {
    k->rt->ops->unload(k->rt, &j->code);
    return status;
  }
  k->code[j->variant] = j->code;
  k->code[j->variant].owner = k;
  k->has[j->variant] = true;
  k->from_cache = j->hit;
  return HD_OK;
}

static HdStatus machine_code(HdKernel *k, int variant) {
  HdContext *ctx = k->module->ctx;
  CodeJob j = {.k = k, .variant = variant, .w = {.mem = &ctx->mem}, .err = &ctx->err};
  hdb_arena_init(&j.scratch, &ctx->mem);
  return end_job(&j, hdapi_guard(ctx, &k->module->arena, &j.scratch, make_code, &j));
}

/* --- the interpreter --- */

typedef struct Report {
  const RtSpan *span;
  const IrModule *module;
} Report;

static void put_fault(RtFault *f, const char *text) {
  f->state = 2;
  f->text = text;
  f->file = "";
  f->line = f->column = f->has_index = f->status = 0;
  memset(f->tid, 0, sizeof f->tid);
}

static void report(void *user, const IrInst *inst, const int64_t tid[HD_MAX_DIMS], int64_t index, int64_t limit) {
  const Report *r = user;
  RtFault *f = r->span->fault;
  if (f->state) return;
  put_fault(f, inst->text);
  if (inst->loc.line && inst->loc.file < r->module->nfiles) f->file = r->module->files[inst->loc.file];
  f->line = (int32_t)inst->loc.line;
  f->column = (int32_t)inst->loc.column;
  f->has_index = inst->op == IR_check;
  f->index = index;
  f->limit = limit;
  memcpy(f->tid, tid, sizeof f->tid);
}

static void print(void *user, const char *format, const int64_t tid[HD_MAX_DIMS], uint32_t n, const uint64_t values[]) {
  const Report *r = user;
  r->span->print(r->span, tid[r->span->ndim - 1], format, (int32_t)n, values);
}

static void run_interpreter(const void *args, const RtSpan *span, void *user) {
  const RtHost *host = user;
  const InterpCode *code = host->user;
  HdError err;
  Report r = {span, code->kernel->module};
  InterpLaunch l = {.kernel = code->kernel,
                    .args = args,
                    .ndim = span->ndim,
                    .begin = span->begin,
                    .end = span->end,
                    .nfunctions = code->nfunctions,
                    .functions = code->functions,
                    .report = report,
                    .print = print,
                    .user = &r};
  memcpy(l.dim, span->dim, sizeof l.dim);
  memcpy(l.at, span->at, sizeof l.at);
  HdStatus status = hdinterp_run(&l, host->mem ? host->mem : &hdb_system_allocator, &err);
  if (status == HD_OK || span->fault->state) return;
  put_fault(span->fault, status == HD_ERR_NOMEM   ? "the interpreter ran out of memory"
                         : status == HD_ERR_FAULT ? "a thread came to a place that is never to be reached"
                                                  : "the interpreter cannot run this");
  span->fault->status = status;
}

static HdStatus bind_interpreter(HdKernel *k) {
  HdModule *m = k->module;
  uint32_t n;
  RtImport *imports = hdapi_imports(k->interp.kernel->module, &m->arena, &n);
  InterpFunction *functions = HDB_NEW_N(&m->arena, InterpFunction, n + 1);
  HD_TRY(hdapi_bind(m, k->of->sig.kernel, n, imports));
  if (n) HD_TRY(hdinterp_calls_c(&m->ctx->err));
  for (uint32_t i = 0; i < n; i++) functions[i] = (InterpFunction){imports[i].name, imports[i].address};
  k->interp.nfunctions = n;
  k->interp.functions = functions;
  return HD_OK;
}

static HdStatus interp_code(void *job) {
  HdKernel *k = job;
  HdModule *m = k->module;
  OptContext cx = {.err = &m->ctx->err};
  HD_TRY(hdapi_module_ir(m));
  IrFunc *fn = hdir_func_find(m->ir, k->of->sig.kernel);
  if (!fn)
    return hdb_fail(&m->ctx->err, HD_ERR_SOURCE, "", "'%.200s' has changed since it was loaded; load it again",
                    m->name);
  /* what machine code is refused for is refused here, too */
  if (fn->group) HD_TRY(hdopt_run(hdapi_alone(fn, &m->arena)->module, "cpu", &cx));
  IrFunc *alone = hdapi_alone(fn, &m->arena);
  HD_TRY(hdopt_run(alone->module, "canon", &cx));
  k->interp.kernel = hdir_func_find(alone->module, k->of->sig.kernel);
  HD_TRY(bind_interpreter(k));
  k->times.front = m->front_ms;
  RtArtifact a = {
      .sig = k->of->sig, .kind = RT_CODE_HOST, .host = run_interpreter, .host_user = &k->interp, .width = 1};
  HD_TRY(k->rt->ops->load(k->rt, &a, &m->ctx->err, &k->code[CODE_DENSE]));
  k->code[CODE_DENSE].owner = k;
  k->code[CODE_GENERAL] = k->code[CODE_DENSE];
  k->has[CODE_DENSE] = k->has[CODE_GENERAL] = true;
  return HD_OK;
}

/* --- kernels --- */

HdStatus hdapi_kernel_code(HdKernel *k, int variant, const RtCode **out) {
  if (!k->has[variant]) {
    HdStatus status = k->device.kind == HD_DEVICE_INTERP
                          ? hdapi_guard(k->module->ctx, &k->module->arena, NULL, interp_code, k)
                          : machine_code(k, variant);
    HD_TRY(status);
  }
  *out = &k->code[variant];
  return HD_OK;
}

void hdapi_kernel_end(HdKernel *k) {
  for (int v = 0; v < CODE_VARIANTS; v++)
    if (k->has[v]) k->rt->ops->unload(k->rt, &k->code[v]);
}

static HdStatus not_found(HdModule *m, const char *name) {
  char list[400] = "";
  size_t n = 0;
  for (uint32_t i = 0; i < m->nkernels && n < sizeof list; i++)
    n += (size_t)snprintf(list + n, sizeof list - n, "%s'%s'", i ? ", " : "", m->kernels[i].sig.kernel);
  if (m->nkernels == 0)
    return hdb_fail(&m->ctx->err, HD_ERR_NOT_FOUND, "name", "'%.60s': the module has no kernels", name);
  return hdb_fail(&m->ctx->err, HD_ERR_NOT_FOUND, "name", "'%.60s' is no kernel; there are %s", name, list);
}

static HdStatus new_kernel(void *job) {
  HdKernel **k = job;
  *k = HDB_NEW(&(*k)->module->arena, HdKernel);
  return HD_OK;
}

/* A kernel without code. */
static HdStatus start_kernel(HdModule *m, const ModKernel *of, HdDevice device, RtDevice *rt, HdKernel **out) {
  HdContext *ctx = m->ctx;
  HdKernel head = {.module = m}, *k = &head;
  if (of->sig.args_size > RT_MAX_ARGS)
    return hdb_fail(&ctx->err, HD_ERR_UNSUPPORTED, "name",
                    "the parameters of kernel '%s' take %u bytes; at most %d are possible", of->sig.kernel,
                    of->sig.args_size, RT_MAX_ARGS);
  HD_TRY(hdapi_guard(ctx, &m->arena, NULL, new_kernel, &k));
  k->module = m;
  k->of = of;
  k->device = device;
  k->rt = rt;
  *out = k;
  return HD_OK;
}

static void keep_kernel(HdKernel *k) {
  k->next = k->module->made;
  k->module->made = k;
}

static HdStatus make_kernel(HdModule *m, const ModKernel *of, HdDevice device, RtDevice *rt, HdKernel **out) {
  HdKernel *k;
  const RtCode *code;
  HD_TRY(start_kernel(m, of, device, rt, &k));
  HD_TRY(hdapi_kernel_code(k, CODE_DENSE, &code));
  keep_kernel(k);
  *out = k;
  return HD_OK;
}

static HdKernel *find_made(HdModule *m, const char *name, HdDevice device) {
  for (HdKernel *k = m->made; k; k = k->next)
    if (k->device.kind == device.kind && k->device.index == device.index && strcmp(k->of->sig.kernel, name) == 0)
      return k;
  return NULL;
}

static HdStatus module_kernel(HdModule *m, const char *name, HdDevice device, HdKernel **out) {
  RtDevice *rt;
  if (!name || !out) return hdb_fail(&m->ctx->err, HD_ERR_ARG, name ? "out" : "name", "it is NULL");
  HD_TRY(hdapi_device(m->ctx, device, "device", &rt));
  HdKernel *made = find_made(m, name, device);
  if (made) {
    *out = made;
    return HD_OK;
  }
  for (uint32_t i = 0; i < m->nkernels; i++)
    if (strcmp(m->kernels[i].sig.kernel, name) == 0) return make_kernel(m, &m->kernels[i], device, rt, out);
  return not_found(m, name);
}

HdStatus hd_module_kernel(HdModule *module, const char *name, HdDevice device, HdKernel **out) {
  if (!module) return HD_ERR_ARG;
  hdapi_begin(module->ctx);
  return hdapi_end(module->ctx, "hd_module_kernel", module_kernel(module, name, device, out));
}

/* --- all kernels, several at once --- */

enum { AT_ONCE = 32 }; /* kernels whose memory is held at one time */

typedef struct Batch {
  uint32_t n;
  CodeJob *jobs[AT_ONCE]; /* to translate */
  CodeJob job[AT_ONCE];
  HdError err[AT_ONCE];
} Batch;

/* On any thread; the context's allocator is the caller's, so the arena here is of the system's memory. */
static void translate_item(void *batch, int64_t i) {
  CodeJob *j = ((Batch *)batch)->jobs[i];
  jmp_buf jb, *outer = j->scratch.on_oom;
  volatile HdStatus status = HD_ERR_NOMEM;
  HDB_GUARD(&j->scratch, jb) status = translate(j);
  else status = hdb_fail(j->err, HD_ERR_NOMEM, "", "the system has no more");
  j->scratch.on_oom = outer;
  j->status = status;
}

/* Keep the first failure of all. */
static void note_failure(HdContext *ctx, HdStatus status, HdStatus *first, HdError *kept) {
  if (status == HD_OK || *first != HD_OK) return;
  *first = status;
  *kept = ctx->err;
}

static void prepare_batch(Batch *b, HdModule *m, uint32_t from, uint32_t to, HdDevice device, RtDevice *rt) {
  HdContext *ctx = m->ctx;
  uint32_t n = 0;
  for (uint32_t i = from; i < to; i++) {
    if (find_made(m, m->kernels[i].sig.kernel, device)) continue;
    CodeJob *j = &b->job[b->n];
    *j = (CodeJob){.variant = CODE_DENSE, .w = {.mem = &ctx->mem}, .err = &b->err[b->n]};
    hdb_arena_init(&j->scratch, &hdb_system_allocator);
    j->status = start_kernel(m, &m->kernels[i], device, rt, &j->k);
    if (j->status == HD_OK) j->status = hdapi_guard(ctx, &m->arena, &j->scratch, prepare, j);
    if (j->status != HD_OK) *j->err = ctx->err;
    if (j->status == HD_OK && !j->hit) b->jobs[n++] = j;
    b->n++;
  }
  hdrt_threads_run(ctx->threads, n, true, translate_item, b);
}

static void finish_batch(Batch *b, HdModule *m, HdStatus *first, HdError *kept) {
  for (uint32_t i = 0; i < b->n; i++) {
    CodeJob *j = &b->job[i];
    HdStatus status = j->status;
    if (status != HD_OK) m->ctx->err = *j->err;
    if (status == HD_OK && !j->hit) status = hdapi_guard(m->ctx, &m->arena, &j->scratch, finish_job, j);
    if (*first != HD_OK) hdapi_begin(m->ctx); /* the record that counts keeps its file's name */
    if (j->k) status = end_job(j, status);
    if (status == HD_OK) keep_kernel(j->k);
    note_failure(m->ctx, status, first, kept);
  }
}

static HdStatus compile_all(HdModule *m, HdDevice device) {
  HdContext *ctx = m->ctx;
  RtDevice *rt;
  HdStatus first = HD_OK;
  HdError kept = {0};
  HD_TRY(hdapi_device(ctx, device, "device", &rt));
  Batch *b = ctx->mem.resize(ctx->mem.user, NULL, 0, sizeof *b);
  if (!b) return hdb_fail(&ctx->err, HD_ERR_NOMEM, "", "%zu bytes to compile", sizeof *b);
  for (uint32_t i = 0; i < m->nkernels; i += AT_ONCE) {
    b->n = 0;
    prepare_batch(b, m, i, m->nkernels - i < AT_ONCE ? m->nkernels : i + AT_ONCE, device, rt);
    finish_batch(b, m, &first, &kept);
  }
  ctx->mem.resize(ctx->mem.user, b, sizeof *b, 0);
  if (first != HD_OK) ctx->err = kept;
  return first;
}

static HdStatus interpret_all(HdModule *m, HdDevice device) {
  HdKernel *k;
  for (uint32_t i = 0; i < m->nkernels; i++) HD_TRY(module_kernel(m, m->kernels[i].sig.kernel, device, &k));
  return HD_OK;
}

HdStatus hd_module_compile(HdModule *module, HdDevice device) {
  if (!module) return HD_ERR_ARG;
  hdapi_begin(module->ctx);
  HdStatus status = device.kind == HD_DEVICE_INTERP ? interpret_all(module, device) : compile_all(module, device);
  return hdapi_end(module->ctx, "hd_module_compile", status);
}

/* --- facts --- */

int32_t hd_kernel_param_count(const HdKernel *kernel) { return kernel ? (int32_t)kernel->of->sig.nparams : 0; }

HdParam hd_kernel_param(const HdKernel *kernel, int32_t i) {
  HdParam r;
  memset(&r, 0, sizeof r);
  if (!kernel || i < 0 || (uint32_t)i >= kernel->of->sig.nparams) return r;
  const RtParam *p = &kernel->of->sig.params[i];
  return (HdParam){p->name, p->type, p->ndim, p->writes};
}

const char *hd_kernel_name(const HdKernel *kernel) { return kernel ? kernel->of->sig.kernel : NULL; }

int32_t hd_kernel_width(const HdKernel *kernel) { return kernel ? kernel->code[CODE_DENSE].width : 0; }

bool hd_kernel_from_cache(const HdKernel *kernel) { return kernel && kernel->from_cache; }

HdTimes hd_kernel_times(const HdKernel *kernel) {
  HdTimes none;
  memset(&none, 0, sizeof none);
  return kernel ? kernel->times : none;
}

/* --- the key, for those who ask --- */

static HdStatus keep_fields(void *job) {
  CodeJob *j = job;
  HdModule *m = j->k->module;
  HD_TRY(hdapi_module_target(m, NULL, &j->scratch, true, &j->target));
  HD_TRY(put_fields(j));
  j->fields = hdb_strdup(&m->arena, j->fields);
  return HD_OK;
}

HdStatus hdapi_code_fields(HdModule *m, const char *kernel, const char **out) {
  HdKernel k = {.module = m, .device = {HD_DEVICE_CPU, 0}};
  CodeJob j = {.k = &k, .variant = CODE_DENSE};
  for (uint32_t i = 0; i < m->nkernels; i++)
    if (strcmp(m->kernels[i].sig.kernel, kernel) == 0) k.of = &m->kernels[i];
  if (!k.of) return not_found(m, kernel);
  hdb_arena_init(&j.scratch, &m->ctx->mem);
  HdStatus status = hdapi_guard(m->ctx, &m->arena, &j.scratch, keep_fields, &j);
  hdb_arena_free(&j.scratch);
  if (status == HD_OK) *out = j.fields;
  return status;
}
