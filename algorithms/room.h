/* algorithms/room.h -- what the algorithms share: kernels by name, scratch memory, checks of arrays. */
#ifndef ALGORITHMS_ROOM_H
#define ALGORITHMS_ROOM_H

#include "heddle/algorithms.h"
#include "heddle/sparse.h"
#include "host/host.h"
HD_BEGIN_DECLS

/* The text of algorithms/<name>.hd, embedded by the build; NULL if there is none. */
const char *hdalg_source(const char *name);

typedef enum AlgModule { ALG_SORT, ALG_REDUCE, ALG_SCAN, ALG_SELECT, ALG_SPARSE, ALG_SOLVE, ALG_DENSE, ALG_MODULES } AlgModule;

/* Scratch arrays; what a call needs at one time has slots of its own. */
typedef enum AlgSlot {
  ALG_KEYS,    /* sort: elements, and counts                       */
  ALG_VALUES,
  ALG_TABLE,
  ALG_SUMS,
  ALG_TOTALS,
  ALG_SEGMENT, /* of elements, and in the order of the keys; where the elements come from, and what they were */
  ALG_SEGMENT_OF,
  ALG_ORIGIN,
  ALG_ORIGINAL,
  ALG_PART,    /* reduce and scan: partial results, and places     */
  ALG_PLACE,
  ALG_DOT,
  ALG_COUNTS,  /* select: of a block's chosen, and starts of runs  */
  ALG_STARTS,
  ALG_SP_KEY,  /* sparse: what is sorted, its runs, rows of elements */
  ALG_SP_TERM,
  ALG_SP_UNIQUE,
  ALG_SP_LENGTHS,
  ALG_SP_START,
  ALG_SP_COUNT,
  ALG_SP_ROW,
  ALG_SP_FIRST,
  ALG_SO_VECTORS, /* solvers: vectors, numbers, state                */
  ALG_SO_NUMBERS,
  ALG_SO_MATRIX,
  ALG_SO_STATE,
  ALG_SLOTS
} AlgSlot;

/* A slot that grows at least doubles; what it had before is kept for the work that may still use it. */
enum { ALG_GROWTHS = 40 };
typedef struct AlgScratch {
  HdArray array[ALG_GROWTHS]; /* of u64; the last one is in use */
  int32_t count;
} AlgScratch;

enum { ALG_FFTS = 13 };

struct HdAlgorithms {
  HdContext *ctx;
  HdStream *stream;
  HdDevice device;
  HdModuleOptions options;
  HdModule  *module[ALG_MODULES]; /* NULL until one of its kernels is asked for */
  AlgScratch scratch[ALG_SLOTS];
  HdModule  *fft[ALG_FFTS]; /* the transforms of rows of 2^k, NULL until one is asked for               */
  HdArray    roots[2];      /* for transforms in f64 and f32; without data until one is asked for       */
};

HdStatus hdalg_kernel(HdAlgorithms *a, AlgModule module, const char *name, HdKernel **out);
/* `n` elements, contents undefined, until the slot is asked for again. */
HdStatus hdalg_scratch(HdAlgorithms *a, AlgSlot slot, HdType type, int64_t n, HdArray *out);

/* Elements from `begin` on, so many, of an array with one axis. */
HdArray hdalg_part(HdArray x, int64_t begin, int64_t n);

/* The kernel <name>_<type> of numbers that can be added: i32, u32, i64, f32, f64. */
HdStatus hdalg_number_kernel(HdAlgorithms *a, AlgModule module, const char *name, HdType type, HdKernel **out);

/* Sums of blocks of `block` elements (a multiple of 128) of x, by lanes: ALG_LANES to each block, block after block. Blocks 1
 * and lanes 1: the sum of all of up to `block` elements (a multiple of 8). */
enum { ALG_LANES = 16 };
HdStatus hdalg_sum_blocks(HdAlgorithms *a, HdArray x, int64_t blocks, int64_t lanes, int64_t block, HdArray part);
/* hd_reduce of sums, hd_dot and hd_scan without their checks. */
HdStatus hdalg_sum(HdAlgorithms *a, HdArray in, HdArray out);
HdStatus hdalg_dot(HdAlgorithms *a, HdArray x, HdArray y, HdArray out);
HdStatus hdalg_scan(HdAlgorithms *a, HdScan scan, HdArray in, HdArray out);

/* --- checks; `call` and `arg` are for the error's record --- */

HdStatus hdalg_fail(HdAlgorithms *a, HdStatus status, const char *call, const char *arg, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* One axis, fewer than 2^31 elements, on the stream's device. */
HdStatus hdalg_check_array(HdAlgorithms *a, const char *call, const char *arg, HdArray array);
/* The same, with the length and scalar type that are wanted. */
HdStatus hdalg_check_length(HdAlgorithms *a, const char *call, const char *arg, HdArray array, int64_t length);
HdStatus hdalg_check_scalar(HdAlgorithms *a, const char *call, const char *arg, HdArray array, HdScalar scalar);
HdStatus hdalg_check_number(HdAlgorithms *a, const char *call, const char *arg, HdArray array);
/* Room for `least` elements of a scalar. */
HdStatus hdalg_check_room(HdAlgorithms *a, const char *call, const char *arg, HdArray array, HdScalar scalar, int64_t least);
bool     hdalg_is_scalar(HdType type, HdScalar scalar);

/* --- sparse matrices --- */

struct HdSparse {
  HdAlgorithms *a;
  const char *call; /* that made it */
  int64_t rows, cols, count;
  int32_t edge; /* of a block */
  HdScalar scalar;
  HdArray offset, column, value;
};

/* A kernel <name>_<f32 or f64>, or <name>_<edge>_<f32 or f64> with an edge. */
HdStatus hdalg_sparse_kernel(HdAlgorithms *a, const char *name, int32_t edge, HdScalar scalar, HdKernel **out);
/* An argument of f32 or f64. */
static inline HdArg hdalg_real(HdScalar scalar, double x) {
  return scalar == HD_F64 ? hd_arg_f64(x) : hd_arg_f32((float)x);
}

HD_END_DECLS
#endif
