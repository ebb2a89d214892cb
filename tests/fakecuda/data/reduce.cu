// tests/fakecuda/data/reduce.cu -- sums of blocks by shuffles and shared memory. reduce.ptx: nvcc -O3 -arch=sm_75 -ptx
extern "C" __global__ void reduce(const float *in, float *sums, int n) {
  __shared__ float part[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
  for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
