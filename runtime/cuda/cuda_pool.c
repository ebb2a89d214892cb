/* runtime/cuda/cuda_pool.c -- memory of a device, kept for reuse and ordered by streams.
 *
 * Asking the driver costs tens of microseconds to milliseconds, and giving back waits for the whole device; a simulation
 * asks for the same few sizes again and again.
 *
 * Where the device has pools, a pool of our own in the driver keeps the memory: others in the process that use the
 * device's default pool, and its settings, are left alone. What belongs to no stream's order goes through the device's
 * `home` stream, which is waited for.
 *
 * Elsewhere blocks of size classes go into free lists. A block that a stream let go carries an event: the same stream
 * takes it as it is, another one waits for the event, and who asks outside any order gets it once that has happened.
 *
 * When the device is full, what is kept is given back and the driver asked once more.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/cuda/cuda_device.h"

static HdStatus check(CudaDevice *d, CuResult code, const char *call, HdError *err) {
  return code == CU_SUCCESS ? HD_OK : hdcu_device_fail(d, code, call, NULL, err);
}

/* --- the driver's pool --- */

static HdStatus open_pool(CudaDevice *d, HdError *err) {
  const CuDriver *cu = d->driver;
  CudaPool *p = &d->pool;
  uint64_t keep = p->keep;
  CuMemPoolProps props;
  memset(&props, 0, sizeof props);
  props.allocation = CU_POOL_PINNED;
  props.place = CU_POOL_ON_DEVICE;
  props.device = d->handle;
  CuResult code = cu->cuMemPoolCreate(&p->driver, &props);
  if (code != CU_SUCCESS) p->driver = NULL;
  p->ordered = code != CU_NOT_SUPPORTED; /* some virtual GPUs say that they have pools */
  if (!p->ordered) return HD_OK;
  HD_TRY(check(d, code, "cuMemPoolCreate", err));
  cu->cuMemPoolSetAttribute(p->driver, CU_POOL_RELEASE_THRESHOLD, &keep); /* without it the pool is slower, no more */
  return HD_OK;
}

static CuResult pool_alloc(CudaDevice *d, const CudaOrder *order, CudaBlock *b) {
  const CuDriver *cu = d->driver;
  CudaPool *p = &d->pool;
  CuResult code = cu->cuMemAllocFromPoolAsync(&b->data, b->size, p->driver, order ? order->handle : d->home);
  if (order || code != CU_SUCCESS) return code;
  code = cu->cuStreamSynchronize(d->home);
  if (code != CU_SUCCESS) cu->cuMemFreeAsync(b->data, d->home);
  return code;
}

/* --- free lists --- */

static size_t class_size(int32_t c) { return (size_t)(128 * (4 + c % 4)) << (c / 4); }

static int32_t class_of(size_t size) {
  if (size <= 512) return 0;
  int32_t log = 63 - __builtin_clzll((unsigned long long)(size - 1)); /* 2^log <= size - 1 */
  int32_t c = 4 * (log - 9);
  while (class_size(c) < size) c++;
  return c;
}

static void give_back(CudaDevice *d, CudaBlock *b) {
  const CuDriver *cu = d->driver;
  if (d->lost.status == HD_OK) { /* memory and events of a lost context went with it */
    cu->cuMemFree(b->data);
    if (b->left) cu->cuEventDestroy(b->left);
  }
  d->base.mem->resize(d->base.mem->user, b, sizeof *b, 0);
}

static void trim_lists(CudaDevice *d, size_t keep) {
  for (int32_t c = CUDA_CLASSES - 1; c >= 0; c--) {
    while (d->pool.free[c] && d->pool.kept > keep) {
      CudaBlock *b = d->pool.free[c];
      d->pool.free[c] = b->next;
      d->pool.kept -= b->size;
      give_back(d, b);
    }
  }
}

/* May it be had in this order, without a wait? */
static bool is_free(CudaDevice *d, const CudaOrder *order, CudaBlock *b) {
  if (b->by == 0 || (order && order->number == b->by)) return true;
  if (d->driver->cuEventQuery(b->left) != CU_SUCCESS) return false;
  b->by = 0;
  return true;
}

/* A kept block of the class: one that is free, else, in a stream's order, one to be waited for there. */
static CudaBlock *take(CudaDevice *d, const CudaOrder *order, int32_t c) {
  CudaBlock **at = &d->pool.free[c];
  while (*at && !is_free(d, order, *at)) at = &(*at)->next;
  if (!*at) {
    at = &d->pool.free[c];
    if (!order || !*at || d->driver->cuStreamWaitEvent(order->handle, (*at)->left, 0) != CU_SUCCESS) return NULL;
  }
  CudaBlock *b = *at;
  *at = b->next;
  d->pool.kept -= b->size;
  return b;
}

/* From here on the block is whoever's asks, after what `order` was given so far. */
static void let_go(CudaDevice *d, const CudaOrder *order, CudaBlock *b) {
  const CuDriver *cu = d->driver;
  b->by = 0;
  if (!order) return;
  if (b->left || cu->cuEventCreate(&b->left, CU_EVENT_NO_TIMING) == CU_SUCCESS) {
    b->by = order->number;
    if (cu->cuEventRecord(b->left, order->handle) == CU_SUCCESS) return;
    b->by = 0;
  } else {
    b->left = NULL;
  }
  cu->cuStreamSynchronize(order->handle);
}

/* --- both --- */

/* "512 MiB" */
static const char *bytes_text(size_t n, char out[24]) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double x = (double)n;
  int u = 0;
  for (; x >= 1024 && u < 4; u++) x /= 1024;
  snprintf(out, 24, u ? "%.4g %s" : "%.0f %s", x, units[u]);
  return out;
}

HdStatus hdcu_memory(CudaDevice *d, HdError *err, CudaMemory *out) {
  const CudaPool *p = &d->pool;
  CudaMemory m = {.used = p->used, .kept = p->kept};
  uint64_t reserved = 0, used = 0;
  HD_TRY(check(d, d->driver->cuMemGetInfo(&m.free, &m.total), "cuMemGetInfo", err));
  if (p->driver && d->driver->cuMemPoolGetAttribute(p->driver, CU_POOL_RESERVED, &reserved) == CU_SUCCESS &&
      d->driver->cuMemPoolGetAttribute(p->driver, CU_POOL_USED, &used) == CU_SUCCESS && reserved > used)
    m.kept += reserved - used;
  *out = m;
  return HD_OK;
}

/* Blocks that are handed out, by size: "2 of 512 MiB, 1 of 96 MiB, 40 of 1 MiB; the newest is of 1 MiB". */
static void largest_text(const CudaPool *p, char *out, size_t size) {
  enum { GROUPS = 4 };
  char text[24];
  size_t n = 0, below = SIZE_MAX;
  *out = 0;
  for (int k = 0; k < GROUPS && p->newest; k++) {
    size_t most = 0, count = 0;
    for (const CudaBlock *b = p->newest; b; b = b->older) {
      if (b->size < below && b->size > most) most = b->size, count = 0;
      count += b->size == most;
    }
    if (!most) break;
    n += (size_t)snprintf(out + n, size - n, "%s%zu of %s", k ? ", " : "", count, bytes_text(most, text));
    below = most;
  }
  if (p->newest) snprintf(out + n, size - n, "; the newest is of %s", bytes_text(p->newest->size, text));
}

static HdStatus full(CudaDevice *d, size_t size, HdError *err) {
  char detail[400], text[5][24], largest[200];
  CudaMemory m = {0};
  HD_TRY(hdcu_memory(d, err, &m));
  largest_text(&d->pool, largest, sizeof largest);
  snprintf(detail, sizeof detail,
           "asked for %s; free %s of %s; this context's arrays hold %s, and %s are kept for reuse%s%s",
           bytes_text(size, text[0]), bytes_text(m.free, text[1]), bytes_text(m.total, text[2]),
           bytes_text(m.used, text[3]), bytes_text(m.kept, text[4]), *largest ? "; the largest: " : "", largest);
  return hdcu_device_fail(d, CU_OUT_OF_MEMORY, d->pool.driver ? "cuMemAllocFromPoolAsync" : "cuMemAlloc", detail, err);
}

HdStatus hdcu_pool_trim(CudaDevice *d, size_t keep, HdError *err) {
  const CuDriver *cu = d->driver;
  trim_lists(d, keep);
  if (!d->pool.driver) return HD_OK;
  /* What streams have yet to give back is not in the pool before they come to it. */
  HD_TRY(check(d, cu->cuCtxSynchronize(), "cuCtxSynchronize", err));
  return check(d, cu->cuMemPoolTrimTo(d->pool.driver, keep), "cuMemPoolTrimTo", err);
}

static CuResult ask(CudaDevice *d, const CudaOrder *order, CudaBlock *b) {
  return d->pool.driver ? pool_alloc(d, order, b) : d->driver->cuMemAlloc(&b->data, b->size);
}

static HdStatus make(CudaDevice *d, const CudaOrder *order, size_t size, HdError *err, CudaBlock *b) {
  CuResult code = ask(d, order, b);
  if (code == CU_OUT_OF_MEMORY) {
    HD_TRY(hdcu_pool_trim(d, 0, err));
    code = ask(d, order, b);
  }
  if (code == CU_OUT_OF_MEMORY) return full(d, size, err);
  return check(d, code, d->pool.driver ? "cuMemAllocFromPoolAsync" : "cuMemAlloc", err);
}

static void enter_block(CudaPool *p, CudaBlock *b) {
  b->older = p->newest;
  b->newer = NULL;
  if (p->newest) p->newest->newer = b;
  p->newest = b;
  p->used += b->size;
}

static void take_out(CudaPool *p, CudaBlock *b) {
  if (b->older) b->older->newer = b->newer;
  if (b->newer)
    b->newer->older = b->older;
  else
    p->newest = b->older;
  p->used -= b->size;
}

HdStatus hdcu_block_new(CudaDevice *d, const CudaOrder *order, size_t size, HdError *err, CudaBlock **out) {
  const HdAllocator *mem = d->base.mem;
  CudaPool *p = &d->pool;
  if (p->ordered && !p->driver) HD_TRY(open_pool(d, err));
  if (size > (size_t)1 << 46) return full(d, size, err);
  int32_t c = class_of(size);
  CudaBlock *b = p->driver ? NULL : take(d, order, c);
  if (!b) {
    b = mem->resize(mem->user, NULL, 0, sizeof *b);
    if (!b) return hdb_fail(err, HD_ERR_NOMEM, "", "%zu bytes to describe a block", sizeof *b);
    *b = (CudaBlock){.of = d, .size = !p->driver ? class_size(c) : size ? size : 1};
    HdStatus status = make(d, order, size, err, b);
    if (status != HD_OK) {
      mem->resize(mem->user, b, sizeof *b, 0);
      return status;
    }
  }
  enter_block(p, b);
  *out = b;
  return HD_OK;
}

/* In a free list, unless enough is kept. */
static void keep(CudaDevice *d, const CudaOrder *order, CudaBlock *b) {
  CudaPool *p = &d->pool;
  if (p->kept + b->size > p->keep) { /* the driver waits until nobody uses it */
    give_back(d, b);
    return;
  }
  int32_t c = class_of(b->size);
  let_go(d, order, b);
  p->kept += b->size;
  b->next = p->free[c];
  p->free[c] = b;
}

/* Who gives back a block outside any order has waited for the streams that used it, but the wait may have failed. */
static void be_sure(CudaDevice *d) {
  if (d->unsure && d->driver->cuCtxSynchronize() == CU_SUCCESS) d->unsure = false;
}

void hdcu_block_free(const CudaOrder *order, CudaBlock *b) {
  if (!b) return;
  CudaDevice *d = b->of;
  bool here = hdcu_enter(d, NULL) == HD_OK;
  if (here && !order) be_sure(d);
  take_out(&d->pool, b);
  if (here && d->pool.driver) d->driver->cuMemFreeAsync(b->data, order ? order->handle : d->home);
  if (here && !d->pool.driver)
    keep(d, order, b);
  else
    d->base.mem->resize(d->base.mem->user, b, sizeof *b, 0);
  if (here) hdcu_leave(d);
}

void hdcu_pool_end(CudaDevice *d) {
  trim_lists(d, 0);
  if (d->lost.status == HD_OK && d->pool.driver) {
    d->driver->cuStreamSynchronize(d->home);
    d->driver->cuMemPoolDestroy(d->pool.driver);
  }
  d->pool.driver = NULL;
}
