/* backends/llvm/llvm_door.c -- opens LLVM, hands it text, takes back object bytes.
 *
 * LLVM's headers give the types only; each function is a pointer that dlsym filled in, so that nothing here links to
 * the library and one build works with 19 to 22. The list below holds what all four versions have with one signature.
 * A TargetMachine and a context are made for each job: sharing one between threads corrupts LLVM's heap.
 *
 * LLVM owns memory of its own here, outside our arenas, and an arena may jump out (base/arena.h). So nothing is
 * allocated in the arena while LLVM's objects are alive but the final copies, which HDB_GUARD brackets.
 */
#include "backends/llvm/llvm_door.h"

#include <dlfcn.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Every function used, once. */
#define LLVM_FUNCTIONS(X)                                                                                              \
  X(LLVMGetVersion)                                                                                                    \
  X(LLVMContextCreate)                                                                                                 \
  X(LLVMContextDispose)                                                                                                \
  X(LLVMContextSetDiagnosticHandler)                                                                                   \
  X(LLVMGetDiagInfoDescription)                                                                                        \
  X(LLVMGetDiagInfoSeverity)                                                                                           \
  X(LLVMCreateMemoryBufferWithMemoryRangeCopy)                                                                         \
  X(LLVMDisposeMemoryBuffer)                                                                                           \
  X(LLVMGetBufferStart)                                                                                                \
  X(LLVMGetBufferSize)                                                                                                 \
  X(LLVMParseIRInContext)                                                                                              \
  X(LLVMDisposeMessage)                                                                                                \
  X(LLVMDisposeModule)                                                                                                 \
  X(LLVMPrintModuleToString)                                                                                           \
  X(LLVMVerifyModule)                                                                                                  \
  X(LLVMSetTarget)                                                                                                     \
  X(LLVMSetModuleDataLayout)                                                                                           \
  X(LLVMGetTargetFromTriple)                                                                                           \
  X(LLVMCreateTargetMachine)                                                                                           \
  X(LLVMDisposeTargetMachine)                                                                                          \
  X(LLVMCreateTargetDataLayout)                                                                                        \
  X(LLVMDisposeTargetData)                                                                                             \
  X(LLVMTargetMachineEmitToMemoryBuffer)                                                                               \
  X(LLVMCreatePassBuilderOptions)                                                                                      \
  X(LLVMDisposePassBuilderOptions)                                                                                     \
  X(LLVMPassBuilderOptionsSetLoopVectorization)                                                                        \
  X(LLVMPassBuilderOptionsSetSLPVectorization)                                                                         \
  X(LLVMPassBuilderOptionsSetLoopUnrolling)                                                                            \
  X(LLVMRunPasses)                                                                                                     \
  X(LLVMGetErrorMessage)                                                                                               \
  X(LLVMDisposeErrorMessage)

typedef struct Api {
#define FIELD(f) __typeof__(&f) f;
  LLVM_FUNCTIONS(FIELD)
#undef FIELD
  bool has_aarch64, has_nvptx;
  void *lib;
  char path[512];
  char version[24];
  HdStatus status; /* of opening */
  HdError why;
} Api;

/* The one piece of process-wide state that LLVM forces on us: the open library. Written once, under once. */
static Api llvm;
static pthread_once_t once = PTHREAD_ONCE_INIT, once_nvptx = PTHREAD_ONCE_INIT;
static bool opened; /* set last; read by hdllvm_version only */

static const char *const sonames[] = {"libLLVM.so.22.1", "libLLVM-22.so", "libLLVM.so.21.1", "libLLVM-21.so",
                                      "libLLVM.so.20.1", "libLLVM-20.so", "libLLVM.so.19.1", "libLLVM-19.so"};

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* --- opening --- */

static bool init_target(void *lib, const char *target) {
  static const char *const parts[] = {"TargetInfo", "Target", "TargetMC", "AsmPrinter"};
  void (*init[4])(void);
  for (int i = 0; i < 4; i++) {
    char name[64];
    snprintf(name, sizeof name, "LLVMInitialize%s%s", target, parts[i]);
    void *f = dlsym(lib, name);
    if (!f) return false;
    memcpy(&init[i], &f, sizeof f);
  }
  for (int i = 0; i < 4; i++) init[i]();
  return true;
}

/* Fill in `llvm` from an open library; on failure say in `why` what is missing. */
static bool take(void *lib, char *why, size_t size) {
#define LOOK_UP(f)                                                                                                     \
  {                                                                                                                    \
    void *p = dlsym(lib, #f);                                                                                          \
    if (!p) {                                                                                                          \
      snprintf(why, size, "it lacks %s", #f);                                                                          \
      return false;                                                                                                    \
    }                                                                                                                  \
    memcpy(&llvm.f, &p, sizeof p);                                                                                     \
  }
  LLVM_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
  unsigned major = 0, minor = 0, patch = 0;
  llvm.LLVMGetVersion(&major, &minor, &patch);
  if (major < 19 || major > 22) {
    snprintf(why, size, "it is version %u; 19 to 22 are supported", major);
    return false;
  }
  snprintf(llvm.version, sizeof llvm.version, "%u.%u.%u", major, minor, patch);
  llvm.has_aarch64 = init_target(lib, "AArch64");
  if (!init_target(lib, "X86") && !llvm.has_aarch64) {
    snprintf(why, size, "it was built without the X86 target");
    return false;
  }
  return true;
}

static bool try_open(const char *path, char *log, size_t size) {
  char why[256] = "";
  size_t len = strlen(log);
  void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!lib) {
    const char *e = dlerror();
    snprintf(why, sizeof why, "%s", e ? e : "it cannot be opened");
  } else if (take(lib, why, sizeof why)) {
    Dl_info info;
    bool known = dladdr((void *)(uintptr_t)llvm.LLVMContextCreate, &info) && info.dli_fname;
    snprintf(llvm.path, sizeof llvm.path, "%s", known ? info.dli_fname : path);
    llvm.lib = lib;
    return true; /* never closed: LLVM does not survive that */
  }
  snprintf(log + len, size - len, "%s%s: %s", len ? "; " : "", path, why);
  if (lib) dlclose(lib);
  return false;
}

static void open_once(void) {
  char log[480] = "";
  const char *named = getenv("HEDDLE_LLVM");
  bool ok = false;
  if (named && *named) {
    ok = try_open(named, log, sizeof log);
  } else {
    for (size_t i = 0; i < sizeof sonames / sizeof *sonames && !ok; i++) ok = try_open(sonames[i], log, sizeof log);
  }
  llvm.status = ok ? HD_OK : hdb_fail(&llvm.why, HD_ERR_LLVM, named && *named ? "HEDDLE_LLVM" : "", "%s", log);
  __atomic_store_n(&opened, ok, __ATOMIC_RELEASE);
}

HdStatus hdllvm_open(HdError *err) {
  pthread_once(&once, open_once);
  if (llvm.status != HD_OK) *err = llvm.why;
  return llvm.status;
}

const char *hdllvm_version(const char **path) {
  bool ok = __atomic_load_n(&opened, __ATOMIC_ACQUIRE);
  if (path) *path = ok ? llvm.path : NULL;
  return ok ? llvm.version : NULL;
}

/* --- one job --- */

typedef struct Work {
  const LlvmJob *job;
  HdError *err;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMTargetMachineRef machine;
  LLVMMemoryBufferRef assembly, object;
  char *text;
  char said[300]; /* LLVM's first error, from its handler */
} Work;

static void heard(LLVMDiagnosticInfoRef info, void *user) {
  Work *w = user;
  if (llvm.LLVMGetDiagInfoSeverity(info) != LLVMDSError || w->said[0]) return;
  char *s = llvm.LLVMGetDiagInfoDescription(info);
  snprintf(w->said, sizeof w->said, "%s", s);
  llvm.LLVMDisposeMessage(s);
}

/* The record of a failure; takes LLVM's message. */
static HdStatus fail(Work *w, const char *stage, char *message) {
  const char *s = message && *message ? message : w->said[0] ? w->said : "no message";
  HdStatus st = hdb_fail(w->err, HD_ERR_COMPILE, w->job->name, "LLVM %s, %s: %s", llvm.version, stage, s);
  if (message) llvm.LLVMDisposeMessage(message);
  return st;
}

/* Most processes make no PTX. */
static void init_nvptx(void) { llvm.has_nvptx = init_target(llvm.lib, "NVPTX"); }

static HdStatus make_machine(Work *w) {
  LLVMTargetRef target;
  char *message = NULL;
  if (strncmp(w->job->triple, "nvptx", 5) == 0) {
    pthread_once(&once_nvptx, init_nvptx);
    if (!llvm.has_nvptx)
      return hdb_fail(w->err, HD_ERR_TARGET, w->job->cpu, "%s was built without the NVPTX target", llvm.path);
  }
  if (strncmp(w->job->triple, "aarch64", 7) == 0 && !llvm.has_aarch64)
    return hdb_fail(w->err, HD_ERR_TARGET, w->job->triple, "%s was built without the AArch64 target", llvm.path);
  if (llvm.LLVMGetTargetFromTriple(w->job->triple, &target, &message)) return fail(w, "target", message);
  w->machine = llvm.LLVMCreateTargetMachine(target, w->job->triple, w->job->cpu, w->job->features,
                                            (LLVMCodeGenOptLevel)w->job->codegen, LLVMRelocPIC, LLVMCodeModelSmall);
  return w->machine ? HD_OK : fail(w, "target machine", NULL);
}

static HdStatus parse(Work *w) {
  char *message = NULL;
  LLVMMemoryBufferRef text =
      llvm.LLVMCreateMemoryBufferWithMemoryRangeCopy(w->job->text, w->job->text_len, w->job->name);
  if (llvm.LLVMParseIRInContext(w->context, text, &w->module, &message)) return fail(w, "parse", message);
  llvm.LLVMSetTarget(w->module, w->job->triple);
  LLVMTargetDataRef layout = llvm.LLVMCreateTargetDataLayout(w->machine);
  llvm.LLVMSetModuleDataLayout(w->module, layout);
  llvm.LLVMDisposeTargetData(layout);
  bool bad = llvm.LLVMVerifyModule(w->module, LLVMReturnStatusAction, &message);
  if (bad) return fail(w, "verify", message);
  llvm.LLVMDisposeMessage(message);
  return HD_OK;
}

static HdStatus optimise(Work *w) {
  if (!w->job->passes || !*w->job->passes) return HD_OK;
  LLVMPassBuilderOptionsRef options = llvm.LLVMCreatePassBuilderOptions();
  llvm.LLVMPassBuilderOptionsSetLoopVectorization(options, 0);
  llvm.LLVMPassBuilderOptionsSetSLPVectorization(options, 0);
  llvm.LLVMPassBuilderOptionsSetLoopUnrolling(options, 0);
  LLVMErrorRef e = llvm.LLVMRunPasses(w->module, w->job->passes, w->machine, options);
  llvm.LLVMDisposePassBuilderOptions(options);
  if (!e) return HD_OK;
  char *message = llvm.LLVMGetErrorMessage(e);
  snprintf(w->said, sizeof w->said, "%s", message);
  llvm.LLVMDisposeErrorMessage(message);
  return fail(w, "passes", NULL);
}

static HdStatus emit(Work *w, LLVMCodeGenFileType kind, LLVMMemoryBufferRef *out) {
  char *message = NULL;
  if (llvm.LLVMTargetMachineEmitToMemoryBuffer(w->machine, w->module, kind, &message, out)) {
    *out = NULL;
    return fail(w, "code generation", message);
  }
  return w->said[0] ? fail(w, "code generation", NULL) : HD_OK;
}

static HdStatus work(Work *w, LlvmResult *out) {
  double t0 = now_ms();
  HD_TRY(make_machine(w));
  HD_TRY(parse(w));
  double t1 = now_ms();
  HD_TRY(optimise(w));
  double t2 = now_ms();
  if (w->job->want_text) w->text = llvm.LLVMPrintModuleToString(w->module);
  /* Emission changes the module: text first, and assembly from what object code would be made of needs a second job
   * if both are wanted; callers ask for one of them. */
  if (w->job->want_asm) HD_TRY(emit(w, LLVMAssemblyFile, &w->assembly));
  if (w->job->want_object) HD_TRY(emit(w, LLVMObjectFile, &w->object));
  out->parse_ms = t1 - t0;
  out->opt_ms = t2 - t1;
  out->emit_ms = now_ms() - t2;
  return HD_OK;
}

static void *copy_buffer(Arena *a, LLVMMemoryBufferRef b, size_t *size) {
  size_t n = llvm.LLVMGetBufferSize(b);
  char *p = hdb_alloc(a, n + 1);
  memcpy(p, llvm.LLVMGetBufferStart(b), n);
  p[n] = 0;
  *size = n;
  return p;
}

static void copy_out(Work *w, Arena *a, LlvmResult *out) {
  size_t ignored;
  if (w->text) out->text = hdb_strdup(a, w->text);
  if (w->assembly) out->assembly = copy_buffer(a, w->assembly, &ignored);
  if (w->object) out->object = copy_buffer(a, w->object, &out->object_size);
}

static void clean(Work *w) {
  if (w->text) llvm.LLVMDisposeMessage(w->text);
  if (w->assembly) llvm.LLVMDisposeMemoryBuffer(w->assembly);
  if (w->object) llvm.LLVMDisposeMemoryBuffer(w->object);
  if (w->module) llvm.LLVMDisposeModule(w->module);
  if (w->machine) llvm.LLVMDisposeTargetMachine(w->machine);
  if (w->context) llvm.LLVMContextDispose(w->context);
}

HdStatus hdllvm_run(const LlvmJob *job, Arena *a, HdError *err, LlvmResult *out) {
  HD_TRY(hdllvm_open(err));
  Work w = {.job = job, .err = err};
  LlvmResult result = {0};
  jmp_buf *outer = a->on_oom, here;
  w.context = llvm.LLVMContextCreate();
  llvm.LLVMContextSetDiagnosticHandler(w.context, heard, &w);
  HdStatus st = work(&w, &result);
  if (st == HD_OK) {
    HDB_GUARD(a, here) { copy_out(&w, a, &result); }
    else {
      clean(&w);
      a->on_oom = outer;
      if (outer) longjmp(*outer, 1);
      return hdb_fail(err, HD_ERR_NOMEM, job->name, "the object code does not fit");
    }
    a->on_oom = outer;
    *out = result;
  }
  clean(&w);
  return st;
}
