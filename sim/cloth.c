/* sim/cloth.c -- the host side of sim/cloth.hd: builds the sheet, colours its links, steps it. */
#include <math.h>
#include <string.h>

#include "sim/sim.h"

enum { PREDICT, SOLVE, COLLIDE, VELOCITIES, STRETCHES, NORMALS, NKERNELS };
static const char *const kernel_names[] = {"predict",   "solve",        "collide", "velocities",
                                           "stretches", "grid_normals", NULL};

typedef struct Link { /* as in cloth.hd */
  int32_t a, b;
  float rest, compliance;
} Link;

/* A family of links joins each particle to the one `dr` rows and `dc` columns on. Two colours make its links disjoint:
 * they alternate along the direction in which a chain of them runs. */
enum { NFAMILIES = 6, NCOLOURS = 2 * NFAMILIES };
static const struct Family {
  int dr, dc;
} family[NFAMILIES] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}, {0, 2}, {2, 0}};

struct HdSimCloth {
  HdContext *ctx;
  HdStream *stream;
  HdModule *module;
  HdKernel *kernel[NKERNELS];
  HdSimClothOptions options;
  int64_t n, links_n, triangles_n, structural_n;
  int64_t first[NCOLOURS + 1];
  HdArray x, v, before, w, normal, uv; /* (rows * cols) */
  HdArray links, stretch;              /* (links_n), (structural_n) */
  HdArray triangles;                   /* (triangles_n) */
};

static HdStatus bad(HdContext *ctx, const char *arg, const char *detail) {
  return hd_context_fail(ctx, HD_ERR_ARG, "hd_sim_cloth_new", arg, detail);
}

static HdStatus check_options(HdContext *ctx, const HdSimClothOptions *o) {
  if (o->rows < 2 || o->rows > 4096) return bad(ctx, "options.rows", "wanted 2 to 4096");
  if (o->cols < 2 || o->cols > 4096) return bad(ctx, "options.cols", "wanted 2 to 4096");
  if (!(o->spacing > 0)) return bad(ctx, "options.spacing", "wanted a positive length");
  if (!(o->mass > 0)) return bad(ctx, "options.mass", "wanted a positive mass");
  if (!(o->stretch >= 0 && o->shear >= 0 && o->bend >= 0))
    return bad(ctx, "options.stretch", "wanted compliances >= 0");
  if (!(o->damping >= 0)) return bad(ctx, "options.damping", "wanted at least 0");
  if (!(o->friction >= 0 && o->friction <= 1)) return bad(ctx, "options.friction", "wanted 0 to 1");
  if (o->substeps < 1) return bad(ctx, "options.substeps", "wanted at least 1");
  return HD_OK;
}

/* Calls visit for each link of a family and colour, or counts them with links NULL. */
static int64_t fill_links(const HdSimClothOptions *o, int f, int colour, Link *links) {
  int dr = family[f].dr, dc = family[f].dc;
  float compliance = f < 2 ? o->stretch : f < 4 ? o->shear : o->bend;
  float rest = o->spacing * sqrtf((float)(dr * dr + dc * dc));
  int64_t count = 0;
  for (int r = 0; r + dr < o->rows; r++)
    for (int c = 0; c < o->cols; c++) {
      if (c + dc < 0 || c + dc >= o->cols) continue;
      int along = dr ? r / dr : c / dc;
      if (along % 2 != colour) continue;
      if (links) links[count] = (Link){r * o->cols + c, (r + dr) * o->cols + c + dc, rest, compliance};
      count++;
    }
  return count;
}

static void fill_particles(const HdSimClothOptions *o, float *x, float *w, float *uv) {
  for (int r = 0; r < o->rows; r++)
    for (int k = 0; k < o->cols; k++) {
      int64_t i = (int64_t)r * o->cols + k;
      x[3 * i] = o->origin[0] + (float)k * o->spacing;
      x[3 * i + 1] = o->origin[1];
      x[3 * i + 2] = o->origin[2] + (float)r * o->spacing;
      w[i] = 1 / o->mass;
      uv[2 * i] = (float)k / (float)(o->cols - 1);
      uv[2 * i + 1] = (float)r / (float)(o->rows - 1);
    }
}

static void fill_triangles(const HdSimClothOptions *o, int32_t *t) {
  for (int32_t r = 0; r + 1 < o->rows; r++)
    for (int32_t k = 0; k + 1 < o->cols; k++, t += 6) {
      int32_t a = r * o->cols + k, b = a + 1, d = a + o->cols, e = d + 1;
      int32_t both[6] = {a, d, b, b, d, e};
      memcpy(t, both, sizeof both);
    }
}

static HdStatus fill_arrays(HdSimCloth *c) {
  enum { X, W, UV, TRIANGLES, LINKS, NVIEWS };
  HdArray from[NVIEWS] = {c->x, c->w, c->uv, c->triangles, c->links};
  HostView v[NVIEWS];
  HdStatus status = HD_OK;
  int open = 0;
  while (open < NVIEWS && status == HD_OK) {
    status = hdhost_view(c->ctx, c->stream, from[open], &v[open]);
    if (status == HD_OK) open++;
  }
  bool all = open == NVIEWS;
  if (all) {
    fill_particles(&c->options, v[X].data, v[W].data, v[UV].data);
    fill_triangles(&c->options, v[TRIANGLES].data);
    for (int i = 0; i < NCOLOURS; i++) fill_links(&c->options, i / 2, i % 2, (Link *)v[LINKS].data + c->first[i]);
  }
  while (open-- > 0) {
    HdStatus closed = hdhost_unview(c->ctx, &v[open], all);
    if (status == HD_OK) status = closed;
  }
  return status;
}

static HdStatus start(HdSimCloth *c, HdDevice device) {
  const HdSimClothOptions *o = &c->options;
  HD_TRY(hdhost_load(c->ctx, "sim/cloth.hd", hdsim_source("cloth"), device, kernel_names, &c->module, c->kernel));
  c->n = (int64_t)o->rows * o->cols;
  for (int i = 0; i < NCOLOURS; i++) c->first[i + 1] = c->first[i] + fill_links(o, i / 2, i % 2, NULL);
  c->links_n = c->first[NCOLOURS];
  c->structural_n = c->first[4];
  c->triangles_n = 2 * (int64_t)(o->rows - 1) * (o->cols - 1);
  HdType vec3 = hd_type_vec(HD_F32, 3), f32 = hd_type_scalar(HD_F32);
  struct {
    HdArray *array;
    HdType type;
    int64_t length;
  } all[] = {{&c->x, vec3, c->n},
             {&c->v, vec3, c->n},
             {&c->before, vec3, c->n},
             {&c->w, f32, c->n},
             {&c->normal, vec3, c->n},
             {&c->uv, hd_type_vec(HD_F32, 2), c->n},
             {&c->links, hd_type_struct(sizeof(Link)), c->links_n},
             {&c->stretch, f32, c->structural_n},
             {&c->triangles, hd_type_vec(HD_I32, 3), c->triangles_n}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    HD_TRY(hd_array_zeros(c->ctx, device, all[i].type, 1, &all[i].length, all[i].array));
  return fill_arrays(c);
}

HdStatus hd_sim_cloth_new(HdContext *ctx, HdStream *stream, const HdSimClothOptions *options, HdSimCloth **out) {
  HdSimClothOptions defaults = HD_SIM_CLOTH_OPTIONS_INIT;
  if (!options) options = &defaults;
  HD_TRY(hdhost_check_new(ctx, stream, "hd_sim_cloth_new", out));
  HD_TRY(check_options(ctx, options));
  HdSimCloth *c = hdhost_alloc(ctx, sizeof *c);
  if (!c) return hd_context_fail(ctx, HD_ERR_NOMEM, "hd_sim_cloth_new", "", "");
  c->ctx = ctx;
  c->stream = stream;
  c->options = *options;
  HdStatus status = start(c, hd_stream_device(stream));
  if (status == HD_OK)
    *out = c;
  else
    hd_sim_cloth_free(c);
  return status;
}

void hd_sim_cloth_free(HdSimCloth *c) {
  if (!c) return;
  HdArray *all[] = {&c->x, &c->v, &c->before, &c->w, &c->normal, &c->uv, &c->links, &c->stretch, &c->triangles};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) hd_array_free(c->ctx, all[i]);
  hd_module_free(c->module);
  hdhost_release(c->ctx, c, sizeof *c);
}

HdStatus hd_sim_cloth_pin(HdSimCloth *c, int32_t row, int32_t col, bool held) {
  if (!c) return HD_ERR_ARG;
  const HdSimClothOptions *o = &c->options;
  if (row < 0 || row >= o->rows || col < 0 || col >= o->cols)
    return hd_context_fail(c->ctx, HD_ERR_ARG, "hd_sim_cloth_pin", "row, col", "the sheet has no such particle");
  HostView w;
  HD_TRY(hdhost_view(c->ctx, c->stream, c->w, &w));
  ((float *)w.data)[row * o->cols + col] = held ? 0 : 1 / o->mass;
  return hdhost_unview(c->ctx, &w, true);
}

void hd_sim_cloth_set_ball(HdSimCloth *c, const float ball[4]) { memcpy(c->options.ball, ball, 4 * sizeof(float)); }

static HdStatus substep(HdSimCloth *c, float dt, float keep) {
  const HdSimClothOptions *o = &c->options;
  HdArg x = hd_arg_array(&c->x), v = hd_arg_array(&c->v), before = hd_arg_array(&c->before), w = hd_arg_array(&c->w);
  HD_TRY(HDHOST_RUN1(c->kernel[PREDICT], c->stream, c->n, x, v, before, w, hdhost_vec(3, o->gravity), hd_arg_f32(dt)));
  for (int i = 0; i < NCOLOURS; i++)
    HD_TRY(HDHOST_RUN1(c->kernel[SOLVE], c->stream, c->first[i + 1] - c->first[i], hd_arg_array(&c->links),
                       hd_arg_i32((int32_t)c->first[i]), x, w, hd_arg_f32(dt)));
  HD_TRY(HDHOST_RUN1(c->kernel[COLLIDE], c->stream, c->n, x, before, w, hdhost_vec(4, o->ball),
                     hd_arg_f32(o->thickness), hd_arg_f32(o->friction)));
  return HDHOST_RUN1(c->kernel[VELOCITIES], c->stream, c->n, x, v, before, hd_arg_f32(1 / dt), hd_arg_f32(keep));
}

HdStatus hd_sim_cloth_step(HdSimCloth *c, float dt) {
  if (!c) return HD_ERR_ARG;
  if (!(dt > 0)) return hd_context_fail(c->ctx, HD_ERR_ARG, "hd_sim_cloth_step", "dt", "wanted a positive time");
  float h = dt / (float)c->options.substeps;
  float keep = expf(-c->options.damping * h);
  for (int32_t i = 0; i < c->options.substeps; i++) HD_TRY(substep(c, h, keep));
  return HD_OK;
}

HdArray hd_sim_cloth_x(const HdSimCloth *c) { return c->x; }
HdArray hd_sim_cloth_triangles(const HdSimCloth *c) { return c->triangles; }
HdArray hd_sim_cloth_uv(const HdSimCloth *c) { return c->uv; }
HdModule *hd_sim_cloth_module(const HdSimCloth *c) { return c->module; }
const HdSimClothOptions *hdsim_cloth_options(const HdSimCloth *c) { return &c->options; }

HdStatus hd_sim_cloth_normals(HdSimCloth *c, HdArray *normals) {
  if (!c) return HD_ERR_ARG;
  if (!normals) return hd_context_fail(c->ctx, HD_ERR_ARG, "hd_sim_cloth_normals", "normals", "it is NULL");
  const HdSimClothOptions *o = &c->options;
  HD_TRY(HDHOST_RUN2(c->kernel[NORMALS], c->stream, o->rows, o->cols, hd_arg_array(&c->x), hd_arg_array(&c->normal),
                     hd_arg_i32(o->rows), hd_arg_i32(o->cols)));
  *normals = c->normal;
  return HD_OK;
}

HdStatus hd_sim_cloth_max_stretch(HdSimCloth *c, float *stretch) {
  if (!c) return HD_ERR_ARG;
  if (!stretch) return hd_context_fail(c->ctx, HD_ERR_ARG, "hd_sim_cloth_max_stretch", "stretch", "it is NULL");
  HD_TRY(HDHOST_RUN1(c->kernel[STRETCHES], c->stream, c->structural_n, hd_arg_array(&c->links), hd_arg_array(&c->x),
                     hd_arg_array(&c->stretch)));
  HostView v;
  HD_TRY(hdhost_view(c->ctx, c->stream, c->stretch, &v));
  float most = -1;
  for (int64_t i = 0; i < c->structural_n; i++) most = fmaxf(most, ((float *)v.data)[i]);
  *stretch = most;
  return hdhost_unview(c->ctx, &v, false);
}
