/* api/library.c -- finding a module of the kernel library, and the module that has a name. */
#include "api/library.h"

#include <stdlib.h>
#include <string.h>

/* Both rows begin with the name, so one comparison serves both tables. */
static int by_name(const void *name, const void *row) { return strcmp(name, *(const char *const *)row); }

const char *hdapi_library_module(void *user, const char *module) {
  (void)user;
  const HdLibModule *m = bsearch(module, hd_lib_modules, hd_lib_module_count, sizeof *hd_lib_modules, by_name);
  return m ? m->text : NULL;
}

const char *hdapi_library_index(void *user, const char *name) {
  (void)user;
  const HdLibIndex *i = bsearch(name, hd_lib_index, hd_lib_index_count, sizeof *hd_lib_index, by_name);
  return i ? i->module : NULL;
}
