/* algorithms/select.c -- the host side of algorithms/select.hd: counts of blocks, their scan, then places. */
#include "algorithms/room.h"

enum { BLOCK = 1024, LANES = 16 }; /* consts of select.hd */
/* Few bins: a table of theirs stays in the first cache, and fewer of them than a block has elements cost little to add up. */
enum { FEW_BINS = 4096, TABLE_BLOCK = 32768 };

/* The places of the chosen elements of x to `index`, and how many they are to `count`. */
static HdStatus choose(HdAlgorithms *a, const char *count_name, const char *place_name, HdArray x, HdArray index,
                       HdArray count) {
  int64_t n = x.length[0], blocks = (n + BLOCK - 1) / BLOCK;
  HdKernel *counter, *placer;
  HdArray first;
  if (n == 0) return hd_array_clear(a->stream, count);
  HD_TRY(hdalg_kernel(a, ALG_SELECT, count_name, &counter));
  HD_TRY(hdalg_kernel(a, ALG_SELECT, place_name, &placer));
  HD_TRY(hdalg_scratch(a, ALG_COUNTS, hd_type_scalar(HD_I32), blocks * LANES + 1, &first));
  HdArray counts = hdalg_part(first, 0, blocks * LANES);
  HD_TRY(HDHOST_RUN2(counter, a->stream, blocks, LANES, hd_arg_array(&x), hd_arg_array(&counts)));
  HD_TRY(hdalg_scan(a, HD_SCAN_EXCLUSIVE, counts, first));
  return HDHOST_RUN2(placer, a->stream, blocks, 1, hd_arg_array(&x), hd_arg_array(&first), hd_arg_array(&index),
                     hd_arg_array(&count));
}

/* One i32 on the device. */
static HdStatus check_count(HdAlgorithms *a, const char *call, HdArray count) {
  HD_TRY(hdalg_check_scalar(a, call, "count", count, HD_I32));
  return hdalg_check_length(a, call, "count", count, 1);
}

HdStatus hd_compact(HdAlgorithms *a, HdArray flags, HdArray indices, HdArray count) {
  if (!a) return HD_ERR_ARG;
  const char *call = "hd_compact";
  char got[64];
  HD_TRY(hdalg_check_array(a, call, "flags", flags));
  bool byte = hdalg_is_scalar(flags.type, HD_BOOL) || hdalg_is_scalar(flags.type, HD_U8);
  if (!byte && !hdalg_is_scalar(flags.type, HD_I32) && !hdalg_is_scalar(flags.type, HD_U32))
    return hdalg_fail(a, HD_ERR_TYPE, call, "flags", "wanted bool, u8, i32 or u32, got %s",
                      hd_type_name(flags.type, got));
  HD_TRY(hdalg_check_room(a, call, "indices", indices, HD_I32, flags.length[0]));
  HD_TRY(check_count(a, call, count));
  flags.type = hd_type_scalar(byte ? HD_U8 : HD_U32);
  return choose(a, byte ? "count_flags_8" : "count_flags_32", byte ? "place_flags_8" : "place_flags_32", flags, indices,
                count);
}

HdStatus hd_run_lengths(HdAlgorithms *a, HdArray in, HdArray values, HdArray lengths, HdArray count) {
  if (!a) return HD_ERR_ARG;
  const char *call = "hd_run_lengths";
  int64_t n = in.length[0];
  char want[64], got[64];
  HdKernel *measure;
  HdArray starts;
  HD_TRY(hdalg_check_array(a, call, "in", in));
  HD_TRY(hdalg_check_array(a, call, "values", values));
  if (in.type.size != 4 && in.type.size != 8)
    return hdalg_fail(a, HD_ERR_TYPE, call, "in", "wanted elements of 4 or 8 bytes, got %s of %u",
                      hd_type_name(in.type, got), in.type.size);
  if (!hd_type_equal(in.type, values.type))
    return hdalg_fail(a, HD_ERR_TYPE, call, "values", "wanted %s, got %s", hd_type_name(in.type, want),
                      hd_type_name(values.type, got));
  if (values.length[0] < n)
    return hdalg_fail(a, HD_ERR_SHAPE, call, "values", "wanted room for %lld elements, got %lld", (long long)n,
                      (long long)values.length[0]);
  HD_TRY(hdalg_check_room(a, call, "lengths", lengths, HD_I32, n));
  HD_TRY(check_count(a, call, count));
  bool wide = in.type.size == 8;
  in.type = values.type = hd_type_scalar(wide ? HD_U64 : HD_U32);
  HD_TRY(hdalg_scratch(a, ALG_STARTS, hd_type_scalar(HD_I32), n, &starts));
  HD_TRY(
      choose(a, wide ? "count_runs_64" : "count_runs_32", wide ? "place_runs_64" : "place_runs_32", in, starts, count));
  HD_TRY(hdalg_kernel(a, ALG_SELECT, wide ? "measure_64" : "measure_32", &measure));
  return HDHOST_RUN1(measure, a->stream, n, hd_arg_array(&in), hd_arg_array(&starts), hd_arg_array(&count),
                     hd_arg_array(&values), hd_arg_array(&lengths));
}

static HdStatus histogram_by_tables(HdAlgorithms *a, HdArray in, HdArray bins) {
  HdKernel *fill, *sum;
  HdArray table;
  int64_t count = bins.length[0], blocks = (in.length[0] + TABLE_BLOCK - 1) / TABLE_BLOCK;
  HD_TRY(hdalg_kernel(a, ALG_SELECT, "histogram_blocks", &fill));
  HD_TRY(hdalg_kernel(a, ALG_SELECT, "histogram_sum", &sum));
  HD_TRY(hdalg_scratch(a, ALG_COUNTS, bins.type, blocks * count, &table));
  HD_TRY(HDHOST_RUN2(fill, a->stream, blocks, 1, hd_arg_array(&in), hd_arg_i32((int32_t)count), hd_arg_i32(TABLE_BLOCK),
                     hd_arg_array(&table)));
  return HDHOST_RUN1(sum, a->stream, count, hd_arg_array(&table), hd_arg_i32((int32_t)blocks), hd_arg_array(&bins));
}

HdStatus hd_histogram(HdAlgorithms *a, HdArray in, HdArray bins) {
  if (!a) return HD_ERR_ARG;
  const char *call = "hd_histogram";
  HdKernel *kernel;
  char got[64];
  HD_TRY(hdalg_check_array(a, call, "in", in));
  HD_TRY(hdalg_check_scalar(a, call, "bins", bins, HD_I32));
  if (!hdalg_is_scalar(in.type, HD_I32) && !hdalg_is_scalar(in.type, HD_U32))
    return hdalg_fail(a, HD_ERR_TYPE, call, "in", "wanted i32 or u32, got %s", hd_type_name(in.type, got));
  in.type = hd_type_scalar(HD_U32);
  if (a->device.kind == HD_DEVICE_CPU && bins.length[0] <= FEW_BINS && in.length[0] > 0)
    return histogram_by_tables(a, in, bins);
  HD_TRY(hdalg_kernel(a, ALG_SELECT, "histogram", &kernel));
  HD_TRY(hd_array_clear(a->stream, bins));
  return HDHOST_RUN1(kernel, a->stream, in.length[0], hd_arg_array(&in), hd_arg_array(&bins));
}
