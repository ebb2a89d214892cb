/* runtime/graphs.h -- work that is kept, to be done again. */
#ifndef RT_GRAPHS_H
#define RT_GRAPHS_H

#include "runtime/streams.h"
HD_BEGIN_DECLS

typedef enum RtNodeKind { RT_NODE_LAUNCH, RT_NODE_COPY, RT_NODE_CLEAR } RtNodeKind;

typedef struct RtNode {
  RtNodeKind kind;
  RtLaunch   launch;  /* its args are the graph's          */
  size_t     args_size;
  RtView     view[2]; /* from and to of a copy; of a clear the first */
  bool       changed; /* a launch, since the device last looked      */
} RtNode;

struct RtGraph {
  RtDevice *device;
  RtNode   *nodes;
  int32_t   count, cap;
  RtEvent  *done;    /* its last launch on an asynchronous stream of the host; NULL: there was none */
  RtStream *by;      /* that stream                                  */
  HdStatus  failed;  /* keeping some work                            */
  bool      changed; /* some node                                    */
  void     *own;     /* what a device of another kind keeps of it    */
  void    (*end)(RtGraph *g); /* ends `own`; NULL: there is none     */
};

HdStatus hdrt_graph_new(RtDevice *d, HdError *err, RtGraph **out);
void     hdrt_graph_free(RtGraph *g); /* waits until no stream needs it */

/* Until no asynchronous stream of the host has yet to do it. */
void     hdrt_graph_await(const RtGraph *g);

/* Keep a piece of work; a failure is remembered too. */
HdStatus hdrt_graph_add_launch(RtGraph *g, const RtLaunch *l, size_t args_size, HdError *err);
HdStatus hdrt_graph_add_copy(RtGraph *g, const RtView *from, const RtView *to, HdError *err);
HdStatus hdrt_graph_add_clear(RtGraph *g, const RtView *v, HdError *err);

/* Other arguments and code for a launch, once no stream is doing the graph. */
void hdrt_graph_set_launch(RtGraph *g, int32_t i, const RtCode *code, const void *args);

HD_END_DECLS
#endif
