/* tools/heddle/cmd_check.c -- heddle check: the diagnostics, and nothing else. */
#include "tools/heddle/cli.h"

static const CliOption options[] = {
    {"target", 0, "NAME", "also what code for this GPU may not have, as 'sm_75': too much shared memory, C functions"},
    CLI_MODULE_OPTIONS,
    {0}};

/* What only the passes see: where threads of a group part before they meet, how much a group shares; and what the target
 * does not take. */
static bool check_kernels(const Cli *cli, HdContext *ctx, HdModule *module) {
  bool good = true;
  const char *target = cli_get(cli, "target");
  for (int32_t i = 0; i < hd_module_kernel_count(module); i++) {
    const char *data;
    size_t size;
    HdStatus status = hd_module_emit(module, hd_module_kernel_name(module, i), target ? HD_EMIT_LLVM : HD_EMIT_IR_OPT,
                                     target, &data, &size);
    if (status == HD_OK) continue;
    cli_failed(cli, ctx, status);
    good = false;
    if (status == HD_ERR_TARGET) break; /* it is no other kernel's either */
  }
  return good;
}

static int check(Cli *cli) {
  if (cli->noperands == 0) return cli_fail(cli, HD_ERR_ARG, "FILE", "no file was given");
  HdContext *ctx;
  if (!cli_context(cli, true, &ctx)) return 1;
  int status = 0;
  for (int i = 0; i < cli->noperands; i++) {
    HdModule *module;
    if (!cli_load(cli, ctx, cli->operands[i], NULL, &module)) {
      status = 1;
      continue;
    }
    if (!check_kernels(cli, ctx, module)) status = 1;
    hd_module_free(module);
  }
  hd_context_free(ctx);
  return status;
}

const CliCommand cmd_check = {
    "check",
    "FILE..",
    "read kernels and print what is wrong with them",
    "A file that ends in \".ir\" is IR text, any other is kernel source; \"-\" is source on standard input.\n",
    options,
    check};
