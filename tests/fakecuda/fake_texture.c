/* tests/fakecuda/fake_texture.c -- arrays of texels with levels, and texture objects. */
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

enum { U8 = 0x01, F16 = 0x10, F32 = 0x20 };
enum { WIDTH_3D = 24, WIDTH_2D = 73, WIDTH_1D = 77 }; /* attributes: the most texels */

unsigned fk_texel_bytes(const CuArrayShape *s) {
  return s->channels * (s->format == U8 ? 1 : s->format == F16 ? 2 : 4);
}

static FkMip *mip_of(void *handle) {
  for (FkMip *m = fk.mips; m; m = m->next)
    if (m == handle) return m;
  return NULL;
}

FkLevel *fk_level(void *handle) {
  for (FkMip *m = fk.mips; m; m = m->next)
    for (unsigned k = 0; k < m->levels; k++)
      if (&m->level[k] == handle) return &m->level[k];
  return NULL;
}

/* --- arrays --- */

static size_t half(size_t n, unsigned level) { return n == 0 ? 0 : n >> level > 1 ? n >> level : 1; }

static bool fits(int device, size_t n, int attribute) { return n <= (size_t)fk_attribute(device, attribute); }

static bool has_right_size(int dev, const CuArrayShape *s) {
  if (!s->width || (s->depth && !s->height)) return false;
  if (s->depth) return fits(dev, s->width, WIDTH_3D) && fits(dev, s->height, 25) && fits(dev, s->depth, 26);
  if (s->height) return fits(dev, s->width, WIDTH_2D) && fits(dev, s->height, 74);
  return fits(dev, s->width, WIDTH_1D);
}

/* More levels than there can be are cut off to these. */
static unsigned levels_of(const CuArrayShape *s, unsigned wanted) {
  unsigned most = 1;
  while (half(s->width, most - 1) > 1 || half(s->height, most - 1) > 1 || half(s->depth, most - 1) > 1) most++;
  return wanted < 1 ? 1 : wanted > most ? most : wanted;
}

FK_API int cuMipmappedArrayCreate(void **out, const CuArrayShape *s, unsigned levels) {
  ENTER_CONTEXT();
  UNSAFE();
  int code;
  if (!out || !s || (s->format != U8 && s->format != F16 && s->format != F32)) return CU_INVALID_VALUE;
  if ((s->channels != 1 && s->channels != 2 && s->channels != 4) || s->flags || !has_right_size(ctx->device, s))
    return CU_INVALID_VALUE;
  FkMip *m = FK_NEW(FkMip);
  *m = (FkMip){.kind = FK_MIP, .context = ctx, .shape = *s, .levels = levels_of(s, levels)};
  uint64_t size = 0;
  for (unsigned k = 0; k < m->levels; k++) {
    CuArrayShape l = *s;
    l.width = half(s->width, k), l.height = half(s->height, k), l.depth = half(s->depth, k);
    m->level[k] = (FkLevel){.kind = FK_LEVEL, .context = ctx, .at = size, .shape = l};
    size += (l.width * (l.height ? l.height : 1) * (l.depth ? l.depth : 1) * fk_texel_bytes(s) + 511) / 512 * 512;
  }
  code = fk_rule(__func__, NULL, ctx->device, size);
  m->block = code ? NULL : fk_block_new(ctx, FK_ON_DEVICE, size, 512, NULL, "an array of texels", &code);
  if (!m->block) {
    free(m);
    return code;
  }
  m->block->array = true;
  for (unsigned k = 0; k < m->levels; k++) m->level[k].at += m->block->at;
  m->next = fk.mips;
  fk.mips = m;
  *out = m;
  return CU_OK;
}

FK_API int cuMipmappedArrayGetLevel(void **out, void *handle, unsigned level) {
  ENTER_CONTEXT();
  FkMip *m = mip_of(handle);
  if (!m) return CU_INVALID_HANDLE;
  if (!out || level >= m->levels) return CU_INVALID_VALUE;
  *out = &m->level[level];
  return CU_OK;
}

static void mip_free(FkMip *m) {
  for (FkMip **p = &fk.mips; *p; p = &(*p)->next)
    if (*p == m) {
      *p = m->next;
      break;
    }
  free(m);
}

/* An object that still names it is a mistake. */
FK_API int cuMipmappedArrayDestroy(void *handle) {
  ENTER_CONTEXT();
  UNSAFE();
  FkMip *m = mip_of(handle);
  if (!m) return CU_INVALID_HANDLE;
  for (const FkTexture *t = fk.textures; t; t = t->next)
    if (t->of == m) return CU_INVALID_VALUE;
  fk_drain_all(m->context);
  fk_block_free(m->block);
  mip_free(m);
  return CU_OK;
}

FK_API int cuArray3DGetDescriptor_v2(CuArrayShape *out, void *array) {
  ENTER_CONTEXT();
  const FkLevel *l = fk_level(array);
  if (!l) return CU_INVALID_HANDLE;
  if (!out) return CU_INVALID_VALUE;
  *out = l->shape;
  return CU_OK;
}

/* --- texture objects --- */

static bool has_right_form(const CuTextureShape *s) {
  enum { NORMALIZED = 2, NO_TRILINEAR_TRICKS = 32, BORDER = 3, LINEAR = 1 };
  if (!(s->flags & NORMALIZED) || (s->flags & ~(unsigned)(NORMALIZED | NO_TRILINEAR_TRICKS))) return false;
  for (int a = 0; a < 3; a++)
    if (s->wrap[a] < 0 || s->wrap[a] > BORDER) return false;
  for (int k = 0; k < 12; k++)
    if (s->reserved[k]) return false;
  return s->filter >= 0 && s->filter <= LINEAR && s->mip_filter >= 0 && s->mip_filter <= LINEAR && s->least <= s->most;
}

static PtxTexture texture(const FkMip *m, const CuTextureShape *s) {
  const CuArrayShape *a = &m->shape;
  PtxTexture t = {.dims = a->depth    ? 3
                          : a->height ? 2
                                      : 1,
                  .size = {(uint32_t)a->width, a->height ? (uint32_t)a->height : 1, a->depth ? (uint32_t)a->depth : 1},
                  .channels = a->channels,
                  .levels = m->levels,
                  .format = a->format == U8    ? PTX_TEX_U8
                            : a->format == F16 ? PTX_TEX_F16
                                               : PTX_TEX_F32,
                  .normalized = true,
                  .linear = s->filter != 0,
                  .linear_levels = s->mip_filter != 0,
                  .bias = s->bias,
                  .least = s->least,
                  .most = s->most};
  for (int k = 0; k < 3; k++) t.wrap[k] = (PtxTexWrap)s->wrap[k];
  memcpy(t.border, s->border, sizeof t.border);
  for (unsigned k = 0; k < m->levels; k++) t.level[k] = m->level[k].at;
  return t;
}

FK_API int cuTexObjectCreate(uint64_t *out, const CuResource *of, const CuTextureShape *shape, const void *view) {
  enum { MIPMAPPED = 1 };
  ENTER_CONTEXT();
  if (!out || !of || !shape || of->flags) return CU_INVALID_VALUE;
  if (of->type != MIPMAPPED || view) return CU_NOT_SUPPORTED; /* here */
  FkMip *m = mip_of(of->of.handle);
  if (!m || !has_right_form(shape)) return CU_INVALID_VALUE;
  FkTexture *t = FK_NEW(FkTexture);
  *t = (FkTexture){.handle = 0x7e00000000ull + ++fk.ids, .context = ctx, .of = m, .next = fk.textures};
  fk.textures = t;
  PtxTexture is = texture(m, shape);
  ptx_space_texture(fk.device[ctx->device].space, t->handle, &is);
  *out = t->handle;
  return CU_OK;
}

static void texture_free(FkTexture *t) {
  ptx_space_texture(fk.device[t->context->device].space, t->handle, NULL);
  for (FkTexture **p = &fk.textures; *p; p = &(*p)->next)
    if (*p == t) {
      *p = t->next;
      break;
    }
  free(t);
}

FK_API int cuTexObjectDestroy(uint64_t object) {
  ENTER_CONTEXT();
  for (FkTexture *t = fk.textures; t; t = t->next)
    if (t->handle == object) {
      texture_free(t);
      return CU_OK;
    }
  return CU_INVALID_VALUE;
}

void fk_textures_of(FkContext *c) {
  for (FkTexture *t = fk.textures, *next; t; t = next) {
    next = t->next;
    if (t->context == c) texture_free(t);
  }
  for (FkMip *m = fk.mips, *next; m; m = next) {
    next = m->next;
    if (m->context == c) mip_free(m); /* its block goes with the context's */
  }
}
