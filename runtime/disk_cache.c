/* runtime/disk_cache.c -- entries as files: reading them without trust, writing them so that none is ever seen half done. */
#include "runtime/disk_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "runtime/hash.h"

/* magic, format, kind, size of the rest, checksum of all that stands after it and before */
static const char magic[8] = {'H', 'E', 'D', 'D', 'L', 'E', '\x1a', '\n'};
enum { FORMAT = 1, HEADER = 32, CHECKSUM_AT = 24 };
enum { NAME_MAX_LEN = 96, SWEEP_EVERY = 64, KEEP_SECONDS = 60 * 24 * 3600, KEEP_TEMP_SECONDS = 24 * 3600 };
#define LARGEST_FILE ((int64_t)256 << 20)

static const char *const suffix[] = {"", ".code", ".source", ".cubin"};

static void warn_once(RtCache *c, const char *what, const char *path, int error) {
  if (c->warned) return;
  c->warned = true;
  if (!c->warn) return;
  char text[600];
  snprintf(text, sizeof text, "the cache cannot be used: %s '%.300s': %s; kernels are compiled again in each run", what,
           path, strerror(error));
  c->warn(c->user, text);
}

/* --- life --- */

HdStatus hdrt_cache_open(RtCache *c, const HdAllocator *mem, const char *dir, HdError *err) {
  memset(c, 0, sizeof *c);
  c->mem = mem;
  c->limit = RT_CACHE_LIMIT;
  if (!dir || !*dir) return HD_OK;
  size_t size = strlen(dir) + 1;
  c->dir = mem->resize(mem->user, NULL, 0, size);
  if (!c->dir) return hdb_fail(err, HD_ERR_NOMEM, "", "%zu bytes for the cache", size);
  memcpy(c->dir, dir, size);
  c->dir_size = size;
  return HD_OK;
}

void hdrt_cache_close(RtCache *c) {
  if (c->dir) c->mem->resize(c->mem->user, c->dir, c->dir_size, 0);
  c->dir = NULL;
}

/* --- reading --- */

static int open_dir(const RtCache *c) { return open(c->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

/* Code of another user, or code that others may have changed, is not run. */
static bool is_ours(const struct stat *st) {
  return S_ISREG(st->st_mode) && (st->st_uid == geteuid() || st->st_uid == 0) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static bool read_all(int fd, uint8_t *to, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t n = read(fd, to + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

static uint64_t checksum_of(const uint8_t *data, size_t size) {
  return hdrt_hash64(data + HEADER, size - HEADER) ^ hdrt_hash64(data, CHECKSUM_AT);
}

/* Take the file apart; false if it is not whole. */
static bool parse_file(RtEntryFile *f) {
  if (f->size < HEADER || memcmp(f->data, magic, sizeof magic) != 0) return false;
  RtReader r = {f->data + sizeof magic, f->data + f->size, false};
  if (hdrt_get_u32(&r) != FORMAT) return false;
  f->kind = (RtCacheKind)hdrt_get_u32(&r);
  if (hdrt_get_u64(&r) != f->size - HEADER) return false;
  if (hdrt_get_u64(&r) != checksum_of(f->data, f->size)) return false;
  f->fields = hdrt_get_str(&r);
  f->kernel = hdrt_get_str(&r);
  f->target = hdrt_get_str(&r);
  f->payload = r;
  return !r.failed;
}

/* *found says whether the file is there, is ours and is whole. */
static HdStatus read_file(RtCache *c, int dir, const char *name, bool touch, HdError *err, bool *found,
                          RtEntryFile *out) {
  *found = false;
  int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return HD_OK;
  struct stat st;
  if (fstat(fd, &st) != 0 || !is_ours(&st) || st.st_size < HEADER || st.st_size > LARGEST_FILE) {
    close(fd);
    return HD_OK;
  }
  RtEntryFile f = {.size = (size_t)st.st_size};
  f.data = c->mem->resize(c->mem->user, NULL, 0, f.size);
  if (!f.data) {
    close(fd);
    return hdb_fail(err, HD_ERR_NOMEM, "", "%zu bytes for an entry of the cache", f.size);
  }
  *found = read_all(fd, f.data, f.size) && parse_file(&f);
  if (*found && touch) futimens(fd, NULL); /* its last use; on a read-only disk nothing is lost */
  close(fd);
  if (*found) {
    *out = f;
  } else {
    hdrt_entry_free(c, &f);
  }
  return HD_OK;
}

void hdrt_entry_free(RtCache *c, RtEntryFile *f) {
  if (f->data) c->mem->resize(c->mem->user, f->data, f->size, 0);
  f->data = NULL;
}

static void entry_name(RtCacheKind kind, const char *fields, char out[NAME_MAX_LEN]) {
  char hex[33];
  hdrt_hash_hex(fields, strlen(fields), hex);
  snprintf(out, NAME_MAX_LEN, "hd-%s%s", hex, suffix[kind]);
}

HdStatus hdrt_cache_get(RtCache *c, RtCacheKind kind, const char *fields, HdError *err, bool *found, RtEntryFile *out) {
  *found = false;
  if (!c->dir) return HD_OK;
  int dir = open_dir(c);
  if (dir < 0) return HD_OK;
  char name[NAME_MAX_LEN];
  entry_name(kind, fields, name);
  HdStatus status = read_file(c, dir, name, true, err, found, out);
  close(dir);
  if (*found && (out->kind != kind || strcmp(out->fields, fields) != 0)) {
    hdrt_entry_free(c, out);
    *found = false;
  }
  return status;
}

/* --- writing --- */

/* mkdir -p; the last folder is for this user alone. */
static bool make_dir(RtCache *c) {
  if (c->made || mkdir(c->dir, 0700) == 0 || errno == EEXIST) return c->made = true;
  if (errno != ENOENT) return false;
  for (char *s = c->dir + 1; (s = strchr(s, '/')) != NULL; s++) {
    *s = 0;
    bool ok = mkdir(c->dir, 0700) == 0 || errno == EEXIST;
    *s = '/';
    if (!ok) return false;
  }
  return c->made = mkdir(c->dir, 0700) == 0 || errno == EEXIST;
}

static bool write_all(int fd, const uint8_t *data, size_t size) {
  while (size) {
    ssize_t n = write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= (size_t)n;
  }
  return true;
}

static bool write_file(RtCache *c, int dir, const char *name, const uint8_t *data, size_t size) {
  char temp[NAME_MAX_LEN + 48];
  snprintf(temp, sizeof temp, "%s.tmp-%ld-%u-%lld", name, (long)getpid(), c->serial++, (long long)time(NULL));
  int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  bool ok = write_all(fd, data, size);
  int error = errno;
  if (close(fd) != 0 && ok) {
    ok = false;
    error = errno;
  }
  if (ok && renameat(dir, temp, dir, name) != 0) {
    ok = false;
    error = errno;
  }
  if (!ok) unlinkat(dir, temp, 0);
  errno = error;
  return ok;
}

static void put_entry(RtWriter *w, RtCacheKind kind, const char *fields, const char *kernel, const char *target,
                      const void *payload, size_t size) {
  hdrt_put(w, magic, sizeof magic);
  hdrt_put_u32(w, FORMAT);
  hdrt_put_u32(w, kind);
  hdrt_put_u64(w, 0); /* the size and the checksum are put in when they are known */
  hdrt_put_u64(w, 0);
  hdrt_put_str(w, fields);
  hdrt_put_str(w, kernel);
  hdrt_put_str(w, target);
  hdrt_put(w, payload, size);
  if (w->failed) return;
  RtWriter at = {.data = w->data, .len = CHECKSUM_AT - 8, .cap = w->cap};
  hdrt_put_u64(&at, w->len - HEADER);
  hdrt_put_u64(&at, checksum_of(w->data, w->len));
}

static void sweep(RtCache *c, int dir);

HdStatus hdrt_cache_put(RtCache *c, RtCacheKind kind, const char *fields, const char *kernel, const char *target,
                        const void *payload, size_t size, HdError *err) {
  if (!c->dir) return HD_OK;
  RtWriter w = {.mem = c->mem};
  put_entry(&w, kind, fields, kernel, target, payload, size);
  if (w.failed) {
    hdrt_writer_free(&w);
    return hdb_fail(err, HD_ERR_NOMEM, "", "%zu bytes for an entry of the cache", size);
  }
  char name[NAME_MAX_LEN];
  entry_name(kind, fields, name);
  int dir = make_dir(c) ? open_dir(c) : -1;
  if (dir < 0) {
    warn_once(c, "folder", c->dir, errno);
  } else {
    if (!write_file(c, dir, name, w.data, w.len)) warn_once(c, "writing into", c->dir, errno);
    if (hdrt_hash64(name, strlen(name)) % SWEEP_EVERY == 0) sweep(c, dir);
    close(dir);
  }
  hdrt_writer_free(&w);
  return HD_OK;
}

static const char left[] = ".ptx";

bool hdrt_cache_leave(RtCache *c, const char *text, size_t size, char *path, size_t path_size) {
  char hex[33], name[NAME_MAX_LEN];
  if (!c->dir) return false;
  hdrt_hash_hex(text, size, hex);
  snprintf(name, sizeof name, "hd-%s%s", hex, left);
  if ((size_t)snprintf(path, path_size, "%s/%s", c->dir, name) >= path_size) return false;
  int dir = make_dir(c) ? open_dir(c) : -1;
  if (dir < 0) return false;
  bool ok = write_file(c, dir, name, (const uint8_t *)text, size);
  close(dir);
  return ok;
}

/* --- the folder as a whole --- */

typedef enum NameKind { FOREIGN, TEMPORARY, ENTRY } NameKind;

/* "hd-", 32 digits, a suffix of ours, and ".tmp-.." while it is being written. What was left to be looked at goes as what is
 * left of a writer that died. */
static NameKind name_kind(const char *name, RtCacheKind *kind, char key[33]) {
  if (strncmp(name, "hd-", 3) != 0 || strspn(name + 3, "0123456789abcdef") != 32) return FOREIGN;
  memcpy(key, name + 3, 32);
  key[32] = 0;
  const char *rest = name + 35;
  if (strncmp(rest, left, sizeof left - 1) == 0) return TEMPORARY;
  for (*kind = RT_CACHE_CODE; *kind <= RT_CACHE_CUBIN; (*kind)++) {
    size_t n = strlen(suffix[*kind]);
    if (strncmp(rest, suffix[*kind], n) != 0) continue;
    if (rest[n] == 0) return ENTRY;
    if (strncmp(rest + n, ".tmp-", 5) == 0) return TEMPORARY;
  }
  return FOREIGN;
}

/* The folder's stream, which owns its descriptor; NULL with errno. */
static DIR *list_dir(int dir) {
  int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return NULL;
  DIR *d = fdopendir(again);
  if (!d) close(again);
  return d;
}

/* Calls visit(user, ..) for each file of ours. */
static void each_file(int dir, void (*visit)(void *user, int dir, const char *name, NameKind is, const struct stat *st),
                      void *user) {
  DIR *d = list_dir(dir);
  if (!d) return;
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    char key[33];
    RtCacheKind kind;
    struct stat st;
    NameKind is = name_kind(e->d_name, &kind, key);
    if (is != FOREIGN && fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) visit(user, dir, e->d_name, is, &st);
  }
  closedir(d);
}

typedef struct Used {
  int64_t when; /* ns */
  uint64_t size;
} Used;

typedef struct Sweep {
  time_t now;
  Used *list; /* room for cap entries */
  size_t n, cap;
  uint64_t total;
  int64_t older_than; /* what was used last before this goes, in the second round */
} Sweep;

static int64_t used_ns(const struct stat *st) { return st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec; }

/* Remove what nobody has used for long, and what dead writers left; count the rest. */
static void sweep_old(void *user, int dir, const char *name, NameKind is, const struct stat *st) {
  Sweep *s = user;
  if (s->now - st->st_mtime > (is == ENTRY ? KEEP_SECONDS : KEEP_TEMP_SECONDS)) {
    unlinkat(dir, name, 0);
    return;
  }
  s->n += is == ENTRY;
  s->total += (uint64_t)st->st_size;
}

static void list_use(void *user, int dir, const char *name, NameKind is, const struct stat *st) {
  Sweep *s = user;
  (void)dir, (void)name;
  if (is == ENTRY && s->n < s->cap) s->list[s->n++] = (Used){used_ns(st), (uint64_t)st->st_size};
}

static void sweep_unused(void *user, int dir, const char *name, NameKind is, const struct stat *st) {
  const Sweep *s = user;
  if (is == ENTRY && used_ns(st) < s->older_than) unlinkat(dir, name, 0);
}

static int by_use(const void *a, const void *b) {
  const Used *x = a, *y = b;
  return (x->when > y->when) - (x->when < y->when);
}

/* Several processes may do this at once. Down to three quarters of the limit, so that not every entry sweeps. */
static void sweep(RtCache *c, int dir) {
  Sweep s = {.now = time(NULL)};
  each_file(dir, sweep_old, &s);
  if (s.total <= c->limit || s.n == 0) return;
  uint64_t too_much = s.total - c->limit / 4 * 3;
  s.cap = s.n;
  s.list = c->mem->resize(c->mem->user, NULL, 0, s.cap * sizeof *s.list);
  if (!s.list) return; /* another time */
  s.n = 0;
  each_file(dir, list_use, &s);
  qsort(s.list, s.n, sizeof *s.list, by_use);
  for (size_t i = 0; i < s.n && too_much; i++) {
    s.older_than = s.list[i].when + 1;
    too_much -= s.list[i].size < too_much ? s.list[i].size : too_much;
  }
  each_file(dir, sweep_unused, &s);
  c->mem->resize(c->mem->user, s.list, s.cap * sizeof *s.list, 0);
}

static HdStatus open_listing(RtCache *c, HdError *err, int *dir, DIR **d) {
  *d = NULL;
  *dir = open_dir(c);
  if (*dir < 0) {
    if (errno == ENOENT) return HD_OK;
    return hdb_fail(err, HD_ERR_IO, "", "the cache '%.300s' could not be read: %s", c->dir, strerror(errno));
  }
  *d = list_dir(*dir);
  if (*d) return HD_OK;
  int error = errno;
  close(*dir);
  return hdb_fail(err, HD_ERR_IO, "", "the cache '%.300s' could not be read: %s", c->dir, strerror(error));
}

static HdStatus visit_entry(RtCache *c, int dir, const char *name, const char *key,
                            bool (*visit)(void *, const RtCacheRow *), void *user, HdError *err, bool *go_on) {
  struct stat st;
  if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return HD_OK; /* another process removed it */
  RtCacheRow row = {
      .kernel = "(damaged)", .target = "", .fields = "", .size = (uint64_t)st.st_size, .used = st.st_mtime};
  memcpy(row.key, key, sizeof row.key);
  RtEntryFile f = {.data = NULL};
  bool found;
  HD_TRY(read_file(c, dir, name, false, err, &found, &f));
  if (found) {
    row.kernel = f.kernel;
    row.target = f.target;
    row.fields = f.fields;
  }
  *go_on = visit(user, &row);
  if (found) hdrt_entry_free(c, &f);
  return HD_OK;
}

HdStatus hdrt_cache_list(RtCache *c, bool (*visit)(void *user, const RtCacheRow *row), void *user, HdError *err) {
  if (!c->dir) return HD_OK;
  int dir;
  DIR *d;
  HD_TRY(open_listing(c, err, &dir, &d));
  if (!d) return HD_OK;
  HdStatus status = HD_OK;
  bool go_on = true;
  for (struct dirent *e; status == HD_OK && go_on && (e = readdir(d)) != NULL;) {
    char key[33];
    RtCacheKind kind;
    if (name_kind(e->d_name, &kind, key) == ENTRY && kind == RT_CACHE_CODE)
      status = visit_entry(c, dir, e->d_name, key, visit, user, err, &go_on);
  }
  closedir(d);
  close(dir);
  return status;
}

/* Why a get would not take this file; NULL if it would. */
static HdStatus check_file(RtCache *c, int dir, const char *name, RtCacheKind kind, HdError *err, const char **why) {
  struct stat st;
  RtEntryFile f = {.data = NULL};
  bool found;
  char named[NAME_MAX_LEN];
  *why = NULL;
  if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return HD_OK; /* another process removed it */
  HD_TRY(read_file(c, dir, name, false, err, &found, &f));
  if (!found) {
    *why = !is_ours(&st) ? "it is another user's, or others may write to it"
                         : "it is damaged: its size or its checksum is wrong";
    return HD_OK;
  }
  entry_name(kind, f.fields, named);
  if (f.kind != kind || strcmp(named, name) != 0) *why = "it has the name of another entry";
  hdrt_entry_free(c, &f);
  return HD_OK;
}

HdStatus hdrt_cache_verify(RtCache *c, bool (*bad)(void *user, const char *file, const char *why), void *user,
                           int64_t *whole, HdError *err) {
  *whole = 0;
  if (!c->dir) return HD_OK;
  int dir;
  DIR *d;
  HD_TRY(open_listing(c, err, &dir, &d));
  if (!d) return HD_OK;
  HdStatus status = HD_OK;
  bool go_on = true;
  for (struct dirent *e; status == HD_OK && go_on && (e = readdir(d)) != NULL;) {
    char key[33];
    RtCacheKind kind;
    const char *why;
    if (name_kind(e->d_name, &kind, key) != ENTRY) continue;
    status = check_file(c, dir, e->d_name, kind, err, &why);
    if (status == HD_OK && why)
      go_on = bad(user, e->d_name, why);
    else if (status == HD_OK)
      ++*whole;
  }
  closedir(d);
  close(dir);
  return status;
}

HdStatus hdrt_cache_clear(RtCache *c, int64_t *removed, HdError *err) {
  *removed = 0;
  if (!c->dir) return HD_OK;
  int dir;
  DIR *d;
  HD_TRY(open_listing(c, err, &dir, &d));
  if (!d) return HD_OK;
  HdStatus status = HD_OK;
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    char key[33];
    RtCacheKind kind;
    NameKind is = name_kind(e->d_name, &kind, key);
    if (is == FOREIGN) continue;
    if (unlinkat(dir, e->d_name, 0) == 0) {
      *removed += is == ENTRY && kind == RT_CACHE_CODE;
    } else if (errno != ENOENT) {
      status =
          hdb_fail(err, HD_ERR_IO, "", "'%.200s/%.80s' could not be removed: %s", c->dir, e->d_name, strerror(errno));
    }
  }
  closedir(d);
  close(dir);
  return status;
}
