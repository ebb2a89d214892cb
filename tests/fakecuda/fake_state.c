/* tests/fakecuda/fake_state.c -- entering the driver, what tests ask of the simulation, and the driver as a whole. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/fakecuda/fake.h"

FkState fk;
static pthread_mutex_t mutex;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#define RANGE (32ull << 30) /* addresses of a device */

void *fk_new(size_t size) {
  void *p = calloc(1, size);
  if (!p) abort();
  return p;
}

double fk_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

void fk_log(const char *format, ...) {
  if (!*fk.config.log) return;
  bool err = strcmp(fk.config.log, "stderr") == 0;
  FILE *f = err ? stderr : fopen(fk.config.log, "a");
  if (!f) return;
  va_list args;
  va_start(args, format);
  fputs("fakecuda: ", f);
  vfprintf(f, format, args);
  fputc('\n', f);
  va_end(args);
  if (!err) fclose(f);
}

/* --- starting --- */

static void devices_make(void) {
  for (int k = 0; k < fk.config.devices; k++) {
    FkDevice *d = &fk.device[k];
    *d = (FkDevice){.index = k, .sm = fk.config.sm[k], .mem = fk.config.mem[k]};
    void *at = mmap(NULL, RANGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) abort();
    d->base = (uint64_t)(uintptr_t)at, d->end = d->base + RANGE;
    d->top = (d->base + (1 << 20)) & ~0xfffffull;
    d->space = ptx_space_new();
    d->default_pool = (FkPool){.kind = FK_POOL, .device = k, .values = {[1] = 1, [2] = 1, [3] = 1}};
    d->pool = &d->default_pool;
  }
}

static void state_free(void) {
  fk_graphs_end();
  while (fk.contexts) fk_context_free(fk.contexts);
  while (fk.blocks) fk_block_free(fk.blocks);
  fk_clock_free(&fk.host);
  for (FkPool *p = fk.pools, *next; p; p = next) next = p->next, free(p);
  for (int k = 0; k < fk.config.devices; k++) {
    munmap((void *)(uintptr_t)fk.device[k].base, RANGE);
    ptx_space_free(fk.device[k].space);
  }
}

void fk_reset(const char *config) {
  if (fk.ready) state_free();
  fk = (FkState){.ready = true, .pid = getpid()};
  fk_config_read(&fk.config, config);
  if (*fk.config.mistake) fprintf(stderr, "fakecuda: '%s' is not understood\n", fk.config.mistake);
  fk.random = fk.config.seed;
  fk_contexts_forget();
  devices_make();
}

static void start(void) {
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&mutex, &a);
  pthread_mutexattr_destroy(&a);
  fk_reset(getenv("HEDDLE_FAKECUDA"));
}

/* --- entering --- */

static void count(const char *name) {
  int k = 0;
  while (k < fk.ncalls && fk.calls[k].name != name) k++; /* the name of a function lies in one place */
  if (k == fk.ncalls) {
    if (k == (int)(sizeof fk.calls / sizeof *fk.calls)) return;
    fk.calls[fk.ncalls++].name = name;
  }
  fk.calls[k].n++;
}

int fk_rule(const char *name, const char *kernel, int device, uint64_t size) {
  for (int k = 0; k < fk.config.nrules; k++) {
    FkRule *r = &fk.config.rules[k];
    bool closer = *r->kernel || r->device >= 0 || r->above;
    if (closer != (kernel || device >= 0 || size) || !fk_matches(r->call, name)) continue;
    if (*r->kernel && (!kernel || !fk_matches(r->kernel, kernel))) continue;
    if ((r->device >= 0 && r->device != device) || (r->above && size <= r->above)) continue;
    r->seen++;
    bool hit = r->seen == r->at || (r->every && r->seen > r->at && (r->seen - r->at) % r->every == 0);
    if (!hit) continue;
    fk_log("%s fails with %d, as asked", name, r->code);
    if (!r->later) return r->code;
    FkContext *c = fk_current();
    if (!c) continue;
    FkOp *op = fk_op(FK_POISON);
    op->code = r->code;
    fk_submit(&c->legacy, op);
  }
  return CU_OK;
}

FkLock fk_enter(const char *name, bool needs_init) {
  pthread_once(&once, start);
  pthread_mutex_lock(&mutex);
  FkLock lock = {.held = true};
  count(name);
  fk_log("%s", name);
  if (fk.in_callback)
    lock.code = CU_NOT_PERMITTED;
  else if (fk.config.fork_code && fk.pid != getpid())
    lock.code = fk.config.fork_code;
  else if (needs_init && !fk.started)
    lock.code = CU_NOT_INITIALIZED;
  else
    lock.code = fk_rule(name, NULL, -1, 0);
  return lock;
}

void fk_leave(FkLock *lock) {
  if (lock->held) pthread_mutex_unlock(&mutex);
}

/* --- for tests: beside the driver's own functions --- */

FK_API void fakecuda_configure(const char *text) {
  pthread_once(&once, start);
  pthread_mutex_lock(&mutex);
  fk_reset(text);
  pthread_mutex_unlock(&mutex);
}
/* How often a function was called. */
FK_API uint64_t fakecuda_calls(const char *name) {
  uint64_t n = 0;
  pthread_once(&once, start);
  pthread_mutex_lock(&mutex);
  for (int k = 0; k < fk.ncalls; k++)
    if (fk_matches(name, fk.calls[k].name)) n += fk.calls[k].n;
  pthread_mutex_unlock(&mutex);
  return n;
}
/* The last fault in words. */
FK_API const char *fakecuda_fault(void) { return fk.fault; }
/* What is alive: "contexts", "streams", "events", "modules", "blocks", "bytes", "graphs", "execs", "arrays", "textures". */
FK_API uint64_t fakecuda_live(const char *what) {
  uint64_t n = 0;
  pthread_once(&once, start);
  pthread_mutex_lock(&mutex);
  for (const FkContext *c = fk.contexts; c; c = c->next) {
    n += strcmp(what, "contexts") == 0;
    for (const FkStream *s = c->streams; s; s = s->next) n += strcmp(what, "streams") == 0 && !s->dead;
    for (const FkEvent *e = c->events; e; e = e->next) n += strcmp(what, "events") == 0;
    for (const FkModule *m = c->modules; m; m = m->next) n += strcmp(what, "modules") == 0;
  }
  for (const FkGraph *g = fk.graphs; g; g = g->next) n += strcmp(what, "graphs") == 0;
  for (const FkExec *e = fk.execs; e; e = e->next) n += strcmp(what, "execs") == 0;
  for (const FkBlock *b = fk.blocks; b; b = b->next)
    n += b->module || b->array ? 0 : strcmp(what, "blocks") == 0 ? 1 : strcmp(what, "bytes") == 0 ? b->size : 0;
  for (const FkMip *m = fk.mips; m; m = m->next) n += strcmp(what, "arrays") == 0;
  for (const FkTexture *t = fk.textures; t; t = t->next) n += strcmp(what, "textures") == 0;
  pthread_mutex_unlock(&mutex);
  return n;
}
/* Instructions of threads that kernels ran. */
FK_API uint64_t fakecuda_threads(void) { return fk.threads; }

/* --- the driver --- */

FK_API int cuInit(unsigned flags) {
  ENTER(false);
  if (flags) return CU_INVALID_VALUE;
  if (fk.config.init) return fk.config.init;
  if (fk.config.devices == 0) return CU_NO_DEVICE;
  fk.started = true;
  return CU_OK;
}

FK_API int cuDriverGetVersion(int *version) {
  ENTER(false);
  if (!version) return CU_INVALID_VALUE;
  *version = fk.config.driver;
  return CU_OK;
}

static const struct {
  int code;
  const char *name, *text;
} errors[] = {
#define E(code, name, text) {code, "CUDA_" name, text},
#include "tests/fakecuda/fake_errors.def"
#undef E
};

static int error_of(int code, bool name, const char **out) {
  if (!out) return CU_INVALID_VALUE;
  *out = NULL;
  for (size_t k = 0; k < sizeof errors / sizeof *errors; k++)
    if (errors[k].code == code) *out = name ? errors[k].name : errors[k].text;
  return *out ? CU_OK : CU_INVALID_VALUE;
}
FK_API int cuGetErrorName(int code, const char **out) { return error_of(code, true, out); }
FK_API int cuGetErrorString(int code, const char **out) { return error_of(code, false, out); }
