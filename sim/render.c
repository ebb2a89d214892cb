/* sim/render.c -- the host side of sim/render.hd: a camera, a key buffer, and the launches that make one picture. */
#include <math.h>
#include <string.h>

#include "sim/sim.h"

enum { CLEAR_KEYS, SPLAT_SPHERES, RASTER, SHADE_SPHERES, SHADE_MESH, RENDER_SCENE, FINISH, NKERNELS };
static const char *const kernel_names[] = {"clear_keys", "splat_spheres", "raster", "shade_spheres",
                                           "shade_mesh", "render_scene",  "finish", NULL};

typedef struct Camera { /* as in render.hd */
  float eye[3], right[3], up[3], forward[3], focal;
} Camera;
typedef struct Scene {
  float time, turn[2], bob, runner[2];
} Scene;

struct HdSimRender {
  HdContext *ctx;
  HdStream *stream;
  HdModule *module;
  HdKernel *kernel[NKERNELS];
  int32_t rows, cols;
  HdArray key, color, rgb; /* (rows x cols) */
};

static HdStatus start(HdSimRender *r, HdDevice device) {
  HD_TRY(hdhost_load(r->ctx, "sim/render.hd", hdsim_source("render"), device, kernel_names, &r->module, r->kernel));
  int64_t shape[2] = {r->rows, r->cols};
  HD_TRY(hd_array_zeros(r->ctx, device, hd_type_scalar(HD_U64), 2, shape, &r->key));
  HD_TRY(hd_array_zeros(r->ctx, device, hd_type_vec(HD_F32, 3), 2, shape, &r->color));
  return hd_array_zeros(r->ctx, device, hd_type_vec(HD_U8, 3), 2, shape, &r->rgb);
}

HdStatus hd_sim_render_new(HdContext *ctx, HdStream *stream, int32_t rows, int32_t cols, HdSimRender **out) {
  HD_TRY(hdhost_check_new(ctx, stream, "hd_sim_render_new", out));
  if (rows < 1 || cols < 1 || rows > 16384 || cols > 16384)
    return hd_context_fail(ctx, HD_ERR_ARG, "hd_sim_render_new", "rows, cols", "wanted 1 to 16384 each");
  HdSimRender *r = hdhost_alloc(ctx, sizeof *r);
  if (!r) return hd_context_fail(ctx, HD_ERR_NOMEM, "hd_sim_render_new", "", "");
  r->ctx = ctx;
  r->stream = stream;
  r->rows = rows;
  r->cols = cols;
  HdStatus status = start(r, hd_stream_device(stream));
  if (status == HD_OK)
    *out = r;
  else
    hd_sim_render_free(r);
  return status;
}

void hd_sim_render_free(HdSimRender *r) {
  if (!r) return;
  hd_array_free(r->ctx, &r->key);
  hd_array_free(r->ctx, &r->color);
  hd_array_free(r->ctx, &r->rgb);
  hd_module_free(r->module);
  hdhost_release(r->ctx, r, sizeof *r);
}

static void cross(const float a[3], const float b[3], float out[3]) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

static void normalize(float v[3]) {
  float len = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  for (int i = 0; i < 3; i++) v[i] /= len > 0 ? len : 1;
}

static Camera make_camera(const HdSimRender *r, const HdSimCamera *from) {
  Camera c;
  memcpy(c.eye, from->eye, sizeof c.eye);
  for (int i = 0; i < 3; i++) c.forward[i] = from->target[i] - from->eye[i];
  normalize(c.forward);
  cross(c.forward, (const float[3]){0, 1, 0}, c.right);
  normalize(c.right);
  cross(c.right, c.forward, c.up);
  c.focal = 0.5f * (float)r->rows / tanf(0.5f * from->fov * 0.0174532925f);
  return c;
}

static HdArg camera_arg(const Camera *c) { return hd_arg_value(hd_type_struct(sizeof *c), c); }

static HdStatus finish(HdSimRender *r) {
  return HDHOST_RUN2(r->kernel[FINISH], r->stream, r->rows, r->cols, hd_arg_array(&r->color), hd_arg_array(&r->rgb));
}

HdStatus hd_sim_render_particles(HdSimRender *r, const HdSimCamera *camera, const HdSimParticles *p) {
  if (!r) return HD_ERR_ARG;
  if (!camera) return hd_context_fail(r->ctx, HD_ERR_ARG, "hd_sim_render_particles", "camera", "it is NULL");
  if (!p) return hd_context_fail(r->ctx, HD_ERR_ARG, "hd_sim_render_particles", "p", "it is NULL");
  const HdSimParticlesOptions *o = hdsim_particles_options(p);
  Camera c = make_camera(r, camera);
  HdArray x = hd_sim_particles_x(p), id = hd_sim_particles_id(p);
  HdArg key = hd_arg_array(&r->key);
  HD_TRY(HDHOST_RUN2(r->kernel[CLEAR_KEYS], r->stream, r->rows, r->cols, key));
  HD_TRY(HDHOST_RUN1(r->kernel[SPLAT_SPHERES], r->stream, x.length[0], hd_arg_array(&x), hd_arg_f32(o->radius),
                     camera_arg(&c), key));
  HD_TRY(HDHOST_RUN2(r->kernel[SHADE_SPHERES], r->stream, r->rows, r->cols, key, hd_arg_array(&x), hd_arg_array(&id),
                     hd_arg_i32((int32_t)x.length[0]), hd_arg_f32(o->radius), hdhost_vec(4, o->ball), camera_arg(&c),
                     hd_arg_array(&r->color)));
  return finish(r);
}

HdStatus hd_sim_render_cloth(HdSimRender *r, const HdSimCamera *camera, HdSimCloth *cloth) {
  if (!r) return HD_ERR_ARG;
  if (!camera) return hd_context_fail(r->ctx, HD_ERR_ARG, "hd_sim_render_cloth", "camera", "it is NULL");
  if (!cloth) return hd_context_fail(r->ctx, HD_ERR_ARG, "hd_sim_render_cloth", "cloth", "it is NULL");
  Camera c = make_camera(r, camera);
  HdArray x = hd_sim_cloth_x(cloth), t = hd_sim_cloth_triangles(cloth), uv = hd_sim_cloth_uv(cloth), normal;
  HD_TRY(hd_sim_cloth_normals(cloth, &normal));
  HdArg key = hd_arg_array(&r->key);
  HD_TRY(HDHOST_RUN2(r->kernel[CLEAR_KEYS], r->stream, r->rows, r->cols, key));
  HD_TRY(
      HDHOST_RUN1(r->kernel[RASTER], r->stream, t.length[0], hd_arg_array(&t), hd_arg_array(&x), camera_arg(&c), key));
  HD_TRY(HDHOST_RUN2(r->kernel[SHADE_MESH], r->stream, r->rows, r->cols, key, hd_arg_array(&t), hd_arg_array(&x),
                     hd_arg_array(&normal), hd_arg_array(&uv), hdhost_vec(4, hdsim_cloth_options(cloth)->ball),
                     camera_arg(&c), hd_arg_array(&r->color)));
  return finish(r);
}

HdStatus hd_sim_render_scene(HdSimRender *r, const HdSimCamera *camera, float time, int32_t samples) {
  if (!r) return HD_ERR_ARG;
  if (!camera) return hd_context_fail(r->ctx, HD_ERR_ARG, "hd_sim_render_scene", "camera", "it is NULL");
  if (samples < 1 || samples > 16)
    return hd_context_fail(r->ctx, HD_ERR_ARG, "hd_sim_render_scene", "samples", "wanted 1 to 16");
  Camera c = make_camera(r, camera);
  Scene s = {time,
             {cosf(0.4f * time), sinf(0.4f * time)},
             0.35f * sinf(time),
             {0.72f * sinf(2 * time), 0.72f * cosf(2 * time)}};
  HD_TRY(HDHOST_RUN2(r->kernel[RENDER_SCENE], r->stream, r->rows, r->cols, hd_arg_value(hd_type_struct(sizeof s), &s),
                     camera_arg(&c), hd_arg_i32(samples), hd_arg_array(&r->color)));
  return finish(r);
}

HdStatus hd_sim_render_picture(HdSimRender *r, HdArray *rgb) {
  if (!r) return HD_ERR_ARG;
  if (!rgb) return hd_context_fail(r->ctx, HD_ERR_ARG, "hd_sim_render_picture", "rgb", "it is NULL");
  HD_TRY(hd_stream_wait(r->stream));
  *rgb = r->rgb;
  return HD_OK;
}

HdModule *hd_sim_render_module(const HdSimRender *r) { return r->module; }
