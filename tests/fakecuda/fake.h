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
  CU_PTX_TOO_NEW = 222, CU_INVALID_HANDLE = 400, CU_ILLEGAL_STATE = 401, CU_NOT_FOUND = 500, CU_NOT_READY = 600, CU_ILLEGAL_ADDRESS = 700,
  CU_OUT_OF_RESOURCES = 701, CU_PEER_ON = 704, CU_PEER_OFF = 705, CU_COOPERATIVE_TOO_LARGE = 720, CU_HOST_ON = 712, CU_HOST_OFF = 713, CU_OPERATING_SYSTEM = 304,
  CU_NOT_PERMITTED = 800, CU_NOT_SUPPORTED = 801,
  CU_CAPTURE_UNSUPPORTED = 900, CU_CAPTURE_INVALIDATED = 901, CU_CAPTURE_MERGE = 902, CU_CAPTURE_UNMATCHED = 903, CU_CAPTURE_UNJOINED = 904,
  CU_CAPTURE_ISOLATION = 905, CU_CAPTURE_IMPLICIT = 906, CU_CAPTURED_EVENT = 907, CU_CAPTURE_WRONG_THREAD = 908, CU_UPDATE_FAILURE = 910,
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
  int      shared;           /* KiB that a block may have at the most; 0: what GPUs of its kind have           */
  bool     peer_wrong;       /* copies between devices that see each other arrive damaged                      */
  bool     race, pools, managed, peer, eager, null, adversary;
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

/* --- who knows what (fake_race.c) --- */

/* For each stream, by its slot, how much of its work comes before. */
typedef struct FkClock {
  uint64_t *v;
  uint32_t  n;
} FkClock;

/* What some work did to a block: the marks of bytes [lo, hi), or `how` for all of them. */
typedef struct FkAccess {
  uint32_t  slot, step;      /* of a stream, of a launched graph                                               */
  uint64_t  seq, lo, hi;
  uint8_t  *marks, how;      /* how: of all bytes together                                                     */
  char      who[120];
  struct FkAccess *next;
} FkAccess;

/* --- objects --- */

typedef enum FkKind { FK_CONTEXT = 0x46c0, FK_STREAM, FK_EVENT, FK_MODULE, FK_FUNCTION, FK_POOL, FK_GRAPH_KIND, FK_NODE, FK_EXEC, FK_MIP,
  FK_LEVEL } FkKind;

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
  bool             array;    /* of texels, which has no address that programs may use                          */
  PtxMarks         marks;
  FkAccess        *accesses; /* the latest first                                                               */
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

typedef enum FkWork { FK_NOTHING, FK_COPY, FK_SET, FK_LAUNCH, FK_CALL, FK_RECORD, FK_FREE, FK_POISON, FK_STEPS } FkWork;

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
  struct FkSteps *steps;     /* of FK_STEPS: a launched graph                                                  */
  FkClock      clock;
} FkOp;

typedef struct FkStream {
  int       kind;
  struct FkContext *context;
  unsigned  flags;
  int       priority;
  uint64_t  id, submitted, done;
  uint32_t  slot;
  FkClock   clock;           /* of its last work                                                               */
  FkOp     *first, *last;
  bool      dead, running;
  struct FkCapture *capture; /* that the stream is in, or NULL                                                 */
  struct FkNode   **tail;    /* the nodes that its next one depends on                                         */
  uint32_t  ntail;
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
  FkClock   clock;
  uint64_t  captured;        /* the capture that recorded it last, or 0                                        */
  struct FkNode **nodes;     /* what it stands for there                                                       */
  uint32_t  nnodes;
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

typedef struct FkLevel {     /* an array of the driver's                                                       */
  int       kind;
  struct FkContext *context;
  uint64_t  at;
  CuArrayShape shape;        /* of it alone                                                                    */
} FkLevel;

typedef struct FkMip {
  int       kind;
  struct FkContext *context;
  FkBlock  *block;
  CuArrayShape shape;
  unsigned  levels;
  FkLevel   level[PTX_TEX_LEVELS];
  struct FkMip *next;
} FkMip;

typedef struct FkTexture {
  uint64_t  handle;
  struct FkContext *context;
  FkMip    *of;
  struct FkTexture *next;
} FkTexture;

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

/* --- graphs --- */

typedef enum FkNodeType {    /* numbered as the driver's                                                       */
  NODE_KERNEL, NODE_COPY, NODE_SET, NODE_HOST, NODE_GRAPH, NODE_EMPTY, NODE_WAIT, NODE_RECORD
} FkNodeType;

typedef struct FkNode {
  int        kind;
  FkNodeType type;
  uint64_t   id;             /* the same in clones of the graph and in what is made of it                      */
  struct FkGraph *graph, *child;
  FkOp      *op;             /* of the first four types                                                        */
  FkEvent   *event;
  bool       disabled;
  struct FkNode **deps;
  uint32_t   ndeps;
  void     **shown;          /* pointers to the parameters, for who asks                                       */
} FkNode;

typedef struct FkGraph {
  int      kind;
  FkNode **nodes;
  uint32_t n, room;
  struct FkGraph *next;
} FkGraph;

typedef struct FkExec {
  int      kind;
  FkGraph *graph, *source;   /* its own copy, and what that was made of                                        */
  uint64_t flags;
  FkStream *stream;          /* of the last launch, whose work is `seq` there                                  */
  uint64_t seq;
  FkClock  clock;
  struct FkExec *next;
} FkExec;

typedef struct FkCapture {
  uint64_t  id;
  int       mode;            /* 0 global, 1 of the thread, 2 relaxed                                           */
  bool      invalid, borrowed;  /* borrowed: the graph is the caller's                                         */
  FkStream *origin;
  const void *thread;
  FkGraph  *graph;
  struct FkCapture *next;
} FkCapture;

/* The work of a graph, each with the indices of what must be done before. */
typedef struct FkStep {
  FkOp     *op;              /* NULL: nothing                                                                  */
  uint32_t *deps, ndeps;
  uint8_t  *before;          /* a byte for each step: whether it comes before                                  */
  bool      done;
} FkStep;
typedef struct FkSteps {
  uint32_t n;
  FkStep  *v;
} FkSteps;

typedef struct FkState {
  bool       ready, started;
  int        pid;
  FkConfig   config;
  FkDevice   device[FK_DEVICES];
  FkContext *contexts;
  FkBlock   *blocks;
  FkPool    *pools;
  FkGraph   *graphs;         /* of nodes that callers may name                                                 */
  FkExec    *execs;
  FkCapture *captures;
  FkMip     *mips;
  FkTexture *textures;
  uint64_t   random, ids;
  FkClock    host;           /* what those who call know                                                       */
  uint32_t   slots;
  struct {
    const FkStream *stream;
    const FkOp     *op;
    uint64_t        seq;
    const FkSteps  *steps;
    uint32_t        step;
  } now;                     /* what runs                                                                      */
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

/* --- textures (fake_texture.c) --- */

FkLevel *fk_level(void *handle);                         /* NULL if it is none */
void     fk_textures_of(FkContext *c);                   /* free what a context owns */
unsigned fk_texel_bytes(const CuArrayShape *s);

/* --- streams (fake_stream.c) --- */

FkStream *fk_stream(FkContext *c, void *handle);          /* NULL if it is none */
FkStream *fk_stream_of_any(FkContext *c, void *handle);
void      fk_wander(const FkContext *c);                  /* let streams take steps, perhaps */
FkOp     *fk_op(FkWork work);
int       fk_submit(FkStream *s, FkOp *op);               /* consumes op; may fail only while capturing */
void      fk_op_free(FkOp *op);
FkOp     *fk_op_copy(const FkOp *op);                     /* without what it waits for */
void      fk_run_op(FkContext *c, const FkOp *op);
uint32_t  fk_random(void);
void      fk_depend(FkOp *op, FkStream *s, uint64_t seq);
int       fk_drain(FkStream *s, uint64_t seq);            /* run at least up to seq; the context's fault */
int       fk_drain_all(FkContext *c);
void      fk_lose(FkContext *c, int code, const char *why);
void      fk_stream_end(FkStream *s);
double    fk_now(void);

/* --- races (fake_race.c) ---
 *
 * All of these do nothing unless the configuration says race=1. */

bool fk_watches(void);
void fk_clock_join(FkClock *to, const FkClock *from);
void fk_clock_free(FkClock *c);
void fk_race_submit(FkStream *s, FkOp *op);               /* op is the next work of s */
void fk_race_host(const FkClock *c);                      /* the host has waited */
void fk_race_watch(FkBlock *b);
void fk_race_touch(uint64_t address, uint64_t size, unsigned how);
void fk_race_settle(FkContext *c, const FkOp *op);        /* op has run: compare what it did with what others did */
void fk_race_whole(FkStream *s, FkBlock *b, const char *who);  /* the last work of s allocates or frees all of it */
void fk_race_forget(FkBlock *b);
void fk_race_trim(void);                                  /* drop what the host knows to be over */
void fk_race_steps(FkSteps *s);

/* --- contexts, devices, functions (fake_context.c, fake_device.c, fake_function.c, fake_launch.c) --- */

void        fk_contexts_forget(void);
int         fk_attribute(int device, int which);
FkFunction *fk_function(FkContext *c, void *handle);      /* NULL if it is none */
int         fk_most_threads(const FkFunction *f);         /* of a block */
int         fk_registers(const FkFunction *f);            /* of a thread */
int         fk_resident(const FkContext *c, const FkFunction *f, int threads, size_t dynamic);
int         fk_run_launch(FkContext *c, const FkOp *op);

typedef struct FkShape {
  unsigned grid[3], block[3], shared;
  bool     cooperative;
} FkShape;

/* Work that is checked and made, but not yet anyone's. 0, or an error. */
int fk_launch_op(FkContext *c, void *function, const FkShape *s, void **params, void **extra, FkOp **out);
int fk_copy_shape(const CuCopy3D *c, FkOp *out);
int fk_copy_op(const FkOp *shape, unsigned to, unsigned from, FkOp **out);
int fk_set_op(CuPtr to, uint64_t pitch, uint32_t value, uint32_t bytes, uint64_t width, uint64_t height, FkOp **out);

/* --- events (fake_event.c) --- */

FkEvent *fk_event(void *handle);                          /* NULL if it is none */
void     fk_event_forget(FkContext *c, const FkEvent *e); /* work that would record it records nothing */

/* --- capture (fake_capture.c) --- */

/* A call that is not safe while somebody captures: 0, or the error, and the captures are invalid. */
int  fk_unsafe(void);
#define UNSAFE()                                                                                                              \
  do {                                                                                                                        \
    int unsafe = fk_unsafe();                                                                                                 \
    if (unsafe) return unsafe;                                                                                                \
  } while (0)
/* Whether a stream may be used as if nothing were captured: 0, or the error. */
int  fk_capture_blocks(FkStream *s);                      /* for calls that wait or look */
int  fk_capture_legacy(const FkContext *c);               /* CU_CAPTURE_IMPLICIT while a blocking stream captures */
int  fk_capture_op(FkStream *s, FkOp *op, FkNodeType type);   /* consumes op */
int  fk_capture_record(FkStream *s, FkEvent *e);
int  fk_capture_wait(FkStream *s, FkEvent *e, bool external);
void fk_capture_end_of(FkStream *s);                      /* the stream is destroyed */
int  fk_capture_graph(FkStream *s, const FkGraph *g);     /* a launch of a graph */
bool fk_captures_into(const FkGraph *g);

/* --- graphs (fake_graph.c, fake_node.c, fake_exec.c) --- */

FkGraph *fk_graph(void *handle);                          /* NULL if it is none */
FkNode  *fk_node(void *handle);
FkGraph *fk_graph_new(bool listed);                       /* listed: callers may name its nodes */
FkGraph *fk_graph_copy(const FkGraph *g, bool listed);
void     fk_graph_free(FkGraph *g);
FkNode  *fk_node_new(FkGraph *g, FkNodeType type, FkOp *op, FkNode *const *deps, uint32_t ndeps);
void     fk_graphs_end(void);                             /* all of them */
FkSteps *fk_steps_new(const FkGraph *g);                  /* NULL: it names an event or a function that is gone */
void     fk_steps_free(FkSteps *s);
void     fk_steps_run(FkContext *c, FkSteps *s);

/* Parameters of nodes, for graphs and for what was made of them. */
typedef struct FkNodeParams {
  FkContext        *context;
  const CuKernelNode *kernel;
  const CuCopy3D   *copy;
  const CuSetNode  *set;
  const CuHostNode *host;
} FkNodeParams;
int fk_node_op(const FkNodeParams *p, FkOp **out);

#endif
