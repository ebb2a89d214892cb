/* runtime/view.h -- strided views, and moving the elements of those in the host's memory. */
#ifndef RT_VIEW_H
#define RT_VIEW_H

#include "heddle/types.h"
HD_BEGIN_DECLS

typedef struct RtDevice RtDevice;

/* What an array looks like to the runtime; strides in elements. */
typedef struct RtView {
  char    *data;
  int64_t  length[HD_MAX_DIMS], stride[HD_MAX_DIMS];
  int32_t  ndim;
  uint32_t elem; /* bytes of an element                                */
  RtDevice *on;  /* whose own memory it is in; NULL: in the host's     */
  void     *image; /* not memory but a level of an image, as its device knows it; only to copy to */
} RtView;

/* Both views in the host's memory: element by element from one view to another of the same lengths and element size. They may not overlap unless they are
 * the same dense memory. */
void hdrt_view_copy(const RtView *from, const RtView *to);
/* Every byte of every element becomes zero; in the host's memory. */
void hdrt_view_clear(const RtView *v);

HD_END_DECLS
#endif
