/* geometry/nanovdb.h -- grids in NanoVDB's layout, version 32: where they are in a file, whether they are right, their checksums.
 *
 * All of it works on bytes of the host and takes them as untrusted. Where a call can fail, `why` says in what.
 */
#ifndef GEOMETRY_NANOVDB_H
#define GEOMETRY_NANOVDB_H

#include "heddle/geometry.h"
HD_BEGIN_DECLS

enum { NANO_WHY = 320 };

/* Types of values, classes and codecs, by the format's numbers. */
enum { NANO_F32 = 1, NANO_I32 = 4, NANO_VEC3 = 6, NANO_NUMBERS_ON = 20 };
enum { NANO_STORED = 0, NANO_ZIP = 1, NANO_BLOSC = 2 };

/* Where things are in a grid, in bytes. */
enum {
  NANO_CHECKSUM = 8, NANO_VERSION = 16, NANO_FLAGS = 20, NANO_NUMBER = 24, NANO_NUMBERS = 28, NANO_SIZE = 32, NANO_NAME = 40,
  NANO_MAP_F = 296,      /* f32: matrix (9), inverse (9), translation (3), 1 */
  NANO_MAP = 384,        /* the same of f64                                  */
  NANO_BOX = 560, NANO_STEP = 608, NANO_CLASS = 632, NANO_TYPE = 636, NANO_BLIND = 640,
  NANO_COUNT = 656,      /* u64: of numbers, with 0 */
  NANO_TREE = 672,       /* i64 from here on: leaves, lower nodes, upper nodes, root */
  NANO_NODES = 704, NANO_TILES = 716, NANO_ACTIVE = 728,
  NANO_HEAD = 736,       /* where the root may begin */
};
/* In nodes. */
enum { NANO_ROOT_TILES = 24, NANO_BACKGROUND = 28, NANO_ROOT_TILE = 32, NANO_MASKS = 32, NANO_UPPER_HEAD = 8256, NANO_LOWER_HEAD = 1088,
       NANO_LEAF_MASK = 16, NANO_LEAF_FIRST = 80, NANO_LEAF_SUMS = 88 };
enum { NANO_UPPER_PLACES = 32768, NANO_LOWER_PLACES = 4096 };

typedef struct NanoLayout { /* sizes in bytes */
  int32_t  type;
  uint32_t value, tile, root, upper, lower, leaf, leaf_head;
} NanoLayout;
const NanoLayout *hdgeo_nano_layout(int32_t type); /* NULL: not known here */

/* A grid in a file. */
typedef struct NanoBlob {
  const uint8_t *data;
  uint64_t       stored, size; /* bytes in the file, and of the grid */
  uint16_t       codec;
} NanoBlob;
/* The grid with this name, or the first one if `name` is NULL. */
HdStatus hdgeo_nano_find(const uint8_t *file, uint64_t size, const char *name, NanoBlob *out, char why[NANO_WHY]);
/* Its bytes, out of what they are packed in. */
HdStatus hdgeo_nano_unpack(const NanoBlob *b, uint8_t *grid, char why[NANO_WHY]);
/* That a grid of `size` bytes is right as far as a walk from its root to a leaf depends on it; then its root's tiles are sorted. */
HdStatus hdgeo_nano_check(uint8_t *grid, uint64_t size, char why[NANO_WHY]);
/* Makes its checksum fit. */
void     hdgeo_nano_seal(uint8_t *grid);

/* Before the grid in a file of one: returns how many bytes of `out` it is. */
enum { NANO_FILE_HEAD = 16 + 176 + 256 };
uint64_t hdgeo_nano_head(const uint8_t *grid, uint16_t codec, uint64_t stored, uint8_t out[NANO_FILE_HEAD]);

/* --- zlib, opened when it is first needed --- */
/* At most `room` bytes to `to`; *size is how many they became. HD_ERR_UNSUPPORTED if there is no zlib. */
HdStatus hdgeo_zip(const uint8_t *from, uint64_t n, uint8_t *to, uint64_t room, uint64_t *size, char why[NANO_WHY]);
HdStatus hdgeo_unzip(const uint8_t *from, uint64_t n, uint8_t *to, uint64_t room, uint64_t *size, char why[NANO_WHY]);

HD_END_DECLS
#endif
