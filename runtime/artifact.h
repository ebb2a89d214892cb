/* runtime/artifact.h -- finished code, and what the runtime must know to launch it.
 *
 * An artifact is the one thing that passes from the compiler to the runtime: plain data, no IR, written to and
 * read from the cache as it is. One artifact holds one kernel in one variant.
 */
#ifndef RT_ARTIFACT_H
#define RT_ARTIFACT_H

#include "heddle/status.h"
#include "heddle/types.h"
HD_BEGIN_DECLS

/* One kernel parameter. In the argument block a value is stored as in memory; an array as
 * { void *data; int64_t length[ndim]; int64_t stride[ndim]; } (strides in elements). A struct parameter that has
 * arrays inside is one RtParam for each of its fields, named "s.x". */
typedef struct RtParam {
  const char *name;
  HdType      type;   /* of the value, or of an array's element      */
  int32_t     ndim;   /* 0 for a value, 1..4 for an array            */
  bool        writes; /* the kernel may store to this array          */
  uint32_t    offset; /* bytes into the argument block, 8-aligned for arrays */
} RtParam;

typedef struct RtSignature {
  const char    *kernel;
  uint32_t       nparams;
  const RtParam *params;
  uint32_t       args_size; /* bytes of the argument block                      */
  int32_t        rank;      /* the highest axis used by tid or dim, plus one; 0..4: a launch must have at least as many */
  int32_t        group;     /* threads of a group, 32, 64, .. 1024: the last axis of a launch is whole groups; 0 has none */
} RtSignature;

/* The first failed assert or check of a launch; written once, by whoever sets `state` from 0 to 1. */
typedef struct RtFault {
  int32_t     state; /* 0 none, 1 being written, 2 complete */
  int32_t     line, column;
  int32_t     has_index;
  int64_t     index, limit;
  int64_t     tid[HD_MAX_DIMS];
  const char *text;  /* in the code's constants */
  const char *file;
  int32_t     status; /* 0 stands for HD_ERR_FAULT; HOST code may have another reason */
} RtFault;

typedef struct RtPrinter RtPrinter; /* printer.h */
typedef struct RtSpan    RtSpan;
/* A printf of the thread with the innermost coordinate x; the format has n values. */
typedef void (*RtPrint)(const RtSpan *span, int64_t x, const char *format, int32_t n, const uint64_t values[]);

/* What a call of kernel code runs: the threads (at[0], .., at[ndim-2], x) for begin <= x < end. */
struct RtSpan {
  int64_t  dim[HD_MAX_DIMS]; /* of the whole launch; 1 beyond its ndim           */
  int64_t  at[HD_MAX_DIMS];  /* coordinates; the innermost one's entry is unused */
  int64_t  begin, end;       /* along the innermost axis, which is axis ndim - 1 */
  int32_t  ndim;             /* 1..4 */
  int32_t  serial;           /* one thread runs the whole launch: atomics may be plain */
  RtFault *fault;
  RtPrint    print;
  RtPrinter *printer; /* its */
};

/* What HOST code gets as `user`: its own, and the memory it may use in this call (NULL: the system's; the context's
 * allocator is not for the thread it runs on). */
typedef struct RtHost {
  void              *user;
  const HdAllocator *mem;
} RtHost;

/* `user` is NULL for machine code, an RtHost for HOST code. */
typedef void (*RtEntry)(const void *args, const RtSpan *span, void *user);

typedef enum RtCodeKind { RT_CODE_OBJECT = 1, RT_CODE_HOST, RT_CODE_PTX } RtCodeKind;

/* --- code for a GPU (PTX) ---
 *
 * An entry takes the argument block and an RtGpuLaunch, both by value. Thread n = ctaid.x * ntid.x + tid.x of a piece runs if
 * n < count; its coordinates are n's digits in base len[0..rank), axis rank - 1 fastest, plus at[]. */
typedef struct RtGpuLaunch {
  int64_t  dim[HD_MAX_DIMS]; /* of the whole launch                                                        */
  int64_t  count;            /* threads of this piece, at most 2^31 - 1                                    */
  uint64_t fault;            /* address of an RtGpuFault in the device's memory                            */
  int32_t  at[HD_MAX_DIMS];  /* where the piece begins; the last axis of the rank is never cut             */
  uint32_t len[HD_MAX_DIMS]; /* threads of the piece along each axis                                       */
  uint32_t mul[HD_MAX_DIMS], shift[HD_MAX_DIMS]; /* n / len = (high32(n * mul) + n) >> shift for n < 2^31
                                Granlund and Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994 */
} RtGpuLaunch;

/* Behind the RtGpuLaunch comes this, by value, where an entry prints. A record of a printf is made room for by adding its size
 * to `used`; if it does not end within `size`, it is lost. */
typedef struct RtGpuPrinting {
  uint64_t printed; /* address of an RtGpuPrinted in the device's memory, and room for records behind it */
  uint64_t size;    /* of that room [bytes]                                                              */
  uint64_t launch;  /* its number, put into its records                                                  */
} RtGpuPrinting;

typedef struct RtGpuPrinted {
  uint64_t used; /* bytes that were asked for */
  uint64_t lost; /* records                   */
} RtGpuPrinted;

typedef struct RtGpuPrint { /* then the bits of each value */
  uint32_t site, launch;    /* the site's number + 1: room that nobody wrote to has 0 here */
  uint32_t tid[HD_MAX_DIMS];
} RtGpuPrint;

/* The first failed assert or check; written by the code, in the device's memory. */
typedef struct RtGpuFault {
  int32_t state; /* 0 none, 1 being written, 2 complete */
  int32_t site;  /* which of the artifact's             */
  int64_t has_index, index, limit;
  int64_t tid[HD_MAX_DIMS];
} RtGpuFault;

/* Where an assert, a check or a printf stands in the source. */
typedef struct RtSite {
  const char *text, *file;
  int32_t     line, column;
  bool        prints; /* `text` is a format */
} RtSite;

#define RT_C_PREFIX "c." /* of the symbols of C functions in objects */

/* A C function of the program that the code calls. */
typedef struct RtImport {
  const char *name;
  const char *signature;   /* as text: "clamp(f32, i32) -> f32"                            */
  void      (*address)(void); /* given when the code is loaded, and never written down     */
} RtImport;

typedef struct RtArtifact {
  RtSignature sig;
  RtCodeKind  kind;
  const char *symbol;    /* OBJECT, PTX: the entry's name                            */
  const void *code;      /* OBJECT: bytes of a relocatable ELF file; PTX: text and its zero */
  size_t      code_size;
  uint32_t    nsites;    /* PTX                                                      */
  const RtSite *sites;
  uint32_t    nimports;  /* OBJECT                                                   */
  const RtImport *imports;
  int32_t     rank;      /* PTX: axes that the code tells apart, 1 to 4              */
  int32_t     block;     /* PTX: the most threads of a block that it was made for    */
  uint32_t    shared;    /* PTX: bytes of dynamic shared memory to launch it with    */
  RtEntry     host;      /* HOST: call this                                          */
  void       *host_user;
  int32_t     width;     /* lanes of a gang, for information; 1 for HOST and PTX     */
} RtArtifact;

/* --- as bytes (artifact.c) --- */
typedef struct RtWriter RtWriter;
typedef struct RtReader RtReader;

void hdrt_put_signature(RtWriter *w, const RtSignature *s);
void hdrt_put_artifact(RtWriter *w, const RtArtifact *a); /* of kind OBJECT or PTX */
/* The parameters go to params[0..max), the sites to sites[0..max), the imports to imports[0..max_imports); strings and code
 * are lent from the reader's bytes. Count first with NULL. False if the bytes are not what put wrote. */
bool hdrt_get_signature(RtReader *r, RtParam *params, uint32_t max, RtSignature *out);
bool hdrt_get_artifact(RtReader *r, RtSite *sites, uint32_t max, RtImport *imports, uint32_t max_imports,
                       RtArtifact *out); /* of sig the group alone */

HD_END_DECLS
#endif
