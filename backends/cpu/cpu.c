/* backends/cpu/cpu.c -- a kernel from IR to object code: widen, hand the text to LLVM, check what comes back. */
#include "backends/cpu/widen.h"
#include "backends/llvm/llvm_door.h"

#include <time.h>

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Our own passes have done the work; what is left is what widening makes twice (splats, address sums). No loop pass:
 * rotation brings masks back to i1. */
static const char *passes_of(int32_t opt_level) { return opt_level > 0 ? "function(early-cse)" : NULL; }

static HdStatus check_object(const IrFunc *kernel, const CpuCode *code, Arena *a, HdError *err) {
  const char *foreign = hdcpu_foreign_symbol(code->object, code->object_size, a);
  if (!foreign) return HD_OK;
  return hdb_fail(err, HD_ERR_COMPILE, kernel->name, "the code of kernel '%s' would call %s", kernel->name, foreign);
}

HdStatus hdcpu_compile(const IrFunc *kernel, const CpuTarget *target, const CpuOptions *options, unsigned emit,
                       Arena *a, HdError *err, CpuCode *out) {
  CpuCode code = {.symbol = hdb_printf(a, "hd_%s", kernel->name)};
  Buf text;
  double start = now_ms();
  hdb_buf_init(&text, a);
  HD_TRY(hdcpu_widen(kernel, target, options, &text, err, &code.width));
  code.widen_ms = now_ms() - start;
  if (emit & CPU_EMIT_LLVM) code.llvm = text.data;
  LlvmJob job = {.name = kernel->name,
                 .text = text.data,
                 .text_len = text.len,
                 .triple = target->triple,
                 .cpu = target->cpu,
                 .features = target->features,
                 .passes = passes_of(options->opt_level),
                 .codegen = options->opt_level > 0 ? 2 : 0};
  /* Emission changes LLVM's module, so assembly and object are a job each. */
  LlvmResult result = {0};
  if (emit & (CPU_EMIT_LLVM_OPT | CPU_EMIT_OBJECT)) {
    job.want_text = emit & CPU_EMIT_LLVM_OPT;
    job.want_object = emit & CPU_EMIT_OBJECT;
    HD_TRY(hdllvm_run(&job, a, err, &result));
    if (job.want_text) code.llvm = result.text;
    code.object = result.object;
    code.object_size = result.object_size;
    code.parse_ms = result.parse_ms;
    code.opt_ms = result.opt_ms;
    code.emit_ms = result.emit_ms;
    if (job.want_object) HD_TRY(check_object(kernel, &code, a, err));
  }
  if (emit & CPU_EMIT_ASM) {
    job.want_text = job.want_object = false;
    job.want_asm = true;
    HD_TRY(hdllvm_run(&job, a, err, &result));
    code.assembly = result.assembly;
  }
  *out = code;
  return HD_OK;
}
