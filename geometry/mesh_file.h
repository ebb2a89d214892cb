/* geometry/mesh_file.h -- files of meshes: what the door to assimp gives. */
#ifndef GEOMETRY_MESH_FILE_H
#define GEOMETRY_MESH_FILE_H

#include "geometry/geometry.h"
HD_BEGIN_DECLS

enum { GEO_WHY = 240 };

typedef struct GeoMeshSource {
  const char *path;   /* NULL: the bytes                  */
  const char *bytes;
  uint64_t    size;
  const char *format; /* of the bytes; NULL is fine       */
  float       scale[3];
  bool        normals;
} GeoMeshSource;

/* Triangles with points of their own or shared ones, as the file has them. */
typedef struct GeoSoup {
  int64_t  npoints, nfaces, points_room, faces_room;
  float   *points, *normals; /* NULL unless all have some */
  int32_t *faces;
} GeoSoup;

/* Memory of points_room and faces_room; hdgeo_soup_free takes what is half made. */
HdStatus hdgeo_soup_new(HdContext *ctx, GeoSoup *s, bool normals);
void     hdgeo_soup_free(HdContext *ctx, GeoSoup *s);

/* The count - 2 triangles of a polygon whose corners are points `at`, which it uses up. */
enum { GEO_CORNERS = 64 };
void hdgeo_polygon(const float points[], int count, int32_t at[], int32_t faces[]);

/* Writes into `why` what is wrong, or leaves it. *out is zero before, and to be freed whatever comes back. */
HdStatus hdgeo_assimp(HdContext *ctx, const GeoMeshSource *from, GeoSoup *out, char why[GEO_WHY]);

HD_END_DECLS
#endif
