/* heddle/sim.h -- simulation on top of the public API: particles, cloth, pictures.
 *
 * Everything runs on the stream it was made with. Units are SI. Errors are written to the context's record.
 */
#ifndef HEDDLE_SIM_H
#define HEDDLE_SIM_H

#include "heddle/heddle.h"
HD_BEGIN_DECLS

/* --- particles: equal spheres in a box, by the discrete element method (sim/particles.hd) --- */

typedef struct HdSimParticles HdSimParticles;

typedef struct HdSimParticlesOptions {
  float radius;      /* [m]                                                                     */
  float density;     /* [kg/m^3]                                                                */
  float stiffness;   /* of a contact [N/m]                                                      */
  float restitution; /* of a head-on collision, 0 to 1; sets the damping                        */
  float friction;    /* Coulomb's coefficient                                                   */
  float gravity[3];  /* [m/s^2]                                                                 */
  float lo[3], hi[3]; /* the box [m]                                                            */
  float ball[4];     /* a fixed ball: centre and radius [m]; radius 0: none                     */
} HdSimParticlesOptions;
#define HD_SIM_PARTICLES_OPTIONS_INIT                                                                                  \
  { 0.02f, 2500, 4000, 0.4f, 0.4f, {0, -9.81f, 0}, {-1, 0, -1}, {1, 2, 1}, {0, 0, 0, 0} }

/* Make `n` particles at rest at `x` (n x 3) [m].
 *
 * Ownership  the caller owns *out, until hd_sim_particles_free; `x` is copied; `stream` must outlive it.
 * Errors     HD_ERR_ARG names the option that is out of range. */
HD_API HdStatus hd_sim_particles_new(HdContext *ctx, HdStream *stream, const HdSimParticlesOptions *options, int64_t n,
                                     const float x[], HdSimParticles **out);
HD_API void     hd_sim_particles_free(HdSimParticles *p);
/* Advance by `steps` steps of `dt` [s].
 *
 * Errors     HD_ERR_ARG if dt is not positive or above hd_sim_particles_max_dt. */
HD_API HdStatus hd_sim_particles_step(HdSimParticles *p, float dt, int32_t steps);
/* Half of the step at which the scheme becomes unstable in a close packing [s]. */
HD_API float    hd_sim_particles_max_dt(const HdSimParticles *p);
/* Positions, velocities (n x vec<f32, 3>) and the number that each particle began with (n x i32), lent until the next
 * step: particles change places as they are sorted. */
HD_API HdArray  hd_sim_particles_x(const HdSimParticles *p);
HD_API HdArray  hd_sim_particles_v(const HdSimParticles *p);
HD_API HdArray  hd_sim_particles_id(const HdSimParticles *p);
/* The kinetic energy [J]; waits for the stream. */
HD_API HdStatus hd_sim_particles_energy(HdSimParticles *p, double *joule);

/* --- cloth: a sheet of rows x columns particles, by XPBD (sim/cloth.hd) --- */

typedef struct HdSimCloth HdSimCloth;

typedef struct HdSimClothOptions {
  int32_t rows, cols;                /* particles, at least 2 each                                    */
  float   spacing;                   /* [m]                                                           */
  float   origin[3];                 /* the corner; the sheet lies along +x (columns) and +z (rows)   */
  float   mass;                      /* of a particle [kg]                                            */
  float   stretch, shear, bend;      /* compliances [m/N]                                             */
  float   gravity[3];                /* [m/s^2]                                                       */
  float   damping;                   /* of velocities [1/s]                                           */
  float   ball[4];                   /* a fixed ball: centre and radius [m]; radius 0: none           */
  float   thickness;                 /* kept between cloth and ball or ground [m]                     */
  float   friction;                  /* share of tangential motion lost in contact, 0 to 1            */
  int32_t substeps;                  /* in each step                                                  */
} HdSimClothOptions;
#define HD_SIM_CLOTH_OPTIONS_INIT                                                                                      \
  { 64, 64, 0.03f, {0, 1, 0}, 0.002f, 1e-7f, 1e-5f, 1e-3f, {0, -9.81f, 0}, 0.5f, {0, 0, 0, 0}, 0.01f, 0.3f, 20 }

HD_API HdStatus hd_sim_cloth_new(HdContext *ctx, HdStream *stream, const HdSimClothOptions *options, HdSimCloth **out);
HD_API void     hd_sim_cloth_free(HdSimCloth *c);
/* Hold a particle where it is, or let it go. Errors: HD_ERR_ARG for a row or column outside. */
HD_API HdStatus hd_sim_cloth_pin(HdSimCloth *c, int32_t row, int32_t col, bool held);
HD_API void     hd_sim_cloth_set_ball(HdSimCloth *c, const float ball[4]);
HD_API HdStatus hd_sim_cloth_step(HdSimCloth *c, float dt);
/* Positions (rows * cols x vec<f32, 3>), triangles (x vec<i32, 3>), normals and texture coordinates, lent. */
HD_API HdArray  hd_sim_cloth_x(const HdSimCloth *c);
HD_API HdArray  hd_sim_cloth_triangles(const HdSimCloth *c);
HD_API HdArray  hd_sim_cloth_uv(const HdSimCloth *c);
/* Compute normals for the positions at hand (lent). */
HD_API HdStatus hd_sim_cloth_normals(HdSimCloth *c, HdArray *normals);
/* The largest relative stretch of a structural link; waits for the stream. */
HD_API HdStatus hd_sim_cloth_max_stretch(HdSimCloth *c, float *stretch);

/* --- pictures (sim/render.hd) --- */

typedef struct HdSimCamera {
  float eye[3], target[3];
  float fov; /* vertical, degrees */
} HdSimCamera;

typedef struct HdSimRender HdSimRender;

/* Pictures of rows x cols pixels. */
HD_API HdStatus hd_sim_render_new(HdContext *ctx, HdStream *stream, int32_t rows, int32_t cols, HdSimRender **out);
HD_API void     hd_sim_render_free(HdSimRender *r);
HD_API HdStatus hd_sim_render_particles(HdSimRender *r, const HdSimCamera *camera, const HdSimParticles *p);
HD_API HdStatus hd_sim_render_cloth(HdSimRender *r, const HdSimCamera *camera, HdSimCloth *c);
/* The demonstration scene of signed distance fields, at `time` [s], samples x samples rays a pixel. */
HD_API HdStatus hd_sim_render_scene(HdSimRender *r, const HdSimCamera *camera, float time, int32_t samples);
/* The picture made last: rows x cols x vec<u8, 3>, dense, on the stream's device, lent; waits for the stream. */
HD_API HdStatus hd_sim_render_picture(HdSimRender *r, HdArray *rgb);
/* The modules behind it, for looking inside. */
HD_API HdModule *hd_sim_render_module(const HdSimRender *r);
HD_API HdModule *hd_sim_particles_module(const HdSimParticles *p);
HD_API HdModule *hd_sim_cloth_module(const HdSimCloth *c);

HD_END_DECLS
#endif
