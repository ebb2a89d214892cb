/* runtime/view.h -- moving the elements of strided views; all memory here is the host's. */
#ifndef RT_VIEW_H
#define RT_VIEW_H

#include "heddle/types.h"
HD_BEGIN_DECLS

/* What an array looks like to the runtime; strides in elements. */
typedef struct RtView {
  char    *data;
  int64_t  length[HD_MAX_DIMS], stride[HD_MAX_DIMS];
  int32_t  ndim;
  uint32_t elem; /* bytes of an element */
} RtView;

/* Element by element from one view to another of the same lengths and element size. They may not overlap unless they are
 * the same dense memory. */
void hdrt_view_copy(const RtView *from, const RtView *to);
/* Every byte of every element becomes zero. */
void hdrt_view_clear(const RtView *v);

HD_END_DECLS
#endif
