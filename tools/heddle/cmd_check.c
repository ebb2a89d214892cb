/* tools/heddle/cmd_check.c -- heddle check: the diagnostics, and nothing else. */
#include "tools/heddle/cli.h"

static const CliOption options[] = {CLI_MODULE_OPTIONS, {0}};

static int check(Cli *cli) {
  if (cli->noperands == 0) return cli_fail(cli, HD_ERR_ARG, "FILE", "no file was given");
  HdContext *ctx;
  if (!cli_context(cli, true, &ctx)) return 1;
  int status = 0;
  for (int i = 0; i < cli->noperands; i++) {
    HdModule *module;
    if (cli_load(cli, ctx, cli->operands[i], NULL, &module))
      hd_module_free(module);
    else
      status = 1;
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
