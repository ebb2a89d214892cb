// tests/fakecuda/data/matmul.cu -- a product of matrices by tiles in shared memory. matmul.ptx: nvcc -O3 -arch=sm_75 -ptx
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float as[8][8], bs[8][8];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 8 + ty, column = blockIdx.x * 8 + tx;
  float sum = 0;
  for (int t = 0; t < n; t += 8) {
    as[ty][tx] = row < n && t + tx < n ? a[row * n + t + tx] : 0;
    bs[ty][tx] = column < n && t + ty < n ? b[(t + ty) * n + column] : 0;
    __syncthreads();
    for (int k = 0; k < 8; k++) sum += as[ty][k] * bs[k][tx];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}
