/* examples/embed/embed.c -- a program of its own that makes a kernel with the builder API and runs it.
 *
 * Each thread follows the logistic map x <- r x (1 - x) from a start of its own. After many steps all have met in the
 * cycle that r leads to.
 */
#include <heddle/heddle.h>
#include <stdio.h>

/* kernel logistic(f32 x[], f32 r, i32 steps) { for (k in 0..steps) x[tid()] = r * x[tid()] * (1 - x[tid()]); } */
static void build(HdBuilder *b) {
  const HdIrType *f32 = hd_build_type(b, hd_type_scalar(HD_F32)), *i32 = hd_build_type(b, hd_type_scalar(HD_I32));
  const HdIrType *params[] = {hd_build_array(b, f32, 1), f32, i32};
  const char *names[] = {"x", "r", "steps"};
  hd_build_kernel(b, "logistic", 3, params, names);
  HdIrValue *i = hd_build_tid(b, 0), *at = hd_build_index(b, hd_build_param(b, 0), 1, &i);
  HdIrValue *first[] = {hd_build_int(b, HD_I32, 0), hd_build_load(b, at)}; /* step 0, and x there */

  hd_build_loop(b, 2, first, 1, &f32);
  HdIrValue *step = hd_build_carried(b, 0), *x = hd_build_carried(b, 1);
  hd_build_if(b, hd_build_op2(b, HD_OP_GE, step, hd_build_param(b, 2)), 0, NULL);
  hd_build_break(b, 1, &x);
  hd_build_close(b);
  HdIrValue *rest = hd_build_op2(b, HD_OP_SUB, hd_build_float(b, HD_F32, 1), x);
  HdIrValue *rx = hd_build_op2(b, HD_OP_MUL, hd_build_param(b, 1), x);
  HdIrValue *next[] = {hd_build_op2(b, HD_OP_ADD, step, hd_build_int(b, HD_I32, 1)),
                       hd_build_op2(b, HD_OP_MUL, rx, rest)};
  hd_build_continue(b, 2, next);
  hd_build_close(b);

  hd_build_store(b, at, hd_build_result(b, 0));
  hd_build_return(b, 0, NULL);
  hd_build_end(b);
}

static int failed(HdContext *ctx) {
  char line[1024];
  fprintf(stderr, "%s\n", hd_error_format(hd_context_error(ctx), line, sizeof line));
  return 1;
}

int main(void) {
  enum { N = 4 };
  HdContext *ctx;
  HdBuilder *builder;
  HdModule *module;
  HdKernel *kernel;
  HdStream *stream;
  HdDevice cpu;
  HdArray x;
  int64_t n = N;
  float data[N] = {0.1f, 0.3f, 0.6f, 0.9f};
  if (hd_context_new(NULL, &ctx) != HD_OK) return 1;
  if (hd_builder_new(ctx, "embed", &builder) != HD_OK) return failed(ctx);
  build(builder); /* a mistake in it is reported here: */
  if (hd_builder_finish(builder, NULL, &module) != HD_OK) return failed(ctx);
  hd_builder_free(builder);

  if (hd_device_find(ctx, "cpu", &cpu) != HD_OK || hd_module_kernel(module, "logistic", cpu, &kernel) != HD_OK ||
      hd_stream_new(ctx, cpu, HD_STREAM_SYNC, &stream) != HD_OK ||
      hd_array_borrow(ctx, cpu, hd_type_scalar(HD_F32), 1, &n, NULL, data, &x) != HD_OK)
    return failed(ctx);
  HdArg args[] = {hd_arg_array(&x), hd_arg_f32(2.5f), hd_arg_i32(100)};
  if (hd_launch(kernel, stream, 1, &n, 3, args) != HD_OK) return failed(ctx);
  for (int i = 0; i < N; i++) printf("%.4f\n", (double)data[i]);

  hd_stream_free(stream);
  hd_module_free(module);
  hd_context_free(ctx);
  return 0;
}
