/* bench/peers.c -- the same work in plain C, for clang -O3 -march=native -ffast-math -fopenmp. Loaded by dlopen, so that
 * its compiler and flags are its own. Mandelbrot is the scalar code that clang makes of it: one thread, no SIMD pragma. */
#include <stdint.h>

void peer_saxpy(int64_t n, float a, const float *x, float *y) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}

void peer_mandelbrot(int rows, int cols, int limit, int32_t *out) {
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++) {
      float cx = -2.0f + 3.0f * (float)c / (float)cols, cy = -1.5f + 3.0f * (float)r / (float)rows;
      float x = 0, y = 0;
      int   i = 0;
      while (i < limit && x * x + y * y < 4) {
        float t = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = t;
        i++;
      }
      out[r * cols + c] = i;
    }
}
