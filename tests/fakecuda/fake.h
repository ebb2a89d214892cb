/* tests/fakecuda/fake.h -- the simulated driver: its state, and the parts of the ABI that are used.
 *
 * One lock guards all. Work is queued on its stream and runs when somebody waits for it, in an order drawn from a seed:
 * what is not ordered by streams and events really comes in any order. A fault belongs to its context, surfaces at the
 * next call that waits, and stays. Device addresses lie in a reserved range without access, so a host that touches one
 * crashes as it should; between allocations lie gaps, and the addresses of freed ones are not used again.
 */
#ifndef FAKECUDA_FAKE_H
#define FAKECUDA_FAKE_H

#include "tests/fakecuda/fake_api.h"
#include "tests/fakecuda/ptx.h"

enum {
  CU_OK = 0, CU_INVALID_VALUE = 1, CU_OUT_OF_MEMORY = 2, CU_NOT_INITIALIZED = 3, CU_NO_DEVICE = 100, CU_INVALID_DEVICE = 101,
  CU_INVALID_IMAGE = 200, CU_INVALID_CONTEXT = 201, CU_NO_BINARY = 209, CU_INVALID_PTX = 218, CU_PEER_UNSUPPORTED = 217,
  CU_PTX_TOO_NEW = 222, CU_INVALID_HANDLE = 400, CU_NOT_FOUND = 500, CU_NOT_READY = 600, CU_ILLEGAL_ADDRESS = 700,
  CU_OUT_OF_RESOURCES = 701, CU_PEER_ON = 704, CU_PEER_OFF = 705, CU_COOPERATIVE_TOO_LARGE = 720, CU_HOST_ON = 712, CU_HOST_OFF = 713,
  CU_NOT_PERMITTED = 800, CU_NOT_SUPPORTED = 801,
};

enum { FK_DEVICES = 8, FK_RULES = 64, FK_STACK = 32, FK_DEPS = 2 };

/* --- configuration (fake_rules.c) --- */

typedef struct FkRule {
  char     call[64];         /* a pattern with *                                                               */
  char     kernel[64];       /* only launches of it; empty: any                                                */
  int      device;           /* only on it; -1: any                                                            */
  uint64_t above;            /* only sizes above                                                               */
  uint64_t at, every;        /* the at-th match; then each `every`-th, 0: no more                              */
  int      code;
  bool     later;            /* the call succeeds, the context is lost when somebody waits                     */
  uint64_t seen;
} FkRule;

typedef struct FkConfig {
  int      devices, driver, init, fork_code;
  int      sm[FK_DEVICES];
  uint64_t mem[FK_DEVICES];
  int      registers;        /* of every function, as if compiled; 0: what the text declares, an upper bound   */
  bool     pools, managed, peer, eager, null, adversary;
  PtxSchedule schedule;
  uint64_t seed;
  char     missing[256];     /* patterns, separated by '/'                                                     */
  char     log[200];         /* a file, or "stderr"; empty: none                                               */
  FkRule   rules[FK_RULES];
  int      nrules;
  char     mistake[128];     /* what of the text was not understood                                            */
} FkConfig;

void fk_config_read(FkConfig *c, const char *text);
bool fk_matches(const char *pattern, const char *name);

/* --- objects --- */

typedef enum FkKind { FK_CONTEXT = 0x46c0, FK_STREAM, FK_EVENT, FK_MODULE, FK_FUNCTION, FK_POOL } FkKind;

typedef enum FkWhere { FK_ON_DEVICE, FK_ON_HOST, FK_MANAGED, FK_REGISTERED } FkWhere;

typedef struct FkBlock {
  FkWhere          where;
  int              device;   /* that owns it                                                                   */
  uint64_t         at, size;
  uint8_t         *host;
  struct FkContext *context;
  struct FkPool   *pool;     /* or NULL                                                                        */
  bool             freeing;  /* a stream will free it                                                          */
  bool             module;   /* a module's variable                                                            */
  struct FkBlock  *next;
} FkBlock;

typedef struct FkPool {
  int      kind, device;
  uint64_t values[16];
  uint64_t used, used_high;
  bool     own;              /* made by cuMemPoolCreate                                                        */
  bool     seen[FK_DEVICES]; /* by other devices                                                               */
  struct FkPool *next;
} FkPool;

typedef struct FkDevice {
  int       index, sm;
  uint64_t  mem, used;
  uint64_t  base, top, end;  /* addresses                                                                      */
  PtxSpace *space;
  struct FkContext *primary;
  int       retained;
  unsigned  flags;
  FkPool    default_pool, *pool;
} FkDevice;

typedef struct FkDep { struct FkStream *stream; uint64_t seq; } FkDep;

typedef enum FkWork { FK_NOTHING, FK_COPY, FK_SET, FK_LAUNCH, FK_CALL, FK_RECORD, FK_FREE, FK_POISON } FkWork;

typedef struct FkOp {
  FkWork       work;
  struct FkOp *next;
  FkDep       *deps;
  uint32_t     ndeps;
  uint64_t     to, from;     /* addresses of the device or the host                                            */
  uint64_t     width, height, depth, to_pitch, from_pitch, to_slice, from_slice;
  uint8_t     *staged;       /* a copy of pageable memory, taken when the call was made                        */
  uint32_t     value, value_bytes;
  struct FkFunction *function;
  PtxLaunch    launch;
  void        *params;
  void       (*call)(void *);
  void        *user;
  struct FkEvent *event;
  int          code;         /* of FK_POISON                                                                   */
} FkOp;

typedef struct FkStream {
  int       kind;
  struct FkContext *context;
  unsigned  flags;
  int       priority;
  uint64_t  id, submitted, done;
  FkOp     *first, *last;
  bool      dead, running;
  struct FkStream *next;
} FkStream;

typedef struct FkEvent {
  int       kind;
  struct FkContext *context;
  unsigned  flags;
  FkStream *stream;          /* NULL: never recorded                                                           */
  uint64_t  seq;
  double    time;            /* milliseconds                                                                   */
  bool      done;
  struct FkEvent *next;
} FkEvent;

typedef struct FkFunction {
  int       kind;
  struct FkModule *module;
  const PtxEntry  *entry;
  int       most_dynamic;    /* bytes of dynamic shared memory allowed                                         */
  struct FkFunction *next;
} FkFunction;

typedef struct FkModule {
  int         kind;
  struct FkContext *context;
  PtxModule  *ptx;
  FkFunction *functions;
  struct FkModule *next;
} FkModule;

typedef struct FkContext {
  int       kind, device;
  bool      primary, dead;
  unsigned  flags;
  int       lost;            /* the first fault                                                                */
  FkStream  legacy;          /* the default stream                                                             */
  FkStream *streams;
  FkEvent  *events;
  FkModule *modules;
  uint64_t  limits[8];
  bool      peers[FK_DEVICES];
  struct FkContext *next;
} FkContext;

typedef struct FkState {
  bool       ready, started;
  int        pid;
  FkConfig   config;
  FkDevice   device[FK_DEVICES];
  FkContext *contexts;
  FkBlock   *blocks;
  FkPool    *pools;
  uint64_t   random, ids;
  bool       in_callback;    /* of cuLaunchHostFunc, which may not call the driver                             */
  char       fault[600];     /* the last one in words                                                          */
  uint64_t   launches, threads;
  struct { const char *name; uint64_t n; } calls[700];
  int        ncalls;
} FkState;

extern FkState fk;

/* --- entering (fake_state.c) --- */

typedef struct FkLock { int code; bool held; } FkLock;

FkLock fk_enter(const char *name, bool needs_init);
void   fk_leave(FkLock *lock);
/* The first lines of every function of the ABI: take the lock, count, look for a rule that fails the call. */
#define ENTER(needs_init)                                                                                                     \
  __attribute__((cleanup(fk_leave))) FkLock lock = fk_enter(__func__, needs_init);                                            \
  if (lock.code) return lock.code
/* Also: a current context that is not lost. */
#define ENTER_CONTEXT()                                                                                                       \
  ENTER(true);                                                                                                                \
  FkContext *ctx = fk_current();                                                                                              \
  if (!ctx) return CU_INVALID_CONTEXT;                                                                                        \
  if (ctx->lost) return ctx->lost

/* A device there is. */
#define ENTER_DEVICE(index)                                                                                                   \
  ENTER(true);                                                                                                                \
  FkDevice *d = fk_device(index);                                                                                             \
  if (!d) return CU_INVALID_DEVICE
/* A stream of the current context. */
#define ENTER_STREAM(handle)                                                                                                  \
  ENTER_CONTEXT();                                                                                                            \
  FkStream *s = fk_stream(ctx, handle);                                                                                       \
  if (!s) return CU_INVALID_HANDLE
/* A stream of any context: the default stream is that of the current one. */
#define ENTER_ANY_STREAM(handle)                                                                                              \
  ENTER_CONTEXT();                                                                                                            \
  FkStream *s = fk_stream_of_any(ctx, handle);                                                                                \
  if (!s) return CU_INVALID_HANDLE
#define ENTER_FUNCTION(handle)                                                                                                \
  ENTER_CONTEXT();                                                                                                            \
  FkFunction *f = fk_function(ctx, handle);                                                                                   \
  if (!f) return CU_INVALID_HANDLE

/* A rule for this call that looks closer than at its name. */
int  fk_rule(const char *name, const char *kernel, int device, uint64_t size);
void fk_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
void fk_reset(const char *config);

FkContext *fk_current(void);
FkContext *fk_context(void *handle);       /* NULL if it is none */
FkContext *fk_context_new(int device, bool primary);
void       fk_context_free(FkContext *c);
FkDevice  *fk_device(int index);           /* NULL if there is none */
void      *fk_new(size_t size);
#define FK_NEW(type) ((type *)fk_new(sizeof(type)))

/* --- memory (fake_memory.c) --- */

FkBlock *fk_block_at(uint64_t address, uint64_t size);   /* that holds all of it, or NULL */
FkBlock *fk_block_new(FkContext *c, FkWhere where, uint64_t size, uint64_t align, FkPool *pool, const char *what, int *code);
void     fk_block_free(FkBlock *b);
void     fk_blocks_of(FkContext *c, bool modules_too);   /* free what a context owns */
void     fk_see_peer(int from, int to, bool on);
void     fk_see_block(int from, FkBlock *b, bool on);
/* The memory behind an address of a device or the host; NULL if a device's is not valid. */
uint8_t *fk_host_of(uint64_t address, uint64_t size);
bool     fk_is_device(uint64_t address);                 /* in the range of any device */

/* --- streams (fake_stream.c) --- */

FkStream *fk_stream(FkContext *c, void *handle);          /* NULL if it is none */
FkStream *fk_stream_of_any(FkContext *c, void *handle);
void      fk_wander(const FkContext *c);                  /* let streams take steps, perhaps */
FkOp     *fk_op(FkWork work);
void      fk_submit(FkStream *s, FkOp *op);
void      fk_depend(FkOp *op, FkStream *s, uint64_t seq);
int       fk_drain(FkStream *s, uint64_t seq);            /* run at least up to seq; the context's fault */
int       fk_drain_all(FkContext *c);
void      fk_lose(FkContext *c, int code, const char *why);
void      fk_stream_end(FkStream *s);
double    fk_now(void);

/* --- contexts, devices, functions (fake_context.c, fake_device.c, fake_function.c, fake_launch.c) --- */

void        fk_contexts_forget(void);
int         fk_attribute(int device, int which);
FkFunction *fk_function(FkContext *c, void *handle);      /* NULL if it is none */
int         fk_most_threads(const FkFunction *f);         /* of a block */
int         fk_registers(const FkFunction *f);            /* of a thread */
int         fk_resident(const FkContext *c, const FkFunction *f, int threads, size_t dynamic);
int         fk_run_launch(FkContext *c, const FkOp *op);

#endif
