/* geometry/mesh.c -- triangle meshes: a tree over the faces, and copies of what queries read. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "geometry/geometry.h"

enum { FACE_BOXES, GATHER, POINT_NORMALS, GROUP_MOMENTS, PAIR_MOMENTS, CLUSTERS, NKERNELS };
static const char *const kernel_names[] = {
    "face_boxes", "gather_triangles", "point_normals", "group_moments", "pair_moments", "clusters_of", NULL};

/* Of mesh_distance.hd, by HdMeshSign: all samples, and lines beyond a band. */
static const char *const sample_names[] = {"samples", "samples_by_normal", "samples_by_winding", "samples_by_parity"};
static const char *const line_names[] = {NULL, "lines_by_normal", "lines_by_winding", "lines_by_parity"};
enum { NSIGNS = 4 };

/* Bytes of structs of mesh.hd and mesh_build.hd. */
enum { TRIANGLE = 48, CLUSTER = 32, MOMENT = 28 };

struct HdMesh {
  HdContext *ctx;
  HdStream *stream;
  HdModule *module;
  HdKernel *kernel[NKERNELS];
  HdMeshOptions options;
  HdMeshReport report;
  int64_t npoints, nfaces;
  HdBvh *bvh;
  HdArray points, faces, low, high;
  HdArray triangles;                     /* in the order of the tree                            */
  HdArray normals, edge_next, clusters;  /* of length 0 without signs, as the next ones         */
  HdArray group, first, corner, moments; /* of points, (points + 1), (3 faces); levels of faces */
  HdModule *distance;                    /* NULL until it is asked for; kernels too             */
  HdKernel *samples[NSIGNS], *lines[NSIGNS];
};

typedef struct Groups { /* of faces; NULL, 0: none */
  const HdArray *of;
  int32_t count;
} Groups;

/* --- what is given --- */

static HdStatus check_faces(HdContext *ctx, int64_t npoints, int64_t nfaces, const int32_t faces[]) {
  for (int64_t e = 0; e < 3 * nfaces; e++) {
    if (faces[e] >= 0 && faces[e] < npoints) continue;
    char arg[48], detail[96];
    snprintf(arg, sizeof arg, "faces[%lld]", (long long)(e / 3));
    snprintf(detail, sizeof detail, "wanted points 0 to %lld, got %d", (long long)npoints - 1, faces[e]);
    return hd_context_fail(ctx, HD_ERR_ARG, "hd_mesh_new", arg, detail);
  }
  return HD_OK;
}

static bool is_finite(const float p[3]) { return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]); }

static void count_faces(HdMesh *m, const float points[], const int32_t faces[]) {
  for (int64_t i = 0; i < m->nfaces; i++) {
    const float *p[3];
    for (int k = 0; k < 3; k++) p[k] = points + 3 * faces[3 * i + k];
    if (!is_finite(p[0]) || !is_finite(p[1]) || !is_finite(p[2])) {
      m->report.not_finite++;
      continue;
    }
    double u[3], v[3];
    for (int a = 0; a < 3; a++) {
      u[a] = (double)p[1][a] - p[0][a];
      v[a] = (double)p[2][a] - p[0][a];
    }
    if (u[1] * v[2] == u[2] * v[1] && u[2] * v[0] == u[0] * v[2] && u[0] * v[1] == u[1] * v[0]) m->report.no_area++;
  }
}

/* --- what the device makes of it --- */

static HdStatus boxes(HdMesh *m) {
  return HDHOST_RUN1(m->kernel[FACE_BOXES], m->stream, m->nfaces, hd_arg_array(&m->points), hd_arg_array(&m->faces),
                     hd_arg_array(&m->low), hd_arg_array(&m->high));
}

/* All that depends on where points are, but the tree. */
static HdStatus derive(HdMesh *m) {
  HdArray order = hdgeo_bvh_order(m->bvh), nodes = hdgeo_bvh_nodes(m->bvh);
  HdArg points = hd_arg_array(&m->points), faces = hd_arg_array(&m->faces), triangles = hd_arg_array(&m->triangles);
  HD_TRY(HDHOST_RUN1(m->kernel[GATHER], m->stream, m->nfaces, points, faces, hd_arg_array(&order), triangles));
  if (!m->options.signs) return HD_OK;
  HdArg moments = hd_arg_array(&m->moments);
  HD_TRY(HDHOST_RUN1(m->kernel[POINT_NORMALS], m->stream, m->npoints, points, faces, hd_arg_array(&m->group),
                     hd_arg_array(&m->first), hd_arg_array(&m->corner), hd_arg_array(&m->normals)));
  HD_TRY(HDHOST_RUN1(m->kernel[GROUP_MOMENTS], m->stream, (m->nfaces + 3) / 4, triangles, moments));
  HD_TRY(hdgeo_pair_levels(m->stream, m->kernel[PAIR_MOMENTS], &m->moments, m->nfaces));
  return HDHOST_RUN1(m->kernel[CLUSTERS], m->stream, nodes.length[0], hd_arg_array(&nodes), triangles, moments,
                     hd_arg_array(&m->clusters));
}

static HdStatus make_arrays(HdMesh *m) {
  HdType vec3 = hd_type_vec(HD_F32, 3), vec3i = hd_type_vec(HD_I32, 3), i32 = hd_type_scalar(HD_I32);
  int64_t s = m->options.signs;
  const struct {
    HdArray *array;
    HdType type;
    int64_t length;
  } all[] = {{&m->points, vec3, m->npoints},
             {&m->faces, vec3i, m->nfaces},
             {&m->low, vec3, m->nfaces},
             {&m->high, vec3, m->nfaces},
             {&m->triangles, hd_type_struct(TRIANGLE), m->nfaces},
             {&m->normals, vec3, s * m->npoints},
             {&m->edge_next, i32, s * 3 * m->nfaces},
             {&m->group, i32, s * m->npoints},
             {&m->first, i32, s * (m->npoints + 1)},
             {&m->corner, i32, s * 3 * m->nfaces},
             {&m->moments, hd_type_struct(MOMENT), s * hdgeo_levels(m->nfaces)}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    HD_TRY(hd_array_zeros(m->ctx, hd_stream_device(m->stream), all[i].type, 1, &all[i].length, all[i].array));
  return HD_OK;
}

static HdStatus find_neighbours(HdMesh *m, const float points[], const int32_t faces[]) {
  size_t np = (size_t)m->npoints, ne = 3 * (size_t)m->nfaces, size = (2 * np + 1 + 2 * ne) * sizeof(int32_t);
  int32_t *memory = hdhost_alloc(m->ctx, size);
  if (!memory) return hd_context_fail(m->ctx, HD_ERR_NOMEM, "hd_mesh_new", "", "");
  GeoNeighbours of = {memory, memory + np, memory + 2 * np + 1, memory + 2 * np + 1 + ne};
  HdStatus status = hdgeo_neighbours(m->ctx, m->npoints, points, m->nfaces, faces, &of, &m->report);
  if (status != HD_OK) hd_context_fail(m->ctx, status, "hd_mesh_new", "", "");
  const struct {
    const int32_t *from;
    HdArray to;
  } all[] = {{of.group, m->group}, {of.first, m->first}, {of.corner, m->corner}, {of.edge_next, m->edge_next}};
  for (size_t i = 0; i < sizeof all / sizeof *all && status == HD_OK; i++)
    status = hdgeo_write(m->ctx, m->stream, all[i].from, all[i].to);
  hdhost_release(m->ctx, memory, size);
  return status;
}

/* With the points and faces on the host. */
static HdStatus start(HdMesh *m, const char *call, const Groups *groups, float points[], int32_t faces[]) {
  HD_TRY(hdgeo_read(m->ctx, m->stream, m->points, points));
  HD_TRY(hdgeo_read(m->ctx, m->stream, m->faces, faces));
  HD_TRY(check_faces(m->ctx, m->npoints, m->nfaces, faces));
  count_faces(m, points, faces);
  if (m->options.signs) HD_TRY(find_neighbours(m, points, faces));
  HD_TRY(boxes(m));
  HD_TRY(hdgeo_bvh_new(m->ctx, m->stream, call, &m->options.bvh, m->low, m->high, groups->of, groups->count, &m->bvh));
  int64_t nclusters = m->options.signs ? hdgeo_bvh_nodes(m->bvh).length[0] : 0;
  HD_TRY(hd_array_zeros(m->ctx, hd_stream_device(m->stream), hd_type_struct(CLUSTER), 1, &nclusters, &m->clusters));
  return derive(m);
}

static HdStatus make(HdMesh *m, const char *call, const Groups *groups, HdArray points, HdArray faces) {
  HD_TRY(hdhost_load(m->ctx, "geometry/mesh_build.hd", hdgeo_source("mesh_build"), hd_stream_device(m->stream),
                     kernel_names, &m->module, m->kernel));
  HD_TRY(make_arrays(m));
  HD_TRY(hd_array_copy(m->stream, points, m->points));
  HD_TRY(hd_array_copy(m->stream, faces, m->faces));
  size_t points_size = (size_t)m->npoints * 12, size = points_size + (size_t)m->nfaces * 12 + 1;
  char *memory = hdhost_alloc(m->ctx, size);
  if (!memory) return hd_context_fail(m->ctx, HD_ERR_NOMEM, "hd_mesh_new", "", "");
  HdStatus status = start(m, call, groups, (float *)memory, (int32_t *)(memory + points_size));
  hdhost_release(m->ctx, memory, size);
  return status;
}

/* --- the public calls --- */

static HdStatus mesh_new(HdContext *ctx, HdStream *stream, const char *call, const HdMeshOptions *options,
                         HdArray points, HdArray faces, const Groups *groups, HdMesh **out) {
  HD_TRY(hdhost_check_new(ctx, stream, call, out));
  HdMeshOptions defaults = HD_MESH_OPTIONS_INIT;
  HD_TRY(hdgeo_check(ctx, stream, call, "points", points, hd_type_vec(HD_F32, 3)));
  HD_TRY(hdgeo_check(ctx, stream, call, "faces", faces, hd_type_vec(HD_I32, 3)));
  if (faces.length[0] > GEO_MOST) return hd_context_fail(ctx, HD_ERR_SHAPE, call, "faces", "more than 2^28");
  if (points.length[0] >= INT32_MAX) return hd_context_fail(ctx, HD_ERR_SHAPE, call, "points", "more than 2^31 - 2");
  if (groups->of) HD_TRY(hdgeo_check_group(ctx, stream, call, *groups->of, faces));
  HdMesh *m = hdhost_alloc(ctx, sizeof *m);
  if (!m) return hd_context_fail(ctx, HD_ERR_NOMEM, call, "", "");
  m->ctx = ctx;
  m->stream = stream;
  m->options = options ? *options : defaults;
  m->npoints = points.length[0];
  m->nfaces = faces.length[0];
  m->report = (HdMeshReport){0, 0, -1, -1, -1};
  HdStatus status = make(m, call, groups, points, faces);
  if (status == HD_OK)
    *out = m;
  else
    hd_mesh_free(m);
  return status;
}

HdStatus hd_mesh_new(HdContext *ctx, HdStream *stream, const HdMeshOptions *options, HdArray points, HdArray faces,
                     HdMesh **out) {
  return mesh_new(ctx, stream, "hd_mesh_new", options, points, faces, &(const Groups){NULL, 0}, out);
}

HdStatus hd_mesh_new_groups(HdContext *ctx, HdStream *stream, const HdMeshOptions *options, HdArray points,
                            HdArray faces, HdArray group, int32_t ngroups, HdMesh **out) {
  return mesh_new(ctx, stream, "hd_mesh_new_groups", options, points, faces, &(const Groups){&group, ngroups}, out);
}

HdArray hd_mesh_roots(const HdMesh *m) { return hd_bvh_roots(m ? m->bvh : NULL); }

void hd_mesh_free(HdMesh *m) {
  if (!m) return;
  HdArray *all[] = {&m->points,  &m->faces,     &m->low,      &m->high,  &m->triangles, &m->moments,
                    &m->normals, &m->edge_next, &m->clusters, &m->group, &m->first,     &m->corner};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) hd_array_free(m->ctx, all[i]);
  hd_bvh_free(m->bvh);
  hd_module_free(m->module);
  hd_module_free(m->distance);
  hdhost_release(m->ctx, m, sizeof *m);
}

HdStatus hd_mesh_refit(HdMesh *m, HdArray points) {
  if (!m) return HD_ERR_ARG;
  HD_TRY(hdgeo_check(m->ctx, m->stream, "hd_mesh_refit", "points", points, hd_type_vec(HD_F32, 3)));
  if (points.length[0] != m->npoints)
    return hd_context_fail(m->ctx, HD_ERR_SHAPE, "hd_mesh_refit", "points", "the mesh has another number of points");
  HD_TRY(hd_array_copy(m->stream, points, m->points));
  HD_TRY(boxes(m));
  HD_TRY(hd_bvh_refit(m->bvh, m->low, m->high));
  return derive(m);
}

int32_t hd_mesh_args(const HdMesh *m, HdArg args[]) {
  int32_t n = hd_bvh_args(m->bvh, args);
  const HdArray *more[] = {&m->points, &m->faces, &m->triangles, &m->normals, &m->edge_next, &m->clusters};
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) args[n++] = hd_arg_array(more[i]);
  return n;
}

/* --- distances on a grid --- */

static HdStatus check_distances(HdMesh *m, const HdMeshDistanceOptions *o, const HdDenseGrid *grid) {
  const char *call = "hd_mesh_distances";
  HD_TRY(hdgeo_check_grid(m->ctx, m->stream, call, grid));
  if ((uint32_t)o->sign >= NSIGNS)
    return hd_context_fail(m->ctx, HD_ERR_ARG, call, "options.sign", "wanted one of HdMeshSign");
  if (!m->options.signs && (o->sign == HD_MESH_SIGN_NORMAL || o->sign == HD_MESH_SIGN_WINDING))
    return hd_context_fail(m->ctx, HD_ERR_ARG, call, "options.sign", "the mesh was made without signs");
  if (o->band == 0 || (o->sign == HD_MESH_SIGN_NONE && o->band > 0) || o->band > grid->spacing[2]) return HD_OK;
  char detail[96];
  snprintf(detail, sizeof detail, "wanted 0 or more than the spacing along z, %g, got %g", grid->spacing[2], o->band);
  return hd_context_fail(m->ctx, HD_ERR_ARG, call, "options.band", detail);
}

static HdStatus distance_kernel(HdMesh *m, const char *name, HdKernel **kernel) {
  if (!m->distance)
    HD_TRY(hdhost_open(m->ctx, "geometry/mesh_distance.hd", hdgeo_source("mesh_distance"), NULL, &m->distance));
  return *kernel ? HD_OK : hd_module_kernel(m->distance, name, hd_stream_device(m->stream), kernel);
}

HdStatus hd_mesh_distances(HdMesh *m, const HdMeshDistanceOptions *options, const HdDenseGrid *grid) {
  if (!m) return HD_ERR_ARG;
  HdMeshDistanceOptions defaults = HD_MESH_DISTANCE_OPTIONS_INIT;
  const HdMeshDistanceOptions *o = options ? options : &defaults;
  HD_TRY(check_distances(m, o, grid));
  bool lines = o->band != 0 && o->sign != HD_MESH_SIGN_NONE;
  HD_TRY(distance_kernel(m, sample_names[o->sign], &m->samples[o->sign]));
  if (lines) HD_TRY(distance_kernel(m, line_names[o->sign], &m->lines[o->sign]));
  HdArg args[HD_MESH_ARGS + HD_DENSE_GRID_ARGS + 2];
  int32_t n = hd_mesh_args(m, args);
  n += hd_dense_grid_args(grid, args + n);
  args[n] = hd_arg_f32(o->band == 0 ? INFINITY : o->band);
  args[n + 1] = hd_arg_f32(o->band == 0 || lines ? INFINITY : o->band);
  HD_TRY(hd_launch(m->samples[o->sign], m->stream, 3, grid->values.length, n + 2, args));
  return lines ? hd_launch(m->lines[o->sign], m->stream, 2, grid->values.length, n + 1, args) : HD_OK;
}

HdMeshReport hd_mesh_report(const HdMesh *m) { return m ? m->report : (HdMeshReport){0}; }

GeoMeshParts hdgeo_mesh_parts(const HdMesh *m) { return (GeoMeshParts){m->ctx, m->stream, m->points, m->faces}; }
