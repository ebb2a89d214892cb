/* sim/particles.c -- the host side of sim/particles.hd: sorts by cell, then steps. */
#include <math.h>
#include <string.h>

#include "heddle/geometry.h"
#include "sim/sim.h"

enum { REORDER, STEP, ENERGIES, NKERNELS };
static const char *const kernel_names[] = {"reorder", "step", "energies", NULL};

/* Of particles.hd, as C lays it out. */
typedef struct Material {
  float radius, inv_mass, stiffness, damping, friction;
} Material;

struct HdSimParticles {
  HdContext *ctx;
  HdStream *stream;
  HdModule *module;
  HdKernel *kernel[NKERNELS];
  HdSimParticlesOptions options;
  HdHashGrid *grid; /* holds the positions in its order */
  Material material;
  int64_t n;
  HdArray x, v, id;            /* the state            */
  HdArray v_sorted, id_sorted; /* in the grid's order  */
  HdArray energy;
};

static HdStatus bad(HdContext *ctx, const char *arg, const char *detail) {
  return hd_context_fail(ctx, HD_ERR_ARG, "hd_sim_particles_new", arg, detail);
}

static HdStatus check_options(HdContext *ctx, const HdSimParticlesOptions *o, int64_t n) {
  if (n < 0 || n >= INT32_MAX) return bad(ctx, "n", "wanted 0 to 2147483646 particles");
  if (!(o->radius > 0)) return bad(ctx, "options.radius", "wanted a positive length");
  if (!(o->density > 0)) return bad(ctx, "options.density", "wanted a positive density");
  if (!(o->stiffness > 0)) return bad(ctx, "options.stiffness", "wanted a positive stiffness");
  if (!(o->restitution > 0 && o->restitution <= 1)) return bad(ctx, "options.restitution", "wanted 0 < e <= 1");
  if (!(o->friction >= 0)) return bad(ctx, "options.friction", "wanted a coefficient of at least 0");
  for (int a = 0; a < 3; a++) {
    if (!(o->hi[a] - o->lo[a] > 2 * o->radius)) return bad(ctx, "options.hi", "the box must hold one particle");
    if (!((o->hi[a] - o->lo[a]) / (2 * o->radius) < 1024)) return bad(ctx, "options.hi", "at most 1024 cells an axis");
  }
  return HD_OK;
}

/* Cells of a diameter, enough for the box if that is not too many: then far ones share. */
static HdStatus make_grid(HdSimParticles *p) {
  const HdSimParticlesOptions *o = &p->options;
  HdHashGridOptions grid = {2.0001f * o->radius, {1, 1, 1}, {o->lo[0], o->lo[1], o->lo[2]}};
  for (int a = 0; a < 3; a++)
    while (grid.dims[a] * grid.cell < o->hi[a] - o->lo[a] && grid.dims[a] < 256) grid.dims[a] *= 2;
  return hd_hash_grid_new(p->ctx, p->stream, &grid, &p->grid);
}

/* The dashpot that gives a linear spring the coefficient of restitution e between two equal masses. */
static void make_material(HdSimParticles *p) {
  const HdSimParticlesOptions *o = &p->options;
  float mass = o->density * 4.18879020f * o->radius * o->radius * o->radius;
  float ln_e = logf(o->restitution);
  float ratio = -ln_e / sqrtf(ln_e * ln_e + 9.86960440f);
  p->material = (Material){o->radius, 1 / mass, o->stiffness, 2 * ratio * sqrtf(o->stiffness * mass / 2), o->friction};
}

static HdStatus make_arrays(HdSimParticles *p, HdDevice device) {
  HdType vec3 = hd_type_vec(HD_F32, 3), i32 = hd_type_scalar(HD_I32), f32 = hd_type_scalar(HD_F32);
  struct {
    HdArray *array;
    HdType type;
    int64_t length;
  } all[] = {{&p->x, vec3, p->n},        {&p->v, vec3, p->n},        {&p->id, i32, p->n},
             {&p->v_sorted, vec3, p->n}, {&p->id_sorted, i32, p->n}, {&p->energy, f32, p->n}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    HD_TRY(hd_array_zeros(p->ctx, device, all[i].type, 1, &all[i].length, all[i].array));
  return HD_OK;
}

static HdStatus start(HdSimParticles *p, HdDevice device, const float x[]) {
  HD_TRY(
      hdhost_load(p->ctx, "sim/particles.hd", hdsim_source("particles"), device, kernel_names, &p->module, p->kernel));
  HD_TRY(make_grid(p));
  HD_TRY(make_arrays(p, device));
  if (p->n == 0) return HD_OK;
  HostView v;
  HD_TRY(hdhost_view(p->ctx, p->stream, p->x, &v));
  memcpy(v.data, x, (size_t)p->n * 3 * sizeof(float));
  HD_TRY(hdhost_unview(p->ctx, &v, true));
  HD_TRY(hdhost_view(p->ctx, p->stream, p->id, &v));
  for (int64_t i = 0; i < p->n; i++) ((int32_t *)v.data)[i] = (int32_t)i;
  return hdhost_unview(p->ctx, &v, true);
}

HdStatus hd_sim_particles_new(HdContext *ctx, HdStream *stream, const HdSimParticlesOptions *options, int64_t n,
                              const float x[], HdSimParticles **out) {
  HdSimParticlesOptions defaults = HD_SIM_PARTICLES_OPTIONS_INIT;
  if (!options) options = &defaults;
  HD_TRY(hdhost_check_new(ctx, stream, "hd_sim_particles_new", out));
  if (n && !x) return hd_context_fail(ctx, HD_ERR_ARG, "hd_sim_particles_new", "x", "it is NULL");
  HD_TRY(check_options(ctx, options, n));
  HdDevice device = hd_stream_device(stream);
  HdSimParticles *p = hdhost_alloc(ctx, sizeof *p);
  if (!p) return hd_context_fail(ctx, HD_ERR_NOMEM, "hd_sim_particles_new", "", "");
  p->ctx = ctx;
  p->stream = stream;
  p->options = *options;
  p->n = n;
  make_material(p);
  HdStatus status = start(p, device, x);
  if (status == HD_OK)
    *out = p;
  else
    hd_sim_particles_free(p);
  return status;
}

void hd_sim_particles_free(HdSimParticles *p) {
  if (!p) return;
  hd_hash_grid_free(p->grid);
  HdArray *all[] = {&p->x, &p->v, &p->id, &p->v_sorted, &p->id_sorted, &p->energy};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) hd_array_free(p->ctx, all[i]);
  hd_module_free(p->module);
  hdhost_release(p->ctx, p, sizeof *p);
}

static HdStatus step(HdSimParticles *p, float dt) {
  const HdSimParticlesOptions *o = &p->options;
  HD_TRY(hd_hash_grid_build(p->grid, p->x));
  HdArray order = hd_hash_grid_ids(p->grid);
  HD_TRY(HDHOST_RUN1(p->kernel[REORDER], p->stream, p->n, hd_arg_array(&order), hd_arg_array(&p->v),
                     hd_arg_array(&p->id), hd_arg_array(&p->v_sorted), hd_arg_array(&p->id_sorted)));
  HdArg args[HD_HASH_GRID_ARGS + 9];
  int32_t n = hd_hash_grid_args(p->grid, args);
  args[n++] = hd_arg_array(&p->v_sorted);
  args[n++] = hd_arg_value(hd_type_struct(sizeof(Material)), &p->material);
  args[n++] = hdhost_vec(3, o->lo);
  args[n++] = hdhost_vec(3, o->hi);
  args[n++] = hdhost_vec(4, o->ball);
  args[n++] = hdhost_vec(3, o->gravity);
  args[n++] = hd_arg_f32(dt);
  args[n++] = hd_arg_array(&p->x);
  args[n++] = hd_arg_array(&p->v);
  HD_TRY(hd_launch(p->kernel[STEP], p->stream, 1, &p->n, n, args));
  HdArray id = p->id;
  p->id = p->id_sorted;
  p->id_sorted = id;
  return HD_OK;
}

HdStatus hd_sim_particles_step(HdSimParticles *p, float dt, int32_t steps) {
  if (!p) return HD_ERR_ARG;
  if (!(dt > 0 && dt <= hd_sim_particles_max_dt(p)))
    return hd_context_fail(p->ctx, HD_ERR_ARG, "hd_sim_particles_step", "dt",
                           "wanted 0 < dt <= hd_sim_particles_max_dt; take more, shorter steps");
  for (int32_t i = 0; i < steps; i++) HD_TRY(step(p, dt));
  return HD_OK;
}

/* Semi-implicit Euler is stable up to (2 / w) (sqrt(1 + z^2) - z) for an oscillator of frequency w and damping ratio z. The
 * fastest mode of a close packing, twelve contacts each, has twice the frequency of a pair and twice its damping ratio. */
float hd_sim_particles_max_dt(const HdSimParticles *p) {
  const Material *m = &p->material;
  float w = sqrtf(2 * m->stiffness * m->inv_mass);
  float z = 2 * m->damping * m->inv_mass / w;
  return 0.5f * (sqrtf(1 + z * z) - z) / w;
}

HdArray hd_sim_particles_x(const HdSimParticles *p) { return p->x; }
HdArray hd_sim_particles_v(const HdSimParticles *p) { return p->v; }
HdArray hd_sim_particles_id(const HdSimParticles *p) { return p->id; }
HdModule *hd_sim_particles_module(const HdSimParticles *p) { return p->module; }
const HdSimParticlesOptions *hdsim_particles_options(const HdSimParticles *p) { return &p->options; }

HdStatus hd_sim_particles_energy(HdSimParticles *p, double *joule) {
  if (!p) return HD_ERR_ARG;
  if (!joule) return hd_context_fail(p->ctx, HD_ERR_ARG, "hd_sim_particles_energy", "joule", "it is NULL");
  HD_TRY(HDHOST_RUN1(p->kernel[ENERGIES], p->stream, p->n, hd_arg_array(&p->v), hd_arg_f32(p->material.inv_mass),
                     hd_arg_array(&p->energy)));
  HostView v;
  HD_TRY(hdhost_view(p->ctx, p->stream, p->energy, &v));
  double sum = 0;
  for (int64_t i = 0; i < p->n; i++) sum += ((float *)v.data)[i];
  *joule = sum;
  return hdhost_unview(p->ctx, &v, false);
}
