/* algorithms/sort.c -- the host side of algorithms/sort.hd: how many passes, over which bits, in which blocks. */
#include <stdio.h>

#include "algorithms/room.h"

enum { CHUNK = 64 }; /* const CHUNK of sort.hd */

/* Measured on up to 10 million pairs, Zen 5: digits of 8 bits take half the time of 11 bits, whose 2,048 places to write to at
 * once are more than the first cache and its table of pages hold. 10 bits pay where one or two passes are then enough. */
enum { DIGIT_BITS = 8, WIDE_DIGIT_BITS = 10 };
/* Large blocks make the table small beside the elements; there are enough of them for all threads. */
enum { BLOCK_LEAST = 2048, BLOCK_MOST = 32768, BLOCKS_WANTED = 64 };
/* On a GPU blocks are groups': const GROUP and TILE of sort.hd. */
enum { GROUP = 256, TILE = 4096 };

/* The structs of sort.hd, as C lays them out. */
typedef struct Digit32 {
  uint32_t neg, flip, shift, mask;
} Digit32;
typedef struct Digit64 {
  uint64_t neg, flip, shift, mask;
} Digit64;

typedef struct Sort {
  HdAlgorithms *a;
  HdArray key[2], value[2]; /* where the elements are, and where the pass puts them */
  bool values, groups;      /* whether there are values, and whether blocks are groups' */
  Digit64 digit;            /* of the pass */
  int64_t n, block, blocks, chunks, radix;
  HdArray table, sums, totals;
  HdKernel *count, *scan_chunks, *scan_sums, *scan_digits, *scatter;
} Sort;

static bool is_key(HdType type) {
  const HdScalar all[] = {HD_I32, HD_U32, HD_I64, HD_U64, HD_F32, HD_F64};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (hdalg_is_scalar(type, all[i])) return true;
  return false;
}

static HdStatus check(HdAlgorithms *a, const char *call, HdArray keys, const HdArray *values, const HdSortOptions *o) {
  char name[64];
  HD_TRY(hdalg_check_array(a, call, "keys", keys));
  if (!is_key(keys.type))
    return hdalg_fail(a, HD_ERR_TYPE, call, "keys", "wanted i32, u32, i64, u64, f32 or f64, got %s",
                      hd_type_name(keys.type, name));
  if (values) {
    HD_TRY(hdalg_check_length(a, call, "values", *values, keys.length[0]));
    if (values->type.size != 4 && values->type.size != 8)
      return hdalg_fail(a, HD_ERR_TYPE, call, "values", "wanted elements of 4 or 8 bytes, got %s of %u",
                        hd_type_name(values->type, name), values->type.size);
  }
  int32_t bits = 8 * (int32_t)keys.type.size;
  if (o->first_bit < 0 || o->first_bit >= bits)
    return hdalg_fail(a, HD_ERR_OPTION, call, "options.first_bit", "wanted 0 to %d, got %d", bits - 1, o->first_bit);
  if (o->bits < 0 || o->bits > bits - o->first_bit)
    return hdalg_fail(a, HD_ERR_OPTION, call, "options.bits", "wanted 0 to %d, got %d", bits - o->first_bit, o->bits);
  return HD_OK;
}

/* What makes keys of a type compare as unsigned numbers. */
static Digit64 order_of(HdType type, bool descending) {
  bool wide = type.size == 8, is_float = type.scalar == HD_F32 || type.scalar == HD_F64;
  uint64_t sign = wide ? 1ull << 63 : 1ull << 31, all = wide ? UINT64_MAX : UINT32_MAX;
  Digit64 d = {0, 0, 0, 0};
  if (type.scalar != HD_U32 && type.scalar != HD_U64) d.flip = sign;
  if (is_float) d.neg = sign - 1;
  if (descending) d.flip ^= all;
  return d;
}

static HdStatus find_kernels(Sort *s) {
  static const char *const of_value[] = {"", "_32", "_64"};
  char count[32], scatter[32];
  const char *group = s->groups ? "_group" : "";
  int bits = 8 * (int)s->key[0].type.size;
  snprintf(count, sizeof count, "count%s_%d", group, bits);
  snprintf(scatter, sizeof scatter, "scatter%s_%d%s", group, bits, of_value[s->values ? s->value[0].type.size / 4 : 0]);
  HD_TRY(hdalg_kernel(s->a, ALG_SORT, count, &s->count));
  HD_TRY(hdalg_kernel(s->a, ALG_SORT, "scan_chunks", &s->scan_chunks));
  HD_TRY(hdalg_kernel(s->a, ALG_SORT, "scan_sums", &s->scan_sums));
  HD_TRY(hdalg_kernel(s->a, ALG_SORT, "scan_digits", &s->scan_digits));
  return hdalg_kernel(s->a, ALG_SORT, scatter, &s->scatter);
}

/* The launches on blocks: of one thread each, whose kernels take the size of a block, or of one group each. */
static HdStatus count(Sort *s, HdArg key, HdArg digit, HdArg table) {
  if (s->groups) return HDHOST_RUN1(s->count, s->a->stream, s->blocks * GROUP, key, digit, table);
  return HDHOST_RUN2(s->count, s->a->stream, s->blocks, 1, key, digit, hd_arg_i32((int32_t)s->block), table);
}

static HdStatus scatter(Sort *s, HdArg digit, HdArg table, HdArg sums, HdArg totals) {
  HdArg args[9] = {digit, hd_arg_i32((int32_t)s->block), table, sums, totals};
  int32_t n = 5;
  if (s->groups) {
    for (n = 1; n < 4; n++) args[n] = args[n + 1];
  }
  args[n++] = hd_arg_array(&s->key[0]);
  args[n++] = hd_arg_array(&s->key[1]);
  if (s->values) {
    args[n++] = hd_arg_array(&s->value[0]);
    args[n++] = hd_arg_array(&s->value[1]);
  }
  const int64_t groups[] = {s->blocks * GROUP}, blocks[] = {s->blocks, 1};
  return hd_launch(s->scatter, s->a->stream, s->groups ? 1 : 2, s->groups ? groups : blocks, n, args);
}

static HdStatus pass(Sort *s) {
  Digit32 narrow = {(uint32_t)s->digit.neg, (uint32_t)s->digit.flip, (uint32_t)s->digit.shift, (uint32_t)s->digit.mask};
  HdArg digit = s->key[0].type.size == 8 ? hd_arg_value(hd_type_struct(sizeof s->digit), &s->digit)
                                         : hd_arg_value(hd_type_struct(sizeof narrow), &narrow);
  HdStream *stream = s->a->stream;
  HdArg table = hd_arg_array(&s->table), sums = hd_arg_array(&s->sums), totals = hd_arg_array(&s->totals);
  HD_TRY(count(s, hd_arg_array(&s->key[0]), digit, table));
  HD_TRY(HDHOST_RUN2(s->scan_chunks, stream, s->chunks, s->radix, hd_arg_i32((int32_t)s->blocks), table, sums));
  HD_TRY(HDHOST_RUN1(s->scan_sums, stream, s->radix, hd_arg_i32((int32_t)s->chunks), sums, totals));
  HD_TRY(HDHOST_RUN1(s->scan_digits, stream, 1, hd_arg_i32((int32_t)s->radix), totals));
  HD_TRY(scatter(s, digit, table, sums, totals));
  HdArray k = s->key[0], v = s->value[0];
  s->key[0] = s->key[1], s->key[1] = k;
  s->value[0] = s->value[1], s->value[1] = v;
  return HD_OK;
}

static int64_t block_size(const Sort *s) {
  if (s->groups) return TILE;
  int64_t block = s->n / BLOCKS_WANTED;
  return block < BLOCK_LEAST ? BLOCK_LEAST : block > BLOCK_MOST ? BLOCK_MOST : block;
}

static HdStatus make_scratch(Sort *s, int32_t digit_bits) {
  HdType i32 = hd_type_scalar(HD_I32);
  s->blocks = (s->n + s->block - 1) / s->block;
  s->chunks = (s->blocks + CHUNK - 1) / CHUNK;
  s->radix = (int64_t)1 << digit_bits;
  HD_TRY(hdalg_scratch(s->a, ALG_KEYS, s->key[0].type, s->n, &s->key[1]));
  if (s->values) HD_TRY(hdalg_scratch(s->a, ALG_VALUES, s->value[0].type, s->n, &s->value[1]));
  HD_TRY(hdalg_scratch(s->a, ALG_TABLE, i32, s->blocks * s->radix, &s->table));
  HD_TRY(hdalg_scratch(s->a, ALG_SUMS, i32, s->chunks * s->radix, &s->sums));
  return hdalg_scratch(s->a, ALG_TOTALS, i32, s->radix, &s->totals);
}

static HdStatus sort(HdAlgorithms *a, const char *call, HdArray keys, const HdArray *values,
                     const HdSortOptions *options) {
  HdSortOptions defaults = HD_SORT_OPTIONS_INIT, o = options ? *options : defaults;
  HD_TRY(check(a, call, keys, values, &o));
  int32_t all = 8 * (int32_t)keys.type.size, bits = o.bits ? o.bits : all - o.first_bit;
  Sort s = {.a = a, .n = keys.length[0], .values = values != NULL, .digit = order_of(keys.type, o.descending)};
  if (s.n < 2) return HD_OK;
  /* Kernels take bits, whatever they mean. */
  s.key[0] = keys;
  s.key[0].type = hd_type_scalar(keys.type.size == 8 ? HD_U64 : HD_U32);
  if (values) {
    s.value[0] = *values;
    s.value[0].type = hd_type_scalar(values->type.size == 8 ? HD_U64 : HD_U32);
  }
  s.groups = a->device.kind == HD_DEVICE_CUDA;
  s.block = block_size(&s);
  int32_t most = bits <= 2 * WIDE_DIGIT_BITS && !s.groups ? WIDE_DIGIT_BITS : DIGIT_BITS;
  int32_t passes = (bits + most - 1) / most, each = (bits + passes - 1) / passes;
  HD_TRY(make_scratch(&s, each));
  HD_TRY(find_kernels(&s));
  for (int32_t done = 0; done < bits; done += each) {
    int32_t width = each < bits - done ? each : bits - done;
    s.radix = (int64_t)1 << width;
    s.digit.shift = (uint64_t)o.first_bit + (uint64_t)done;
    s.digit.mask = (uint64_t)s.radix - 1;
    HD_TRY(pass(&s));
  }
  if (passes % 2 == 0) return HD_OK;
  HD_TRY(hd_array_copy(a->stream, s.key[0], s.key[1]));
  return values ? hd_array_copy(a->stream, s.value[0], s.value[1]) : HD_OK;
}

/* x, of 4 or 8 bytes an element, in the order of where its elements come from. */
static HdStatus gather(HdAlgorithms *a, HdArray origin, HdArray x) {
  HdArray was;
  HdKernel *kernel;
  bool wide = x.type.size == 8;
  x.type = hd_type_scalar(wide ? HD_U64 : HD_U32);
  HD_TRY(hdalg_kernel(a, ALG_SORT, wide ? "gather_64" : "gather_32", &kernel));
  HD_TRY(hdalg_scratch(a, ALG_ORIGINAL, x.type, x.length[0], &was));
  HD_TRY(hd_array_copy(a->stream, x, was));
  return HDHOST_RUN1(kernel, a->stream, x.length[0], hd_arg_array(&origin), hd_arg_array(&was), hd_arg_array(&x));
}

/* By the keys, then, since equal ones keep their order, by the segments: where each element comes from. */
static HdStatus sort_segments(HdAlgorithms *a, HdArray starts, HdArray keys, const HdArray *values,
                              const HdSortOptions *options) {
  int64_t n = keys.length[0], count = starts.length[0];
  HdSortOptions by_segment = HD_SORT_OPTIONS_INIT;
  HdArray segment, segment_of, origin, sorted;
  HdKernel *mark, *number, *of;
  while (by_segment.bits < 31 && (count >> by_segment.bits) > 0) by_segment.bits++;
  HD_TRY(hdalg_kernel(a, ALG_SORT, "mark_starts", &mark));
  HD_TRY(hdalg_kernel(a, ALG_SORT, "number", &number));
  HD_TRY(hdalg_kernel(a, ALG_SORT, "gather_32", &of));
  HD_TRY(hdalg_scratch(a, ALG_SEGMENT, hd_type_scalar(HD_I32), n, &segment));
  HD_TRY(hdalg_scratch(a, ALG_SEGMENT_OF, hd_type_scalar(HD_U32), n, &segment_of));
  HD_TRY(hdalg_scratch(a, ALG_ORIGIN, hd_type_scalar(HD_U32), n, &origin));
  HD_TRY(hdalg_scratch(a, ALG_ORIGINAL, keys.type, n, &sorted));
  HD_TRY(hd_array_clear(a->stream, segment));
  HD_TRY(HDHOST_RUN1(mark, a->stream, count, hd_arg_array(&starts), hd_arg_array(&segment)));
  HD_TRY(hdalg_scan(a, HD_SCAN_INCLUSIVE, segment, segment));
  HD_TRY(HDHOST_RUN1(number, a->stream, n, hd_arg_array(&origin)));
  HD_TRY(hd_array_copy(a->stream, keys, sorted));
  HD_TRY(hd_sort_pairs(a, sorted, origin, options));
  segment.type = hd_type_scalar(HD_U32);
  HD_TRY(HDHOST_RUN1(of, a->stream, n, hd_arg_array(&origin), hd_arg_array(&segment), hd_arg_array(&segment_of)));
  HD_TRY(hd_sort_pairs(a, segment_of, origin, &by_segment));
  HD_TRY(gather(a, origin, keys));
  return values ? gather(a, origin, *values) : HD_OK;
}

HdStatus hd_sort_segments(HdAlgorithms *a, HdArray starts, HdArray keys, const HdArray *values,
                          const HdSortOptions *options) {
  if (!a) return HD_ERR_ARG;
  const char *call = "hd_sort_segments";
  HdSortOptions defaults = HD_SORT_OPTIONS_INIT, o = options ? *options : defaults;
  HD_TRY(hdalg_check_scalar(a, call, "starts", starts, HD_I32));
  HD_TRY(check(a, call, keys, values, &o));
  if (keys.length[0] < 2) return HD_OK;
  return starts.length[0] ? sort_segments(a, starts, keys, values, &o) : sort(a, call, keys, values, &o);
}

HdStatus hd_sort_keys(HdAlgorithms *a, HdArray keys, const HdSortOptions *options) {
  if (!a) return HD_ERR_ARG;
  return sort(a, "hd_sort_keys", keys, NULL, options);
}

HdStatus hd_sort_pairs(HdAlgorithms *a, HdArray keys, HdArray values, const HdSortOptions *options) {
  if (!a) return HD_ERR_ARG;
  return sort(a, "hd_sort_pairs", keys, &values, options);
}
