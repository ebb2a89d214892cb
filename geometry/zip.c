/* geometry/zip.c -- the door to zlib: it is opened for a file that is packed, and closed again. */
#include <dlfcn.h>
#include <stdio.h>

#include "geometry/nanovdb.h"

/* As of zlib 1.0. */
typedef int Unpack(uint8_t *to, unsigned long *room, const uint8_t *from, unsigned long n);
typedef int Pack(uint8_t *to, unsigned long *room, const uint8_t *from, unsigned long n, int level);
enum { QUICK = 1 };

static void *find(void **library, const char *name, char why[NANO_WHY]) {
  *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
  void *found = *library ? dlsym(*library, name) : NULL;
  if (found) return found;
  const char *error = dlerror();
  snprintf(why, NANO_WHY, "zlib could not be opened: %.120s", error ? error : "libz.so.1");
  if (*library) dlclose(*library);
  return NULL;
}

HdStatus hdgeo_unzip(const uint8_t *from, uint64_t n, uint8_t *to, uint64_t room, uint64_t *size, char why[NANO_WHY]) {
  void *library, *found = find(&library, "uncompress", why);
  if (!found) return HD_ERR_UNSUPPORTED;
  unsigned long count = (unsigned long)room;
  int result = ((Unpack *)found)(to, &count, from, (unsigned long)n);
  dlclose(library);
  *size = count;
  if (result == 0) return HD_OK;
  snprintf(why, NANO_WHY, "zlib could not unpack the grid (%d)", result);
  return result == -4 ? HD_ERR_NOMEM : HD_ERR_FORMAT; /* Z_MEM_ERROR */
}

HdStatus hdgeo_zip(const uint8_t *from, uint64_t n, uint8_t *to, uint64_t room, uint64_t *size, char why[NANO_WHY]) {
  void *library, *found = find(&library, "compress2", why);
  if (!found) return HD_ERR_UNSUPPORTED;
  unsigned long count = (unsigned long)room;
  int result = ((Pack *)found)(to, &count, from, (unsigned long)n, QUICK);
  dlclose(library);
  *size = count;
  if (result == 0) return HD_OK;
  snprintf(why, NANO_WHY, "zlib could not pack the grid (%d)", result);
  return HD_ERR_NOMEM;
}
