/* tools/heddle/main.c -- heddle, the one command-line tool. Each command is a row here and a file beside this one. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "tools/heddle/cli.h"

static const CliCommand *const commands[] = {&cmd_info, &cmd_check, &cmd_compile, &cmd_opt, &cmd_run, &cmd_cache};
enum { NCOMMANDS = sizeof commands / sizeof *commands };

static void usage(FILE *f) {
  fprintf(f, "usage: heddle COMMAND [OPTION..] [ARG..]\n\nCompiles simulation kernels and runs them.\n\ncommands:\n");
  for (int i = 0; i < NCOMMANDS; i++) fprintf(f, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
  fprintf(f, "\n'heddle COMMAND --help' has a command's options; 'heddle --version' the version.\n");
}

static int unknown(const char *word) {
  const char *best = NULL;
  int distance = 3;
  for (int i = 0; i < NCOMMANDS; i++) {
    int d = hdb_edit_distance(word, commands[i]->name, distance);
    if (d < distance) best = commands[i]->name, distance = d;
  }
  fprintf(stderr, "error: heddle: '%s': there is no such command%s%s%s; 'heddle --help' lists them\n", word,
          best ? "; did you mean '" : "", best ? best : "", best ? "'?" : "");
  return 1;
}

static int run(const CliCommand *command, int argc, char **argv) {
  Cli cli;
  int status = 1;
  if (cli_parse(&cli, command, argc, argv)) {
    if (cli_has(&cli, "help")) {
      cli_help(command);
      status = 0;
    } else {
      status = command->run(&cli);
    }
    /* What was printed must have arrived, or the exit status would lie. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
      if (status == 0) cli_fail(&cli, HD_ERR_IO, "", "standard output could not be written");
      status = 1;
    }
  }
  cli_end(&cli);
  return status;
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error like any other */
  if (argc < 2) {
    usage(stderr);
    return 1;
  }
  const char *word = argv[1];
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
    usage(stdout);
    return fflush(stdout) != 0;
  }
  if (strcmp(word, "--version") == 0) {
    printf("heddle %s\n", hd_version());
    return fflush(stdout) != 0;
  }
  for (int i = 0; i < NCOMMANDS; i++)
    if (strcmp(word, commands[i]->name) == 0) return run(commands[i], argc - 2, argv + 2);
  return unknown(word);
}
