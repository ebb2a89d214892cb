/* tools/heddle/cmd_cache.c -- heddle cache: what compiled code is kept, and its removal. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "tools/heddle/cli.h"

static const CliOption options[] = {{"cache", 0, "DIR", "the folder of compiled code"}, {0}};

static bool show(void *total, const HdCacheEntry *e) {
  char when[32] = "never";
  time_t used = (time_t)e->used;
  struct tm tm;
  if (e->used > 0 && localtime_r(&used, &tm)) strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
  printf("%-32s  %9" PRIu64 "  %s  %-20s  %s\n", e->key, e->size, when, e->target ? e->target : "", e->kernel);
  *(uint64_t *)total += e->size;
  return true;
}

static int cache(Cli *cli) {
  HdContext *ctx;
  uint64_t total = 0;
  const char *what = cli->noperands ? cli->operands[0] : "";
  bool list = strcmp(what, "ls") == 0, clear = strcmp(what, "clear") == 0;
  if (!(list || clear) || cli->noperands != 1) return cli_fail(cli, HD_ERR_ARG, what, "wanted 'ls' or 'clear'");
  if (!cli_context(cli, false, &ctx)) return 1;
  HdStatus status = list ? hd_cache_list(ctx, show, &total) : hd_cache_clear(ctx, NULL);
  if (status != HD_OK) cli_failed(cli, ctx, status);
  hd_context_free(ctx);
  return status != HD_OK;
}

const CliCommand cmd_cache = {
    "cache",
    "ls|clear",
    "list or remove the compiled code that is kept on disk",
    "ls prints a line for each entry: key, bytes, last use, target, kernel. clear removes Heddle's own files only.\n",
    options,
    cache};
