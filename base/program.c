/* base/program.c -- other programs, by posix_spawn. */
#include "base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool may_be_run(const char *path) {
  struct stat st;
  return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool hdb_program_find(const char *name, const char *folders, char *path, size_t size) {
  const char *dir = strchr(name, '/') ? "" : folders;
  while (dir) {
    size_t n = strcspn(dir, ":");
    int len = *dir ? snprintf(path, size, "%.*s/%s", (int)n, dir, name) : snprintf(path, size, "%s", name);
    if (len > 0 && (size_t)len < size && may_be_run(path)) return true;
    dir = dir[n] ? dir + n + 1 : NULL;
  }
  *path = 0;
  return false;
}

/* Until the other end is closed; what has no room is read and dropped, or the program would wait for us. */
static void read_all(int fd, char *said, size_t size) {
  char rest[512];
  size_t n = 0;
  for (ssize_t got = 1; got > 0 || (got < 0 && errno == EINTR);) {
    bool room = n + 1 < size;
    got = room ? read(fd, said + n, size - 1 - n) : read(fd, rest, sizeof rest);
    if (room && got > 0) said[n += (size_t)got] = 0;
  }
}

int hdb_program_run(char *const argv[], char *said, size_t size) {
  int ends[2], status = -1;
  pid_t child;
  posix_spawn_file_actions_t actions;
  *said = 0;
  if (pipe2(ends, O_CLOEXEC)) return -1;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  bool started = posix_spawn(&child, argv[0], &actions, NULL, argv, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (started) read_all(ends[0], said, size);
  close(ends[0]);
  while (started && waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return started && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool write_all(int fd, const char *data, size_t n) {
  while (n) {
    ssize_t done = write(fd, data, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    data += done;
    n -= (size_t)done;
  }
  return true;
}

HdStatus hdb_program_file(const void *data, size_t n, char *path, size_t size, HdError *err) {
  const char *dir = getenv("TMPDIR");
  int len = snprintf(path, size, "%s/heddle-XXXXXX", dir && *dir ? dir : "/tmp");
  if (len < 0 || (size_t)len >= size) return hdb_fail(err, HD_ERR_IO, "TMPDIR", "its name is too long");
  int fd = mkostemp(path, O_CLOEXEC);
  bool good = fd >= 0 && write_all(fd, data, n);
  int why = errno;
  if (fd >= 0 && close(fd) && good) good = false, why = errno;
  if (good) return HD_OK;
  if (fd >= 0) unlink(path);
  return hdb_fail(err, HD_ERR_IO, "", "%s could not be written: %s", path, strerror(why));
}
