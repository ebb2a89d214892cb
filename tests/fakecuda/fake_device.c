/* tests/fakecuda/fake_device.c -- devices: what they are called, and what they say that they can do. */
#include <stdio.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

FkDevice *fk_device(int index) { return index >= 0 && index < fk.config.devices ? &fk.device[index] : NULL; }

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
  case 41: return 1; /* overlap, map host memory, concurrent kernels, unified addresses */
  case 16: return 4; /* multiprocessors */
  case 24:
  case 25:
  case 26: return 16384; /* texels of a texture: 3D, then of one with levels: 2D, 1D */
  case 73:
  case 74:
  case 77: return 32768;
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
  case 97: return (fk.config.shared ? fk.config.shared : l->opt_in) << 10;
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
