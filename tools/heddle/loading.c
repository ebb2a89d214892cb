/* tools/heddle/loading.c -- contexts and modules as the options say, and whole files in and out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/heddle/cli.h"

bool cli_context(const Cli *cli, bool no_cache, HdContext **out) {
  HdContextOptions options = HD_CONTEXT_OPTIONS_INIT;
  int64_t threads = 0;
  if (!cli_int(cli, "threads", 1, 1024, &threads)) return false;
  options.threads = (int32_t)threads;
  options.log = cli_log;
  options.cache_dir = cli_get(cli, "cache");
  options.no_cache = no_cache || cli_has(cli, "no-cache");
  HdStatus status = hd_context_new(&options, out);
  if (status != HD_OK) cli_failed(cli, NULL, status);
  return status == HD_OK;
}

char *cli_read(const Cli *cli, const char *path, size_t *size) {
  FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
  char *text = NULL;
  size_t n = 0, cap = 0, got = 0;
  errno = 0;
  if (!f) return cli_fail(cli, HD_ERR_IO, path, "%s", strerror(errno)), NULL;
  do {
    n += got;
    if (n + 1 >= cap) {
      char *more = realloc(text, cap = cap ? 2 * cap : 16384);
      if (!more) {
        free(text);
        if (f != stdin) fclose(f);
        cli_fail(cli, HD_ERR_NOMEM, path, "no memory for the file");
        return NULL;
      }
      text = more;
    }
  } while ((got = fread(text + n, 1, cap - n - 1, f)) > 0);
  bool bad = ferror(f);
  if (bad) cli_fail(cli, HD_ERR_IO, path, "%s", strerror(errno));
  if (f != stdin) fclose(f);
  if (bad) return free(text), NULL;
  text[n] = 0;
  *size = n;
  return text;
}

/* The -D and -I options as the arrays that the API takes; `names` holds the text of both. */
typedef struct Collected {
  HdDefine *defines;
  const char **paths;
  char **names;
  int32_t ndefines, npaths;
} Collected;

static void collected_free(Collected *c) {
  for (int32_t i = 0; i < c->ndefines; i++) free(c->names[i]);
  free(c->defines);
  free(c->paths);
  free(c->names);
}

static bool collect(const Cli *cli, Collected *c) {
  size_t n = (size_t)cli->nvalues + 1;
  memset(c, 0, sizeof *c);
  c->defines = calloc(n, sizeof *c->defines);
  c->paths = calloc(n, sizeof *c->paths);
  c->names = calloc(n, sizeof *c->names);
  if (!c->defines || !c->paths || !c->names) return cli_fail(cli, HD_ERR_NOMEM, "", "for the options"), false;
  for (int i = 0; i < cli->nvalues; i++) {
    const char *name = cli->values[i].option->name, *value = cli->values[i].value;
    if (strcmp(name, "include") == 0) c->paths[c->npaths++] = value;
    if (strcmp(name, "define") != 0) continue;
    size_t at = strcspn(value, "=");
    if (at == 0 || !value[at]) return cli_fail(cli, HD_ERR_OPTION, "-D", "wanted NAME=VALUE, got '%s'", value), false;
    char *key = strndup(value, at);
    if (!key) return cli_fail(cli, HD_ERR_NOMEM, "", "for the options"), false;
    c->names[c->ndefines] = key;
    c->defines[c->ndefines++] = (HdDefine){key, value + at + 1};
  }
  return true;
}

static bool ends_with(const char *s, const char *tail) {
  size_t n = strlen(s), k = strlen(tail);
  return n >= k && strcmp(s + n - k, tail) == 0;
}

bool cli_load(const Cli *cli, HdContext *ctx, const char *path, const char *target, HdModule **out) {
  HdModuleOptions options = HD_MODULE_OPTIONS_INIT;
  Collected c;
  int64_t width = 0;
  bool good = collect(cli, &c) && cli_int(cli, "width", 1, 32, &width);
  options.ndefines = c.ndefines;
  options.defines = c.defines;
  options.npaths = c.npaths;
  options.paths = c.paths;
  options.fast = cli_has(cli, "fast");
  bool checks = cli->command == &cmd_run || cli->command == &cmd_cache; /* which asks about what run makes */
  options.bounds = cli_has(cli, "bounds") || (checks && !cli_has(cli, "no-bounds"));
  options.width = (int32_t)width;
  options.target = target;
  if (good && (ends_with(path, ".ir") || strcmp(path, "-") == 0)) {
    size_t size;
    char *text = cli_read(cli, path, &size);
    HdStatus status = HD_OK;
    if (text && ends_with(path, ".ir"))
      status = hd_module_load_ir(ctx, path, text, size, &options, out);
    else if (text)
      status = hd_module_load_source(ctx, "<stdin>", text, size, &options, out);
    if (status != HD_OK) cli_failed(cli, ctx, status);
    good = text && status == HD_OK;
    free(text);
  } else if (good) {
    HdStatus status = hd_module_load_file(ctx, path, &options, out);
    if (status != HD_OK) cli_failed(cli, ctx, status);
    good = status == HD_OK;
  }
  collected_free(&c);
  return good;
}

bool cli_write(const Cli *cli, const char *path, const char *data, size_t size) {
  OutFile out;
  char why[OUT_WHY];
  HdStatus status = out_begin(path ? path : "-", &out, why);
  if (status == HD_OK) {
    bool short_write = size && fwrite(data, 1, size, out.file) != size;
    status = out_commit(&out, why);
    if (status == HD_OK && short_write) {
      status = HD_ERR_IO;
      snprintf(why, sizeof why, "'%s': cannot write", path ? path : "standard output");
    }
  }
  if (status != HD_OK) cli_fail(cli, status, "", "%s", why);
  return status == HD_OK;
}
