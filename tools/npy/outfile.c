/* tools/npy/outfile.c -- writes beside the target, then renames over it. */
#include "tools/npy/outfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static HdStatus fail(OutFile *out, const char *path, const char *doing, char why[OUT_WHY]) {
  int code = errno;
  const char *quote = path ? "'" : "";
  snprintf(why, OUT_WHY, "%s%s%s: %s: %s", quote, path ? path : "standard output", quote, doing,
           strerror(code ? code : EIO));
  out_abort(out);
  return code == ENOMEM ? HD_ERR_NOMEM : HD_ERR_IO;
}

/* The mode that open(path, O_CREAT, 0666) would give, or that the file there has. */
static mode_t mode_for(const char *path) {
  struct stat st;
  if (stat(path, &st) == 0) return st.st_mode & 07777;
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

/* A link is followed, so that what it points to is replaced, and not the link. */
static char *target_of(const char *path) {
  char *real = realpath(path, NULL);
  return real ? real : strdup(path);
}

HdStatus out_begin(const char *path, OutFile *out, char why[OUT_WHY]) {
  struct stat st;
  memset(out, 0, sizeof *out);
  errno = 0;
  if (strcmp(path, "-") == 0) {
    out->file = stdout;
    return HD_OK;
  }
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
    errno = EISDIR;
    return fail(out, path, "cannot write", why);
  }
  out->path = target_of(path);
  if (!out->path) return fail(out, path, "cannot write", why);
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
    out->file = fopen(path, "wb");
    return out->file ? HD_OK : fail(out, path, "cannot write", why);
  }
  if (access(out->path, F_OK) == 0 && access(out->path, W_OK) != 0) return fail(out, path, "cannot write", why);
  errno = 0;
  size_t size = strlen(out->path) + sizeof ".XXXXXX";
  char *temp = malloc(size);
  if (!temp) return fail(out, path, "cannot write", why);
  snprintf(temp, size, "%s.XXXXXX", out->path);
  int fd = mkstemp(temp);
  if (fd < 0) {
    free(temp);
    return fail(out, path, "cannot write", why);
  }
  out->temp = temp;
  (void)fchmod(fd, mode_for(out->path));
  out->file = fdopen(fd, "wb");
  if (!out->file) {
    close(fd);
    return fail(out, path, "cannot write", why);
  }
  return HD_OK;
}

HdStatus out_close(OutFile *out, char why[OUT_WHY]) {
  if (!out->file) return HD_OK;
  const char *path = out->path; /* NULL for standard output */
  errno = 0;
  int bad = fflush(out->file) | ferror(out->file);
  if (out->file == stdout) {
    out->file = NULL;
    return bad ? fail(out, path, "cannot write", why) : HD_OK;
  }
  bad |= fclose(out->file);
  out->file = NULL;
  return bad ? fail(out, path, "cannot write", why) : HD_OK;
}

HdStatus out_commit(OutFile *out, char why[OUT_WHY]) {
  HD_TRY(out_close(out, why));
  if (out->temp && rename(out->temp, out->path) != 0) return fail(out, out->path, "cannot rename into place", why);
  free(out->temp);
  out->temp = NULL;
  out_abort(out);
  return HD_OK;
}

void out_abort(OutFile *out) {
  if (out->file && out->file != stdout) fclose(out->file);
  if (out->temp) unlink(out->temp);
  free(out->temp);
  free(out->path);
  memset(out, 0, sizeof *out);
}
