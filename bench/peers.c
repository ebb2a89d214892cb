/* bench/peers.c -- the work of bench/workloads in plain C, as one would write it for a compiler that vectorises loops:
 * clang -O3 -march=native -ffast-math -fveclib=libmvec -fopenmp, loaded by dlopen so that compiler and flags are its own.
 *
 * Vectors of three are three floats in a row, as Heddle has them. Each function does one repetition and returns when it is
 * done.
 */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define R __restrict

void peer_threads(int n) { omp_set_num_threads(n); }

/* The plain triad: what memory gives to a loop of C. */
void peer_triad(int64_t n, float s, const float *R b, const float *R c, float *R a) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) a[i] = b[i] + s * c[i];
}

void peer_saxpy(int64_t n, float a, const float *R x, float *R y) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}

static inline float normal(float x) {
  float k = 1 / (1 + 0.2316419f * fabsf(x));
  float p = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  float upper = 0.398942280f * expf(-0.5f * x * x) * p;
  return x < 0 ? upper : 1 - upper;
}

void peer_black_scholes(int64_t n, const float *R s, const float *R k, const float *R t, float r, float v,
                        float *R call, float *R put) {
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < n; i++) {
    float vt = v * sqrtf(t[i]);
    float d1 = (logf(s[i] / k[i]) + (r + 0.5f * v * v) * t[i]) / vt, d2 = d1 - vt;
    float discounted = k[i] * expf(-r * t[i]);
    float c = s[i] * normal(d1) - discounted * normal(d2);
    call[i] = c;
    put[i] = c + discounted - s[i];
  }
}

void peer_mandelbrot(int rows, int cols, int limit, int32_t *R out) {
#pragma omp parallel for schedule(dynamic, 8)
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++) {
      float cx = -2.0f + 3.0f * (float)c / (float)cols, cy = -1.5f + 3.0f * (float)r / (float)rows;
      float x = 0, y = 0;
      int i = 0;
      while (i < limit && x * x + y * y < 4) {
        float t = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = t;
        i++;
      }
      out[r * cols + c] = i;
    }
}

void peer_nbody(int n, const float *R x, float softening, float *R a) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < n; i++) {
    float px = x[3 * i], py = x[3 * i + 1], pz = x[3 * i + 2], ax = 0, ay = 0, az = 0;
    for (int j = 0; j < n; j++) {
      float dx = x[3 * j] - px, dy = x[3 * j + 1] - py, dz = x[3 * j + 2] - pz;
      float s = 1 / sqrtf(dx * dx + dy * dy + dz * dz + softening), s3 = s * s * s;
      ax += dx * s3, ay += dy * s3, az += dz * s3;
    }
    a[3 * i] = ax, a[3 * i + 1] = ay, a[3 * i + 2] = az;
  }
}

void peer_jacobi(int rows, int cols, const float *R u, float *R next) {
#pragma omp parallel for schedule(static)
  for (int r = 1; r < rows - 1; r++)
    for (int c = 1; c < cols - 1; c++) {
      const float *p = u + (size_t)r * cols + c;
      next[(size_t)r * cols + c] = 0.25f * (p[-cols] + p[cols] + p[-1] + p[1]);
    }
}

static inline int cell_axis(float x, int res) {
  int c = (int)(x * (float)res);
  return c < 0 ? 0 : c > res - 1 ? res - 1 : c;
}

void peer_particles(int n, const float *R x, const float *R v, float dt, int res, float h, float *R x2, int32_t *R cell,
                    int32_t *R first, int32_t *R next, float *R sorted, int32_t *R id, float *R rho) {
  int cells = res * res * res;
#pragma omp parallel for schedule(static)
  for (int i = 0; i < n; i++) {
    int c[3];
    for (int k = 0; k < 3; k++) {
      float p = x[3 * i + k] + dt * v[3 * i + k];
      p = p < 0 ? -p : p;
      p = p > 1 ? 2 - p : p;
      x2[3 * i + k] = p;
      c[k] = cell_axis(p, res);
    }
    cell[i] = (c[2] * res + c[1]) * res + c[0];
  }
  memset(first, 0, sizeof *first * (size_t)(cells + 1));
  for (int i = 0; i < n; i++) first[cell[i] + 1]++;
  for (int c = 0; c < cells; c++) next[c] = first[c], first[c + 1] += first[c];
  for (int i = 0; i < n; i++) {
    int at = next[cell[i]]++;
    memcpy(sorted + 3 * at, x2 + 3 * i, 12);
    id[at] = i;
  }
  float ih2 = 1 / (h * h);
#pragma omp parallel for schedule(dynamic, 256)
  for (int k = 0; k < n; k++) {
    float px = sorted[3 * k], py = sorted[3 * k + 1], pz = sorted[3 * k + 2], s = 0;
    int cx = cell_axis(px, res), cy = cell_axis(py, res), cz = cell_axis(pz, res);
    int x0 = cx ? cx - 1 : 0, x1 = cx < res - 1 ? cx + 1 : cx;
    for (int z = cz ? cz - 1 : 0; z <= cz + 1 && z < res; z++)
      for (int y = cy ? cy - 1 : 0; y <= cy + 1 && y < res; y++) {
        int row = (z * res + y) * res;
        for (int j = first[row + x0]; j < first[row + x1 + 1]; j++) {
          float dx = sorted[3 * j] - px, dy = sorted[3 * j + 1] - py, dz = sorted[3 * j + 2] - pz;
          float q = 1 - (dx * dx + dy * dy + dz * dz) * ih2;
          q = q > 0 ? q : 0;
          s += q * q * q;
        }
      }
    rho[id[k]] = s;
  }
}

/* --- sphere tracing --- */

typedef struct V3 {
  float x, y, z;
} V3;

static inline float len(float x, float y, float z) { return sqrtf(x * x + y * y + z * z); }
static inline V3 along(V3 p, V3 d, float t) { return (V3){p.x + d.x * t, p.y + d.y * t, p.z + d.z * t}; }

static inline float box(V3 p, V3 half) {
  float x = fabsf(p.x) - half.x, y = fabsf(p.y) - half.y, z = fabsf(p.z) - half.z;
  return len(fmaxf(x, 0), fmaxf(y, 0), fmaxf(z, 0)) + fminf(fmaxf(x, fmaxf(y, z)), 0);
}

static inline float torus(V3 p, float ring, float tube) {
  float q = sqrtf(p.x * p.x + p.z * p.z) - ring;
  return sqrtf(q * q + p.y * p.y) - tube;
}

static inline float blend(float a, float b, float k) {
  float h = fmaxf(k - fabsf(a - b), 0) / k;
  return fminf(a, b) - 0.25f * h * h * k;
}

static float scene(V3 p) {
  float d = p.y + 1;
  d = blend(d, box((V3){p.x, p.y + 0.25f, p.z}, (V3){0.6f, 0.5f, 0.4f}) - 0.08f, 0.25f);
  for (int i = 0; i < 4; i++) {
    float cx = -1.4f + 0.95f * (float)i, cz = 0.7f - 0.45f * (float)i;
    d = blend(d, len(p.x - cx, p.y - 0.35f, p.z - cz) - 0.33f, 0.3f);
  }
  return fminf(d, torus((V3){p.x, p.y - 0.85f, p.z}, 0.75f, 0.14f));
}

static float shadow(V3 p, V3 light) {
  float r = 1, t = 0.05f;
  for (int i = 0; i < 48; i++) {
    float d = scene(along(p, light, t));
    if (d < 1e-3f) return 0;
    r = fminf(r, 8 * d / t);
    t += d;
    if (t > 6) break;
  }
  return r;
}

static float pixel(float rows, float cols, float r, float c) {
  V3 eye = {0, 0.7f, 4}, ray = {(2 * c - cols) / cols, (rows - 2 * r) / rows - 0.2f, -1.5f};
  float il = 1 / len(ray.x, ray.y, ray.z), t = 0, e = 1e-2f;
  int hit = 0;
  ray = (V3){ray.x * il, ray.y * il, ray.z * il};
  for (int i = 0; i < 96; i++) {
    float d = scene(along(eye, ray, t));
    if (d < 1e-3f) {
      hit = 1;
      break;
    }
    t += d;
    if (t > 20) break;
  }
  if (!hit) return 0.1f;
  V3 p = along(eye, ray, t), light = {0.57735f, 0.57735f, 0.57735f};
  float a = scene((V3){p.x + e, p.y - e, p.z - e}), b = scene((V3){p.x - e, p.y - e, p.z + e});
  float g = scene((V3){p.x - e, p.y + e, p.z - e}), d = scene((V3){p.x + e, p.y + e, p.z + e});
  V3 n = {a - b - g + d, g + d - a - b, b - a - g + d};
  float lit = 0.57735f * (n.x + n.y + n.z) / len(n.x, n.y, n.z);
  return lit > 0 ? 0.1f + 0.9f * lit * shadow(p, light) : 0.1f;
}

void peer_sdf(int rows, int cols, float *R image) {
#pragma omp parallel for schedule(dynamic, 4)
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++) image[r * cols + c] = pixel((float)rows, (float)cols, (float)r, (float)c);
}

/* --- --- */

void peer_transforms(int n, const float *R pose, const int32_t *R body, const float *R x, float *R out) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < n; i++) {
    const float *p = pose + 7 * (size_t)body[i], *q = p + 3, *v = x + 3 * (size_t)i;
    float tx = 2 * (q[1] * v[2] - q[2] * v[1]), ty = 2 * (q[2] * v[0] - q[0] * v[2]),
          tz = 2 * (q[0] * v[1] - q[1] * v[0]);
    out[3 * i] = p[0] + v[0] + q[3] * tx + (q[1] * tz - q[2] * ty);
    out[3 * i + 1] = p[1] + v[1] + q[3] * ty + (q[2] * tx - q[0] * tz);
    out[3 * i + 2] = p[2] + v[2] + q[3] * tz + (q[0] * ty - q[1] * tx);
  }
}

/* Each thread counts in bins of its own. */
void peer_histogram(int64_t n, const int32_t *R key, int nbins, int32_t *R bin) {
#pragma omp parallel for schedule(static) reduction(+ : bin[ : nbins])
  for (int64_t i = 0; i < n; i++) bin[key[i]]++;
}

float peer_sum(int64_t n, const float *R x) {
  float s = 0;
#pragma omp parallel for schedule(static) reduction(+ : s)
  for (int64_t i = 0; i < n; i++) s += x[i];
  return s;
}

#define CHOLESKY(N)                                                                                                    \
  void peer_cholesky##N(int n, const float *R a, const float *R b, float *R x) {                                       \
    _Pragma("omp parallel for schedule(static)") for (int i = 0; i < n; i++) {                                         \
      const float *A = a + (size_t)i * N * N, *B = b + (size_t)i * N;                                                  \
      float *X = x + (size_t)i * N, l[N][N], y[N], z[N];                                                               \
      for (int r = 0; r < N; r++) {                                                                                    \
        for (int c = 0; c < r; c++) {                                                                                  \
          float s = A[r * N + c];                                                                                      \
          for (int k = 0; k < c; k++) s -= l[r][k] * l[c][k];                                                          \
          l[r][c] = s * y[c];                                                                                          \
        }                                                                                                              \
        float d = A[r * N + r];                                                                                        \
        for (int k = 0; k < r; k++) d -= l[r][k] * l[r][k];                                                            \
        y[r] = 1 / sqrtf(d);                                                                                           \
      }                                                                                                                \
      for (int r = 0; r < N; r++) {                                                                                    \
        float s = B[r];                                                                                                \
        for (int k = 0; k < r; k++) s -= l[r][k] * z[k];                                                               \
        z[r] = s * y[r];                                                                                               \
      }                                                                                                                \
      for (int r = N - 1; r >= 0; r--) {                                                                               \
        float s = z[r];                                                                                                \
        for (int k = r + 1; k < N; k++) s -= l[k][r] * z[k];                                                           \
        X[r] = z[r] = s * y[r];                                                                                        \
      }                                                                                                                \
    }                                                                                                                  \
  }

CHOLESKY(6)
CHOLESKY(12)
