/* tools/heddle/cmd_cache.c -- heddle cache: what compiled code is kept, whether it is whole, why it was not used. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/heddle/cli.h"

static const CliOption options[] = {
    {"cache", 0, "DIR", "the folder of compiled code"}, CLI_MODULE_OPTIONS, CLI_NO_BOUNDS, {0}};

static const char *when_text(int64_t used, char out[32]) {
  time_t t = (time_t)used;
  struct tm tm;
  snprintf(out, 32, "never");
  if (used > 0 && localtime_r(&t, &tm)) strftime(out, 32, "%Y-%m-%d %H:%M", &tm);
  return out;
}

/* --- ls, clear, verify --- */

static bool show(void *unused, const HdCacheEntry *e) {
  char when[32];
  (void)unused;
  printf("%-32s  %9" PRIu64 "  %s  %-20s  %s\n", e->key, e->size, when_text(e->used, when), e->target, e->kernel);
  return true;
}

static int ls(Cli *cli, HdContext *ctx) {
  HdStatus status = hd_cache_list(ctx, show, NULL);
  return status == HD_OK ? 0 : cli_failed(cli, ctx, status);
}

static int clear(Cli *cli, HdContext *ctx) {
  HdStatus status = hd_cache_clear(ctx, NULL);
  return status == HD_OK ? 0 : cli_failed(cli, ctx, status);
}

static bool show_bad(void *count, const char *file, const char *why) {
  printf("%s: %s\n", file, why);
  ++*(int64_t *)count;
  return true;
}

static int verify(Cli *cli, HdContext *ctx) {
  int64_t bad = 0, whole = 0;
  HdStatus status = hd_cache_verify(ctx, show_bad, &bad, &whole);
  if (status != HD_OK) return cli_failed(cli, ctx, status);
  printf("%" PRId64 " whole, %" PRId64 " not\n", whole, bad);
  return bad != 0;
}

/* --- why --- */

/* What it means that a field differs. */
static const struct {
  const char *field, *meaning;
} meanings[] = {{"build", "another build of Heddle made it"},
                {"abi", "another version of Heddle made it"},
                {"ir", "the kernel, what it calls, what -D gives or --no-bounds is not the same"},
                {"triple", "it is for another kind of machine"},
                {"cpu", "it is for another CPU"},
                {"features", "it is for a CPU with other instructions"},
                {"width", "another --width was asked for"},
                {"fast", "--fast"},
                {"opt", "another level of optimisation"},
                {"llvm", "another LLVM made it"}};

static const char *meaning_of(const char *field, size_t n) {
  for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
    if (strlen(meanings[i].field) == n && memcmp(meanings[i].field, field, n) == 0) return meanings[i].meaning;
  return "";
}

/* The line "name=.." in `fields`, and its length; NULL if there is none. */
static const char *find_field(const char *fields, const char *name, size_t n, size_t *size) {
  for (const char *at = fields; *at; at += strcspn(at, "\n"), at += *at == '\n') {
    if (strncmp(at, name, n) != 0 || at[n] != '=') continue;
    *size = strcspn(at, "\n") - n - 1;
    return at + n + 1;
  }
  return NULL;
}

/* The number of fields that differ; each is printed if `print`. */
static int compare(const char *have, const char *want, bool print) {
  int differ = 0;
  for (const char *at = want; *at; at += strcspn(at, "\n"), at += *at == '\n') {
    size_t n = strcspn(at, "=\n"), size, other_size = 0;
    const char *value = find_field(want, at, n, &size), *other = find_field(have, at, n, &other_size);
    if (!value || (other && size == other_size && memcmp(value, other, size) == 0)) continue;
    differ++;
    if (!print) continue;
    printf("  %.*s: %.*s, not %.*s", (int)n, at, other ? (int)other_size : 4, other ? other : "none", (int)size, value);
    const char *meaning = meaning_of(at, n);
    printf("%s%s\n", *meaning ? "; " : "", meaning);
  }
  return differ;
}

typedef struct Why {
  const char *kernel, *want; /* want: NULL until it is the newest entry's */
  char *nearest, *newest;    /* fields; freed by `why` */
  int differ, entries;
  int64_t used, newest_used;
  bool failed;
} Why;

static char *keep(Why *w, char *old, const char *fields) {
  char *copy = strdup(fields);
  if (!copy) w->failed = true;
  free(old);
  return copy;
}

static bool is_dense(const char *fields) { return strstr(fields, "\ndense=1\n") != NULL; }

static bool find_newest(void *user, const HdCacheEntry *e) {
  Why *w = user;
  if (strcmp(e->kernel, w->kernel) != 0 || !is_dense(e->fields)) return true;
  w->entries++;
  if (w->newest && e->used <= w->newest_used) return true;
  w->newest_used = e->used;
  w->newest = keep(w, w->newest, e->fields);
  return !w->failed;
}

/* The entry that differs least from what is wanted, other than that itself when `want` is an entry. */
static bool find_nearest(void *user, const HdCacheEntry *e) {
  Why *w = user;
  if (strcmp(e->kernel, w->kernel) != 0 || !is_dense(e->fields)) return true;
  int differ = compare(e->fields, w->want, false);
  if (differ == 0 && w->want == w->newest) return true;
  if (w->nearest && (differ > w->differ || (differ == w->differ && e->used <= w->used))) return true;
  w->differ = differ;
  w->used = e->used;
  w->nearest = keep(w, w->nearest, e->fields);
  return !w->failed;
}

static int explain(const Cli *cli, const Why *w, bool from_file) {
  char when[32];
  if (w->failed) return cli_fail(cli, HD_ERR_NOMEM, "", "for the fields of an entry");
  if (w->entries == 0) {
    printf("'%s' is not in the cache: it was never compiled with it, or its entry was removed\n", w->kernel);
  } else if (from_file && w->differ == 0) {
    printf("'%s' is in the cache, last used %s\n", w->kernel, when_text(w->used, when));
  } else if (!w->nearest) {
    printf("'%s' has one entry, last used %s; name a FILE to compare it with\n", w->kernel,
           when_text(w->newest_used, when));
  } else {
    printf(from_file ? "'%s' is not in the cache; the nearest entry, last used %s, has\n"
                     : "'%s' has several entries; the one nearest to the last, last used %s, has\n",
           w->kernel, when_text(w->used, when));
    compare(w->nearest, w->want, true);
  }
  return 0;
}

static int why(Cli *cli, HdContext *ctx) {
  Why w = {.kernel = cli->operands[1]};
  HdModule *module = NULL;
  bool from_file = cli->noperands == 3;
  if (from_file && !cli_load(cli, ctx, cli->operands[2], NULL, &module)) return 1;
  HdStatus status = hd_cache_list(ctx, find_newest, &w);
  if (status == HD_OK && from_file) status = hd_cache_fields(module, w.kernel, &w.want);
  if (!from_file) w.want = w.newest;
  if (status == HD_OK && w.want) status = hd_cache_list(ctx, find_nearest, &w);
  int result = status == HD_OK ? explain(cli, &w, from_file) : cli_failed(cli, ctx, status);
  free(w.nearest);
  free(w.newest);
  hd_module_free(module);
  return result;
}

/* --- the command --- */

static const struct {
  const char *name;
  int least, most; /* operands, the name included */
  int (*run)(Cli *cli, HdContext *ctx);
} actions[] = {{"ls", 1, 1, ls}, {"clear", 1, 1, clear}, {"verify", 1, 1, verify}, {"why", 2, 3, why}};

static int cache(Cli *cli) {
  const char *name = cli->noperands ? cli->operands[0] : "";
  for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
    if (strcmp(name, actions[i].name) != 0) continue;
    if (cli->noperands < actions[i].least) return cli_fail(cli, HD_ERR_ARG, name, "wanted the name of a kernel");
    if (cli->noperands > actions[i].most)
      return cli_fail(cli, HD_ERR_ARG, cli->operands[actions[i].most], "nothing more was wanted");
    HdContext *ctx;
    if (!cli_context(cli, false, &ctx)) return 1;
    int status = 1;
    if (*hd_cache_dir(ctx))
      status = actions[i].run(cli, ctx);
    else
      cli_fail(cli, HD_ERR_OPTION, "--cache", "it was not given, and HEDDLE_CACHE, XDG_CACHE_HOME and HOME are unset");
    hd_context_free(ctx);
    return status;
  }
  return cli_fail(cli, HD_ERR_ARG, name, "wanted 'ls', 'clear', 'verify' or 'why'");
}

const CliCommand cmd_cache = {
    "cache",
    "ls|clear|verify|why KERNEL [FILE]",
    "list, check, explain or remove the compiled code that is kept on disk",
    "ls prints a line for each entry: key, bytes, last use, target, kernel. clear removes Heddle's own files only.\n"
    "verify reads every file, and fails if one would not be used. why KERNEL FILE says whether the kernel as it is in "
    "FILE\n"
    "(bounds are checked as 'heddle run' does, unless --no-bounds) is kept, and if not, what differs in the entry "
    "that\n"
    "is nearest; without FILE it compares the entries that there are.\n",
    options,
    cache};
