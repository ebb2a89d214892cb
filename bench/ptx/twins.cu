// bench/ptx/twins.cu -- kernels of bench/workloads as one writes them in CUDA C, for compare.py: 32-bit lengths and
// strides, one thread an element, the same arithmetic. Pointers are not `restrict`, as arrays of the language may overlap.
#include <cuda_fp16.h>

#include <cstdint>

struct V3 {
  float x, y, z;
};
static __device__ V3 v3(float x, float y, float z) { return {x, y, z}; }
static __device__ V3 operator+(V3 a, V3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
static __device__ V3 operator-(V3 a, V3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
static __device__ V3 operator*(V3 a, float s) { return {a.x * s, a.y * s, a.z * s}; }
static __device__ float dot(V3 a, V3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static __device__ float length(V3 a) { return sqrtf(dot(a, a)); }
static __device__ V3 cross(V3 a, V3 b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
static __device__ float least(float a, float b) { return a < b ? a : b; }
static __device__ float most(float a, float b) { return a > b ? a : b; }
static __device__ int least(int a, int b) { return a < b ? a : b; }
static __device__ int most(int a, int b) { return a > b ? a : b; }

#define THREAD(i, n)                                                                                                   \
  int i = blockIdx.x * blockDim.x + threadIdx.x;                                                                       \
  if (i >= n) return

// --- tiles of halves ---

// A tile of M x N: zeros where the array ends; a barrier.
template <int M, int N, typename T> static __device__ void tile_load(T (&t)[M][N], const T *a, int stride, int rows, int cols, int row, int column) {
  for (int e = threadIdx.x; e < M * N; e += 128) {
    int r = row + e / N, c = column + e % N;
    t[e / N][e % N] = r < rows && c < cols ? a[r * stride + c] : T(0);
  }
  __syncthreads();
}
static __device__ void mma(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  for (int k = 0; k < 2; k++)
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[2 * k]), "r"(a[2 * k + 1]), "r"(b[k]));
#endif
}
static __device__ uint32_t pair(__half x, __half y) { return uint32_t(__half_as_ushort(x)) | uint32_t(__half_as_ushort(y)) << 16; }

// c += a b of the tiles, a warp 32 x 32 of it, by the matrix units or, by the rules of the default, by chains of fma.
static __device__ void multiply(float (&c)[64][64], const __half (&a)[64][32], const __half (&b)[32][64]) {
  int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, q = threadIdx.x % 4, row = warp / 2 * 32, column = warp % 2 * 32;
#ifdef FAST
  float sum[2][4][4]; // of tile k, columns 4 n + k of the warp's
  for (int r = 0; r < 4; r++)
    for (int i = 0; i < 2; i++) {
      float4 v = *(const float4 *)&c[row + 8 * r + g][column + 8 * q + 4 * i];
      sum[r / 2][0][r % 2 * 2 + i] = v.x, sum[r / 2][1][r % 2 * 2 + i] = v.y;
      sum[r / 2][2][r % 2 * 2 + i] = v.z, sum[r / 2][3][r % 2 * 2 + i] = v.w;
    }
  uint4 left[4]; // a thread's 8 columns of rows g, g + 8, ..
  for (int r = 0; r < 4; r++) left[r] = *(const uint4 *)&a[row + 8 * r + g][8 * q];
  for (int w = 0; w < 2; w++) {
    uint2 line[4];
    for (int i = 0; i < 4; i++) line[i] = *(const uint2 *)&b[8 * q + 4 * w + i][column + 4 * g];
    for (int k = 0; k < 4; k++) {
      int way = k % 2 ? 0x7632 : 0x5410;
      uint32_t right[2];
      for (int i = 0; i < 2; i++)
        right[i] = __byte_perm(k < 2 ? line[2 * i].x : line[2 * i].y, k < 2 ? line[2 * i + 1].x : line[2 * i + 1].y, way);
      for (int r = 0; r < 2; r++) {
        uint4 low = left[2 * r], high = left[2 * r + 1];
        uint32_t rows[4] = {w ? low.z : low.x, w ? high.z : high.x, w ? low.w : low.y, w ? high.w : high.y};
        mma(sum[r][k], rows, right);
      }
    }
  }
  for (int r = 0; r < 4; r++)
    for (int i = 0; i < 2; i++) {
      int at = r % 2 * 2 + i;
      *(float4 *)&c[row + 8 * r + g][column + 8 * q + 4 * i] = make_float4(sum[r / 2][0][at], sum[r / 2][1][at], sum[r / 2][2][at], sum[r / 2][3][at]);
    }
#else
  for (int block = warp; block < 8; block += 4) {
    int l = threadIdx.x % 32, y = block * 8;
    float sum[8][2];
    for (int r = 0; r < 8; r++)
      for (int k = 0; k < 2; k++) sum[r][k] = c[y + r][l + 32 * k];
    for (int at = 0; at < 32; at++) {
      float right[2] = {__half2float(b[at][l]), __half2float(b[at][l + 32])};
      for (int r = 0; r < 8; r++)
        for (int k = 0; k < 2; k++) sum[r][k] = fmaf(__half2float(a[y + r][at]), right[k], sum[r][k]);
    }
    for (int r = 0; r < 8; r++)
      for (int k = 0; k < 2; k++) c[y + r][l + 32 * k] = sum[r][k];
  }
#endif
  __syncthreads();
}

extern "C" {

__global__ __launch_bounds__(256) void saxpy(float a, const float *x, float *y, int n) {
  THREAD(i, n);
  y[i] = a * x[i] + y[i];
}

__global__ __launch_bounds__(256) void nbody(const V3 *x, int n, float softening, V3 *a) {
  THREAD(i, n);
  V3 xi = x[i], sum = {0, 0, 0};
  for (int j = 0; j < n; j++) {
    V3 d = x[j] - xi;
    float s = 1 / sqrtf(dot(d, d) + softening);
    sum = sum + d * (s * s * s);
  }
  a[i] = sum;
}

__global__ __launch_bounds__(256) void mandelbrot(int limit, int *out, int stride, int rows, int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c >= cols || r >= rows) return;
  float cx = -2.0f + 3.0f * float(c) / float(cols), cy = -1.5f + 3.0f * float(r) / float(rows), x = 0, y = 0;
  int i = 0;
  while (i < limit && x * x + y * y < 4) {
    float t = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = t;
    i++;
  }
  out[r * stride + c] = i;
}

__global__ __launch_bounds__(256) void jacobi(const float *u, float *next, int ustride, int nstride, int rows, int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c >= cols || r >= rows) return;
  r++, c++;
  next[r * nstride + c] = 0.25f * (u[(r - 1) * ustride + c] + u[(r + 1) * ustride + c] + u[r * ustride + c - 1] + u[r * ustride + c + 1]);
}

struct Quat {
  float x, y, z, w;
};
struct Pose {
  V3 p;
  Quat q;
};

__global__ __launch_bounds__(256) void transforms(const Pose *pose, const int *body, const V3 *x, V3 *out, int n) {
  THREAD(i, n);
  Pose b = pose[body[i]];
  V3 v = x[i], u = {b.q.x, b.q.y, b.q.z};
  V3 t = cross(u, v) * 2.0f;
  out[i] = v + t * b.q.w + cross(u, t) + b.p;
}

__global__ __launch_bounds__(256) void histogram(const int *key, int *bin, int n) {
  THREAD(i, n);
  atomicAdd(&bin[key[i]], 1);
}

static __device__ float box(V3 p, V3 half) {
  V3 q = v3(fabsf(p.x), fabsf(p.y), fabsf(p.z)) - half;
  return length(v3(most(q.x, 0.0f), most(q.y, 0.0f), most(q.z, 0.0f))) + least(most(q.x, most(q.y, q.z)), 0.0f);
}
static __device__ float torus(V3 p, float ring, float tube) {
  float q = sqrtf(p.x * p.x + p.z * p.z) - ring;
  return sqrtf(q * q + p.y * p.y) - tube;
}
static __device__ float blend(float a, float b, float k) {
  float h = most(k - fabsf(a - b), 0.0f) / k;
  return least(a, b) - 0.25f * h * h * k;
}
static __device__ float scene(V3 p) {
  float d = p.y + 1;
  d = blend(d, box(p + v3(0, 0.25f, 0), v3(0.6f, 0.5f, 0.4f)) - 0.08f, 0.25f);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    V3 c = v3(-1.4f + 0.95f * float(i), 0.35f, 0.7f - 0.45f * float(i));
    d = blend(d, length(p - c) - 0.33f, 0.3f);
  }
  return least(d, torus(p - v3(0, 0.85f, 0), 0.75f, 0.14f));
}
static __device__ float shadow(V3 p, V3 light) {
  float r = 1.0f, t = 0.05f;
  for (int i = 0; i < 48; i++) {
    float d = scene(p + light * t);
    if (d < 1e-3f) return 0;
    r = least(r, 8 * d / t);
    t += d;
    if (t > 6) break;
  }
  return r;
}
static __device__ V3 normalize(V3 v) { return v * (1 / length(v)); }

__global__ __launch_bounds__(256) void sdf(float *image, int stride, int rows, int cols) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= cols || y >= rows) return;
  V3 eye = v3(0, 0.7f, 4);
  float w = float(cols), h = float(rows);
  V3 ray = normalize(v3((2 * float(x) - w) / w, (h - 2 * float(y)) / h - 0.2f, -1.5f));
  float t = 0, grey = 0.1f;
  bool hit = false;
  for (int i = 0; i < 96; i++) {
    float d = scene(eye + ray * t);
    if (d < 1e-3f) {
      hit = true;
      break;
    }
    t += d;
    if (t > 20) break;
  }
  if (hit) {
    V3 p = eye + ray * t;
    const float e = 1e-2f;
    float a = scene(p + v3(e, -e, -e)), b = scene(p + v3(-e, -e, e)), c = scene(p + v3(-e, e, -e)), d = scene(p + v3(e, e, e));
    V3 n = normalize(v3(a - b - c + d, c + d - a - b, b - a - c + d)), light = v3(0.57735f, 0.57735f, 0.57735f);
    float lit = dot(n, light);
    if (lit > 0) grey += 0.9f * lit * shadow(p, light);
  }
  image[y * stride + x] = grey;
}

__global__ __launch_bounds__(256) void density(const V3 *sorted, const int *id, const int *first, int res, float h, float *rho, int n) {
  THREAD(k, n);
  V3 p = sorted[k];
  int cx = least(most(int(p.x * res), 0), res - 1), cy = least(most(int(p.y * res), 0), res - 1), cz = least(most(int(p.z * res), 0), res - 1);
  int lx = most(cx - 1, 0), ly = most(cy - 1, 0), lz = most(cz - 1, 0);
  int hx = least(cx + 1, res - 1), hy = least(cy + 1, res - 1), hz = least(cz + 1, res - 1);
  float h2 = h * h, ih2 = 1 / h2, s = 0;
  for (int z = lz; z < hz + 1; z++)
    for (int y = ly; y < hy + 1; y++) {
      int row = (z * res + y) * res;
      int end = first[row + hx + 1];
      for (int j = first[row + lx]; j < end; j++) {
        V3 d = sorted[j] - p;
        float q = most(1 - dot(d, d) * ih2, 0.0f);
        s += q * q * q;
      }
    }
  rho[id[k]] = s;
}

// Eight sums at once, as the kernel has them.
__global__ __launch_bounds__(256) void sum_blocks(const float *x, int xstride, float *part, int pstride, int blocks, int cols) {
  int l = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y * blockDim.y + threadIdx.y;
  if (l >= 16 || b >= blocks) return;
  float s[8] = {};
  for (int k = 0; k < cols / (8 * 16); k++)
#pragma unroll
    for (int j = 0; j < 8; j++) s[j] += x[b * xstride + (8 * k + j) * 16 + l];
  part[b * pstride + l] = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

static __device__ float normal(float x) {
  float k = 1 / (1 + 0.2316419f * fabsf(x));
  float p = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  float upper = 0.398942280f * expf(-0.5f * x * x) * p;
  return x < 0 ? upper : 1 - upper;
}

__global__ __launch_bounds__(256) void black_scholes(const float *s, const float *k, const float *t, float r, float v, float *call, float *put, int n) {
  THREAD(i, n);
  float vt = v * sqrtf(t[i]);
  float d1 = (logf(s[i] / k[i]) + (r + 0.5f * v * v) * t[i]) / vt, d2 = d1 - vt;
  float discounted = k[i] * expf(-r * t[i]);
  float c = s[i] * normal(d1) - discounted * normal(d2);
  call[i] = c;
  put[i] = c + discounted - s[i];
}

extern "C++" {
template <int N> static __device__ void cholesky(const float *a, const float *b, float *x, int i) {
  float l[N][N], y[N], z[N];
#pragma unroll
  for (int r = 0; r < N; r++) {
    float row[N];
#pragma unroll
    for (int c = 0; c < N; c++) row[c] = a[(i * N + r) * N + c];
    float d = row[r];
#pragma unroll
    for (int c = 0; c < r; c++) {
      float s = row[c];
#pragma unroll
      for (int k = 0; k < c; k++) s -= l[r][k] * l[c][k];
      s *= y[c];
      l[r][c] = s;
      d -= s * s;
    }
    y[r] = 1 / sqrtf(d);
  }
#pragma unroll
  for (int r = 0; r < N; r++) z[r] = b[i * N + r];
#pragma unroll
  for (int r = 0; r < N; r++) {
    float s = z[r];
#pragma unroll
    for (int k = 0; k < r; k++) s -= l[r][k] * z[k];
    z[r] = s * y[r];
  }
#pragma unroll
  for (int r = N - 1; r >= 0; r--) {
    float s = z[r];
#pragma unroll
    for (int k = r + 1; k < N; k++) s -= l[k][r] * z[k];
    z[r] = s * y[r];
  }
#pragma unroll
  for (int r = 0; r < N; r++) x[i * N + r] = z[r];
}
}

__global__ __launch_bounds__(256) void cholesky6(const float *a, const float *b, float *x, int n) {
  THREAD(i, n);
  cholesky<6>(a, b, x, i);
}
__global__ __launch_bounds__(256) void cholesky12(const float *a, const float *b, float *x, int n) {
  THREAD(i, n);
  cholesky<12>(a, b, x, i);
}

__global__ __launch_bounds__(128) void tile_product(const __half *a, int astride, const __half *b, int bstride, float *c, int cstride, int rows, int cols, int along) {
  __shared__ __align__(16) __half left[64][32], right[32][64];
  __shared__ __align__(16) float sum[64][64];
  int strips = cols / 64, row = blockIdx.x / strips * 64, column = blockIdx.x % strips * 64;
  tile_load(sum, c, cstride, rows, cols, row, column);
  for (int k = 0; k < along; k += 32) {
    tile_load(left, a, astride, rows, along, row, k);
    tile_load(right, b, bstride, along, cols, k, column);
    multiply(sum, left, right);
  }
  for (int e = threadIdx.x; e < 64 * 64; e += 128) {
    int r = row + e / 64, k = column + e % 64;
    if (r < rows && k < cols) c[r * cstride + k] = sum[e / 64][e % 64];
  }
}

}
