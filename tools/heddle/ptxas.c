/* tools/heddle/ptxas.c -- what kernels take of a GPU, by the CUDA toolkit's assembler where it is installed. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"
#include "tools/heddle/cli.h"

/* In PATH, in the folder that CUDA_HOME names, or where the toolkit is usually installed. */
static bool find_ptxas(char *path, size_t size) {
  const char *folders = getenv("PATH"), *home = getenv("CUDA_HOME");
  char all[8192];
  snprintf(all, sizeof all, "%s:%s%s:/usr/local/cuda/bin", folders ? folders : "", home ? home : "",
           home ? "/bin" : "");
  return hdb_program_find("ptxas", all, path, size);
}

/* The number in front of `word` in a line; 0 if the line has none. */
static long before(const char *line, const char *word) {
  const char *at = strstr(line, word);
  while (at && at > line && at[-1] >= '0' && at[-1] <= '9') at--;
  return at ? strtol(at, NULL, 10) : 0;
}

/* ptxas names an entry, then gives its properties in two lines. */
static void show(char *said) {
  long stack = 0, stores = 0, loads = 0;
  char name[128] = "", *save = NULL;
  fprintf(stderr, "%-32s %9s %9s %12s %11s\n", "ptxas -v", "registers", "stack", "spill stores", "spill loads");
  for (char *line = strtok_r(said, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    const char *entry = strstr(line, "Compiling entry function '");
    if (entry) snprintf(name, sizeof name, "%.*s", (int)strcspn(entry + 26, "'"), entry + 26);
    if (strstr(line, "bytes stack frame")) {
      stack = before(line, " bytes stack frame");
      stores = before(line, " bytes spill stores");
      loads = before(line, " bytes spill loads");
    }
    if (strstr(line, " registers"))
      fprintf(stderr, "%-32s %9ld %9ld %12ld %11ld\n", name, before(line, " registers"), stack, stores, loads);
  }
}

int cli_ptxas(const Cli *cli, const char *ptx, size_t size, const char *target) {
  enum { ROOM = 1 << 20 };
  char file[4096], ptxas[4096], arch[64], *said;
  HdError err;
  if (!find_ptxas(ptxas, sizeof ptxas)) {
    return cli_fail(cli, HD_ERR_NOT_FOUND, "--stats",
                    "no ptxas in PATH, CUDA_HOME/bin or /usr/local/cuda/bin; it comes with the CUDA toolkit");
  }
  if (hdb_program_file(ptx, size, file, sizeof file, &err) != HD_OK)
    return cli_fail(cli, HD_ERR_IO, "--stats", "%s", err.detail);
  snprintf(arch, sizeof arch, "-arch=%s", target);
  char *argv[] = {ptxas, (char *)"-v", arch, file, (char *)"-o", (char *)"/dev/null", NULL};
  said = malloc(ROOM);
  cli_progress_begin("assembling");
  int status = said ? hdb_program_run(argv, said, ROOM) : -1;
  cli_progress_end();
  unlink(file);
  if (status == 0)
    show(said);
  else
    status = cli_fail(cli, HD_ERR_COMPILE, "--stats", "%s: %.*s", ptxas, said ? (int)strcspn(said, "\n") : 0,
                      said ? said : "");
  free(said);
  return status;
}
