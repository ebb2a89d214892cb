/* passes/pipeline.h -- the named pipelines, for the manager. */
#ifndef PASSES_PIPELINE_H
#define PASSES_PIPELINE_H

#include "heddle/types.h"
HD_BEGIN_DECLS

typedef struct OptPipeline {
  const char *name;
  const char *all;     /* passes for every function                                                         */
  const char *kernels; /* then, with the other functions removed, passes for kernels; NULL: nothing removed */
} OptPipeline;

extern const OptPipeline hdopt_pipelines[]; /* ends with a NULL name */

HD_END_DECLS
#endif
