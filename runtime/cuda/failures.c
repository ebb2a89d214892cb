/* runtime/cuda/failures.c -- a code of the driver, turned into what happened, why, and what to do.
 *
 * Most causes are rows of failures.def. For a few the system shows which of several it is: whether devices are hidden,
 * whether the kernel module is there, whether this process is a child of the one that began.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cuda/driver.h"

/* --- what the system shows --- */

/* The version is the first word of /proc/driver/nvidia/version that begins with a digit. */
static void look_at_module(char *out, size_t size) {
  char line[200] = "", *save = NULL;
  FILE *f = fopen("/proc/driver/nvidia/version", "re");
  *out = 0;
  if (!f) return;
  if (!fgets(line, sizeof line, f)) *line = 0;
  fclose(f);
  for (char *word = strtok_r(line, " \n", &save); word; word = strtok_r(NULL, " \n", &save))
    if (*word >= '0' && *word <= '9') {
      snprintf(out, size, "%s", word);
      return;
    }
}

void hdcu_look(CuEvidence *out) {
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  *out = (CuEvidence){
      .wsl = access("/usr/lib/wsl", F_OK) == 0 || access("/proc/sys/fs/binfmt_misc/WSLInterop", F_OK) == 0,
      .device_file = access("/dev/nvidiactl", F_OK) == 0,
      .limited = visible != NULL,
  };
  snprintf(out->visible, sizeof out->visible, "%s", visible ? visible : "");
  look_at_module(out->module, sizeof out->module);
}

/* --- causes --- */

typedef struct Cause {
  char text[200];
  const char *remedy; /* NULL: the status's own */
} Cause;

static void say(Cause *c, const char *text, const char *remedy) {
  snprintf(c->text, sizeof c->text, "%s", text);
  c->remedy = remedy;
}

/* Which of the reasons it is that no device is there. */
static void no_device(const CuEvidence *seen, Cause *c) {
  if (seen->limited) {
    snprintf(c->text, sizeof c->text,
             "CUDA_VISIBLE_DEVICES='%s' hides all devices; an entry that names none hides it and all after it",
             seen->visible);
    c->remedy = "correct or unset CUDA_VISIBLE_DEVICES";
  } else if (!seen->device_file) {
    say(c,
        "there is no /dev/nvidiactl: the machine has no NVIDIA GPU, its kernel module is not loaded, or this is a "
        "container without it",
        "start the container with its GPUs (docker run --gpus all), or load the kernel module with 'modprobe nvidia'");
  } else {
    say(c, "the driver finds no GPU that it supports", "look for an NVRM message in the kernel's log");
  }
}

static void not_initialized(const CuDriver *d, Cause *c) {
  if (d->pid && d->pid != (int)getpid()) {
    snprintf(c->text, sizeof c->text,
             "CUDA was initialised in process %d before it forked, and cannot be used in this child (%d)", d->pid,
             (int)getpid());
    c->remedy = "use the device only after the fork, or start workers as new processes";
  } else {
    say(c, "the driver was not initialised, or was ended", "start the process again");
  }
}

static void find_cause(const CuDriver *d, CuResult code, const char *call, Cause *c) {
  static const struct {
    CuResult code;
    const char *call, *text, *remedy;
  } rows[] = {
#define CU_FAILURE(code, call, text, remedy) {code, call, text, remedy},
#include "runtime/cuda/failures.def"
  };
  if (code == CU_NO_DEVICE) {
    no_device(&d->seen, c);
    return;
  }
  if (code == CU_NOT_INITIALIZED) {
    not_initialized(d, c);
    return;
  }
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].code != code || (*rows[i].call && strcmp(rows[i].call, call) != 0)) continue;
    say(c, rows[i].text, rows[i].remedy);
    return;
  }
  const char *text = NULL;
  if (d->cuGetErrorString) d->cuGetErrorString(code, &text);
  say(c, text ? text : "the driver does not say why", "look the code up in the documentation of the CUDA driver");
}

HdStatus hdcu_fail(const CuDriver *d, CuResult code, const char *call, CuWhere where, HdError *err) {
  const char *name = NULL;
  Cause c;
  if (d->cuGetErrorName) d->cuGetErrorName(code, &name);
  find_cause(d, code, call, &c);
  HdStatus status =
      hdb_fail(err, code == CU_OUT_OF_MEMORY ? HD_ERR_NOMEM : HD_ERR_CUDA, where.device ? where.device : "",
               "%s gave %d (%s): %s%s%s", call, code, name ? name : "a code that the driver does not know", c.text,
               where.detail ? "; " : "", where.detail ? where.detail : "");
  if (err && c.remedy) err->remedy = c.remedy;
  return status;
}

HdStatus hdcu_fail_absent(const CuDriver *d, const char *tried, bool named, HdError *err) {
  HdStatus status = hdb_fail(err, HD_ERR_CUDA, "", "no NVIDIA driver was found: %s", tried);
  if (err && named)
    err->remedy = "correct HEDDLE_LIBCUDA, or unset it to search the usual places";
  else if (err && d->seen.wsl)
    err->remedy = "update the NVIDIA driver of Windows, which provides /usr/lib/wsl/lib; install none inside WSL";
  return status;
}
