/* bench/nodriver.c -- a driver that does nothing, at once: what is timed on it is our own code.
 *
 * It has one device, sm_90 with pools. Memory that it gives is addresses and no more; kernels never run.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/cuda/driver.h"

/* --- what has to answer --- */

static CuResult version(int *out) { return *out = 12040, CU_SUCCESS; }
static CuResult one(int *out) { return *out = 1, CU_SUCCESS; }
static CuResult word(CuResult code, const char **out) { return (void)code, *out = "a failure", CU_SUCCESS; }
static CuResult device(CuDevice *out, int ordinal) { return *out = ordinal, CU_SUCCESS; }
static CuResult text(char *out, int size, CuDevice d) {
  snprintf(out, (size_t)size, "none");
  return (void)d, CU_SUCCESS;
}
static CuResult attribute(int *out, CuAttribute a, CuDevice d) {
  *out = a == CU_COMPUTE_CAPABILITY_MAJOR ? 9 : a == CU_MEMORY_POOLS_SUPPORTED;
  return (void)d, CU_SUCCESS;
}
static CuResult memory(size_t *bytes, CuDevice d) { return (void)d, *bytes = (size_t)1 << 33, CU_SUCCESS; }
static CuResult context(CuContext *out, CuDevice d) { return (void)d, *out = (CuContext)&version, CU_SUCCESS; }
static CuResult info(size_t *unused, size_t *all) { return *unused = *all = (size_t)1 << 33, CU_SUCCESS; }
static CuResult pool(CuMemPool *out, const void *props) { return (void)props, *out = (CuMemPool)&version, CU_SUCCESS; }
static CuResult alloc(CuPtr *out, size_t bytes, CuMemPool p, CuStream s) {
  return (void)bytes, (void)p, (void)s, *out = 1 << 20, CU_SUCCESS;
}
static CuResult stream(CuStream *out, unsigned flags) { return (void)flags, *out = (CuStream)&version, CU_SUCCESS; }
static CuResult event(CuEvent *out, unsigned flags) { return (void)flags, *out = (CuEvent)&version, CU_SUCCESS; }
static CuResult load(CuModule *out, const void *image, unsigned n, const int *options, void **values) {
  return (void)image, (void)n, (void)options, (void)values, *out = (CuModule)&version, CU_SUCCESS;
}
static CuResult function(CuFunction *out, CuModule m, const char *name) {
  return (void)m, (void)name, *out = (CuFunction)&version, CU_SUCCESS;
}
static CuResult block(int *grid, int *out, CuFunction f, void *shared_of_block, size_t shared, int limit) {
  return (void)f, (void)shared_of_block, (void)shared, (void)limit, *grid = 1, *out = 256, CU_SUCCESS;
}
static CuResult capture(CuStream s, CuGraph *out) { return (void)s, *out = (CuGraph)&version, CU_SUCCESS; }
static CuResult last(CuStream s, int *status, uint64_t *id, CuGraph *g, const CuGraphNode **nodes, size_t *n) {
  static const CuGraphNode node = (CuGraphNode)&version;
  return (void)s, *status = 1, *id = 1, *g = (CuGraph)&version, *nodes = &node, *n = 1, CU_SUCCESS;
}
static CuResult instance(CuGraphExec *out, CuGraph g, uint64_t flags) {
  return (void)g, (void)flags, *out = (CuGraphExec)&version, CU_SUCCESS;
}
/* A fault record that is read back is empty. */
static CuResult fetch(void *to, CuPtr from, size_t bytes, CuStream s) {
  memset(to, 0, bytes);
  return (void)from, (void)s, CU_SUCCESS;
}

/* --- finding it --- */

#define CU_ENTRY(name, since, exported, need, params)                                                                  \
  static CuResult any_##name params { return CU_SUCCESS; }
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "runtime/cuda/entry_points.def"

typedef struct Entry {
  const char *name;
  void (*function)(void);
} Entry;
#define ENTRY(name, function) {name, (void (*)(void))function}

static const Entry answers[] = {
    ENTRY("cuDriverGetVersion", version),
    ENTRY("cuDeviceGetCount", one),
    ENTRY("cuGetErrorName", word),
    ENTRY("cuGetErrorString", word),
    ENTRY("cuDeviceGet", device),
    ENTRY("cuDeviceGetName", text),
    ENTRY("cuDeviceGetPCIBusId", text),
    ENTRY("cuDeviceGetAttribute", attribute),
    ENTRY("cuDeviceTotalMem", memory),
    ENTRY("cuDevicePrimaryCtxRetain", context),
    ENTRY("cuMemGetInfo", info),
    ENTRY("cuMemPoolCreate", pool),
    ENTRY("cuMemAllocFromPoolAsync", alloc),
    ENTRY("cuStreamCreate", stream),
    ENTRY("cuEventCreate", event),
    ENTRY("cuModuleLoadDataEx", load),
    ENTRY("cuModuleGetFunction", function),
    ENTRY("cuOccupancyMaxPotentialBlockSize", block),
    ENTRY("cuStreamEndCapture", capture),
    ENTRY("cuStreamGetCaptureInfo", last),
    ENTRY("cuGraphInstantiateWithFlags", instance),
    ENTRY("cuMemcpyDtoHAsync", fetch),
};
static const Entry others[] = {
#define CU_ENTRY(name, since, exported, need, params) ENTRY(#name, any_##name),
#include "runtime/cuda/entry_points.def"
};

static bool find(const Entry *list, size_t n, const char *name, void **out) {
  for (size_t i = 0; i < n; i++) {
    if (strcmp(list[i].name, name) != 0) continue;
    memcpy(out, &list[i].function, sizeof *out);
    return true;
  }
  return false;
}

__attribute__((visibility("default"))) CuResult cuGetProcAddress_v2(const char *name, void **out, int since,
                                                                    uint64_t flags, void *status);
CuResult cuGetProcAddress_v2(const char *name, void **out, int since, uint64_t flags, void *status) {
  enum { NOT_FOUND = 500 };
  bool found = find(answers, sizeof answers / sizeof *answers, name, out) ||
               find(others, sizeof others / sizeof *others, name, out);
  (void)since, (void)flags, (void)status;
  return found ? CU_SUCCESS : NOT_FOUND;
}
