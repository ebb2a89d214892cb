/* examples/own_volume/own_volume.c -- a mesh in trees of its user's own bounding volumes, beside the library's mesh.
 *
 * own_volume.hd has the volumes and the tree. This program makes a knotted tube of triangles, a tree of balls, one of slabs and
 * the library's tree of boxes, sends the same rays through all three, and tells whether they met the same.
 */
#include <heddle/algorithms.h>
#include <heddle/geometry.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AROUND = 400, ACROSS = 24, FACES = 2 * AROUND * ACROSS, SIDE = 256, RAYS = SIDE * SIDE };

typedef struct Vec3 {
  float x, y, z;
} Vec3;

typedef struct Hit {
  float t;
  int32_t face;
  Vec3 weights;
} Hit;

typedef struct Scene {
  HdContext *ctx;
  HdDevice device;
  HdStream *stream;
  HdModule *module, *reference;
  HdArray points, faces, o, d;
} Scene;

#define TRY(call)                                                                                                      \
  do {                                                                                                                 \
    HdStatus status_ = (call);                                                                                         \
    if (status_ != HD_OK) return status_;                                                                              \
  } while (0)

/* --- a tube along a trefoil knot, and rays from a plane in front of it --- */

static Vec3 knot(double u) {
  double r = 2 + cos(3 * u);
  return (Vec3){(float)(r * cos(2 * u)), (float)(r * sin(2 * u)), (float)sin(3 * u)};
}

static HdStatus make_tube(Scene *s) {
  Vec3 *point = s->points.data;
  int32_t (*face)[3] = s->faces.data;
  const double turn = 6.283185307179586;
  for (int i = 0; i < AROUND; i++) {
    double u = turn * i / AROUND;
    Vec3 at = knot(u);
    for (int k = 0; k < ACROSS;
         k++) { /* a circle in the plane of z and the way from the middle: near enough to a tube */
      double v = turn * k / ACROSS, out = 0.35 * cos(v), l = sqrt((double)at.x * at.x + (double)at.y * at.y);
      point[i * ACROSS + k] =
          (Vec3){(float)(at.x * (1 + out / l)), (float)(at.y * (1 + out / l)), (float)(at.z + 0.35 * sin(v))};
      int j = (i + 1) % AROUND, m = (k + 1) % ACROSS, n = 2 * (i * ACROSS + k);
      memcpy(face[n], (int32_t[3]){i * ACROSS + k, j * ACROSS + k, j * ACROSS + m}, sizeof *face);
      memcpy(face[n + 1], (int32_t[3]){i * ACROSS + k, j * ACROSS + m, i * ACROSS + m}, sizeof *face);
    }
  }
  Vec3 *o = s->o.data, *d = s->d.data;
  for (int i = 0; i < RAYS; i++) {
    int row = i / SIDE, column = i % SIDE;
    o[i] = (Vec3){(float)column / SIDE * 8 - 4, (float)row / SIDE * 8 - 4, -5};
    d[i] = (Vec3){0.1f, -0.05f, 1};
  }
  return HD_OK;
}

static HdStatus make_scene(Scene *s) {
  HdType vec3 = hd_type_vec(HD_F32, 3), vec3i = hd_type_vec(HD_I32, 3);
  TRY(hd_device_find(s->ctx, "cpu", &s->device));
  TRY(hd_stream_new(s->ctx, s->device, HD_STREAM_SYNC, &s->stream));
  TRY(hd_array_new(s->ctx, s->device, vec3, 1, (int64_t[]){AROUND * ACROSS}, &s->points));
  TRY(hd_array_new(s->ctx, s->device, vec3i, 1, (int64_t[]){FACES}, &s->faces));
  TRY(hd_array_new(s->ctx, s->device, vec3, 1, (int64_t[]){RAYS}, &s->o));
  TRY(hd_array_new(s->ctx, s->device, vec3, 1, (int64_t[]){RAYS}, &s->d));
  return make_tube(s);
}

static HdStatus launch(Scene *s, HdModule *module, const char *name, int64_t n, int32_t nargs, const HdArg args[]) {
  HdKernel *kernel;
  TRY(hd_module_kernel(module, name, s->device, &kernel));
  return hd_launch(kernel, s->stream, 1, &n, nargs, args);
}

/* --- the tree --- */

/* The triangles sorted along a curve through space, then leaves, then level upon level. */
static HdStatus build(Scene *s, const char *volume, int64_t leaves, HdArray *code, HdArray *order, HdArray *node) {
  HdType vec3 = hd_type_vec(HD_F32, 3);
  Vec3 low = {-4, -4, -2}, high = {4, 4, 2};
  HdAlgorithms *algorithms;
  char name[32];
  HdArg args[] = {hd_arg_array(&s->points),  hd_arg_array(&s->faces), hd_arg_value(vec3, &low),
                  hd_arg_value(vec3, &high), hd_arg_array(code),      hd_arg_array(order)};
  TRY(launch(s, s->module, "codes", FACES, 6, args));
  TRY(hd_algorithms_new(s->ctx, s->stream, NULL, &algorithms));
  HdStatus status = hd_sort_pairs(algorithms, *code, *order, NULL);
  hd_algorithms_free(algorithms);
  TRY(status);
  HdArg all[] = {hd_arg_array(&s->points), hd_arg_array(&s->faces), hd_arg_array(order), hd_arg_array(node)};
  snprintf(name, sizeof name, "%s_leaves", volume);
  TRY(launch(s, s->module, name, leaves, 4, all));
  snprintf(name, sizeof name, "%s_level", volume);
  for (int64_t n = leaves / 2; n > 0; n /= 2) TRY(launch(s, s->module, name, n, 1, &all[3]));
  return HD_OK;
}

/* Rays through a tree of `volume`; hits go to `hit`. */
static HdStatus shoot(Scene *s, const char *volume, const char *type, Hit *hit) {
  HdType node_type;
  HdArray code, order, node, hits;
  char name[32];
  int64_t leaves = 1, n = RAYS;
  while (leaves < FACES) leaves *= 2;
  TRY(hd_module_struct(s->module, type, &node_type));
  TRY(hd_array_new(s->ctx, s->device, hd_type_scalar(HD_U32), 1, (int64_t[]){FACES}, &code));
  TRY(hd_array_new(s->ctx, s->device, hd_type_scalar(HD_I32), 1, (int64_t[]){FACES}, &order));
  TRY(hd_array_new(s->ctx, s->device, node_type, 1, (int64_t[]){2 * leaves}, &node));
  TRY(hd_array_borrow(s->ctx, s->device, hd_type_struct(sizeof *hit), 1, &n, NULL, hit, &hits));
  TRY(build(s, volume, leaves, &code, &order, &node));
  HdArg args[] = {hd_arg_array(&s->points), hd_arg_array(&s->faces), hd_arg_array(&order), hd_arg_array(&node),
                  hd_arg_array(&s->o),      hd_arg_array(&s->d),     hd_arg_array(&hits)};
  snprintf(name, sizeof name, "%s_rays", volume);
  TRY(launch(s, s->module, name, RAYS, 7, args));
  hd_array_free(s->ctx, &node);
  hd_array_free(s->ctx, &order);
  hd_array_free(s->ctx, &code);
  return HD_OK;
}

/* --- the library's mesh --- */

static const char reference[] = "struct Hit { f32 t; i32 face; vec3 weights; }\n"
                                "kernel rays(Mesh m, vec3 o[], vec3 d[], Hit hit[]) {\n"
                                "  let i = tid();\n"
                                "  let h = mesh_ray(m, o[i], d[i], inf<f32>());\n"
                                "  hit[i] = Hit(h.t, h.face, h.weights);\n"
                                "}\n";

static HdStatus shoot_mesh(Scene *s, Hit *hit) {
  HdMesh *mesh;
  HdArray hits;
  HdArg args[HD_MESH_ARGS + 3];
  int64_t n = RAYS;
  TRY(hd_module_load_source(s->ctx, "reference.hd", reference, sizeof reference - 1, NULL, &s->reference));
  TRY(hd_mesh_new(s->ctx, s->stream, NULL, s->points, s->faces, &mesh));
  TRY(hd_array_borrow(s->ctx, s->device, hd_type_struct(sizeof *hit), 1, &n, NULL, hit, &hits));
  int32_t k = hd_mesh_args(mesh, args);
  args[k++] = hd_arg_array(&s->o);
  args[k++] = hd_arg_array(&s->d);
  args[k++] = hd_arg_array(&hits);
  HdStatus status = launch(s, s->reference, "rays", RAYS, k, args);
  hd_mesh_free(mesh);
  return status;
}

static bool is_same(const Hit *a, const Hit *b) {
  return a->t == b->t && a->face == b->face && a->weights.x == b->weights.x && a->weights.y == b->weights.y &&
         a->weights.z == b->weights.z;
}

static HdStatus compare(Scene *s, const char *volume, const char *type, const Hit *want, Hit *got) {
  int same = 0, met = 0;
  TRY(shoot(s, volume, type, got));
  for (int i = 0; i < RAYS; i++) {
    same += is_same(&want[i], &got[i]);
    met += got[i].face >= 0;
  }
  printf("%s: %d rays through %d triangles, %d met one, %d as in the mesh of boxes\n", type, RAYS, FACES, met, same);
  return HD_OK;
}

static HdStatus run(Scene *s, const char *kernels, Hit *want, Hit *got) {
  TRY(make_scene(s));
  TRY(hd_module_load_file(s->ctx, kernels, NULL, &s->module));
  TRY(shoot_mesh(s, want));
  TRY(compare(s, "ball", "Ball", want, got));
  return compare(s, "slab", "Slabs", want, got);
}

int main(int argc, char **argv) {
  Scene s = {0};
  char line[1024];
  Hit *hits = calloc(2 * RAYS, sizeof *hits);
  if (!hits || hd_context_new(NULL, &s.ctx) != HD_OK) {
    free(hits);
    return 1;
  }
  HdStatus status = run(&s, argc > 1 ? argv[1] : "own_volume.hd", hits, hits + RAYS);
  if (status != HD_OK)
    fprintf(stderr, "%s\n%s", hd_error_format(hd_context_error(s.ctx), line, sizeof line),
            hd_context_diagnostics(s.ctx));
  HdArray *arrays[] = {&s.points, &s.faces, &s.o, &s.d};
  for (int i = 0; i < 4; i++) hd_array_free(s.ctx, arrays[i]);
  if (s.module) hd_module_free(s.module);
  if (s.reference) hd_module_free(s.reference);
  if (s.stream) hd_stream_free(s.stream);
  hd_context_free(s.ctx);
  free(hits);
  return status == HD_OK ? 0 : 1;
}
