/* algorithms/reduce.c -- the host side of algorithms/reduce.hd: launches over ever fewer partial results. */
#include "algorithms/room.h"

/* A block fits the first cache; as few elements as LAST go quicker by one thread than by two more launches. */
enum { BLOCK = 4096, LAST = 512 };

static int64_t blocks_of(int64_t n) { return (n + BLOCK - 1) / BLOCK; }

/* Partial results of all launches, one behind the other. */
static int64_t part_count(int64_t n) {
  int64_t sum = 0;
  while (n > LAST) sum += n = blocks_of(n) * ALG_LANES;
  return sum;
}

HdStatus hdalg_sum_blocks(HdAlgorithms *a, HdArray x, int64_t blocks, int64_t lanes, int64_t block, HdArray part) {
  HdKernel *kernel;
  HD_TRY(hdalg_number_kernel(a, ALG_REDUCE, "sum", x.type, &kernel));
  return HDHOST_RUN2(kernel, a->stream, blocks, lanes, hd_arg_array(&x), hd_arg_i32((int32_t)block),
                     hd_arg_array(&part));
}

HdStatus hdalg_sum(HdAlgorithms *a, HdArray x, HdArray out) {
  HdArray all;
  HD_TRY(hdalg_scratch(a, ALG_PART, x.type, part_count(x.length[0]), &all));
  for (int64_t used = 0; x.length[0] > LAST;) {
    int64_t blocks = blocks_of(x.length[0]);
    HdArray part = hdalg_part(all, used, blocks * ALG_LANES);
    HD_TRY(hdalg_sum_blocks(a, x, blocks, ALG_LANES, BLOCK, part));
    used += part.length[0];
    x = part;
  }
  return hdalg_sum_blocks(a, x, 1, 1, LAST, out);
}

HdStatus hdalg_dot(HdAlgorithms *a, HdArray x, HdArray y, HdArray out) {
  HdKernel *k;
  HdArray part;
  int64_t n = x.length[0], blocks = blocks_of(n);
  HD_TRY(hdalg_number_kernel(a, ALG_REDUCE, "dot", x.type, &k));
  if (n <= LAST)
    return HDHOST_RUN2(k, a->stream, 1, 1, hd_arg_array(&x), hd_arg_array(&y), hd_arg_i32(LAST), hd_arg_array(&out));
  HD_TRY(hdalg_scratch(a, ALG_DOT, x.type, blocks * ALG_LANES, &part));
  HD_TRY(HDHOST_RUN2(k, a->stream, blocks, ALG_LANES, hd_arg_array(&x), hd_arg_array(&y), hd_arg_i32(BLOCK),
                     hd_arg_array(&part)));
  return hdalg_sum(a, part, out);
}

HdStatus hd_dot(HdAlgorithms *a, HdArray x, HdArray y, HdArray out) {
  if (!a) return HD_ERR_ARG;
  const char *call = "hd_dot";
  HD_TRY(hdalg_check_number(a, call, "x", x));
  HD_TRY(hdalg_check_scalar(a, call, "y", y, (HdScalar)x.type.scalar));
  HD_TRY(hdalg_check_length(a, call, "y", y, x.length[0]));
  HD_TRY(hdalg_check_scalar(a, call, "out", out, (HdScalar)x.type.scalar));
  HD_TRY(hdalg_check_length(a, call, "out", out, 1));
  return hdalg_dot(a, x, y, out);
}

/* One launch; place is NULL in the first. */
static HdStatus best_blocks(HdAlgorithms *a, bool greatest, HdArray x, const HdArray *place, int64_t blocks,
                            int64_t lanes, int32_t block, HdArray part, HdArray part_place) {
  HdKernel *kernel;
  HdArg g = hd_arg_bool(greatest), elements = hd_arg_array(&x), size = hd_arg_i32(block);
  HdArg to = hd_arg_array(&part), to_place = hd_arg_array(&part_place);
  HD_TRY(hdalg_number_kernel(a, ALG_REDUCE, place ? "best_of" : "best", x.type, &kernel));
  if (!place) return HDHOST_RUN2(kernel, a->stream, blocks, lanes, g, elements, size, to, to_place);
  return HDHOST_RUN2(kernel, a->stream, blocks, lanes, g, elements, hd_arg_array(place), size, to, to_place);
}

/* `out` is a value, or its place. */
static HdStatus best(HdAlgorithms *a, bool greatest, bool wants_place, HdArray x, HdArray out) {
  HdArray all, all_places, place;
  int64_t parts = part_count(x.length[0]), used = 0;
  HD_TRY(hdalg_scratch(a, ALG_PART, x.type, parts + 1, &all));
  HD_TRY(hdalg_scratch(a, ALG_PLACE, hd_type_scalar(HD_I32), parts + 1, &all_places));
  while (x.length[0] > LAST) {
    int64_t blocks = blocks_of(x.length[0]);
    HdArray part = hdalg_part(all, used, blocks * ALG_LANES), part_place = hdalg_part(all_places, used, part.length[0]);
    HD_TRY(best_blocks(a, greatest, x, used ? &place : NULL, blocks, ALG_LANES, BLOCK, part, part_place));
    used += part.length[0];
    x = part;
    place = part_place;
  }
  HdArray last = hdalg_part(all, parts, 1), last_place = hdalg_part(all_places, parts, 1);
  if (wants_place)
    last_place = out;
  else
    last = out;
  return best_blocks(a, greatest, x, used ? &place : NULL, 1, 1, LAST, last, last_place);
}

HdStatus hd_reduce(HdAlgorithms *a, HdReduce reduce, HdArray in, HdArray out) {
  if (!a) return HD_ERR_ARG;
  const char *call = "hd_reduce";
  if (reduce < HD_REDUCE_SUM || reduce > HD_REDUCE_ARGMAX)
    return hdalg_fail(a, HD_ERR_ARG, call, "reduce", "wanted an HD_REDUCE_.., got %d", (int)reduce);
  bool wants_place = reduce == HD_REDUCE_ARGMIN || reduce == HD_REDUCE_ARGMAX;
  HD_TRY(hdalg_check_number(a, call, "in", in));
  HD_TRY(hdalg_check_scalar(a, call, "out", out, wants_place ? HD_I32 : (HdScalar)in.type.scalar));
  HD_TRY(hdalg_check_length(a, call, "out", out, 1));
  if (reduce == HD_REDUCE_SUM) return hdalg_sum(a, in, out);
  return best(a, reduce == HD_REDUCE_MAX || reduce == HD_REDUCE_ARGMAX, wants_place, in, out);
}
