/* geometry/volume.c -- sparse volumes: a grid in NanoVDB's layout as an array of words, and files of it. */
#include <stdio.h>
#include <string.h>

#include "geometry/geometry.h"
#include "geometry/nanovdb.h"

struct HdVolume {
  HdContext *ctx;
  HdStream *stream;
  HdArray words; /* u32 */
  HdVolumeInfo info;
  int32_t root, type; /* in words; by the format's numbers */
  float to_index[9], to_world[9], origin[3];
};

static HdVolume *volume_new(HdContext *ctx, HdStream *stream) {
  HdVolume *v = hdhost_alloc(ctx, sizeof *v);
  if (!v) return NULL;
  v->ctx = ctx;
  v->stream = stream;
  return v;
}

/* What kernels and the info want of a grid that is right. */
static void describe(HdVolume *v, const uint8_t *grid) {
  HdVolumeInfo *info = &v->info;
  int64_t root;
  uint32_t leaves;
  double map[22];
  memcpy(&v->type, grid + NANO_TYPE, 4);
  memcpy(&root, grid + NANO_TREE + 24, 8);
  memcpy(&leaves, grid + NANO_NODES, 4);
  memcpy(&info->active, grid + NANO_ACTIVE, 8);
  memcpy(map, grid + NANO_MAP, sizeof map);
  memcpy(info->name, grid + NANO_NAME, 255);
  memcpy(info->low, grid + NANO_TREE + root, 12);
  memcpy(info->high, grid + NANO_TREE + root + 12, 12);
  info->type = v->type == NANO_F32    ? HD_VOLUME_F32
               : v->type == NANO_I32  ? HD_VOLUME_I32
               : v->type == NANO_VEC3 ? HD_VOLUME_VEC3
                                      : HD_VOLUME_NUMBERS;
  if (info->type == HD_VOLUME_NUMBERS) memcpy(&info->numbers, grid + NANO_COUNT, 8);
  info->leaves = leaves;
  v->root = (int32_t)((NANO_TREE + root) / 4);
  for (int i = 0; i < 9; i++) {
    info->to_world[i] = map[i];
    v->to_world[i] = (float)map[i];
    v->to_index[i] = (float)map[9 + i];
  }
  for (int i = 0; i < 3; i++) {
    info->origin[i] = map[18 + i];
    v->origin[i] = (float)map[18 + i];
  }
}

HdStatus hdgeo_volume_take(HdContext *ctx, HdStream *stream, HdArray words, const uint8_t head[], HdVolume **out) {
  HdVolume *v = volume_new(ctx, stream);
  if (!v) return hd_context_fail(ctx, HD_ERR_NOMEM, "hd_volume_new", "", "");
  v->words = words;
  describe(v, head);
  *out = v;
  return HD_OK;
}

void hdgeo_volume_set_active(HdVolume *v, int64_t active) { v->info.active = active; }

/* --- reading --- */

static HdStatus read_grid(HdVolume *v, const NanoBlob *b, char why[NANO_WHY]) {
  HostView view;
  if (b->size / 4 > INT32_MAX || b->size % 4) {
    snprintf(why, NANO_WHY, "a grid of %llu bytes; less than 2^33 are, and whole words", (unsigned long long)b->size);
    return HD_ERR_UNSUPPORTED;
  }
  int64_t words = (int64_t)(b->size / 4);
  HD_TRY(hd_array_new(v->ctx, hd_stream_device(v->stream), hd_type_scalar(HD_U32), 1, &words, &v->words));
  HD_TRY(hdhost_view(v->ctx, v->stream, v->words, &view));
  HdStatus status = hdgeo_nano_unpack(b, view.data, why);
  if (status == HD_OK) status = hdgeo_nano_check(view.data, b->size, why);
  if (status == HD_OK) describe(v, view.data);
  HdStatus back = hdhost_unview(v->ctx, &view, status == HD_OK);
  return status != HD_OK ? status : back;
}

static HdStatus read_file(HdContext *ctx, HdStream *stream, const char *call, const void *file, uint64_t size,
                          const char *name, HdVolume **out) {
  char why[NANO_WHY] = "";
  NanoBlob blob;
  HdStatus status = hdgeo_nano_find(file, size, name, &blob, why);
  if (status != HD_OK) return hd_context_fail(ctx, status, call, "file", why);
  HdVolume *v = volume_new(ctx, stream);
  if (!v) return hd_context_fail(ctx, HD_ERR_NOMEM, call, "", "");
  status = read_grid(v, &blob, why);
  if (status == HD_OK) {
    *out = v;
    return HD_OK;
  }
  hd_volume_free(v);
  return why[0] ? hd_context_fail(ctx, status, call, "file", why) : status; /* else the record is written */
}

HdStatus hd_volume_read(HdContext *ctx, HdStream *stream, const void *file, int64_t size, const char *name,
                        HdVolume **out) {
  if (size < 0 || (size && !file)) return hd_context_fail(ctx, HD_ERR_ARG, "hd_volume_read", "file", "there is none");
  return read_file(ctx, stream, "hd_volume_read", file, (uint64_t)size, name, out);
}

HdStatus hd_volume_load(HdContext *ctx, HdStream *stream, const char *path, const char *name, HdVolume **out) {
  const char *call = "hd_volume_load";
  uint8_t *bytes;
  uint64_t size;
  HD_TRY(hdgeo_file_read(ctx, call, path, &bytes, &size));
  HdStatus status = read_file(ctx, stream, call, bytes, size, name, out);
  hdgeo_file_free(ctx, bytes, size);
  return status;
}

void hd_volume_free(HdVolume *v) {
  if (!v) return;
  hd_array_free(v->ctx, &v->words);
  hdhost_release(v->ctx, v, sizeof *v);
}

/* --- writing --- */

static HdStatus save(HdVolume *v, const char *path, uint8_t *grid, uint64_t size, bool zip) {
  const char *call = "hd_volume_save";
  const uint32_t first = 0, one = 1;
  uint8_t head[NANO_FILE_HEAD];
  memcpy(grid + NANO_NUMBER, &first, 4);
  memcpy(grid + NANO_NUMBERS, &one, 4);
  hdgeo_nano_seal(grid);
  if (!zip) {
    uint64_t n = hdgeo_nano_head(grid, NANO_STORED, size, head);
    return hdgeo_file_write(v->ctx, call, path, 2, (const void *[]){head, grid}, (const uint64_t[]){n, size});
  }
  char why[NANO_WHY] = "";
  uint64_t room = size + size / 1000 + 64, packed; /* compressBound of zlib is less */
  uint8_t *bytes = hdhost_alloc(v->ctx, (size_t)room);
  if (!bytes) return hd_context_fail(v->ctx, HD_ERR_NOMEM, call, "", "");
  HdStatus status = hdgeo_zip(grid, size, bytes, room, &packed, why);
  if (status != HD_OK) {
    hd_context_fail(v->ctx, status, call, "zip", why);
  } else {
    uint64_t n = hdgeo_nano_head(grid, NANO_ZIP, packed + 8, head);
    status = hdgeo_file_write(v->ctx, call, path, 3, (const void *[]){head, &packed, bytes},
                              (const uint64_t[]){n, 8, packed});
  }
  hdhost_release(v->ctx, bytes, (size_t)room);
  return status;
}

HdStatus hd_volume_save(HdVolume *v, const char *path, bool zip) {
  if (!v) return HD_ERR_ARG;
  if (!path) return hd_context_fail(v->ctx, HD_ERR_ARG, "hd_volume_save", "path", "it is NULL");
  uint64_t size = (uint64_t)v->words.length[0] * 4;
  uint8_t *grid = hdhost_alloc(v->ctx, (size_t)size);
  if (!grid) return hd_context_fail(v->ctx, HD_ERR_NOMEM, "hd_volume_save", "", "");
  HdStatus status = hdgeo_read(v->ctx, v->stream, v->words, grid);
  if (status == HD_OK) status = save(v, path, grid, size, zip);
  hdhost_release(v->ctx, grid, (size_t)size);
  return status;
}

/* --- use --- */

int32_t hd_volume_args(const HdVolume *v, HdArg args[]) {
  HdType mat33 = hd_type_mat(HD_F32, 3, 3);
  args[0] = hd_arg_array(&v->words);
  args[1] = hd_arg_i32(v->root);
  args[2] = hd_arg_i32(v->type);
  args[3] = hd_arg_value(mat33, v->to_index);
  args[4] = hd_arg_value(mat33, v->to_world);
  args[5] = hdhost_vec(3, v->origin);
  return HD_VOLUME_ARGS;
}

HdVolumeInfo hd_volume_info(const HdVolume *v) { return v ? v->info : (HdVolumeInfo){0}; }
