/* runtime/view.c -- copying and clearing strided memory.
 *
 * Axes of length 1 are dropped and neighbours that form one run in every view are joined, so that a dense copy is one
 * memmove and most others are rows of them.
 */
#include "runtime/view.h"

#include <stdbool.h>
#include <string.h>

/* The common axes of up to two views, outermost first. */
typedef struct Walk {
  int32_t ndim;
  int64_t length[HD_MAX_DIMS];
  int64_t stride[2][HD_MAX_DIMS];
  char *at[2];
  size_t elem;
} Walk;

static bool joins(const Walk *w, int32_t nviews, const RtView *v[2], int32_t axis) {
  for (int32_t k = 0; k < nviews; k++)
    if (w->stride[k][w->ndim - 1] != v[k]->stride[axis] * v[k]->length[axis]) return false;
  return true;
}

/* False if there is nothing to do. */
static bool plan(Walk *w, int32_t nviews, const RtView *a, const RtView *b) {
  const RtView *v[2] = {a, b};
  w->ndim = 0;
  w->elem = a->elem;
  for (int32_t k = 0; k < nviews; k++) w->at[k] = v[k]->data;
  for (int32_t axis = 0; axis < a->ndim; axis++) {
    if (a->length[axis] == 0) return false;
    if (a->length[axis] == 1) continue;
    if (w->ndim && joins(w, nviews, v, axis)) {
      w->length[w->ndim - 1] *= a->length[axis];
    } else {
      w->length[w->ndim++] = a->length[axis];
    }
    for (int32_t k = 0; k < nviews; k++) w->stride[k][w->ndim - 1] = v[k]->stride[axis];
  }
  if (w->ndim == 0) {
    w->ndim = 1;
    w->length[0] = 1;
    w->stride[0][0] = w->stride[1][0] = 1;
  }
  return w->elem != 0;
}

/* Constant sizes become single moves. */
static void copy_strided(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n, size_t elem) {
#define RUN(size)                                                                                                      \
  case size:                                                                                                           \
    for (int64_t i = 0; i < n; i++) memcpy(to + i * to_step, from + i * from_step, size);                              \
    break
  switch (elem) {
    RUN(1);
    RUN(2);
    RUN(4);
    RUN(8);
    RUN(12);
    RUN(16);
  default:
    for (int64_t i = 0; i < n; i++) memcpy(to + i * to_step, from + i * from_step, elem);
  }
#undef RUN
}

static void copy_axis(const Walk *w, int32_t axis, const char *from, char *to) {
  int64_t from_step = w->stride[0][axis] * (int64_t)w->elem, to_step = w->stride[1][axis] * (int64_t)w->elem;
  int64_t n = w->length[axis];
  if (axis < w->ndim - 1) {
    for (int64_t i = 0; i < n; i++) copy_axis(w, axis + 1, from + i * from_step, to + i * to_step);
  } else if (w->stride[0][axis] == 1 && w->stride[1][axis] == 1) {
    memmove(to, from, (size_t)n * w->elem);
  } else {
    copy_strided(to, to_step, from, from_step, n, w->elem);
  }
}

void hdrt_view_copy(const RtView *from, const RtView *to) {
  Walk w;
  if (plan(&w, 2, from, to)) copy_axis(&w, 0, w.at[0], w.at[1]);
}

static void clear_axis(const Walk *w, int32_t axis, char *at) {
  int64_t step = w->stride[0][axis] * (int64_t)w->elem, n = w->length[axis];
  if (axis < w->ndim - 1) {
    for (int64_t i = 0; i < n; i++) clear_axis(w, axis + 1, at + i * step);
  } else if (w->stride[0][axis] == 1) {
    memset(at, 0, (size_t)n * w->elem);
  } else {
    for (int64_t i = 0; i < n; i++) memset(at + i * step, 0, w->elem);
  }
}

void hdrt_view_clear(const RtView *v) {
  Walk w;
  if (plan(&w, 1, v, v)) clear_axis(&w, 0, w.at[0]);
}
