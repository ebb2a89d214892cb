/* tests/fakecuda/fake_rules.c -- the text that says which machine is simulated and which calls fail.
 *
 *     HEDDLE_FAKECUDA="devices=2, sm=75/90, mem=64M, pools=0; cuMemAlloc_v2@3=2; cuLaunchKernel:kernel=step@2+=700!"
 *
 * Items are separated by commas, semicolons or blanks. NAME=VALUE describes the machine:
 *
 *     devices=N  sm=75/90 (one for each device)  mem=64M/8G  driver=12040  pools=0|1  managed=0|1  peer=none|all|wrong
 *     init=CODE (of cuInit)  missing=PATTERN/PATTERN (for cuGetProcAddress)  fork=CODE (of calls in a forked child)
 *     race=1 (work that uses memory of other work, in whatever order, loses the context: fake_race.c)
 *     registers=N (that every kernel was compiled to)  shared=N (KiB that a block may have at the most)  eager=1 (no queues)  null=1 (kernels do nothing)  seed=N  schedule=lockstep|threads|random  adversary=1  log=FILE
 *
 * and CALL[:kernel=NAME][:device=N][:size>N][@WHEN]=CODE[!] makes calls fail. CALL is a pattern; WHEN is n for the n-th
 * that matches, n+ for it and all later ones, %n for every n-th; without it all fail. With ! the call itself succeeds,
 * and the context is lost with CODE when somebody waits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

bool fk_matches(const char *pattern, const char *name) {
  for (; *pattern; pattern++, name++) {
    if (*pattern == '*') {
      for (;; name++) {
        if (fk_matches(pattern + 1, name)) return true;
        if (!*name) return false;
      }
    }
    if (*pattern != *name) return false;
  }
  return !*name;
}

static uint64_t size_of(const char *text, char **end) {
  uint64_t n = strtoull(text, end, 0);
  switch (**end) {
  case 'K': (*end)++; return n << 10;
  case 'M': (*end)++; return n << 20;
  case 'G': (*end)++; return n << 30;
  default: return n;
  }
}

/* The last value stands for all devices behind it. */
static bool each_device(const char *text, bool sizes, uint64_t out[FK_DEVICES]) {
  char *end = (char *)text;
  for (int d = 0; d < FK_DEVICES; d++) {
    if (d == 0 || *end == '/')
      out[d] = size_of(end + (d > 0), &end);
    else
      out[d] = out[d - 1];
    if (!sizes && out[d] > 999) return false;
  }
  return *end == '\0';
}

static bool preset(FkConfig *c, const char *name, const char *value) {
  char *end;
  uint64_t n = size_of(value, &end), each[FK_DEVICES];
  bool number = *value && *end == '\0';
  if (strcmp(name, "sm") == 0) {
    if (!each_device(value, false, each)) return false;
    for (int d = 0; d < FK_DEVICES; d++) c->sm[d] = (int)each[d];
    return true;
  }
  if (strcmp(name, "mem") == 0) return each_device(value, true, c->mem);
  if (strcmp(name, "peer") == 0) {
    c->peer_wrong = strcmp(value, "wrong") == 0;
    c->peer = c->peer_wrong || strcmp(value, "all") == 0;
    return c->peer || strcmp(value, "none") == 0;
  }
  if (strcmp(name, "schedule") == 0) {
    c->schedule = strcmp(value, "threads") == 0  ? PTX_THREADS
                  : strcmp(value, "random") == 0 ? PTX_RANDOM
                                                 : PTX_LOCKSTEP;
    return c->schedule != PTX_LOCKSTEP || strcmp(value, "lockstep") == 0;
  }
  if (strcmp(name, "missing") == 0)
    return snprintf(c->missing, sizeof c->missing, "%s", value) < (int)sizeof c->missing;
  if (strcmp(name, "log") == 0) return snprintf(c->log, sizeof c->log, "%s", value) < (int)sizeof c->log;
  if (!number) return false;
  if (strcmp(name, "devices") == 0) return c->devices = (int)n, n <= FK_DEVICES;
  if (strcmp(name, "driver") == 0) return c->driver = (int)n, true;
  if (strcmp(name, "init") == 0) return c->init = (int)n, true;
  if (strcmp(name, "fork") == 0) return c->fork_code = (int)n, true;
  if (strcmp(name, "pools") == 0) return c->pools = n != 0, true;
  if (strcmp(name, "managed") == 0) return c->managed = n != 0, true;
  if (strcmp(name, "registers") == 0) return c->registers = (int)n, n <= 255;
  if (strcmp(name, "eager") == 0) return c->eager = n != 0, true;
  if (strcmp(name, "null") == 0) return c->null = n != 0, true;
  if (strcmp(name, "race") == 0) return c->race = n != 0, true;
  if (strcmp(name, "shared") == 0) return c->shared = (int)n, true;
  if (strcmp(name, "adversary") == 0) return c->adversary = n != 0, true;
  if (strcmp(name, "seed") == 0) return c->seed = n, true;
  return false;
}

static bool filter(FkRule *r, char *text) {
  char *end = text;
  if (strncmp(text, "kernel=", 7) == 0)
    return snprintf(r->kernel, sizeof r->kernel, "%s", text + 7) < (int)sizeof r->kernel;
  if (strncmp(text, "device=", 7) == 0) return r->device = (int)strtol(text + 7, &end, 10), *end == '\0';
  if (strncmp(text, "size>", 5) == 0) return r->above = size_of(text + 5, &end), *end == '\0';
  return false;
}

static bool when(FkRule *r, char *text) {
  char *end;
  if (*text == '%') {
    r->at = r->every = strtoull(text + 1, &end, 10);
    return *end == '\0' && r->at > 0;
  }
  r->at = strtoull(text, &end, 10), r->every = 0;
  if (*end == '+') r->every = 1, end++;
  return *end == '\0' && r->at > 0;
}

static bool rule(FkConfig *c, char *text) {
  if (c->nrules == FK_RULES) return false;
  FkRule *r = &c->rules[c->nrules++];
  *r = (FkRule){.device = -1, .at = 1, .every = 1};
  char *equals = strrchr(text, '='), *at, *end;
  if (!equals) return false;
  r->code = (int)strtol(equals + 1, &end, 10);
  if (*end == '!') r->later = true, end++;
  if (*end || end == equals + 1) return false;
  *equals = '\0';
  if ((at = strchr(text, '@'))) {
    *at = '\0';
    if (!when(r, at + 1)) return false;
  }
  char *save = NULL, *part = strtok_r(text, ":", &save);
  if (!part || snprintf(r->call, sizeof r->call, "%s", part) >= (int)sizeof r->call) return false;
  while ((part = strtok_r(NULL, ":", &save)))
    if (!filter(r, part)) return false;
  return true;
}

void fk_config_read(FkConfig *c, const char *text) {
  *c = (FkConfig){.devices = 1,
                  .driver = 12040,
                  .fork_code = CU_NOT_INITIALIZED,
                  .pools = true,
                  .managed = true,
                  .peer = true,
                  .seed = 1};
  for (int d = 0; d < FK_DEVICES; d++) c->sm[d] = 80, c->mem[d] = 1ull << 30;
  char *copy = strdup(text ? text : ""), *save = NULL;
  for (char *item = strtok_r(copy, ",; \t\n", &save); item; item = strtok_r(NULL, ",; \t\n", &save)) {
    char keep[128];
    snprintf(keep, sizeof keep, "%s", item);
    char *equals = strchr(item, '=');
    bool is_rule = strncmp(item, "cu", 2) == 0 || *item == '*' || strchr(item, '@');
    bool ok = equals != NULL;
    if (ok && is_rule)
      ok = rule(c, item);
    else if (ok)
      *equals = '\0', ok = preset(c, item, equals + 1);
    if (!ok && !*c->mistake) memcpy(c->mistake, keep, sizeof keep);
  }
  free(copy);
}
