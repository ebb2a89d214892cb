/* backends/cpu/elf_check.c -- which functions finished code would call.
 *
 * LLVM turns what it cannot select inline into calls of the C library or its own runtime (half floats, fmod, 128-bit
 * division). The loader would not find those, so they are caught here, by name, while the kernel is known. C functions of
 * the program begin with "c." (widen_c.c).
 */
#include "backends/cpu/widen.h"

#include <elf.h>

static const char *const allowed[] = {"memcpy", "memset", "fma", "_GLOBAL_OFFSET_TABLE_"};

static bool is_allowed(const char *name) {
  if (strncmp(name, "c.", 2) == 0) return true;
  for (size_t k = 0; k < sizeof allowed / sizeof *allowed; k++)
    if (!strcmp(name, allowed[k])) return true;
  return false;
}

/* The bytes of section `at`, if they lie inside the object. */
static const char *section(const char *object, size_t size, const Elf64_Shdr *table, uint32_t n, uint32_t at,
                           uint64_t *bytes) {
  if (at >= n || table[at].sh_offset > size || table[at].sh_size > size - table[at].sh_offset) return NULL;
  *bytes = table[at].sh_size;
  return object + table[at].sh_offset;
}

static const char *scan(const char *syms, uint64_t bytes, const char *names, uint64_t names_size, Arena *a) {
  Buf out;
  hdb_buf_init(&out, a);
  for (uint64_t k = 1; (k + 1) * sizeof(Elf64_Sym) <= bytes; k++) {
    Elf64_Sym s;
    memcpy(&s, syms + k * sizeof s, sizeof s);
    if (s.st_shndx != SHN_UNDEF || !s.st_name || s.st_name >= names_size) continue;
    const char *name = names + s.st_name;
    if (!is_allowed(name)) hdb_putf(&out, "%s%s", out.len ? ", " : "", name);
  }
  return out.len ? out.data : NULL;
}

const char *hdcpu_foreign_symbol(const void *object, size_t size, Arena *a) {
  Elf64_Ehdr h;
  if (size < sizeof h) return "(no ELF object)";
  memcpy(&h, object, sizeof h);
  if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_shoff > size ||
      h.e_shnum > (size - h.e_shoff) / sizeof(Elf64_Shdr))
    return "(no ELF object)";
  Elf64_Shdr *table = hdb_copy(a, (const char *)object + h.e_shoff, h.e_shnum * sizeof *table);
  for (uint32_t k = 0; k < h.e_shnum; k++) {
    if (table[k].sh_type != SHT_SYMTAB) continue;
    uint64_t bytes = 0, names_size = 0;
    const char *syms = section(object, size, table, h.e_shnum, k, &bytes);
    const char *names = section(object, size, table, h.e_shnum, table[k].sh_link, &names_size);
    if (!syms || !names || !names_size) return "(no symbol table)";
    return scan(syms, bytes, names, names_size, a);
  }
  return NULL;
}
