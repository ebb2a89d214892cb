/* heddle/array.h -- typed, strided arrays in the memory of one device.
 *
 * An HdArray describes memory and may own it. Lengths and strides are in elements, sizes in bytes.
 */
#ifndef HEDDLE_ARRAY_H
#define HEDDLE_ARRAY_H

#include "heddle/stream.h"
HD_BEGIN_DECLS

typedef struct HdBlock HdBlock; /* memory of a pool */

/* A reference to memory; pass by value. `owner` is NULL in a view. */
typedef struct HdArray {
  void    *data;                 /* first element, in the memory of `device`                */
  int64_t  length[HD_MAX_DIMS];  /* elements along each axis, outermost first        (ndim) */
  int64_t  stride[HD_MAX_DIMS];  /* elements between neighbours; 0 repeats           (ndim) */
  int32_t  ndim;                 /* 1 to HD_MAX_DIMS                                        */
  HdType   type;                 /* of one element                                          */
  HdDevice device;
  HdBlock *owner;                /* ended by hd_array_free; NULL in views and borrows       */
} HdArray;

/* Make an array of `type` and `length[0..ndim)` on `device`, its contents undefined.
 *
 * Ownership  the caller owns *out, until hd_array_free; `ctx` must outlive it.
 * Errors     HD_ERR_SHAPE names the axis whose length is negative or overflows;
 *            HD_ERR_NOMEM gives the bytes asked for. */
HD_API HdStatus hd_array_new(HdContext *ctx, HdDevice device, HdType type, int32_t ndim, const int64_t length[],
                             HdArray *out);
/* The same, zeroed. */
HD_API HdStatus hd_array_zeros(HdContext *ctx, HdDevice device, HdType type, int32_t ndim, const int64_t length[],
                               HdArray *out);
/* The same as hd_array_new in the order of a stream: the array is for work that is given to `stream` from now on, and for
 * that of other streams after an event recorded on it. Memory that the stream let go is used again without a wait.
 *
 * Errors     HD_ERR_BUSY while the stream keeps work for a graph. */
HD_API HdStatus hd_array_new_on(HdStream *stream, HdType type, int32_t ndim, const int64_t length[], HdArray *out);
/* An array of the host, on device "cpu", in memory that `device` moves by itself: copies between it and the device, on the
 * device's streams, are the quickest there are, and nobody waits for them. Such memory is scarce. Of a device on the host, as
 * hd_array_new on "cpu". */
HD_API HdStatus hd_array_new_pinned(HdContext *ctx, HdDevice device, HdType type, int32_t ndim, const int64_t length[],
                                    HdArray *out);
/* Describe memory of the caller's. `stride` may be NULL: dense, the last axis fastest.
 *
 * Ownership  borrows `data`, which must outlive the work that is given it.
 * Errors     HD_ERR_ARG for `data` that is NULL or not aligned to its scalars; HD_ERR_SHAPE as above, and for strides that
 *            reach further than 2^63 bytes. */
HD_API HdStatus hd_array_borrow(HdContext *ctx, HdDevice device, HdType type, int32_t ndim, const int64_t length[],
                                const int64_t stride[], void *data, HdArray *out);
/* Give the memory back to its pool, and clear *array. Views of it are dead then. NULL, or without an owner, is fine. No
 * stream may have work left that uses it. */
HD_API void hd_array_free(HdContext *ctx, HdArray *array);
/* The same once `stream` has done what it was given so far; nobody waits. Other streams must be done with the array, or
 * `stream` told to wait for them.
 *
 * Errors     HD_ERR_DEVICE if the array is of another device than the stream, HD_ERR_BUSY while the stream keeps work for
 *            a graph: the array is still the caller's then. */
HD_API HdStatus hd_array_free_on(HdStream *stream, HdArray *array);

/* Views; the memory stays the owner's.
 * slice: elements begin, begin + step, .. below end along one axis (step may be negative with begin > end).
 * Errors     HD_ERR_SHAPE names the axis and its length. */
HD_API HdStatus hd_array_slice(HdContext *ctx, HdArray a, int32_t axis, int64_t begin, int64_t end, int64_t step,
                               HdArray *out);
HD_API HdStatus hd_array_transpose(HdContext *ctx, HdArray a, const int32_t order[], HdArray *out);
HD_API HdStatus hd_array_reshape(HdContext *ctx, HdArray a, int32_t ndim, const int64_t length[], HdArray *out);
HD_API HdStatus hd_array_expand(HdContext *ctx, HdArray a, int32_t axis, int64_t length, HdArray *out);

/* Copy elements between arrays of one type and shape, whatever their strides, in stream order. What an asynchronous stream
 * copies from may be read by the call or later, what it copies to is written later. */
HD_API HdStatus hd_array_copy(HdStream *stream, HdArray from, HdArray to);
/* Set every byte of every element to zero, in stream order. */
HD_API HdStatus hd_array_clear(HdStream *stream, HdArray a);

HD_API int64_t hd_array_count(HdArray a);    /* elements in all                               */
HD_API bool    hd_array_is_dense(HdArray a); /* row-major without gaps                        */

HD_END_DECLS
#endif
