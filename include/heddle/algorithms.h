/* heddle/algorithms.h -- sorting, scans, reductions, run lengths, compaction and histograms of arrays; products of matrices
 * and Fourier transforms.
 *
 * All work is given to the stream that the object was made with, and no call waits for it: numbers that a call finds out, such
 * as a count, go to an array of the device. Results are in a fixed order: the bits are the same for any number of threads, any
 * width and any device. Arrays have one axis (matrices two), fewer than 2^31 elements along it and lie on the stream's device;
 * they may be views. Counts and indices are i32. Unless a call says that two arrays may be the same, they must not overlap.
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
/* Give the scratch memory back to the device's pool; the stream must have done its work, and graphs of it are dead. */
HD_API void     hd_algorithms_trim(HdAlgorithms *a);

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
/* The same in segments, each for itself. `values` may be NULL. Time is that of sorting twice, the second time by as many bits as the
 * number of starts has.
 *
 * starts  i32, in any order: a segment goes from a start to the next, the last one to the end, and what lies in front of the
 *         first start is one, too. Starts that are the same, or not below the number of keys, or negative, count for nothing. */
HD_API HdStatus hd_sort_segments(HdAlgorithms *a, HdArray starts, HdArray keys, const HdArray *values, const HdSortOptions *options);

/* --- scans and reductions: i32, u32, i64, f32 or f64 --- */

typedef enum HdScan {
  HD_SCAN_INCLUSIVE = 1, /* out[i] = in[0] + .. + in[i]                                                      */
  HD_SCAN_EXCLUSIVE,     /* out[i] = in[0] + .. + in[i - 1]; out may have one more element, then the sum     */
} HdScan;

/* `out` may be `in`. Sums of integers wrap. The order of a float's sums depends on the length alone. */
HD_API HdStatus hd_scan(HdAlgorithms *a, HdScan scan, HdArray in, HdArray out);

typedef enum HdReduce {
  HD_REDUCE_SUM = 1, /* of nothing: 0                                                                        */
  HD_REDUCE_MIN,     /* passes over NaN; of nothing, or nothing else: +inf, or the type's greatest value     */
  HD_REDUCE_MAX,     /* the same, -inf or the type's least                                                   */
  HD_REDUCE_ARGMIN,  /* the first index of the minimum, an i32; of nothing, or nothing but NaN: -1           */
  HD_REDUCE_ARGMAX,
} HdReduce;

/* `out` has one element. The order of a float's sums depends on the length alone. The minimum and maximum of 0 and -0 is
 * one or the other, by their places alone. */
HD_API HdStatus hd_reduce(HdAlgorithms *a, HdReduce reduce, HdArray in, HdArray out);

/* out[0] = x[0] y[0] + x[1] y[1] + ..: floats by fma, in an order that depends on the length alone. */
HD_API HdStatus hd_dot(HdAlgorithms *a, HdArray x, HdArray y, HdArray out);

/* --- matrices and Fourier transforms --- */

/* out[i, j] = x[i, 0] y[0, j] + x[i, 1] y[1, j] + .., by fma in this order; with no columns of x: 0.
 *
 * x, y, out  f32 or f64, m x k, k x n and m x n; views with any strides. */
HD_API HdStatus hd_matmul(HdAlgorithms *a, HdArray x, HdArray y, HdArray out);

typedef enum HdFft {
  HD_FFT_FORWARD = 1, /* X[k] = the sum of x[j] exp(-2 pi i j k / n)                                         */
  HD_FFT_INVERSE,     /* x[j] = the sum of X[k] exp(2 pi i j k / n), divided by n                            */
} HdFft;

/* The discrete Fourier transform of each row of x in place. An error is at most about 2 epsilon log2(n) of the
 * row's root mean square.
 *
 * x  rows x n, of vectors of two f32 or f64: real and imaginary part; n is a power of two up to 4096 (f32) or 2048 (f64). */
HD_API HdStatus hd_fft(HdAlgorithms *a, HdFft direction, HdArray x);

/* --- runs, compaction, histograms --- */

/* Runs of neighbours with equal bits: values[r] and lengths[r] of each run r, and count[0], how many there are.
 *
 * in, values  of one type of 4 or 8 bytes; values and lengths (i32) have room for as many elements as `in`, and are left as
 *             they are behind the last run. count is one i32. */
HD_API HdStatus hd_run_lengths(HdAlgorithms *a, HdArray in, HdArray values, HdArray lengths, HdArray count);

/* indices[0 .. count[0]): where flags are not 0, in ascending order.
 *
 * flags    bool, u8, i32 or u32; indices (i32) has room for as many elements, and is left as it is behind the last. */
HD_API HdStatus hd_compact(HdAlgorithms *a, HdArray flags, HdArray indices, HdArray count);

/* bins[k] (i32): how often k occurs in `in` (i32 or u32). Elements that are no index of a bin are passed over. */
HD_API HdStatus hd_histogram(HdAlgorithms *a, HdArray in, HdArray bins);

HD_END_DECLS
#endif
