/* bench/texture_peers.c -- samples of textures in plain C: repeated, linear between texels, and between levels.
 *
 * Compiled as peers.c is.
 */
#include <math.h>
#include <stdint.h>

typedef struct Axis {
  int32_t low, high;
  float t;
} Axis;

static inline Axis around(float p, int32_t n) {
  float at = (p - floorf(p)) * (float)n - 0.5f, low = floorf(at);
  int32_t i = (int32_t)low, j = i + 1;
  return (Axis){i < 0 ? i + n : i, j >= n ? j - n : j, at - low};
}

static inline float mix(float a, float b, float t) { return a + (b - a) * t; }

void peer_sample_image(const float *a, int32_t w, int32_t h, int64_t n, const float *p, float *r) {
  for (int64_t i = 0; i < n; i++) {
    Axis x = around(p[2 * i], w), y = around(p[2 * i + 1], h);
    const float *low = a + y.low * w, *high = a + y.high * w;
    r[i] = mix(mix(low[x.low], low[x.high], x.t), mix(high[x.low], high[x.high], x.t), y.t);
  }
}

void peer_sample_field(const float *a, int32_t w, int32_t h, int32_t d, int64_t n, const float *p, float *r) {
  for (int64_t i = 0; i < n; i++) {
    Axis x = around(p[3 * i], w), y = around(p[3 * i + 1], h), z = around(p[3 * i + 2], d);
    const float *ll = a + (z.low * h + y.low) * w, *lh = a + (z.low * h + y.high) * w;
    const float *hl = a + (z.high * h + y.low) * w, *hh = a + (z.high * h + y.high) * w;
    float low = mix(mix(ll[x.low], ll[x.high], x.t), mix(lh[x.low], lh[x.high], x.t), y.t);
    float high = mix(mix(hl[x.low], hl[x.high], x.t), mix(hh[x.low], hh[x.high], x.t), y.t);
    r[i] = mix(low, high, z.t);
  }
}

/* Four bytes a texel. `level` has each level's first byte, of a square image whose width is a power of two. */
static inline void sample_level(const uint8_t *a, int32_t w, float u, float v, float out[4]) {
  Axis x = around(u, w), y = around(v, w);
  const uint8_t *ll = a + 4 * (y.low * w + x.low), *lh = a + 4 * (y.low * w + x.high);
  const uint8_t *hl = a + 4 * (y.high * w + x.low), *hh = a + 4 * (y.high * w + x.high);
  for (int c = 0; c < 4; c++) out[c] = mix(mix(ll[c], lh[c], x.t), mix(hl[c], hh[c], x.t), y.t) * (1 / 255.0f);
}

void peer_sample_levels(const uint8_t *a, const int64_t *level, int32_t levels, int32_t w, int64_t n, const float *p,
                        float *r) {
  for (int64_t i = 0; i < n; i++) {
    float lod = fminf(fmaxf(p[3 * i + 2], 0), (float)(levels - 1)), t = lod - floorf(lod), one[4], two[4];
    int32_t l = (int32_t)lod, m = l + 1 < levels ? l + 1 : l;
    sample_level(a + level[l], w >> l, p[3 * i], p[3 * i + 1], one);
    sample_level(a + level[m], w >> m, p[3 * i], p[3 * i + 1], two);
    for (int c = 0; c < 4; c++) r[4 * i + c] = mix(one[c], two[c], t);
  }
}
