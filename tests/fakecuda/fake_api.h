/* tests/fakecuda/fake_api.h -- the functions of the CUDA driver that are simulated, by the file that has them, and those of
 * the simulation beside them. Structures are laid out as the driver's; names say what fields mean here. Handles are void *.
 */
#ifndef FAKECUDA_FAKE_API_H
#define FAKECUDA_FAKE_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FK_API __attribute__((visibility("default")))

typedef uint64_t CuPtr;
typedef int      CuDevice;
typedef struct CuUuid { char bytes[16]; } CuUuid;

enum { CU_HOST_SIDE = 1, CU_DEVICE_SIDE = 2, CU_ARRAY_SIDE = 3, CU_ANY_SIDE = 4 };

typedef struct CuCopy2D {
  size_t      from_x, from_y;
  unsigned    from_kind;
  const void *from_host;
  CuPtr       from_device;
  void       *from_array;
  size_t      from_pitch;
  size_t      to_x, to_y;
  unsigned    to_kind;
  void       *to_host;
  CuPtr       to_device;
  void       *to_array;
  size_t      to_pitch;
  size_t      width, height;
} CuCopy2D;

typedef struct CuCopy3D {
  size_t      from_x, from_y, from_z, from_level;
  unsigned    from_kind;
  const void *from_host;
  CuPtr       from_device;
  void       *from_array, *reserved0;
  size_t      from_pitch, from_height;
  size_t      to_x, to_y, to_z, to_level;
  unsigned    to_kind;
  void       *to_host;
  CuPtr       to_device;
  void       *to_array, *reserved1;
  size_t      to_pitch, to_height;
  size_t      width, height, depth;
} CuCopy3D;

typedef struct CuArrayShape {
  size_t   width, height, depth;    /* in texels; 0 along axes that there are not                              */
  int      format;                  /* 0x01 u8, 0x10 f16, 0x20 f32                                             */
  unsigned channels, flags;
} CuArrayShape;
typedef struct CuResource {
  int type;                         /* 1: a mipmapped array                                                    */
  union {
    void *handle;
    int   room[32];
  } of;
  unsigned flags;
} CuResource;
typedef struct CuTextureShape {
  int      wrap[3], filter;
  unsigned flags, anisotropy;       /* 1 integers, 2 normalised, 16 sRGB, 32 no trilinear optimisation         */
  int      mip_filter;
  float    bias, least, most, border[4];
  int      reserved[12];
} CuTextureShape;

typedef struct CuLocation { int type, id; } CuLocation;                   /* type 1: a device */
typedef struct CuAccess { CuLocation location; int flags; } CuAccess;     /* flags 3: read and write */
typedef struct CuPoolProps {
  int           type, handles;
  CuLocation    location;
  void         *security;
  size_t        most;
  unsigned short usage;
  unsigned char reserved[54];
} CuPoolProps;

typedef struct CuAttribute {
  int  id;
  char pad[4];
  union {
    char bytes[64];
    int  on;
  } value;
} CuAttribute;

typedef struct CuLaunchConfig {
  unsigned           gx, gy, gz, bx, by, bz, shared;
  void              *stream;
  const CuAttribute *attributes;
  unsigned           nattributes;
} CuLaunchConfig;

typedef struct CuKernelNodeV1 {
  void    *function;
  unsigned gx, gy, gz, bx, by, bz, shared;
  void   **params, **extra;
} CuKernelNodeV1;
typedef struct CuKernelNode {
  void    *function;
  unsigned gx, gy, gz, bx, by, bz, shared;
  void   **params, **extra;
  void    *kernel, *context;
} CuKernelNode;
typedef struct CuSetNode {
  CuPtr    to;
  size_t   pitch;
  unsigned value, bytes;     /* of an element */
  size_t   width, height;    /* in elements, in rows */
} CuSetNode;
typedef struct CuHostNode {
  void (*call)(void *user);
  void  *user;
} CuHostNode;
typedef struct CuEdge {      /* all zero: plain order */
  unsigned char from_port, to_port, type, reserved[5];
} CuEdge;
typedef struct CuInstantiate {
  uint64_t flags;
  void    *stream, *wrong;
  int      result;
} CuInstantiate;
typedef struct CuUpdateResult {
  int   result;              /* 0, or 2 topology, 3 type, 5 parameters, 7 function */
  void *node, *from;
} CuUpdateResult;

/* --- of the simulation: fake_state.c --- */

FK_API void        fakecuda_configure(const char *text);  /* begin anew, as fake_rules.c describes                 */
FK_API uint64_t    fakecuda_calls(const char *pattern);   /* how often functions were called                       */
FK_API const char *fakecuda_fault(void);                  /* the last fault in words                               */
FK_API uint64_t    fakecuda_live(const char *what);       /* contexts, streams, events, modules, blocks, bytes, graphs, execs,
                                                             arrays, textures */
FK_API uint64_t    fakecuda_threads(void);                /* instructions of threads that kernels ran              */

/* --- fake_state.c --- */

FK_API int cuInit(unsigned flags);
FK_API int cuDriverGetVersion(int *version);
FK_API int cuGetErrorName(int code, const char **out);
FK_API int cuGetErrorString(int code, const char **out);

/* --- fake_device.c --- */

FK_API int cuDeviceGetCount(int *n);
FK_API int cuDeviceGet(CuDevice *out, int ordinal);
FK_API int cuDeviceGetName(char *name, int size, CuDevice dev);
FK_API int cuDeviceTotalMem_v2(size_t *bytes, CuDevice dev);
FK_API int cuDeviceGetUuid(CuUuid *out, CuDevice dev);
FK_API int cuDeviceGetUuid_v2(CuUuid *out, CuDevice dev);
FK_API int cuDeviceGetPCIBusId(char *id, int size, CuDevice dev);
FK_API int cuDeviceGetByPCIBusId(CuDevice *out, const char *id);
FK_API int cuDeviceComputeCapability(int *major, int *minor, CuDevice dev);
FK_API int cuDeviceGetAttribute(int *value, int which, CuDevice dev);
FK_API int cuDeviceCanAccessPeer(int *can, CuDevice dev, CuDevice peer);
FK_API int cuDeviceGetP2PAttribute(int *value, int which, CuDevice from, CuDevice to);

/* --- fake_context.c --- */

FK_API int cuDevicePrimaryCtxRetain(void **out, CuDevice dev);
FK_API int cuDevicePrimaryCtxRelease_v2(CuDevice dev);
FK_API int cuDevicePrimaryCtxRelease(CuDevice dev);
FK_API int cuDevicePrimaryCtxReset_v2(CuDevice dev);
FK_API int cuDevicePrimaryCtxReset(CuDevice dev);
FK_API int cuDevicePrimaryCtxGetState(CuDevice dev, unsigned *flags, int *active);
FK_API int cuDevicePrimaryCtxSetFlags_v2(CuDevice dev, unsigned flags);
FK_API int cuDevicePrimaryCtxSetFlags(CuDevice dev, unsigned flags);
FK_API int cuCtxCreate_v2(void **out, unsigned flags, CuDevice dev);
FK_API int cuCtxDestroy_v2(void *ctx);
FK_API int cuCtxGetCurrent(void **out);
FK_API int cuCtxSetCurrent(void *ctx);
FK_API int cuCtxPushCurrent_v2(void *ctx);
FK_API int cuCtxPopCurrent_v2(void **out);
FK_API int cuCtxGetDevice(CuDevice *out);
FK_API int cuCtxGetFlags(unsigned *out);
FK_API int cuCtxGetApiVersion(void *handle, unsigned *out);
FK_API int cuCtxSynchronize(void);
FK_API int cuCtxGetLimit(size_t *out, int which);
FK_API int cuCtxSetLimit(int which, size_t value);
FK_API int cuCtxGetCacheConfig(int *out);
FK_API int cuCtxSetCacheConfig(int config);
FK_API int cuCtxGetStreamPriorityRange(int *least, int *greatest);
FK_API int cuCtxEnablePeerAccess(void *peer, unsigned flags);
FK_API int cuCtxDisablePeerAccess(void *peer);
FK_API int cuProfilerStart(void);
FK_API int cuProfilerStop(void);

/* --- fake_memory.c --- */

FK_API int cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
FK_API int cuMemAlloc_v2(CuPtr *out, size_t size);
FK_API int cuMemFree_v2(CuPtr p);
FK_API int cuMemHostAlloc(void **out, size_t size, unsigned flags);
FK_API int cuMemAllocHost_v2(void **out, size_t size);
FK_API int cuMemFreeHost(void *p);
FK_API int cuMemAllocPitch_v2(CuPtr *out, size_t *pitch, size_t width, size_t height, unsigned element);
FK_API int cuMemGetAddressRange_v2(CuPtr *base, size_t *size, CuPtr p);

/* --- fake_pool.c --- */

FK_API int cuMemAllocAsync(CuPtr *out, size_t size, void *stream);
FK_API int cuMemAllocFromPoolAsync(CuPtr *out, size_t size, void *pool, void *stream);
FK_API int cuMemFreeAsync(CuPtr p, void *stream);
FK_API int cuMemPoolCreate(void **out, const CuPoolProps *props);
FK_API int cuMemPoolDestroy(void *pool);
FK_API int cuMemPoolTrimTo(void *pool, size_t keep);
FK_API int cuMemPoolSetAttribute(void *pool, int which, const void *value);
FK_API int cuMemPoolGetAttribute(void *pool, int which, void *value);
FK_API int cuMemPoolSetAccess(void *pool, const CuAccess *list, size_t n);
FK_API int cuMemPoolGetAccess(int *flags, void *pool, const CuLocation *at);
FK_API int cuDeviceGetDefaultMemPool(void **out, CuDevice dev);
FK_API int cuDeviceGetMemPool(void **out, CuDevice dev);
FK_API int cuDeviceSetMemPool(CuDevice dev, void *pool);
FK_API int cuMemAllocManaged(CuPtr *out, size_t size, unsigned flags);
FK_API int cuMemAdvise(CuPtr p, size_t size, int advice, CuDevice dev);
FK_API int cuMemPrefetchAsync(CuPtr p, size_t size, CuDevice dev, void *stream);
FK_API int cuMemHostRegister_v2(void *p, size_t size, unsigned flags);
FK_API int cuMemHostUnregister(void *p);
FK_API int cuMemHostGetDevicePointer_v2(CuPtr *out, void *p, unsigned flags);
FK_API int cuMemHostGetFlags(unsigned *flags, void *p);
FK_API int cuPointerGetAttribute(void *out, int which, CuPtr p);
FK_API int cuPointerGetAttributes(unsigned n, const int *which, void **out, CuPtr p);

/* --- fake_copy.c --- */

FK_API int cuMemcpyHtoDAsync_v2(CuPtr to, const void *from, size_t n, void *stream);
FK_API int cuMemcpyHtoD_v2(CuPtr to, const void *from, size_t n);
FK_API int cuMemcpyDtoHAsync_v2(void *to, CuPtr from, size_t n, void *stream);
FK_API int cuMemcpyDtoH_v2(void *to, CuPtr from, size_t n);
FK_API int cuMemcpyDtoDAsync_v2(CuPtr to, CuPtr from, size_t n, void *stream);
FK_API int cuMemcpyDtoD_v2(CuPtr to, CuPtr from, size_t n);
FK_API int cuMemcpyAsync(CuPtr to, CuPtr from, size_t n, void *stream);
FK_API int cuMemcpy(CuPtr to, CuPtr from, size_t n);
FK_API int cuMemcpyPeerAsync(CuPtr to, void *to_context, CuPtr from, void *from_context, size_t n, void *stream);
FK_API int cuMemcpyPeer(CuPtr to, void *to_context, CuPtr from, void *from_context, size_t n);
FK_API int cuMemcpy2DAsync_v2(const CuCopy2D *c, void *stream);
FK_API int cuMemcpy2D_v2(const CuCopy2D *c);
FK_API int cuMemcpy2DUnaligned_v2(const CuCopy2D *c);
FK_API int cuMemcpy3DAsync_v2(const CuCopy3D *c, void *stream);
FK_API int cuMemcpy3D_v2(const CuCopy3D *c);
FK_API int cuMemsetD8Async(CuPtr to, unsigned char value, size_t n, void *stream);
FK_API int cuMemsetD8_v2(CuPtr to, unsigned char value, size_t n);
FK_API int cuMemsetD2D8Async(CuPtr to, size_t pitch, unsigned char value, size_t width, size_t height, void *stream);
FK_API int cuMemsetD2D8_v2(CuPtr to, size_t pitch, unsigned char value, size_t width, size_t height);
FK_API int cuMemsetD16Async(CuPtr to, unsigned short value, size_t n, void *stream);
FK_API int cuMemsetD16_v2(CuPtr to, unsigned short value, size_t n);
FK_API int cuMemsetD2D16Async(CuPtr to, size_t pitch, unsigned short value, size_t width, size_t height, void *stream);
FK_API int cuMemsetD2D16_v2(CuPtr to, size_t pitch, unsigned short value, size_t width, size_t height);
FK_API int cuMemsetD32Async(CuPtr to, unsigned value, size_t n, void *stream);
FK_API int cuMemsetD32_v2(CuPtr to, unsigned value, size_t n);
FK_API int cuMemsetD2D32Async(CuPtr to, size_t pitch, unsigned value, size_t width, size_t height, void *stream);
FK_API int cuMemsetD2D32_v2(CuPtr to, size_t pitch, unsigned value, size_t width, size_t height);

/* --- fake_texture.c --- */

FK_API int cuMipmappedArrayCreate(void **out, const CuArrayShape *shape, unsigned levels);
FK_API int cuMipmappedArrayGetLevel(void **out, void *mip, unsigned level);
FK_API int cuMipmappedArrayDestroy(void *mip);
FK_API int cuArray3DGetDescriptor_v2(CuArrayShape *out, void *array);
FK_API int cuTexObjectCreate(uint64_t *out, const CuResource *of, const CuTextureShape *shape, const void *view);
FK_API int cuTexObjectDestroy(uint64_t object);

/* --- fake_stream.c --- */

FK_API int cuStreamCreate(void **out, unsigned flags);
FK_API int cuStreamCreateWithPriority(void **out, unsigned flags, int priority);
FK_API int cuStreamDestroy_v2(void *stream);
FK_API int cuStreamSynchronize(void *stream);
FK_API int cuStreamQuery(void *stream);
FK_API int cuLaunchHostFunc(void *stream, void (*call)(void *), void *user);
FK_API int cuStreamGetPriority(void *stream, int *out);
FK_API int cuStreamGetFlags(void *stream, unsigned *out);
FK_API int cuStreamGetCtx(void *stream, void **out);
FK_API int cuStreamGetId(void *stream, unsigned long long *out);
FK_API int cuStreamGetDevice(void *stream, CuDevice *out);

/* --- fake_event.c --- */

FK_API int cuEventCreate(void **out, unsigned flags);
FK_API int cuEventDestroy_v2(void *event);
FK_API int cuEventRecord(void *event, void *stream);
FK_API int cuEventRecordWithFlags(void *event, void *stream, unsigned flags);
FK_API int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
FK_API int cuStreamWaitEvent_ptsz(void *stream, void *event, unsigned flags);
FK_API int cuEventSynchronize(void *event);
FK_API int cuEventQuery(void *event);
FK_API int cuEventElapsedTime(float *ms, void *from, void *to);
FK_API int cuEventElapsedTime_v2(float *ms, void *from, void *to);

/* --- fake_module.c --- */

FK_API int cuModuleLoadData(void **out, const void *image);
FK_API int cuModuleLoadDataEx(void **out, const void *image, unsigned n, const int *options, void **values);
FK_API int cuModuleUnload(void *module);
FK_API int cuModuleGetFunction(void **out, void *module, const char *name);
FK_API int cuModuleGetGlobal_v2(CuPtr *at, size_t *size, void *module, const char *name);
FK_API int cuModuleGetLoadingMode(int *out);

/* --- fake_function.c --- */

FK_API int cuFuncGetAttribute(int *value, int which, void *function);
FK_API int cuFuncSetAttribute(void *function, int which, int value);
FK_API int cuFuncSetCacheConfig(void *function, int config);
FK_API int cuFuncGetModule(void **out, void *function);
FK_API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t dynamic);
FK_API int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads, size_t dynamic,
                                                                unsigned flags);
FK_API int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function, size_t (*shared_of)(int), size_t shared,
                                            int limit);
FK_API int cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, void *function, size_t (*shared_of)(int),
                                                     size_t shared, int limit, unsigned flags);

/* --- fake_launch.c --- */

FK_API int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **params, void **extra);
FK_API int cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                     unsigned bz, unsigned shared, void *stream, void **params);
FK_API int cuLaunchKernelEx(const CuLaunchConfig *c, void *function, void **params, void **extra);

/* --- fake_capture.c --- */

FK_API int cuStreamBeginCapture_v2(void *stream, int mode);
FK_API int cuStreamBeginCapture(void *stream);
FK_API int cuStreamBeginCaptureToGraph(void *stream, void *graph, void *const *deps, const CuEdge *edges, size_t n,
                                       int mode);
FK_API int cuStreamEndCapture(void *stream, void **graph);
FK_API int cuStreamIsCapturing(void *stream, int *out);
FK_API int cuStreamGetCaptureInfo(void *stream, int *out, uint64_t *id);
FK_API int cuStreamGetCaptureInfo_v2(void *stream, int *out, uint64_t *id, void **graph, void ***deps, size_t *n);
FK_API int cuStreamGetCaptureInfo_v3(void *stream, int *out, uint64_t *id, void **graph, void ***deps, const CuEdge **edges,
                                     size_t *n);
FK_API int cuStreamUpdateCaptureDependencies(void *stream, void **deps, size_t n, unsigned flags);
FK_API int cuStreamUpdateCaptureDependencies_v2(void *stream, void **deps, const CuEdge *edges, size_t n, unsigned flags);
FK_API int cuThreadExchangeStreamCaptureMode(int *mode);

/* --- fake_graph.c --- */

FK_API int cuGraphCreate(void **out, unsigned flags);
FK_API int cuGraphDestroy(void *graph);
FK_API int cuGraphClone(void **out, void *graph);
FK_API int cuGraphNodeFindInClone(void **out, void *original, void *clone);
FK_API int cuGraphAddDependencies(void *graph, void *const *from, void *const *to, size_t n);
FK_API int cuGraphAddDependencies_v2(void *graph, void *const *from, void *const *to, const CuEdge *edges, size_t n);
FK_API int cuGraphRemoveDependencies(void *graph, void *const *from, void *const *to, size_t n);
FK_API int cuGraphRemoveDependencies_v2(void *graph, void *const *from, void *const *to, const CuEdge *edges, size_t n);
FK_API int cuGraphDestroyNode(void *handle);
FK_API int cuGraphGetNodes(void *graph, void **nodes, size_t *n);
FK_API int cuGraphGetRootNodes(void *graph, void **nodes, size_t *n);
FK_API int cuGraphGetEdges(void *graph, void **from, void **to, size_t *n);
FK_API int cuGraphGetEdges_v2(void *graph, void **from, void **to, CuEdge *data, size_t *n);
FK_API int cuGraphNodeGetDependencies(void *handle, void **nodes, size_t *n);
FK_API int cuGraphNodeGetDependencies_v2(void *handle, void **nodes, CuEdge *data, size_t *n);
FK_API int cuGraphNodeGetDependentNodes(void *handle, void **nodes, size_t *n);
FK_API int cuGraphNodeGetDependentNodes_v2(void *handle, void **nodes, CuEdge *data, size_t *n);
FK_API int cuGraphNodeGetType(void *handle, int *type);
FK_API int cuGraphDebugDotPrint(void *graph, const char *path, unsigned flags);

/* --- fake_node.c --- */

FK_API int cuGraphAddKernelNode_v2(void **out, void *graph, void *const *deps, size_t n, const CuKernelNode *p);
FK_API int cuGraphAddKernelNode(void **out, void *graph, void *const *deps, size_t n, const CuKernelNodeV1 *p);
FK_API int cuGraphAddMemcpyNode(void **out, void *graph, void *const *deps, size_t n, const CuCopy3D *p, void *context);
FK_API int cuGraphAddMemsetNode(void **out, void *graph, void *const *deps, size_t n, const CuSetNode *p, void *context);
FK_API int cuGraphAddHostNode(void **out, void *graph, void *const *deps, size_t n, const CuHostNode *p);
FK_API int cuGraphAddEmptyNode(void **out, void *graph, void *const *deps, size_t n);
FK_API int cuGraphAddChildGraphNode(void **out, void *graph, void *const *deps, size_t n, void *child);
FK_API int cuGraphAddEventRecordNode(void **out, void *graph, void *const *deps, size_t n, void *event);
FK_API int cuGraphAddEventWaitNode(void **out, void *graph, void *const *deps, size_t n, void *event);
FK_API int cuGraphKernelNodeGetParams_v2(void *handle, CuKernelNode *p);
FK_API int cuGraphKernelNodeGetParams(void *handle, CuKernelNodeV1 *p);
FK_API int cuGraphKernelNodeSetParams_v2(void *handle, const CuKernelNode *p);
FK_API int cuGraphKernelNodeSetParams(void *handle, const CuKernelNodeV1 *p);
FK_API int cuGraphMemcpyNodeGetParams(void *handle, CuCopy3D *p);
FK_API int cuGraphMemcpyNodeSetParams(void *handle, const CuCopy3D *p);
FK_API int cuGraphMemsetNodeGetParams(void *handle, CuSetNode *p);
FK_API int cuGraphMemsetNodeSetParams(void *handle, const CuSetNode *p);
FK_API int cuGraphHostNodeGetParams(void *handle, CuHostNode *p);
FK_API int cuGraphHostNodeSetParams(void *handle, const CuHostNode *p);
FK_API int cuGraphChildGraphNodeGetGraph(void *handle, void **graph);
FK_API int cuGraphEventRecordNodeGetEvent(void *handle, void **event);
FK_API int cuGraphEventWaitNodeGetEvent(void *handle, void **event);
FK_API int cuGraphEventRecordNodeSetEvent(void *handle, void *event);
FK_API int cuGraphEventWaitNodeSetEvent(void *handle, void *event);

/* --- fake_exec.c --- */

FK_API int cuGraphLaunch(void *exec, void *stream);
FK_API int cuGraphUpload(void *exec, void *stream);
FK_API int cuGraphInstantiateWithFlags(void **out, void *graph, uint64_t flags);
FK_API int cuGraphInstantiateWithParams(void **out, void *graph, CuInstantiate *p);
FK_API int cuGraphInstantiate(void **out, void *graph, void **wrong, char *log, size_t room);
FK_API int cuGraphInstantiate_v2(void **out, void *graph, void **wrong, char *log, size_t room);
FK_API int cuGraphExecDestroy(void *exec);
FK_API int cuGraphExecGetFlags(void *exec, uint64_t *flags);
FK_API int cuGraphExecKernelNodeSetParams_v2(void *exec, void *node, const CuKernelNode *p);
FK_API int cuGraphExecKernelNodeSetParams(void *exec, void *node, const CuKernelNodeV1 *p);
FK_API int cuGraphExecMemcpyNodeSetParams(void *exec, void *node, const CuCopy3D *p, void *context);
FK_API int cuGraphExecMemsetNodeSetParams(void *exec, void *node, const CuSetNode *p, void *context);
FK_API int cuGraphExecHostNodeSetParams(void *exec, void *node, const CuHostNode *p);
FK_API int cuGraphExecEventRecordNodeSetEvent(void *exec, void *node, void *event);
FK_API int cuGraphExecEventWaitNodeSetEvent(void *exec, void *node, void *event);
FK_API int cuGraphNodeSetEnabled(void *exec, void *handle, unsigned on);
FK_API int cuGraphNodeGetEnabled(void *exec, void *handle, unsigned *on);
FK_API int cuGraphExecUpdate_v2(void *exec, void *graph, CuUpdateResult *r);
FK_API int cuGraphExecUpdate(void *exec, void *graph, void **node, int *result);

/* --- fake_lookup.c --- */

FK_API int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags);
FK_API int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status);

#ifdef __cplusplus
}
#endif
#endif
