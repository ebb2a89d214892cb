/* tests/fakecuda/fake_lookup.c -- the driver's own look-up of its functions, by name and version of CUDA. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

/* --- what is exported and not simulated --- */

static int absent(const char *name) {
  __attribute__((cleanup(fk_leave))) FkLock lock = fk_enter(name, false);
  if (!lock.code) fk_log("%s is not simulated", name);
  return lock.code ? lock.code : CU_NOT_SUPPORTED;
}
#define N(name)                                                                                                        \
  FK_API int name(void);                                                                                               \
  FK_API int name(void) { return absent(#name); }
#include "tests/fakecuda/fake_absent.def"
#undef N

static bool is_simulated(const char *symbol) {
  static const char *const names[] = {
#define N(name) #name,
#include "tests/fakecuda/fake_absent.def"
#undef N
  };
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (strcmp(names[k], symbol) == 0) return false;
  return true;
}

/* --- by name and version --- */

/* The version of CUDA in which a function appeared, where that matters: patterns, the first that fits. */
static int since(const char *symbol) {
  static const struct {
    const char *pattern;
    int version;
  } rows[] = {
      {"cuEventElapsedTime_v2", 12080},
      {"cuGetProcAddress_v2", 12000},
      {"cuGetProcAddress", 11030},
      {"cuDeviceGetUuid_v2", 11040},
      {"cuDeviceGetUuid", 9020},
      {"cuDevicePrimaryCtx*_v2", 11000},
      {"cuDevicePrimaryCtx*", 7000},
      {"cuMemAllocAsync", 11020},
      {"cuMemAllocFromPoolAsync", 11020},
      {"cuMemFreeAsync", 11020},
      {"cuMemPool*", 11020},
      {"cuDevice*MemPool", 11020},
      {"cuLaunchKernelEx", 11060},
      {"cuLaunchCooperativeKernel", 9000},
      {"cuLaunchHostFunc", 10000},
      {"cuEventRecordWithFlags", 11010},
      {"cuMipmappedArray*", 5000},
      {"cuTexObject*", 5000},
      {"cuStreamGetId", 12000},
      {"cuStreamGetDevice", 12080},
      {"cuStreamGetCtx", 9020},
      {"cuModuleGetLoadingMode", 11070},
      {"cuFuncGetModule", 11000},
      {"cuFuncSetAttribute", 9000},
      {"cuStreamBeginCapture_v2", 10010},
      {"cuStreamBeginCaptureToGraph", 12030},
      {"cuStreamGetCaptureInfo_v3", 12030},
      {"cuStreamGetCaptureInfo_v2", 11030},
      {"cuStreamGetCaptureInfo", 10010},
      {"cuStreamUpdateCaptureDependencies_v2", 12030},
      {"cuStreamUpdateCaptureDependencies", 11030},
      {"cuThreadExchangeStreamCaptureMode", 10010},
      {"cuStream*Captur*", 10000},
      {"cuGraph*Kernel*_v2", 12000},
      {"cuGraphExecUpdate_v2", 12000},
      {"cuGraphExecUpdate", 10020},
      {"cuGraphInstantiate_v2", 11000},
      {"cuGraphInstantiateWithFlags", 11040},
      {"cuGraphInstantiateWithParams", 12000},
      {"cuGraph*_v2", 12030},
      {"cuGraphExecGetFlags", 12000},
      {"cuGraphNode*Enabled", 11060},
      {"cuGraph*Event*", 11010},
      {"cuGraphDebugDotPrint", 11030},
      {"cuGraph*", 10000},
      {"cuMem*_v2", 3020},
      {"*_v2", 3020},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
    if (fk_matches(rows[k].pattern, symbol)) return rows[k].version;
  return 2000;
}

static bool is_missing(const char *name) {
  char patterns[256], *save = NULL;
  snprintf(patterns, sizeof patterns, "%s", fk.config.missing);
  for (char *p = strtok_r(patterns, "/", &save); p; p = strtok_r(NULL, "/", &save))
    if (fk_matches(p, name)) return true;
  return false;
}

static void *symbol(void *library, const char *name, int version, bool *too_new) {
  void *p = is_simulated(name) ? dlsym(library, name) : NULL;
  if (p && since(name) > version) *too_new = true, p = NULL;
  return p;
}

/* The newest form of a function that this version of CUDA has. */
static void *find(const char *name, int version, bool *too_new) {
  Dl_info self;
  static const char *const forms[] = {"_v3", "_v2", ""};
  char form[96];
  void *p = NULL;
  *too_new = false;
  if (is_missing(name) || !dladdr(&fk, &self)) return NULL;
  void *library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (!library) library = dlopen(NULL, RTLD_NOW); /* the driver is a part of the program */
  if (!library) return NULL;
  if (strcmp(name, "cuGraphInstantiate") == 0 && version >= 12000) name = "cuGraphInstantiateWithFlags";
  for (int k = 0; k < 3 && !p; k++) {
    snprintf(form, sizeof form, "%s%s", name, forms[k]);
    p = symbol(library, form, version, too_new);
  }
  dlclose(library);
  return p;
}

enum { MOST_FLAGS = 2 };

static int look_up(const char *name, void **out, int version, int *status) {
  enum { FOUND = 0, ABSENT = 1, TOO_NEW = 2 };
  bool too_new;
  if (!name || !out || version > fk.config.driver) return CU_INVALID_VALUE;
  *out = find(name, version, &too_new);
  if (status) *status = *out ? FOUND : too_new ? TOO_NEW : ABSENT;
  return *out ? CU_OK : CU_NOT_FOUND;
}

FK_API int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags) {
  ENTER(false);
  return flags > MOST_FLAGS ? CU_INVALID_VALUE : look_up(name, out, version, NULL);
}
FK_API int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status) {
  ENTER(false);
  return flags > MOST_FLAGS ? CU_INVALID_VALUE : look_up(name, out, version, status);
}
