/* backends/nvptx/nvptx.h -- IR to PTX: a kernel as the code of one GPU thread, in LLVM text, and what LLVM makes of it.
 *
 * Neither a GPU nor a driver is needed. What a kernel looks like to whoever launches it:
 *
 *     .entry hd_<kernel>(.param .b8 args[], .param .b8 launch[PTX_LAUNCH_SIZE])
 *
 *     args    the argument block of runtime/artifact.h; arrays are { ptr, i64 length[ndim], i64 stride[ndim] }. A kernel
 *             without parameters takes 8 bytes that it does not read.
 *     launch  the fields at PTX_LAUNCH_..
 *
 * A launch is a 1-D grid (its y may be more than 1, see below) of 1-D blocks. Thread n = ctaid.x * ntid.x + tid.x runs if
 * n < count. Let r be PtxCode.rank, the axes that the kernel looks at, at least 1. The r coordinates are n's digits:
 * axis r-1 changes fastest, with `len[k]` threads along axis k, and axis k starts at at[k]. So count is the product of
 * len[0..r), at most 2^31 - 1: a launch of more is cut into pieces along its outer axes. Axis r-1 is never cut; at[r-1] is
 * not read and taken as 0. Axes from r on, which the kernel does not look at, are repetitions: other launches, or
 * ctaid.y.
 *
 * A block of a kernel with groups is a group: the last axis that it looks at, r-1, is whole groups, and so is each piece.
 *
 * Division by len[k] takes its mul and shift: shift = the least s with 2^s >= len, mul = floor(2^32 * (2^shift - len) /
 * len) + 1; then n / len = (high32(n * mul) + n) >> shift for n < 2^31 (Granlund and Montgomery, PLDI 1994). len[0] and
 * what belongs to it is not read.
 *
 * An entry that prints has a third parameter, fields at PTX_PRINTING_... Each print adds its record's size to the bytes used,
 * and writes the record there if it ends within the room, else adds to the records lost.
 *
 * The first assert or check that fails fills in the record at `fault`, in device memory, fields at PTX_FAULT_..; it may
 * be null for a kernel without any. `site` counts in PtxCode.sites.
 */
#ifndef NVPTX_H
#define NVPTX_H

#include "ir/ir.h"
HD_BEGIN_DECLS

enum {
  PTX_LAUNCH_DIM = 0,    /* i64[4]: threads of the whole launch along each axis, 1 beyond its last */
  PTX_LAUNCH_COUNT = 32, /* i64                                                                   */
  PTX_LAUNCH_FAULT = 40, /* ptr                                                                   */
  PTX_LAUNCH_AT = 48,    /* i32[4]                                                                */
  PTX_LAUNCH_LEN = 64,   /* u32[4]                                                                */
  PTX_LAUNCH_MUL = 80,   /* u32[4]                                                                */
  PTX_LAUNCH_SHIFT = 96, /* u32[4]                                                                */
  PTX_LAUNCH_SIZE = 112,

  PTX_PRINTING_AT = 0,      /* ptr: the memory for records, which starts with two i64: bytes used, records lost */
  PTX_PRINTING_ROOM = 8,    /* i64: bytes behind those two                                                      */
  PTX_PRINTING_LAUNCH = 16, /* i64                                                                              */
  PTX_PRINTING_SIZE = 24,
  PTX_PRINT_SITE = 0,       /* i32: the site's number + 1                      */
  PTX_PRINT_LAUNCH = 4,     /* i32                                             */
  PTX_PRINT_TID = 8,        /* i32[4]; axis r is ctaid.y                       */
  PTX_PRINT_VALUES = 24,    /* i64 each                                        */

  PTX_FAULT_STATE = 0,      /* i32: 0 none, 1 being written, 2 complete       */
  PTX_FAULT_SITE = 4,       /* i32                                            */
  PTX_FAULT_HAS_INDEX = 8,  /* i64                                            */
  PTX_FAULT_INDEX = 16,     /* i64                                            */
  PTX_FAULT_LIMIT = 24,     /* i64                                            */
  PTX_FAULT_TID = 32,       /* i64[4]; axis r is ctaid.y                      */
  PTX_FAULT_SIZE = 64,
};

enum { PTX_SMALL_MARGIN = 1 << 20, PTX_SMALL = INT32_MAX - PTX_SMALL_MARGIN };

enum { PTX_STATIC_SHARED = 48 << 10 }; /* bytes of shared memory that a block has without its launch asking for them */

enum { PTX_WIDEST = 16 }; /* bytes of one load or store */
/* Alignment of arrays whose elements have `size` bytes: the power of two in it, up to PTX_WIDEST. */
uint32_t hdptx_array_align(uint32_t size);

typedef struct PtxTarget {
  int32_t     sm;          /* 90 for sm_90                                    */
  int32_t     ptx_version; /* 78 for 7.8: the oldest that knows the target    */
  uint32_t    shared;      /* bytes that a block may share                     */
  const char *cpu;         /* LLVM's name: "sm_90"                            */
  const char *features;    /* LLVM's list: "+ptx78"                           */
} PtxTarget;

typedef struct PtxOptions {
  bool    dense;     /* every array parameter is row-major without gaps (stride of the last axis 1), and aligned as hdptx_array_align */
  bool    small;     /* no array spans more than PTX_SMALL elements: offsets are computed in 32 bits              */
  bool    fast;      /* approximate f32 division and square root, f32 denormals become zero; pass approx has the functions */
  int32_t opt_level; /* 0 no LLVM passes and quick selection, 2 the default                                      */
  int32_t block;     /* the most threads of a block, 1 to 1024, for register allocation; 0: 256                  */
} PtxOptions;

typedef struct PtxSite { /* of an assert, check or print */
  const char *text, *file; /* file is NULL if unknown */
  int32_t     line, column;
  bool        prints;
} PtxSite;

typedef struct PtxSites {
  PtxSite *at;
  uint32_t n, cap;
} PtxSites;

typedef struct PtxCode {
  const char *symbol;   /* "hd_<kernel>"; what PTX does not allow in names is spelled "$" and two hex digits */
  const char *llvm;     /* LLVM text, if it was asked for            */
  const char *ptx;      /* if it was asked for; zero-terminated       */
  size_t      ptx_size; /* without the zero                           */
  PtxSites    sites;
  int32_t     rank;     /* r above                                    */
  int32_t     block;    /* the most threads of a block; of a kernel with groups the threads of each block */
  uint32_t    shared;   /* bytes of dynamic shared memory to launch it with: all of it where PTX_STATIC_SHARED is too little, else 0 */
  int32_t     sm;       /* of the PTX: less than the target's if this LLVM does not know it yet; newer GPUs run it too */
  double      print_ms, parse_ms, opt_ms, emit_ms;
} PtxCode;

typedef enum PtxEmit { PTX_EMIT_LLVM = 1, PTX_EMIT_LLVM_OPT = 2, PTX_EMIT_PTX = 4 } PtxEmit;

/* "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120"; HD_ERR_TARGET names them all. */
HdStatus hdptx_target(const char *name, Arena *a, HdError *err, PtxTarget *out);
/* The name of target i, or NULL behind the last. */
const char *hdptx_target_name(uint32_t i);

/* The hardware units that a fast kernel finds there: a bit 1 << unit for each IrUnit. */
uint32_t hdptx_units(const PtxTarget *target);

/* The LLVM text alone; no LLVM needed. `sites` may be NULL. */
HdStatus hdptx_print(const IrFunc *kernel, const PtxTarget *target, const PtxOptions *options, Buf *text, HdError *err,
                     PtxSites *sites);

/* Compile one kernel, which a pipeline (passes/passes.h) has taken down to scalars without calls. Everything in *out lives
 * in `a`. HD_ERR_LLVM if the library cannot be had, HD_ERR_COMPILE with the kernel's name otherwise. */
HdStatus hdptx_compile(const IrFunc *kernel, const PtxTarget *target, const PtxOptions *options, unsigned emit, Arena *a,
                       HdError *err, PtxCode *out);

HD_END_DECLS
#endif
