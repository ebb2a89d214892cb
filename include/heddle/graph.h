/* heddle/graph.h -- launches, copies and clears that were checked once, to be done again and again.
 *
 * A graph is made by giving work to a stream that keeps it instead of doing it. Doing it all again costs one call: nothing
 * is checked, compiled or looked up any more. A graph of one launch is a prepared launch: hd_graph_set_args gives it other
 * scalars and arrays, which costs about as much as hd_launch (docs/performance.md), and it is done as often as wanted.
 */
#ifndef HEDDLE_GRAPH_H
#define HEDDLE_GRAPH_H

#include "heddle/launch.h"
HD_BEGIN_DECLS

typedef struct HdGraph HdGraph;

/* From here to hd_graph_end `stream` keeps the work that it is given. Arguments are kept as they are given; the memory of
 * arrays must live as long as the graph, and so must the kernels.
 *
 * Errors     HD_ERR_BUSY if the stream is keeping work already. Meanwhile waiting for the stream, and events, are
 *            HD_ERR_BUSY too. */
HD_API HdStatus hd_graph_begin(HdStream *stream);
/* Ownership  the caller owns *out, until hd_graph_free.
 * Errors     HD_ERR_ARG without a begin; HD_ERR_NOMEM if some work could not be kept: there is no graph then, and the
 *            stream is as before. */
HD_API HdStatus hd_graph_end(HdStream *stream, HdGraph **out);
HD_API void     hd_graph_free(HdGraph *graph); /* NULL is fine; waits until no stream needs it */

/* Do all of it, in order. Launches of one graph follow one another, on whatever streams: each begins when the one that was
 * given before has ended. */
HD_API HdStatus hd_graph_launch(HdGraph *graph, HdStream *stream);

/* Pieces of work in the graph. */
HD_API int32_t hd_graph_count(const HdGraph *graph);
/* Give launch `i` of the graph other arguments, checked as hd_launch does; the dimensions stay.
 *
 * Errors     as hd_launch; HD_ERR_ARG if piece `i` is no launch. */
HD_API HdStatus hd_graph_set_args(HdGraph *graph, int32_t i, int32_t nargs, const HdArg args[]);

HD_END_DECLS
#endif
