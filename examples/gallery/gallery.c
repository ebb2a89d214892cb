/* examples/gallery/gallery.c -- three simulations, their pictures, and what the compiler made of their kernels.
 *
 *     gallery [OUT [FRAMES]]
 *
 * Writes OUT/{grains,cloth,fields}.png, OUT/index.html with the animations inside, and under OUT/code the IR, the
 * optimised IR, the LLVM text and the assembly of each kernel, with a table of compile times in OUT/summary.txt.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "heddle/sim.h"
#include "picture.h"

enum { ROWS = 270, COLS = 480 };

typedef struct Gallery {
  HdContext *ctx;
  HdStream *stream;
  HdDevice device;
  HdSimRender *render;
  const char *out;
  int frames;
  bool terminal;
  Page page;
  Bytes png, summary;
} Gallery;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(const Gallery *g) {
  char line[1024];
  fprintf(stderr, "gallery: %s\n", hd_error_format(hd_context_error(g->ctx), line, sizeof line));
  const char *diagnostics = hd_context_diagnostics(g->ctx);
  if (*diagnostics) fputs(diagnostics, stderr);
  return 1;
}

#define TRY(call)                                                                                                      \
  do {                                                                                                                 \
    if ((call) != HD_OK) return fail(g);                                                                               \
  } while (0)

static void progress(const Gallery *g, const char *what, int done, int all) {
  if (g->terminal)
    fprintf(stderr, "\r  %-8s %3d%% %s", what, 100 * done / all, done == all ? "\n" : "");
  else if (done == all)
    fprintf(stderr, "  %-8s done\n", what);
  fflush(stderr);
}

static bool save(const Gallery *g, const char *name, const void *data, size_t size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", g->out, name);
  if (file_write(path, data, size)) return true;
  fprintf(stderr, "gallery: cannot write %s: %s\n", path, strerror(errno));
  return false;
}

/* Take the render's picture into the page; the `keep`-th one also becomes OUT/<name>.png. */
static int frame(Gallery *g, const char *name, int i, int keep) {
  HdArray rgb;
  TRY(hd_sim_render_picture(g->render, &rgb));
  if (!png_encode(rgb.data, ROWS, COLS, &g->png)) {
    fprintf(stderr, "gallery: out of memory\n");
    return 1;
  }
  page_frame(&g->page, &g->png);
  if (i != keep) return 0;
  char file[64];
  snprintf(file, sizeof file, "%s.png", name);
  return save(g, file, g->png.data, g->png.size) ? 0 : 1;
}

/* --- what the compiler did --- */

static void note(Gallery *g, const char *fmt, ...) {
  char line[512];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  if (n < 0) return;
  size_t want = g->summary.size + (size_t)n + 1;
  if (want > g->summary.cap) {
    uint8_t *p = realloc(g->summary.data, want * 2);
    if (!p) return;
    g->summary.data = p;
    g->summary.cap = want * 2;
  }
  memcpy(g->summary.data + g->summary.size, line, (size_t)n + 1);
  g->summary.size += (size_t)n;
}

/* Dump each stage of a module's kernels, and note how long each took to compile. */
static int dump_module(Gallery *g, const char *name, HdModule *m) {
  static const struct {
    HdEmit what;
    const char *suffix;
  } stages[] = {{HD_EMIT_IR, "ir"}, {HD_EMIT_IR_OPT, "opt.ir"}, {HD_EMIT_LLVM, "ll"}, {HD_EMIT_ASM, "s"}};
  for (int i = 0; i < hd_module_kernel_count(m); i++) {
    const char *kernel = hd_module_kernel_name(m, i);
    HdKernel *k;
    TRY(hd_module_kernel(m, kernel, g->device, &k));
    HdTimes t = hd_kernel_times(k);
    note(g, "%-10s %-14s %2d lanes %s  front %6.2f  passes %6.2f  widen %6.2f  llvm %6.2f  load %5.3f ms\n", name,
         kernel, hd_kernel_width(k), hd_kernel_from_cache(k) ? "cached" : "new   ", t.front, t.passes, t.widen,
         t.llvm_parse + t.llvm_opt + t.llvm_emit, t.load);
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++) {
      const char *data;
      size_t size;
      char file[256];
      TRY(hd_module_emit(m, kernel, stages[s].what, NULL, &data, &size));
      snprintf(file, sizeof file, "code/%s.%s.%s", name, kernel, stages[s].suffix);
      if (!save(g, file, data, size)) return 1;
    }
  }
  return 0;
}

/* --- the three scenes --- */

static int grains(Gallery *g) {
  HdSimParticlesOptions o = HD_SIM_PARTICLES_OPTIONS_INIT;
  o.radius = 0.025f;
  o.stiffness = 16000; /* the lowest spheres carry 34 others: 7 % of a diameter */
  o.lo[0] = -1.2f, o.lo[1] = 0, o.lo[2] = -0.6f;
  o.hi[0] = 1.2f, o.hi[1] = 2.5f, o.hi[2] = 0.6f;
  o.ball[0] = 0.25f, o.ball[1] = 0.25f, o.ball[2] = 0, o.ball[3] = 0.3f;
  enum { NX = 18, NY = 34, NZ = 22, N = NX * NY * NZ };
  float *x = malloc(sizeof(float) * 3 * N);
  if (!x) return 1;
  for (int i = 0; i < N; i++) { /* a column at the left, each layer shifted a little so that it does not stand */
    int a = i % NX, b = i / NX % NZ, c = i / (NX * NZ);
    x[3 * i] = o.lo[0] + o.radius * (1.05f + 2.02f * (float)a + 0.3f * (float)(c % 3));
    x[3 * i + 1] = o.radius * (1.05f + 2.02f * (float)c);
    x[3 * i + 2] = o.lo[2] + o.radius * (1.05f + 2.02f * (float)b + 0.3f * (float)(c % 2));
  }
  HdSimParticles *p;
  HdStatus made = hd_sim_particles_new(g->ctx, g->stream, &o, N, x, &p);
  free(x);
  TRY(made);
  HdSimCamera camera = {{1.6f, 1.5f, 2.6f}, {0, 0.45f, 0}, 42};
  int steps = (int)ceilf(0.04f / hd_sim_particles_max_dt(p));
  page_section(&g->page, "Grains",
               "A column of spheres collapses around a ball: the discrete element method, neighbours "
               "found on a grid that is sorted anew in every step.");
  page_animation_begin(&g->page);
  double start = now();
  int rc = 0;
  for (int i = 0; i < g->frames && !rc; i++) {
    if (hd_sim_render_particles(g->render, &camera, p) != HD_OK) rc = fail(g);
    if (!rc) rc = frame(g, "grains", i, g->frames * 2 / 5);
    if (!rc && hd_sim_particles_step(p, 0.04f / (float)steps, steps) != HD_OK) rc = fail(g);
    progress(g, "grains", i + 1, g->frames);
  }
  double energy = 0;
  if (!rc && hd_sim_particles_energy(p, &energy) != HD_OK) rc = fail(g);
  char caption[160];
  snprintf(caption, sizeof caption, "%d spheres, %d steps, %.1f s on the clock with the pictures.", N,
           steps * g->frames, now() - start);
  page_animation_end(&g->page, caption);
  note(g, "grains: %s kinetic energy at the end %.4g J\n", caption, energy);
  if (!rc) rc = dump_module(g, "particles", hd_sim_particles_module(p));
  hd_sim_particles_free(p);
  return rc;
}

static int cloth(Gallery *g) {
  HdSimClothOptions o = HD_SIM_CLOTH_OPTIONS_INIT;
  o.rows = o.cols = 96;
  o.spacing = 0.02f;
  o.origin[0] = -0.95f, o.origin[1] = 1.35f, o.origin[2] = -0.95f;
  o.mass = 0.0008f;
  o.thickness = 0.012f;
  o.ball[0] = 0, o.ball[1] = 0.62f, o.ball[2] = 0, o.ball[3] = 0.45f;
  HdSimCloth *c;
  TRY(hd_sim_cloth_new(g->ctx, g->stream, &o, &c));
  HdSimCamera camera = {{1.5f, 1.55f, 2.3f}, {0, 0.6f, 0}, 42};
  page_section(&g->page, "Cloth",
               "A sheet falls over a ball: distance constraints in twelve colours, solved by XPBD with "
               "one iteration in each of twenty substeps.");
  page_animation_begin(&g->page);
  double start = now();
  int rc = 0;
  float stretch = 0;
  for (int i = 0; i < g->frames && !rc; i++) {
    if (hd_sim_render_cloth(g->render, &camera, c) != HD_OK) rc = fail(g);
    if (!rc) rc = frame(g, "cloth", i, g->frames * 3 / 5);
    if (!rc && hd_sim_cloth_step(c, 0.03f) != HD_OK) rc = fail(g);
    progress(g, "cloth", i + 1, g->frames);
  }
  if (!rc && hd_sim_cloth_max_stretch(c, &stretch) != HD_OK) rc = fail(g);
  char caption[160];
  snprintf(caption, sizeof caption, "%d particles, %d substeps, %.1f s on the clock with the pictures.",
           o.rows * o.cols, o.substeps * g->frames, now() - start);
  page_animation_end(&g->page, caption);
  note(g, "cloth: %s largest stretch at the end %.2f%%\n", caption, 100 * stretch);
  if (!rc) rc = dump_module(g, "cloth", hd_sim_cloth_module(c));
  hd_sim_cloth_free(c);
  return rc;
}

static int fields(Gallery *g) {
  page_section(&g->page, "Fields",
               "Signed distance fields by sphere tracing, with soft shadows and ambient occlusion, four "
               "rays a pixel.");
  page_animation_begin(&g->page);
  double start = now();
  int rc = 0;
  for (int i = 0; i < g->frames && !rc; i++) {
    float t = 0.1f * (float)i;
    HdSimCamera camera = {{3.6f * sinf(0.12f * t + 0.4f), 1.7f, 3.6f * cosf(0.12f * t + 0.4f)}, {0, 0.75f, 0}, 42};
    if (hd_sim_render_scene(g->render, &camera, t, 2) != HD_OK) rc = fail(g);
    if (!rc) rc = frame(g, "fields", i, g->frames * 3 / 4);
    progress(g, "fields", i + 1, g->frames);
  }
  char caption[160];
  snprintf(caption, sizeof caption, "%d pictures of %d x %d pixels, %.1f s on the clock.", g->frames, COLS, ROWS,
           now() - start);
  page_animation_end(&g->page, caption);
  note(g, "fields: %s\n", caption);
  if (!rc) rc = dump_module(g, "render", hd_sim_render_module(g->render));
  return rc;
}

static int run(Gallery *g) {
  HdDeviceInfo info;
  TRY(hd_device_find(g->ctx, "cpu", &g->device));
  TRY(hd_device_info(g->ctx, g->device, &info));
  TRY(hd_stream_new(g->ctx, g->device, HD_STREAM_SYNC, &g->stream));
  fprintf(stderr, "Heddle %s on %s, %d threads\n", hd_version(), info.text, info.threads);
  note(g, "Heddle %s on %s, %d threads\n", hd_version(), info.text, info.threads);
  double start = now();
  TRY(hd_sim_render_new(g->ctx, g->stream, ROWS, COLS, &g->render));
  note(g, "render.hd ready after %.1f ms\n", 1e3 * (now() - start));
  page_begin(&g->page, "Heddle gallery");
  page_section(&g->page, info.text,
               "Every picture below was computed and drawn by kernels compiled when this page was made.");
  int rc = grains(g);
  if (!rc) rc = cloth(g);
  if (!rc) rc = fields(g);
  if (rc) return rc;
  page_code(&g->page, "What was compiled, and how long it took", g->summary.data ? (char *)g->summary.data : "");
  page_end(&g->page);
  if (g->page.failed) {
    fprintf(stderr, "gallery: out of memory\n");
    return 1;
  }
  if (!save(g, "index.html", g->page.text.data, g->page.text.size)) return 1;
  if (!save(g, "summary.txt", g->summary.data, g->summary.size)) return 1;
  fprintf(stderr, "wrote %s/index.html, grains.png, cloth.png, fields.png, summary.txt and code/\n", g->out);
  return 0;
}

static bool folder(const char *path) {
  if (mkdir(path, 0777) == 0 || errno == EEXIST) return true;
  fprintf(stderr, "gallery: cannot make %s: %s\n", path, strerror(errno));
  return false;
}

int main(int argc, char **argv) {
  Gallery g = {.out = argc > 1 ? argv[1] : "out", .frames = 60, .terminal = isatty(2)};
  char code[4096];
  if (argc > 3 || (argc > 2 && (g.frames = atoi(argv[2])) < 1)) {
    fprintf(stderr, "usage: gallery [OUT [FRAMES]]\n");
    return 1;
  }
  snprintf(code, sizeof code, "%s/code", g.out);
  if (!folder(g.out) || !folder(code)) return 1;
  HdStatus status = hd_context_new(NULL, &g.ctx);
  if (status != HD_OK) {
    fprintf(stderr, "gallery: %s\n", hd_status_text(status));
    return 1;
  }
  int rc = run(&g);
  hd_sim_render_free(g.render);
  hd_stream_free(g.stream);
  hd_context_free(g.ctx);
  free(g.page.text.data);
  free(g.png.data);
  free(g.summary.data);
  return rc;
}
