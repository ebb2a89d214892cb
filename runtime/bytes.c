/* runtime/bytes.c -- growing a buffer of bytes, and reading one that may lie. */
#include "runtime/bytes.h"

#include <string.h>

void hdrt_put(RtWriter *w, const void *p, size_t n) {
  if (w->failed) return;
  if (n > w->cap - w->len) {
    size_t cap = w->cap ? w->cap * 2 : 1024;
    while (cap - w->len < n) cap *= 2;
    void *data = w->mem->resize(w->mem->user, w->data, w->cap, cap);
    if (!data) {
      w->failed = true;
      return;
    }
    w->data = data;
    w->cap = cap;
  }
  if (n) memcpy(w->data + w->len, p, n);
  w->len += n;
}

void hdrt_put_u32(RtWriter *w, uint32_t x) {
  uint8_t b[4] = {(uint8_t)x, (uint8_t)(x >> 8), (uint8_t)(x >> 16), (uint8_t)(x >> 24)};
  hdrt_put(w, b, 4);
}

void hdrt_put_u64(RtWriter *w, uint64_t x) {
  hdrt_put_u32(w, (uint32_t)x);
  hdrt_put_u32(w, (uint32_t)(x >> 32));
}

void hdrt_put_str(RtWriter *w, const char *s) {
  size_t n = strlen(s);
  hdrt_put_u32(w, (uint32_t)n);
  hdrt_put(w, s, n + 1);
}

void hdrt_writer_free(RtWriter *w) {
  if (w->data) w->mem->resize(w->mem->user, w->data, w->cap, 0);
  w->data = NULL;
  w->len = w->cap = 0;
}

const void *hdrt_get(RtReader *r, size_t n) {
  if (r->failed || n > (size_t)(r->end - r->at)) {
    r->failed = true;
    return NULL;
  }
  const void *p = r->at;
  r->at += n;
  return p;
}

uint32_t hdrt_get_u32(RtReader *r) {
  const uint8_t *b = hdrt_get(r, 4);
  return b ? b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24 : 0;
}

uint64_t hdrt_get_u64(RtReader *r) {
  uint64_t low = hdrt_get_u32(r);
  return low | (uint64_t)hdrt_get_u32(r) << 32;
}

const char *hdrt_get_str(RtReader *r) {
  uint32_t n = hdrt_get_u32(r);
  const char *s = hdrt_get(r, (size_t)n + 1);
  if (!s || s[n] != 0 || memchr(s, 0, n)) {
    r->failed = true;
    return "";
  }
  return s;
}
