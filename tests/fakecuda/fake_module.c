/* tests/fakecuda/fake_module.c -- modules, functions, launches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

/* --- modules --- */

/* The newest PTX that a driver of this version of CUDA knows. */
static int newest_ptx(int driver) {
  static const int rows[][2] = {{11000, 70}, {11010, 71}, {11020, 72}, {11030, 73}, {11040, 74},
                                {11050, 75}, {11060, 76}, {11070, 77}, {11080, 78}, {12000, 80},
                                {12010, 81}, {12020, 82}, {12030, 83}, {12040, 84}, {12050, 85},
                                {12070, 86}, {12080, 87}, {12090, 88}, {13000, 90}, {13010, 91}};
  int best = 65;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
    if (rows[k][0] <= driver) best = rows[k][1];
  return best;
}

typedef struct Place {
  FkContext *context;
  int code;
} Place;

static int place(void *user, uint64_t size, uint64_t align, const char *name, uint64_t *address, void **host) {
  Place *p = user;
  FkBlock *b = fk_block_new(p->context, FK_ON_DEVICE, size, align, NULL, name, &p->code);
  if (!b) return p->code;
  b->module = true;
  *address = b->at;
  *host = b->host;
  return 0;
}

/* What the caller asked of the compiler: buffers for its logs, and numbers that it gives back. */
typedef struct Jit {
  unsigned n;
  const int *options;
  void **values;
} Jit;

static bool jit_is_right(const Jit *j) {
  enum { OPTIONS = 36 };
  if (j->n && (!j->options || !j->values)) return false;
  for (unsigned k = 0; k < j->n; k++)
    if (j->options[k] < 0 || j->options[k] >= OPTIONS) return false;
  return true;
}

static void **jit_value(const Jit *j, int option) {
  for (unsigned k = 0; k < j->n; k++)
    if (j->options[k] == option) return &j->values[k];
  return NULL;
}

/* Into the buffer of one option, whose size is that of another, which then is how much was written. */
static void jit_log(const Jit *j, int buffer, int size, const char *text) {
  void **to = jit_value(j, buffer), **room = jit_value(j, size);
  if (!to || !*to || !room || !*room) return;
  size_t n = strlen(text) + 1, fits = (size_t)(uintptr_t)*room;
  n = n < fits ? n : fits;
  snprintf(*to, fits, "%s", text);
  *room = (void *)(uintptr_t)n;
}

static int load(FkContext *c, void **out, const void *image, Jit j) {
  enum { INFO_LOG = 3, INFO_SIZE = 4, ERROR_LOG = 5, ERROR_SIZE = 6, WALL_TIME = 2 };
  PtxError err = {0};
  if (!out || !image || !jit_is_right(&j)) return CU_INVALID_VALUE;
  if (memcmp(image,
             "\x7f"
             "ELF",
             4) == 0)
    return CU_NO_BINARY;
  PtxModule *ptx = ptx_parse(image, strlen(image), &err);
  if (!ptx) {
    char text[600];
    snprintf(text, sizeof text, "ptxas application ptx input, line %u; error : %s", err.line, err.text);
    jit_log(&j, ERROR_LOG, ERROR_SIZE, text);
    return CU_INVALID_PTX;
  }
  int code = ptx_version(ptx) > newest_ptx(fk.config.driver) ? CU_PTX_TOO_NEW
             : ptx_target(ptx) > fk.device[c->device].sm     ? CU_NO_BINARY
                                                             : CU_OK;
  Place p = {c, CU_OK};
  if (!code) code = ptx_link(ptx, fk.device[c->device].space, place, &p, &err);
  if (code) {
    ptx_module_free(ptx);
    return code;
  }
  FkModule *m = FK_NEW(FkModule);
  *m = (FkModule){.kind = FK_MODULE, .context = c, .ptx = ptx, .next = c->modules};
  c->modules = m;
  *out = m;
  char text[96];
  snprintf(text, sizeof text, "ptxas info    : %u entry functions", ptx_entry_count(ptx));
  jit_log(&j, INFO_LOG, INFO_SIZE, text);
  if (jit_value(&j, WALL_TIME)) *jit_value(&j, WALL_TIME) = NULL; /* a float of 0 ms */
  return CU_OK;
}

FK_API int cuModuleLoadData(void **out, const void *image) {
  ENTER_CONTEXT();
  UNSAFE();
  return load(ctx, out, image, (Jit){0});
}
FK_API int cuModuleLoadDataEx(void **out, const void *image, unsigned n, const int *options, void **values) {
  ENTER_CONTEXT();
  UNSAFE();
  return load(ctx, out, image, (Jit){n, options, values});
}

static FkModule *module_of(FkContext *c, void *handle) {
  for (FkModule *m = c->modules; m; m = m->next)
    if (m == handle) return m;
  return NULL;
}

FK_API int cuModuleUnload(void *module) {
  ENTER_CONTEXT();
  UNSAFE();
  FkModule *m = module_of(ctx, module);
  if (!m) return CU_INVALID_HANDLE;
  fk_drain_all(ctx);
  for (FkModule **p = &ctx->modules; *p; p = &(*p)->next)
    if (*p == m) {
      *p = m->next;
      break;
    }
  for (uint32_t k = 0; k < ptx_global_count(m->ptx); k++) {
    FkBlock *b = fk_block_at(ptx_global_at(m->ptx, k)->address, 1);
    if (b && b->module) fk_block_free(b);
  }
  for (FkFunction *f = m->functions, *next; f; f = next) next = f->next, free(f);
  ptx_module_free(m->ptx);
  free(m);
  return CU_OK;
}

FK_API int cuModuleGetFunction(void **out, void *module, const char *name) {
  ENTER_CONTEXT();
  FkModule *m = module_of(ctx, module);
  if (!m) return CU_INVALID_HANDLE;
  if (!out || !name) return CU_INVALID_VALUE;
  const PtxEntry *e = ptx_entry(m->ptx, name);
  if (!e) return CU_NOT_FOUND;
  FkFunction *f = m->functions;
  while (f && f->entry != e) f = f->next;
  *out = f;
  if (f) return CU_OK;
  f = FK_NEW(FkFunction);
  *f = (FkFunction){.kind = FK_FUNCTION, .module = m, .entry = e, .most_dynamic = 48 << 10, .next = m->functions};
  m->functions = f;
  *out = f;
  return CU_OK;
}

FK_API int cuModuleGetGlobal_v2(CuPtr *at, size_t *size, void *module, const char *name) {
  ENTER_CONTEXT();
  FkModule *m = module_of(ctx, module);
  const PtxGlobal *g = m && name ? ptx_global(m->ptx, name) : NULL;
  if (!m) return CU_INVALID_HANDLE;
  if (!name) return CU_INVALID_VALUE;
  if (!g) return CU_NOT_FOUND;
  if (at) *at = g->address;
  if (size) *size = g->size;
  return CU_OK;
}

FK_API int cuModuleGetLoadingMode(int *out) {
  ENTER(true);
  if (!out) return CU_INVALID_VALUE;
  *out = 1; /* eager */
  return CU_OK;
}
