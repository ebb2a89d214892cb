/* tools/libdoc/libdoc.c -- prints the reference of the kernel library from its sources.
 *
 *     libdoc PAGE.md FILE.hd.. >NEW.md      the page, with what stands between its marks made anew
 *     libdoc --check FILE.hd..              names each public function without a comment or an example; 1 if there is one
 *
 * Marks are "<!-- made by tools/libdoc: NAME -->" and "<!-- end -->"; NAME is a folder of lib/, "core" for the functions
 * that are the compiler's, or "families" for the table that lib/families.txt holds: rows "what it is | our names", or
 * "| - why there is none", below "# heading". A file's first comment is its introduction. The comment just above a run of functions
 * (no blank line between) is about all of them; a function is described once however many overloads it has. In it a line
 * "//> .." is an example: statements, or a condition that holds. Accuracy is that of ir/builtins.def.
 *
 * It knows just as much of the language as it needs for that, and dies of lines that are too long.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 512, MAX_TEXT = 1 << 16, MAX_FUNCTIONS = 256, MAX_ENTRIES = 256 };

static const struct {
  const char *name, *arguments, *result;
  double f32, f64;
  const char *meaning;
} rows[] = {
#define IR_BUILTIN(name, arguments, result, f32, f64, meaning) {#name, arguments, result, f32, f64, meaning},
#include "ir/builtins.def"
};
enum { NROWS = sizeof rows / sizeof *rows };

typedef struct Function {
  char name[64];
  char signature[MAX_LINE]; /* without "fn" and body                      */
  int entry;                /* while reading -1 if no comment is above it */
} Function;

typedef struct Entry { /* a comment and the functions below it */
  char *text, *examples;
} Entry;

typedef struct Module {
  char name[64]; /* math/trig */
  char *intro;
  Function functions[MAX_FUNCTIONS];
  int nfunctions;
  Entry entries[MAX_ENTRIES];
  int nentries;
} Module;

static void die(const char *path, const char *what) {
  fprintf(stderr, "libdoc: %s: %s\n", path, what);
  exit(2);
}

static int row_of(const char *name) {
  for (int r = 0; r < NROWS; r++)
    if (strcmp(rows[r].name, name) == 0) return r;
  return -1;
}

/* --- reading --- */

static char *append(char *text, const char *more, size_t n) {
  size_t old = text ? strlen(text) : 0;
  char *longer = realloc(text, old + n + 1);
  if (!longer) die("memory", "there is no more");
  memcpy(longer + old, more, n);
  longer[old + n] = 0;
  return longer;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* "fn name<..>(..) -> T {": up to the brace; false if the line does not end the head. */
static bool read_function(Module *m, const char *line, int entry, const char *path) {
  const char *s = line + 3, *end = strstr(s, " {");
  size_t n = 0;
  if (!end) return false;
  if (m->nfunctions == MAX_FUNCTIONS) die(path, "too many functions");
  Function *f = &m->functions[m->nfunctions++];
  *f = (Function){.entry = entry};
  while (is_word(s[n])) n++;
  if (n == 8 && strncmp(s, "operator", 8) == 0)
    while (s[n] && s[n] != '(' && s[n] != '<') n++;
  if (n >= sizeof f->name || (size_t)(end - s) >= sizeof f->signature) die(path, "a name or a head is too long");
  memcpy(f->name, s, n);
  memcpy(f->signature, s, (size_t)(end - s));
  if (f->name[0] == '_') m->nfunctions--;
  return true;
}

static void read_comment(char **text, char **examples, const char *line) {
  const char *body = line + 2;
  char **to = text;
  if (*body == '>') to = examples, body++;
  if (*body == ' ') body++;
  *to = append(*to, body, strlen(body));
  *to = append(*to, "\n", 1);
}

/* What has no comment of its own goes to another of its name, or is described by its row alone. */
static void find_entries(Module *m, const char *path) {
  for (int k = 0; k < m->nfunctions; k++) {
    Function *f = &m->functions[k];
    for (int j = 0; j < m->nfunctions && f->entry < 0; j++)
      if (strcmp(m->functions[j].name, f->name) == 0) f->entry = m->functions[j].entry;
    if (f->entry >= 0) continue;
    if (m->nentries == MAX_ENTRIES) die(path, "too many comments");
    f->entry = m->nentries++;
  }
}

static void read_module(const char *path, Module *m) {
  char line[MAX_LINE], head[2 * MAX_LINE] = "";
  char *text = NULL, *examples = NULL;
  int entry = -1;
  bool first = true;
  FILE *f = fopen(path, "r");
  if (!f) die(path, "it cannot be read");
  const char *name = strncmp(path, "lib/", 4) == 0 ? path + 4 : path;
  snprintf(m->name, sizeof m->name, "%.*s", (int)(strlen(name) - 3), name);
  while (fgets(line, sizeof line, f)) {
    size_t n = strlen(line);
    if (n == 0 || line[n - 1] != '\n') die(path, "a line is too long");
    line[n - 1] = 0;
    if (*head) { /* a head of several lines */
      if (strlen(head) + n >= sizeof head) die(path, "a head is too long");
      const char *rest = line + strspn(line, " ");
      strcat(strcat(head, " "), rest);
      if (read_function(m, head, entry, path)) *head = 0;
    } else if (strncmp(line, "//", 2) == 0) {
      if (!text && line[2] != '>') entry = -1;
      if (strncmp(line, "// ---", 6) != 0) read_comment(&text, &examples, line);
    } else if (strncmp(line, "fn ", 3) == 0) {
      if (entry >= 0 && !text && examples) { /* one more example in the midst of a run */
        char **to = &m->entries[entry].examples;
        *to = append(*to, examples, strlen(examples));
        free(examples);
        examples = NULL;
      } else if (text || examples) {
        if (m->nentries == MAX_ENTRIES) die(path, "too many comments");
        entry = m->nentries;
        m->entries[m->nentries++] = (Entry){text, examples};
        text = examples = NULL;
      }
      if (!read_function(m, line, entry, path)) strcpy(head, line);
    } else if (line[0] == 0 || isalpha((unsigned char)line[0])) { /* what came above was about something else */
      if (first && text) m->intro = text, text = NULL;
      first = first && !m->intro;
      free(text);
      free(examples);
      text = examples = NULL;
      entry = -1;
    }
  }
  fclose(f);
  free(text);
  free(examples);
  if (!m->intro) die(path, "it has no introduction");
  find_entries(m, path);
}

/* --- printing --- */

/* Prose: what would mean something in Markdown is quoted. */
static void put_text(const char *s) {
  bool code = false, block = false;
  for (bool start = true; *s; start = *s++ == '\n') {
    if (start) block = strncmp(s, "    ", 4) == 0;
    if (*s == '`') code = !code;
    if (!code && !block && (*s == '*' || *s == '<' || *s == '_' || *s == '[')) putchar('\\');
    putchar(*s);
  }
}

/* One signature for all float types, as the rows have: sin(F x) -> F. */
static void put_row_signature(const Function *f) {
  const char *s = f->signature + strlen(f->name);
  printf("`%s", f->name);
  if (*s == '<') s = strchr(s, '>') + 1;
  while (*s) {
    size_t n = 0;
    while (is_word(s[n])) n++;
    bool type = (n == 3 && (!strncmp(s, "f32", 3) || !strncmp(s, "f64", 3))) || (n == 1 && *s == 'T');
    if (n == 0)
      putchar(*s++);
    else
      printf("%.*s", type ? 1 : (int)n, type ? "F" : s), s += n;
  }
  printf("`");
}

static void put_ulps(double f32, double f64) {
  if (f32 == 0 && f64 == 0)
    printf("exact");
  else if (f32 == f64)
    printf("%g ulp", f32);
  else
    printf("%g ulp in f32, %g in f64", f32, f64);
}

static bool said_before(const Module *m, int f, int entry) {
  for (int k = 0; k < f; k++)
    if (strcmp(m->functions[k].name, m->functions[f].name) == 0 && m->functions[k].entry == entry) return true;
  return false;
}

/* `of` is what kind of kernel they stand in. */
static void put_examples(const char *s, const char *of) {
  if (!s) return;
  printf("\n```hd %s\n", of);
  for (const char *end; *s; s = end + 1) {
    end = strchr(s, '\n');
    int n = (int)(end - s);
    printf(memchr(s, ';', (size_t)n) ? "  %.*s\n" : "  assert(%.*s);\n", n, s);
  }
  printf("```\n");
}

static void put_entry(const Module *m, int e) {
  printf("\n");
  for (int k = 0; k < m->nfunctions; k++) {
    const Function *f = &m->functions[k];
    int row = row_of(f->name);
    if (f->entry != e || (row >= 0 && strncmp(m->name, "math/", 5) == 0 && said_before(m, k, e))) continue;
    if (row < 0 || strncmp(m->name, "math/", 5) != 0) {
      printf("- `%s`\n", f->signature);
      continue;
    }
    printf("- ");
    put_row_signature(f);
    printf(": ");
    put_text(rows[row].meaning);
    printf("; ");
    put_ulps(rows[row].f32, rows[row].f64);
    printf("\n");
  }
  if (m->entries[e].text) {
    printf("\n");
    put_text(m->entries[e].text);
  }
  bool of_group = strncmp(m->name, "group/", 6) == 0 || strncmp(m->name, "tile/", 5) == 0;
  put_examples(m->entries[e].examples, of_group ? "group" : "body");
}

static void put_module(const Module *m) {
  const char *title = strstr(m->intro, " -- ");
  if (!title) die(m->name, "the first line is not 'lib/NAME.hd -- what it is'");
  printf("\n### %s\n\n", m->name);
  putchar(toupper((unsigned char)title[4]));
  put_text(title + 5);
  for (int k = 0; k < m->nfunctions; k++) {
    bool again = false;
    for (int j = 0; j < k; j++) again |= m->functions[j].entry == m->functions[k].entry;
    if (!again) put_entry(m, m->functions[k].entry);
  }
}

/* Functions of the compiler's own: in the table, and in no module of lib/math but for halves. */
static void put_core(void) {
  static const char *const names[] = {"sqrt", "floor", "ceil", "trunc", "rint", "abs", "copysign", "min", "max", "fma"};
  printf("\n| function | accuracy | meaning |\n| --- | --- | --- |\n");
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    int r = row_of(names[k]);
    if (r < 0) die(names[k], "no row of ir/builtins.def");
    printf("| `%s` | ", names[k]);
    put_ulps(rows[r].f32, rows[r].f64);
    printf(" | ");
    for (const char *s = rows[r].meaning; *s; s++) printf(*s == '|' ? "\\|" : "%c", *s);
    printf(" |\n");
  }
}

static void put_families(void) {
  char line[MAX_LINE];
  FILE *f = fopen("lib/families.txt", "r");
  if (!f) die("lib/families.txt", "it cannot be read");
  while (fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    char *names = strstr(line, " | ");
    if (line[0] == '#') {
      printf("\n| %s | |\n| --- | --- |\n", line + 2);
    } else if (!names) {
      die(line, "a row of lib/families.txt without a bar");
    } else if (strncmp(names, " | - ", 5) == 0) {
      printf("| %.*s | %s |\n", (int)(names - line), line, names + 5);
    } else {
      printf("| %.*s |", (int)(names - line), line);
      for (char *n = strtok(names + 3, " "); n; n = strtok(NULL, " ")) printf(" `%s`", n);
      printf(" |\n");
    }
  }
  fclose(f);
}

static void put_section(const Module *modules, int n, const char *name) {
  if (strcmp(name, "core") == 0) put_core();
  if (strcmp(name, "families") == 0) put_families();
  size_t len = strlen(name);
  for (int i = 0; i < n; i++)
    if (strncmp(modules[i].name, name, len) == 0 && modules[i].name[len] == '/' && modules[i].nfunctions)
      put_module(&modules[i]);
}

static void put_page(const char *path, const Module *modules, int n) {
  char line[4096], name[32];
  bool skipping = false;
  FILE *f = fopen(path, "r");
  if (!f) die(path, "it cannot be read");
  while (fgets(line, sizeof line, f)) {
    if (strcmp(line, "<!-- end -->\n") == 0) skipping = false;
    if (!skipping) fputs(line, stdout);
    if (sscanf(line, "<!-- made by tools/libdoc: %31[a-z] -->", name) != 1) continue;
    skipping = true;
    put_section(modules, n, name);
    printf("\n");
  }
  fclose(f);
  if (skipping) die(path, "a mark has no end");
}

/* --- checking --- */

static bool has_word(const char *text, const char *word) {
  size_t n = strlen(word);
  for (const char *s = text; s && (s = strstr(s, word)); s++)
    if ((s == text || !is_word(s[-1])) && !is_word(s[n])) return true;
  return false;
}

/* A comment on one overload is enough. Geometry's structures and textures come from the host, so examples cannot make them. */
static bool check_function(const Module *m, const Function *f) {
  bool described = row_of(f->name) >= 0,
       shown = strncmp(m->name, "geometry/", 9) == 0 || strcmp(m->name, "texture/sampler") == 0;
  for (int k = 0; k < m->nfunctions; k++)
    if (strcmp(m->functions[k].name, f->name) == 0) described |= m->entries[m->functions[k].entry].text != NULL;
  const char *sign = strncmp(f->name, "operator", 8) == 0 ? f->name + 8 : NULL;
  for (int e = 0; e < m->nentries; e++)
    shown |= m->entries[e].examples &&
             (sign ? strstr(m->entries[e].examples, sign) != NULL : has_word(m->entries[e].examples, f->name));
  if (!described) printf("%s: %s has no comment\n", m->name, f->name);
  if (!shown) printf("%s: %s is in no example\n", m->name, f->name);
  return described && shown;
}

static int check(const Module *modules, int n) {
  bool ok = true;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < modules[i].nfunctions; k++) {
      bool again = false;
      for (int j = 0; j < k; j++) again |= strcmp(modules[i].functions[j].name, modules[i].functions[k].name) == 0;
      if (!again) ok &= check_function(&modules[i], &modules[i].functions[k]);
    }
  return !ok;
}

static void free_modules(Module *m, int n) {
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < m[i].nentries; k++) {
      free(m[i].entries[k].text);
      free(m[i].entries[k].examples);
    }
    free(m[i].intro);
  }
  free(m);
}

int main(int argc, char **argv) {
  if (argc < 3) return fputs("usage: libdoc PAGE.md|--check FILE.hd..\n", stderr), 2;
  int n = argc - 2;
  Module *modules = calloc((size_t)n, sizeof *modules);
  if (!modules) die("memory", "there is no more");
  for (int i = 0; i < n; i++) read_module(argv[2 + i], &modules[i]);
  int status = 0;
  if (strcmp(argv[1], "--check") == 0)
    status = check(modules, n);
  else
    put_page(argv[1], modules, n);
  free_modules(modules, n);
  return status;
}
