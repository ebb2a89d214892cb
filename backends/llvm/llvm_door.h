/* backends/llvm/llvm_door.h -- the one door to LLVM.
 *
 * The library (19 to 22) is opened at the first use, by dlopen, and its functions are looked up by name: a process that
 * finds its kernels in the cache never loads it. HEDDLE_LLVM names a library file; else the usual sonames are tried. The
 * handles are opaque here; llvm_door.c alone knows LLVM's headers.
 */
#ifndef LLVM_DOOR_H
#define LLVM_DOOR_H

#include "base/buf.h"
#include "base/fail.h"
HD_BEGIN_DECLS

typedef struct LlvmJob {
  const char *name;     /* of the kernel, for messages                               */
  const char *text;     /* LLVM IR                                                   */
  size_t      text_len;
  const char *triple, *cpu, *features;
  const char *passes;   /* a new-pass-manager pipeline, or NULL for none             */
  int32_t     codegen;  /* 0 to 3                                                    */
  bool        want_text, want_asm, want_object;
} LlvmJob;

typedef struct LlvmResult { /* bytes in the arena that the job was given */
  const char *text;       /* after the passes */
  const char *assembly;
  const void *object;
  size_t      object_size;
  double      parse_ms, opt_ms, emit_ms;
} LlvmResult;

/* Open the library now. HD_ERR_LLVM lists each path tried and why it was refused. Threads: any; once a process. */
HdStatus hdllvm_open(HdError *err);
/* "22.1.8" of the opened library, or NULL. `path` may be NULL. */
const char *hdllvm_version(const char **path);
/* Compile. HD_ERR_COMPILE has the kernel's name and LLVM's message. Threads: any number at once. */
HdStatus hdllvm_run(const LlvmJob *job, Arena *a, HdError *err, LlvmResult *out);

HD_END_DECLS
#endif
