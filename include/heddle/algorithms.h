/* heddle/algorithms.h -- sorting of arrays.
 *
 * All work is given to the stream that the object was made with, and no call waits for it: numbers that a call finds out, such
 * as a count, go to an array of the device. Results are in a fixed order: the bits are the same for any number of threads, any
 * width and any device. Arrays have one axis, fewer than 2^31 elements and lie on the stream's device; they may be views.
 * Counts and indices are i32. Unless a call says that two arrays may be the same, they must not overlap.
 */
#ifndef HEDDLE_ALGORITHMS_H
#define HEDDLE_ALGORITHMS_H

#include "heddle/heddle.h"
HD_BEGIN_DECLS

/* The compiled kernels, each made when it is first needed, and scratch memory, which grows to what the largest call needs. */
typedef struct HdAlgorithms HdAlgorithms;

/* `options`, how the kernels are compiled, may be NULL.
 *
 * Ownership  the caller owns *out, until hd_algorithms_free, at which the stream must have done the work it was given and
 *            graphs of it are dead. `ctx` and `stream` must outlive it, and so must what `options` points to. */
HD_API HdStatus hd_algorithms_new(HdContext *ctx, HdStream *stream, const HdModuleOptions *options, HdAlgorithms **out);
HD_API void     hd_algorithms_free(HdAlgorithms *a); /* NULL is fine */

/* Errors of the calls below: HD_ERR_TYPE, HD_ERR_SHAPE and HD_ERR_DEVICE name the array and what was wanted and found;
 * HD_ERR_OPTION; HD_ERR_NOMEM for the scratch memory; and those of hd_module_kernel and hd_launch. */

/* --- sorting --- */

typedef struct HdSortOptions {
  int32_t first_bit;  /* of a key that is looked at: keys that agree from here on are equal                  */
  int32_t bits;       /* that are looked at; 0: all from first_bit on. Time is in proportion to it           */
  bool    descending; /* equal keys keep their order all the same                                            */
} HdSortOptions;
#define HD_SORT_OPTIONS_INIT { 0, 0, false }

/* Sort in place, by least significant digits first; elements with equal keys keep their order. `options` may be NULL.
 *
 * keys    i32, u32, i64, u64, f32 or f64. Floats are in the total order of IEEE 754: -NaN, -inf .. -0, +0 .. +inf, +NaN.
 *         Bits of a float or signed key are those of its place in the order: bit 31 of an f32 is 0 if it is negative.
 * values  of any type of 4 or 8 bytes, as many as keys. */
HD_API HdStatus hd_sort_keys(HdAlgorithms *a, HdArray keys, const HdSortOptions *options);
HD_API HdStatus hd_sort_pairs(HdAlgorithms *a, HdArray keys, HdArray values, const HdSortOptions *options);

HD_END_DECLS
#endif
