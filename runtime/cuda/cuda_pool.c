/* runtime/cuda/cuda_pool.c -- memory of a device, in size classes that are kept for reuse.
 *
 * Asking the driver costs tens of microseconds to milliseconds, and giving back waits for the whole device; a simulation
 * asks for the same few sizes again and again. As on the host, a block may be reused as soon as it is freed: its user has
 * waited for the streams that touched it. When the device is full, what is kept is given back and the driver asked once
 * more.
 */
#include <stdio.h>

#include "runtime/cuda/cuda_device.h"

static size_t class_size(int32_t c) { return (size_t)(128 * (4 + c % 4)) << (c / 4); }

static int32_t class_of(size_t size) {
  if (size <= 512) return 0;
  int32_t log = 63 - __builtin_clzll((unsigned long long)(size - 1)); /* 2^log <= size - 1 */
  int32_t c = 4 * (log - 9);
  while (class_size(c) < size) c++;
  return c;
}

static void give_back(CudaDevice *d, CudaBlock *b) {
  if (d->lost.status == HD_OK) d->driver->cuMemFree(b->data); /* memory of a lost context went with it */
  d->base.mem->resize(d->base.mem->user, b, sizeof *b, 0);
}

void hdcu_pool_trim(CudaDevice *d) {
  for (int32_t c = 0; c < CUDA_CLASSES; c++) {
    while (d->pool.free[c]) {
      CudaBlock *b = d->pool.free[c];
      d->pool.free[c] = b->next;
      d->pool.kept -= b->size;
      give_back(d, b);
    }
  }
}

/* "512 MiB" */
static const char *bytes_text(size_t n, char out[24]) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
  double x = (double)n;
  int u = 0;
  for (; x >= 1024 && u < 3; u++) x /= 1024;
  snprintf(out, 24, u ? "%.4g %s" : "%.0f %s", x, units[u]);
  return out;
}

static HdStatus full(CudaDevice *d, CuResult code, size_t size, HdError *err) {
  char detail[200], text[4][24];
  size_t free_bytes = 0, total = 0;
  d->driver->cuMemGetInfo(&free_bytes, &total);
  snprintf(detail, sizeof detail, "asked for %s; free %s of %s; this context's arrays hold %s",
           bytes_text(size, text[0]), bytes_text(free_bytes, text[1]), bytes_text(total, text[2]),
           bytes_text(d->pool.used, text[3]));
  return hdcu_device_fail(d, code, "cuMemAlloc", detail, err);
}

HdStatus hdcu_block_new(CudaDevice *d, size_t size, HdError *err, CudaBlock **out) {
  const HdAllocator *mem = d->base.mem;
  if (size > (size_t)1 << 46) return full(d, CU_OUT_OF_MEMORY, size, err);
  int32_t c = class_of(size);
  CudaBlock *b = d->pool.free[c];
  if (b) {
    d->pool.free[c] = b->next;
    d->pool.kept -= b->size;
  } else {
    b = mem->resize(mem->user, NULL, 0, sizeof *b);
    if (!b) return hdb_fail(err, HD_ERR_NOMEM, "", "%zu bytes to describe a block", sizeof *b);
    b->size = class_size(c);
    CuResult code = d->driver->cuMemAlloc(&b->data, b->size);
    if (code == CU_OUT_OF_MEMORY && d->pool.kept) {
      hdcu_pool_trim(d);
      code = d->driver->cuMemAlloc(&b->data, b->size);
    }
    if (code != CU_SUCCESS) {
      mem->resize(mem->user, b, sizeof *b, 0);
      return code == CU_OUT_OF_MEMORY ? full(d, code, size, err) : hdcu_device_fail(d, code, "cuMemAlloc", NULL, err);
    }
  }
  d->pool.used += b->size;
  *out = b;
  return HD_OK;
}

void hdcu_block_free(CudaDevice *d, CudaBlock *b) {
  if (!b) return;
  int32_t c = class_of(b->size);
  d->pool.used -= b->size;
  d->pool.kept += b->size;
  b->next = d->pool.free[c];
  d->pool.free[c] = b;
}
