/* base/status.c -- the names, sentences and remedies of errors.def. */
#include "base/fail.h"

typedef struct ErrorRow {
  HdStatus status;
  const char *name, *text, *remedy;
} ErrorRow;

static const ErrorRow rows[] = {
    {HD_OK, "OK", "no error", NULL},
#define HD_ERROR(name, number, text, remedy) {HD_ERR_##name, #name, text, remedy},
#include "heddle/errors.def"
};

static const ErrorRow *row_of(HdStatus status) {
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
    if (rows[k].status == status) return &rows[k];
  return NULL;
}

const char *hd_status_name(HdStatus status) {
  const ErrorRow *row = row_of(status);
  return row ? row->name : "UNKNOWN";
}

const char *hd_status_text(HdStatus status) {
  const ErrorRow *row = row_of(status);
  return row ? row->text : "";
}

const char *hdb_status_remedy(HdStatus status) {
  const ErrorRow *row = row_of(status);
  return row ? row->remedy : NULL;
}
