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

typedef struct Cause {
  char text[200];
  const char *remedy; /* NULL: the status's own */
} Cause;

static void say(Cause *c, const char *text, const char *remedy) {
  snprintf(c->text, sizeof c->text, "%s", text);
  c->remedy = remedy;
}

/* Which of the reasons it is that no device is there. */
static void no_device(Cause *c) {
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  if (visible) {
    snprintf(c->text, sizeof c->text,
             "CUDA_VISIBLE_DEVICES='%.60s' hides all devices; an entry that names none hides it and all after it",
             visible);
    c->remedy = "correct or unset CUDA_VISIBLE_DEVICES";
  } else if (access("/dev/nvidiactl", F_OK) != 0) {
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
    no_device(c);
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
