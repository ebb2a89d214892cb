/* backends/nvptx/nvptx.c -- a kernel from IR to PTX: print LLVM text, hand it to LLVM. */
#include "backends/llvm/llvm_door.h"
#include "backends/nvptx/lower.h"

#include <stdlib.h>
#include <time.h>

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Our own passes have done the work; what is left is what printing makes twice (address sums), the loops that lower_rounds.c
 * marks, alone, and which pairs of halves for a product of matrices can be loaded at once. LLVM's selection for NVPTX brings
 * its own passes over addresses. */
#define SUMS "early-cse"
#define ROUNDS                                                                                                         \
  "loop-simplify,lcssa,loop(loop-rotate),"                                                                             \
  "loop-unroll<no-partial;no-runtime;no-peeling;no-profile-peeling;no-upperbound>,early-cse"
#define PAIRS "infer-alignment"
static const char *passes_of(int32_t opt_level, const char *llvm) {
  if (opt_level <= 0) return NULL;
  bool rounds = strstr(llvm, "!llvm.loop");
  if (strstr(llvm, "@llvm.nvvm.mma."))
    return rounds ? "function(" SUMS "," ROUNDS "," PAIRS ")" : "function(" SUMS "," PAIRS ")";
  return rounds ? "function(" SUMS "," ROUNDS ")" : "function(" SUMS ")";
}

/* LLVM ends the process on a target that it does not know. 22 knows all of ours, 19 those up to sm_90, whose code newer
 * GPUs run too; so do 20 and 21 what 19 is asked for. */
static HdStatus known_target(const PtxTarget *want, Arena *a, HdError *err, PtxTarget *out) {
  HD_TRY(hdllvm_open(err));
  const char *version = hdllvm_version(NULL);
  *out = *want;
  bool knows_all = version && strtol(version, NULL, 10) >= 22;
  return knows_all || want->sm <= 90 ? HD_OK : hdptx_target("sm_90", a, err, out);
}

HdStatus hdptx_compile(const IrFunc *kernel, const PtxTarget *target, const PtxOptions *options, unsigned emit,
                       Arena *a, HdError *err, PtxCode *out) {
  PtxCode code = {.symbol = hdptx_symbol(kernel, a),
                  .rank = hdptx_rank(kernel),
                  .block = hdptx_block(kernel, options),
                  .shared = hdptx_shared_size(kernel),
                  .sm = target->sm};
  if (code.shared <= PTX_STATIC_SHARED) code.shared = 0;
  PtxTarget known = *target;
  Buf text;
  if (emit & (PTX_EMIT_LLVM_OPT | PTX_EMIT_PTX)) HD_TRY(known_target(target, a, err, &known));
  double start = now_ms();
  hdb_buf_init(&text, a);
  HD_TRY(hdptx_print(kernel, &known, options, &text, err, &code.sites));
  code.print_ms = now_ms() - start;
  code.sm = known.sm;
  if (emit & PTX_EMIT_LLVM) code.llvm = text.data;
  if (emit & (PTX_EMIT_LLVM_OPT | PTX_EMIT_PTX)) {
    LlvmJob job = {.name = kernel->name,
                   .text = text.data,
                   .text_len = text.len,
                   .triple = "nvptx64-nvidia-cuda",
                   .cpu = known.cpu,
                   .features = known.features,
                   .passes = passes_of(options->opt_level, text.data),
                   .codegen = options->opt_level > 0 ? 2 : 0,
                   .want_text = emit & PTX_EMIT_LLVM_OPT,
                   .want_asm = emit & PTX_EMIT_PTX};
    LlvmResult result = {0};
    HD_TRY(hdllvm_run(&job, a, err, &result));
    if (job.want_text) code.llvm = result.text;
    code.ptx = result.assembly;
    code.ptx_size = result.assembly ? strlen(result.assembly) : 0;
    code.parse_ms = result.parse_ms;
    code.opt_ms = result.opt_ms;
    code.emit_ms = result.emit_ms;
  }
  *out = code;
  return HD_OK;
}
