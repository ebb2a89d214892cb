/* runtime/cuda/cuda_device.h -- CUDA devices as devices of the runtime.
 *
 * A device's primary context is retained at its first use and released at its end. Every entrance makes it the calling
 * thread's current one and puts back what was there, so that other users of CUDA in the process are not disturbed.
 *
 * After a failure that loses the context, the first record is kept and every later call gives it again at once.
 */
#ifndef CUDA_DEVICE_H
#define CUDA_DEVICE_H

#include "runtime/cuda/driver.h"
#include "runtime/devices.h"
#include "runtime/disk_cache.h"
#include "runtime/graphs.h"
#include "runtime/streams.h"
HD_BEGIN_DECLS

typedef struct CudaDevice CudaDevice;

/* Memory of a device; what the rest of the runtime holds as an HdBlock. */
typedef struct CudaBlock {
  CudaDevice       *of;
  struct CudaBlock *next; /* in a free list                                                            */
  struct CudaBlock *older, *newer; /* of the blocks that are handed out                                */
  CuPtr             data;
  size_t            size; /* as asked, or its class's                                                  */
  CuEvent           left; /* recorded when a stream let go of it; NULL: never made                     */
  uint64_t          by;   /* the number of that stream; 0: whoever waits for no stream may have it     */
} CudaBlock;

enum { CUDA_CLASSES = 4 * 48 }; /* four to each doubling from 512 bytes on */

/* The driver's pool where the device has one, else free lists of our own (cuda_pool.c). */
typedef struct CudaPool {
  bool       ordered;    /* the device and the driver have pools                                       */
  CuMemPool  driver;     /* NULL until the first block                                                 */
  CudaBlock *free[CUDA_CLASSES];
  CudaBlock *newest;     /* of the blocks that are handed out                                          */
  size_t     used, kept; /* bytes in blocks handed out, and in free lists                              */
  size_t     keep;       /* bytes that may be kept for reuse                                           */
} CudaPool;

/* The stream in whose order memory is had and given back; where a pointer to one is NULL, nobody's: it is usable at once,
 * and no stream uses it any more. */
typedef struct CudaOrder {
  CuStream handle;
  uint64_t number; /* of the stream among all of the device; never 0 */
} CudaOrder;

enum { CUDA_DEVICES = 16, CUDA_STAGED = 32, CUDA_SLOTS = 128, CUDA_RECENT = 4 }; /* slots: records of faults of a stream */

enum { CUDA_LEAST_PRINT = 4 << 10, CUDA_PRINT = 1 << 20, CUDA_MOST_PRINT = 1 << 30 };

struct CudaDevice {
  RtDevice        base;
  const CuDriver *driver;
  int32_t         ordinal;
  char            name[16];  /* "cuda:0"                                       */
  char            text[160]; /* "NVIDIA H200, 139.8 GiB, PCI 0000:81:00.0"       */
  char            uuid[44];  /* "GPU-.."; "" where the driver has none         */
  char            pci[20];
  CuDevice        handle;
  int32_t         sm;        /* 90 for compute capability 9.0                  */
  char            target[8]; /* "sm_90"                                        */
  size_t          memory;    /* bytes in all                                   */
  CuContext       context;   /* NULL until the first use                       */
  CuStream        home;      /* for what is in no stream's order; there with the context */
  CudaPool        pool;
  uint64_t        streams;   /* made so far                                    */
  uint64_t        fetches;   /* copies to pageable memory by way of a stage    */
  uint64_t        fetched;   /* of them done; atomic                           */
  bool            asked[CUDA_DEVICES]; /* of each other device, whether it is reached directly */
  bool            unsure;    /* a call failed, a wait perhaps: of what belongs to no stream's order streams may use some */
  size_t          print_room; /* bytes of each stream for what kernels print between two waits; can be changed until the first */
  HdError         lost;      /* status HD_OK while the device is well          */
  RtCache        *cache;     /* where PTX that the driver refuses is left to be looked at; may be NULL */
};

extern const RtDeviceOps hdcu_ops;

/* Describe device `ordinal` of the driver; no context is made yet. Of its memory a quarter may be kept for reuse: pool.keep
 * can be changed until the first use. */
HdStatus hdcu_device_init(CudaDevice *d, const CuDriver *driver, int32_t ordinal, const HdAllocator *mem, HdError *err);
void     hdcu_device_end(CudaDevice *d);

/* Every use of a device stands between these. */
HdStatus hdcu_enter(CudaDevice *d, HdError *err);
void     hdcu_leave(CudaDevice *d);

/* The record of a failed call, as hdcu_fail; and if the code means that the context is lost, the device is too. */
HdStatus hdcu_device_fail(CudaDevice *d, CuResult code, const char *call, const char *detail, HdError *err);

/* --- memory (cuda_pool.c); all but the free and the end between enter and leave --- */
HdStatus hdcu_block_new(CudaDevice *d, const CudaOrder *order, size_t size, HdError *err, CudaBlock **out);
void     hdcu_block_free(const CudaOrder *order, CudaBlock *b); /* to where it came from; NULL is fine */
/* Give back what is kept beyond `keep` bytes. */
HdStatus hdcu_pool_trim(CudaDevice *d, size_t keep, HdError *err);
void     hdcu_pool_end(CudaDevice *d); /* also of a device that was lost */

/* Bytes of the device: in all, free to everyone, in this context's blocks, kept for reuse. */
typedef struct CudaMemory {
  size_t total, free, used, kept;
} CudaMemory;
HdStatus hdcu_memory(CudaDevice *d, HdError *err, CudaMemory *out);

/* --- code (cuda_code.c) --- */
typedef struct CudaCode {
  CuModule   module;
  CuFunction function;
  int32_t    rank, block;
  uint32_t   shared;             /* bytes of dynamic shared memory          */
  int32_t    registers, spilled; /* a thread: registers, bytes of local memory */
  bool       prints;
  uint32_t   nsites;
  RtSite    *sites; /* with their texts behind them */
  size_t     size;  /* of all of this               */
} CudaCode;

HdStatus hdcu_load(RtDevice *d, const RtArtifact *a, HdError *err, RtCode *out);
void     hdcu_unload(RtDevice *d, RtCode *code);

/* --- the toolkit's assembler (ptxas.c) --- */

/* A path, or a name to look for in PATH. `id` is the file's path, size and time. False if there is none. */
bool     hdcu_ptxas_find(const char *name, char *path, size_t path_size, char *id, size_t id_size);
/* PTX to machine code of `target`. What it says of PTX that it does not take is in the record, HD_ERR_COMPILE. *out is the
 * caller's. */
HdStatus hdcu_ptxas_run(const char *path, const char *target, const char *ptx, size_t size, const HdAllocator *mem,
                        HdError *err, void **out, size_t *out_size);

/* --- launches (cuda_launch.c); between enter and leave --- */

/* `fault` is the address of a record, or 0; `printing` may be NULL for code that does not print. */
HdStatus hdcu_launch(CudaDevice *d, CuStream stream, const RtLaunch *l, CuPtr fault, const RtGpuPrinting *printing,
                     HdError *err);

/* One call of the driver. */
typedef struct CudaCall {
  CuFunction  function;
  unsigned    blocks, repeat, block, shared; /* the grid is blocks x repeat */
  RtGpuLaunch g;                     /* behind the launch's own arguments */
} CudaCall;
/* False if the launch is more calls than one, or none. */
bool hdcu_launch_call(const RtLaunch *l, CuPtr fault, CudaCall *out);

/* --- events (cuda_event.c) --- */
typedef struct CudaEvent {
  RtEvent base;
  CuEvent handle;
  bool    recorded;
} CudaEvent;

HdStatus hdcu_event_new(RtDevice *d, HdError *err, RtEvent **out);

/* --- the host's memory (cuda_host.c) --- */

/* Pinned memory of the host, with the front of a host block: hdrt_block_free ends it, hdrt_block_data is its data. */
HdStatus hdcu_host_block_new(CudaDevice *d, size_t size, HdError *err, HdBlock **out);

/* A stream's pinned memory, through which copies from and to pageable memory go. Zero at first. */
typedef struct CudaStage {
  char    *data;                  /* NULL until the first such copy                        */
  uint64_t given, back;           /* bytes, counted on and on; a place is a count mod size */
  struct { CuEvent done; uint64_t end; } use[CUDA_STAGED]; /* what is on its way, a ring   */
  uint32_t first, count;
} CudaStage;

/* Copy a view of pageable memory to or from one of the device's, which is had at once or written later. *taken is false
 * if there is no room or the copy is too large, or if it is no such copy: then nothing was done. */
HdStatus hdcu_stage_copy(CudaDevice *d, CuStream stream, CudaStage *stage, const RtView *from, const RtView *to,
                         HdError *err, bool *taken);
/* The same for a graph, at `at`, of pinned memory that is as large as hdcu_staged says: 0 if it is no such copy. All is done in
 * the order of the stream. The graph adds what it fetches to d->fetches when it is launched. */
size_t   hdcu_staged(const CudaDevice *d, const RtView *from, const RtView *to);
HdStatus hdcu_staged_copy(CudaDevice *d, CuStream stream, void *at, const RtView *from, const RtView *to, HdError *err);
/* Is something yet to be written to pageable memory by way of a stage? */
bool     hdcu_is_fetching(const CudaDevice *d);
void     hdcu_stage_end(CudaDevice *d, CudaStage *stage); /* its stream was waited for */

/* --- streams (cuda_stream.c) --- */
HdStatus hdcu_stream_new(RtDevice *d, bool async, HdError *err, RtStream **out);

/* --- peers (cuda_peer.c) --- */

/* Let `d` reach the other's memory directly, if it can and what it reaches is right. Once for each; between enter and leave. */
void hdcu_peer(CudaDevice *d, CudaDevice *other);

/* --- graphs (cuda_graph.c); between enter and leave --- */

/* What is known of one piece of a graph. */
typedef struct CudaPiece {
  CuGraphNode node;   /* of a launch that is one call, if the driver tells                     */
  size_t      staged; /* bytes of pinned memory of a copy                                      */
  int32_t     fault;  /* the record of a launch; -1: it wants none                             */
} CudaPiece;

/* What the driver made of an RtGraph. */
typedef struct CudaGraph {
  CuGraph      graph;   /* as captured: its nodes name those of `exec`                    */
  CuGraphExec  exec;    /* NULL: there is none now                                        */
  bool         refused; /* the driver does not take it: it is done piece by piece         */
  CudaBlock   *faults;  /* a record for each launch that wants one, in order              */
  int32_t      nfaults;
  HdBlock     *stage;   /* what goes through pageable memory, or NULL                     */
  int32_t      fetches; /* copies to pageable memory                                      */
  CuEvent      done;    /* the last launch; NULL before the first                         */
  uint64_t     by;      /* the stream that did it                                         */
  int32_t      launches, tail; /* in all; the piece from which on there are CUDA_RECENT   */
  int32_t      count;
  CudaPiece   *piece;   /* as the graph's nodes                                           */
} CudaGraph;

/* A graph that is about to be launched: as a whole if it has an `exec` and is not refused, else piece by piece. The work
 * that `order` is given from here on comes after the graph's last launch. */
HdStatus hdcu_graph_begin(CudaDevice *d, RtGraph *g, const CudaOrder *order, HdError *err, CudaGraph **out);
/* Launch it as a whole; the records of its launches are the caller's until hdcu_graph_done. */
HdStatus hdcu_graph_launch(CudaDevice *d, CudaGraph *g, const CudaOrder *order, HdError *err);
/* All of it was given to the stream, and taken from its records. */
CuResult hdcu_graph_done(CudaDevice *d, CudaGraph *g, const CudaOrder *order);

/* --- images (cuda_image.c) --- */

/* What an image is to be; wraps are the driver's numbers. */
typedef struct CudaTexels {
  HdScalar scalar; /* HD_F32, HD_F16 or HD_U8, which is read as 0 to 1 */
  int32_t  channels, ndim, levels;
  int32_t  size[3], wrap[3];
  bool     linear, linear_levels;
  float    border[4];
} CudaTexels;

enum { CUDA_LEVELS = 16 };
typedef struct CudaImage {
  CudaDevice *of;
  CudaTexels  is;
  CuMipmap    levels;
  CuArray     level[CUDA_LEVELS];
  uint64_t    object;
} CudaImage;

/* *out is NULL where the device's units cannot do it, and *why says why not. */
HdStatus hdcu_image_new(CudaDevice *d, const CudaTexels *is, HdError *err, CudaImage **out, const char **why);
void     hdcu_image_free(CudaImage *i); /* NULL is fine */
RtView   hdcu_image_view(const CudaImage *i, int32_t level); /* its texels, z, y, x */
/* Dense memory of the device to such a view; between enter and leave. */
HdStatus hdcu_image_copy(CudaDevice *d, CuStream stream, const RtView *from, const RtView *to, HdError *err);

/* --- copies (cuda_copy.c); between enter and leave --- */
/* `stage` is of the stream; NULL: pageable memory goes to the driver as it is. */
HdStatus hdcu_copy(CudaDevice *d, CuStream stream, CudaStage *stage, const RtView *from, const RtView *to, HdError *err);
HdStatus hdcu_clear(CudaDevice *d, CuStream stream, const RtView *v, HdError *err);
/* The same elements in the same pairs, with the device's view going forward along each axis. */
void     hdcu_face_forward(RtView *from, RtView *to);

HD_END_DECLS
#endif
