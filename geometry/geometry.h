/* geometry/geometry.h -- what the structures share: copies to and from the host, checks, parts of trees and meshes. */
#ifndef GEOMETRY_GEOMETRY_H
#define GEOMETRY_GEOMETRY_H

#include "heddle/geometry.h"
#include "host/host.h"
HD_BEGIN_DECLS

/* The text of geometry/<name>.hd, embedded by the build; NULL if there is none. */
const char *hdgeo_source(const char *name);

/* An array's elements to and from host memory; both wait for the stream. */
HdStatus hdgeo_read(HdContext *ctx, HdStream *stream, HdArray from, void *to);
HdStatus hdgeo_write(HdContext *ctx, HdStream *stream, const void *from, HdArray to);

/* That `a` has one axis, elements of `type`, and lies on the stream's device. */
HdStatus hdgeo_check(HdContext *ctx, HdStream *stream, const char *call, const char *arg, HdArray a, HdType type);

/* That `group` has an i32 for each element of `of`, on the stream's device. */
HdStatus hdgeo_check_group(HdContext *ctx, HdStream *stream, const char *call, HdArray group, HdArray of);

/* That a grid is right: values of three axes on the stream's device, a spacing above 0. */
HdStatus hdgeo_check_grid(HdContext *ctx, HdStream *stream, const char *call, const HdDenseGrid *g);

/* --- files --- */

/* A file's bytes, and a 0 behind them; ended by hdgeo_file_free with the same size. */
HdStatus hdgeo_file_read(HdContext *ctx, const char *call, const char *path, uint8_t **bytes, uint64_t *size);
void     hdgeo_file_free(HdContext *ctx, uint8_t *bytes, uint64_t size); /* NULL is fine */
/* Parts, one after the other, to `path`.part, which then takes the place of `path`. */
HdStatus hdgeo_file_write(HdContext *ctx, const char *call, const char *path, int nparts, const void *const part[],
                          const uint64_t size[]);

/* --- volumes --- */

/* A volume of a grid whose bytes are `words`, and the first of them, up to the end of the root, `head`. Consumes `words` if it succeeds. */
HdStatus hdgeo_volume_take(HdContext *ctx, HdStream *stream, HdArray words, const uint8_t head[], HdVolume **out);
void     hdgeo_volume_set_active(HdVolume *v, int64_t active);

/* --- trees --- */
enum { GEO_DEPTH = 54, GEO_MOST = 1 << 28 }; /* BVH_DEPTH of bvh.hd, and what its leaves can count */

typedef struct GeoNode { /* BvhNode of bvh.hd */
  float   lo0[3], hi0[3], lo1[3], hi1[3];
  int32_t child0, child1, first, end;
} GeoNode;

HdStatus hdgeo_bvh_new(HdContext *ctx, HdStream *stream, const char *call, const HdBvhOptions *options, HdArray low, HdArray high,
                       const HdArray *group, int32_t ngroups, HdBvh **out); /* without groups `group` is NULL */
HdArray hdgeo_bvh_nodes(const HdBvh *b);
HdArray hdgeo_bvh_order(const HdBvh *b);
/* Entries in all levels over n places: one for four places, then one for two entries, and so on. */
int64_t hdgeo_levels(int64_t n);
/* Runs `pair`, a kernel of (entries[], from, count, to), for each level above the first. */
HdStatus hdgeo_pair_levels(HdStream *stream, HdKernel *pair, HdArray *entries, int64_t n);

/* A tree of at most `most` levels (GEO_DEPTH: always enough; 20 less: for 2^28 / 2^20) over n boxes (lo and hi of three floats each),
 * all of it written but the boxes in the nodes: `order` has n entries, `nodes` room for max(n, 1). Returns the number of nodes, or -1
 * without memory. */
int32_t hdgeo_sah(HdContext *ctx, int32_t n, const float lo[], const float hi[], int32_t leaf, int32_t most, int32_t order[],
                  GeoNode nodes[], int32_t *depth);

/* Which primitives are of which group. A block is up to `leaf` neighbours of one group, in the order by groups. */
enum { GEO_MOST_GROUPS = 1 << 20 };
typedef struct GeoGroups {
  int32_t count;     /* 0: there are none, and nothing else is set                    */
  int32_t nblocks;
  int32_t *host;     /* first (count + 1), by_group (n)                               */
  size_t   host_size;
  HdArray  of, by_group, first, start, root; /* (n), (n), (count + 1), (nblocks + 1), (count) */
  HdArray  extent, key;                      /* Box (count), u32 (nblocks)                    */
} GeoGroups;
HdStatus hdgeo_groups_new(HdContext *ctx, HdStream *stream, const char *call, HdArray group, int32_t count, int32_t leaf,
                          GeoGroups *out); /* to be freed if it fails, too */
void     hdgeo_groups_free(HdContext *ctx, GeoGroups *g);
/* hdgeo_sah for each group, below nodes that halve the groups; root[g] is the child that is over group g. `nodes` has room for as many
 * as there are boxes and groups. */
int32_t hdgeo_groups_sah(HdContext *ctx, const GeoGroups *g, const float lo[], const float hi[], int32_t leaf,
                         int32_t order[], GeoNode nodes[], int32_t root[], int32_t *depth);

/* --- meshes --- */

/* What a mesh was made of, in its own copies. */
typedef struct GeoMeshParts {
  HdContext *ctx;
  HdStream  *stream;
  HdArray    points, faces;
} GeoMeshParts;
GeoMeshParts hdgeo_mesh_parts(const HdMesh *m);

/* Which faces meet at which edges and points. */
typedef struct GeoNeighbours {
  int32_t *group, *first, *corner, *edge_next; /* (points), (points + 1), (3 faces), (3 faces): mesh_build.hd, mesh.hd */
} GeoNeighbours;
/* HD_OK or HD_ERR_NOMEM. Counts edges into *report. */
HdStatus hdgeo_neighbours(HdContext *ctx, int64_t npoints, const float points[], int64_t nfaces, const int32_t faces[],
                          GeoNeighbours *out, HdMeshReport *report);

HD_END_DECLS
#endif
