// tests/diff/describe.cc -- the description of a case as lines of text, and back.
//
//     diff: kernel NAME              what follows is for this kernel; before it, for all of the file
//     diff: dims N [N ..] [fixed]    the launch; the last one also takes ragged sizes, unless fixed
//     diff: seed N
//     diff: faults                   asserts and checks may fail
//     diff: NAME ROLE LEN[,LEN ..] [FILL]   an array (NAME.k: array k inside a struct)
//     diff: NAME [FILL]              a value
//     diff: NAME alias OTHER         the array that OTHER is
//
//     ROLE   read, own (each thread its own elements), atomic
//     LEN    N, dK, dK*N, dK*N+N, all*N+N, ..   dK is the launch's extent along axis K, all the number of threads
//     FILL   wild (any bits, the default), LO..HI, or one number
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "diff.h"

namespace diff {
namespace {

const char *const kRoles[] = {"read", "own", "atomic"};

std::string Number(double x) {
  char text[40];
  snprintf(text, sizeof text, "%.17g", x);
  return text;
}

std::string Spell(const Fill &f) {
  if (f.wild) return "wild";
  return f.lo == f.hi ? Number(f.lo) : Number(f.lo) + ".." + Number(f.hi);
}

std::string Spell(const Extent &e) {
  if (e.axis == Extent::kNone) return std::to_string(e.extra);
  std::string n = e.axis == Extent::kAll ? "all" : "d" + std::to_string(e.axis);
  return n + "*" + std::to_string(e.per) + "+" + std::to_string(e.extra);
}

std::string Spell(const ArraySpec &a) {
  std::string text = kRoles[(int)a.role];
  for (size_t k = 0; k < a.extent.size(); k++) text += (k ? "," : " ") + Spell(a.extent[k]);
  return text + " " + Spell(a.fill);
}

bool ReadFill(const std::string &word, Fill *f) {
  f->wild = word == "wild";
  if (f->wild) return true;
  char *end;
  f->lo = f->hi = strtod(word.c_str(), &end);
  if (end == word.c_str()) return false;
  if (end[0] == '.' && end[1] == '.') f->hi = strtod(end + 2, &end);
  // "0..1": strtod takes "0." and leaves ".1".
  else if (end[0] == '.' && end > word.c_str() && end[-1] == '.')
    f->hi = strtod(end + 1, &end);
  return *end == 0;
}

bool ReadExtent(const char *s, Extent *e) {
  char *end = (char *)s;
  e->per = 1, e->extra = 0, e->axis = Extent::kNone;
  if (!strncmp(s, "all", 3))
    e->axis = Extent::kAll, end += 3;
  else if (*s == 'd')
    e->axis = (int)strtol(s + 1, &end, 10);
  else
    return e->per = 0, e->extra = (int)strtol(s, &end, 10), end != s && *end == 0;
  if (*end == '*') e->per = (int)strtol(end + 1, &end, 10);
  if (*end == '+' || *end == '-') e->extra = (int)strtol(end, &end, 10);
  return *end == 0;
}

bool ReadExtents(const std::string &word, std::vector<Extent> *to) {
  std::istringstream in(word);
  for (std::string one; std::getline(in, one, ',');) {
    to->emplace_back();
    if (!ReadExtent(one.c_str(), &to->back())) return false;
  }
  return !to->empty();
}

int FindParam(const IrFunc *fn, const std::string &name) {
  for (uint32_t k = 0; k < fn->body->nparams; k++)
    if (fn->body->params[k]->name && name == fn->body->params[k]->name) return (int)k;
  return -1;
}

uint32_t CountArrays(const IrType *t) {
  if (t->kind == IR_ARRAY) return 1;
  uint32_t n = 0;
  for (uint32_t k = 0; k < t->nparts; k++) n += CountArrays(hdir_part(t, k));
  return n;
}

bool ReadDims(std::istringstream *in, Case *c) {
  c->dim.clear();
  for (std::string word; *in >> word;) {
    if (word == "fixed")
      c->ragged = false;
    else
      c->dim.push_back(atoll(word.c_str()));
  }
  return !c->dim.empty() && c->dim.size() <= HD_MAX_DIMS;
}

bool ReadArray(const std::string &role, std::istringstream *in, ArraySpec *a) {
  for (int k = 0; k < 3; k++)
    if (role == kRoles[k]) a->role = (Role)k;
  std::string word;
  if (!(*in >> word) || !ReadExtents(word, &a->extent)) return false;
  return !(*in >> word) || ReadFill(word, &a->fill);
}

bool ReadParam(const std::string &name, std::istringstream *in, const IrFunc *fn, Case *c) {
  size_t dot = name.find('.');
  int p = FindParam(fn, name.substr(0, dot));
  if (p < 0) return false;
  std::vector<ArraySpec> &arrays = c->params[(size_t)p].arrays;
  std::string word;
  if (!(*in >> word)) return true;
  if (word == "alias") {
    if (!(*in >> word)) return false;
    int other = FindParam(fn, word);
    if (other < 0 || other >= p) return false;
    c->params[(size_t)p] = c->params[(size_t)other];
    c->params[(size_t)p].alias = other;
    return true;
  }
  if (word != "read" && word != "own" && word != "atomic") return ReadFill(word, &c->params[(size_t)p].fill);
  size_t k = dot == std::string::npos ? 0 : (size_t)atoi(name.c_str() + dot + 1);
  if (arrays.size() <= k) arrays.resize(k + 1);
  return ReadArray(word, in, &arrays[k]);
}

} // namespace

std::string Describe(const Case &c, const char *comment) {
  const IrFunc *fn = hdir_func_find(c.module, c.kernel.c_str());
  std::string line = std::string(comment) + " diff: ", text = line + "kernel " + c.kernel + "\n" + line + "dims";
  for (int64_t n : c.dim) text += " " + std::to_string(n);
  text += std::string(c.ragged ? "" : " fixed") + "\n" + line + "seed " + std::to_string(c.seed) + "\n";
  if (c.faults) text += line + "faults\n";
  for (size_t p = 0; p < c.params.size(); p++) {
    const Param &param = c.params[p];
    std::string name = fn->body->params[p]->name ? fn->body->params[p]->name : "?";
    bool plain = fn->body->params[p]->type->kind == IR_ARRAY;
    if (param.alias >= 0) {
      text += line + name + " alias " + fn->body->params[param.alias]->name + "\n";
      continue;
    }
    if (!plain) text += line + name + " " + Spell(param.fill) + "\n";
    for (size_t k = 0; k < param.arrays.size(); k++)
      text += line + name + (plain ? "" : "." + std::to_string(k)) + " " + Spell(param.arrays[k]) + "\n";
  }
  return text;
}

std::string ReadDescription(const std::string &text, const IrFunc *fn, Case *c) {
  std::istringstream lines(text);
  std::string section;
  c->kernel = fn->name;
  c->params.assign(fn->body->nparams, Param());
  for (std::string line; std::getline(lines, line);) {
    size_t at = line.find("diff: ");
    if (at == std::string::npos) continue;
    std::istringstream in(line.substr(at + 6));
    std::string word;
    in >> word;
    bool ok = true;
    if (word == "kernel")
      in >> section;
    else if (!section.empty() && section != fn->name)
      continue;
    else if (word == "dims")
      ok = ReadDims(&in, c);
    else if (word == "seed")
      ok = (bool)(in >> c->seed);
    else if (word == "faults")
      c->faults = true;
    else
      ok = ReadParam(word, &in, fn, c);
    if (!ok) return "this line is not understood: " + line;
  }
  if (c->dim.empty()) return "there is no line \"diff: dims ..\" for kernel " + c->kernel;
  for (uint32_t k = 0; k < fn->body->nparams; k++)
    if (c->params[k].arrays.size() != CountArrays(fn->body->params[k]->type))
      return "the arrays of parameter " + std::to_string(k) + " of kernel " + c->kernel + " are not described";
  return "";
}

} // namespace diff
