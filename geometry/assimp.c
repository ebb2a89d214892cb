/* geometry/assimp.c -- the door to assimp: files of meshes as points and triangles.
 *
 * The library is opened for a file, and closed again. Its structs are taken from the headers of the build, so only the same major
 * version will do.
 */
#include <assimp/cimport.h>
#include <assimp/scene.h>
#include <assimp/version.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "geometry/mesh_file.h"

_Static_assert(sizeof(ai_real) == sizeof(float), "assimp for f32");

typedef struct Assimp {
  void *library;
  const struct aiScene *(*load)(const char *, unsigned);
  const struct aiScene *(*read)(const char *, unsigned, unsigned, const char *);
  void (*release)(const struct aiScene *);
  const char *(*error)(void);
  unsigned (*major)(void);
} Assimp;

static bool find(void *library, const char *name, void *to) {
  void *found = dlsym(library, name);
  memcpy(to, &found, sizeof found);
  return found;
}

static HdStatus open_library(Assimp *a, char why[GEO_WHY]) {
  void *l = a->library = dlopen("libassimp.so.5", RTLD_NOW | RTLD_LOCAL);
  bool found = l && find(l, "aiImportFile", &a->load) && find(l, "aiImportFileFromMemory", &a->read) &&
               find(l, "aiReleaseImport", &a->release) && find(l, "aiGetErrorString", &a->error) &&
               find(l, "aiGetVersionMajor", &a->major) && a->major() == 5;
  if (found) return HD_OK;
  const char *error = dlerror();
  snprintf(why, GEO_WHY, "assimp 5 could not be opened: %.160s", error ? error : "another version");
  if (l) dlclose(l);
  return HD_ERR_UNSUPPORTED;
}

/* --- from a scene --- */

typedef struct Affine { /* x -> m x + p */
  double m[3][3], p[3];
} Affine;

typedef struct Place { /* a node that is still to be visited */
  const struct aiNode *node;
  Affine at;
} Place;

static Affine child_of(const Affine *a, const struct aiMatrix4x4 *x) {
  const double m[3][4] = {{x->a1, x->a2, x->a3, x->a4}, {x->b1, x->b2, x->b3, x->b4}, {x->c1, x->c2, x->c3, x->c4}};
  Affine c;
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) c.m[i][j] = a->m[i][0] * m[0][j] + a->m[i][1] * m[1][j] + a->m[i][2] * m[2][j];
    c.p[i] = a->m[i][0] * m[0][3] + a->m[i][1] * m[1][3] + a->m[i][2] * m[2][3] + a->p[i];
  }
  return c;
}

/* Normals turn with the matrix of minors, which is the inverse's transpose times the determinant. */
static double minors(const Affine *a, double n[3][3]) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      n[i][j] = a->m[i1][j1] * a->m[i2][j2] - a->m[i1][j2] * a->m[i2][j1];
    }
  return a->m[0][0] * n[0][0] + a->m[0][1] * n[0][1] + a->m[0][2] * n[0][2];
}

static void add_points(GeoSoup *s, const struct aiMesh *mesh, const Affine *at) {
  double n[3][3], sign = minors(at, n) < 0 ? -1 : 1;
  for (unsigned i = 0; i < mesh->mNumVertices; i++) {
    const struct aiVector3D *v = &mesh->mVertices[i];
    float *to = s->points + 3 * (s->npoints + i);
    for (int k = 0; k < 3; k++)
      to[k] = (float)(at->m[k][0] * v->x + at->m[k][1] * v->y + at->m[k][2] * v->z + at->p[k]);
    if (!s->normals) continue;
    const struct aiVector3D *u = &mesh->mNormals[i];
    float *normal = s->normals + 3 * (s->npoints + i);
    for (int k = 0; k < 3; k++) normal[k] = (float)(sign * (n[k][0] * u->x + n[k][1] * u->y + n[k][2] * u->z));
  }
}

/* A polygon of more than GEO_CORNERS corners is cut as if it were convex. */
static void add_face(GeoSoup *s, int count, const struct aiFace *f, bool mirrored) {
  int32_t at[GEO_CORNERS];
  for (int k = 0; k < count; k++) {
    if (k < GEO_CORNERS) at[k] = (int32_t)(s->npoints + f->mIndices[k]);
    if (count <= GEO_CORNERS || k < 2) continue;
    int32_t *face = s->faces + 3 * (s->nfaces + k - 2);
    for (int j = 0; j < 3; j++) face[j] = (int32_t)(s->npoints + f->mIndices[j ? k - 2 + j : 0]);
  }
  if (count <= GEO_CORNERS) hdgeo_polygon(s->points, count, at, s->faces + 3 * s->nfaces);
  for (int64_t i = s->nfaces; i < s->nfaces + count - 2 && mirrored; i++) {
    int32_t last = s->faces[3 * i + 2];
    s->faces[3 * i + 2] = s->faces[3 * i + 1];
    s->faces[3 * i + 1] = last;
  }
  s->nfaces += count - 2;
}

/* A mirrored mesh has its faces turned round, so that they look outward as before. */
static HdStatus add_faces(GeoSoup *s, const struct aiMesh *mesh, bool mirrored, char why[GEO_WHY]) {
  for (unsigned i = 0; i < mesh->mNumFaces; i++) {
    const struct aiFace *f = &mesh->mFaces[i];
    for (unsigned k = 0; k < f->mNumIndices; k++) {
      if (f->mIndices[k] < mesh->mNumVertices) continue;
      snprintf(why, GEO_WHY, "a face names point %u of %u", f->mIndices[k], mesh->mNumVertices);
      return HD_ERR_FORMAT;
    }
    if (f->mNumIndices >= 3) add_face(s, (int)f->mNumIndices, f, mirrored); /* others are points and lines */
  }
  return HD_OK;
}

static int64_t count_triangles(const struct aiMesh *mesh) {
  int64_t n = 0;
  for (unsigned i = 0; i < mesh->mNumFaces; i++)
    if (mesh->mFaces[i].mNumIndices >= 3) n += mesh->mFaces[i].mNumIndices - 2;
  return n;
}

/* Visits each use of a mesh; counts only, or fills in as well. The stack has room for all nodes. */
static HdStatus visit(const struct aiScene *scene, const Affine *root, Place *stack, bool fill, GeoSoup *s,
                      bool *normals, char why[GEO_WHY]) {
  int64_t top = 1, npoints = 0, nfaces = 0;
  stack[0] = (Place){scene->mRootNode, child_of(root, &scene->mRootNode->mTransformation)};
  *normals = true;
  while (top > 0) {
    Place at = stack[--top];
    double unused[3][3];
    bool mirrored = minors(&at.at, unused) < 0;
    for (unsigned i = 0; i < at.node->mNumMeshes; i++) {
      const struct aiMesh *mesh = scene->mMeshes[at.node->mMeshes[i]];
      if (!mesh->mVertices || !mesh->mFaces) continue;
      if (!mesh->mNormals) *normals = false;
      npoints += mesh->mNumVertices;
      nfaces += count_triangles(mesh);
      if (npoints >= INT32_MAX || nfaces > GEO_MOST) {
        snprintf(why, GEO_WHY, "it has more than 2^31 - 2 points or 2^28 faces");
        return HD_ERR_UNSUPPORTED;
      }
      if (!fill) continue;
      add_points(s, mesh, &at.at);
      HD_TRY(add_faces(s, mesh, mirrored, why));
      s->npoints += mesh->mNumVertices;
    }
    for (unsigned i = at.node->mNumChildren; i-- > 0;) {
      const struct aiNode *child = at.node->mChildren[i];
      stack[top++] = (Place){child, child_of(&at.at, &child->mTransformation)};
    }
  }
  s->points_room = npoints;
  s->faces_room = nfaces;
  return HD_OK;
}

static int64_t count_nodes(const struct aiNode *root) {
  int64_t count = 0;
  const struct aiNode *n = root;
  while (n) { /* the first child, else the next one of the nearest node above that has one */
    count++;
    if (n->mNumChildren) {
      n = n->mChildren[0];
      continue;
    }
    const struct aiNode *next = NULL;
    while (n != root && !next) {
      const struct aiNode *up = n->mParent;
      unsigned at = 0;
      while (up->mChildren[at] != n) at++;
      if (at + 1 < up->mNumChildren) next = up->mChildren[at + 1];
      n = up;
    }
    n = next;
  }
  return count;
}

static HdStatus take(HdContext *ctx, const struct aiScene *scene, const float scale[3], bool want_normals, GeoSoup *s,
                     char why[GEO_WHY]) {
  if (!scene->mRootNode || !scene->mNumMeshes) {
    snprintf(why, GEO_WHY, "there are no triangles in it");
    return HD_ERR_FORMAT;
  }
  const Affine root = {.m = {{scale[0], 0, 0}, {0, scale[1], 0}, {0, 0, scale[2]}}};
  size_t size = (size_t)count_nodes(scene->mRootNode) * sizeof(Place);
  Place *stack = hdhost_alloc(ctx, size);
  if (!stack) return HD_ERR_NOMEM;
  bool normals;
  HdStatus status = visit(scene, &root, stack, false, s, &normals, why);
  if (status == HD_OK) status = hdgeo_soup_new(ctx, s, normals && want_normals);
  if (status == HD_OK) status = visit(scene, &root, stack, true, s, &normals, why);
  hdhost_release(ctx, stack, size);
  return status;
}

HdStatus hdgeo_assimp(HdContext *ctx, const GeoMeshSource *from, GeoSoup *out, char why[GEO_WHY]) {
  Assimp a;
  HD_TRY(open_library(&a, why));
  const unsigned flags = 0; /* no step of assimp's own: some end the process on a damaged file */
  const struct aiScene *scene =
      from->path ? a.load(from->path, flags)
                 : a.read(from->bytes, (unsigned)from->size, flags, from->format ? from->format : "");
  HdStatus status = HD_ERR_FORMAT;
  if (scene) {
    status = take(ctx, scene, from->scale, from->normals, out, why);
    a.release(scene);
  } else {
    const char *error = a.error();
    snprintf(why, GEO_WHY, "assimp says: %.200s", error && error[0] ? error : "nothing");
  }
  dlclose(a.library);
  return status;
}
