/* tools/heddle/cli.h -- commands and options as tables, and how the tool speaks.
 *
 * A command is a row: its options, its help and its function. Results go to standard output, everything else to standard
 * error; a command that succeeds says nothing that was not asked for. Errors are the library's records, in one line.
 */
#ifndef CLI_H
#define CLI_H

#include "heddle/heddle.h"
#include "tools/npy/outfile.h"
HD_BEGIN_DECLS

typedef struct CliOption {
  const char *name;   /* "emit": --emit=VALUE                          */
  char        letter; /* 'o': -o VALUE, or 0                           */
  const char *value;  /* what --help calls the value; NULL: a flag     */
  const char *help;
} CliOption;

typedef struct Cli Cli;

typedef struct CliCommand {
  const char      *name, *operands, *summary;
  const char      *details;  /* more for --help, or NULL             */
  const CliOption *options;  /* ends with a NULL name, or NULL       */
  int (*run)(Cli *cli);      /* returns the exit status              */
} CliCommand;

typedef struct CliValue {
  const CliOption *option;
  const char      *value; /* NULL for a flag */
} CliValue;

struct Cli {
  const CliCommand *command;
  char              call[32]; /* "heddle run": what errors name                     */
  int               nvalues, noperands;
  CliValue         *values;   /* options as given, in order                         */
  const char      **operands;
};

/* --- the table (main.c) --- */
extern const CliCommand cmd_info, cmd_check, cmd_compile, cmd_opt, cmd_run, cmd_cache;

/* --- reading the command line (cli.c) --- */
/* argv[0] is the first word after the command. False after an error was printed. */
bool        cli_parse(Cli *cli, const CliCommand *command, int argc, char **argv);
void        cli_end(Cli *cli);
void        cli_help(const CliCommand *command);
bool        cli_has(const Cli *cli, const char *name);
const char *cli_get(const Cli *cli, const char *name); /* the last one given, or NULL  */
/* *out stays as it is where the option was not given. False after an error was printed. */
bool cli_int(const Cli *cli, const char *name, int64_t low, int64_t high, int64_t *out);

/* --- errors (report.c): all print and return 1, the exit status --- */
int cli_fail(const Cli *cli, HdStatus status, const char *arg, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
int cli_report(const Cli *cli, const HdError *error);                   /* a record, as the tool's own           */
int cli_failed(const Cli *cli, HdContext *ctx, HdStatus status);        /* the context's record and diagnostics  */

/* An HdContextOptions.log: warnings, to standard error. */
void cli_log(void *user, HdLogLevel level, const char *message);

/* --- the terminal (report.c) --- */
bool cli_color(FILE *f); /* it is a terminal and not a dumb one, and NO_COLOR is not set */
/* On a terminal, and once it has taken a while: "running step .. 3 s", until the end. Calls do not nest. */
void cli_progress_begin(const char *what);
void cli_progress_end(void);

/* --- GPUs (ptxas.c) --- */
/* Print the registers and spills of each entry of a PTX text to standard error; returns the exit status. */
int cli_ptxas(const Cli *cli, const char *ptx, size_t size, const char *target);

/* --- modules (loading.c) --- */
#define CLI_MODULE_OPTIONS                                                                                             \
  {"define", 'D', "NAME=VALUE", "bind a const parameter, or a const without a value"},                                \
      {"include", 'I', "DIR", "a folder that import searches"},                                                        \
      {"fast", 0, NULL, "allow approximations; results may differ between targets"},                                  \
      {"bounds", 0, NULL, "check every array access (run does, unless --no-bounds)"}, {                                     \
    "width", 0, "N", "lanes of a gang: 1, 2, 4, 8, 16 or 32; chosen for each kernel if not given"                     \
  }
#define CLI_NO_BOUNDS {"no-bounds", 0, NULL, "trust every index: faster, and an index outside its array does damage"}
#define CLI_CONTEXT_OPTIONS                                                                                            \
  {"threads", 0, "N", "threads of a launch; one for each core if not given"},                                         \
      {"cache", 0, "DIR", "the folder of compiled code"}, {                                                            \
    "no-cache", 0, NULL, "neither read nor write compiled code"                                                        \
  }

/* A context from the options above. False after an error was printed. */
bool cli_context(const Cli *cli, bool no_cache, HdContext **out);
/* A module from a file: IR text if it ends in ".ir", else kernel source. False after an error was printed. */
bool cli_load(const Cli *cli, HdContext *ctx, const char *path, const char *target, HdModule **out);
/* The whole of a file, "-" for standard input, with a zero added. The caller frees it. NULL after an error was printed. */
char *cli_read(const Cli *cli, const char *path, size_t *size);
/* The value of -D NAME, or NULL. `n` is the name's length. */
const char *cli_define(const Cli *cli, const char *name, size_t n);
/* Write to a file, or to standard output if path is NULL. False after an error was printed. */
bool cli_write(const Cli *cli, const char *path, const char *data, size_t size);

HD_END_DECLS
#endif
