/* examples/embed/own_function.c -- a kernel that calls a function of this program.
 *
 * The module declares the function; the program gives its address when it loads the module. Compiled code calls it
 * directly. Here it looks a value up in a table that the kernel language knows nothing of.
 */
#include <heddle/heddle.h>
#include <stdio.h>

static const char source[] =
    "/* The drag coefficient of a sphere at a Reynolds number; the program knows it from measurements. */\n"
    "@pure extern fn drag_coefficient(f32 reynolds) -> f32;\n"
    "\n"
    "/* A sphere of 1 cm that sinks in water: its speed after `steps` of `dt` [m/s]. */\n"
    "kernel sink(f32 density[], f32 speed[], f32 dt, i32 steps) {\n"
    "  let i = tid();\n"
    "  var v = 0.0;\n"
    "  for (step in 0..steps) {\n"
    "    let drag = 0.75 * drag_coefficient(v * 0.01 / 1e-6) * v * v / 0.01 * (1000 / density[i]);\n"
    "    v += dt * (9.81 * (1 - 1000 / density[i]) - drag);\n"
    "  }\n"
    "  speed[i] = v;\n"
    "}\n";

/* Called from several threads at once, so it changes nothing. */
static float drag_coefficient(float reynolds) {
  static const float at[] = {1e2f, 1e3f, 1e4f, 1e5f, 2e5f}, is[] = {1.09f, 0.47f, 0.41f, 0.5f, 0.4f};
  int k = 0;
  if (reynolds < at[0]) return 24 / (reynolds + 1) + 0.87f;
  while (k < 3 && reynolds > at[k + 1]) k++;
  float t = (reynolds - at[k]) / (at[k + 1] - at[k]);
  return is[k] + (t < 1 ? t : 1) * (is[k + 1] - is[k]);
}

static int failed(HdContext *ctx) {
  char line[1024];
  fprintf(stderr, "%s\n%s", hd_error_format(hd_context_error(ctx), line, sizeof line), hd_context_diagnostics(ctx));
  return 1;
}

int main(void) {
  enum { N = 3 };
  HdContext *ctx;
  HdModule *module;
  HdKernel *kernel;
  HdStream *stream;
  HdDevice cpu;
  HdArray density, speed;
  int64_t n = N;
  float materials[N] = {1500, 2700, 7800}, speeds[N] = {0};
  HdCFunction functions[] = {{"drag_coefficient(f32) -> f32", (void (*)(void))drag_coefficient}};
  HdModuleOptions options = HD_MODULE_OPTIONS_INIT;
  options.nfunctions = 1;
  options.functions = functions;

  if (hd_context_new(NULL, &ctx) != HD_OK) return 1;
  if (hd_module_load_source(ctx, "sink.hd", source, sizeof source - 1, &options, &module) != HD_OK ||
      hd_device_find(ctx, "cpu", &cpu) != HD_OK || hd_module_kernel(module, "sink", cpu, &kernel) != HD_OK ||
      hd_stream_new(ctx, cpu, HD_STREAM_SYNC, &stream) != HD_OK ||
      hd_array_borrow(ctx, cpu, hd_type_scalar(HD_F32), 1, &n, NULL, materials, &density) != HD_OK ||
      hd_array_borrow(ctx, cpu, hd_type_scalar(HD_F32), 1, &n, NULL, speeds, &speed) != HD_OK)
    return failed(ctx);
  HdArg args[] = {hd_arg_array(&density), hd_arg_array(&speed), hd_arg_f32(1e-3f), hd_arg_i32(2000)};
  if (hd_launch(kernel, stream, 1, &n, 4, args) != HD_OK) return failed(ctx);
  for (int i = 0; i < N; i++) printf("%4.0f kg/m3 sinks at %.3f m/s\n", (double)materials[i], (double)speeds[i]);

  hd_stream_free(stream);
  hd_module_free(module);
  hd_context_free(ctx);
  return 0;
}
