/* runtime/cuda/ptxas.c -- the CUDA toolkit's assembler, as a program of its own. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/cuda/cuda_device.h"

extern char **environ;

/* --- finding it --- */

static bool is_program(const char *path, char *id, size_t size) {
  struct stat st;
  if (access(path, X_OK) != 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return false;
  snprintf(id, size, "%s:%lld:%lld", path, (long long)st.st_size, (long long)st.st_mtime);
  return true;
}

bool hdcu_ptxas_find(const char *name, char *path, size_t path_size, char *id, size_t id_size) {
  const char *dir = strchr(name, '/') ? "" : getenv("PATH");
  while (dir) {
    size_t n = strcspn(dir, ":");
    int len = *dir ? snprintf(path, path_size, "%.*s/%s", (int)n, dir, name) : snprintf(path, path_size, "%s", name);
    if (len > 0 && (size_t)len < path_size && is_program(path, id, id_size)) return true;
    dir = dir[n] ? dir + n + 1 : NULL;
  }
  *path = 0;
  return false;
}

/* --- running it --- */

/* The status of the program; what it prints goes to `said`, as far as there is room. -1: it could not be run. */
static int run(char *const argv[], char *said, size_t size) {
  int ends[2], status = -1;
  pid_t child;
  size_t n = 0;
  posix_spawn_file_actions_t actions;
  *said = 0;
  if (pipe2(ends, O_CLOEXEC)) return -1;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  bool started = posix_spawn(&child, argv[0], &actions, NULL, argv, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char rest[512];
  for (ssize_t got = 1; started && got > 0;) {
    bool room = n + 1 < size;
    got = room ? read(ends[0], said + n, size - 1 - n) : read(ends[0], rest, sizeof rest);
    if (room && got > 0) said[n += (size_t)got] = 0;
  }
  close(ends[0]);
  while (started && waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return started && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static HdStatus write_all(int fd, const char *data, size_t size, HdError *err) {
  for (size_t done = 0; done < size;) {
    ssize_t n = write(fd, data + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return hdb_fail(err, HD_ERR_IO, "ptxas", "its input could not be written: %s", strerror(errno));
    done += (size_t)n;
  }
  return HD_OK;
}

static HdStatus read_all(int fd, const HdAllocator *mem, HdError *err, void **out, size_t *size) {
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0 || st.st_size <= 0)
    return hdb_fail(err, HD_ERR_COMPILE, "ptxas", "it wrote nothing");
  size_t n = (size_t)st.st_size;
  char *data = mem->resize(mem->user, NULL, 0, n);
  if (!data) return hdb_fail(err, HD_ERR_NOMEM, "ptxas", "%zu bytes of machine code", n);
  for (size_t done = 0; done < n;) {
    ssize_t got = pread(fd, data + done, n - done, (off_t)done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      mem->resize(mem->user, data, n, 0);
      return hdb_fail(err, HD_ERR_IO, "ptxas", "its output could not be read: %s", strerror(errno));
    }
    done += (size_t)got;
  }
  *out = data;
  *size = n;
  return HD_OK;
}

/* A file that is open and can be named until it is unlinked. */
static int open_file(char *path, size_t size) {
  const char *dir = getenv("TMPDIR");
  int n = snprintf(path, size, "%s/heddle-XXXXXX", dir && *dir ? dir : "/tmp");
  return n > 0 && (size_t)n < size ? mkostemp(path, O_CLOEXEC) : -1;
}

static HdStatus assemble(const char *path, const char *target, const char *in, const char *out, HdError *err) {
  char arch[32], said[400];
  snprintf(arch, sizeof arch, "-arch=%s", target);
  char *argv[] = {(char *)path, arch, (char *)in, (char *)"-o", (char *)out, NULL};
  int status = run(argv, said, sizeof said);
  if (status == 0) return HD_OK;
  said[strcspn(said, "\n")] = 0;
  if (status < 0) return hdb_fail(err, HD_ERR_SYSTEM, "ptxas", "%s could not be run to its end", path);
  return hdb_fail(err, HD_ERR_COMPILE, "ptxas", "status %d: %s", status, said);
}

HdStatus hdcu_ptxas_run(const char *path, const char *target, const char *ptx, size_t size, const HdAllocator *mem,
                        HdError *err, void **out, size_t *out_size) {
  char in[512], made[512];
  int from = open_file(in, sizeof in), to = open_file(made, sizeof made);
  HdStatus status = HD_OK;
  if (from < 0 || to < 0) status = hdb_fail(err, HD_ERR_IO, "ptxas", "no file for it: %s", strerror(errno));
  if (status == HD_OK) status = write_all(from, ptx, size, err);
  if (status == HD_OK) status = assemble(path, target, in, made, err);
  int result = status == HD_OK ? open(made, O_RDONLY | O_CLOEXEC) : -1; /* it may have put another file there */
  if (status == HD_OK) status = read_all(result, mem, err, out, out_size);
  for (int i = 0; i < 3; i++) {
    int fd = i == 0 ? from : i == 1 ? to : result;
    if (fd >= 0) close(fd);
  }
  if (from >= 0) unlink(in);
  if (to >= 0) unlink(made);
  return status;
}
