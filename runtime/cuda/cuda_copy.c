/* runtime/cuda/cuda_copy.c -- moving strided views between the host, a device and another device.
 *
 * Axes that lie behind each other without gaps are joined first. What is left goes to the driver as bytes in a row, as rows
 * with a pitch, or row by row. Between two devices the driver copies directly where they reach each other (cuda_peer.c), and
 * by way of the host where they do not. Pageable memory of the host may go through a stage (cuda_host.c).
 */
#include <string.h>

#include "runtime/cuda/cuda_device.h"

typedef struct Axis {
  int64_t n, from, to; /* bytes between neighbours */
} Axis;

/* A copy, or a clearing, whose `from` is not looked at. */
typedef struct Move {
  CudaDevice *d;
  CuStream stream;
  const CudaDevice *from_on, *to_on; /* NULL: the host */
  bool clear;
  const char *call; /* of the driver, the last */
  int32_t naxes;
  Axis axis[HD_MAX_DIMS + 1]; /* outermost first */
  size_t width;               /* bytes that lie together behind the last axis */
} Move;

/* The longest pitch that the driver promises to take. */
#define MAX_PITCH INT32_MAX

static CuPtr device(const char *p) { return (CuPtr)(uintptr_t)p; }

static CuResult move_bytes(Move *m, const char *from, char *to, size_t n) {
  const CuDriver *cu = m->d->driver;
  if (m->clear) return m->call = "cuMemsetD8Async", cu->cuMemsetD8Async(device(to), 0, n, m->stream);
  if (!m->from_on) return m->call = "cuMemcpyHtoDAsync", cu->cuMemcpyHtoDAsync(device(to), from, n, m->stream);
  if (!m->to_on) return m->call = "cuMemcpyDtoHAsync", cu->cuMemcpyDtoHAsync(to, device(from), n, m->stream);
  if (m->from_on == m->to_on)
    return m->call = "cuMemcpyDtoDAsync", cu->cuMemcpyDtoDAsync(device(to), device(from), n, m->stream);
  m->call = "cuMemcpyPeerAsync";
  return cu->cuMemcpyPeerAsync(device(to), m->to_on->context, device(from), m->from_on->context, n, m->stream);
}

static CuResult move_rows(Move *m, const char *from, char *to, const Axis *a) {
  const CuDriver *cu = m->d->driver;
  m->call = m->clear ? "cuMemsetD2D8Async" : "cuMemcpy2DAsync";
  if (m->clear) return cu->cuMemsetD2D8Async(device(to), (size_t)a->to, 0, m->width, (size_t)a->n, m->stream);
  CuCopy2D c;
  memset(&c, 0, sizeof c);
  c.from_kind = m->from_on ? CU_MEMORY_DEVICE : CU_MEMORY_HOST;
  c.to_kind = m->to_on ? CU_MEMORY_DEVICE : CU_MEMORY_HOST;
  if (m->from_on)
    c.from_device = device(from);
  else
    c.from_host = from;
  if (m->to_on)
    c.to_device = device(to);
  else
    c.to_host = to;
  c.from_pitch = (size_t)a->from;
  c.to_pitch = (size_t)a->to;
  c.width = m->width;
  c.height = (size_t)a->n;
  return cu->cuMemcpy2DAsync(&c, m->stream);
}

static bool is_pitch(const Move *m, int64_t bytes) { return bytes >= (int64_t)m->width && bytes <= MAX_PITCH; }

static bool takes_rows(const Move *m, const Axis *a) {
  bool peer = m->from_on && m->to_on && m->from_on != m->to_on;
  return !peer && is_pitch(m, a->to) && (m->clear || is_pitch(m, a->from));
}

static CuResult move(Move *m, int32_t k, const char *from, char *to) {
  if (k == m->naxes) return move_bytes(m, from, to, m->width);
  const Axis *a = &m->axis[k];
  if (k == m->naxes - 1 && takes_rows(m, a)) return move_rows(m, from, to, a);
  CuResult code = CU_SUCCESS;
  for (int64_t i = 0; i < a->n && code == CU_SUCCESS; i++) code = move(m, k + 1, from + i * a->from, to + i * a->to);
  return code;
}

/* False if there is nothing to move. */
static bool gather_axes(Move *m, const RtView *from, const RtView *to) {
  m->width = to->elem;
  m->naxes = 0;
  for (int32_t k = 0; k < to->ndim; k++) {
    if (to->length[k] == 0) return false;
    if (to->length[k] == 1) continue;
    Axis a = {to->length[k], from->stride[k] * (int64_t)to->elem, to->stride[k] * (int64_t)to->elem};
    Axis *outer = m->naxes ? &m->axis[m->naxes - 1] : NULL;
    if (outer && outer->from == a.from * a.n && outer->to == a.to * a.n)
      *outer = (Axis){outer->n * a.n, a.from, a.to};
    else
      m->axis[m->naxes++] = a;
  }
  Axis *last = m->naxes ? &m->axis[m->naxes - 1] : NULL;
  if (last && last->to == (int64_t)m->width && (m->clear || last->from == (int64_t)m->width)) {
    m->width *= (size_t)last->n;
    m->naxes--;
  }
  return true;
}

static HdStatus check_places(const CudaDevice *d, const RtView *from, const RtView *to, HdError *err) {
  const RtView *both[] = {from, to};
  if (from->on != &d->base && to->on != &d->base)
    return hdb_fail(err, HD_ERR_DEVICE, "stream",
                    "neither array is in the memory of %s; use a stream of the device of one of them", d->name);
  for (int i = 0; i < 2; i++)
    if (both[i]->on && both[i]->on->ops != &hdcu_ops)
      return hdb_fail(err, HD_ERR_DEVICE, i ? "to" : "from",
                      "it is in the memory of device '%s'; copy by way of the host", both[i]->on->ops->name);
  return HD_OK;
}

/* The same elements in the same pairs, with no axis of `a` backwards: the driver knows no negative pitch. */
static void face_forward(RtView *a, RtView *b) {
  for (int32_t k = 0; k < a->ndim; k++) {
    int64_t last = a->length[k] - 1;
    if (a->stride[k] >= 0 || last < 0) continue;
    a->data += last * a->stride[k] * (int64_t)a->elem;
    b->data += last * b->stride[k] * (int64_t)b->elem;
    a->stride[k] = -a->stride[k];
    b->stride[k] = -b->stride[k];
  }
}

void hdcu_face_forward(RtView *from, RtView *to) {
  if (from->on)
    face_forward(from, to);
  else
    face_forward(to, from);
}

HdStatus hdcu_copy(CudaDevice *d, CuStream stream, CudaStage *stage, const RtView *from, const RtView *to,
                   HdError *err) {
  bool staged = false;
  RtView f = *from, t = *to;
  if (to->image) return hdcu_image_copy(d, stream, from, to, err);
  HD_TRY(check_places(d, from, to, err));
  hdcu_face_forward(&f, &t);
  if (stage) HD_TRY(hdcu_stage_copy(d, stream, stage, &f, &t, err, &staged));
  if (staged) return HD_OK;
  Move m = {.d = d, .stream = stream, .from_on = (const CudaDevice *)from->on, .to_on = (const CudaDevice *)to->on};
  CudaDevice *other = (CudaDevice *)(m.from_on == d ? to->on : from->on);
  if (other && !other->context)
    return hdb_fail(err, HD_ERR_ARG, m.from_on == d ? "to" : "from", "%s has no memory in use", other->name);
  if (!gather_axes(&m, &f, &t)) return HD_OK;
  if (other && other != d) hdcu_peer(d, other);
  CuResult code = move(&m, 0, f.data, t.data);
  return code == CU_SUCCESS ? HD_OK : hdcu_device_fail(d, code, m.call, NULL, err);
}

HdStatus hdcu_clear(CudaDevice *d, CuStream stream, const RtView *v, HdError *err) {
  if (v->on != &d->base)
    return hdb_fail(err, HD_ERR_DEVICE, "a", "it is not in the memory of %s; use a stream of its own device", d->name);
  RtView w = *v, same = w;
  face_forward(&w, &same);
  Move m = {.d = d, .stream = stream, .to_on = d, .clear = true};
  if (!gather_axes(&m, &w, &w)) return HD_OK;
  CuResult code = move(&m, 0, w.data, w.data);
  return code == CU_SUCCESS ? HD_OK : hdcu_device_fail(d, code, m.call, NULL, err);
}
