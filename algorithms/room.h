/* algorithms/room.h -- what the algorithms share: kernels by name, scratch memory, checks of arrays. */
#ifndef ALGORITHMS_ROOM_H
#define ALGORITHMS_ROOM_H

#include "heddle/algorithms.h"
#include "host/host.h"
HD_BEGIN_DECLS

/* The text of algorithms/<name>.hd, embedded by the build; NULL if there is none. */
const char *hdalg_source(const char *name);

typedef enum AlgModule { ALG_SORT, ALG_MODULES } AlgModule;

/* Scratch arrays; what a call needs at one time has slots of its own. */
typedef enum AlgSlot { ALG_KEYS, ALG_VALUES, ALG_TABLE, ALG_SUMS, ALG_TOTALS, ALG_SLOTS } AlgSlot;

/* A slot that grows at least doubles; what it had before is kept for the work that may still use it. */
enum { ALG_GROWTHS = 40 };
typedef struct AlgScratch {
  HdArray array[ALG_GROWTHS]; /* of u64; the last one is in use */
  int32_t count;
} AlgScratch;

struct HdAlgorithms {
  HdContext *ctx;
  HdStream *stream;
  HdDevice device;
  HdModuleOptions options;
  HdModule  *module[ALG_MODULES]; /* NULL until one of its kernels is asked for */
  AlgScratch scratch[ALG_SLOTS];
};

HdStatus hdalg_kernel(HdAlgorithms *a, AlgModule module, const char *name, HdKernel **out);
/* `n` elements, contents undefined, until the slot is asked for again. */
HdStatus hdalg_scratch(HdAlgorithms *a, AlgSlot slot, HdType type, int64_t n, HdArray *out);

/* --- checks; `call` and `arg` are for the error's record --- */

HdStatus hdalg_fail(HdAlgorithms *a, HdStatus status, const char *call, const char *arg, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* One axis, fewer than 2^31 elements, on the stream's device. */
HdStatus hdalg_check_array(HdAlgorithms *a, const char *call, const char *arg, HdArray array);
/* The same, with the length and scalar type that are wanted. */
HdStatus hdalg_check_length(HdAlgorithms *a, const char *call, const char *arg, HdArray array, int64_t length);
HdStatus hdalg_check_scalar(HdAlgorithms *a, const char *call, const char *arg, HdArray array, HdScalar scalar);
bool     hdalg_is_scalar(HdType type, HdScalar scalar);

HD_END_DECLS
#endif
