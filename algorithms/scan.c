/* algorithms/scan.c -- the host side of algorithms/scan.hd: sums of blocks, their scan by the same way, then inside of blocks.
 *
 * Blocks leave ALG_LANES partial sums each. Where the exclusive scan of all partial sums stands at a block's first, it is the
 * sum of all blocks before.
 */
#include "algorithms/room.h"

enum { BLOCK = 1024 };  /* const BLOCK of scan.hd */
enum { THREADS = 256 }; /* const THREADS of scan.hd */
enum { LEVELS = 6 };    /* the first has up to 2^31 elements, the next 64 times fewer */

HdStatus hdalg_scan(HdAlgorithms *a, HdScan scan, HdArray in, HdArray out) {
  HdKernel *kernel;
  HdArray level[LEVELS], all;
  int64_t n = in.length[0], blocks[LEVELS] = {(n + BLOCK - 1) / BLOCK}, parts = 0;
  int32_t levels = 1;
  if (n == 0) return out.length[0] ? hd_array_clear(a->stream, out) : HD_OK;
  for (; blocks[levels - 1] > 1; levels++) {
    int64_t partial = blocks[levels - 1] * ALG_LANES;
    parts += partial;
    blocks[levels] = (partial + BLOCK - 1) / BLOCK;
  }
  /* the sums of floats stay in their order */
  bool groups = a->device.kind == HD_DEVICE_CUDA && in.type.scalar != HD_F32 && in.type.scalar != HD_F64;
  HD_TRY(hdalg_number_kernel(a, ALG_SCAN, groups ? "scan_group" : "scan", in.type, &kernel));
  HD_TRY(hdalg_scratch(a, ALG_PART, in.type, parts, &all));
  level[0] = in;
  parts = 0;
  for (int32_t k = 1; k < levels; k++) {
    level[k] = hdalg_part(all, parts, blocks[k - 1] * ALG_LANES);
    parts += level[k].length[0];
    HD_TRY(hdalg_sum_blocks(a, level[k - 1], blocks[k - 1], ALG_LANES, BLOCK, level[k]));
  }
  for (int32_t k = levels - 1; k >= 0; k--) {
    HdArray to = k ? level[k] : out;
    bool exclusive = k || scan == HD_SCAN_EXCLUSIVE, one = k == levels - 1;
    HdArg args[] = {hd_arg_bool(exclusive), hd_arg_array(&level[k]), hd_arg_array(one ? &to : &level[k + 1]),
                    hd_arg_i32(one ? 0 : ALG_LANES), hd_arg_array(&to)};
    const int64_t dim[] = {groups ? blocks[k] * THREADS : blocks[k], 1};
    HD_TRY(hd_launch(kernel, a->stream, groups ? 1 : 2, dim, sizeof args / sizeof *args, args));
  }
  return HD_OK;
}

HdStatus hd_scan(HdAlgorithms *a, HdScan scan, HdArray in, HdArray out) {
  if (!a) return HD_ERR_ARG;
  const char *call = "hd_scan";
  if (scan != HD_SCAN_INCLUSIVE && scan != HD_SCAN_EXCLUSIVE)
    return hdalg_fail(a, HD_ERR_ARG, call, "scan", "wanted an HD_SCAN_.., got %d", (int)scan);
  HD_TRY(hdalg_check_number(a, call, "in", in));
  HD_TRY(hdalg_check_scalar(a, call, "out", out, (HdScalar)in.type.scalar));
  int64_t n = in.length[0];
  if (scan == HD_SCAN_EXCLUSIVE && out.length[0] == n + 1) return hdalg_scan(a, scan, in, out);
  HD_TRY(hdalg_check_length(a, call, "out", out, n));
  return hdalg_scan(a, scan, in, out);
}
