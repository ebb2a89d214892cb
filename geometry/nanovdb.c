/* geometry/nanovdb.c -- NanoVDB's files and grids, looked through before anything trusts them.
 *
 * A file is segments: 16 bytes of head, 176 bytes and a name for each grid, then the grids, as they are or packed. Or it is the grids
 * themselves, one after the other. A grid is a head, a tree's head, and four tables of nodes: the root with its tiles, upper and lower
 * nodes, leaves. Numbers are little-endian.
 *
 * The tables may be in any order and place, but must not overlap, which some files could be made to do: kernels write values.
 */
#include "geometry/nanovdb.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEGMENT_HEAD = 16, META = 176, ALIGNMENT = 32, MAJOR = 32, LEAST_MINOR = 3 };

/* "NanoVDB0" of grids and files, "NanoVDB1" of grids, "NanoVDB2" of files. */
static const uint8_t MAGIC[] = {'N', 'a', 'n', 'o', 'V', 'D', 'B'};

static uint16_t u16(const uint8_t *p) {
  uint16_t x;
  memcpy(&x, p, sizeof x);
  return x;
}
static uint32_t u32(const uint8_t *p) {
  uint32_t x;
  memcpy(&x, p, sizeof x);
  return x;
}
static uint64_t u64(const uint8_t *p) {
  uint64_t x;
  memcpy(&x, p, sizeof x);
  return x;
}

static HdStatus fail(char why[NANO_WHY], HdStatus status, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(why, NANO_WHY, format, list);
  va_end(list);
  return status;
}

/* clang-format off */
static const NanoLayout layouts[] = {
  /* type     value tile root  upper   lower  leaf  its head */
  {NANO_F32,  4,    8,   64,   270400, 33856, 2144, 96},
  {NANO_I32,  4,    8,   64,   270400, 33856, 2144, 96},
  {NANO_VEC3, 12,   16,  96,   532544, 66624, 6272, 128},
  {NANO_NUMBERS_ON, 8, 8, 96,  270400, 33856, 96,   96},
};
/* clang-format on */

const NanoLayout *hdgeo_nano_layout(int32_t type) {
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
    if (layouts[i].type == type) return &layouts[i];
  return NULL;
}

/* --- files --- */

static bool is_magic(const uint8_t *p, const char *last) {
  return memcmp(p, MAGIC, sizeof MAGIC) == 0 && strchr(last, p[7]) && p[7];
}

static HdStatus check_version(uint32_t v, char why[NANO_WHY]) {
  uint32_t major = v >> 21, minor = v >> 10 & 0x7ff;
  if (major == MAJOR && minor >= LEAST_MINOR) return HD_OK;
  return fail(why, HD_ERR_UNSUPPORTED, "version %u.%u.%u; 32.3 and newer ones of 32 are", major, minor, v & 0x3ff);
}

static size_t name_length(const char *s, size_t room) {
  const char *end = room ? memchr(s, 0, room) : NULL;
  return end ? (size_t)(end - s) : room;
}

static bool is_named(const char *s, size_t room, const char *name) {
  size_t n = name_length(s, room);
  return strlen(name) == n && memcmp(s, name, n) == 0;
}

/* The names that were passed over, for the message; "..." for those that have no room. */
typedef struct Names {
  char text[160];
} Names;

static void add_name(Names *all, const char *s, size_t room) {
  size_t n = strlen(all->text), left = sizeof all->text - n, length = name_length(s, room);
  if (left < length + 12) {
    if (left >= 12 && !strstr(all->text, ", ...")) memcpy(all->text + n, ", ...", 6);
    return;
  }
  snprintf(all->text + n, left, "%s'%.*s'", n ? ", " : "", (int)length, s);
}

static HdStatus no_such_grid(const Names *all, const char *name, char why[NANO_WHY]) {
  if (!name || !*all->text) return fail(why, HD_ERR_NOT_FOUND, "the file has no grid");
  return fail(why, HD_ERR_NOT_FOUND, "no grid is named '%.80s'; the file has %s", name, all->text);
}

/* Grids without a file's heads. */
static HdStatus find_raw(const uint8_t *file, uint64_t size, const char *name, NanoBlob *out, char why[NANO_WHY]) {
  Names names = {""};
  for (uint64_t at = 0; at < size;) {
    if (size - at < NANO_HEAD || !is_magic(file + at, "01"))
      return fail(why, HD_ERR_FORMAT, "there is no grid at byte %" PRIu64 ", where one should be", at);
    uint64_t length = u64(file + at + NANO_SIZE);
    if (length < NANO_HEAD || length > size - at)
      return fail(why, HD_ERR_FORMAT, "truncated: a grid has %" PRIu64 " bytes, %" PRIu64 " are there", length,
                  size - at);
    if (!name || is_named((const char *)file + at + NANO_NAME, 256, name)) {
      *out = (NanoBlob){file + at, length, length, NANO_STORED};
      return HD_OK;
    }
    add_name(&names, (const char *)file + at + NANO_NAME, 256);
    at += length;
  }
  return no_such_grid(&names, name, why);
}

/* The grids of a segment, whose heads begin at *at; *at moves behind it. */
static HdStatus find_in_segment(const uint8_t *file, uint64_t size, uint64_t *at, const char *name, NanoBlob *out,
                                bool *found, Names *names, char why[NANO_WHY]) {
  uint64_t meta = *at + SEGMENT_HEAD, data = meta;
  uint16_t count = u16(file + *at + 12);
  for (int i = 0; i < count; i++) {
    if (size - data < META || size - data - META < u32(file + data + 136))
      return fail(why, HD_ERR_FORMAT, "truncated: the file ends in the heads of its grids");
    data += META + u32(file + data + 136);
  }
  for (int i = 0; i < count; i++) {
    const uint8_t *m = file + meta;
    uint64_t stored = u64(m + 8), length = u32(m + 136);
    if (stored > size - data)
      return fail(why, HD_ERR_FORMAT, "truncated: a grid has %" PRIu64 " bytes in the file, %" PRIu64 " are there",
                  stored, size - data);
    const char *is = (const char *)m + META;
    if (!*found && (!name || is_named(is, length, name))) {
      *out = (NanoBlob){file + data, stored, u64(m), u16(m + 168)};
      *found = true;
    }
    if (!*found) add_name(names, is, length);
    meta += META + length;
    data += stored;
  }
  *at = data;
  return HD_OK;
}

HdStatus hdgeo_nano_find(const uint8_t *file, uint64_t size, const char *name, NanoBlob *out, char why[NANO_WHY]) {
  if (size < SEGMENT_HEAD) return fail(why, HD_ERR_FORMAT, "%" PRIu64 " bytes are no NanoVDB file", size);
  if (!is_magic(file, "012"))
    return fail(why, HD_ERR_FORMAT, "it does not begin with 'NanoVDB': it is no NanoVDB file");
  if (file[7] == '1') return find_raw(file, size, name, out, why);
  bool found = false;
  Names names = {""};
  for (uint64_t at = 0; at < size && !found;) {
    if (size - at < SEGMENT_HEAD || !is_magic(file + at, "02"))
      return fail(why, HD_ERR_FORMAT, "there is no segment at byte %" PRIu64 ", where one should be", at);
    HD_TRY(check_version(u32(file + at + 8), why));
    HD_TRY(find_in_segment(file, size, &at, name, out, &found, &names, why));
  }
  if (!found) return no_such_grid(&names, name, why);
  if (out->codec == NANO_BLOSC)
    return fail(why, HD_ERR_UNSUPPORTED, "the grid is packed by blosc; as it is, or packed by zip, is");
  if (out->codec > NANO_BLOSC) return fail(why, HD_ERR_FORMAT, "codec %u does not exist", out->codec);
  uint64_t most = out->codec == NANO_ZIP ? out->stored * 1032 : out->stored; /* what deflate can do */
  if (out->size < NANO_HEAD || out->size > most)
    return fail(why, HD_ERR_FORMAT, "a grid of %" PRIu64 " bytes cannot be in %" PRIu64, out->size, out->stored);
  return HD_OK;
}

HdStatus hdgeo_nano_unpack(const NanoBlob *b, uint8_t *grid, char why[NANO_WHY]) {
  if (b->codec == NANO_STORED) {
    memcpy(grid, b->data, (size_t)b->size);
    return HD_OK;
  }
  if (b->stored < 8 || u64(b->data) > b->stored - 8)
    return fail(why, HD_ERR_FORMAT, "truncated: the packed grid has more bytes than are there");
  uint64_t size;
  HD_TRY(hdgeo_unzip(b->data + 8, u64(b->data), grid, b->size, &size, why));
  if (size != b->size)
    return fail(why, HD_ERR_FORMAT, "the grid has %" PRIu64 " bytes, not the %" PRIu64 " of its head", size, b->size);
  return HD_OK;
}

uint64_t hdgeo_nano_head(const uint8_t *grid, uint16_t codec, uint64_t stored, uint8_t out[NANO_FILE_HEAD]) {
  const uint8_t *root = grid + NANO_TREE + u64(grid + NANO_TREE + 24);
  const char *name = (const char *)grid + NANO_NAME;
  uint32_t length = (uint32_t)name_length(name, 255) + 1, one = 1;
  uint64_t key = 0;
  for (const char *c = name; c < name + length - 1; c++) key = key * 67 + (uint64_t)(int64_t)*c;
  memset(out, 0, NANO_FILE_HEAD);
  memcpy(out, MAGIC, sizeof MAGIC);
  out[7] = '0';
  memcpy(out + 8, grid + NANO_VERSION, 4);
  memcpy(out + 12, &one, 2);
  memcpy(out + 14, &codec, 2);
  uint8_t *m = out + SEGMENT_HEAD;
  memcpy(m, grid + NANO_SIZE, 8);
  memcpy(m + 8, &stored, 8);
  memcpy(m + 16, &key, 8);
  memcpy(m + 24, grid + NANO_ACTIVE, 8);
  memcpy(m + 32, grid + NANO_TYPE, 4);
  memcpy(m + 36, grid + NANO_CLASS, 4);
  memcpy(m + 40, grid + NANO_BOX, 48);
  memcpy(m + 88, root, 24);
  memcpy(m + 112, grid + NANO_STEP, 24);
  memcpy(m + 136, &length, 4);
  memcpy(m + 140, grid + NANO_NODES, 12);
  memcpy(m + 152, &one, 4);
  memcpy(m + 156, grid + NANO_TILES, 12);
  memcpy(m + 168, &codec, 2);
  memcpy(m + 172, grid + NANO_VERSION, 4);
  memcpy(m + META, name, length);
  return SEGMENT_HEAD + META + length;
}

/* --- grids --- */

/* A table of nodes, from `at` on in the grid. */
typedef struct Table {
  const char *name;
  uint64_t at, size, count;
} Table;
enum { LEAF, LOWER, UPPER, ROOT, NTABLES };

static HdStatus check_table(const Table *t, uint64_t size, char why[NANO_WHY]) {
  if (t->at < NANO_HEAD || t->at > size || t->at % ALIGNMENT)
    return fail(why, HD_ERR_FORMAT, "the %s would begin at byte %" PRIu64 " of %" PRIu64, t->name, t->at, size);
  if (t->count > (size - t->at) / t->size)
    return fail(why, HD_ERR_FORMAT, "%" PRIu64 " %s of %" PRIu64 " bytes do not fit into the %" PRIu64 " that are left",
                t->count, t->name, t->size, size - t->at);
  return HD_OK;
}

static HdStatus find_tables(const uint8_t *grid, uint64_t size, const NanoLayout *l, Table t[NTABLES],
                            char why[NANO_WHY]) {
  static const char *const names[] = {"leaves", "lower nodes", "upper nodes", "root"};
  const uint32_t sizes[] = {l->leaf, l->lower, l->upper, l->root};
  for (int i = ROOT; i >= LEAF; i--) {
    uint64_t count = i == ROOT ? 1 : u32(grid + NANO_NODES + 4 * i);
    t[i] = (Table){names[i], NANO_TREE + u64(grid + NANO_TREE + 8 * i), sizes[i], count};
    if (count == 0) t[i].at = NANO_HEAD; /* wherever it says: there is nothing */
    HD_TRY(check_table(&t[i], size, why));
  }
  t[ROOT].size += (uint64_t)NANO_ROOT_TILE * u32(grid + t[ROOT].at + NANO_ROOT_TILES);
  HD_TRY(check_table(&t[ROOT], size, why));
  for (int i = LEAF; i <= ROOT; i++)
    for (int j = i + 1; j <= ROOT; j++)
      if (t[i].count && t[j].count && t[i].at < t[j].at + t[j].size * t[j].count &&
          t[j].at < t[i].at + t[i].size * t[i].count)
        return fail(why, HD_ERR_FORMAT, "the %s and the %s overlap", t[i].name, t[j].name);
  return HD_OK;
}

/* That the node at `from` has a child in `to`, `offset` bytes on. */
static HdStatus check_child(const Table *parents, uint64_t from, uint64_t offset, const Table *to, char why[NANO_WHY]) {
  uint64_t into = from + offset - to->at;
  if (into % to->size == 0 && into / to->size < to->count) return HD_OK;
  return fail(why, HD_ERR_FORMAT, "in the %s an offset of %" PRId64 " from byte %" PRIu64 " leads to none of the %s",
              parents->name, (int64_t)offset, from, to->name);
}

static HdStatus check_nodes(const uint8_t *grid, const Table *t, const Table *children, uint32_t places, uint32_t head,
                            uint32_t tile, char why[NANO_WHY]) {
  for (uint64_t n = 0; n < t->count; n++) {
    uint64_t at = t->at + n * t->size;
    for (uint32_t w = 0; w < places / 64; w++)
      for (uint64_t bits = u64(grid + at + NANO_MASKS + places / 8 + 8 * w); bits; bits &= bits - 1) {
        uint64_t place = at + head + (64 * w + (uint64_t)__builtin_ctzll(bits)) * tile;
        HD_TRY(check_child(t, at, u64(grid + place), children, why));
      }
  }
  return HD_OK;
}

static HdStatus check_root(const uint8_t *grid, const NanoLayout *l, const Table t[NTABLES], char why[NANO_WHY]) {
  uint32_t count = u32(grid + t[ROOT].at + NANO_ROOT_TILES);
  for (uint32_t i = 0; i < count; i++) {
    uint64_t offset = u64(grid + t[ROOT].at + l->root + (uint64_t)NANO_ROOT_TILE * i + 8);
    if (offset) HD_TRY(check_child(&t[ROOT], t[ROOT].at, offset, &t[UPPER], why));
  }
  return HD_OK;
}

/* Of leaves with numbers: that these are less than their count, with the sums of bits in whole words before. */
static HdStatus check_numbers(const uint8_t *grid, const Table *leaves, char why[NANO_WHY]) {
  uint64_t count = u64(grid + NANO_COUNT);
  for (uint64_t n = 0; n < leaves->count; n++) {
    const uint8_t *leaf = grid + leaves->at + n * leaves->size;
    uint64_t first = u64(leaf + NANO_LEAF_FIRST), sums = 0, before = 0;
    for (int w = 0; w < 8; w++) {
      if (w) sums |= before << 9 * (w - 1);
      before += (uint64_t)__builtin_popcountll(u64(leaf + NANO_LEAF_MASK + 8 * w));
    }
    if (u64(leaf + NANO_LEAF_SUMS) != sums)
      return fail(why, HD_ERR_FORMAT, "the sums of leaf %" PRIu64 " are not those of its mask", n);
    if (count > INT32_MAX || first > count || before > count - first)
      return fail(why, HD_ERR_FORMAT, "leaf %" PRIu64 " has numbers %" PRIu64 " and on, of %" PRIu64, n, first, count);
  }
  return HD_OK;
}

static int by_key(const void *a, const void *b) {
  uint64_t x = u64(a), y = u64(b);
  return x < y ? -1 : x > y;
}

/* A tile's offset is from the root, so tiles can be moved. */
static HdStatus sort_tiles(uint8_t *tiles, uint32_t count, char why[NANO_WHY]) {
  if (count) qsort(tiles, count, NANO_ROOT_TILE, by_key);
  for (uint32_t i = 1; i < count; i++)
    if (u64(tiles + (uint64_t)NANO_ROOT_TILE * (i - 1)) == u64(tiles + (uint64_t)NANO_ROOT_TILE * i))
      return fail(why, HD_ERR_FORMAT, "two tiles of the root are in one place");
  return HD_OK;
}

/* --- checksums: two of 32 bits; all ones: none --- */

static uint32_t crc(const uint32_t table[256], const uint8_t *p, uint64_t n) {
  uint32_t c = UINT32_MAX;
  for (const uint8_t *end = p + n; p < end; p++) c = table[(c ^ *p) & 255] ^ c >> 8;
  return ~c;
}

/* One of the checksums of pieces, as they would lie behind one another. */
typedef struct Pieces {
  const uint32_t *table;
  uint32_t state;
} Pieces;

static void add_piece(Pieces *s, const uint8_t *p, uint64_t n) {
  uint32_t c = crc(s->table, p, n);
  for (int i = 0; i < 4; i++) s->state = s->table[(s->state ^ c >> 8 * i) & 255] ^ s->state >> 8;
}

/* Up to 32.6.0 the first is of the root too, and the second of the nodes' own; from then on of blocks of 4096 bytes, the last longer. */
static void checksums(const uint8_t *grid, uint64_t size, const Table t[NTABLES], uint32_t out[2]) {
  enum { BLOCK = 4096, OLD = MAJOR << 21 | 6 << 10 };
  uint32_t table[256];
  for (uint32_t i = 0; i < 256; i++) {
    table[i] = i;
    for (int k = 0; k < 8; k++) table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xEDB88320u : 0);
  }
  bool old = u32(grid + NANO_VERSION) <= OLD;
  uint64_t end = old && t[UPPER].at > NANO_HEAD ? t[UPPER].at : NANO_HEAD;
  Pieces tail = {table, UINT32_MAX};
  out[0] = crc(table, grid + NANO_VERSION, end - NANO_VERSION);
  if (old) {
    for (int i = UPPER; i >= LEAF; i--)
      for (uint64_t n = 0; n < t[i].count; n++) add_piece(&tail, grid + t[i].at + n * t[i].size, t[i].size);
  } else {
    uint64_t at = NANO_HEAD;
    for (uint64_t n = (size - at) / BLOCK; n > 0; n--) {
      add_piece(&tail, grid + at, n > 1 ? BLOCK : size - at);
      at += BLOCK;
    }
  }
  out[1] = ~tail.state;
}

HdStatus hdgeo_nano_check(uint8_t *grid, uint64_t size, char why[NANO_WHY]) {
  Table t[NTABLES];
  if (size < NANO_HEAD || !is_magic(grid, "01"))
    return fail(why, HD_ERR_FORMAT, "there is no grid where one should be");
  HD_TRY(check_version(u32(grid + NANO_VERSION), why));
  if (u64(grid + NANO_SIZE) != size || size % ALIGNMENT)
    return fail(why, HD_ERR_FORMAT, "the grid says that it has %" PRIu64 " bytes, there are %" PRIu64,
                u64(grid + NANO_SIZE), size);
  if (size / 4 > INT32_MAX)
    return fail(why, HD_ERR_UNSUPPORTED, "a grid of %" PRIu64 " bytes; less than 2^33 are", size);
  const NanoLayout *l = hdgeo_nano_layout((int32_t)u32(grid + NANO_TYPE));
  if (!l)
    return fail(why, HD_ERR_UNSUPPORTED, "values of type %u; 1 (f32), 4 (i32), 6 (vec3f) and 20 (numbers) are",
                u32(grid + NANO_TYPE));
  HD_TRY(find_tables(grid, size, l, t, why));
  HD_TRY(check_root(grid, l, t, why));
  HD_TRY(check_nodes(grid, &t[UPPER], &t[LOWER], NANO_UPPER_PLACES, NANO_UPPER_HEAD, l->tile, why));
  HD_TRY(check_nodes(grid, &t[LOWER], &t[LEAF], NANO_LOWER_PLACES, NANO_LOWER_HEAD, l->tile, why));
  if (l->type == NANO_NUMBERS_ON) HD_TRY(check_numbers(grid, &t[LEAF], why));
  if (u64(grid + NANO_CHECKSUM) != UINT64_MAX) {
    uint32_t is[2], says[2] = {u32(grid + NANO_CHECKSUM), u32(grid + NANO_CHECKSUM + 4)};
    checksums(grid, size, t, is);
    int wrong = says[0] != is[0] ? 0 : says[1] != UINT32_MAX && says[1] != is[1] ? 1 : -1;
    if (wrong >= 0)
      return fail(why, HD_ERR_FORMAT, "damaged: the checksum of the %s is %08x, not %08x", wrong ? "nodes" : "head",
                  is[wrong], says[wrong]);
  }
  return sort_tiles(grid + t[ROOT].at + l->root, u32(grid + t[ROOT].at + NANO_ROOT_TILES), why);
}

void hdgeo_nano_seal(uint8_t *grid) {
  Table t[NTABLES];
  char why[NANO_WHY];
  uint32_t sums[2];
  uint64_t size = u64(grid + NANO_SIZE);
  if (find_tables(grid, size, hdgeo_nano_layout((int32_t)u32(grid + NANO_TYPE)), t, why) != HD_OK) return;
  checksums(grid, size, t, sums);
  memcpy(grid + NANO_CHECKSUM, sums, 8);
}
