/* tools/heddle/cli.c -- reads a command line by the command's table. */
#include "tools/heddle/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"

static const CliOption help_option = {"help", 'h', NULL, "this text"};

static const CliOption *find(const CliCommand *c, const char *name, size_t n, char letter) {
  for (const CliOption *o = c->options; o && o->name; o++)
    if (letter ? o->letter == letter : strlen(o->name) == n && memcmp(o->name, name, n) == 0) return o;
  if (letter ? letter == 'h' : n == 4 && memcmp(name, "help", 4) == 0) return &help_option;
  return NULL;
}

static bool unknown(const Cli *cli, const char *word) {
  const char *best = NULL;
  int distance = 3; /* more is no misspelling */
  for (const CliOption *o = cli->command->options; o && o->name; o++) {
    int d = hdb_edit_distance(word + 2, o->name, distance);
    if (d < distance) best = o->name, distance = d;
  }
  if (best && word[1] == '-')
    cli_fail(cli, HD_ERR_OPTION, word, "there is no such option; did you mean --%s?", best);
  else
    cli_fail(cli, HD_ERR_OPTION, word, "there is no such option");
  return false;
}

/* One option at argv[*i], with its value; *i is left at the last word used. */
static bool option(Cli *cli, int argc, char **argv, int *i) {
  const char *word = argv[*i], *value = NULL;
  const CliOption *o;
  if (word[1] == '-') {
    size_t n = strcspn(word + 2, "=");
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(n + 2 < sizeof name ? n + 2 : sizeof name - 1), word);
    o = find(cli->command, word + 2, n, 0);
    if (!o) return unknown(cli, name);
    if (word[2 + n] == '=') value = word + 3 + n;
    if (value && !o->value) return cli_fail(cli, HD_ERR_OPTION, name, "it takes no value"), false;
  } else {
    o = find(cli->command, NULL, 0, word[1]);
    if (!o) return unknown(cli, word);
    if (word[2] && !o->value) return cli_fail(cli, HD_ERR_OPTION, word, "it takes no value"), false;
    if (word[2]) value = word + 2 + (word[2] == '=');
  }
  if (o->value && !value) {
    if (*i + 1 >= argc) return cli_fail(cli, HD_ERR_OPTION, word, "it wants a value: %s", o->value), false;
    value = argv[++*i];
  }
  cli->values[cli->nvalues++] = (CliValue){o, value};
  return true;
}

bool cli_parse(Cli *cli, const CliCommand *command, int argc, char **argv) {
  memset(cli, 0, sizeof *cli);
  cli->command = command;
  snprintf(cli->call, sizeof cli->call, "heddle %s", command->name);
  cli->values = calloc((size_t)argc + 1, sizeof *cli->values);
  cli->operands = calloc((size_t)argc + 1, sizeof *cli->operands);
  if (!cli->values || !cli->operands) return cli_fail(cli, HD_ERR_NOMEM, "", "for the command line"), false;
  bool options = true;
  for (int i = 0; i < argc; i++) {
    if (options && strcmp(argv[i], "--") == 0)
      options = false;
    else if (options && argv[i][0] == '-' && argv[i][1]) {
      if (!option(cli, argc, argv, &i)) return false;
    } else
      cli->operands[cli->noperands++] = argv[i];
  }
  return true;
}

void cli_end(Cli *cli) {
  free(cli->values);
  free(cli->operands);
}

bool cli_has(const Cli *cli, const char *name) {
  for (int i = 0; i < cli->nvalues; i++)
    if (strcmp(cli->values[i].option->name, name) == 0) return true;
  return false;
}

const char *cli_get(const Cli *cli, const char *name) {
  for (int i = cli->nvalues; i-- > 0;)
    if (strcmp(cli->values[i].option->name, name) == 0) return cli->values[i].value;
  return NULL;
}

bool cli_int(const Cli *cli, const char *name, int64_t low, int64_t high, int64_t *out) {
  const char *s = cli_get(cli, name);
  char *end, arg[64];
  if (!s) return true;
  errno = 0;
  long long x = strtoll(s, &end, 10);
  if (errno || end == s || *end || x < low || x > high) {
    snprintf(arg, sizeof arg, "--%s", name);
    cli_fail(cli, HD_ERR_OPTION, arg, "wanted a whole number from %" PRId64 " to %" PRId64 ", got '%s'", low, high, s);
    return false;
  }
  *out = x;
  return true;
}

const char *cli_define(const Cli *cli, const char *name, size_t n) {
  for (int i = cli->nvalues; i-- > 0;) {
    const char *v = cli->values[i].value;
    if (strcmp(cli->values[i].option->name, "define") == 0 && strncmp(v, name, n) == 0 && v[n] == '=') return v + n + 1;
  }
  return NULL;
}

static void help_line(const CliOption *o) {
  char left[64], letter[8] = "    ";
  if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
  snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, o->value ? "=" : "", o->value ? o->value : "");
  printf("  %-28s %s\n", left, o->help);
}

void cli_help(const CliCommand *c) {
  printf("usage: heddle %s%s%s%s\n\n%s\n", c->name, c->options ? " [OPTION..]" : "", *c->operands ? " " : "",
         c->operands, c->summary);
  if (c->details) printf("\n%s", c->details);
  printf("\noptions:\n");
  for (const CliOption *o = c->options; o && o->name; o++) help_line(o);
  help_line(&help_option);
}
