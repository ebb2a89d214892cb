/* geometry/files.c -- files as a whole: read into memory, written beside the old one and put in its place. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "geometry/geometry.h"

static HdStatus io_error(HdContext *ctx, const char *call, const char *path, int error) {
  char detail[256];
  snprintf(detail, sizeof detail, "'%.160s': %.80s", path, strerror(error));
  return hd_context_fail(ctx, HD_ERR_IO, call, "path", detail);
}

HdStatus hdgeo_file_read(HdContext *ctx, const char *call, const char *path, uint8_t **bytes, uint64_t *size) {
  FILE *f = fopen(path, "rb");
  if (!f) return io_error(ctx, call, path, errno);
  bool readable = fgetc(f) != EOF || !ferror(f); /* a folder has a size, too */
  long length = readable && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
  if (length < 0 || fseek(f, 0, SEEK_SET) != 0) {
    HdStatus status = io_error(ctx, call, path, errno);
    fclose(f);
    return status;
  }
  uint8_t *to = hdhost_alloc(ctx, (size_t)length + 1);
  HdStatus status = HD_OK;
  if (!to) {
    status = hd_context_fail(ctx, HD_ERR_NOMEM, call, "", "");
  } else if (fread(to, 1, (size_t)length, f) != (size_t)length) {
    status = io_error(ctx, call, path, ferror(f) ? errno : EIO);
    hdhost_release(ctx, to, (size_t)length + 1);
  }
  fclose(f);
  if (status != HD_OK) return status;
  *bytes = to;
  *size = (uint64_t)length;
  return HD_OK;
}

void hdgeo_file_free(HdContext *ctx, uint8_t *bytes, uint64_t size) {
  if (bytes) hdhost_release(ctx, bytes, (size_t)size + 1);
}

HdStatus hdgeo_file_write(HdContext *ctx, const char *call, const char *path, int nparts, const void *const part[],
                          const uint64_t size[]) {
  size_t room = strlen(path) + sizeof ".part";
  char *temporary = hdhost_alloc(ctx, room);
  if (!temporary) return hd_context_fail(ctx, HD_ERR_NOMEM, call, "", "");
  snprintf(temporary, room, "%s.part", path);
  HdStatus status = HD_OK;
  FILE *f = fopen(temporary, "wb");
  bool good = f != NULL;
  for (int i = 0; i < nparts && good; i++) good = fwrite(part[i], 1, (size_t)size[i], f) == size[i];
  int error = errno;
  if (f && fclose(f) != 0 && good) {
    good = false;
    error = errno;
  }
  if (good && rename(temporary, path) != 0) {
    good = false;
    error = errno;
  }
  if (!good) {
    if (f) remove(temporary);
    status = io_error(ctx, call, path, error);
  }
  hdhost_release(ctx, temporary, room);
  return status;
}
