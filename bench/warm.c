/* bench/warm.c -- the whole of a small program: start, load a module, run one kernel, check, end. bench/floors.cc times it
 * as a process, with the cache folder warm.     warm FILE.hd CACHE [memory]     With `memory` it prints its peak in KiB. */
#include <stdio.h>
#include <string.h>

#include "heddle/heddle.h"

static void print_peak(void) {
  FILE *f = fopen("/proc/self/status", "r");
  char line[256];
  long kib;
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "VmHWM: %ld", &kib) == 1) printf("%ld\n", kib);
  if (f) fclose(f);
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 4) return 2;
  HdContextOptions options = HD_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  options.cache_dir = argv[2];
  HdContext *ctx;
  HdDevice cpu;
  HdStream *stream;
  HdModule *module;
  HdKernel *kernel;
  if (hd_context_new(&options, &ctx) != HD_OK) return 3;
  float x[4] = {1, 2, 3, 4}, y[4] = {0, 0, 0, 0};
  int64_t n = 4;
  HdArray ax, ay;
  if (hd_device_find(ctx, "cpu", &cpu) != HD_OK || hd_stream_new(ctx, cpu, HD_STREAM_SYNC, &stream) != HD_OK ||
      hd_module_load_file(ctx, argv[1], NULL, &module) != HD_OK ||
      hd_module_kernel(module, "trivial", cpu, &kernel) != HD_OK ||
      hd_array_borrow(ctx, cpu, hd_type_scalar(HD_F32), 1, &n, NULL, x, &ax) != HD_OK ||
      hd_array_borrow(ctx, cpu, hd_type_scalar(HD_F32), 1, &n, NULL, y, &ay) != HD_OK) {
    fprintf(stderr, "warm: %s\n", hd_context_error(ctx)->detail);
    return 4;
  }
  HdArg args[] = {hd_arg_array(&ax), hd_arg_array(&ay)};
  if (hd_launch(kernel, stream, 1, &n, 2, args) != HD_OK || y[3] != 9) return 5;
  if (argc == 4) print_peak();
  return hd_kernel_from_cache(kernel) ? 0 : 6;
}
