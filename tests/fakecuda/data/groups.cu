// tests/fakecuda/data/groups.cu -- every way in which threads of a block meet. groups.ptx: nvcc -O3 -arch=sm_80 -ptx
#include <cassert>

extern "C" __global__ void groups(const unsigned *in, unsigned *out, unsigned limit) {
  extern __shared__ unsigned words[];
  __shared__ unsigned sum, least;
  unsigned i = threadIdx.x, x = in[i], lane = i & 31;
  assert(x < limit);
  if (i == 0) sum = 0, least = ~0u;
  __syncthreads();
  atomicAdd(&sum, x);
  atomicMin(&least, x);
  words[i] = x;
  unsigned odd = __syncthreads_count(x & 1);
  bool any = __syncthreads_or(x == 1000), every = __syncthreads_and(x < 1000);
  unsigned prefix = x;
  for (unsigned d = 1; d < 32; d *= 2) {
    unsigned y = __shfl_up_sync(~0u, prefix, d);
    if (lane >= d) prefix += y;
  }
  unsigned votes = __ballot_sync(~0u, x & 2), same = __match_any_sync(~0u, x % 3), most = __reduce_max_sync(~0u, x);
  unsigned flip = __shfl_xor_sync(~0u, x, 3), first = __shfl_sync(~0u, x, 5, 8);
  if (lane < 10) {
    unsigned few = __ballot_sync(0x3ff, x & 4);
    votes ^= few;
    __syncwarp(0x3ff);
  }
  unsigned next = words[(i + 1) % blockDim.x];
  out[i] = prefix + 3 * votes + 5 * same + 7 * most + 11 * flip + 13 * first + 17 * next + 19 * sum + 23 * least + 29 * odd +
           31 * any + 37 * every + 41 * __any_sync(~0u, x == 7) + 43 * __all_sync(~0u, x != 7);
}
