/* runtime/cuda/cuda_peer.c -- devices that reach each other's memory.
 *
 * Without access the driver copies between devices by way of the host; with it they copy directly. Some machines promise
 * access and then deliver rubbish (an IOMMU that translates between the devices), so a pattern is sent there and back before
 * access is trusted; where it does not come back it is turned off again.
 */
#include <string.h>

#include "runtime/cuda/cuda_device.h"

enum { WORDS = 256 };

/* A word of the pattern: no two alike, nor like fresh memory. */
static uint32_t word(uint32_t i) { return (i + 1) * 2654435761u; }

/* `a` on d goes to `b` on the other and back to `c` on d. */
static bool comes_back(CudaDevice *d, const CudaDevice *other, CuPtr a, CuPtr b, CuPtr c) {
  const CuDriver *cu = d->driver;
  uint32_t out[WORDS], back[WORDS];
  for (uint32_t i = 0; i < WORDS; i++) out[i] = word(i);
  memset(back, 0, sizeof back);
  bool done = cu->cuMemcpyHtoDAsync(a, out, sizeof out, d->home) == CU_SUCCESS &&
              cu->cuMemcpyPeerAsync(b, other->context, a, d->context, sizeof out, d->home) == CU_SUCCESS &&
              cu->cuMemcpyPeerAsync(c, d->context, b, other->context, sizeof out, d->home) == CU_SUCCESS &&
              cu->cuMemcpyDtoHAsync(back, c, sizeof back, d->home) == CU_SUCCESS;
  return cu->cuStreamSynchronize(d->home) == CU_SUCCESS && done && memcmp(out, back, sizeof out) == 0;
}

static bool is_right(CudaDevice *d, CudaDevice *other) {
  CudaBlock *a = NULL, *b = NULL;
  bool right = false;
  if (hdcu_enter(other, NULL) != HD_OK) return false;
  HdStatus status = hdcu_block_new(other, NULL, WORDS * sizeof(uint32_t), NULL, &b);
  hdcu_leave(other);
  if (status == HD_OK) status = hdcu_block_new(d, NULL, 2 * WORDS * sizeof(uint32_t), NULL, &a);
  if (status == HD_OK) right = comes_back(d, other, a->data, b->data, a->data + WORDS * sizeof(uint32_t));
  hdcu_block_free(d, NULL, a);
  hdcu_block_free(other, NULL, b);
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
