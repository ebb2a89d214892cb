/* backends/cpu/cpu.h -- IR to machine code of this or another CPU: widening to SIMD lanes, LLVM text, objects. */
#ifndef CPU_H
#define CPU_H

#include "ir/ir.h"
HD_BEGIN_DECLS

typedef enum CpuIsa { CPU_SSE4 = 1, CPU_AVX2, CPU_AVX512, CPU_NEON } CpuIsa;

typedef struct CpuTarget {
  CpuIsa      isa;
  const char *triple;   /* "x86_64-pc-linux-gnu"                      */
  const char *cpu;      /* LLVM's name: "x86-64-v3", "znver5"         */
  const char *features; /* LLVM's list: "+avx2,+fma,..."              */
  bool        is_host;
} CpuTarget;

typedef struct CpuOptions {
  int32_t width;     /* lanes of a gang: 1, 2, 4, 8, 16, 32; 0 lets the analysis choose                          */
  bool    dense;     /* every array parameter is row-major without gaps (stride of the last axis 1)              */
  bool    padded;    /* every array has 64 readable bytes before and after                                       */
  bool    fast;      /* approximations allowed                                                                   */
  int32_t opt_level; /* 0 no LLVM passes and quick selection, 2 the default                                      */
} CpuOptions;

enum { CPU_UNITS = 1u << IR_UNIT_gang }; /* what its kernels find: a bit 1 << unit for each IrUnit */

/* "host", "x86-64-v2" (SSE4), "x86-64-v3" (AVX2), "x86-64-v4" (AVX-512), "aarch64". HD_ERR_TARGET names them all.
 * Needs no LLVM: the host is read from cpuid. */
HdStatus hdcpu_target(const char *name, Arena *a, HdError *err, CpuTarget *out);

typedef struct CpuCode {
  const char *symbol;     /* "hd_<kernel>": the entry, an RtEntry (runtime/artifact.h)  */
  const char *llvm;       /* LLVM text, if it was asked for                             */
  const void *object;     /* a relocatable ELF object, in the arena                     */
  size_t      object_size;
  const char *assembly;   /* if it was asked for                                        */
  int32_t     width;      /* as chosen                                                  */
  double      widen_ms, parse_ms, opt_ms, emit_ms;
} CpuCode;

typedef enum CpuEmit { CPU_EMIT_LLVM = 1, CPU_EMIT_LLVM_OPT = 2, CPU_EMIT_ASM = 4, CPU_EMIT_OBJECT = 8 } CpuEmit;

/* Compile one kernel, which the `cpu` pipeline (passes/passes.h) has taken down to scalars without calls. Everything in
 * *out lives in `a`. HD_ERR_LLVM if the library cannot be had, HD_ERR_COMPILE with the kernel's name otherwise. */
HdStatus hdcpu_compile(const IrFunc *kernel, const CpuTarget *target, const CpuOptions *options, unsigned emit, Arena *a,
                       HdError *err, CpuCode *out);

/* The text alone; no LLVM needed. */
HdStatus hdcpu_widen(const IrFunc *kernel, const CpuTarget *target, const CpuOptions *options, Buf *text, HdError *err,
                     int32_t *width);

HD_END_DECLS
#endif
