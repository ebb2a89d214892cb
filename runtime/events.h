/* runtime/events.h -- points in the work of streams. */
#ifndef RT_EVENTS_H
#define RT_EVENTS_H

#include "runtime/devices.h"
HD_BEGIN_DECLS

/* What an event of one kind of device does. Recording and waiting inside a stream are the stream's (streams.h). */
typedef struct RtEventOps {
  void (*free)(RtEvent *e);                     /* waits until no stream needs it     */
  HdStatus (*wait)(RtEvent *e, HdError *err);   /* until it has happened              */
  HdStatus (*elapsed)(RtEvent *from, RtEvent *to, double *ms, HdError *err);
} RtEventOps;

/* The front of every kind's own structure. */
struct RtEvent {
  const RtEventOps *ops;
  RtDevice         *device;
};

/* --- events of devices on the host (events.c) --- */
HdStatus hdrt_host_event_new(RtDevice *d, HdError *err, RtEvent **out);

/* A stream is to let the event happen: the ticket says which time. Then, when it comes to it: */
uint64_t hdrt_host_event_ticket(RtEvent *e);
void     hdrt_host_event_happen(RtEvent *e, uint64_t ticket);
/* A stream is to wait for the event as it was last recorded. Then, when it comes to it: */
uint64_t hdrt_host_event_need(RtEvent *e);
void     hdrt_host_event_await(RtEvent *e, uint64_t ticket);

HD_END_DECLS
#endif
