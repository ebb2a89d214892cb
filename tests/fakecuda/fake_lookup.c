/* tests/fakecuda/fake_lookup.c -- the driver's own look-up of its functions, by name and version of CUDA. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

/* A name with _v2 came with CUDA 3.2 or 4.0, but for these. */
static int second_form_since(const char *name) {
  if (strcmp(name, "cuDeviceGetUuid") == 0) return 11040;
  if (strncmp(name, "cuDevicePrimaryCtx", 18) == 0) return 11000;
  return 3020;
}

static bool is_missing(const char *name) {
  char patterns[256], *save = NULL;
  snprintf(patterns, sizeof patterns, "%s", fk.config.missing);
  for (char *p = strtok_r(patterns, "/", &save); p; p = strtok_r(NULL, "/", &save))
    if (fk_matches(p, name)) return true;
  return false;
}

static void *find(const char *name, int version) {
  Dl_info self;
  char second[96];
  if (is_missing(name) || version > fk.config.driver || !dladdr(&fk, &self)) return NULL;
  void *library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (!library) return NULL;
  snprintf(second, sizeof second, "%s_v2", name);
  void *p = version >= second_form_since(name) ? dlsym(library, second) : NULL;
  if (!p) p = dlsym(library, name);
  dlclose(library);
  return p;
}

static int look_up(const char *name, void **out, int version, int *status) {
  enum { FOUND = 0, ABSENT = 1 };
  if (!name || !out) return CU_INVALID_VALUE;
  *out = find(name, version);
  if (status) *status = *out ? FOUND : ABSENT;
  return *out ? CU_OK : CU_NOT_FOUND;
}

FK_API int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags) {
  ENTER(false);
  (void)flags;
  return look_up(name, out, version, NULL);
}
FK_API int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status) {
  ENTER(false);
  (void)flags;
  return look_up(name, out, version, status);
}
