/* frontend/lang/unit.c -- files and library modules, and what they import. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "frontend/lang/fe.h"

enum { MAX_FILE = 64 << 20 };

FeUnit *hdfe_unit_new(FeCompiler *fe, const char *path, const char *text, size_t len, bool library) {
  FeUnit *u = HDB_NEW(fe->arena, FeUnit);
  u->path = hdb_strdup(fe->arena, path);
  u->text = text;
  u->library = library;
  u->file = hdir_file(fe->module, u->path);
  u->index = fe->nunits;
  hdb_map_init(&u->fns, fe->arena);
  hdb_map_init(&u->structs, fe->arena);
  hdb_map_init(&u->consts, fe->arena);
  HDB_PUSH(fe->arena, fe->units, fe->nunits, fe->cap_units, u);
  u->len = len > MAX_FILE ? 0 : (uint32_t)len;
  if (len > MAX_FILE) hdfe_report(fe, u, (FeSpan){1, 1, 1}, FE_D_file_too_large);
  return u;
}

/* --- library modules --- */

FeUnit *hdfe_unit_library(FeCompiler *fe, const char *module) {
  const char *key = hdb_printf(fe->arena, "library %s", module);
  FeUnit *u = hdb_map_get_str(&fe->by_path, key);
  if (u || !fe->options->library) return u;
  const char *text = fe->options->library(fe->options->user, module);
  if (!text) return NULL;
  u = hdfe_unit_new(fe, hdb_printf(fe->arena, "lib/%s.hd", module), text, strlen(text), true);
  hdb_map_set_str(&fe->by_path, key, u);
  hdfe_unit_load(fe, u);
  return u;
}

typedef struct Found {
  FeUnit *units[8];
  uint32_t n;
} Found;

/* The index answers with one module, or several separated by spaces. */
static void find_library(FeCompiler *fe, const char *name, Found *f) {
  if (!fe->options->library_index) return;
  const char *s = fe->options->library_index(fe->options->user, name);
  while (s && *s && f->n < 8) {
    size_t n = strcspn(s, " ");
    FeUnit *u = n ? hdfe_unit_library(fe, hdb_strndup(fe->arena, s, n)) : NULL;
    if (u) f->units[f->n++] = u;
    s += n + (s[n] == ' ');
  }
}

uint32_t hdfe_library_units(FeCompiler *fe, const char *name, FeUnit *out[8]) {
  MapSlot *slot = hdb_map_slot(&fe->by_symbol, &name, sizeof name); /* interned: the pointer is the key */
  Found *f = slot->value;
  if (!f) {
    f = HDB_NEW(fe->arena, Found);
    find_library(fe, name, f);
    hdb_map_slot(&fe->by_symbol, &name, sizeof name)->value = f;
  }
  memcpy(out, f->units, sizeof f->units);
  return f->n;
}

/* The index has no list of its names, so it is asked for each name that is one slip away from this one. */
const char *hdfe_library_near(FeCompiler *fe, const char *name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
  size_t n = strlen(name);
  char *s = hdb_alloc(fe->arena, n + 2);
  if (!fe->options->library_index || n < 3 || n > 40) return NULL;
  for (int slip = 0; slip < 4; slip++) { /* two letters swapped, one too many, a wrong one, one too few */
    for (size_t i = 0; i < n + (slip == 3); i++) {
      for (const char *c = letters; *c; c++) {
        size_t skip = slip == 0 ? 2 : slip == 3 ? 0 : 1;
        if (i + skip > n || name[0] == '_') break;
        memcpy(s, name, i);
        char *to = s + i;
        if (slip == 0) *to++ = name[i + 1];
        if (slip != 1) *to++ = slip == 0 ? name[i] : *c;
        memcpy(to, name + i + skip, n - i - skip + 1);
        if (fe->options->library_index(fe->options->user, s)) return s;
        if (slip < 2) break;
      }
    }
  }
  return NULL;
}

/* --- files --- */

static char *read_file(FeCompiler *fe, const char *path, size_t *len) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  long size = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
  if (size < 0 || size > MAX_FILE || fseek(f, 0, SEEK_SET) != 0) {
    fclose(f);
    return NULL;
  }
  fclose(f); /* no file may be open while the arena can jump away */
  char *text = hdb_alloc(fe->arena, (size_t)size + 1);
  f = fopen(path, "rb");
  if (!f) return NULL;
  *len = fread(text, 1, (size_t)size, f);
  fclose(f);
  return text;
}

static FeUnit *unit_file(FeCompiler *fe, const char *path) {
  char real[PATH_MAX];
  if (!realpath(path, real)) return NULL;
  FeUnit *u = hdb_map_get_str(&fe->by_path, real);
  if (u) return u;
  size_t len = 0;
  char *text = read_file(fe, path, &len);
  if (!text) return NULL;
  u = hdfe_unit_new(fe, path, text, len, false);
  hdb_map_set_str(&fe->by_path, real, u);
  hdfe_unit_load(fe, u);
  return u;
}

/* A file beside the one that imports it, else in the folders given. */
static FeUnit *find_file(FeCompiler *fe, const FeUnit *from, const char *name) {
  if (name[0] == '/') return unit_file(fe, name);
  const char *slash = strrchr(from->path, '/');
  int folder = slash ? (int)(slash - from->path) + 1 : 0;
  FeUnit *u = from->library ? NULL : unit_file(fe, hdb_printf(fe->arena, "%.*s%s", folder, from->path, name));
  for (uint32_t i = 0; !u && i < fe->options->npaths; i++)
    u = unit_file(fe, hdb_printf(fe->arena, "%s/%s", fe->options->paths[i], name));
  return u;
}

static FeUnit *find_import(FeCompiler *fe, FeUnit *from, const FeImport *i) {
  if (i->is_file) return find_file(fe, from, i->name);
  FeUnit *u = hdfe_unit_library(fe, i->name);
  return u ? u : find_file(fe, from, hdb_printf(fe->arena, "%s.hd", i->name));
}

static void load_imports(FeCompiler *fe, FeUnit *u) {
  for (uint32_t k = 0; k < u->nimport_list; k++) {
    const FeImport *i = &u->import_list[k];
    FeUnit *found = find_import(fe, u, i);
    if (!found) {
      FeReport *r = hdfe_report(fe, u, i->span, FE_D_import_not_found,
                                hdb_printf(fe->arena, i->is_file ? "the file '%s'" : "the module '%s'", i->name));
      hdfe_hint(fe, r,
                i->is_file ? "files are looked for beside this one, then in the folders of -I"
                           : "a module is one of the library, or a file of that name: import \"path.hd\"");
    } else if (found->state == FE_UNIT_BUSY) {
      hdfe_report(fe, u, i->span, FE_D_import_cycle, found->path);
    } else {
      HDB_PUSH(fe->arena, u->imports, u->nimports, u->cap_imports, found);
    }
  }
}

void hdfe_unit_load(FeCompiler *fe, FeUnit *u) {
  u->state = FE_UNIT_BUSY;
  hdfe_lex(fe, u);
  hdfe_parse(fe, u);
  load_imports(fe, u);
  u->state = FE_UNIT_DONE;
}
