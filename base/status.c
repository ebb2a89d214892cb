/* base/status.c -- the names and sentences of errors.def. */
#include "heddle/status.h"

const char *hd_status_name(HdStatus status) {
  switch (status) {
  case HD_OK: return "OK";
#define HD_ERROR(name, number, text, remedy) case HD_ERR_##name: return #name;
#include "heddle/errors.def"
  }
  return "UNKNOWN";
}

const char *hd_status_text(HdStatus status) {
  switch (status) {
  case HD_OK: return "no error";
#define HD_ERROR(name, number, text, remedy) case HD_ERR_##name: return text;
#include "heddle/errors.def"
  }
  return "";
}
