/* tools/embed/embed.c -- turns the kernel library into C tables: every file's text, and which file has which name.
 *
 *     embed OUT.c ROOT/ FILE.hd..
 *
 * A module's name is its path below ROOT without ".hd". The index holds functions, structs and constants at the top level,
 * found by a scan that knows comments and brackets and nothing more of the language; names that begin with '_' are a
 * module's own. A name whose overloads are spread has all their modules, separated by spaces.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Module {
  char *name, *text;
  size_t size;
} Module;

typedef struct Name {
  char *name;
  const char *module;
} Name;

static Name *names;
static size_t nnames, cap_names;

static void die(const char *path, const char *what) {
  fprintf(stderr, "embed: %s: %s\n", path, what);
  exit(1);
}

static void *checked(void *p) {
  if (!p) die("memory", "there is no more");
  return p;
}

static char *copy(const char *s, size_t n) {
  char *p = checked(malloc(n + 1));
  memcpy(p, s, n);
  p[n] = 0;
  return p;
}

static void add(const char *s, size_t n, const char *module) {
  if (n == 0 || s[0] == '_') return;
  if (nnames == cap_names)
    names = checked(realloc(names, (cap_names = cap_names ? 2 * cap_names : 256) * sizeof *names));
  names[nnames++] = (Name){copy(s, n), module};
}

/* --- the scan --- */

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static const char *skip_blank(const char *s) {
  for (;;) {
    while (isspace((unsigned char)*s)) s++;
    if (s[0] == '/' && s[1] == '/') {
      while (*s && *s != '\n') s++;
    } else if (s[0] == '/' && s[1] == '*') {
      const char *e = strstr(s + 2, "*/");
      s = e ? e + 2 : s + strlen(s);
    } else {
      return s;
    }
  }
}

static const char *word_end(const char *s) {
  while (is_word(*s)) s++;
  return s;
}

/* After "fn": a name, or "operator" with its sign. */
static const char *scan_function(const char *s, const char *module) {
  s = skip_blank(s);
  const char *e = word_end(s);
  if (e - s == 8 && memcmp(s, "operator", 8) == 0) {
    static const char *const signs[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "[]"};
    char op[16];
    const char *t = skip_blank(e);
    int n = 1;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
      if (strncmp(t, signs[i], 2) == 0) n = 2;
    snprintf(op, sizeof op, "operator%.*s", n, t);
    add(op, strlen(op), module);
    return t + n;
  }
  add(s, (size_t)(e - s), module);
  return e;
}

/* After "const": the last word before the '=', '[' or ';'. */
static const char *scan_constant(const char *s, const char *module) {
  const char *last = NULL, *last_end = NULL;
  for (s = skip_blank(s); *s && *s != '=' && *s != ';' && *s != '['; s = skip_blank(s)) {
    if (!is_word(*s)) {
      s++;
      continue;
    }
    last = s;
    s = last_end = word_end(s);
  }
  if (last) add(last, (size_t)(last_end - last), module);
  return s;
}

static void scan(const Module *m) {
  int depth = 0;
  for (const char *s = skip_blank(m->text); *s; s = skip_blank(s)) {
    if (*s == '"') {
      for (s++; *s && *s != '"'; s++) s += *s == '\\' && s[1];
      s += *s != 0;
    } else if (*s == '{' || *s == '(') {
      depth++, s++;
    } else if (*s == '}' || *s == ')') {
      depth--, s++;
    } else if (!is_word(*s)) {
      s++;
    } else {
      const char *e = word_end(s);
      size_t n = (size_t)(e - s);
      if (depth == 0 && n == 2 && memcmp(s, "fn", n) == 0) e = scan_function(e, m->name);
      if (depth == 0 && n == 5 && memcmp(s, "const", n) == 0) e = scan_constant(e, m->name);
      if (depth == 0 && n == 6 && memcmp(s, "struct", n) == 0) {
        s = skip_blank(e);
        add(s, (size_t)(word_end(s) - s), m->name);
      }
      s = e;
    }
  }
  if (depth) die(m->name, "its brackets do not match");
}

/* --- output --- */

static void put_text(FILE *f, const char *s) {
  bool open = false;
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (!open) fputs("\n   \"", f), open = true;
    if (c == '\n')
      fputs("\\n\"", f), open = false;
    else if (c == '"' || c == '\\' || c == '?')
      fprintf(f, "\\%c", c);
    else if (c < 32 || c > 126)
      fprintf(f, "\\%03o", c);
    else
      fputc(c, f);
  }
  fputs(open ? "\"" : "\n   \"\"", f);
}

static int by_name(const void *a, const void *b) {
  const Name *x = a, *y = b;
  int c = strcmp(x->name, y->name);
  return c ? c : strcmp(x->module, y->module);
}

static int by_module(const void *a, const void *b) {
  return strcmp(((const Module *)a)->name, ((const Module *)b)->name);
}

static void read_module(const char *root, const char *path, Module *m) {
  const char *at = strncmp(path, root, strlen(root)) == 0 ? path + strlen(root) : path;
  size_t n = strlen(at);
  if (n < 4 || strcmp(at + n - 3, ".hd") != 0) die(path, "it is no .hd file");
  FILE *f = fopen(path, "rb");
  if (!f || fseek(f, 0, SEEK_END) != 0) die(path, "it cannot be read");
  long size = ftell(f);
  rewind(f);
  m->name = copy(at, n - 3);
  m->text = checked(calloc(1, (size_t)size + 1));
  m->size = (size_t)size;
  if (size < 0 || fread(m->text, 1, m->size, f) != m->size) die(path, "it cannot be read");
  if (memchr(m->text, 0, m->size)) die(path, "it holds a zero byte");
  fclose(f);
}

int main(int argc, char **argv) {
  if (argc < 3) die("usage", "embed OUT.c ROOT/ FILE.hd..");
  size_t n = (size_t)argc - 3;
  Module *modules = checked(calloc(n + 1, sizeof *modules));
  for (size_t i = 0; i < n; i++) read_module(argv[2], argv[3 + i], &modules[i]);
  qsort(modules, n, sizeof *modules, by_module);
  for (size_t i = 0; i < n; i++) scan(&modules[i]);
  if (nnames) qsort(names, nnames, sizeof *names, by_name);

  FILE *f = fopen(argv[1], "wb");
  if (!f) die(argv[1], "it cannot be written");
  fprintf(f, "/* The kernel library, made by tools/embed from lib/. */\n#include \"api/library.h\"\n\n");
  fprintf(f, "const HdLibModule hd_lib_modules[] = {\n");
  for (size_t i = 0; i < n; i++) {
    fprintf(f, "  {\"%s\",", modules[i].name);
    put_text(f, modules[i].text);
    fprintf(f, "},\n");
  }
  fprintf(f, "  {0, 0}};\nconst uint32_t hd_lib_module_count = %zu;\n\nconst HdLibIndex hd_lib_index[] = {\n", n);
  size_t kept = 0;
  for (size_t i = 0; i < nnames; i++) {
    bool again = i > 0 && strcmp(names[i].name, names[i - 1].name) == 0;
    if (!again) fprintf(f, "  {\"%s\", \"%s", names[i].name, names[i].module), kept++;
    if (again && strcmp(names[i].module, names[i - 1].module) != 0) fprintf(f, " %s", names[i].module);
    bool last = i + 1 == nnames || strcmp(names[i].name, names[i + 1].name) != 0;
    if (last) fprintf(f, "\"},\n");
  }
  fprintf(f, "  {0, 0}};\nconst uint32_t hd_lib_index_count = %zu;\n", kept);
  if (fclose(f) != 0) die(argv[1], "it cannot be written");
  for (size_t k = 0; k < nnames; k++) free(names[k].name);
  for (size_t k = 0; k < n; k++) free(modules[k].name), free(modules[k].text);
  free(names);
  free(modules);
  return 0;
}
