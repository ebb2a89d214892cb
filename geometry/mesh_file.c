/* geometry/mesh_file.c -- meshes from files, by assimp, and to files, in a few lines each of OBJ, STL and PLY. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "geometry/mesh_file.h"

/* --- memory --- */

static void *part_new(HdContext *ctx, int64_t n, size_t size) { return hdhost_alloc(ctx, (size_t)(n ? n : 1) * size); }

static void part_free(HdContext *ctx, void *p, int64_t n, size_t size) {
  if (p) hdhost_release(ctx, p, (size_t)(n ? n : 1) * size);
}

HdStatus hdgeo_soup_new(HdContext *ctx, GeoSoup *s, bool normals) {
  s->points = part_new(ctx, s->points_room, 12);
  s->faces = part_new(ctx, s->faces_room, 12);
  if (normals) s->normals = part_new(ctx, s->points_room, 12);
  return s->points && s->faces && (s->normals || !normals) ? HD_OK : HD_ERR_NOMEM;
}

void hdgeo_soup_free(HdContext *ctx, GeoSoup *s) {
  part_free(ctx, s->points, s->points_room, 12);
  part_free(ctx, s->faces, s->faces_room, 12);
  part_free(ctx, s->normals, s->points_room, 12);
}

static HdStatus data_new(HdContext *ctx, int64_t npoints, int64_t nfaces, bool normals, HdMeshData *out) {
  HdMeshData d = {.npoints = npoints, .nfaces = nfaces};
  d.points = part_new(ctx, npoints, 12);
  d.faces = part_new(ctx, nfaces, 12);
  if (normals) d.normals = part_new(ctx, npoints, 12);
  if (d.points && d.faces && (d.normals || !normals)) {
    *out = d;
    return HD_OK;
  }
  hd_mesh_data_free(ctx, &d);
  return HD_ERR_NOMEM;
}

void hd_mesh_data_free(HdContext *ctx, HdMeshData *d) {
  if (!d) return;
  part_free(ctx, d->points, d->npoints, 12);
  part_free(ctx, d->faces, d->nfaces, 12);
  part_free(ctx, d->normals, d->npoints, 12);
  *d = (HdMeshData){0};
}

/* --- from triangles to a mesh --- */

static HdStatus check(const GeoSoup *s, char why[GEO_WHY]) {
  if (!s->nfaces) {
    snprintf(why, GEO_WHY, "there are no triangles in it");
    return HD_ERR_FORMAT;
  }
  for (int64_t e = 0; e < 3 * s->nfaces; e++) {
    const float *p = s->points + 3 * (int64_t)s->faces[e];
    if (isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2])) continue;
    snprintf(why, GEO_WHY, "triangle %lld has a corner that is not finite: %g %g %g", (long long)(e / 3), p[0], p[1],
             p[2]);
    return HD_ERR_FORMAT;
  }
  return HD_OK;
}

static uint32_t hash(const float p[3], uint32_t h) {
  for (int a = 0; a < 3; a++) {
    uint32_t b;
    float x = p[a] + 0.0f; /* -0 as 0 */
    memcpy(&b, &x, sizeof b);
    h = (h ^ b) * 0x9E3779B1u;
    h ^= h >> 15;
  }
  return h;
}

static bool equal(const float p[3], const float q[3]) { return p[0] == q[0] && p[1] == q[1] && p[2] == q[2]; }

static bool same_point(const GeoSoup *s, int64_t i, int64_t j) {
  return equal(s->points + 3 * i, s->points + 3 * j) && (!s->normals || equal(s->normals + 3 * i, s->normals + 3 * j));
}

/* Numbers the points that faces name, in the order in which they first do; equal ones are one. number[i] is i's number, origin[k]
 * the first point with number k. Returns how many there are. */
static int64_t join(const GeoSoup *s, int32_t table[], size_t slots, int32_t number[], int32_t origin[]) {
  int64_t count = 0;
  memset(number, -1, (size_t)s->npoints * sizeof *number);
  for (int64_t e = 0; e < 3 * s->nfaces; e++) {
    int64_t i = s->faces[e];
    if (number[i] >= 0) continue;
    uint32_t h = hash(s->points + 3 * i, 0);
    if (s->normals) h = hash(s->normals + 3 * i, h);
    size_t at = h & (slots - 1);
    while (table[at] && !same_point(s, origin[table[at] - 1], i)) at = (at + 1) & (slots - 1);
    if (!table[at]) {
      origin[count] = (int32_t)i;
      table[at] = (int32_t)++count;
    }
    number[i] = table[at] - 1;
  }
  return count;
}

static void unit(float n[3]) {
  double l = sqrt((double)n[0] * n[0] + (double)n[1] * n[1] + (double)n[2] * n[2]);
  for (int a = 0; a < 3; a++) n[a] = l > 0 && isfinite(l) ? (float)(n[a] / l) : 0;
}

static HdStatus finish(HdContext *ctx, GeoSoup *s, HdMeshData *out) {
  for (int64_t i = 0; s->normals && i < s->npoints; i++) unit(s->normals + 3 * i);
  size_t slots = 16;
  while (slots < (size_t)s->npoints * 2) slots *= 2;
  size_t size = (slots + 2 * (size_t)s->npoints) * sizeof(int32_t);
  int32_t *table = hdhost_alloc(ctx, size);
  if (!table) return HD_ERR_NOMEM;
  int32_t *number = table + slots, *origin = number + s->npoints;
  int64_t count = join(s, table, slots, number, origin);
  HdStatus status = data_new(ctx, count, s->nfaces, s->normals, out);
  if (status == HD_OK) {
    for (int64_t k = 0; k < count; k++) {
      memcpy(out->points + 3 * k, s->points + 3 * (int64_t)origin[k], 12);
      if (s->normals) memcpy(out->normals + 3 * k, s->normals + 3 * (int64_t)origin[k], 12);
    }
    for (int64_t e = 0; e < 3 * s->nfaces; e++) out->faces[e] = number[s->faces[e]];
  }
  hdhost_release(ctx, table, size);
  return status;
}

/* assimp 5.2 does not return from a PLY file without a line that is end_header. */
static bool has_end(const uint8_t bytes[], uint64_t size) {
  static const char end[] = "end_header";
  const uint64_t n = sizeof end - 1;
  for (uint64_t at = 1; at + n < size; at++)
    if ((bytes[at - 1] == '\n' || bytes[at - 1] == '\r') && memcmp(bytes + at, end, n) == 0 &&
        (bytes[at + n] == '\n' || bytes[at + n] == '\r'))
      return true;
  return false;
}

static uint32_t word(const uint8_t *at) {
  return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* What assimp does not check, and goes astray on. */
static const char *wrong_head(const uint8_t bytes[], uint64_t size) {
  if (size >= 3 && strncasecmp((const char *)bytes, "ply", 3) == 0 && !has_end(bytes, size))
    return "the head of a PLY file has no end";
  if (size >= 4 && memcmp(bytes, "glTF", 4) == 0 &&
      (size < 20 || word(bytes + 8) > size || word(bytes + 12) > size - 20))
    return "a part of the GLB file is longer than the file";
  return NULL;
}

static HdStatus check_head(HdContext *ctx, const char *call, const GeoMeshSource *from) {
  const char *wrong;
  if (!from->path) {
    wrong = wrong_head((const uint8_t *)from->bytes, from->size);
  } else {
    uint8_t *bytes;
    uint64_t size;
    HD_TRY(hdgeo_file_read(ctx, call, from->path, &bytes, &size));
    wrong = size ? wrong_head(bytes, size) : "the file is empty";
    hdgeo_file_free(ctx, bytes, size);
  }
  return wrong ? hd_context_fail(ctx, HD_ERR_FORMAT, call, from->path ? "path" : "file", wrong) : HD_OK;
}

static HdStatus read_source(HdContext *ctx, const char *call, const HdMeshFileOptions *options, GeoMeshSource from,
                            HdMeshData *out) {
  HdMeshFileOptions defaults = HD_MESH_FILE_OPTIONS_INIT;
  if (!options) options = &defaults;
  for (int a = 0; a < 3; a++)
    if (!isfinite(options->scale[a]) || options->scale[a] == 0)
      return hd_context_fail(ctx, HD_ERR_ARG, call, "options.scale", "wanted finite numbers other than 0");
  memcpy(from.scale, options->scale, sizeof from.scale);
  from.normals = options->normals;
  HD_TRY(check_head(ctx, call, &from));
  char why[GEO_WHY] = "";
  GeoSoup s = {0};
  HdStatus status = hdgeo_assimp(ctx, &from, &s, why);
  if (status == HD_OK) status = check(&s, why);
  if (status == HD_OK) status = finish(ctx, &s, out);
  hdgeo_soup_free(ctx, &s);
  if (status == HD_OK) return HD_OK;
  if (!from.path || status == HD_ERR_NOMEM) return hd_context_fail(ctx, status, call, from.path ? "" : "file", why);
  char detail[256];
  const size_t most = 80, length = strlen(from.path);
  bool cut = length > most;
  snprintf(detail, sizeof detail, "'%s%s': %.150s", cut ? ".." : "", from.path + (cut ? length - most : 0), why);
  return hd_context_fail(ctx, status, call, "path", detail);
}

HdStatus hd_mesh_data_load(HdContext *ctx, const char *path, const HdMeshFileOptions *options, HdMeshData *out) {
  if (!path) return hd_context_fail(ctx, HD_ERR_ARG, "hd_mesh_data_load", "path", "it is NULL");
  return read_source(ctx, "hd_mesh_data_load", options, (GeoMeshSource){.path = path}, out);
}

HdStatus hd_mesh_data_read(HdContext *ctx, const void *file, int64_t size, const char *format,
                           const HdMeshFileOptions *options, HdMeshData *out) {
  const char *call = "hd_mesh_data_read";
  if (size <= 0 || !file) return hd_context_fail(ctx, HD_ERR_FORMAT, call, "file", "it is empty");
  if (size > UINT32_MAX) return hd_context_fail(ctx, HD_ERR_UNSUPPORTED, call, "file", "more than 2^32 - 1 bytes");
  return read_source(ctx, call, options, (GeoMeshSource){.bytes = file, .size = (uint64_t)size, .format = format}, out);
}

/* --- to files --- */

typedef struct Text {
  char *bytes;
  size_t size, room;
} Text;

/* A line; there is room for it. */
#define LINE(t, ...) ((t)->size += (size_t)snprintf((t)->bytes + (t)->size, (t)->room - (t)->size, __VA_ARGS__))

enum { LINE_ROOM = 80 }; /* three numbers of %.9g, or three pairs of indices */

static void write_obj(const HdMeshData *d, Text *t) {
  for (int64_t i = 0; i < d->npoints; i++)
    LINE(t, "v %.9g %.9g %.9g\n", d->points[3 * i], d->points[3 * i + 1], d->points[3 * i + 2]);
  for (int64_t i = 0; d->normals && i < d->npoints; i++)
    LINE(t, "vn %.9g %.9g %.9g\n", d->normals[3 * i], d->normals[3 * i + 1], d->normals[3 * i + 2]);
  for (int64_t i = 0; i < d->nfaces; i++) {
    long long f[3] = {d->faces[3 * i] + 1LL, d->faces[3 * i + 1] + 1LL, d->faces[3 * i + 2] + 1LL};
    if (d->normals)
      LINE(t, "f %lld//%lld %lld//%lld %lld//%lld\n", f[0], f[0], f[1], f[1], f[2], f[2]);
    else
      LINE(t, "f %lld %lld %lld\n", f[0], f[1], f[2]);
  }
}

static void put(Text *t, const void *bytes, size_t n) {
  memcpy(t->bytes + t->size, bytes, n);
  t->size += n;
}

static void write_ply(const HdMeshData *d, Text *t) {
  LINE(t, "ply\nformat binary_little_endian 1.0\nelement vertex %lld\n", (long long)d->npoints);
  LINE(t, "property float x\nproperty float y\nproperty float z\n");
  if (d->normals) LINE(t, "property float nx\nproperty float ny\nproperty float nz\n");
  LINE(t, "element face %lld\nproperty list uchar int vertex_indices\nend_header\n", (long long)d->nfaces);
  for (int64_t i = 0; i < d->npoints; i++) {
    put(t, d->points + 3 * i, 12);
    if (d->normals) put(t, d->normals + 3 * i, 12);
  }
  for (int64_t i = 0; i < d->nfaces; i++) {
    put(t, &(const uint8_t){3}, 1);
    put(t, d->faces + 3 * i, 12);
  }
}

static void write_stl(const HdMeshData *d, Text *t) {
  const char head[80] = "binary STL";
  uint32_t count = (uint32_t)d->nfaces;
  put(t, head, sizeof head);
  put(t, &count, 4);
  for (int64_t i = 0; i < d->nfaces; i++) {
    const float *p[3];
    for (int k = 0; k < 3; k++) p[k] = d->points + 3 * (int64_t)d->faces[3 * i + k];
    float u[3], v[3], n[3];
    for (int a = 0; a < 3; a++) {
      u[a] = p[1][a] - p[0][a];
      v[a] = p[2][a] - p[0][a];
    }
    for (int a = 0; a < 3; a++) n[a] = u[(a + 1) % 3] * v[(a + 2) % 3] - u[(a + 2) % 3] * v[(a + 1) % 3];
    unit(n);
    put(t, n, 12);
    for (int k = 0; k < 3; k++) put(t, p[k], 12);
    put(t, &(const uint16_t){0}, 2);
  }
}

static HdStatus check_data(HdContext *ctx, const char *call, const HdMeshData *d) {
  if (d->npoints < 0 || d->nfaces < 0 || (d->npoints && !d->points) || (d->nfaces && !d->faces))
    return hd_context_fail(ctx, HD_ERR_ARG, call, "data", "points or faces are missing");
  if (d->npoints >= INT32_MAX || d->nfaces > GEO_MOST)
    return hd_context_fail(ctx, HD_ERR_SHAPE, call, "data", "more than 2^31 - 2 points or 2^28 faces");
  for (int64_t e = 0; e < 3 * d->nfaces; e++) {
    if (d->faces[e] >= 0 && d->faces[e] < d->npoints) continue;
    char detail[96];
    snprintf(detail, sizeof detail, "face %lld: wanted points 0 to %lld, got %d", (long long)(e / 3),
             (long long)d->npoints - 1, d->faces[e]);
    return hd_context_fail(ctx, HD_ERR_ARG, call, "data.faces", detail);
  }
  return HD_OK;
}

HdStatus hd_mesh_data_save(HdContext *ctx, const char *path, const HdMeshData *data) {
  const char *call = "hd_mesh_data_save";
  if (!path) return hd_context_fail(ctx, HD_ERR_ARG, call, "path", "it is NULL");
  static const struct {
    const char *end;
    void (*write)(const HdMeshData *, Text *);
    size_t of_point, of_face;
  } formats[] = {
      {".obj", write_obj, LINE_ROOM * 2, LINE_ROOM}, {".ply", write_ply, 24, 13}, {".stl", write_stl, 0, 50}};
  const char *end = strrchr(path, '.');
  size_t k = 0;
  while (k < 3 && !(end && strcasecmp(end, formats[k].end) == 0)) k++;
  if (k == 3)
    return hd_context_fail(ctx, HD_ERR_UNSUPPORTED, call, "path", "wanted a name that ends in .obj, .ply or .stl");
  HD_TRY(check_data(ctx, call, data));
  Text t = {.room = 512 + (size_t)data->npoints * formats[k].of_point + (size_t)data->nfaces * formats[k].of_face};
  t.bytes = hdhost_alloc(ctx, t.room);
  if (!t.bytes) return hd_context_fail(ctx, HD_ERR_NOMEM, call, "", "");
  formats[k].write(data, &t);
  HdStatus status = hdgeo_file_write(ctx, call, path, 1, (const void *[]){t.bytes}, (const uint64_t[]){t.size});
  hdhost_release(ctx, t.bytes, t.room);
  return status;
}
