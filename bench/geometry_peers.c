/* bench/geometry_peers.c -- rays and nearest points in plain C, on the tree that Heddle made; and rays by Embree, if it is there.
 *
 * Compiled as peers.c is. The arrays are those of a Mesh in lib/geometry/mesh.hd.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct Vec {
  float x, y, z;
} Vec;
typedef struct BvhNode {
  Vec lo0, hi0, lo1, hi1;
  int32_t child[2], first, end;
} BvhNode;
typedef struct Triangle {
  Vec a, b, c;
  int32_t face, unused[2];
} Triangle;

static inline Vec sub(Vec a, Vec b) { return (Vec){a.x - b.x, a.y - b.y, a.z - b.z}; }
static inline Vec add(Vec a, Vec b, float s) { return (Vec){a.x + b.x * s, a.y + b.y * s, a.z + b.z * s}; }
static inline float dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline Vec cross(Vec a, Vec b) {
  return (Vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline float enter(Vec o, Vec inv, float limit, Vec lo, Vec hi) {
  float ax = (lo.x - o.x) * inv.x, bx = (hi.x - o.x) * inv.x;
  float ay = (lo.y - o.y) * inv.y, by = (hi.y - o.y) * inv.y;
  float az = (lo.z - o.z) * inv.z, bz = (hi.z - o.z) * inv.z;
  float near = fmaxf(fmaxf(fminf(ax, bx), fminf(ay, by)), fmaxf(fminf(az, bz), 0));
  float far = fminf(fminf(fmaxf(ax, bx), fmaxf(ay, by)), fminf(fmaxf(az, bz), limit));
  return near <= far * 1.0000005f ? near : -1;
}

/* Moller and Trumbore, "Fast, Minimum Storage Ray/Triangle Intersection", JGT 2(1), 1997. */
static inline float hit(Vec o, Vec d, const Triangle *c) {
  Vec e = sub(c->b, c->a), f = sub(c->c, c->a), p = cross(d, f);
  float det = dot(e, p), inv = 1 / det;
  Vec s = sub(o, c->a), q = cross(s, e);
  float u = dot(s, p) * inv, v = dot(d, q) * inv;
  return u >= 0 && v >= 0 && u + v <= 1 ? dot(f, q) * inv : -1;
}

void peer_mesh_rays(const BvhNode *nodes, const Triangle *triangles, int64_t n, const Vec *o, const Vec *d, float *t) {
  for (int64_t i = 0; i < n; i++) {
    Vec inv = {1 / d[i].x, 1 / d[i].y, 1 / d[i].z};
    float limit = HUGE_VALF, near[64];
    int32_t stack[64], top = 1;
    stack[0] = 0;
    near[0] = 0;
    while (top > 0) {
      int32_t c = stack[--top];
      if (near[top] > limit) continue;
      while (c >= 0) {
        const BvhNode *x = &nodes[c];
        float a = enter(o[i], inv, limit, x->lo0, x->hi0), b = enter(o[i], inv, limit, x->lo1, x->hi1);
        if (a < 0 && b < 0) {
          c = -1;
        } else {
          int first = b >= 0 && (b < a || a < 0);
          if (a >= 0 && b >= 0) {
            stack[top] = x->child[!first];
            near[top++] = first ? a : b;
          }
          c = x->child[first];
        }
      }
      for (int32_t k = ~c >> 3, end = k + (~c & 7); k < end; k++) {
        float at = hit(o[i], d[i], &triangles[k]);
        if (at >= 0 && at < limit) limit = at;
      }
    }
    t[i] = limit < HUGE_VALF ? limit : -1;
  }
}

static inline float apart(Vec p, Vec lo, Vec hi) {
  Vec d = {fmaxf(fmaxf(lo.x - p.x, p.x - hi.x), 0), fmaxf(fmaxf(lo.y - p.y, p.y - hi.y), 0),
           fmaxf(fmaxf(lo.z - p.z, p.z - hi.z), 0)};
  return dot(d, d);
}

/* Ericson, "Real-Time Collision Detection", 2005, section 5.1.5. */
static inline Vec nearest(Vec p, Vec a, Vec b, Vec c) {
  Vec ab = sub(b, a), ac = sub(c, a), ap = sub(p, a), bp = sub(p, b), cp = sub(p, c);
  float d1 = dot(ab, ap), d2 = dot(ac, ap), d3 = dot(ab, bp), d4 = dot(ac, bp), d5 = dot(ab, cp), d6 = dot(ac, cp);
  if (d1 <= 0 && d2 <= 0) return a;
  if (d3 >= 0 && d4 <= d3) return b;
  float vc = d1 * d4 - d3 * d2;
  if (vc <= 0 && d1 >= 0 && d3 <= 0) return add(a, ab, d1 / (d1 - d3));
  if (d6 >= 0 && d5 <= d6) return c;
  float vb = d5 * d2 - d1 * d6;
  if (vb <= 0 && d2 >= 0 && d6 <= 0) return add(a, ac, d2 / (d2 - d6));
  float va = d3 * d6 - d5 * d4;
  if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) return add(b, sub(c, b), (d4 - d3) / ((d4 - d3) + (d5 - d6)));
  float s = 1 / (va + vb + vc);
  return add(add(a, ab, vb * s), ac, vc * s);
}

void peer_mesh_distances(const BvhNode *nodes, const Triangle *triangles, int64_t n, const Vec *p, float *distance) {
  for (int64_t i = 0; i < n; i++) {
    float limit = HUGE_VALF, near[64];
    int32_t stack[64], top = 1;
    stack[0] = 0;
    near[0] = 0;
    while (top > 0) {
      int32_t c = stack[--top];
      if (near[top] > limit) continue;
      while (c >= 0) {
        const BvhNode *x = &nodes[c];
        float a = apart(p[i], x->lo0, x->hi0), b = apart(p[i], x->lo1, x->hi1), far = fmaxf(a, b);
        int first = b < a;
        if (far <= limit) {
          stack[top] = x->child[!first];
          near[top++] = far;
        }
        c = fminf(a, b) <= limit ? x->child[first] : -1;
      }
      for (int32_t k = ~c >> 3, end = k + (~c & 7); k < end; k++) {
        Vec d = sub(p[i], nearest(p[i], triangles[k].a, triangles[k].b, triangles[k].c));
        limit = fminf(limit, dot(d, d));
      }
    }
    distance[i] = sqrtf(limit);
  }
}

/* --- Embree, opened at run time --- */

#if __has_include(<embree3/rtcore.h>)
#include <embree3/rtcore.h>

static struct {
  RTCScene scene;
  void (*ray)(RTCScene, struct RTCIntersectContext *, struct RTCRayHit *);
} embree;

/* 0 if there is none. Robust, as ours is. */
int peer_embree_open(int64_t npoints, const float *points, int64_t nfaces, const int32_t *faces) {
  void *l = dlopen("libembree3.so.3", RTLD_NOW);
  if (!l) return 0;
#define GET(name) __typeof__(&rtc##name) name = (__typeof__(&rtc##name))dlsym(l, "rtc" #name)
  GET(NewDevice);
  GET(NewScene);
  GET(NewGeometry);
  GET(SetNewGeometryBuffer);
  GET(CommitGeometry);
  GET(AttachGeometry);
  GET(SetSceneFlags);
  GET(CommitScene);
  embree.ray = (__typeof__(embree.ray))dlsym(l, "rtcIntersect1");
  RTCDevice device = NewDevice("threads=1");
  embree.scene = NewScene(device);
  RTCGeometry g = NewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
  memcpy(SetNewGeometryBuffer(g, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, 12, (size_t)npoints), points,
         (size_t)npoints * 12);
  memcpy(SetNewGeometryBuffer(g, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, 12, (size_t)nfaces), faces,
         (size_t)nfaces * 12);
  CommitGeometry(g);
  AttachGeometry(embree.scene, g);
  SetSceneFlags(embree.scene, RTC_SCENE_FLAG_ROBUST);
  CommitScene(embree.scene);
  return 1;
}

void peer_embree_rays(int64_t n, const Vec *o, const Vec *d, float *t) {
  struct RTCIntersectContext context;
  rtcInitIntersectContext(&context);
  for (int64_t i = 0; i < n; i++) {
    struct RTCRayHit r = {.ray = {.org_x = o[i].x,
                                  .org_y = o[i].y,
                                  .org_z = o[i].z,
                                  .dir_x = d[i].x,
                                  .dir_y = d[i].y,
                                  .dir_z = d[i].z,
                                  .tfar = HUGE_VALF,
                                  .mask = ~0u},
                          .hit = {.geomID = RTC_INVALID_GEOMETRY_ID}};
    embree.ray(embree.scene, &context, &r);
    t[i] = r.hit.geomID == RTC_INVALID_GEOMETRY_ID ? -1 : r.ray.tfar;
  }
}
#endif
