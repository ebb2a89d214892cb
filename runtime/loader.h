/* runtime/loader.h -- from a relocatable ELF object to code that can be called.
 *
 * The object may come from a file that anyone could have written: every offset, size and index in it is checked, and
 * what is not understood is refused. (What the code does once it is called is another matter: a cache folder that
 * others may write to is not used, disk_cache.h.) x86-64 only; the loader needs no memory but the mapping it makes.
 */
#ifndef RT_LOADER_H
#define RT_LOADER_H

#include "base/fail.h"
#include "runtime/artifact.h"
HD_BEGIN_DECLS

typedef struct RtImage {
  void  *base; /* of the mapping: code, then constants, then data */
  size_t size;
  void  *entry;
} RtImage;

/* Load `object` and find the function `symbol` in it. What it calls is found among the imports, by RT_C_PREFIX and the name,
 * and in a short list of the C library's. HD_ERR_FORMAT says what is wrong with the object;
 * HD_ERR_UNSUPPORTED names a relocation or symbol that is not known here; HD_ERR_SYSTEM if there is no memory to map. */
HdStatus hdrt_image_load(const void *object, size_t size, const char *symbol, uint32_t nimports, const RtImport *imports,
                         HdError *err, RtImage *out);
void     hdrt_image_free(RtImage *image); /* also one that is all zero */

HD_END_DECLS
#endif
