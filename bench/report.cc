// bench/report.cc -- figures as JSON: written, read back with every fault named, and compared.
#include "bench/report.h"

#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

namespace bench {
namespace {

std::string Format(const char *format, ...) __attribute__((format(printf, 1, 2)));

std::string Format(const char *format, ...) {
  char line[512];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  return line;
}

std::string Quoted(const std::string &s) {
  std::string r = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') r += '\\';
    r += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return r + "\"";
}

// One value of a figure's object.
struct Value {
  enum Kind { TEXT, NUMBER, TRUTH } kind = TEXT;
  std::string text;
  double number = 0; // of a truth too: 0 or 1
};

// The text of a report, from the front to the back. The first fault stays in `why`.
class Reader {
public:
  explicit Reader(const std::string &text) : text_(text) {}
  std::string why;

  bool Report(std::vector<Figure> *out) {
    if (!Want('[', "a list of figures")) return false;
    std::map<std::string, size_t> at;
    if (!Take(']')) {
      do {
        Figure f;
        if (!Object() || !AsFigure(&f)) return false;
        auto was = at.emplace(f.name, out->size());
        if (was.second)
          out->push_back(f);
        else
          (*out)[was.first->second] = f;
      } while (Take(','));
      if (!Want(']', "',' or ']'")) return false;
    }
    Space();
    if (at_ != text_.size()) return Fault("the end of the file");
    if (out->empty()) why = "it has no figure";
    return why.empty();
  }

private:
  void Space() {
    while (at_ < text_.size() && strchr(" \t\r\n", text_[at_])) at_++;
  }
  bool Take(char c) {
    Space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    at_++;
    return true;
  }
  bool Want(char c, const char *what) { return Take(c) || Fault(what); }

  bool Fault(const std::string &wanted) {
    size_t line = 1;
    for (size_t i = 0; i < at_; i++) line += text_[i] == '\n';
    std::string found = at_ >= text_.size() ? "the end of the file" : "'" + text_.substr(at_, 12) + "'";
    for (char &c : found)
      if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') c = '?';
    if (why.empty()) why = "line " + std::to_string(line) + ": wanted " + wanted + ", found " + found;
    return false;
  }

  bool Text(std::string *out) {
    if (!Want('"', "a text in quotes")) return false;
    for (out->clear(); at_ < text_.size() && text_[at_] != '"'; at_++) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) at_++;
      *out += text_[at_];
    }
    return Want('"', "the end of a text");
  }

  bool Object() {
    object_.clear();
    if (!Want('{', "a figure")) return false;
    if (Take('}')) return true;
    do {
      std::string key;
      Value v;
      if (!Text(&key) || !Want(':', "':'") || !Any(&v)) return false;
      object_[key] = v;
    } while (Take(','));
    return Want('}', "',' or '}'");
  }

  bool Any(Value *v) {
    Space();
    const char *from = text_.c_str() + at_;
    if (*from == '"') return Text(&v->text);
    for (const char *word : {"true", "false"})
      if (strncmp(from, word, strlen(word)) == 0) {
        v->kind = Value::TRUTH;
        v->number = *word == 't';
        at_ += strlen(word);
        return true;
      }
    char *end;
    v->kind = Value::NUMBER;
    v->number = strtod(from, &end);
    if (end == from || !std::isfinite(v->number)) return Fault("a finite number, true, false or a text");
    at_ += size_t(end - from);
    return true;
  }

  const Value *Key(const char *name, Value::Kind kind) {
    auto it = object_.find(name);
    if (it != object_.end() && it->second.kind == kind) return &it->second;
    if (why.empty())
      why = Format("a figure%s has no %s \"%s\"",
                   object_.count("name") ? (" " + Quoted(object_["name"].text)).c_str() : "",
                   kind == Value::TEXT     ? "text"
                   : kind == Value::NUMBER ? "number"
                                           : "truth",
                   name);
    return nullptr;
  }

  bool AsFigure(Figure *f) {
    const Value *name = Key("name", Value::TEXT), *unit = Key("unit", Value::TEXT);
    const Value *more = Key("more_is_better", Value::TRUTH), *median = Key("median", Value::NUMBER);
    const Value *low = Key("low", Value::NUMBER), *high = Key("high", Value::NUMBER);
    if (!name || !unit || !more || !median || !low || !high) return false;
    f->name = name->text, f->unit = unit->text, f->at_least = more->number != 0;
    f->value.median = median->number, f->value.low = low->number, f->value.high = high->number;
    return true;
  }

  const std::string &text_;
  size_t at_ = 0;
  std::map<std::string, Value> object_;
};

std::string Show(const Spread &s) { return Format("%.4g [%.4g .. %.4g]", s.median, s.low, s.high); }

bool Worse(const Figure &old, const Figure &now) {
  const Spread &o = old.value, &n = now.value;
  return now.at_least ? n.high < o.low && n.median < 0.99 * o.median : n.low > o.high && n.median > 1.01 * o.median;
}

// "a, b, c and 4 more"
std::string List(const std::vector<std::string> &names) {
  std::string r;
  for (size_t i = 0; i < names.size() && i < 3; i++) r += (i ? ", " : "") + Quoted(names[i]);
  return names.size() > 3 ? r + " and " + std::to_string(names.size() - 3) + " more" : r;
}

} // namespace

bool WriteReport(const std::vector<Figure> &figures, const std::string &path) {
  FILE *out = fopen(path.c_str(), "w");
  if (!out) return false;
  fprintf(out, "[\n");
  for (size_t i = 0; i < figures.size(); i++) {
    const Figure &f = figures[i];
    fprintf(out,
            "  {\"name\": %s, \"unit\": %s, \"more_is_better\": %s, \"median\": %.6g, \"low\": %.6g, \"high\": %.6g, "
            "\"best\": %.6g",
            Quoted(f.name).c_str(), Quoted(f.unit).c_str(), f.at_least ? "true" : "false", f.value.median, f.value.low,
            f.value.high, f.value.best);
    if (f.limit != 0) fprintf(out, ", \"limit\": %g, \"met\": %s", f.limit, f.Reaches(f.limit) ? "true" : "false");
    if (f.goal != 0) fprintf(out, ", \"goal\": %g, \"reached\": %s", f.goal, f.Reaches(f.goal) ? "true" : "false");
    fprintf(out, "}%s\n", i + 1 < figures.size() ? "," : "");
  }
  fprintf(out, "]\n");
  bool good = !ferror(out);
  return fclose(out) == 0 && good;
}

bool ReadReport(const std::string &path, std::vector<Figure> *out, std::string *why) {
  out->clear();
  FILE *in = fopen(path.c_str(), "r");
  if (!in) {
    *why = path + ": " + strerror(errno);
    return false;
  }
  std::string text;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, in)) > 0;) text.append(buffer, n);
  bool whole = !ferror(in);
  fclose(in);
  Reader r(text);
  if (!whole) {
    *why = path + ": it cannot be read";
  } else if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    *why = path + ": it is empty";
  } else if (!r.Report(out)) {
    *why = path + ": not a report of --json: " + r.why;
  } else {
    return true;
  }
  return false;
}

Comparison Compare(const std::vector<Figure> &old, const std::vector<Figure> &now) {
  Comparison c;
  std::map<std::string, const Figure *> before;
  for (const Figure &f : old) before[f.name] = &f;
  std::vector<std::string> gone, fresh, changed;
  for (const Figure &f : now) {
    auto it = before.find(f.name);
    if (it == before.end()) {
      fresh.push_back(f.name);
      continue;
    }
    const Figure &o = *it->second;
    before.erase(it);
    if (o.unit != f.unit || o.at_least != f.at_least) {
      changed.push_back(f.name);
    } else if (Worse(o, f)) {
      c.worse++;
      c.text += Format("worse: %s: %s %s, was %s\n", f.name.c_str(), Show(f.value).c_str(), f.unit.c_str(),
                       Show(o.value).c_str());
    } else {
      c.same++;
    }
  }
  for (const Figure &f : old)
    if (before.count(f.name) && before[f.name] == &f) gone.push_back(f.name);
  if (!changed.empty()) c.text += "not compared, of another unit or direction: " + List(changed) + "\n";
  if (!gone.empty()) c.text += "only in the older report: " + List(gone) + "\n";
  if (!fresh.empty()) c.text += "only in the newer report: " + List(fresh) + "\n";
  c.other = int(changed.size() + gone.size() + fresh.size());
  if (c.worse + c.same == 0) {
    c.text += "the two reports have no figure in common: nothing was compared\n";
    c.status = 2;
  } else {
    c.text += Format("%d of %d figures in common are worse by more than the spread\n", c.worse, c.worse + c.same);
    c.status = c.worse ? 1 : 0;
  }
  return c;
}

} // namespace bench
