/* backends/cpu/target.c -- the CPUs that code is made for, and which of them this machine is.
 *
 * Targets are the psABI's feature levels, not CPU models: a level means the same to every LLVM from 19 on (an unknown
 * model name makes LLVM print to stderr), and cached code can be shared by like machines.
 */
#include "backends/cpu/cpu.h"

typedef struct Row {
  const char *name;
  CpuTarget target;
} Row;

/* clang-format off */
static const Row rows[] = {
    {"x86-64-v2", {CPU_SSE4,   "x86_64-pc-linux-gnu",     "x86-64-v2", "",                         false}},
    {"x86-64-v3", {CPU_AVX2,   "x86_64-pc-linux-gnu",     "x86-64-v3", "",                         false}},
    {"x86-64-v4", {CPU_AVX512, "x86_64-pc-linux-gnu",     "x86-64-v4", "-prefer-256-bit",          false}},
    {"aarch64",   {CPU_NEON,   "aarch64-unknown-linux-gnu", "generic",  "+neon,+fp-armv8",          false}},
};
/* clang-format on */
enum { NROWS = sizeof rows / sizeof *rows };

/* The row of this machine's best level; -1 if it has none of them. */
static int host_row(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
            __builtin_cpu_supports("bmi2");
  bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl");
  return v4 ? 2 : v3 ? 1 : v2 ? 0 : -1;
#elif defined(__aarch64__)
  return 3;
#else
  return -1;
#endif
}

static bool runs_here(int row, int host) {
  return host >= 0 && (row == host || (row < host && rows[host].target.isa <= CPU_AVX512));
}

HdStatus hdcpu_target(const char *name, Arena *a, HdError *err, CpuTarget *out) {
  (void)a;
  int host = host_row(), found = -1;
  if (!name || !strcmp(name, "host")) {
    if (host < 0)
      return hdb_fail(err, HD_ERR_TARGET, "host",
                      "this machine has none of the levels x86-64-v2, x86-64-v3, "
                      "x86-64-v4, aarch64");
    found = host;
  }
  for (int i = 0; i < NROWS && found < 0; i++)
    if (!strcmp(name, rows[i].name)) found = i;
  if (found < 0) return hdb_fail(err, HD_ERR_TARGET, name, "wanted host, x86-64-v2, x86-64-v3, x86-64-v4 or aarch64");
  *out = rows[found].target;
  out->is_host = runs_here(found, host);
  return HD_OK;
}
