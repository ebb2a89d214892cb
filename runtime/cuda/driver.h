/* runtime/cuda/driver.h -- the CUDA driver: found at run time, every entry point by name and version.
 *
 * Nothing here needs NVIDIA's headers or libraries to build. The types are the driver's own, spelt out: handles are
 * pointers, a result is an int, 0 for success.
 */
#ifndef CU_DRIVER_H
#define CU_DRIVER_H

#include "base/fail.h"
#include "heddle/types.h"
HD_BEGIN_DECLS

typedef int      CuResult;
typedef int      CuDevice;
typedef uint64_t CuPtr; /* an address of a device */
typedef struct CuContextOf  *CuContext;
typedef struct CuStreamOf   *CuStream;
typedef struct CuEventOf    *CuEvent;
typedef struct CuModuleOf   *CuModule;
typedef struct CuFunctionOf *CuFunction;
typedef struct CuMemPoolOf  *CuMemPool;
typedef struct CuArrayOf    *CuArray; /* texels, with no address  */
typedef struct CuMipmapOf   *CuMipmap; /* an array for each level  */
typedef struct CuGraphOf     *CuGraph;
typedef struct CuGraphNodeOf *CuGraphNode;
typedef struct CuGraphExecOf *CuGraphExec;

typedef struct CuUuid {
  unsigned char bytes[16];
} CuUuid;

typedef enum CuAttribute {
  CU_TEXTURE3D_WIDTH = 24,
  CU_TEXTURE3D_HEIGHT = 25,
  CU_TEXTURE3D_DEPTH = 26,
  CU_TEXTURE2D_LEVELS_WIDTH = 73,
  CU_TEXTURE2D_LEVELS_HEIGHT = 74,
  CU_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_COMPUTE_CAPABILITY_MINOR = 76,
  CU_TEXTURE1D_LEVELS_WIDTH = 77,
  CU_SHARED_OF_A_BLOCK = 97, /* at the most, if its function asks for it */
  CU_MEMORY_POOLS_SUPPORTED = 115,
} CuAttribute;

/* Codes that are told apart here; failures.def has more, and the driver names all. */
enum {
  CU_SUCCESS = 0,
  CU_OUT_OF_MEMORY = 2,
  CU_NOT_INITIALIZED = 3,
  CU_NO_DEVICE = 100,
  CU_INVALID_PTX = 218,
  CU_NOT_READY = 600,
  CU_PEER_ACCESS_ALREADY_ENABLED = 704,
  CU_NOT_SUPPORTED = 801,
};

/* CUmemPoolProps: memory of one device, which no other process imports. */
typedef struct CuMemPoolProps {
  int           allocation; /* CU_POOL_PINNED: device memory has no other kind */
  int           handles;
  int           place, device;
  void         *security;
  size_t        most;
  unsigned char reserved[56];
} CuMemPoolProps;
enum { CU_POOL_PINNED = 1, CU_POOL_ON_DEVICE = 1 };
enum { CU_POOL_RELEASE_THRESHOLD = 4, CU_POOL_RESERVED = 5, CU_POOL_USED = 7 }; /* uint64_t */

/* CUmemAccessDesc */
typedef struct CuMemAccess {
  int place, device, access;
} CuMemAccess;
enum { CU_ACCESS_READ_WRITE = 3 };

enum { CU_HOST_PORTABLE = 1 };            /* pinned for all contexts                               */
enum { CU_POINTER_MEMORY_TYPE = 2 };      /* its value is one of CU_MEMORY_*; of pageable memory there is none */
enum { CU_STREAM_NON_BLOCKING = 1, CU_EVENT_NO_TIMING = 2 };
/* CUDA_KERNEL_NODE_PARAMS, first form */
typedef struct CuKernelNode {
  CuFunction function;
  unsigned   grid[3], block[3], shared;
  void     **params, **extra;
} CuKernelNode;
enum { CU_CAPTURE_THREAD_LOCAL = 1 };

enum { CU_MEMORY_HOST = 1, CU_MEMORY_DEVICE = 2, CU_MEMORY_ARRAY = 3 };

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
  size_t      width, height; /* bytes, rows */
} CuCopy2D;

/* CUDA_MEMCPY3D; of an array neither address nor pitch is looked at */
typedef struct CuCopy3D {
  size_t      from_x, from_y, from_z, from_level;
  unsigned    from_kind;
  const void *from_host;
  CuPtr       from_device;
  CuArray     from_array;
  void       *reserved0;
  size_t      from_pitch, from_height;
  size_t      to_x, to_y, to_z, to_level;
  unsigned    to_kind;
  void       *to_host;
  CuPtr       to_device;
  CuArray     to_array;
  void       *reserved1;
  size_t      to_pitch, to_height;
  size_t      width, height, depth; /* bytes, rows, slices */
} CuCopy3D;

/* CUDA_ARRAY3D_DESCRIPTOR */
typedef struct CuArrayShape {
  size_t   width, height, depth; /* in texels; 0 along axes that there are not */
  int      format;
  unsigned channels, flags;
} CuArrayShape;
enum { CU_FORMAT_U8 = 0x01, CU_FORMAT_F16 = 0x10, CU_FORMAT_F32 = 0x20 };

/* CUDA_RESOURCE_DESC */
typedef struct CuResource {
  int kind;
  union {
    CuMipmap levels;
    int      room[32];
  } of;
  unsigned flags;
} CuResource;
enum { CU_RESOURCE_LEVELS = 1 };

/* CUDA_TEXTURE_DESC */
typedef struct CuTextureShape {
  int      wrap[3]; /* 0 repeat, 1 clamp, 2 mirror, 3 border */
  int      linear;
  unsigned flags, anisotropy;
  int      linear_levels;
  float    bias, least, most; /* of levels */
  float    border[4];
  int      reserved[12];
} CuTextureShape;
enum { CU_TEXTURE_NORMALIZED = 2, CU_TEXTURE_EXACT_LEVELS = 32 }; /* no tricks between levels */

/* What the system shows of the driver beside its codes, read before it is opened. */
typedef struct CuEvidence {
  bool wsl;         /* this is Windows' Linux                                               */
  bool device_file; /* /dev/nvidiactl is there                                              */
  bool limited;     /* CUDA_VISIBLE_DEVICES is set                                          */
  char visible[64]; /* to what                                                              */
  char module[32];  /* version of the kernel's module; empty: not loaded, or not to be seen */
} CuEvidence;

/* One field for each row of entry_points.def. */
typedef struct CuDriver {
#define CU_ENTRY(name, version, symbol, need, params) CuResult(*name) params;
#include "runtime/cuda/entry_points.def"
  void *library;
  char  path[256]; /* of the library that was opened              */
  int   version;   /* of CUDA that it supports: 12040 is 12.4     */
  int   pid;       /* of the process that initialised it          */
  int  *mark;      /* not 0 in that process, 0 in one forked from it; NULL: ask for the pid */
  int   count;     /* devices that it shows                       */
  CuEvidence seen;
} CuDriver;

/* Find the driver, check that it is new enough, initialise it, count its devices. HEDDLE_LIBCUDA names a library file;
 * else the usual places are tried. HD_ERR_CUDA says which step failed, why, and what to do. */
HdStatus hdcu_driver_open(CuDriver *d, HdError *err);
bool     hdcu_is_ours(const CuDriver *d); /* was it initialised by this process, which did not fork since? */
void     hdcu_driver_close(CuDriver *d); /* also one that is all zero, or was left half open */

/* --- failures (failures.c) --- */

void hdcu_look(CuEvidence *out); /* at the system */

/* What else is known of a failure. */
typedef struct CuWhere {
  const char *device;   /* "cuda:0", or NULL                              */
  const char *detail;   /* what was asked of the driver, or NULL          */
} CuWhere;

/* Write the record of a driver call that gave `code`: the call, the code with its name, the likely cause from what the
 * system shows, the remedy. Out of memory is HD_ERR_NOMEM, all else HD_ERR_CUDA. */
HdStatus hdcu_fail(const CuDriver *d, CuResult code, const char *call, CuWhere where, HdError *err);

/* No library was found; `tried` says where it was looked for. `named`: by HEDDLE_LIBCUDA. */
HdStatus hdcu_fail_absent(const CuDriver *d, const char *tried, bool named, HdError *err);

HD_END_DECLS
#endif
