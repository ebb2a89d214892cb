/* runtime/cuda/driver.c -- opening the CUDA driver. */
#include "runtime/cuda/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OLDEST = 11040 }; /* CUDA 11.4: later forms of the calls used here are found by the driver's look-up */

/* --- the library --- */

/* Open one file; what is wrong with it goes behind `tried`. */
static bool open_library(CuDriver *d, const char *path, char *tried, size_t size) {
  d->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (d->library) {
    snprintf(d->path, sizeof d->path, "%s", path);
    return true;
  }
  size_t n = strlen(tried);
  const char *why = dlerror();
  bool absent = why && strstr(why, "No such file");
  if (n < size)
    snprintf(tried + n, size - n, "%s%s (%.80s)", n ? ", " : "", path, absent ? "no such file" : why ? why : "");
  return false;
}

static HdStatus find_library(CuDriver *d, HdError *err) {
  static const char *const places[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1",
                                       "/run/opengl-driver/lib/libcuda.so.1", /* NixOS */
                                       "libcuda.so"};
  const char *named = getenv("HEDDLE_LIBCUDA");
  char tried[320] = "";
  bool found = false;
  if (named && *named)
    found = open_library(d, named, tried, sizeof tried);
  else
    for (size_t i = 0; i < sizeof places / sizeof *places && !found; i++)
      found = open_library(d, places[i], tried, sizeof tried);
  if (found) return HD_OK;
  return hdcu_fail_absent(d, tried, named && *named, err);
}

/* --- entry points --- */

typedef CuResult (*Lookup1)(const char *name, void **out, int version, uint64_t flags);
typedef CuResult (*Lookup2)(const char *name, void **out, int version, uint64_t flags, int *status);

typedef struct Finder {
  void *library;
  Lookup1 first;  /* CUDA 11.3 to 11.8 */
  Lookup2 second; /* from 12.0 on      */
} Finder;

static void *symbol(void *library, const char *name) { return dlsym(library, name); }

/* By the driver's own look-up, which knows each form of a function by the version it came with; else as it is exported. */
static void *find_entry(const Finder *f, const char *name, int version, const char *exported) {
  void *p = NULL;
  if (f->second) return f->second(name, &p, version, 0, NULL) == CU_SUCCESS ? p : NULL;
  if (f->first) return f->first(name, &p, version, 0) == CU_SUCCESS ? p : NULL;
  return symbol(f->library, exported);
}

static HdStatus no_entry(const CuDriver *d, const char *name, HdError *err) {
  HdStatus status = hdb_fail(err, HD_ERR_CUDA, "", "the driver %s has no function '%s'", d->path, name);
  if (err) err->remedy = "update the NVIDIA driver to release 470 or newer";
  return status;
}

static HdStatus find_entries(CuDriver *d, HdError *err) {
  enum { MUST, MAY };
  Finder f = {.library = d->library};
  void *p = symbol(d->library, "cuGetProcAddress_v2");
  memcpy(&f.second, &p, sizeof p);
  p = symbol(d->library, "cuGetProcAddress");
  memcpy(&f.first, &p, sizeof p);
#define CU_ENTRY(name, version, exported, need, params)                                                                \
  p = find_entry(&f, #name, version, exported);                                                                        \
  if (!p && need == MUST) return no_entry(d, #name, err);                                                              \
  memcpy(&d->name, &p, sizeof p);
#include "runtime/cuda/entry_points.def"
  return HD_OK;
}

/* --- opening --- */

/* Failures of the start hang on which library it is and which module of the kernel it met. */
static HdStatus start_fail(const CuDriver *d, CuResult code, const char *call, HdError *err) {
  char detail[360];
  snprintf(detail, sizeof detail, "the library is %s%s%s", d->path, *d->seen.module ? ", the kernel's module " : "",
           d->seen.module);
  return hdcu_fail(d, code, call, (CuWhere){NULL, detail}, err);
}

static HdStatus check_version(CuDriver *d, HdError *err) {
  CuResult code = d->cuDriverGetVersion(&d->version);
  if (code != CU_SUCCESS) return start_fail(d, code, "cuDriverGetVersion", err);
  if (d->version >= OLDEST) return HD_OK;
  HdStatus status = hdb_fail(err, HD_ERR_CUDA, "", "the driver %s supports CUDA %d.%d; %d.%d or newer is needed",
                             d->path, d->version / 1000, d->version % 1000 / 10, OLDEST / 1000, OLDEST % 1000 / 10);
  if (err) err->remedy = "update the NVIDIA driver to release 470 or newer";
  return status;
}

/* Every use of a device asks whether the process has forked, and a call of the system would cost more than all else of a
 * launch. So a page is asked for that a child finds empty. */
enum { PAGE = 4096 };

static void set_mark(CuDriver *d) {
  void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (madvise(page, PAGE, MADV_WIPEONFORK) != 0) { /* Linux 4.14 */
    munmap(page, PAGE);
    return;
  }
  d->mark = page;
  *d->mark = 1;
}

bool hdcu_is_ours(const CuDriver *d) { return d->mark ? *d->mark != 0 : d->pid == (int)getpid(); }

static HdStatus start(CuDriver *d, HdError *err) {
  hdcu_look(&d->seen);
  HD_TRY(find_library(d, err));
  HD_TRY(find_entries(d, err));
  HD_TRY(check_version(d, err));
  CuResult code = d->cuInit(0);
  if (code != CU_SUCCESS) return start_fail(d, code, "cuInit", err);
  d->pid = (int)getpid();
  set_mark(d);
  code = d->cuDeviceGetCount(&d->count);
  if (code != CU_SUCCESS) return start_fail(d, code, "cuDeviceGetCount", err);
  if (d->count == 0) return start_fail(d, CU_NO_DEVICE, "cuDeviceGetCount", err);
  return HD_OK;
}

HdStatus hdcu_driver_open(CuDriver *d, HdError *err) {
  memset(d, 0, sizeof *d);
  HdStatus status = start(d, err);
  if (status != HD_OK) hdcu_driver_close(d);
  return status;
}

/* A driver that was initialised stays in the process: it has threads and handlers of its own that must not lose their
 * code. */
void hdcu_driver_close(CuDriver *d) {
  if (d->library && !d->pid) dlclose(d->library);
  if (d->mark) munmap(d->mark, PAGE);
  memset(d, 0, sizeof *d);
}
