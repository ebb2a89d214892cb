/* heddle/types.h -- element types, and the allocator that a context uses. */
#ifndef HEDDLE_TYPES_H
#define HEDDLE_TYPES_H

#include "heddle/abi.h"
HD_BEGIN_DECLS

#define HD_MAX_DIMS 4
#define HD_MAX_GROUP 1024 /* threads of a group, a multiple of 32 */

/* Scalars, in the order that the IR uses too. Floats are IEEE 754, bf16 its upper half of f32; integers are
 * two's complement; bool is one byte, 0 or 1. */
typedef enum HdScalar {
  HD_BOOL = 1,
  HD_I8, HD_I16, HD_I32, HD_I64,
  HD_U8, HD_U16, HD_U32, HD_U64,
  HD_F16, HD_BF16, HD_F32, HD_F64,
} HdScalar;

typedef enum HdKind {
  HD_KIND_SCALAR = 1, /* one scalar                                                 */
  HD_KIND_VEC,        /* rows scalars                                               */
  HD_KIND_MAT,        /* rows x cols scalars, row after row                         */
  HD_KIND_QUAT,       /* x y z w                                                    */
  HD_KIND_TRANSFORM,  /* position x y z, rotation x y z w                           */
  HD_KIND_SPATIAL,    /* angular x y z, linear x y z                                */
  HD_KIND_STRUCT,     /* `size` bytes, laid out as C does; compared by size         */
} HdKind;

/* The type of one array element or one kernel argument; a plain description, passed by value. */
typedef struct HdType {
  uint8_t  kind;   /* HdKind                                       */
  uint8_t  scalar; /* HdScalar; 0 for a struct                     */
  uint8_t  rows;   /* scalars of a vector, rows of a matrix, or 1  */
  uint8_t  cols;   /* columns of a matrix, or 1                    */
  uint32_t size;   /* bytes, with padding                          */
} HdType;

HD_API HdType hd_type_scalar(HdScalar scalar);
HD_API HdType hd_type_vec(HdScalar scalar, int32_t n);
HD_API HdType hd_type_mat(HdScalar scalar, int32_t rows, int32_t cols);
HD_API HdType hd_type_quat(HdScalar scalar);
HD_API HdType hd_type_transform(HdScalar scalar);
HD_API HdType hd_type_spatial(HdScalar scalar);
HD_API HdType hd_type_struct(uint32_t size);
HD_API bool   hd_type_equal(HdType a, HdType b);

/* The type's name as kernels spell it ("f32", "vec<f32, 3>"), written into `out`; returns `out`. */
HD_API const char *hd_type_name(HdType type, char out[64]);

/* Memory for everything that lives on the host. `resize` grows, shrinks, makes (ptr NULL, old 0) and ends
 * (new 0, result ignored) a block of 16-byte alignment, and returns NULL when it cannot.
 *
 * Threads  called from whichever thread calls into the context, and from none of the context's workers. */
typedef struct HdAllocator {
  void *(*resize)(void *user, void *ptr, size_t old_size, size_t new_size);
  void  *user;
} HdAllocator;

HD_END_DECLS
#endif
