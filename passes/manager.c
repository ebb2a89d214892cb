/* passes/manager.c -- runs passes by name over a module. */
#include "passes/passes.h"

#include <stdio.h>
#include <time.h>

#include "ir/layout.h"
#include "passes/pipeline.h"

const OptPass hdopt_passes[] = {
#define OPT_PASS(name, summary) {#name, hdopt_##name, summary},
#include "passes/passes.def"
    {NULL, NULL, NULL},
};

enum { NPASSES = sizeof hdopt_passes / sizeof *hdopt_passes };

/* --- names --- */

typedef struct Name { /* one of a list separated by commas */
  const char *at;
  size_t len;
} Name;

/* The next name of a list, its blanks cut off; false at the end. */
static bool next_name(const char **list, Name *name) {
  const char *p = *list;
  while (*p == ' ' || *p == ',') p++;
  if (!*p) return false;
  name->at = p;
  while (*p && *p != ',') p++;
  *list = p;
  while (p > name->at && p[-1] == ' ') p--;
  name->len = (size_t)(p - name->at);
  return true;
}

static bool is_named(const Name *n, const char *what) { return strlen(what) == n->len && !memcmp(n->at, what, n->len); }

static const OptPass *find_pass(const Name *n) {
  for (const OptPass *p = hdopt_passes; p->name; p++) {
    if (is_named(n, p->name)) return p;
  }
  return NULL;
}

static const OptPipeline *find_pipeline(const Name *n) {
  for (const OptPipeline *p = hdopt_pipelines; p->name; p++) {
    if (is_named(n, p->name)) return p;
  }
  return NULL;
}

static HdStatus unknown_pass(OptContext *cx, const Name *n) {
  char known[200];
  size_t len = 0;
  for (const OptPass *p = hdopt_passes; p->name && len < sizeof known; p++) {
    len += (size_t)snprintf(known + len, sizeof known - len, "%s ", p->name);
  }
  for (const OptPipeline *p = hdopt_pipelines; p->name && len < sizeof known; p++) {
    len += (size_t)snprintf(known + len, sizeof known - len, "%s%s", p->name, p[1].name ? " " : "");
  }
  return hdb_fail(cx->err, HD_ERR_OPTION, "passes", "'%.*s' is no pass; known are: %s", (int)n->len, n->at, known);
}

static HdStatus check_names(OptContext *cx, const char *list) {
  Name n;
  while (next_name(&list, &n)) {
    if (!find_pass(&n) && !find_pipeline(&n)) return unknown_pass(cx, &n);
  }
  return HD_OK;
}

/* --- running --- */

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static HdStatus run_pass(const OptPass *p, IrFunc *fn, OptContext *cx, bool *changed) {
  const ArenaMark mark = hdb_mark(cx->scratch);
  const double start = cx->after ? now_ms() : 0;
  *changed = !hdir_is_split(fn) && p->run(fn, cx);
  const double ms = cx->after ? now_ms() - start : 0;
  hdb_reset(cx->scratch, mark);
  HD_TRY(cx->status);
  if (cx->after) cx->after(cx->user, p->name, fn, *changed, ms);
  return cx->verify ? hdir_verify_func(fn, cx->err) : HD_OK;
}

static HdStatus run_passes(IrModule *m, const char *list, OptContext *cx) {
  Name n;
  while (next_name(&list, &n)) {
    const OptPass *p = find_pass(&n);
    bool changed;
    for (uint32_t k = 0; k < m->nfuncs; k++)
      if (!m->funcs[k]->is_extern) HD_TRY(run_pass(p, m->funcs[k], cx, &changed));
  }
  return HD_OK;
}

/* A pipeline's passes on one function; one whose last run nothing has changed since has nothing to do. */
static HdStatus run_on_kernel(IrFunc *fn, const char *list, OptContext *cx) {
  uint32_t now = 1, clean[NPASSES] = {0}; /* when each pass last ended, in changes */
  Name n;
  while (next_name(&list, &n)) {
    const OptPass *p = find_pass(&n);
    uint32_t *last = &clean[p - hdopt_passes];
    bool changed = false;
    if (*last == now) continue;
    HD_TRY(run_pass(p, fn, cx, &changed));
    now += changed;
    *last = now;
  }
  return HD_OK;
}

/* And the heads of C functions. */
static void keep_kernels(IrModule *m) {
  for (uint32_t k = m->nfuncs; k-- > 0;) {
    if (!m->funcs[k]->is_kernel && !m->funcs[k]->is_extern) hdir_func_remove(m, m->funcs[k]);
  }
}

static HdStatus run_list(IrModule *m, const char *list, OptContext *cx) {
  HD_TRY(check_names(cx, list));
  for (uint32_t k = 0; k < m->nfuncs; k++)
    if (m->funcs[k]->is_kernel) hdir_keep_rank(m->funcs[k]);
  Name n;
  while (next_name(&list, &n)) {
    const OptPipeline *line = find_pipeline(&n);
    if (!line) {
      char one[64];
      snprintf(one, sizeof one, "%.*s", (int)n.len, n.at);
      HD_TRY(run_passes(m, one, cx));
      continue;
    }
    HD_TRY(run_passes(m, line->all, cx));
    if (!line->kernels) continue;
    keep_kernels(m); /* calls still reach the functions: inline takes their bodies from there */
    for (uint32_t k = 0; k < m->nfuncs; k++)
      if (m->funcs[k]->is_kernel) HD_TRY(run_on_kernel(m->funcs[k], line->kernels, cx));
  }
  return HD_OK;
}

/* The scratch arena is ours, so memory that runs out has to be met here, where it can be freed. */
static HdStatus run_with_scratch(IrModule *m, const char *list, OptContext *given) {
  Arena scratch;
  jmp_buf oom, *outer = m->arena->on_oom;
  OptContext cx = *given;
  hdb_arena_init(&scratch, m->arena->mem);
  cx.scratch = &scratch;
  volatile HdStatus status = HD_ERR_NOMEM;
  HDB_GUARD(&scratch, oom) {
    m->arena->on_oom = &oom;
    status = run_list(m, list, &cx);
  }
  else { status = hdb_fail(cx.err, HD_ERR_NOMEM, "", "while optimising module '%s'", m->name); }
  m->arena->on_oom = outer;
  hdb_arena_free(&scratch);
  return status;
}

HdStatus hdopt_run(IrModule *m, const char *pipeline, OptContext *cx) {
  return cx->scratch ? run_list(m, pipeline, cx) : run_with_scratch(m, pipeline, cx);
}
