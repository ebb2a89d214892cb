/* heddle/launch.h -- running kernels with typed, checked arguments. */
#ifndef HEDDLE_LAUNCH_H
#define HEDDLE_LAUNCH_H

#include <string.h>

#include "heddle/array.h"
#include "heddle/module.h"
HD_BEGIN_DECLS

/* One argument: an array, or a value of a stated type. */
typedef struct HdArg {
  const HdArray *array; /* borrowed for the call; NULL: a value                                    */
  HdType         type;  /* of the value                                                            */
  const void    *data;  /* its bytes, borrowed for the call; NULL: in `inl`                        */
  union {
    int64_t  i;
    uint64_t u;
    double   d;
    float    f;
    bool     b;
  } inl;
} HdArg;

static inline HdArg hd_arg_none(void) { HdArg r; memset(&r, 0, sizeof r); return r; }
static inline HdArg hd_arg_array(const HdArray *a) { HdArg r = hd_arg_none(); r.array = a; return r; }
static inline HdArg hd_arg_i32(int32_t x) { HdArg r = hd_arg_none(); r.type = hd_type_scalar(HD_I32); r.inl.i = x; return r; }
static inline HdArg hd_arg_u32(uint32_t x) { HdArg r = hd_arg_none(); r.type = hd_type_scalar(HD_U32); r.inl.u = x; return r; }
static inline HdArg hd_arg_i64(int64_t x) { HdArg r = hd_arg_none(); r.type = hd_type_scalar(HD_I64); r.inl.i = x; return r; }
static inline HdArg hd_arg_u64(uint64_t x) { HdArg r = hd_arg_none(); r.type = hd_type_scalar(HD_U64); r.inl.u = x; return r; }
static inline HdArg hd_arg_f32(float x) { HdArg r = hd_arg_none(); r.type = hd_type_scalar(HD_F32); r.inl.f = x; return r; }
static inline HdArg hd_arg_f64(double x) { HdArg r = hd_arg_none(); r.type = hd_type_scalar(HD_F64); r.inl.d = x; return r; }
static inline HdArg hd_arg_bool(bool x) { HdArg r = hd_arg_none(); r.type = hd_type_scalar(HD_BOOL); r.inl.b = x; return r; }
/* Any other value (vectors, matrices, structs, small integers, halves), laid out as in kernel memory. */
static inline HdArg hd_arg_value(HdType type, const void *data) { HdArg r = hd_arg_none(); r.type = type; r.data = data; return r; }

/* Run `kernel` for each point of dim[0..ndim), the last axis fastest, in stream order. A dimension of 0 runs nothing.
 * Arguments are checked against the kernel's parameters before anything runs, and copied: they need not outlive the call,
 * but the memory of arrays must until the stream has done the work.
 *
 * Errors     HD_ERR_COUNT, HD_ERR_TYPE, HD_ERR_SHAPE, HD_ERR_DEVICE name the argument and what was wanted and found;
 *            HD_ERR_DIM; and on a synchronous stream HD_ERR_FAULT as hd_stream_wait. */
HD_API HdStatus hd_launch(HdKernel *kernel, HdStream *stream, int32_t ndim, const int64_t dim[], int32_t nargs,
                          const HdArg args[]);

/* What a kernel wants. */
typedef struct HdParam {
  const char *name;
  HdType      type;   /* of the value, or of an array's elements */
  int32_t     ndim;   /* 0: a value                              */
  bool        writes; /* the kernel may store to this array      */
} HdParam;
HD_API int32_t     hd_kernel_param_count(const HdKernel *kernel);
HD_API HdParam     hd_kernel_param(const HdKernel *kernel, int32_t i);
HD_API const char *hd_kernel_name(const HdKernel *kernel);
HD_API int32_t     hd_kernel_width(const HdKernel *kernel); /* lanes of a gang; 1 for the interpreter */
HD_API bool        hd_kernel_from_cache(const HdKernel *kernel);
/* Milliseconds spent making it: front end, passes, widening, LLVM passes, code generation, load. */
typedef struct HdTimes {
  double front, passes, widen, llvm_parse, llvm_opt, llvm_emit, load;
} HdTimes;
HD_API HdTimes hd_kernel_times(const HdKernel *kernel);

HD_END_DECLS
#endif
