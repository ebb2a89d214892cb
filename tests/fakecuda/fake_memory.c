/* tests/fakecuda/fake_memory.c -- blocks of memory: where they lie, who sees them, allocating and freeing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

enum { GAP = 512, PATTERN = 0xcd };

/* --- blocks --- */

FkBlock *fk_block_at(uint64_t address, uint64_t size) {
  for (FkBlock *b = fk.blocks; b; b = b->next)
    if (address >= b->at && address - b->at <= b->size && size <= b->size - (address - b->at)) return b;
  return NULL;
}

bool fk_is_device(uint64_t address) {
  for (int k = 0; k < fk.config.devices; k++)
    if (address >= fk.device[k].base && address < fk.device[k].end) return true;
  return false;
}

uint8_t *fk_host_of(uint64_t address, uint64_t size) {
  if (!fk_is_device(address)) return (uint8_t *)(uintptr_t)address;
  FkBlock *b = fk_block_at(address, size);
  return b ? b->host + (address - b->at) : NULL;
}

static bool sees(const FkContext *c, const FkBlock *b) {
  return b->where != FK_ON_DEVICE || b->device == c->device || c->peers[b->device] ||
         (b->pool && b->pool->seen[c->device]);
}

/* What nobody has written is noticed. Of a very large block only the ends are filled: its pages come when they are used. */
static void fill(uint8_t *p, uint64_t size) {
  const uint64_t end = 32u << 20;
  memset(p, PATTERN, size < 16 * end ? size : end);
  if (size >= 16 * end) memset(p + size - end, PATTERN, end);
}

FkBlock *fk_block_new(FkContext *c, FkWhere where, uint64_t size, uint64_t align, FkPool *pool, const char *what,
                      int *code) {
  FkDevice *d = &fk.device[pool ? pool->device : c->device];
  uint64_t room = (size + GAP - 1) / GAP * GAP, step = align > GAP ? align : GAP;
  uint64_t at = (d->top + step - 1) / step * step;
  *code = CU_OUT_OF_MEMORY;
  if (where == FK_ON_DEVICE && (size > d->mem - d->used || room > d->end - at || at + room + GAP > d->end)) return NULL;
  FkBlock *b = FK_NEW(FkBlock);
  *b = (FkBlock){.where = where, .device = d->index, .size = size, .context = c, .pool = pool};
  b->host = aligned_alloc(GAP, room ? room : GAP);
  if (!b->host) {
    free(b);
    return NULL;
  }
  fill(b->host, room ? room : GAP);
  b->at = where == FK_ON_DEVICE ? at : (uint64_t)(uintptr_t)b->host;
  if (where == FK_ON_DEVICE) d->top = at + room + GAP, d->used += size;
  for (int k = 0; k < fk.config.devices; k++) {
    FkContext *user = fk.device[k].primary;
    bool seen = k == d->index || where != FK_ON_DEVICE || (user && sees(user, b));
    if (seen) ptx_space_add(fk.device[k].space, b->at, size, b->host, 0, what);
  }
  b->next = fk.blocks;
  fk.blocks = b;
  fk_race_watch(b);
  *code = CU_OK;
  return b;
}

void fk_block_free(FkBlock *b) {
  for (int k = 0; k < fk.config.devices; k++) ptx_space_drop(fk.device[k].space, b->at);
  if (b->where == FK_ON_DEVICE) fk.device[b->device].used -= b->size;
  for (FkBlock **p = &fk.blocks; *p; p = &(*p)->next)
    if (*p == b) {
      *p = b->next;
      break;
    }
  if (b->pool) b->pool->used -= b->size;
  fk_race_forget(b);
  if (b->where != FK_REGISTERED) free(b->host);
  free(b);
}

void fk_see_block(int from, FkBlock *b, bool on) {
  if (on) {
    ptx_space_add(fk.device[from].space, b->at, b->size, b->host, 0, "a peer's memory");
    if (b->marks.v) ptx_space_watch(fk.device[from].space, b->at, &b->marks);
  } else
    ptx_space_drop(fk.device[from].space, b->at);
}

void fk_blocks_of(FkContext *c, bool modules_too) {
  for (FkBlock *b = fk.blocks, *next; b; b = next) {
    next = b->next;
    if (b->context == c && (modules_too || !b->module)) fk_block_free(b);
  }
}

void fk_see_peer(int from, int to, bool on) {
  for (FkBlock *b = fk.blocks; b; b = b->next) {
    if (b->where == FK_ON_DEVICE && b->device == to) fk_see_block(from, b, on);
  }
}

/* --- allocating --- */

FK_API int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  ENTER_CONTEXT();
  const FkDevice *d = &fk.device[ctx->device];
  if (free_bytes) *free_bytes = d->mem - d->used;
  if (total) *total = d->mem;
  return CU_OK;
}

FK_API int cuMemAlloc_v2(CuPtr *out, size_t size) {
  ENTER_CONTEXT();
  UNSAFE();
  if (!out || !size) return CU_INVALID_VALUE;
  int code = fk_rule(__func__, NULL, ctx->device, size);
  if (code) return code;
  FkBlock *b = fk_block_new(ctx, FK_ON_DEVICE, size, 512, NULL, "cuMemAlloc", &code);
  if (b) *out = b->at;
  return code;
}

static int free_block(uint64_t at, FkWhere where) {
  for (FkBlock *b = fk.blocks; b; b = b->next) {
    if (b->at != at || b->where != where || b->module || b->array || b->freeing) continue;
    fk_drain_all(b->context); /* as the driver, which waits for the device */
    fk_block_free(b);
    return CU_OK;
  }
  return CU_INVALID_VALUE;
}

FK_API int cuMemFree_v2(CuPtr p) {
  ENTER_CONTEXT();
  UNSAFE();
  FkBlock *b = fk_block_at(p, 1);
  return p ? free_block(p, b && b->where == FK_MANAGED ? FK_MANAGED : FK_ON_DEVICE) : CU_OK;
}

static int host_new(FkContext *c, void **out, size_t size) {
  int code;
  if (!out || !size) return CU_INVALID_VALUE;
  FkBlock *b = fk_block_new(c, FK_ON_HOST, size, 512, NULL, "pinned memory", &code);
  if (b) *out = b->host;
  return code;
}
FK_API int cuMemHostAlloc(void **out, size_t size, unsigned flags) {
  ENTER_CONTEXT();
  UNSAFE();
  return flags > 7 ? CU_INVALID_VALUE : host_new(ctx, out, size);
}
FK_API int cuMemAllocHost_v2(void **out, size_t size) {
  ENTER_CONTEXT();
  UNSAFE();
  return host_new(ctx, out, size);
}
FK_API int cuMemFreeHost(void *p) {
  ENTER_CONTEXT();
  UNSAFE();
  return free_block((uint64_t)(uintptr_t)p, FK_ON_HOST);
}

/* Rows begin at multiples of 512 bytes. */
FK_API int cuMemAllocPitch_v2(CuPtr *out, size_t *pitch, size_t width, size_t height, unsigned element) {
  ENTER_CONTEXT();
  UNSAFE();
  int code;
  if (!out || !pitch || !width || !height || (element != 4 && element != 8 && element != 16)) return CU_INVALID_VALUE;
  size_t row = (width + 511) / 512 * 512;
  FkBlock *b = fk_block_new(ctx, FK_ON_DEVICE, row * height, 512, NULL, "cuMemAllocPitch", &code);
  if (b) *out = b->at, *pitch = row;
  return code;
}

FK_API int cuMemGetAddressRange_v2(CuPtr *base, size_t *size, CuPtr p) {
  ENTER_CONTEXT();
  const FkBlock *b = fk_block_at(p, 1);
  if (!b) return CU_NOT_FOUND;
  if (base) *base = b->at;
  if (size) *size = b->size;
  return CU_OK;
}
