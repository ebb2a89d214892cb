/* tools/heddle/ptxas.c -- what kernels take of a GPU, by the CUDA toolkit's assembler where it is installed. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/heddle/cli.h"

extern char **environ;

/* In PATH, in the folder that CUDA_HOME names, or where the toolkit is usually installed; free it. */
static char *find_ptxas(void) {
  const char *path = getenv("PATH"), *home = getenv("CUDA_HOME");
  char all[8192], *save = NULL;
  snprintf(all, sizeof all, "%s:%s%s:/usr/local/cuda/bin", path ? path : "", home ? home : "", home ? "/bin" : "");
  for (char *dir = strtok_r(all, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
    char file[4096];
    snprintf(file, sizeof file, "%s/ptxas", dir);
    if (access(file, X_OK) == 0) return strdup(file);
  }
  return NULL;
}

/* Runs `argv` and reads what it prints on either stream; free it. NULL: it could not be run. */
static char *run(char *const argv[], bool *good) {
  int ends[2], status = 1;
  pid_t child;
  char *text = NULL;
  size_t n = 0, cap = 0;
  posix_spawn_file_actions_t actions;
  if (pipe2(ends, O_CLOEXEC)) return NULL;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  bool started = posix_spawn(&child, argv[0], &actions, NULL, argv, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  FILE *f = started ? fdopen(ends[0], "r") : NULL;
  if (!f) close(ends[0]);
  for (size_t got = 1; f && got;) {
    if (n + 1 >= cap) {
      char *more = realloc(text, cap = cap ? 2 * cap : 4096);
      if (!more) break;
      text = more;
    }
    n += got = fread(text + n, 1, cap - n - 1, f);
    text[n] = 0;
  }
  if (f) fclose(f);
  if (started && waitpid(child, &status, 0) < 0) status = 1;
  *good = started && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return text;
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

static bool write_file(const char *dir, char *path, size_t room, const char *data, size_t size) {
  snprintf(path, room, "%s/heddle-XXXXXX.ptx", dir && *dir ? dir : "/tmp");
  int fd = mkstemps(path, 4);
  if (fd < 0) return false;
  bool good = write(fd, data, size) == (ssize_t)size;
  return !close(fd) && good;
}

int cli_ptxas(const Cli *cli, const char *ptx, size_t size, const char *target) {
  char file[4096], arch[64], *said = NULL, *ptxas = find_ptxas();
  bool good = false;
  if (!ptxas) {
    return cli_fail(cli, HD_ERR_NOT_FOUND, "--stats",
                    "no ptxas in PATH, CUDA_HOME/bin or /usr/local/cuda/bin; it comes with the CUDA toolkit");
  }
  snprintf(arch, sizeof arch, "-arch=%s", target);
  if (!write_file(getenv("TMPDIR"), file, sizeof file, ptx, size)) {
    free(ptxas);
    return cli_fail(cli, HD_ERR_IO, file, "%s", strerror(errno));
  }
  char *argv[] = {ptxas, (char *)"-v", arch, file, (char *)"-o", (char *)"/dev/null", NULL};
  cli_progress_begin("assembling");
  said = run(argv, &good);
  cli_progress_end();
  unlink(file);
  int status = 0;
  if (good)
    show(said);
  else
    status = cli_fail(cli, HD_ERR_COMPILE, "--stats", "%s: %.*s", ptxas, said ? (int)strcspn(said, "\n") : 0,
                      said ? said : "");
  free(said);
  free(ptxas);
  return status;
}
