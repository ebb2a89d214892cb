/* heddle/geometry.h -- spatial structures for kernels: trees of boxes, triangle meshes, hash grids, fields.
 *
 * A structure lives on the device of the stream that it was made with, and is changed in that stream's order. A kernel takes it as
 * a parameter of the struct with its name, `Bvh`, `Mesh` or `HashGrid`, and asks it with the functions of lib/geometry. Such a
 * struct is passed as its fields, one argument each, which hd_bvh_args and its like write. Lengths have the unit of the points.
 * Errors are written to the context's record. Asked of NULL, counts are 0 and arrays have length 0.
 */
#ifndef HEDDLE_GEOMETRY_H
#define HEDDLE_GEOMETRY_H

#include "heddle/heddle.h"
HD_BEGIN_DECLS

/* --- trees of boxes (lib/geometry/bvh.hd) --- */

typedef struct HdBvh HdBvh;

typedef enum HdBvhBuilder {
  HD_BVH_SAH = 0, /* on the host, by the surface area heuristic: slower to make, faster to ask     */
  HD_BVH_MORTON,  /* on the device, along a curve through space: much faster to make, slower to ask   */
} HdBvhBuilder;

typedef struct HdBvhOptions {
  HdBvhBuilder builder;
  int32_t      leaf; /* the most primitives of a leaf, 1 to 7 */
} HdBvhOptions;
#define HD_BVH_OPTIONS_INIT { HD_BVH_SAH, 4 }

/* Make a tree over the boxes from low[i] to high[i] (n x vec<f32, 3> both, of the stream's device). No query meets a box that
 * is not finite or whose low is above its high. None at all are fine. `options` may be NULL.
 *
 * Ownership  the caller owns *out, until hd_bvh_free, at which the stream must be done with it; the arrays are borrowed for the call.
 * Order      HD_BVH_SAH waits for the stream.
 * Errors     HD_ERR_TYPE, HD_ERR_SHAPE, HD_ERR_DEVICE, HD_ERR_ARG name what is wrong; more than 2^28 boxes are HD_ERR_SHAPE. */
HD_API HdStatus hd_bvh_new(HdContext *ctx, HdStream *stream, const HdBvhOptions *options, HdArray low, HdArray high,
                           HdBvh **out);
/* The same over several groups, 0 to ngroups - 1, as of environments: group[i] is that of box i (n x i32). A walk that begins at a
 * group's root (`i32 root[]`; lib/geometry/bvh_groups.hd) meets no other group; one from the tree's meets all. Groups stay as they
 * are made, through refits and rebuilds. Some may be empty.
 *
 * Order      waits for the stream.
 * Errors     HD_ERR_ARG names the first box whose group is not there, or for ngroups that are not 1 to 2^20. */
HD_API HdStatus hd_bvh_new_groups(HdContext *ctx, HdStream *stream, const HdBvhOptions *options, HdArray low, HdArray high,
                                  HdArray group, int32_t ngroups, HdBvh **out);
HD_API HdArray  hd_bvh_roots(const HdBvh *b); /* (ngroups x i32), lent as the arguments are; without groups of length 0 */
HD_API void     hd_bvh_free(HdBvh *b); /* NULL is fine */
/* Boxes that moved, in the same number: the tree keeps its form. On the device, in stream order. */
HD_API HdStatus hd_bvh_refit(HdBvh *b, HdArray low, HdArray high);
/* Boxes of any number, with groups in the same: the tree is made anew, as by hd_bvh_new. */
HD_API HdStatus hd_bvh_rebuild(HdBvh *b, HdArray low, HdArray high);
/* The tree as the arguments for a parameter of type Bvh: HD_BVH_ARGS of them, which is what it returns. Lent until the next
 * rebuild or the end. */
#define HD_BVH_ARGS 2
HD_API int32_t  hd_bvh_args(const HdBvh *b, HdArg args[]);
HD_API int64_t  hd_bvh_count(const HdBvh *b); /* of primitives */
HD_API int32_t  hd_bvh_depth(const HdBvh *b); /* no way from the root to a leaf passes more nodes */

/* --- triangle meshes (lib/geometry/mesh.hd) --- */

typedef struct HdMesh HdMesh;

typedef struct HdMeshOptions {
  HdBvhOptions bvh;
  bool         signs; /* prepare for telling inside from outside by normals and winding numbers         */
} HdMeshOptions;
#define HD_MESH_OPTIONS_INIT { HD_BVH_OPTIONS_INIT, true }

/* What was found in a mesh. None of it is an error. */
typedef struct HdMeshReport {
  int64_t not_finite;   /* faces with a corner that is not finite: no query finds them              */
  int64_t no_area;      /* faces that are a segment or a point: rays miss them                      */
  int64_t open_edges;   /* edges with one face; -1 in a mesh without signs, as the next two         */
  int64_t shared_edges; /* edges with more than two                                                 */
  int64_t turned_edges; /* edges whose two faces look to different sides                            */
} HdMeshReport;

/* Make a mesh of `points` (n x vec<f32, 3>) and `faces` (m x vec<i32, 3>: three points each, counter-clockwise seen from outside),
 * both on the stream's device. Points in the same place are one point where faces are asked for their neighbours. No faces at
 * all are fine: queries find nothing. `options` may be NULL.
 *
 * Ownership  the caller owns *out, until hd_mesh_free, at which the stream must be done with it; the arrays are copied.
 * Order      waits for the stream.
 * Errors     HD_ERR_ARG names the first face with a point that is not there; HD_ERR_TYPE, HD_ERR_SHAPE, HD_ERR_DEVICE as
 *            hd_bvh_new. */
HD_API HdStatus hd_mesh_new(HdContext *ctx, HdStream *stream, const HdMeshOptions *options, HdArray points, HdArray faces,
                            HdMesh **out);
/* The same over several groups of faces, as hd_bvh_new_groups has them. */
HD_API HdStatus hd_mesh_new_groups(HdContext *ctx, HdStream *stream, const HdMeshOptions *options, HdArray points, HdArray faces,
                                   HdArray group, int32_t ngroups, HdMesh **out);
HD_API HdArray  hd_mesh_roots(const HdMesh *m);
HD_API void     hd_mesh_free(HdMesh *m); /* NULL is fine */
/* Points that moved, in the same number. On the device, in stream order; until then queries see the old ones. Which points are
 * in one place stays as it was. */
HD_API HdStatus hd_mesh_refit(HdMesh *m, HdArray points);
/* The mesh as the arguments for a parameter of type Mesh: HD_MESH_ARGS of them, which is what it returns. Lent until the end. */
#define HD_MESH_ARGS 8
HD_API int32_t  hd_mesh_args(const HdMesh *m, HdArg args[]);
/* As of hd_mesh_new. */
HD_API HdMeshReport hd_mesh_report(const HdMesh *m);

/* What a solid with density 1 weighs, where its center of mass is, and its inertia about that, along the axes of the points. */
typedef struct HdMassProperties {
  double volume;
  double center[3];     /* 0 without volume */
  double inertia[3][3];
} HdMassProperties;

/* Those of the inside of a closed mesh, computed on the host in f64, face by face in their order, so with the same bits for every
 * device. Faces that look inward count negative; those with a corner that is not finite not at all. What a mesh with holes gives
 * depends on where they are (hd_mesh_report counts open edges).
 *
 * Order      waits for the mesh's stream.
 * Errors     HD_ERR_NOMEM. */
HD_API HdStatus hd_mesh_mass(const HdMesh *m, HdMassProperties *out);

/* --- files of meshes --- */

/* Host memory. */
typedef struct HdMeshData {
  int64_t  npoints, nfaces;
  float   *points;  /* (npoints x 3)                                             */
  float   *normals; /* of points, of length 1 or 0; NULL: none     (npoints x 3) */
  int32_t *faces;   /* counter-clockwise seen from outside          (nfaces x 3) */
} HdMeshData;

typedef struct HdMeshFileOptions {
  float scale[3]; /* coordinates are multiplied by these; faces of a mirrored mesh are turned round */
  bool  normals;  /* wanted: points in one place are one only if their normals are equal, too       */
} HdMeshFileOptions;
#define HD_MESH_FILE_OPTIONS_INIT { {1, 1, 1}, false }

/* Read all triangles of an OBJ, STL, PLY or glTF (.gltf, .glb) file as one mesh, by libassimp.so.5, which is opened for it; other formats
 * that it knows are read as well. Polygons are cut into triangles, lines and points are left out, what is placed in a scene is moved there,
 * once for each place. Points come in the order in which triangles name them; those with equal coordinates are one. Normals
 * are those of the file, and none if a part of it has none. hd_mesh_data_read takes a file's bytes, of a `format` called "obj", "stl",
 * "ply", "gltf" or "glb". Polygons of up to 64 corners need not be convex. `options` may be NULL.
 *
 * Ownership  the caller owns *out, until hd_mesh_data_free; `file` is borrowed for the call.
 * Errors     HD_ERR_IO with the system's message; HD_ERR_FORMAT for a file that is empty, damaged or not what its name says, for one
 *            without triangles, and for a corner that is not finite or not there (a glTF face with one is left out); HD_ERR_UNSUPPORTED if assimp is not installed, or for
 *            more than 2^31 - 2 points or 2^28 triangles; HD_ERR_ARG for a scale that is 0 or not finite; HD_ERR_NOMEM. */
HD_API HdStatus hd_mesh_data_load(HdContext *ctx, const char *path, const HdMeshFileOptions *options, HdMeshData *out);
HD_API HdStatus hd_mesh_data_read(HdContext *ctx, const void *file, int64_t size, const char *format,
                                  const HdMeshFileOptions *options, HdMeshData *out);
HD_API void     hd_mesh_data_free(HdContext *ctx, HdMeshData *d); /* NULL is fine */
/* Write a mesh to a file that ends in .obj, .ply or .stl (the latter two in binary; STL without points' normals). All digits of
 * coordinates are kept. A file that could not be written whole is not there; one that was there before stays.
 *
 * Errors     HD_ERR_IO with the system's message; HD_ERR_UNSUPPORTED for another ending; HD_ERR_ARG names the first face with a point
 *            that is not there; HD_ERR_SHAPE for more than hd_mesh_data_load takes; HD_ERR_NOMEM. */
HD_API HdStatus hd_mesh_data_save(HdContext *ctx, const char *path, const HdMeshData *data);

/* --- convex hulls --- */

/* Host memory: the corners, each one of the points that were given, and triangles of them. For convex_hull of lib/geometry/convex.hd
 * the points belong into an array, for hd_mesh_new the faces too. */
typedef struct HdConvexHull {
  int64_t  npoints, nfaces;
  float   *points; /* (npoints x 3)                                                                     */
  int32_t *source; /* which one of the given points each is                                   (npoints) */
  int32_t *faces;  /* counter-clockwise seen from outside                                  (nfaces x 3) */
} HdConvexHull;

/* Find the hull of `npoints` points of three floats, on the host. Points within a billionth of the largest extent of a face count as
 * on it, and are left out; of points in one place one is taken.
 *
 * Ownership  the caller owns *out, until hd_convex_hull_free; the points are borrowed.
 * Errors     HD_ERR_ARG names the first point that is not finite, or says that the points are fewer than four, in one place, on one
 *            line or in one plane; HD_ERR_SHAPE for more than 2^28; HD_ERR_NOMEM. */
HD_API HdStatus hd_convex_hull_new(HdContext *ctx, int64_t npoints, const float points[], HdConvexHull *out);
HD_API void     hd_convex_hull_free(HdContext *ctx, HdConvexHull *h); /* NULL is fine */

/* --- hash grids (lib/geometry/hash_grid.hd) --- */

typedef struct HdHashGrid HdHashGrid;

typedef struct HdHashGridOptions {
  float   cell;      /* the width of a cell: about the radius of queries                        */
  int32_t dims[3];   /* cells along each axis, powers of two; space wraps around them           */
  float   origin[3]; /* a corner of a cell                                                      */
} HdHashGridOptions;
#define HD_HASH_GRID_OPTIONS_INIT { 1, {64, 64, 64}, {0, 0, 0} }

/* Make a grid without points. `options` may be NULL.
 *
 * Ownership  the caller owns *out, until hd_hash_grid_free, at which the stream must be done with it.
 * Errors     HD_ERR_ARG names the option that is out of range. */
HD_API HdStatus hd_hash_grid_new(HdContext *ctx, HdStream *stream, const HdHashGridOptions *options, HdHashGrid **out);
HD_API void     hd_hash_grid_free(HdHashGrid *g); /* NULL is fine */
/* Put these points (n x vec<f32, 3>, of the stream's device) in place of what was there, wherever they are; one that is not finite is
 * found by nobody. On the device, in stream order; waits for the stream where more points need more memory.
 *
 * Ownership  the points are copied.
 * Errors     HD_ERR_TYPE, HD_ERR_SHAPE, HD_ERR_DEVICE. */
HD_API HdStatus hd_hash_grid_build(HdHashGrid *g, HdArray points);
/* The grid as the arguments for a parameter of type HashGrid: HD_HASH_GRID_ARGS of them, which is what it returns. Lent until the
 * next build or the end. */
#define HD_HASH_GRID_ARGS 6
HD_API int32_t  hd_hash_grid_args(const HdHashGrid *g, HdArg args[]);
/* The numbers of the points, sorted by cell (n x i32), lent as the arguments are: for sorting what belongs to them. */
HD_API HdArray  hd_hash_grid_ids(const HdHashGrid *g);

/* --- fields on dense grids (lib/geometry/grid.hd) --- */

/* Numbers at the corners of equal cells: values[i, j, k] is at origin + spacing * (i, j, k). It may be filled in by hand, with an
 * array of the caller's or a view. A kernel takes it as a DenseGrid. */
typedef struct HdDenseGrid {
  HdArray values;     /* f32 (nx x ny x nz)                            */
  float   origin[3];  /* of values[0, 0, 0]                            */
  float   spacing[3]; /* between neighbours along each axis, above 0   */
} HdDenseGrid;

/* Make a grid of zeros. No samples at all are fine.
 *
 * Ownership  the caller owns out->values, until hd_dense_grid_free.
 * Errors     HD_ERR_ARG for an origin that is not finite, or a spacing that is not above 0; those of hd_array_new. */
HD_API HdStatus hd_dense_grid_new(HdContext *ctx, HdDevice device, const int64_t length[3], const float origin[3],
                                  const float spacing[3], HdDenseGrid *out);
HD_API void     hd_dense_grid_free(HdContext *ctx, HdDenseGrid *g); /* NULL is fine */
/* The grid as the arguments for a parameter of type DenseGrid: HD_DENSE_GRID_ARGS of them, which is what it returns. They point into
 * *g. */
#define HD_DENSE_GRID_ARGS 3
HD_API int32_t  hd_dense_grid_args(const HdDenseGrid *g, HdArg args[]);

/* --- distances from a mesh --- */

typedef enum HdMeshSign {
  HD_MESH_SIGN_NONE = 0, /* distances are positive everywhere                                                     */
  HD_MESH_SIGN_NORMAL,   /* negative inside: mesh_sign_by_normal, mesh_sign_by_winding and mesh_sign_by_parity    */
  HD_MESH_SIGN_WINDING,  /* of lib/geometry/mesh.hd, which says what each is good for                             */
  HD_MESH_SIGN_PARITY,
} HdMeshSign;

typedef struct HdMeshDistanceOptions {
  HdMeshSign sign;
  float      band; /* what is farther gets this distance, with its sign: many times quicker if it is narrow; 0: none */
} HdMeshDistanceOptions;
#define HD_MESH_DISTANCE_OPTIONS_INIT { HD_MESH_SIGN_NORMAL, 0 }

/* Set a grid's samples to their distances from the mesh, on the device, in the order of the mesh's stream. Without faces they are
 * +inf, or the band. Beyond a band a sample has the sign of the next one on its line along z that is within; if there is none, of the
 * line's first sample. `options` may be NULL.
 *
 * Errors     HD_ERR_ARG for a band that is not wider than the spacing along z, a sign that the mesh was not made for, or a spacing
 *            that is not above 0; HD_ERR_TYPE, HD_ERR_SHAPE and HD_ERR_DEVICE for the grid's array. */
HD_API HdStatus hd_mesh_distances(HdMesh *m, const HdMeshDistanceOptions *options, const HdDenseGrid *grid);

/* --- surfaces of fields --- */

/* The kernels that make surfaces, the last one made, and scratch memory, which grows to what the largest grid needs. */
typedef struct HdSurface HdSurface;

/* Ownership  the caller owns *out, until hd_surface_free, at which the stream must be done with it. */
HD_API HdStatus hd_surface_new(HdContext *ctx, HdStream *stream, HdSurface **out);
HD_API void     hd_surface_free(HdSurface *s); /* NULL is fine */
/* Find the surface between the samples of a grid that are less than `level` and the others, by marching cubes with linear
 * interpolation; a NaN is not less. Points are where edges between two samples go through it, one for each such edge, and every point
 * has faces. Where a sample is just the level, its edges' points are in one place. An edge of a face has one other face, which goes
 * through it the other way, or is on the border of the grid; so a surface that does not meet the border is closed. Faces are
 * counter-clockwise seen from where the field is greater. On a face of a cell with two samples below the level across from each other,
 * these are apart. Points and faces are in the order of the samples that their edges and cells begin at. A grid without cells
 * has no surface.
 *
 * Order      waits for the stream.
 * Errors     HD_ERR_SHAPE for more than 2^28 samples; HD_ERR_ARG for a spacing that is not above 0; HD_ERR_TYPE, HD_ERR_SHAPE and
 *            HD_ERR_DEVICE for the grid's array; HD_ERR_NOMEM. After those of memory there is no surface. */
HD_API HdStatus hd_surface_extract(HdSurface *s, const HdDenseGrid *grid, float level);
/* The surface, for hd_mesh_new too; lent until the next extraction or the end. Normals look to where the field is greater: its slope at
 * the samples, interpolated; of length 1, or 0 where there is none. */
HD_API HdArray  hd_surface_points(const HdSurface *s);  /* n x vec<f32, 3> */
HD_API HdArray  hd_surface_normals(const HdSurface *s); /* n x vec<f32, 3> */
HD_API HdArray  hd_surface_faces(const HdSurface *s);   /* m x vec<i32, 3> */

/* --- fields on sparse grids, and NanoVDB files (lib/geometry/volume.hd) --- */

typedef struct HdVolume HdVolume;

typedef enum HdVolumeType {
  HD_VOLUME_F32 = 1,
  HD_VOLUME_I32,
  HD_VOLUME_VEC3,    /* vec<f32, 3>                                                                          */
  HD_VOLUME_NUMBERS, /* of voxels that count, which index arrays (NanoVDB's OnIndex); hd_volume_new makes none */
} HdVolumeType;

typedef struct HdVolumeInfo {
  HdVolumeType type;
  char    name[256];
  int64_t active;          /* voxels that are marked as ones that count           */
  int32_t low[3], high[3]; /* indices between which they are, both included       */
  int64_t leaves;          /* of 8 x 8 x 8 voxels                                 */
  int64_t numbers;         /* all numbers are less, 0 for none among them; 0 in volumes of others */
  double  to_world[9];     /* point = to_world * index + origin, row after row    */
  double  origin[3];
} HdVolumeInfo;

/* Make a volume of a grid in a NanoVDB file: the one that is called `name`, or the first one if that is NULL. Grids of f32, i32,
 * vec3f and OnIndex in format 32, from 32.3 on, as they are or packed by zip (for which libz.so.1 is opened), with or without the heads of a file. All
 * that a kernel's way to a voxel depends on is checked, and the checksums if there are some; other data beside the tree is kept as it is.
 * hd_volume_read takes the file's bytes.
 *
 * Ownership  the caller owns *out, until hd_volume_free, at which the stream must be done with it; `file` is borrowed for the call.
 * Order      waits for the stream.
 * Errors     HD_ERR_IO; HD_ERR_FORMAT for what is truncated, damaged or wrong; HD_ERR_UNSUPPORTED for another version, type of values
 *            or packing (blosc); HD_ERR_NOT_FOUND for the name. */
HD_API HdStatus hd_volume_load(HdContext *ctx, HdStream *stream, const char *path, const char *name, HdVolume **out);
HD_API HdStatus hd_volume_read(HdContext *ctx, HdStream *stream, const void *file, int64_t size, const char *name, HdVolume **out);
HD_API void     hd_volume_free(HdVolume *v); /* NULL is fine */

typedef struct HdVolumeOptions {
  HdVolumeType type;
  bool         whole;         /* all voxels of a leaf are marked as ones that count, not just those that are named */
  double       background[3]; /* of vec<f32, 3>, else the first                                                   */
  double       to_world[9];   /* point = to_world * index + origin, row after row; it must have an inverse         */
  double       origin[3];
  const char  *name;          /* cut at 255 bytes; NULL: none                                                     */
} HdVolumeOptions;
#define HD_VOLUME_OPTIONS_INIT { HD_VOLUME_F32, false, {0, 0, 0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}, NULL }

/* Make a volume with leaves about voxels, on the device; every value is the background, for kernels to store others. `voxels` are
 * indices (n x vec<i32, 3>) or points in space (n x vec<f32, 3>), whose nearest voxels count; both may repeat, and none at all are
 * fine. Indices are -2^23 to 2^23 - 1. `options` may be NULL.
 *
 * Ownership  the caller owns *out, until hd_volume_free; the array is borrowed for the call.
 * Order      waits for the stream.
 * Errors     HD_ERR_ARG for a voxel out of range or a point that is not finite, and for options; HD_ERR_TYPE, HD_ERR_SHAPE and
 *            HD_ERR_DEVICE for the array; HD_ERR_UNSUPPORTED for more leaves than 2^33 bytes have room for. */
HD_API HdStatus hd_volume_new(HdContext *ctx, HdStream *stream, const HdVolumeOptions *options, HdArray voxels, HdVolume **out);
/* Write a file of this one grid, packed by zip if `zip`, with checksums. A file that could not be written whole is not there; one that was
 * there before stays. Waits for the stream.
 *
 * Errors     HD_ERR_IO with the system's message; HD_ERR_UNSUPPORTED if there is no zlib; HD_ERR_NOMEM. */
HD_API HdStatus hd_volume_save(HdVolume *v, const char *path, bool zip);
/* The volume as the arguments for a parameter of type Volume: HD_VOLUME_ARGS of them, which is what it returns. Lent until the end. */
#define HD_VOLUME_ARGS 6
HD_API int32_t  hd_volume_args(const HdVolume *v, HdArg args[]);
HD_API HdVolumeInfo hd_volume_info(const HdVolume *v);

HD_END_DECLS
#endif
