// tests/fakecuda/data/calls.cu -- recursion, a local array, a table of cases, text. calls.ptx: nvcc -O3 -arch=sm_75 -ptx
#include <cstdio>

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void calls(unsigned *out) {
  unsigned i = threadIdx.x, sorted[8];
  for (unsigned k = 0; k < 8; k++) sorted[k] = (i * 7 + k * 5) % 11;
  for (unsigned k = 1; k < 8; k++)
    for (unsigned j = k; j > 0 && sorted[j - 1] > sorted[j]; j--) {
      unsigned t = sorted[j];
      sorted[j] = sorted[j - 1];
      sorted[j - 1] = t;
    }
  unsigned r = 0;
  switch (i % 7) {
  case 0: r = ackermann(2, i % 4); break;
  case 1: r = i * i; break;
  case 2: r = sorted[i % 8]; break;
  case 3: r = ~i; break;
  case 4: r = i << 5; break;
  case 5: r = i / 3; break;
  default: r = 77; break;
  }
  out[i] = r * 100 + sorted[(i + 3) % 8];
  if (i == 5) printf("thread %u of %d: %s %.3f %c %llx%%\n", i, (int)blockDim.x, "text", 1.5, 'z', 0x123456789abull);
}
