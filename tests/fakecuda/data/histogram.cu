// tests/fakecuda/data/histogram.cu -- counts of bytes, first of a block, then of all. histogram.ptx: nvcc -O3 -arch=sm_75 -ptx
extern "C" __global__ void histogram(const unsigned char *in, unsigned *counts, int n) {
  __shared__ unsigned own[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[in[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (own[i]) atomicAdd(&counts[i], own[i]);
}
