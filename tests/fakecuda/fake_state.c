/* tests/fakecuda/fake_state.c -- entering the driver, devices and contexts. */
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

typedef struct Stack {
  FkContext *v[FK_STACK];
  int n;
} Stack;
static __thread Stack stack;

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
  while (fk.contexts) fk_context_free(fk.contexts);
  while (fk.blocks) fk_block_free(fk.blocks);
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
  stack.n = 0;
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
  while (k < fk.ncalls && strcmp(fk.calls[k].name, name) != 0) k++;
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
  if (fk.config.fork_code && fk.pid != getpid())
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
/* What is alive: "contexts", "streams", "events", "modules", "blocks", "bytes". */
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
  for (const FkBlock *b = fk.blocks; b; b = b->next)
    n += b->module ? 0 : strcmp(what, "blocks") == 0 ? 1 : strcmp(what, "bytes") == 0 ? b->size : 0;
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

/* --- devices --- */

FkDevice *fk_device(int index) { return index >= 0 && index < fk.config.devices ? &fk.device[index] : NULL; }

#define ENTER_DEVICE(index)                                                                                            \
  ENTER(true);                                                                                                         \
  FkDevice *d = fk_device(index);                                                                                      \
  if (!d) return CU_INVALID_DEVICE

FK_API int cuDeviceGetCount(int *n) {
  ENTER(true);
  if (!n) return CU_INVALID_VALUE;
  *n = fk.config.devices;
  return CU_OK;
}
FK_API int cuDeviceGet(CuDevice *out, int ordinal) {
  ENTER_DEVICE(ordinal);
  if (!out) return CU_INVALID_VALUE;
  *out = d->index;
  return CU_OK;
}
FK_API int cuDeviceGetName(char *name, int size, CuDevice dev) {
  ENTER_DEVICE(dev);
  if (!name || size < 1) return CU_INVALID_VALUE;
  snprintf(name, (size_t)size, "Simulated GPU sm_%d", d->sm);
  return CU_OK;
}
FK_API int cuDeviceTotalMem_v2(size_t *bytes, CuDevice dev) {
  ENTER_DEVICE(dev);
  if (!bytes) return CU_INVALID_VALUE;
  *bytes = d->mem;
  return CU_OK;
}
static int uuid(CuUuid *out, CuDevice dev, const FkLock *lock) {
  if (lock->code) return lock->code;
  if (!out) return CU_INVALID_VALUE;
  if (!fk_device(dev)) return CU_INVALID_DEVICE;
  memcpy(out->bytes, "fakecuda-device", 16);
  out->bytes[15] = (char)dev;
  return CU_OK;
}
FK_API int cuDeviceGetUuid(CuUuid *out, CuDevice dev) {
  ENTER(true);
  return uuid(out, dev, &lock);
}
FK_API int cuDeviceGetUuid_v2(CuUuid *out, CuDevice dev) {
  ENTER(true);
  return uuid(out, dev, &lock);
}
FK_API int cuDeviceGetPCIBusId(char *id, int size, CuDevice dev) {
  ENTER_DEVICE(dev);
  if (!id || size < 13) return CU_INVALID_VALUE;
  snprintf(id, (size_t)size, "0000:%02x:00.0", d->index + 1);
  return CU_OK;
}
FK_API int cuDeviceGetByPCIBusId(CuDevice *out, const char *id) {
  ENTER(true);
  unsigned domain = 0, bus = 0, slot = 0;
  if (!out || !id || sscanf(id, "%x:%x:%x", &domain, &bus, &slot) < 2) return CU_INVALID_VALUE;
  if (!fk_device((int)bus - 1)) return CU_INVALID_DEVICE;
  *out = (int)bus - 1;
  return CU_OK;
}
FK_API int cuDeviceComputeCapability(int *major, int *minor, CuDevice dev) {
  ENTER_DEVICE(dev);
  if (!major || !minor) return CU_INVALID_VALUE;
  *major = d->sm / 10, *minor = d->sm % 10;
  return CU_OK;
}

typedef struct Limits {
  int sm, threads, blocks, shared, opt_in; /* of a multiprocessor; shared memory in KiB, opt_in of a block */
} Limits;
static const Limits limits[] = {
    {70, 2048, 32, 96, 96},    {75, 1024, 16, 64, 64},   {80, 2048, 32, 164, 163}, {86, 1536, 16, 100, 99},
    {87, 1536, 16, 164, 163},  {89, 1536, 24, 100, 99},  {90, 2048, 32, 228, 227}, {100, 2048, 32, 228, 227},
    {103, 2048, 32, 228, 227}, {120, 1536, 24, 100, 99},
};
static const Limits *limits_of(int sm) {
  const Limits *best = &limits[0];
  for (size_t k = 0; k < sizeof limits / sizeof *limits; k++)
    if (limits[k].sm <= sm) best = &limits[k];
  return best;
}

static int attribute(const FkDevice *d, int which) {
  const Limits *l = limits_of(d->sm);
  switch (which) {
  case 1:
  case 2:
  case 3: return 1024; /* threads of a block, x, y */
  case 4: return 64;
  case 5: return 2147483647; /* grid */
  case 6:
  case 7: return 65535;
  case 8: return 49152; /* shared memory of a block */
  case 9: return 65536; /* constant memory */
  case 10: return 32;
  case 11: return 2147483647; /* pitch */
  case 12:
  case 82: return 65536;   /* registers */
  case 13: return 1500000; /* kHz */
  case 14: return 512;
  case 15:
  case 19:
  case 31:
  case 41: return 1;            /* overlap, map host memory, concurrent kernels, unified addresses */
  case 16: return 4;            /* multiprocessors */
  case 33: return d->index + 1; /* bus */
  case 36: return 5000000;
  case 37: return 256;
  case 38: return 4 << 20; /* L2 */
  case 39: return l->threads;
  case 40: return 2; /* copy engines */
  case 75: return d->sm / 10;
  case 76: return d->sm % 10;
  case 78:
  case 79:
  case 80: return 1; /* priorities, caching of globals and locals */
  case 81: return l->shared << 10;
  case 83:
  case 89: return fk.config.managed;
  case 86: return 32; /* ratio of single and double */
  case 90:
  case 91:
  case 95:
  case 99: return 1; /* preemption, registered host pointers, cooperative launch, host register */
  case 97: return l->opt_in << 10;
  case 106: return l->blocks;
  case 111: return d->sm >= 80 ? 1024 : 0; /* reserved shared memory */
  case 115: return fk.config.pools;
  default: return 0;
  }
}

FK_API int cuDeviceGetAttribute(int *value, int which, CuDevice dev) {
  ENTER_DEVICE(dev);
  if (!value || which < 1 || which > 149) return CU_INVALID_VALUE;
  *value = attribute(d, which);
  return CU_OK;
}
int fk_attribute(int dev, int which) { return attribute(&fk.device[dev], which); }

FK_API int cuDeviceCanAccessPeer(int *can, CuDevice dev, CuDevice peer) {
  ENTER_DEVICE(dev);
  if (!can) return CU_INVALID_VALUE;
  if (!fk_device(peer)) return CU_INVALID_DEVICE;
  *can = fk.config.peer && d->index != peer;
  return CU_OK;
}
FK_API int cuDeviceGetP2PAttribute(int *value, int which, CuDevice from, CuDevice to) {
  ENTER_DEVICE(from);
  if (!value || which < 1 || which > 4) return CU_INVALID_VALUE;
  if (!fk_device(to) || to == d->index) return CU_INVALID_DEVICE;
  *value = which == 2 || which == 3 ? fk.config.peer : 0;
  return CU_OK;
}

/* --- contexts --- */

FkContext *fk_current(void) { return stack.n ? stack.v[stack.n - 1] : NULL; }

FkContext *fk_context(void *handle) {
  for (FkContext *c = fk.contexts; c; c = c->next)
    if (c == handle) return c;
  return NULL;
}

FkContext *fk_context_new(int device, bool primary) {
  FkContext *c = FK_NEW(FkContext);
  c->kind = FK_CONTEXT, c->device = device, c->primary = primary;
  c->legacy = (FkStream){.kind = FK_STREAM, .context = c, .id = ++fk.ids};
  c->limits[0] = 1024, c->limits[1] = 1 << 20, c->limits[2] = 8 << 20;
  c->next = fk.contexts;
  fk.contexts = c;
  return c;
}

void fk_context_free(FkContext *c) {
  fk_stream_end(&c->legacy);
  for (FkStream *s = c->streams, *next; s; s = next) next = s->next, fk_stream_end(s), free(s);
  for (FkEvent *e = c->events, *next; e; e = next) next = e->next, free(e);
  for (FkModule *m = c->modules, *next; m; m = next) {
    next = m->next;
    for (FkFunction *f = m->functions, *after; f; f = after) after = f->next, free(f);
    ptx_module_free(m->ptx);
    free(m);
  }
  fk_blocks_of(c, true);
  for (FkContext **p = &fk.contexts; *p; p = &(*p)->next)
    if (*p == c) {
      *p = c->next;
      break;
    }
  for (int k = 0; k < stack.n; k++)
    if (stack.v[k] == c) stack.v[k] = NULL;
  free(c);
}

FK_API int cuDevicePrimaryCtxRetain(void **out, CuDevice dev) {
  ENTER_DEVICE(dev);
  if (!out) return CU_INVALID_VALUE;
  if (!d->primary) d->primary = fk_context_new(dev, true);
  d->retained++;
  *out = d->primary;
  return CU_OK;
}
static int primary_release(FkDevice *d, bool all) {
  if (d->retained == 0 && !all) return CU_INVALID_CONTEXT;
  if (!all && --d->retained > 0) return CU_OK;
  if (!d->primary) return CU_OK;
  fk_drain_all(d->primary);
  fk_context_free(d->primary);
  d->primary = NULL;
  return CU_OK;
}
FK_API int cuDevicePrimaryCtxRelease_v2(CuDevice dev) {
  ENTER_DEVICE(dev);
  return primary_release(d, false);
}
FK_API int cuDevicePrimaryCtxRelease(CuDevice dev) {
  ENTER_DEVICE(dev);
  return primary_release(d, false);
}
FK_API int cuDevicePrimaryCtxReset_v2(CuDevice dev) {
  ENTER_DEVICE(dev);
  return primary_release(d, true);
}
FK_API int cuDevicePrimaryCtxReset(CuDevice dev) {
  ENTER_DEVICE(dev);
  return primary_release(d, true);
}
FK_API int cuDevicePrimaryCtxGetState(CuDevice dev, unsigned *flags, int *active) {
  ENTER_DEVICE(dev);
  if (!flags || !active) return CU_INVALID_VALUE;
  *flags = d->flags, *active = d->primary != NULL;
  return CU_OK;
}
FK_API int cuDevicePrimaryCtxSetFlags_v2(CuDevice dev, unsigned flags) {
  ENTER_DEVICE(dev);
  d->flags = flags;
  return CU_OK;
}
FK_API int cuDevicePrimaryCtxSetFlags(CuDevice dev, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

FK_API int cuCtxCreate_v2(void **out, unsigned flags, CuDevice dev) {
  ENTER_DEVICE(dev);
  if (!out || stack.n == FK_STACK) return CU_INVALID_VALUE;
  FkContext *c = fk_context_new(d->index, false);
  c->flags = flags;
  stack.v[stack.n++] = c;
  *out = c;
  return CU_OK;
}
FK_API int cuCtxDestroy_v2(void *ctx) {
  ENTER(true);
  FkContext *c = fk_context(ctx);
  if (!c || c->primary) return CU_INVALID_CONTEXT;
  fk_drain_all(c);
  if (fk_current() == c) stack.n--;
  fk_context_free(c);
  return CU_OK;
}
FK_API int cuCtxGetCurrent(void **out) {
  ENTER(true);
  if (!out) return CU_INVALID_VALUE;
  *out = fk_current();
  return CU_OK;
}
FK_API int cuCtxSetCurrent(void *ctx) {
  ENTER(true);
  if (ctx && !fk_context(ctx)) return CU_INVALID_CONTEXT;
  if (stack.n) stack.n--;
  if (ctx) stack.v[stack.n++] = ctx;
  return CU_OK;
}
FK_API int cuCtxPushCurrent_v2(void *ctx) {
  ENTER(true);
  if (!fk_context(ctx)) return CU_INVALID_CONTEXT;
  if (stack.n == FK_STACK) return CU_INVALID_VALUE;
  stack.v[stack.n++] = ctx;
  return CU_OK;
}
FK_API int cuCtxPopCurrent_v2(void **out) {
  ENTER(true);
  if (!stack.n) return CU_INVALID_CONTEXT;
  FkContext *c = stack.v[--stack.n];
  if (out) *out = c;
  return CU_OK;
}
FK_API int cuCtxGetDevice(CuDevice *out) {
  ENTER(true);
  FkContext *c = fk_current();
  if (!c) return CU_INVALID_CONTEXT;
  if (!out) return CU_INVALID_VALUE;
  *out = c->device;
  return CU_OK;
}
FK_API int cuCtxGetFlags(unsigned *out) {
  ENTER_CONTEXT();
  if (!out) return CU_INVALID_VALUE;
  *out = ctx->flags;
  return CU_OK;
}
FK_API int cuCtxGetApiVersion(void *handle, unsigned *out) {
  ENTER(true);
  if (!out) return CU_INVALID_VALUE;
  if (handle ? !fk_context(handle) : !fk_current()) return CU_INVALID_CONTEXT;
  *out = 3020;
  return CU_OK;
}
FK_API int cuCtxSynchronize(void) {
  ENTER_CONTEXT();
  return fk_drain_all(ctx);
}
FK_API int cuCtxGetLimit(size_t *out, int which) {
  ENTER_CONTEXT();
  if (!out || which < 0 || which > 7) return CU_INVALID_VALUE;
  *out = ctx->limits[which];
  return CU_OK;
}
FK_API int cuCtxSetLimit(int which, size_t value) {
  ENTER_CONTEXT();
  if (which < 0 || which > 7) return CU_INVALID_VALUE;
  ctx->limits[which] = value;
  return CU_OK;
}
FK_API int cuCtxGetCacheConfig(int *out) {
  ENTER_CONTEXT();
  if (!out) return CU_INVALID_VALUE;
  *out = 0;
  return CU_OK;
}
FK_API int cuCtxSetCacheConfig(int config) {
  ENTER_CONTEXT();
  return config < 0 || config > 3 ? CU_INVALID_VALUE : CU_OK;
}
FK_API int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  ENTER_CONTEXT();
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return CU_OK;
}
FK_API int cuCtxEnablePeerAccess(void *peer, unsigned flags) {
  ENTER_CONTEXT();
  FkContext *other = fk_context(peer);
  if (!other) return CU_INVALID_CONTEXT;
  if (flags) return CU_INVALID_VALUE;
  if (!fk.config.peer || other->device == ctx->device) return CU_PEER_UNSUPPORTED;
  if (ctx->peers[other->device]) return CU_PEER_ON;
  ctx->peers[other->device] = true;
  fk_see_peer(ctx->device, other->device, true);
  return CU_OK;
}
FK_API int cuCtxDisablePeerAccess(void *peer) {
  ENTER_CONTEXT();
  FkContext *other = fk_context(peer);
  if (!other) return CU_INVALID_CONTEXT;
  if (!ctx->peers[other->device]) return CU_PEER_OFF;
  fk_drain_all(ctx);
  ctx->peers[other->device] = false;
  fk_see_peer(ctx->device, other->device, false);
  return CU_OK;
}
FK_API int cuProfilerStart(void) {
  ENTER(true);
  return CU_OK;
}
FK_API int cuProfilerStop(void) {
  ENTER(true);
  return CU_OK;
}
