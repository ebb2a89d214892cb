/* api/library.h -- the kernel library (lib/) as it stands in the binary.
 *
 * The two tables are generated at build time; both are sorted by name, for binary search.
 */
#ifndef HDAPI_LIBRARY_H
#define HDAPI_LIBRARY_H

#include "heddle/abi.h"
HD_BEGIN_DECLS

typedef struct HdLibModule { /* one file: "math/trig" and its text, zero-terminated */
  const char *name, *text;
} HdLibModule;

typedef struct HdLibIndex { /* a function, type or constant, and the module that has it; an operator's, separated by spaces */
  const char *name, *module;
} HdLibIndex;

extern const HdLibModule hd_lib_modules[];
extern const uint32_t    hd_lib_module_count;
extern const HdLibIndex  hd_lib_index[];
extern const uint32_t    hd_lib_index_count;

/* In the form that FeOptions wants (frontend/lang/lang.h); NULL where there is none. `user` is not used. */
const char *hdapi_library_module(void *user, const char *module);
const char *hdapi_library_index(void *user, const char *name);

HD_END_DECLS
#endif
