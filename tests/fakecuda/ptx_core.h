/* tests/fakecuda/ptx_core.h -- what the parts of the interpreter share: decoded instructions, warps, blocks.
 *
 * A register is a column: 32 values side by side, one for each lane. A predicate is one word, a bit for each lane. Columns
 * of a function lie in the register file of its warp, behind those of the special registers, in front of those of the
 * constants. An instruction names columns by their offset in bytes.
 */
#ifndef FAKECUDA_PTX_CORE_H
#define FAKECUDA_PTX_CORE_H

#include "tests/fakecuda/ptx.h"

enum { LANES = 32, ALL_LANES = 1, MAX_BARRIERS = 16 };
#define FULL 0xffffffffu

/* Where the parts of the generic address space begin; global memory is all the rest. */
#define PTX_SHARED_WINDOW 0x0100000000000000ull
#define PTX_LOCAL_WINDOW  0x0200000000000000ull
#define PTX_PARAM_WINDOW  0x0300000000000000ull
#define PTX_CODE_WINDOW   0x0400000000000000ull
#define PTX_WINDOW_MASK   0xff00000000000000ull
#define PTX_WINDOW_SIZE   0x0000000100000000ull
/* In the param space, the parameters of the kernel begin here; below are those of calls, in the frame of the thread. */
#define PTX_KERNEL_PARAMS 0x40000000u

/* --- types --- */

/*         name      bytes  class: b bits, u unsigned, s signed, f float, p predicate, x pairs           */
#define PTX_TYPES(X) \
  X(B8,    "b8",     1, 'b') X(B16,   "b16",    2, 'b') X(B32,  "b32",  4, 'b') X(B64,  "b64", 8, 'b') \
  X(U8,    "u8",     1, 'u') X(U16,   "u16",    2, 'u') X(U32,  "u32",  4, 'u') X(U64,  "u64", 8, 'u') \
  X(S8,    "s8",     1, 's') X(S16,   "s16",    2, 's') X(S32,  "s32",  4, 's') X(S64,  "s64", 8, 's') \
  X(F16,   "f16",    2, 'f') X(BF16,  "bf16",   2, 'f') X(F32,  "f32",  4, 'f') X(F64,  "f64", 8, 'f') \
  X(F16X2, "f16x2",  4, 'x') X(BF16X2,"bf16x2", 4, 'x') X(F32X2,"f32x2",8, 'x')                          \
  X(U16X2, "u16x2",  4, 'x') X(S16X2, "s16x2",  4, 'x') X(PRED, "pred", 0, 'p')

typedef enum PtxType {
  PTX_NOTYPE,
#define X(id, name, bytes, class) PT_##id,
  PTX_TYPES(X)
#undef X
  PTX_NTYPES
} PtxType;

typedef struct PtxTypeInfo {
  const char *name;
  uint32_t    bytes;
  char        kind;
} PtxTypeInfo;

extern const PtxTypeInfo ptx_types[PTX_NTYPES];

typedef enum PtxWhere { SP_GENERIC, SP_GLOBAL, SP_SHARED, SP_LOCAL, SP_CONST, SP_PARAM } PtxWhere;
typedef enum PtxRound { RN, RZ, RM, RP, RNA } PtxRound;

/* --- instructions --- */

struct Warp;
struct Ins;
/* Runs one instruction for the lanes of m. False: it faulted, and said so. */
typedef bool PtxFn(struct Warp *w, struct Ins *i, uint32_t m);

/* What the scheduler itself has to do. */
typedef enum PtxFlow {
  FLOW_NONE, FLOW_BRA, FLOW_BRX, FLOW_CALL, FLOW_RET, FLOW_EXIT, FLOW_TRAP, FLOW_SYNC, FLOW_WARPBAR, FLOW_BAR, FLOW_YIELD,
} PtxFlow;

typedef struct Ins {
  PtxFn   *fn;
  uint32_t d, a, b, c, e;    /* columns                                                                        */
  uint32_t guard;            /* a predicate, or 0                                                              */
  uint32_t line;
  uint32_t target;           /* of a branch; the signature of a call                                           */
  uint32_t list, nlist;      /* in the module's lists: the parts of a vector, the targets of brx.idx           */
  int64_t  imm;
  uint32_t hint;             /* the range that the last access was in                                          */
  uint8_t  guard_not, flow, wide;  /* wide: harmless in lanes that have ended                                  */
  uint8_t  round, ftz, sat, abs;
  uint8_t  type, type2;
  uint8_t  size2;            /* bytes of the register at the other end of a load, store or conversion          */
  uint8_t  size1;
  uint8_t  space, base;      /* base: what an address is relative to (PtxBase)                                 */
  uint8_t  op, op2;          /* an operation within a family                                                   */
} Ins;

typedef enum PtxBase { BASE_NONE, BASE_R32, BASE_R64, BASE_FRAME } PtxBase;

/* --- modules --- */

typedef struct PtxReloc {
  uint64_t at;               /* bytes into the variable                                                        */
  uint32_t var, func;        /* one of both, the other is UINT32_MAX                                           */
  int64_t  add;
  bool     generic;
} PtxReloc;

typedef struct PtxVar {
  const char *name;
  PtxWhere    space;
  PtxType     type;
  uint64_t    size;
  uint32_t    align;
  bool        is_extern;     /* not defined here; of shared memory: the dynamic part                           */
  uint8_t    *init;
  PtxReloc   *relocs;
  uint32_t    nrelocs;
  uint64_t    address;
  void       *host;
  bool        owned;
  uint32_t    global;        /* its index among the PtxGlobals                                                 */
} PtxVar;

typedef struct PtxFormal {   /* a parameter or result of a function                                            */
  PtxType  type;
  bool     is_reg;
  uint32_t at;               /* column, or offset in the frame                                                 */
  uint32_t size, align;
} PtxFormal;

typedef enum PtxBuiltin { FN_PLAIN, FN_VPRINTF, FN_ASSERT } PtxBuiltin;

typedef struct PtxFunc {
  const char *name;
  bool        is_entry, defined, recursive, indirect, grows;  /* grows: has an alloca */
  PtxBuiltin  builtin;
  uint32_t    pc, end;       /* instructions [pc, end)                                                         */
  uint32_t    base, bytes;   /* of its registers in the file                                                   */
  uint32_t    frame;         /* bytes of local memory                                                          */
  PtxFormal  *in, *out;
  uint32_t    nin, nout;
  uint32_t   *calls, ncalls; /* functions                                                                      */
  uint32_t   *vars, nvars;   /* variables that it names                                                        */
  uint32_t   *slots, nslots; /* its registers: offset, 0 bytes for a predicate in the low four bits            */
  uint64_t    deepest;       /* local memory of the longest chain of calls; UINT64_MAX if unknown              */
  PtxEntry    info;
  uint32_t   *shared_at;     /* of an entry: where each variable of the module lies                            */
} PtxFunc;

typedef struct PtxConst {
  uint32_t bytes;            /* 0 for a predicate                                                              */
  uint64_t bits;
  uint32_t var, func;        /* UINT32_MAX, or the address of it is added                                      */
  bool     generic;
  uint32_t at;               /* in the constants' part of the file                                             */
} PtxConst;

typedef struct PtxActual {   /* an argument of a call                                                          */
  uint8_t  kind;             /* 0 column, 1 frame                                                              */
  uint8_t  bytes;            /* of the column; 0 predicate                                                     */
  uint32_t at, size;
} PtxActual;

typedef struct PtxCall {
  uint32_t   func;           /* UINT32_MAX: through a register                                                 */
  PtxActual *in, *out;
  uint32_t   nin, nout;
} PtxCall;

typedef struct PtxBlockOfArena {
  struct PtxBlockOfArena *next;
} PtxBlockOfArena;

struct PtxModule {
  PtxBlockOfArena *arena;
  int        version, target;
  char       target_name[16];
  Ins       *code;
  uint32_t   ncode;
  uint32_t  *lists, nlists;
  PtxFunc   *funcs;
  uint32_t   nfuncs;
  PtxVar    *vars;
  uint32_t   nvars;
  PtxConst  *consts;
  uint32_t   nconsts;
  PtxCall   *calls;
  uint32_t   ncalls;
  PtxGlobal *globals;
  uint32_t   nglobals;
  uint32_t  *entries, nentries;
  uint32_t   file_bytes, const_at;
  PtxSpace  *space;          /* once linked                                                                    */
};

void *ptx_realloc(void *p, size_t n);          /* ends the program if there is no memory */
void *ptx_arena(PtxModule *m, size_t size);   /* zeroed, lives as long as the module */
int   ptx_fail(PtxError *err, int code, uint32_t line, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* --- the special registers: the first columns of every file --- */

/*         name               parts  bytes                                                                   */
#define PTX_SPECIALS(X) \
  X(NONE,     "",                 1, 4) /* offset 0 means "none" */ \
  X(TID,      "%tid",             3, 4) X(NTID,     "%ntid",            3, 4) X(CTAID,   "%ctaid",          3, 4) \
  X(NCTAID,   "%nctaid",          3, 4) X(LANEID,   "%laneid",          1, 4) X(WARPID,  "%warpid",         1, 4) \
  X(NWARPID,  "%nwarpid",         1, 4) X(SMID,     "%smid",            1, 4) X(NSMID,   "%nsmid",          1, 4) \
  X(GRIDID,   "%gridid",          1, 8) X(MASK_EQ,  "%lanemask_eq",     1, 4) X(MASK_LE, "%lanemask_le",    1, 4) \
  X(MASK_LT,  "%lanemask_lt",     1, 4) X(MASK_GE,  "%lanemask_ge",     1, 4) X(MASK_GT, "%lanemask_gt",    1, 4) \
  X(DYNSMEM,  "%dynamic_smem_size", 1, 4) X(ALLSMEM, "%total_smem_size", 1, 4)                                     \
  X(ZERO,     "%cluster_ctarank", 1, 4) X(ONE,      "%cluster_nctarank", 1, 4)                                     \
  X(CLOCK,    "%clock",           1, 4) X(CLOCK_HI, "%clock_hi",        1, 4) X(CLOCK64, "%clock64",        1, 8) \
  X(TIMER,    "%globaltimer",     1, 8) X(TIMER_LO, "%globaltimer_lo",  1, 4) X(TIMER_HI, "%globaltimer_hi", 1, 4)

typedef enum PtxSpecial {
#define X(id, name, parts, bytes) SR_##id,
  PTX_SPECIALS(X)
#undef X
  PTX_NSPECIALS
} PtxSpecial;

typedef struct PtxSpecialInfo {
  const char *name;
  uint32_t    parts, bytes;
} PtxSpecialInfo;

extern const PtxSpecialInfo ptx_specials[PTX_NSPECIALS];
uint32_t ptx_special_at(PtxSpecial s, uint32_t part);
#define PTX_SPECIAL_BYTES 12288u  /* room for all of them */
/* Bits of a column's name before the module is laid out: a register of the function, a constant. */
#define PTX_IN_FUNC  0x40000000u
#define PTX_IN_CONST 0x80000000u

/* --- what runs --- */

typedef struct PtxFrame {
  uint32_t ret, sp, top, func;
  uint32_t call;             /* the PtxCall that made it                                                       */
  uint32_t saved;            /* bytes that the call of a recursive function put aside                          */
} PtxFrame;

typedef enum PtxState { LANE_OFF, LANE_RUN, LANE_SYNC, LANE_BAR } PtxState;

typedef struct Warp {
  uint8_t    *reg;
  struct Cta *cta;
  struct Run *run;
  uint32_t    index;         /* of this warp in its block                                                      */
  uint32_t    live;          /* lanes that have not ended                                                      */
  uint32_t    carry;         /* the condition code, a bit for each lane                                        */
  uint32_t    pc[LANES], depth[LANES], sp[LANES], top[LANES];
  uint8_t     state[LANES];
  uint32_t    want[LANES], key[LANES];  /* while in LANE_SYNC: with which lanes, at which instruction          */
  uint8_t     barrier[LANES];           /* while in LANE_BAR                                                   */
  PtxFrame   *frames[LANES];
  uint32_t    nframes[LANES], room[LANES];
  uint8_t    *saved[LANES];
  uint32_t    nsaved[LANES], saved_room[LANES];
  uint8_t    *stack;         /* local memory: run->stack bytes for each lane                                   */
  uint32_t    turn, loops;
} Warp;

typedef struct Barrier {
  uint32_t expected;         /* 0: all living threads                                                          */
  uint32_t arrived;          /* by bar.arrive                                                                  */
  uint32_t popc, all, any;   /* of bar.red, for those that wait                                                */
} Barrier;

typedef struct Cta {
  uint32_t at[3];
  Warp    *warps;
  uint32_t nwarps, nlive;    /* warps with living lanes                                                        */
  uint8_t *shared;
  Barrier  barriers[MAX_BARRIERS];
  bool     busy;
} Cta;

typedef struct Run {
  PtxModule       *m;
  PtxFunc         *entry;
  const PtxLaunch *launch;
  PtxError        *err;
  PtxStats         stats;
  uint8_t         *params;
  uint32_t         param_bytes;
  uint32_t         shared_bytes, shared_end, stack;
  uint64_t         random;
  uint32_t         nthreads;
} Run;

#define COL(T, at) ((T *)(w->reg + (at)))

/* A fault of one lane: fills the error. Returns false. */
bool ptx_fault(Warp *w, const Ins *i, int lane, int code, const char *format, ...) __attribute__((format(printf, 5, 6)));
uint64_t ptx_random(uint64_t *state);

/* The space of a module, as loads and stores see it. */
typedef struct PtxRange {
  uint64_t at, end;
  uint8_t *host;             /* NULL once dropped                                                              */
  uint32_t flags;
  PtxMarks *marks;           /* or NULL                                                                        */
  char     what[44];
} PtxRange;
typedef struct PtxObject {
  uint64_t   handle;
  PtxTexture is;
} PtxObject;
struct PtxSpace {
  PtxRange  *v;
  uint32_t   n, room;
  PtxObject *objects;
  uint32_t   nobjects;
};

/* The host memory of an access by a lane; NULL after a fault. */
uint8_t *ptx_resolve(Warp *w, Ins *i, int lane, uint64_t address, uint32_t bytes, unsigned how);
/* The address in `i->space` of a memory operand, for a lane. */
uint64_t ptx_address(const Warp *w, const Ins *i, int lane);

/* --- handlers, by what they do --- */

/* Each returns NULL where the manual has no such form. */
typedef enum PtxAlu {
  AL_ADD, AL_SUB, AL_ADD_SAT, AL_SUB_SAT, AL_ADD_CC, AL_ADDC, AL_ADDC_CC, AL_SUB_CC, AL_SUBC, AL_SUBC_CC,
  AL_MUL_LO, AL_MUL_HI, AL_MUL_WIDE, AL_MAD_LO, AL_MAD_HI, AL_MAD_WIDE, AL_MAD_LO_CC, AL_MAD_HI_CC, AL_MADC_LO,
  AL_MADC_HI, AL_MADC_LO_CC, AL_MADC_HI_CC, AL_MUL24_LO, AL_MUL24_HI, AL_MAD24_LO, AL_MAD24_HI, AL_SAD, AL_DIV, AL_REM, AL_ABS,
  AL_NEG, AL_MIN, AL_MAX, AL_MIN_RELU, AL_MAX_RELU, AL_AND, AL_OR, AL_XOR, AL_NOT, AL_CNOT, AL_SHL, AL_SHR, AL_SHF_L_WRAP, AL_SHF_L_CLAMP, AL_SHF_R_WRAP,
  AL_SHF_R_CLAMP, AL_LOP3, AL_PRMT, AL_BFE, AL_BFI, AL_BFIND, AL_BFIND_SHIFT, AL_CLZ, AL_POPC, AL_BREV, AL_BMSK_CLAMP,
  AL_BMSK_WRAP, AL_SZEXT_CLAMP, AL_SZEXT_WRAP, AL_FNS, AL_MOV, AL_SELP, AL_SLCT_S32, AL_SLCT_F32,
  AL_COUNT
} PtxAlu;
PtxFn *ptx_alu(PtxAlu op, PtxType t);
PtxFn  ptx_dp4a, ptx_dp2a, ptx_pack, ptx_unpack, ptx_frame_address, ptx_clock, ptx_read_param_address;

typedef enum PtxFloat {
  FL_ADD, FL_SUB, FL_MUL, FL_FMA, FL_DIV, FL_DIV_FULL, FL_DIV_APPROX, FL_SQRT, FL_SQRT_APPROX, FL_RCP, FL_RCP_APPROX,
  FL_RSQRT_APPROX, FL_EX2, FL_LG2, FL_SIN, FL_COS, FL_TANH, FL_ABS, FL_NEG, FL_MIN, FL_MAX, FL_MIN_NAN, FL_MAX_NAN, FL_COPYSIGN,
  FL_FMA_RELU, FL_COUNT
} PtxFloat;
/* i->round, ftz, sat, op and type are set before it is asked. */
PtxFn *ptx_float(PtxFloat op, const Ins *i);
PtxFn  ptx_testp;
PtxFn  ptx_mixed;

typedef enum PtxCmp {
  CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_LO, CMP_LS, CMP_HI, CMP_HS,
  CMP_EQU, CMP_NEU, CMP_LTU, CMP_LEU, CMP_GTU, CMP_GEU, CMP_NUM, CMP_NAN, CMP_COUNT
} PtxCmp;
typedef enum PtxBool { BOOL_NONE, BOOL_AND, BOOL_OR, BOOL_XOR } PtxBool;
PtxFn *ptx_setp(PtxCmp cmp, PtxType t, bool ftz);/* d and e: the results, e may be 0; c with op2: combined with it */
PtxFn  ptx_set;                              /* of a setp into a scratch predicate; type2 is the result's       */

PtxFn *ptx_cvt(const Ins *i);                /* type: result, type2: operand; op: 1 rounds to an integral value */
PtxFn  ptx_cvt_pack;                         /* two f32 to f16x2 or bf16x2                                      */

PtxFn *ptx_load(const Ins *i);
PtxFn *ptx_store(const Ins *i);
typedef enum PtxAtom {
  AT_ADD, AT_MIN, AT_MAX, AT_AND, AT_OR, AT_XOR, AT_EXCH, AT_CAS, AT_INC, AT_DEC, AT_COUNT
} PtxAtom;
PtxFn ptx_atom, ptx_cvta_to, ptx_cvta_from, ptx_isspacep, ptx_prefetch, ptx_alloca, ptx_stacksave, ptx_stackrestore;

PtxFn ptx_shfl, ptx_vote, ptx_match, ptx_redux, ptx_activemask, ptx_elect, ptx_mma, ptx_tex;

bool ptx_call_builtin(Warp *w, Ins *i, uint32_t m, PtxBuiltin which, const PtxCall *c);

/* --- formats of floats, for what the processor does not do itself (ptx_float.c) --- */

typedef struct PtxFormat {
  int bits, mantissa, bias;  /* mantissa: without the hidden bit                                               */
} PtxFormat;
extern const PtxFormat ptx_f16, ptx_bf16, ptx_f32, ptx_f64;

/* (-1)^sign * sig * 2^exp, and a little more if sticky, rounded once. */
uint64_t ptx_round(PtxFormat f, bool sign, uint64_t sig, int exp, bool sticky, PtxRound r);
/* The value of a float in a wider format; NaN becomes the canonical one. */
uint64_t ptx_convert(PtxFormat to, PtxFormat from, uint64_t bits, PtxRound r);
double   ptx_f16_value(uint16_t h);
double   ptx_bf16_value(uint16_t h);

#endif
