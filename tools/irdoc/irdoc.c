/* tools/irdoc/irdoc.c -- prints a page of the documentation with its tables made anew.
 *
 *     irdoc docs/ir.md >new.md
 *
 * What stands between "<!-- made by tools/irdoc: NAME -->" and "<!-- end -->" is replaced by what NAME stands for: ops,
 * reasons or passes. Passes are described by the comments at the heads of their files, so it runs at the top of the tree.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

static const struct {
  IrOp first;
  const char *title;
} groups[] = {
    {IR_add, "Arithmetic"},  {IR_and, "Bits"},          {IR_eq, "Comparison"}, {IR_select, "Choice and conversion"},
    {IR_make, "Composites"}, {IR_tex, "Texture units"}, {IR_length, "Memory"}, {IR_atomic_add, "Atomics"},
    {IR_tid, "The launch"},  {IR_ltid, "Groups"},       {IR_if, "Control"},    {IR_yield, "Enders"}};

static const char *const effects[] = {[FX_PURE] = "",         [FX_LAUNCH] = "launch", [FX_LOCAL] = "local",
                                      [FX_READS] = "reads",   [FX_WRITES] = "writes", [FX_ATOMIC] = "atomic",
                                      [FX_REPORT] = "report", [FX_CALL] = "call",     [FX_CONTROL] = "control",
                                      [FX_GROUP] = "group",   [FX_END] = "end"};

static const struct {
  uint32_t law;
  const char *text;
} laws[] = {{COMM, "commutes"},
            {ASSOC_I, "associates (integers)"},
            {ID_ZERO, "0 is neutral"},
            {RID_ZERO, "0 on the right is neutral"},
            {ID_ONE, "1 is neutral"},
            {RID_ONE, "1 on the right is neutral"},
            {ZERO_I, "0 absorbs (integers)"},
            {SELF_ZERO_I, "a op a = 0 (integers)"},
            {IDEM, "twice is once"},
            {IDEM2, "a op a = a"},
            {INVOL, "twice is nothing"}};

/* In a table's cell, where a bar would end it. */
static void put_cell(const char *s) {
  for (; *s; s++) printf(*s == '|' ? "\\|" : "%c", *s);
}

static void put_op(const IrOpRow *op) {
  static const char *const imms[] = {"", ", axis", ", part", ", \"text\"", ", unit"};
  printf("| `%s` | ", op->name);
  for (const char *c = op->operands; *c && *c != '.'; c++) printf("%s%c", c == op->operands ? "" : " ", *c);
  printf("%s | %s | %s | ", imms[op->imm], strcmp(op->result, ".") == 0 ? "" : op->result, effects[op->effect]);
  put_cell(op->meaning);
  const char *before = ". *";
  for (size_t k = 0; k < sizeof laws / sizeof *laws; k++) {
    if (!(op->laws & laws[k].law)) continue;
    printf("%s%s", before, laws[k].text);
    before = ", ";
  }
  printf("%s |\n", op->laws ? ".*" : "");
}

static void put_ops(void) {
  size_t group = 0;
  for (uint32_t op = 0; op < IR_NOPS; op++) {
    if (group < sizeof groups / sizeof *groups && op == (uint32_t)groups[group].first)
      printf("\n### %s\n\n| op | operands | result | effect | meaning |\n| --- | --- | --- | --- | --- |\n",
             groups[group++].title);
    put_op(&hdir_ops[op]);
  }
  if (group != sizeof groups / sizeof *groups) exit(3); /* the groups no longer follow the ops' order */
}

static void put_reasons(void) {
  printf("\n| reason | a value varies because |\n| --- | --- |\n");
#define IR_REASON(name, text) printf("| `%s` | %s |\n", #name, text);
#include "ir/reasons.def"
}

static FILE *open_or_exit(const char *path) {
  FILE *f = fopen(path, "r");
  if (f) return f;
  perror(path);
  exit(1);
}

/* The comment at the head of a pass's file, without its first line, which says what the table says too. */
static void put_pass(const char *name, const char *summary) {
  char path[128], line[512];
  snprintf(path, sizeof path, "passes/%s.c", name);
  FILE *f = open_or_exit(path);
  printf("\n## %s\n\n%s.\n", name, summary);
  bool contract = false;
  for (int n = 0; fgets(line, sizeof line, f) && strncmp(line, " */", 3) != 0; n++) {
    if (n == 0) continue;
    const char *text = strncmp(line, " * ", 3) == 0 ? line + 3 : "\n";
    if (!contract && strncmp(text, "needs ", 6) == 0) printf("```text\n");
    contract |= strncmp(text, "needs ", 6) == 0;
    fputs(text, stdout);
  }
  if (contract) printf("```\n");
  fclose(f);
}

static void put_passes(void) {
#define OPT_PASS(name, summary) put_pass(#name, summary);
#include "passes/passes.def"
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*put)(void);
  } sections[] = {{"ops", put_ops}, {"reasons", put_reasons}, {"passes", put_passes}};
  char line[4096], name[32];
  bool skipping = false;
  if (argc != 2) return fputs("usage: irdoc PAGE.md >NEW.md\n", stderr), 2;
  FILE *f = open_or_exit(argv[1]);
  while (fgets(line, sizeof line, f)) {
    if (strcmp(line, "<!-- end -->\n") == 0) skipping = false;
    if (!skipping) fputs(line, stdout);
    if (sscanf(line, "<!-- made by tools/irdoc: %31[a-z] -->", name) != 1) continue;
    skipping = true;
    for (size_t k = 0; k < sizeof sections / sizeof *sections; k++)
      if (strcmp(sections[k].name, name) == 0) sections[k].put();
    printf("\n");
  }
  fclose(f);
  return skipping;
}
