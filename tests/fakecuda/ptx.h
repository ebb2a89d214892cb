/* tests/fakecuda/ptx.h -- runs PTX on the processor, one instruction at a time.
 *
 * PTX text becomes a module, a module is linked into a space (the memory that its kernels may touch), and its entries
 * run as a grid of thread blocks. What is not understood is an error with its line, never skipped. Arithmetic has the
 * exact results that the PTX manual asks for; the approximate operations lie within their documented bounds, and an
 * adversary moves them about inside these. It is written from the manual alone and shares no code with the compiler.
 *
 * The blocks of a launch run one after another on the calling thread. Warps are 32 lanes in lockstep which come together
 * at the lowest line of code; two more schedules run each thread alone, or lanes in a random order, so that code which
 * only works in lockstep is found. Left out: asynchronous copies, clusters, weak memory order.
 */
#ifndef FAKECUDA_PTX_H
#define FAKECUDA_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct PtxModule PtxModule;
typedef struct PtxSpace  PtxSpace;

/* What went wrong; `code` is the number that the CUDA driver has for it. */
enum {
  PTX_OK = 0,
  PTX_INVALID = 1,          /* an argument of the call                                                         */
  PTX_NO_MEMORY = 2,
  PTX_BAD_TEXT = 218,       /* not PTX, or PTX that this interpreter does not know                             */
  PTX_NOT_FOUND = 500,      /* a name                                                                          */
  PTX_ILLEGAL_ADDRESS = 700,
  PTX_OUT_OF_RESOURCES = 701,
  PTX_TIMEOUT = 702,        /* threads wait for each other for ever, or the limit of steps is reached          */
  PTX_ASSERT = 710,
  PTX_ILLEGAL_INSTRUCTION = 715,
  PTX_MISALIGNED = 716,
  PTX_BAD_SPACE = 717,
  PTX_BAD_PC = 718,         /* a call through a register that holds no function                                */
  PTX_TRAP = 719,           /* trap, and what the manual calls undefined: a barrier in divergent code, ...     */
};

typedef struct PtxError {
  int      code;
  uint32_t line;            /* of the PTX text; 0 if none                                                      */
  char     kernel[64];      /* the entry that ran; empty outside of ptx_run                                    */
  uint32_t cta[3], thread[3];
  uint64_t address;         /* of a memory fault                                                               */
  char     text[512];       /* all of it in words                                                              */
} PtxError;

/* --- modules --- */

typedef struct PtxParam {
  const char *name;
  const char *type;         /* "u64", "f32", "b8" for an array of bytes                                        */
  uint32_t    offset, size, align;
} PtxParam;

typedef struct PtxEntry {
  const char     *name;
  const PtxParam *params;
  uint32_t        nparams;
  uint32_t        param_bytes;   /* of the block of parameters                                                 */
  uint32_t        shared_bytes;  /* static; known after ptx_link                                               */
  uint32_t        local_bytes;   /* a thread                                                                   */
  uint32_t        nregs;         /* 32-bit registers that the text declares: an upper bound, no allocation     */
  uint32_t        maxntid[3];    /* 0 if unsaid                                                                */
  uint32_t        reqntid[3];
  uint32_t        maxnreg, minnctapersm;
} PtxEntry;

typedef struct PtxGlobal {
  const char *name;
  uint64_t    address, size;     /* the address is known after ptx_link                                        */
  uint32_t    align;
  bool        constant;
} PtxGlobal;

/* Parse `size` bytes of text. NULL on an error. The module borrows nothing. */
PtxModule *ptx_parse(const char *text, size_t size, PtxError *err);
void       ptx_module_free(PtxModule *m);

int              ptx_version(const PtxModule *m);                     /* 83 for .version 8.3                   */
int              ptx_target(const PtxModule *m);                      /* 75 for .target sm_75                  */
const char      *ptx_target_name(const PtxModule *m);                 /* "sm_90a"                              */
uint32_t         ptx_entry_count(const PtxModule *m);
const PtxEntry  *ptx_entry_at(const PtxModule *m, uint32_t i);
const PtxEntry  *ptx_entry(const PtxModule *m, const char *name);     /* NULL if there is none                 */
uint32_t         ptx_global_count(const PtxModule *m);
const PtxGlobal *ptx_global_at(const PtxModule *m, uint32_t i);
const PtxGlobal *ptx_global(const PtxModule *m, const char *name);

/* --- the memory of a device ---
 *
 * A space is a list of ranges of addresses with the host memory behind each. An access outside of all, across the end
 * of one, or in one that was dropped, is a fault which says what lies near. */

enum { PTX_READ_ONLY = 1 };

PtxSpace *ptx_space_new(void);
void      ptx_space_free(PtxSpace *s);

/* Addresses [address, address + size) are the memory at `host`. `what` (copied, may be NULL) names it in a fault.
 * PTX_INVALID if it overlaps a living range; a dropped one that it overlaps is forgotten. */
int ptx_space_add(PtxSpace *s, uint64_t address, uint64_t size, void *host, unsigned flags, const char *what);
/* The range that begins at `address` is freed: its memory is no longer touched, its address stays known. */
int ptx_space_drop(PtxSpace *s, uint64_t address);
/* The host memory of [address, address + size), NULL if that is not inside one living range. */
void *ptx_space_at(const PtxSpace *s, uint64_t address, uint64_t size);
/* What lies at or near `address`, in words: for messages. */
void ptx_space_describe(const PtxSpace *s, uint64_t address, char *text, size_t size);

/* What a kernel did to each byte of a range since the marks were cleared, and the bytes [lo, hi) that it was between. */
enum { PTX_READS = 1, PTX_WRITES = 2, PTX_ATOMICS = 4 };
typedef struct PtxMarks {
  uint8_t *v;
  uint64_t lo, hi;
} PtxMarks;
/* From now on, mark what happens to the range that begins at `address`; NULL: no longer. The caller owns the marks. */
int ptx_space_watch(PtxSpace *s, uint64_t address, PtxMarks *marks);
void ptx_mark(PtxMarks *marks, uint64_t at, uint64_t size, unsigned how);

/* What a texture unit needs to know of an object. Each level lies in the space, row after row without gaps. */
enum { PTX_TEX_LEVELS = 16 };
typedef enum PtxTexFormat { PTX_TEX_U8, PTX_TEX_F16, PTX_TEX_F32 } PtxTexFormat; /* U8: 0 to 255 are read as 0 to 1 */
typedef enum PtxTexWrap { PTX_TEX_WRAP, PTX_TEX_CLAMP, PTX_TEX_MIRROR, PTX_TEX_BORDER } PtxTexWrap;
typedef struct PtxTexture {
  int          dims;
  uint32_t     size[3];          /* of level 0; 1 along axes that there are not                                */
  uint32_t     channels, levels;
  PtxTexFormat format;
  PtxTexWrap   wrap[3];
  bool         normalized, linear, linear_levels;
  float        bias, least, most, border[4];  /* of levels: added to what is asked for, then its bounds        */
  uint64_t     level[PTX_TEX_LEVELS];
} PtxTexture;
/* From now on `object` is this texture, which is copied; NULL: it is none any more. */
void ptx_space_texture(PtxSpace *s, uint64_t object, const PtxTexture *t);

/* Finds memory for a module's globals: sets the address and the host memory of `size` bytes. 0, or an error number. */
typedef int PtxPlace(void *user, uint64_t size, uint64_t align, const char *name, uint64_t *address, void **host);

/* Give the globals of `m` memory in `s`, and their initial values. A module is linked once. place == NULL: the module
 * owns the memory, and its addresses are those of the host. */
int ptx_link(PtxModule *m, PtxSpace *s, PtxPlace *place, void *user, PtxError *err);

/* --- running --- */

typedef enum PtxSchedule {
  PTX_LOCKSTEP,             /* warps, as hardware runs them                                                    */
  PTX_THREADS,              /* every thread alone, in turns                                                    */
  PTX_RANDOM,               /* any lanes that may run, for any time, drawn from `seed`                         */
} PtxSchedule;

typedef struct PtxLaunch {
  const char *entry;
  uint32_t    grid[3], block[3];
  uint32_t    shared_bytes;      /* dynamic shared memory                                                      */
  const void *params;            /* the block of parameters, laid out as PtxParam says                         */
  size_t      param_bytes;
  PtxSchedule schedule;
  uint64_t    seed;              /* of PTX_RANDOM and of the adversary                                         */
  bool        adversary;         /* move the result of approximate operations within their bounds              */
  bool        cooperative;       /* all blocks are on the device together                                      */
  bool        exact_shared;      /* shared memory ends at its last byte; else at the next multiple of 256      */
  uint64_t    max_steps;         /* warp instructions of one block between signs of progress; 0: 2^30          */
  uint32_t    stack_bytes;       /* for calls whose depth is unknown; 0: 64 KiB a thread                       */
  uint32_t    device;            /* shown by some special registers                                            */
  void      (*print)(void *user, const char *text, size_t size);  /* of vprintf and assert; NULL: stdout       */
  void       *user;
} PtxLaunch;

typedef struct PtxStats {
  uint64_t threads;              /* instructions, counted once for each thread                                 */
  uint64_t steps;                /* counted once for each group of lanes                                       */
  uint64_t split;                /* of these, run for a part of a warp's living lanes                          */
} PtxStats;

/* Run a grid. 0, or the number that `err` has too. stats may be NULL. The space must not change meanwhile. */
int ptx_run(PtxModule *m, const PtxLaunch *launch, PtxStats *stats, PtxError *err);

#ifdef __cplusplus
}
#endif
#endif
