/* tools/heddle/cmd_opt.c -- heddle opt: passes by themselves, on IR text. */
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"
#include "passes/passes.h"
#include "tools/heddle/cli.h"

static const CliOption options[] = {
    {"passes", 0, "A,B,..", "passes or pipelines, run in this order"},
    {"list", 0, NULL, "print the passes there are"},
    {"trace", 0, NULL, "print the function after each pass that changed it, to standard error"},
    {"time", 0, NULL, "print the milliseconds of each pass, to standard error"},
    {"no-locations", 0, NULL, "leave source places out"},
    {"output", 'o', "FILE", "where to write; standard output if not given"},
    {0}};

typedef struct Watch {
  Arena *arena;
  bool trace, time;
} Watch;

static void after(void *user, const char *pass, const IrFunc *fn, bool changed, double ms) {
  Watch *w = user;
  if (w->time) fprintf(stderr, "%-12s %-24s %8.3f ms%s\n", pass, fn->name, ms, changed ? "" : "  nothing to do");
  if (!w->trace || !changed) return;
  Buf b;
  IrPrint how = {.locations = false};
  hdb_buf_init(&b, w->arena);
  hdir_print_func(&b, fn, &how);
  fprintf(stderr, "# after %s\n%s\n", pass, b.data);
}

static int list(void) {
  for (const OptPass *p = hdopt_passes; p->name; p++) printf("%-12s %s\n", p->name, p->summary);
  printf("\npipelines:\n%-12s what fixes the meaning of floating-point code; every backend runs it first\n", "canon");
  printf("%-12s canon, then everything down to scalar code without calls, for the CPU\n", "cpu");
  return 0;
}

static int optimise(const Cli *cli, Arena *arena, const char *path, const char *text, size_t size, const char *passes) {
  HdError error;
  IrModule *module;
  Watch watch = {arena, cli_has(cli, "trace"), cli_has(cli, "time")};
  OptContext cx = {.err = &error, .verify = true, .after = after, .user = &watch};
  IrPrint how = {.locations = !cli_has(cli, "no-locations")};
  Buf out;
  hdb_error_clear(&error);
  if (hdir_parse(arena, path, text, size, &error, &module) != HD_OK || hdir_verify(module, &error) != HD_OK ||
      (*passes && hdopt_run(module, passes, &cx) != HD_OK))
    return cli_report(cli, &error);
  hdb_buf_init(&out, arena);
  hdir_print_module(&out, module, &how);
  return !cli_write(cli, cli_get(cli, "output"), out.data ? out.data : "", out.len);
}

static int opt(Cli *cli) {
  if (cli_has(cli, "list")) return list();
  const char *passes = cli_get(cli, "passes");
  size_t size;
  if (!passes) return cli_fail(cli, HD_ERR_OPTION, "--passes", "it was not given; --list has the names");
  if (cli->noperands != 1) return cli_fail(cli, HD_ERR_ARG, "FILE", "wanted one file, got %d", cli->noperands);
  char *text = cli_read(cli, cli->operands[0], &size);
  if (!text) return 1;
  Arena arena;
  jmp_buf jump;
  volatile int status = 1;
  hdb_arena_init(&arena, &hdb_system_allocator);
  HDB_GUARD(&arena, jump) { status = optimise(cli, &arena, cli->operands[0], text, size, passes); }
  else { cli_fail(cli, HD_ERR_NOMEM, cli->operands[0], "no memory to optimise it"); }
  hdb_arena_free(&arena);
  free(text);
  return status;
}

const CliCommand cmd_opt = {
    "opt",
    "FILE",
    "run passes by themselves on IR text",
    "FILE is IR text, as 'heddle compile --emit=ir' writes it; \"-\" is standard input. Every pass is verified after.\n"
    "--passes= (none) parses, checks and prints.\n",
    options,
    opt};
