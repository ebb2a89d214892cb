// Reports of measurements: written and read back, refused with a reason, and compared; nothing is measured here.
#include "bench/report.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace bench {
namespace {

std::string Path(const std::string &name) { return std::string(testing::TempDir()) + "/" + name; }

std::string Put(const std::string &name, const std::string &text) {
  std::ofstream(Path(name), std::ios::binary) << text;
  return Path(name);
}

Figure Row(const std::string &name, double low, double median, double high, bool more = false) {
  Figure f;
  f.name = name, f.unit = more ? "x" : "ms", f.at_least = more;
  f.value.low = low, f.value.median = median, f.value.high = high, f.value.best = low;
  return f;
}

std::string Why(const std::string &text) {
  std::vector<Figure> figures;
  std::string why;
  EXPECT_FALSE(ReadReport(Put("bad.json", text), &figures, &why)) << text;
  size_t name = why.find("bad.json: ");
  return name == std::string::npos ? why : why.substr(name + strlen("bad.json: "));
}

TEST(Report, ReadsWhatItWrote) {
  std::vector<Figure> figures = {Row("saxpy, 1 thread", 1.6875, 1.75, 1.8125), Row("of \"x\" \\ y", 2, 2.5, 3, true)};
  figures[1].limit = 2, figures[1].goal = 4;
  ASSERT_TRUE(WriteReport(figures, Path("good.json")));
  std::vector<Figure> back;
  std::string why;
  ASSERT_TRUE(ReadReport(Path("good.json"), &back, &why)) << why;
  ASSERT_EQ(back.size(), 2u);
  for (int i : {0, 1}) {
    EXPECT_EQ(back[i].name, figures[i].name);
    EXPECT_EQ(back[i].unit, figures[i].unit);
    EXPECT_EQ(back[i].at_least, figures[i].at_least);
    EXPECT_EQ(back[i].value.median, figures[i].value.median);
    EXPECT_EQ(back[i].value.low, figures[i].value.low);
    EXPECT_EQ(back[i].value.high, figures[i].value.high);
  }
}

TEST(Report, ThatCannotBeWrittenIsAFailure) { EXPECT_FALSE(WriteReport({}, Path("no/such/folder.json"))); }

TEST(Report, TheLastOfTwoFiguresOfOneNameCounts) {
  std::vector<Figure> back;
  std::string why;
  ASSERT_TRUE(WriteReport({Row("a", 1, 1, 1), Row("b", 2, 2, 2), Row("a", 3, 3, 3)}, Path("twice.json")));
  ASSERT_TRUE(ReadReport(Path("twice.json"), &back, &why)) << why;
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].value.median, 3);
}

TEST(Report, OfWrongContentIsRefusedWithTheReason) {
  const std::string row = R"({"name": "a", "unit": "ms", "more_is_better": false, "median": 2, "low": 1, "high": 3})";
  EXPECT_EQ(Why(""), "it is empty");
  EXPECT_EQ(Why(" \n\n"), "it is empty");
  EXPECT_EQ(Why("[]"), "not a report of --json: it has no figure");
  EXPECT_EQ(Why("hello\n"), "not a report of --json: line 1: wanted a list of figures, found 'hello?'");
  EXPECT_EQ(Why("\x7f"
                "ELF\x02"),
            "not a report of --json: line 1: wanted a list of figures, found '?ELF?'");
  EXPECT_EQ(Why(R"({"benchmarks": []})"),
            "not a report of --json: line 1: wanted a list of figures, found '{\"benchmarks'");
  EXPECT_EQ(Why("[1, 2]"), "not a report of --json: line 1: wanted a figure, found '1, 2]'");
  EXPECT_EQ(Why(R"([{"name": "saxpy", "cpu_time": 3}])"),
            "not a report of --json: a figure \"saxpy\" has no text \"unit\"");
  EXPECT_EQ(Why("[{}]"), "not a report of --json: a figure has no text \"name\"");
  EXPECT_EQ(Why("[\n" + row + ",\n"), "not a report of --json: line 3: wanted a figure, found the end of the file");
  EXPECT_EQ(Why("[\n" + row), "not a report of --json: line 2: wanted ',' or ']', found the end of the file");
  EXPECT_EQ(Why("[" + row.substr(0, 18)),
            "not a report of --json: line 1: wanted the end of a text, found the end of the file");
  EXPECT_EQ(Why("[" + row + "] []"), "not a report of --json: line 1: wanted the end of the file, found '[]'");
  EXPECT_EQ(Why("[" + row.substr(0, row.find("2,")) + "nan}]"),
            "not a report of --json: line 1: wanted a finite number, true, false or a text, found 'nan}]'");
  EXPECT_EQ(Why("[" + row.substr(0, row.find("2,")) + "\"2\", \"low\": 1, \"high\": 3}]"),
            "not a report of --json: a figure \"a\" has no number \"median\"");
}

TEST(Report, ThatIsNotThereIsRefusedWithTheSystemsReason) {
  std::vector<Figure> figures;
  std::string why;
  EXPECT_FALSE(ReadReport(Path("none.json"), &figures, &why));
  EXPECT_NE(why.find("none.json: No such file or directory"), std::string::npos) << why;
  EXPECT_FALSE(ReadReport(testing::TempDir(), &figures, &why));
  EXPECT_NE(why.find("it cannot be read"), std::string::npos) << why;
}

TEST(Compare, FlagsATimeThatGrewBeyondTheSpread) {
  Comparison c = Compare({Row("saxpy", 1, 1.1, 1.2)}, {Row("saxpy", 1.25, 1.3, 1.4)});
  EXPECT_EQ(c.status, 1);
  EXPECT_EQ(c.worse, 1);
  EXPECT_EQ(c.text, "worse: saxpy: 1.3 [1.25 .. 1.4] ms, was 1.1 [1 .. 1.2]\n"
                    "1 of 1 figures in common are worse by more than the spread\n");
}

TEST(Compare, FlagsARatioThatFellBeyondTheSpread) {
  EXPECT_EQ(Compare({Row("speed-up", 1.8, 1.9, 2, true)}, {Row("speed-up", 1.4, 1.5, 1.7, true)}).worse, 1);
}

TEST(Compare, LetsPassWhatLiesWithinTheSpreadOrIsBetter) {
  // Quartiles that touch overlap; the third has no spread and grew by half a percent.
  Comparison c = Compare(
      {Row("a", 1, 1.1, 1.25), Row("b", 1, 1.1, 1.2), Row("memory", 2, 2, 2), Row("r", 2, 2, 2, true)},
      {Row("a", 1.25, 1.3, 1.4), Row("b", 0.5, 0.6, 0.7), Row("memory", 2.01, 2.01, 2.01), Row("r", 3, 3, 3, true)});
  EXPECT_EQ(c.status, 0);
  EXPECT_EQ(c.same, 4);
  EXPECT_EQ(c.text, "0 of 4 figures in common are worse by more than the spread\n");
}

TEST(Compare, FlagsAFigureWithoutSpreadThatGrew) {
  EXPECT_EQ(Compare({Row("memory", 2, 2, 2)}, {Row("memory", 2.1, 2.1, 2.1)}).worse, 1);
}

TEST(Compare, NamesFiguresThatOnlyOneReportHas) {
  Comparison c =
      Compare({Row("a", 1, 1, 1), Row("b", 1, 1, 1), Row("c", 1, 1, 1), Row("d", 1, 1, 1), Row("e", 1, 1, 1)},
              {Row("a", 1, 1, 1), Row("f", 9, 9, 9)});
  EXPECT_EQ(c.status, 0);
  EXPECT_EQ(c.other, 5);
  EXPECT_EQ(c.text, "only in the older report: \"b\", \"c\", \"d\" and 1 more\n"
                    "only in the newer report: \"f\"\n"
                    "0 of 1 figures in common are worse by more than the spread\n");
}

TEST(Compare, OfReportsWithNothingInCommonFails) {
  Comparison c = Compare({Row("a", 1, 1, 1), Row("b", 1, 1, 1)}, {Row("b", 1, 1, 1, true)});
  EXPECT_EQ(c.status, 2);
  EXPECT_EQ(c.text, "not compared, of another unit or direction: \"b\"\n"
                    "only in the older report: \"a\"\n"
                    "the two reports have no figure in common: nothing was compared\n");
}

// The program itself: what it prints on both streams, and its exit status.
std::string Bench(const std::string &args, int *status) {
  std::string out;
  FILE *p = popen(("env -u BENCH_FOLDER bench/bench " + args + " 2>&1").c_str(), "r");
  char buffer[256];
  while (fgets(buffer, sizeof buffer, p)) out += buffer;
  *status = WEXITSTATUS(pclose(p));
  return out;
}

TEST(Program, ComparesTwoFilesWithoutMeasuring) {
  std::string fast = Path("fast.json"), slow = Path("slow.json");
  ASSERT_TRUE(WriteReport({Row("saxpy", 1, 1.1, 1.2)}, fast));
  ASSERT_TRUE(WriteReport({Row("saxpy", 2, 2.1, 2.2)}, slow));
  int status;
  EXPECT_EQ(Bench("compare " + fast + " " + slow, &status),
            "worse: saxpy: 2.1 [2 .. 2.2] ms, was 1.1 [1 .. 1.2]\n"
            "1 of 1 figures in common are worse by more than the spread\n");
  EXPECT_EQ(status, 1);
  EXPECT_EQ(Bench("compare " + slow + " " + fast, &status),
            "0 of 1 figures in common are worse by more than the spread\n");
  EXPECT_EQ(status, 0);
}

TEST(Program, RefusesABadOlderReportBeforeItMeasures) {
  int status;
  std::string empty = Put("empty.json", "");
  EXPECT_EQ(Bench("--compare=" + empty, &status), "bench: " + empty + ": it is empty\n");
  EXPECT_EQ(status, 2);
  EXPECT_NE(Bench("compare " + empty, &status).find("usage: bench"), std::string::npos);
  EXPECT_EQ(status, 2);
}

} // namespace
} // namespace bench
