/* runtime/loader.c -- a small loader of x86-64 ELF objects.
 *
 * One mapping holds the sections that code needs (code first, then constants, then data), a stub and a slot for each
 * symbol that the object does not define, and a slot for each symbol that is reached through the GOT. All lie within
 * 2 GiB of each other, so relative relocations cannot overflow between sections. Code and constants are made read-only
 * before anything runs. Symbols from outside come from a short list of functions that compiled kernels may call, and from
 * the program's own C functions.
 *
 * Not here: thread-local variables, constructors, indirect functions, common symbols, 32-bit absolute addresses,
 * unwind tables (kernels never unwind).
 */
#include "runtime/loader.h"

#include <elf.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_SECTIONS = 1024, MAX_SYMBOLS = 1 << 20, MAX_ALIGN = 4096 };
#define MAX_IMAGE ((uint64_t)256 << 20)

typedef enum Group { CODE, CONSTANTS, DATA, NGROUPS, SKIPPED } Group;

typedef struct Loader {
  const uint8_t *file;
  size_t size;
  HdError *err;
  uint64_t sections; /* offset into the file */
  uint32_t nsections;
  uint8_t group[MAX_SECTIONS];
  uint64_t offset[MAX_SECTIONS]; /* in the image */
  uint64_t begin[NGROUPS], end[NGROUPS];
  uint64_t symtab, nsymbols, strtab, strsize; /* offsets into the file */
  uint64_t stubs, slots;                      /* offsets in the image: one for each symbol */
  uint64_t image_size;
  uint8_t *base;
  uint32_t nimports;
  const RtImport *imports;
} Loader;

/* --- what kernels may call --- */

static const struct {
  const char *name;
  void *address;
} known[] = {
#define KNOWN(f) {#f, (void *)(f)}
    KNOWN(memcpy), KNOWN(memmove), KNOWN(memset),    KNOWN(memcmp),     KNOWN(fma),   KNOWN(fmaf),  KNOWN(fmod),
    KNOWN(fmodf),  KNOWN(floor),   KNOWN(floorf),    KNOWN(ceil),       KNOWN(ceilf), KNOWN(trunc), KNOWN(truncf),
    KNOWN(rint),   KNOWN(rintf),   KNOWN(roundeven), KNOWN(roundevenf), KNOWN(sqrt),  KNOWN(sqrtf),
#undef KNOWN
};

static void *known_symbol(const Loader *l, const char *name) {
  if (strncmp(name, RT_C_PREFIX, strlen(RT_C_PREFIX)) == 0) {
    void *p = NULL;
    for (uint32_t i = 0; i < l->nimports; i++)
      if (strcmp(l->imports[i].name, name + strlen(RT_C_PREFIX)) == 0) memcpy(&p, &l->imports[i].address, sizeof p);
    return p;
  }
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i].name, name) == 0) return known[i].address;
  return NULL;
}

/* --- reading the file --- */

static HdStatus bad(Loader *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static HdStatus bad(Loader *l, const char *fmt, ...) {
  char text[200];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return hdb_fail(l->err, HD_ERR_FORMAT, "", "the compiled object is damaged: %s", text);
}

static HdStatus unknown(Loader *l, const char *what, const char *name, uint64_t number) {
  return hdb_fail(l->err, HD_ERR_UNSUPPORTED, "", "the compiled object has %s %.100s%s(%llu) that is not known here",
                  what, name, *name ? " " : "", (unsigned long long)number);
}

static bool in_file(const Loader *l, uint64_t offset, uint64_t size) {
  return offset <= l->size && size <= l->size - offset;
}

static Elf64_Shdr section_at(const Loader *l, uint32_t i) {
  Elf64_Shdr s;
  memcpy(&s, l->file + l->sections + i * sizeof s, sizeof s);
  return s;
}

static Elf64_Sym symbol_at(const Loader *l, uint64_t i) {
  Elf64_Sym s;
  memcpy(&s, l->file + l->symtab + i * sizeof s, sizeof s);
  return s;
}

/* "" if the name does not lie within the table. */
static const char *symbol_name(const Loader *l, const Elf64_Sym *s) {
  if (s->st_name >= l->strsize) return "";
  const char *name = (const char *)l->file + l->strtab + s->st_name;
  return memchr(name, 0, l->strsize - s->st_name) ? name : "";
}

static HdStatus read_header(Loader *l) {
  Elf64_Ehdr h;
  if (l->size < sizeof h) return bad(l, "%zu bytes are no ELF header", l->size);
  memcpy(&h, l->file, sizeof h);
  if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0) return bad(l, "it is no ELF file");
  if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_type != ET_REL)
    return bad(l, "it is no relocatable 64-bit object");
  if (h.e_machine != EM_X86_64)
    return hdb_fail(l->err, HD_ERR_UNSUPPORTED, "", "the compiled object is for machine %d, not for x86-64",
                    h.e_machine);
  if (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shnum == 0 || h.e_shnum > MAX_SECTIONS)
    return bad(l, "%d sections of %d bytes", h.e_shnum, h.e_shentsize);
  if (!in_file(l, h.e_shoff, (uint64_t)h.e_shnum * sizeof(Elf64_Shdr))) return bad(l, "it ends before its sections");
  l->sections = h.e_shoff;
  l->nsections = h.e_shnum;
  return HD_OK;
}

static HdStatus read_symbols(Loader *l) {
  for (uint32_t i = 0; i < l->nsections; i++) {
    Elf64_Shdr s = section_at(l, i);
    if (s.sh_type == SHT_SYMTAB_SHNDX) return unknown(l, "a section of type", "SYMTAB_SHNDX", s.sh_type);
    if (s.sh_type != SHT_SYMTAB) continue;
    if (l->nsymbols) return bad(l, "two symbol tables");
    if (s.sh_entsize != sizeof(Elf64_Sym) || !in_file(l, s.sh_offset, s.sh_size) ||
        s.sh_size / sizeof(Elf64_Sym) > MAX_SYMBOLS || s.sh_link >= l->nsections)
      return bad(l, "its symbol table does not fit");
    Elf64_Shdr names = section_at(l, s.sh_link);
    if (names.sh_type != SHT_STRTAB || !in_file(l, names.sh_offset, names.sh_size))
      return bad(l, "its symbol names do not fit");
    l->symtab = s.sh_offset;
    l->nsymbols = s.sh_size / sizeof(Elf64_Sym);
    l->strtab = names.sh_offset;
    l->strsize = names.sh_size;
  }
  return l->nsymbols ? HD_OK : bad(l, "it has no symbols");
}

/* --- the image's plan --- */

static HdStatus choose_group(Loader *l, const Elf64_Shdr *s, uint8_t *group) {
  *group = SKIPPED;
  if (!(s->sh_flags & SHF_ALLOC) || s->sh_size == 0) return HD_OK;
  if (s->sh_type == SHT_X86_64_UNWIND || s->sh_type == SHT_NOTE) return HD_OK;
  if (s->sh_type != SHT_PROGBITS && s->sh_type != SHT_NOBITS) return unknown(l, "a section of type", "", s->sh_type);
  if (s->sh_flags & SHF_TLS) return unknown(l, "a section for", "thread-local variables", s->sh_type);
  if (s->sh_size > MAX_IMAGE || s->sh_addralign > MAX_ALIGN || (s->sh_addralign & (s->sh_addralign - 1)))
    return bad(l, "a section of %llu bytes, aligned to %llu", (unsigned long long)s->sh_size,
               (unsigned long long)s->sh_addralign);
  if (s->sh_type == SHT_PROGBITS && !in_file(l, s->sh_offset, s->sh_size)) return bad(l, "a section lies outside");
  *group = s->sh_flags & SHF_EXECINSTR ? CODE : s->sh_flags & SHF_WRITE ? DATA : CONSTANTS;
  return HD_OK;
}

/* gcc and older LLVMs give .eh_frame the type of ordinary data; it is told apart by its name. */
static bool is_unwind(const Loader *l, const Elf64_Shdr *names, const Elf64_Shdr *s) {
  static const char eh[] = ".eh_frame";
  if (names->sh_type != SHT_STRTAB || !in_file(l, names->sh_offset, names->sh_size)) return false;
  if (s->sh_name >= names->sh_size || names->sh_size - s->sh_name < sizeof eh) return false;
  return memcmp(l->file + names->sh_offset + s->sh_name, eh, sizeof eh) == 0;
}

enum { STUB = 16, SLOT = 8 };
static uint64_t align_up(uint64_t x, uint64_t to) { return (x + to - 1) / to * to; }

static HdStatus plan_image(Loader *l) {
  Elf64_Ehdr h;
  memcpy(&h, l->file, sizeof h);
  Elf64_Shdr names = section_at(l, h.e_shstrndx < l->nsections ? h.e_shstrndx : 0);
  for (uint32_t i = 0; i < l->nsections; i++) {
    Elf64_Shdr s = section_at(l, i);
    HD_TRY(choose_group(l, &s, &l->group[i]));
    if (is_unwind(l, &names, &s)) l->group[i] = SKIPPED;
  }
  uint64_t at = 0, page = (uint64_t)sysconf(_SC_PAGESIZE);
  for (int g = CODE; g < NGROUPS; g++) {
    l->begin[g] = at;
    for (uint32_t i = 0; i < l->nsections; i++) {
      if (l->group[i] != g) continue;
      Elf64_Shdr s = section_at(l, i);
      at = align_up(at, s.sh_addralign > 1 ? s.sh_addralign : 1);
      l->offset[i] = at;
      at += s.sh_size;
      if (at > MAX_IMAGE) return bad(l, "its sections are too large");
    }
    if (g == CODE) {
      l->stubs = align_up(at, STUB);
      at = l->stubs + l->nsymbols * STUB;
    } else if (g == CONSTANTS) {
      l->slots = align_up(at, SLOT);
      at = l->slots + l->nsymbols * SLOT;
    }
    at = align_up(at, page);
    l->end[g] = at;
  }
  l->image_size = at;
  return at <= MAX_IMAGE ? HD_OK : bad(l, "its symbols are too many");
}

static void copy_sections(Loader *l) {
  for (uint32_t i = 0; i < l->nsections; i++) {
    if (l->group[i] == SKIPPED) continue;
    Elf64_Shdr s = section_at(l, i);
    if (s.sh_type == SHT_PROGBITS) memcpy(l->base + l->offset[i], l->file + s.sh_offset, s.sh_size);
  }
}

/* --- symbols and relocations --- */

/* The address of a symbol; *outside says that it is a function of ours, which may be too far for a relative reference. */
static HdStatus resolve(Loader *l, uint64_t index, uint64_t *address, bool *outside) {
  if (index >= l->nsymbols) return bad(l, "a relocation names symbol %llu", (unsigned long long)index);
  Elf64_Sym s = symbol_at(l, index);
  const char *name = symbol_name(l, &s);
  *outside = false;
  if (ELF64_ST_TYPE(s.st_info) == STT_GNU_IFUNC || ELF64_ST_TYPE(s.st_info) == STT_TLS)
    return unknown(l, "a symbol", name, ELF64_ST_TYPE(s.st_info));
  if (s.st_shndx == SHN_UNDEF) {
    void *p = known_symbol(l, name);
    if (!p) return unknown(l, "a reference to", name, index);
    *address = (uint64_t)(uintptr_t)p;
    *outside = true;
    return HD_OK;
  }
  if (s.st_shndx >= l->nsections) return unknown(l, "a symbol in section", name, s.st_shndx);
  if (l->group[s.st_shndx] == SKIPPED) return bad(l, "symbol '%.60s' lies in a section that is not loaded", name);
  if (s.st_value > section_at(l, s.st_shndx).sh_size) return bad(l, "symbol '%.60s' lies outside its section", name);
  *address = (uint64_t)(uintptr_t)l->base + l->offset[s.st_shndx] + s.st_value;
  return HD_OK;
}

/* The symbol's GOT slot, which holds its address. */
static uint64_t slot_of(Loader *l, uint64_t index, uint64_t address) {
  uint8_t *slot = l->base + l->slots + index * SLOT;
  memcpy(slot, &address, SLOT);
  return (uint64_t)(uintptr_t)slot;
}

/* A jump through the slot: jmp *slot(%rip). */
static uint64_t stub_of(Loader *l, uint64_t index, uint64_t address) {
  uint8_t *stub = l->base + l->stubs + index * STUB;
  int32_t rel = (int32_t)(slot_of(l, index, address) - ((uint64_t)(uintptr_t)stub + 6));
  stub[0] = 0xff;
  stub[1] = 0x25;
  memcpy(stub + 2, &rel, 4);
  return (uint64_t)(uintptr_t)stub;
}

static HdStatus put_relative(Loader *l, uint8_t *place, uint64_t target, int64_t addend) {
  int64_t x = (int64_t)(target + (uint64_t)addend - (uint64_t)(uintptr_t)place);
  if (x < INT32_MIN || x > INT32_MAX) return bad(l, "a relocation overflows");
  int32_t x32 = (int32_t)x;
  memcpy(place, &x32, 4);
  return HD_OK;
}

static HdStatus relocate(Loader *l, uint32_t section, const Elf64_Rela *r) {
  uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info), width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
  uint64_t index = ELF64_R_SYM(r->r_info), size = section_at(l, section).sh_size, address = 0;
  bool outside;
  if (type == R_X86_64_NONE) return HD_OK;
  if (r->r_offset > size || size - r->r_offset < width) return bad(l, "a relocation lies outside its section");
  HD_TRY(resolve(l, index, &address, &outside));
  uint8_t *place = l->base + l->offset[section] + r->r_offset;
  switch (type) {
  case R_X86_64_64: {
    uint64_t x = address + (uint64_t)r->r_addend;
    memcpy(place, &x, 8);
    return HD_OK;
  }
  case R_X86_64_PC64: {
    uint64_t x = address + (uint64_t)r->r_addend - (uint64_t)(uintptr_t)place;
    memcpy(place, &x, 8);
    return HD_OK;
  }
  case R_X86_64_PC32:
  case R_X86_64_PLT32: return put_relative(l, place, outside ? stub_of(l, index, address) : address, r->r_addend);
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX: return put_relative(l, place, slot_of(l, index, address), r->r_addend);
  default: return unknown(l, "a relocation of type", "", type);
  }
}

static HdStatus relocate_all(Loader *l) {
  for (uint32_t i = 0; i < l->nsections; i++) {
    Elf64_Shdr s = section_at(l, i);
    if (s.sh_type == SHT_REL) return unknown(l, "a section of type", "REL", s.sh_type);
    if (s.sh_type != SHT_RELA) continue;
    if (s.sh_info >= l->nsections) return bad(l, "relocations of section %u", s.sh_info);
    if (l->group[s.sh_info] == SKIPPED) continue;
    if (s.sh_entsize != sizeof(Elf64_Rela) || !in_file(l, s.sh_offset, s.sh_size))
      return bad(l, "its relocations do not fit");
    for (uint64_t k = 0; k < s.sh_size / sizeof(Elf64_Rela); k++) {
      Elf64_Rela r;
      memcpy(&r, l->file + s.sh_offset + k * sizeof r, sizeof r);
      HD_TRY(relocate(l, s.sh_info, &r));
    }
  }
  return HD_OK;
}

static HdStatus find_entry(Loader *l, const char *symbol, void **entry) {
  for (uint64_t i = 0; i < l->nsymbols; i++) {
    Elf64_Sym s = symbol_at(l, i);
    /* A file symbol may have the kernel's name: LLVM calls it after the module. */
    if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || s.st_shndx == SHN_UNDEF || s.st_shndx >= l->nsections) continue;
    if (l->group[s.st_shndx] != CODE || strcmp(symbol_name(l, &s), symbol) != 0) continue;
    if (s.st_value >= section_at(l, s.st_shndx).sh_size) return bad(l, "function '%.60s' lies outside", symbol);
    *entry = l->base + l->offset[s.st_shndx] + s.st_value;
    return HD_OK;
  }
  return bad(l, "it has no function '%.60s'", symbol);
}

/* --- life --- */

static HdStatus protect(Loader *l) {
  static const int access[NGROUPS] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
  for (int g = CODE; g < NGROUPS; g++) {
    uint64_t n = l->end[g] - l->begin[g];
    if (n && mprotect(l->base + l->begin[g], n, access[g]) != 0)
      return hdb_fail(l->err, HD_ERR_SYSTEM, "", "code could not be made executable (mprotect): %s", strerror(errno));
  }
  return HD_OK;
}

static HdStatus fill(Loader *l, const char *symbol, void **entry) {
  copy_sections(l);
  HD_TRY(relocate_all(l));
  HD_TRY(find_entry(l, symbol, entry));
  return protect(l);
}

HdStatus hdrt_image_load(const void *object, size_t size, const char *symbol, uint32_t nimports,
                         const RtImport *imports, HdError *err, RtImage *out) {
#if !defined(__x86_64__)
  (void)object, (void)size, (void)symbol, (void)nimports, (void)imports, (void)out;
  return hdb_fail(err, HD_ERR_UNSUPPORTED, "", "compiled kernels run on x86-64 only; the device 'interp' runs here");
#endif
  Loader l = {.file = object, .size = size, .err = err, .nimports = nimports, .imports = imports};
  HD_TRY(read_header(&l));
  HD_TRY(read_symbols(&l));
  HD_TRY(plan_image(&l));
  void *base = mmap(NULL, l.image_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return hdb_fail(err, HD_ERR_SYSTEM, "", "%llu bytes for code could not be mapped: %s",
                    (unsigned long long)l.image_size, strerror(errno));
  l.base = base;
  void *entry = NULL;
  HdStatus status = fill(&l, symbol, &entry);
  if (status != HD_OK) {
    munmap(base, l.image_size);
    return status;
  }
  *out = (RtImage){base, l.image_size, entry};
  return HD_OK;
}

void hdrt_image_free(RtImage *image) {
  if (image->base) munmap(image->base, image->size);
  *image = (RtImage){NULL, 0, NULL};
}
