/* tools/heddle/cmd_compile.c -- heddle compile: what each stage of the compiler makes of a file. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/heddle/cli.h"

static const CliOption options[] = {
    {"emit", 0, "WHAT", "ir, ir-opt, llvm, asm, obj (the default) or ptx"},
    {"target", 0, "NAME",
     "host (the default), x86-64-v2, x86-64-v3, x86-64-v4, aarch64, or sm_75 and its like for PTX"},
    {"kernel", 0, "NAME", "one kernel only"},
    {"output", 'o', "FILE", "where to write; text goes to standard output if not given, an object to NAME.o"},
    {"time", 0, NULL, "print the milliseconds of each stage"},
    {"stats", 0, NULL, "with --emit=ptx: print each kernel's registers and spills, by the CUDA toolkit's ptxas"},
    CLI_MODULE_OPTIONS,
    {0}};

static const struct {
  const char *name;
  HdEmit what;
} emits[] = {{"ir", HD_EMIT_IR},   {"ir-opt", HD_EMIT_IR_OPT}, {"llvm", HD_EMIT_LLVM},
             {"asm", HD_EMIT_ASM}, {"obj", HD_EMIT_OBJ},       {"ptx", HD_EMIT_PTX}};

static bool find_emit(const Cli *cli, HdEmit *out) {
  const char *name = cli_get(cli, "emit");
  *out = HD_EMIT_OBJ;
  for (size_t i = 0; name && i < sizeof emits / sizeof *emits; i++)
    if (strcmp(name, emits[i].name) == 0) return *out = emits[i].what, true;
  if (name) cli_fail(cli, HD_ERR_OPTION, "--emit", "wanted ir, ir-opt, llvm, asm, obj or ptx, got '%s'", name);
  return !name;
}

static int show_times(const Cli *cli, HdContext *ctx, HdModule *module, const char *only) {
  HdDevice cpu;
  HdStatus status = hd_device_find(ctx, "cpu", &cpu);
  if (status != HD_OK) return cli_failed(cli, ctx, status);
  fprintf(stderr, "%-24s %8s %8s %8s %8s %8s %8s %8s\n", "milliseconds", "front", "passes", "widen", "parse",
          "optimise", "emit", "load");
  for (int32_t i = 0; i < hd_module_kernel_count(module); i++) {
    const char *name = hd_module_kernel_name(module, i);
    HdKernel *kernel;
    if (only && strcmp(only, name) != 0) continue;
    status = hd_module_kernel(module, name, cpu, &kernel);
    if (status != HD_OK) return cli_failed(cli, ctx, status);
    HdTimes t = hd_kernel_times(kernel);
    fprintf(stderr, "%-24s %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f\n", name, t.front, t.passes, t.widen, t.llvm_parse,
            t.llvm_opt, t.llvm_emit, t.load);
  }
  return 0;
}

/* "dir/step.hd" gives "step.o". */
static char *object_name(const char *path) {
  const char *base = strrchr(path, '/');
  base = base ? base + 1 : path;
  const char *dot = strrchr(base, '.');
  size_t n = dot && dot != base ? (size_t)(dot - base) : strlen(base);
  char *out = malloc(n + 3);
  if (out) snprintf(out, n + 3, "%.*s.o", (int)n, base);
  return out;
}

static int emit(const Cli *cli, HdContext *ctx, HdModule *module, HdEmit what, const char *target) {
  const char *data, *to = cli_get(cli, "output");
  size_t size;
  cli_progress_begin("compiling");
  HdStatus status = hd_module_emit(module, cli_get(cli, "kernel"), what, target, &data, &size);
  cli_progress_end();
  if (status != HD_OK) return cli_failed(cli, ctx, status);
  char *made = NULL;
  if (what == HD_EMIT_OBJ && !to) {
    if (strcmp(cli->operands[0], "-") == 0)
      return cli_fail(cli, HD_ERR_OPTION, "-o", "source from standard input needs a name for its object");
    to = made = object_name(cli->operands[0]);
    if (!made) return cli_fail(cli, HD_ERR_NOMEM, "", "for a file name");
  }
  bool good = cli_write(cli, to, data, size);
  free(made);
  if (good && cli_has(cli, "stats")) return cli_ptxas(cli, data, size, target ? target : "sm_75");
  return !good;
}

static int compile(Cli *cli) {
  HdEmit what;
  HdContext *ctx;
  HdModule *module;
  const char *target = cli_get(cli, "target");
  int status = 1;
  if (cli->noperands != 1) return cli_fail(cli, HD_ERR_ARG, "FILE", "wanted one file, got %d", cli->noperands);
  if (!find_emit(cli, &what)) return 1;
  if (target && strcmp(target, "host") == 0) target = NULL;
  if (cli_has(cli, "time") && (target || what == HD_EMIT_PTX))
    return cli_fail(cli, HD_ERR_OPTION, "--time", "only this machine's code is timed; leave --target out");
  if (cli_has(cli, "stats") && what != HD_EMIT_PTX)
    return cli_fail(cli, HD_ERR_OPTION, "--stats", "only PTX has them; add --emit=ptx");
  if (!cli_context(cli, true, &ctx)) return 1;
  if (cli_load(cli, ctx, cli->operands[0], NULL, &module)) {
    status = emit(cli, ctx, module, what, target);
    if (status == 0 && cli_has(cli, "time")) status = show_times(cli, ctx, module, cli_get(cli, "kernel"));
    hd_module_free(module);
  }
  hd_context_free(ctx);
  return status;
}

const CliCommand cmd_compile = {
    "compile",
    "FILE",
    "compile kernels and write what a stage makes of them",
    "FILE is kernel source, or IR text if it ends in \".ir\"; \"-\" is source on standard "
    "input. An object holds one kernel:\n"
    "name it with --kernel if the file has several. PTX needs neither a GPU nor a driver.\n",
    options,
    compile};
