/* runtime/artifact.c -- artifacts as bytes, for the cache.
 *
 * The reader trusts nothing: counts, enums and offsets are checked, although the cache has verified a checksum before.
 */
#include "runtime/artifact.h"

#include <string.h>

#include "runtime/bytes.h"

enum { MAX_PARAMS = 4096, MAX_SITES = 1 << 16, MAX_IMPORTS = 4096 };

static void put_type(RtWriter *w, HdType t) {
  uint8_t b[4] = {t.kind, t.scalar, t.rows, t.cols};
  hdrt_put(w, b, 4);
  hdrt_put_u32(w, t.size);
}

static HdType get_type(RtReader *r) {
  HdType t;
  memset(&t, 0, sizeof t);
  const uint8_t *b = hdrt_get(r, 4);
  if (b) t = (HdType){b[0], b[1], b[2], b[3], 0};
  t.size = hdrt_get_u32(r);
  if (t.kind < HD_KIND_SCALAR || t.kind > HD_KIND_STRUCT || t.scalar > HD_F64) r->failed = true;
  return t;
}

static int32_t get_group(RtReader *r) {
  uint32_t n = hdrt_get_u32(r);
  if (n > HD_MAX_GROUP || n % 32) r->failed = true;
  return (int32_t)n;
}

void hdrt_put_signature(RtWriter *w, const RtSignature *s) {
  hdrt_put_str(w, s->kernel);
  hdrt_put_u32(w, s->args_size);
  hdrt_put_u32(w, (uint32_t)s->rank);
  hdrt_put_u32(w, (uint32_t)s->group);
  hdrt_put_u32(w, s->nparams);
  for (uint32_t i = 0; i < s->nparams; i++) {
    const RtParam *p = &s->params[i];
    hdrt_put_str(w, p->name);
    put_type(w, p->type);
    hdrt_put_u32(w, (uint32_t)p->ndim);
    hdrt_put_u32(w, p->writes);
    hdrt_put_u32(w, p->offset);
  }
}

static void get_param(RtReader *r, uint32_t args_size, RtParam *p) {
  p->name = hdrt_get_str(r);
  p->type = get_type(r);
  p->ndim = (int32_t)hdrt_get_u32(r);
  p->writes = hdrt_get_u32(r) != 0;
  p->offset = hdrt_get_u32(r);
  if (p->ndim < 0 || p->ndim > HD_MAX_DIMS) r->failed = true;
  uint64_t size = p->ndim ? 8 + 16 * (uint64_t)p->ndim : p->type.size;
  if (p->offset > args_size || size > args_size - p->offset) r->failed = true;
}

bool hdrt_get_signature(RtReader *r, RtParam *params, uint32_t max, RtSignature *out) {
  RtSignature s = {.kernel = hdrt_get_str(r), .params = params};
  s.args_size = hdrt_get_u32(r);
  s.rank = (int32_t)hdrt_get_u32(r);
  s.group = get_group(r);
  s.nparams = hdrt_get_u32(r);
  if (s.rank < 0 || s.rank > HD_MAX_DIMS || s.nparams > MAX_PARAMS) r->failed = true;
  for (uint32_t i = 0; i < s.nparams && !r->failed; i++) {
    RtParam p;
    get_param(r, s.args_size, &p);
    if (params && i < max) params[i] = p;
  }
  if (params && s.nparams > max) r->failed = true;
  if (!r->failed) *out = s;
  return !r->failed;
}

void hdrt_put_artifact(RtWriter *w, const RtArtifact *a) {
  hdrt_put_u32(w, a->kind);
  hdrt_put_str(w, a->symbol);
  hdrt_put_u32(w, (uint32_t)a->width);
  hdrt_put_u64(w, a->code_size);
  hdrt_put(w, a->code, a->code_size);
  hdrt_put_u32(w, (uint32_t)a->rank);
  hdrt_put_u32(w, (uint32_t)a->block);
  hdrt_put_u32(w, a->shared);
  hdrt_put_u32(w, (uint32_t)a->sig.group);
  hdrt_put_u32(w, a->nsites);
  for (uint32_t i = 0; i < a->nsites; i++) {
    const RtSite *s = &a->sites[i];
    hdrt_put_str(w, s->text ? s->text : "");
    hdrt_put_str(w, s->file ? s->file : "");
    hdrt_put_u32(w, (uint32_t)s->line);
    hdrt_put_u32(w, (uint32_t)s->column);
    hdrt_put_u32(w, s->prints);
  }
  hdrt_put_u32(w, a->nimports);
  for (uint32_t i = 0; i < a->nimports; i++) {
    hdrt_put_str(w, a->imports[i].name);
    hdrt_put_str(w, a->imports[i].signature);
  }
}

static RtSite get_site(RtReader *r) {
  RtSite s = {.text = hdrt_get_str(r)};
  s.file = hdrt_get_str(r);
  s.line = (int32_t)hdrt_get_u32(r);
  s.column = (int32_t)hdrt_get_u32(r);
  s.prints = hdrt_get_u32(r) != 0;
  return s;
}

bool hdrt_get_artifact(RtReader *r, RtSite *sites, uint32_t max, RtImport *imports, uint32_t max_imports,
                       RtArtifact *out) {
  RtArtifact a = {.kind = (RtCodeKind)hdrt_get_u32(r)};
  a.symbol = hdrt_get_str(r);
  a.width = (int32_t)hdrt_get_u32(r);
  a.code_size = hdrt_get_u64(r);
  a.code = hdrt_get(r, a.code_size);
  a.rank = (int32_t)hdrt_get_u32(r);
  a.block = (int32_t)hdrt_get_u32(r);
  a.shared = hdrt_get_u32(r);
  a.sig.group = get_group(r);
  a.nsites = hdrt_get_u32(r);
  a.sites = sites;
  if (a.kind != RT_CODE_OBJECT && a.kind != RT_CODE_PTX) r->failed = true;
  if (a.width < 1 || a.width > 64 || a.nsites > MAX_SITES) r->failed = true;
  if (a.kind == RT_CODE_OBJECT && a.nsites) r->failed = true;
  if (a.kind == RT_CODE_PTX && (!a.code_size || !a.code || ((const char *)a.code)[a.code_size - 1])) r->failed = true;
  if (a.kind == RT_CODE_PTX && (a.rank < 1 || a.rank > HD_MAX_DIMS || a.block < 1 || a.block > 1024)) r->failed = true;
  if (a.shared > (1u << 20)) r->failed = true;
  for (uint32_t i = 0; i < a.nsites && !r->failed; i++) {
    RtSite s = get_site(r);
    if (sites && i < max) sites[i] = s;
  }
  if (sites && a.nsites > max) r->failed = true;
  a.nimports = hdrt_get_u32(r);
  a.imports = imports;
  if (a.nimports > MAX_IMPORTS || (a.kind == RT_CODE_PTX && a.nimports)) r->failed = true;
  for (uint32_t i = 0; i < a.nimports && !r->failed; i++) {
    RtImport f = {.name = hdrt_get_str(r)};
    f.signature = hdrt_get_str(r);
    if (imports && i < max_imports) imports[i] = f;
  }
  if (imports && a.nimports > max_imports) r->failed = true;
  if (!r->failed) *out = a;
  return !r->failed;
}
