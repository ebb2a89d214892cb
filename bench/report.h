// bench/report.h -- figures in a file, and what became worse between two such files.
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <string>
#include <vector>

namespace bench {

struct Spread {
  double median = 0, low = 0, high = 0, best = 0;  // low, high: quartiles
};

// One line of the report and of its JSON.
struct Figure {
  std::string name, unit;
  Spread      value;
  double      limit = 0, goal = 0;  // 0: none
  bool        at_least = false;
  bool        Reaches(double x) const { return x == 0 || (at_least ? value.median >= x : value.median <= x); }
};

// A list of figures as JSON, one a line. False if the file cannot be written.
bool WriteReport(const std::vector<Figure> &figures, const std::string &path);

// What WriteReport wrote: a list of flat objects that have at least a name, a unit, more_is_better, median, low and high. Of
// two figures of one name the last counts. False, with the reason in *why, if it is anything else, or has no figure.
bool ReadReport(const std::string &path, std::vector<Figure> *out, std::string *why);

// A figure is worse if all of its middle half is on the wrong side of all of the older one's middle half, and its median is
// worse by 1 % at least: some figures have no spread. Whether a limit is met plays no part.
struct Comparison {
  int         worse = 0, same = 0, other = 0;  // same: not worse; other: in one report only, or of another unit
  std::string text;                            // lines for people
  int         status = 0;                      // of the program: 1 if a figure is worse, 2 if nothing could be compared
};
Comparison Compare(const std::vector<Figure> &old, const std::vector<Figure> &now);

}  // namespace bench

#endif
