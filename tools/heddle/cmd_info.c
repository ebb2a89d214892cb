/* tools/heddle/cmd_info.c -- heddle info: what there is on this machine, and why what is missing is missing. */
#include <inttypes.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/llvm/llvm_door.h"
#include "backends/nvptx/nvptx.h"
#include "tools/heddle/cli.h"

static const CliOption options[] = {CLI_CONTEXT_OPTIONS, {0}};

static void show_llvm(void) {
  HdError error;
  const char *path = NULL, *version;
  hdb_error_clear(&error);
  if (hdllvm_open(&error) == HD_OK && (version = hdllvm_version(&path))) {
    printf("llvm     %s (%s)\n", version, path ? path : "?");
  } else {
    printf("llvm     none: %s; %s\n", error.detail, error.remedy ? error.remedy : "");
  }
}

static void show_devices(HdContext *ctx) {
  for (int32_t i = 0; i < hd_device_count(ctx); i++) {
    HdDevice device;
    HdDeviceInfo info;
    if (hd_device_at(ctx, i, &device) != HD_OK || hd_device_info(ctx, device, &info) != HD_OK) continue;
    printf("device   %-10s %s", info.name, info.text);
    if (*info.target) printf("; target %s", info.target);
    if (info.threads > 1) printf(", %d threads", info.threads);
    if (*info.uuid) printf(", %s", info.uuid);
    printf("\n");
  }
  HdDevice gpu;
  if (hd_device_find(ctx, "cuda:0", &gpu) == HD_OK) return;
  const HdError *e = hd_context_error(ctx);
  printf("device   cuda       none: %s; %s\n", e->detail, e->remedy);
}

static void show_targets(void) {
  static const char *const names[] = {"host", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"};
  Arena arena;
  jmp_buf jump;
  CpuTarget host, t;
  HdError error;
  hdb_arena_init(&arena, &hdb_system_allocator);
  HDB_GUARD(&arena, jump) {
    hdb_error_clear(&error);
    if (hdcpu_target("host", &arena, &error, &host) != HD_OK) {
      printf("target   none: %s\n", error.detail);
    } else {
      for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (hdcpu_target(names[i], &arena, &error, &t) != HD_OK) continue;
        bool runs = t.is_host || (strcmp(t.triple, host.triple) == 0 && t.isa <= host.isa);
        printf("target   %-10s %s; %s\n", names[i], t.cpu,
               runs ? "runs here" : "objects only: this machine cannot run it");
      }
    }
  }
  else { printf("target   none: no memory\n"); }
  hdb_arena_free(&arena);
  for (uint32_t i = 0; hdptx_target_name(i); i++) printf("target   %-10s PTX only\n", hdptx_target_name(i));
}

typedef struct Sum {
  uint64_t entries, bytes;
} Sum;

static bool add(void *user, const HdCacheEntry *e) {
  Sum *s = user;
  s->entries++;
  s->bytes += e->size;
  return true;
}

static void show_cache(HdContext *ctx) {
  Sum sum = {0, 0};
  const char *dir = hd_cache_dir(ctx);
  if (!*dir)
    printf("cache    none: it is switched off, or there is no folder for it (HEDDLE_CACHE, XDG_CACHE_HOME and HOME are "
           "unset)\n");
  else if (hd_cache_list(ctx, add, &sum) != HD_OK)
    printf("cache    %s: %s\n", dir, hd_context_error(ctx)->detail);
  else
    printf("cache    %s: %" PRIu64 " kernels, %" PRIu64 " bytes\n", dir, sum.entries, sum.bytes);
}

static int info(Cli *cli) {
  HdContext *ctx;
  if (cli->noperands) return cli_fail(cli, HD_ERR_ARG, cli->operands[0], "nothing was wanted");
  if (!cli_context(cli, false, &ctx)) return 1;
  printf("heddle   %s\n", hd_version());
  show_llvm();
  show_devices(ctx);
  show_targets();
  show_cache(ctx);
  hd_context_free(ctx);
  return 0;
}

const CliCommand cmd_info = {
    "info", "", "devices, targets, versions and the cache, with the reason for what is missing", NULL, options, info};
