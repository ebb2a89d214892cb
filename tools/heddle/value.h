/* tools/heddle/value.h -- values of kernel types, as text and as .npy items. */
#ifndef VALUE_H
#define VALUE_H

#include "heddle/heddle.h"
#include "tools/npy/npy.h"
HD_BEGIN_DECLS

/* Scalars that a type has, 0 for a struct. */
int32_t value_count(HdType t);
/* Parse "1.5" or "1,2,3" (brackets around it are fine) into t.size bytes. On failure `why` says what was wanted and found. */
bool value_parse(HdType t, const char *text, void *out, char *why, size_t why_size);

/* "f32" and its like. False if there is no such scalar. */
bool value_scalar(const char *name, size_t n, HdScalar *out);

/* The .npy type of a scalar; bf16, which NumPy lacks, is two bytes. */
NpyType value_npy_type(HdType t);
/* The axes that one element of `t` adds after an array's own: none for a scalar, n of a vector, r and c of a matrix.
 * Returns how many. */
int32_t value_axes(HdType t, int64_t axes[2]);
/* Whether .npy items of this type and shape are an array of ndim axes of `t`. A struct is a record of its size, or one more
 * axis that has its bytes. On success length[0..ndim) is the array's shape. */
bool value_fits(HdType t, int32_t ndim, NpyType item, int32_t npy_ndim, const int64_t npy_length[], int64_t length[]);
/* "f32[n, m, 3]": what value_fits wants, for messages. */
const char *value_wanted(HdType t, int32_t ndim, char out[96]);

HD_END_DECLS
#endif
