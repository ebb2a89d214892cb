/* api/source_cache.c -- the cache's second tier: from the text of a module to its kernels, without the front end.
 *
 * The key holds the text's hash and everything else the front end sees; the kernel library is part of the build id.
 * Imported files are not known before the text is read, so the entry lists them with their hashes, and with the places
 * where the import would have found another file first; a hit counts only if all of them are still as they were.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/modules.h"
#include "runtime/hash.h"

/* --- the key --- */

/* Text of any content on one line. */
static void put_hashed(Buf *b, const char *name, const char *text, size_t size) {
  char hex[33];
  hdrt_hash_hex(text, size, hex);
  hdb_putf(b, "%s=%s\n", name, hex);
}

static const char *fields_of(const HdModule *m, Arena *scratch) {
  const HdModuleOptions *o = &m->options;
  Buf b;
  hdb_buf_init(&b, scratch);
  hdb_putf(&b, "tier=source\nbuild=%s\n", hdapi_build_id());
  put_hashed(&b, "name", m->name, strlen(m->name));
  put_hashed(&b, "text", m->text, m->size);
  hdb_putf(&b, "bounds=%d\nfast=%d\n", o->bounds, o->fast);
  for (int32_t i = 0; i < o->ndefines; i++) {
    put_hashed(&b, "define", o->defines[i].name, strlen(o->defines[i].name));
    put_hashed(&b, "value", o->defines[i].value, strlen(o->defines[i].value));
  }
  for (int32_t i = 0; i < o->npaths; i++) put_hashed(&b, "path", o->paths[i], strlen(o->paths[i]));
  return b.data;
}

/* --- files --- */

/* The hash of a file's content; "" if it cannot be read. */
static void hash_file(const char *path, Arena *scratch, char out[33]) {
  *out = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return;
  struct stat st;
  ArenaMark mark = hdb_mark(scratch);
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size < (1 << 28)) {
    size_t size = (size_t)st.st_size, done = 0;
    /* The arena may jump out: it must not do so while the file is open. */
    close(fd);
    char *text = hdb_alloc(scratch, size + 1);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    for (ssize_t n; fd >= 0 && done <= size && (n = read(fd, text + done, size + 1 - done)) > 0;) done += (size_t)n;
    hdrt_hash_hex(text, done, out);
  }
  if (fd >= 0) close(fd);
  hdb_reset(scratch, mark);
}

static const char *folder_of(const char *path, Arena *a) {
  const char *slash = strrchr(path, '/');
  return slash ? hdb_strndup(a, path, (size_t)(slash - path)) : ".";
}

typedef struct Deps {
  Arena *arena;
  const char **dirs, **paths;
  uint32_t ndirs, cap_dirs, npaths, cap_paths;
} Deps;

static void add_once(Arena *a, const char ***list, uint32_t *n, uint32_t *cap, const char *s) {
  for (uint32_t i = 0; i < *n; i++)
    if (strcmp((*list)[i], s) == 0) return;
  HDB_PUSH(a, *list, *n, *cap, s);
}

/* The files that were imported, and those which would have been if they had existed: the same name in each other folder
 * that an import may search. */
static void find_deps(const HdModule *m, Deps *d) {
  Arena *a = d->arena;
  add_once(a, &d->dirs, &d->ndirs, &d->cap_dirs, folder_of(m->name, a));
  for (int32_t i = 0; i < m->options.npaths; i++) add_once(a, &d->dirs, &d->ndirs, &d->cap_dirs, m->options.paths[i]);
  for (uint32_t i = 0; i < m->ir->nfiles; i++) {
    const char *path = m->ir->files[i];
    if (strcmp(path, m->name) == 0 || access(path, R_OK) != 0) continue; /* what is not on disk is the library's */
    add_once(a, &d->paths, &d->npaths, &d->cap_paths, path);
    add_once(a, &d->dirs, &d->ndirs, &d->cap_dirs, folder_of(path, a));
  }
  uint32_t nfound = d->npaths;
  for (uint32_t i = 0; i < nfound; i++) {
    for (uint32_t k = 0; k < d->ndirs; k++) {
      size_t n = strlen(d->dirs[k]);
      const char *path = d->paths[i], *rest;
      if (strncmp(path, d->dirs[k], n) == 0 && path[n] == '/')
        rest = path + n + 1;
      else if (strcmp(d->dirs[k], ".") == 0 && path[0] != '/')
        rest = path;
      else
        continue;
      for (uint32_t j = 0; j < d->ndirs; j++)
        add_once(a, &d->paths, &d->npaths, &d->cap_paths, hdb_printf(a, "%s/%s", d->dirs[j], rest));
    }
  }
}

/* --- writing --- */

static void put_module(RtWriter *w, const HdModule *m, const Deps *d, Arena *scratch) {
  hdrt_put_u32(w, d->npaths);
  for (uint32_t i = 0; i < d->npaths; i++) {
    char hex[33];
    hash_file(d->paths[i], scratch, hex);
    hdrt_put_str(w, d->paths[i]);
    hdrt_put_str(w, hex);
  }
  hdrt_put_u32(w, m->nstructs);
  for (uint32_t i = 0; i < m->nstructs; i++) {
    hdrt_put_str(w, m->structs[i].name);
    hdrt_put_u32(w, m->structs[i].size);
  }
  hdrt_put_u32(w, m->nkernels);
  for (uint32_t i = 0; i < m->nkernels; i++) {
    hdrt_put_signature(w, &m->kernels[i].sig);
    hdrt_put_str(w, m->kernels[i].ir);
  }
}

/* The writer's memory is freed by whoever guards, for hash_file may jump. */
typedef struct PutJob {
  HdModule *m;
  Arena *scratch;
  RtWriter w;
} PutJob;

static HdStatus put(void *job) {
  PutJob *j = job;
  Deps d = {.arena = j->scratch};
  find_deps(j->m, &d);
  put_module(&j->w, j->m, &d, j->scratch);
  HdContext *ctx = j->m->ctx;
  if (j->w.failed) return hdb_fail(&ctx->err, HD_ERR_NOMEM, "", "%zu bytes for an entry of the cache", j->w.len);
  const char *fields = fields_of(j->m, j->scratch);
  return hdrt_cache_put(&ctx->cache, RT_CACHE_SOURCE, fields, "", "", j->w.data, j->w.len, &ctx->err);
}

HdStatus hdapi_source_put(HdModule *m, Arena *scratch) {
  if (!m->ctx->cache.dir) return HD_OK;
  PutJob j = {m, scratch, {.mem = &m->ctx->mem}};
  HdStatus status = hdapi_guard(m->ctx, scratch, &m->arena, put, &j);
  hdrt_writer_free(&j.w);
  return status;
}

/* --- reading --- */

static bool deps_hold(RtReader *r, Arena *scratch) {
  uint32_t n = hdrt_get_u32(r);
  for (uint32_t i = 0; i < n && !r->failed; i++) {
    const char *path = hdrt_get_str(r), *then = hdrt_get_str(r);
    char now[33];
    if (r->failed) return false;
    hash_file(path, scratch, now);
    if (strcmp(now, then) != 0) return false;
  }
  return !r->failed;
}

/* Counts are bounded by what one entry takes at least, so that a damaged one cannot ask for the earth. */
static bool plausible(RtReader *r, uint32_t n, size_t least) {
  if (n > (size_t)(r->end - r->at) / least) r->failed = true;
  return !r->failed;
}

static void get_kernel(RtReader *r, Arena *a, ModKernel *k) {
  RtReader again = *r;
  RtSignature s;
  if (!hdrt_get_signature(r, NULL, 0, &s)) return;
  RtParam *params = HDB_NEW_N(a, RtParam, s.nparams + 1);
  hdrt_get_signature(&again, params, s.nparams, &s);
  s.kernel = hdb_strdup(a, s.kernel);
  for (uint32_t i = 0; i < s.nparams; i++) params[i].name = hdb_strdup(a, params[i].name);
  k->sig = s;
  const char *hex = hdrt_get_str(r);
  if (strlen(hex) != 32)
    r->failed = true;
  else
    memcpy(k->ir, hex, 33);
}

typedef struct GetJob {
  HdModule *m;
  Arena *scratch;
  RtEntryFile file;
  bool found;
} GetJob;

static HdStatus get(void *job) {
  GetJob *j = job;
  HdModule *m = j->m;
  HdContext *ctx = m->ctx;
  HD_TRY(hdrt_cache_get(&ctx->cache, RT_CACHE_SOURCE, fields_of(m, j->scratch), &ctx->err, &j->found, &j->file));
  if (!j->found) return HD_OK;
  RtReader r = j->file.payload;
  j->found = false;
  if (!deps_hold(&r, j->scratch)) return HD_OK;
  uint32_t nstructs = hdrt_get_u32(&r);
  if (!plausible(&r, nstructs, 9)) return HD_OK;
  m->structs = HDB_NEW_N(&m->arena, ModStruct, nstructs + 1);
  for (uint32_t i = 0; i < nstructs && !r.failed; i++) {
    m->structs[i].name = hdb_strdup(&m->arena, hdrt_get_str(&r));
    m->structs[i].size = hdrt_get_u32(&r);
  }
  uint32_t nkernels = hdrt_get_u32(&r);
  if (!plausible(&r, nkernels, 17)) return HD_OK;
  m->kernels = HDB_NEW_N(&m->arena, ModKernel, nkernels + 1);
  for (uint32_t i = 0; i < nkernels && !r.failed; i++) get_kernel(&r, &m->arena, &m->kernels[i]);
  if (r.failed) return HD_OK;
  m->nstructs = nstructs;
  m->nkernels = nkernels;
  j->found = true;
  return HD_OK;
}

HdStatus hdapi_source_get(HdModule *m, Arena *scratch, bool *found) {
  *found = false;
  if (!m->ctx->cache.dir) return HD_OK;
  GetJob j = {.m = m, .scratch = scratch};
  HdStatus status = hdapi_guard(m->ctx, scratch, &m->arena, get, &j);
  hdrt_entry_free(&m->ctx->cache, &j.file);
  *found = status == HD_OK && j.found;
  return status;
}
