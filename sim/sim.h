/* sim/sim.h -- what the simulations share: loading their kernels, launching with a list of arguments. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "heddle/sim.h"
HD_BEGIN_DECLS

/* The text of sim/<name>.hd, embedded by the build; NULL if there is none. */
const char *hdsim_source(const char *name);

/* A module's kernels by number: names end with NULL, kernels has as many entries. */
HdStatus hdsim_load(HdContext *ctx, const char *source, HdDevice device, const char *const names[], HdModule **module,
                    HdKernel *kernels[]);

/* hd_launch with dimensions and arguments written in the call. */
#define HDSIM_RUN1(kernel, stream, n, ...)                                                                             \
  hd_launch((kernel), (stream), 1, (const int64_t[]){(n)},                                                             \
            (int32_t)(sizeof((const HdArg[]){__VA_ARGS__}) / sizeof(HdArg)), (const HdArg[]){__VA_ARGS__})
#define HDSIM_RUN2(kernel, stream, rows, cols, ...)                                                                    \
  hd_launch((kernel), (stream), 2, (const int64_t[]){(rows), (cols)},                                                  \
            (int32_t)(sizeof((const HdArg[]){__VA_ARGS__}) / sizeof(HdArg)), (const HdArg[]){__VA_ARGS__})

static inline HdArg hdsim_vec(int32_t n, const float *x) { return hd_arg_value(hd_type_vec(HD_F32, n), x); }

/* What a simulation was made with, lent. */
const HdSimParticlesOptions *hdsim_particles_options(const HdSimParticles *p);
const HdSimClothOptions     *hdsim_cloth_options(const HdSimCloth *c);

/* Between open and close the elements of `a` (dense) lie at *data for the host: where they are, or, if that is a GPU's memory,
 * in a copy. Both wait for the stream. An open that fails needs no close. */
typedef struct HdSimView {
  HdStream *stream;
  HdArray   of, host;
  void     *data;
} HdSimView;
HdStatus hdsim_open(HdContext *ctx, HdStream *stream, HdArray a, HdSimView *out);
HdStatus hdsim_close(HdContext *ctx, HdSimView *v, bool changed);

void *hdsim_alloc(HdContext *ctx, size_t size); /* zeroed; NULL if there is none */
void  hdsim_release(HdContext *ctx, void *p, size_t size);

HD_END_DECLS
#endif
