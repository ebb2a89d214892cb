/* runtime/cuda/cuda_peer.c -- devices that reach each other's memory.
 *
 * Without access the driver copies between devices by way of the host; with it they copy directly. Some machines promise
 * access and then deliver rubbish (an IOMMU that translates between the devices), so a pattern is sent each way before
 * access is trusted; where it does not arrive it is turned off again.
 */
#include <string.h>

#include "runtime/cuda/cuda_device.h"

enum { WORDS = 256, BYTES = 4 * WORDS };

/* A word of a pattern: no two alike, nor like fresh memory, nor like the other pattern's. */
static uint32_t word(uint32_t i, uint32_t salt) { return (i + 1) * 2654435761u ^ salt; }

/* On the device's own side. */
static bool put(CudaDevice *d, CuPtr at, uint32_t salt) {
  uint32_t w[WORDS];
  for (uint32_t i = 0; i < WORDS; i++) w[i] = word(i, salt);
  if (hdcu_enter(d, NULL) != HD_OK) return false;
  bool done = d->driver->cuMemcpyHtoDAsync(at, w, BYTES, d->home) == CU_SUCCESS;
  done = d->driver->cuStreamSynchronize(d->home) == CU_SUCCESS && done;
  hdcu_leave(d);
  return done;
}

static bool has(CudaDevice *d, CuPtr at, uint32_t salt) {
  uint32_t w[WORDS] = {0};
  if (hdcu_enter(d, NULL) != HD_OK) return false;
  bool good = d->driver->cuMemcpyDtoHAsync(w, at, BYTES, d->home) == CU_SUCCESS;
  good = d->driver->cuStreamSynchronize(d->home) == CU_SUCCESS && good;
  hdcu_leave(d);
  for (uint32_t i = 0; i < WORDS && good; i++) good = w[i] == word(i, salt);
  return good;
}

/* By `d`, in either direction. */
static bool move(const CudaDevice *d, CuPtr to, const CudaDevice *to_on, CuPtr from, const CudaDevice *from_on) {
  const CuDriver *cu = d->driver;
  bool done = cu->cuMemcpyPeerAsync(to, to_on->context, from, from_on->context, BYTES, d->home) == CU_SUCCESS;
  return cu->cuStreamSynchronize(d->home) == CU_SUCCESS && done;
}

/* Each way is looked at by itself: what damages both alike might heal on the way back. */
static bool is_right(CudaDevice *d, CudaDevice *other) {
  enum { THERE = 0, BACK = 0x5bd1e995 };
  CudaBlock *a = NULL, *b = NULL;
  bool right = false;
  if (hdcu_enter(other, NULL) != HD_OK) return false;
  HdStatus status = hdcu_block_new(other, NULL, BYTES, NULL, &b);
  hdcu_leave(other);
  if (status == HD_OK) status = hdcu_block_new(d, NULL, BYTES, NULL, &a);
  if (status == HD_OK)
    right = put(d, a->data, THERE) && move(d, b->data, other, a->data, d) && has(other, b->data, THERE) &&
            put(other, b->data, BACK) && move(d, a->data, d, b->data, other) && has(d, a->data, BACK);
  hdcu_block_free(NULL, a);
  hdcu_block_free(NULL, b);
  return right;
}

/* A pool of the driver's has its own access. */
static void open_pool_to(const CudaDevice *d, const CudaDevice *other) {
  const CuMemAccess access = {CU_POOL_ON_DEVICE, d->handle, CU_ACCESS_READ_WRITE};
  if (other->pool.driver && d->driver->cuMemPoolSetAccess)
    d->driver->cuMemPoolSetAccess(other->pool.driver, &access, 1); /* without it the driver goes by way of the host */
}

void hdcu_peer(CudaDevice *d, CudaDevice *other) {
  const CuDriver *cu = d->driver;
  int can = 0;
  if (d->asked[other->ordinal]) return;
  d->asked[other->ordinal] = true;
  if (cu->cuDeviceCanAccessPeer(&can, d->handle, other->handle) != CU_SUCCESS || !can) return;
  CuResult code = cu->cuCtxEnablePeerAccess(other->context, 0);
  if (code != CU_SUCCESS && code != CU_PEER_ACCESS_ALREADY_ENABLED) return;
  open_pool_to(d, other);
  if (code == CU_PEER_ACCESS_ALREADY_ENABLED) return; /* someone else's decision */
  if (!is_right(d, other)) cu->cuCtxDisablePeerAccess(other->context);
}
