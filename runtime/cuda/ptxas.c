/* runtime/cuda/ptxas.c -- the CUDA toolkit's assembler, as a program of its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/program.h"
#include "runtime/cuda/cuda_device.h"

bool hdcu_ptxas_find(const char *name, char *path, size_t path_size, char *id, size_t id_size) {
  struct stat st;
  if (!hdb_program_find(name, getenv("PATH"), path, path_size) || stat(path, &st) != 0) return false;
  snprintf(id, id_size, "%s:%lld:%lld", path, (long long)st.st_size, (long long)st.st_mtime);
  return true;
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

static HdStatus assemble(const char *path, const char *target, const char *in, const char *out, HdError *err) {
  char arch[32], said[400];
  snprintf(arch, sizeof arch, "-arch=%s", target);
  char *argv[] = {(char *)path, arch, (char *)in, (char *)"-o", (char *)out, NULL};
  int status = hdb_program_run(argv, said, sizeof said);
  if (status == 0) return HD_OK;
  said[strcspn(said, "\n")] = 0;
  if (status < 0) return hdb_fail(err, HD_ERR_SYSTEM, "ptxas", "%s could not be run to its end", path);
  return hdb_fail(err, HD_ERR_COMPILE, "ptxas", "status %d: %s", status, said);
}

HdStatus hdcu_ptxas_run(const char *path, const char *target, const char *ptx, size_t size, const HdAllocator *mem,
                        HdError *err, void **out, size_t *out_size) {
  char in[512], made[512];
  HD_TRY(hdb_program_file(ptx, size, in, sizeof in, err));
  HdStatus status = hdb_program_file(NULL, 0, made, sizeof made, err);
  if (status == HD_OK) {
    status = assemble(path, target, in, made, err);
    int result = status == HD_OK ? open(made, O_RDONLY | O_CLOEXEC) : -1; /* it may have put another file there */
    if (status == HD_OK) status = read_all(result, mem, err, out, out_size);
    if (result >= 0) close(result);
    unlink(made);
  }
  unlink(in);
  return status;
}
