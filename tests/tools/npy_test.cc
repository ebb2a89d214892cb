// Reading and writing .npy: what NumPy writes is read back, and what is not right is refused with a reason.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "tools/npy/npy.h"

namespace {

std::string TempPath(const std::string &name) { return std::string(testing::TempDir()) + "/" + name; }

std::string Put(const std::string &name, const std::string &bytes) {
  std::string path = TempPath(name);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// A file as NumPy writes it.
std::string Npy(const std::string &dict, const std::string &data, int version = 1) {
  std::string header = dict + "\n", s("\x93NUMPY", 6);
  s += char(version);
  s += char(0);
  size_t n = header.size();
  for (int k = 0; k < (version == 1 ? 2 : 4); k++) s += char(n >> (8 * k));
  return s + header + data;
}

std::string Dict(const std::string &descr, const std::string &shape, const std::string &fortran = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

struct Outcome {
  HdStatus status;
  std::string why, data;
  NpyReader header;
};

Outcome Read(const std::string &path) {
  Outcome o{HD_OK, "", "", {}};
  char why[OUT_WHY] = "";
  o.status = npy_open(path.c_str(), &o.header, why);
  if (o.status == HD_OK) {
    o.data.resize(o.header.size);
    o.status = npy_read(&o.header, path.c_str(), &o.data[0], why);
    npy_close(&o.header);
  }
  o.why = why;
  return o;
}

Outcome ReadBytes(const std::string &bytes) { return Read(Put("in.npy", bytes)); }

std::string Bytes(std::initializer_list<float> v) {
  std::vector<float> x(v);
  return std::string(reinterpret_cast<const char *>(x.data()), x.size() * sizeof(float));
}

TEST(Npy, ReadsEveryVersion) {
  for (int version : {1, 2, 3}) {
    Outcome o = ReadBytes(Npy(Dict("'<f4'", "(3,)"), Bytes({1, 2, 3}), version));
    ASSERT_EQ(o.status, HD_OK) << o.why;
    EXPECT_EQ(o.header.ndim, 1);
    EXPECT_EQ(o.header.length[0], 3);
    EXPECT_EQ(o.header.type.kind, 'f');
    EXPECT_EQ(o.data, Bytes({1, 2, 3}));
  }
}

TEST(Npy, ReadsEveryElementType) {
  struct {
    const char *descr;
    char kind;
    uint32_t size;
  } rows[] = {{"'|b1'", 'b', 1}, {"'|i1'", 'i', 1}, {"'<i2'", 'i', 2},   {"'<i4'", 'i', 4},   {"'<i8'", 'i', 8},
              {"'|u1'", 'u', 1}, {"'<u2'", 'u', 2}, {"'<u4'", 'u', 4},   {"'<u8'", 'u', 8},   {"'<f2'", 'f', 2},
              {"'<f4'", 'f', 4}, {"'<f8'", 'f', 8}, {"'|V12'", 'V', 12}, {"\"<f4\"", 'f', 4}, {"'=f4'", 'f', 4}};
  for (auto &row : rows) {
    Outcome o = ReadBytes(Npy(Dict(row.descr, "(2,)"), std::string(2 * row.size, 7)));
    ASSERT_EQ(o.status, HD_OK) << row.descr << o.why;
    EXPECT_EQ(o.header.type.kind, row.kind);
    EXPECT_EQ(o.header.type.size, row.size);
  }
}

TEST(Npy, TurnsFortranOrder) {
  // a[i][j][k] = 100 i + 10 j + k with lengths 2, 3, 2; the first axis is fastest in the file.
  std::vector<float> file, want;
  for (int k = 0; k < 2; k++)
    for (int j = 0; j < 3; j++)
      for (int i = 0; i < 2; i++) file.push_back(100 * i + 10 * j + k);
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 3; j++)
      for (int k = 0; k < 2; k++) want.push_back(100 * i + 10 * j + k);
  std::string data(reinterpret_cast<char *>(file.data()), file.size() * 4);
  Outcome o = ReadBytes(Npy(Dict("'<f4'", "(2, 3, 2)", "True"), data));
  ASSERT_EQ(o.status, HD_OK) << o.why;
  EXPECT_EQ(memcmp(o.data.data(), want.data(), o.data.size()), 0);
}

TEST(Npy, ReadsRecordsByTheirSize) {
  Outcome o = ReadBytes(
      Npy(Dict("[('x', '<f4', (3,)), (('title', 'r'), '<f8'), ('s', [('a', '|u1'), ('b', '<i2', 2)])]", "(2,)"),
          std::string(2 * 25, 1)));
  ASSERT_EQ(o.status, HD_OK) << o.why;
  EXPECT_EQ(o.header.type.kind, 'V');
  EXPECT_EQ(o.header.type.size, 25u);
}

TEST(Npy, ReadsScalarsAndEmptyArrays) {
  Outcome scalar = ReadBytes(Npy(Dict("'<f4'", "()"), Bytes({5})));
  ASSERT_EQ(scalar.status, HD_OK) << scalar.why;
  EXPECT_EQ(scalar.header.ndim, 0);
  EXPECT_EQ(scalar.data, Bytes({5}));
  Outcome empty = ReadBytes(Npy(Dict("'<f4'", "(4, 0, 3)"), ""));
  ASSERT_EQ(empty.status, HD_OK) << empty.why;
  EXPECT_EQ(empty.header.size, 0u);
}

struct Refusal {
  const char *name;
  std::string bytes;
  HdStatus status;
  const char *words; // that the reason must have
};

class Refuses : public testing::TestWithParam<Refusal> {};

TEST_P(Refuses, WithAReason) {
  Outcome o = ReadBytes(GetParam().bytes);
  EXPECT_EQ(o.status, GetParam().status) << o.why;
  EXPECT_NE(o.why.find(GetParam().words), std::string::npos) << o.why;
  EXPECT_NE(o.why.find("in.npy"), std::string::npos) << o.why;
  EXPECT_EQ(o.header.file, nullptr);
}

const Refusal refusals[] = {
    {"Nothing", "", HD_ERR_FORMAT, "no .npy file"},
    {"AnotherMagic", "PK\x03\x04 what np.savez writes", HD_ERR_FORMAT, "no .npy file"},
    {"AnotherVersion", Npy(Dict("'<f4'", "(1,)"), Bytes({1}), 4), HD_ERR_UNSUPPORTED, "version"},
    {"NoLength", std::string("\x93NUMPY\x01\x00\x10", 9), HD_ERR_FORMAT, "ends in its header"},
    {"HeaderCut", Npy(Dict("'<f4'", "(1,)"), "").substr(0, 40), HD_ERR_FORMAT, "ends in its header"},
    {"HeaderHuge", std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12), HD_ERR_FORMAT, "1 MiB"},
    {"DataCut", Npy(Dict("'<f4'", "(3,)"), Bytes({1, 2})), HD_ERR_FORMAT,
     "wants 12 bytes after the header, the file has 8"},
    {"DataLeft", Npy(Dict("'<f4'", "(1,)"), Bytes({1, 2})), HD_ERR_FORMAT, "wants 4 bytes"},
    {"BigEndian", Npy(Dict("'>f4'", "(1,)"), Bytes({1})), HD_ERR_UNSUPPORTED, "big-endian"},
    {"BigEndianInRecord", Npy(Dict("[('a', '>f4')]", "(1,)"), Bytes({1})), HD_ERR_UNSUPPORTED, "big-endian"},
    {"Objects", Npy(Dict("'|O'", "(1,)"), "xxxxxxxx"), HD_ERR_UNSUPPORTED, "Python objects"},
    {"Complex", Npy(Dict("'<c8'", "(1,)"), "xxxxxxxx"), HD_ERR_UNSUPPORTED, "'<c8'"},
    {"LongDouble", Npy(Dict("'<f16'", "(1,)"), std::string(16, 0)), HD_ERR_UNSUPPORTED, "'<f16'"},
    {"Strings", Npy(Dict("'<U5'", "(1,)"), std::string(20, 0)), HD_ERR_UNSUPPORTED, "'<U5'"},
    {"NoType", Npy(Dict("''", "(1,)"), ""), HD_ERR_FORMAT, "empty"},
    {"HugeType", Npy(Dict("'|V99999999999999999999'", "(1,)"), ""), HD_ERR_UNSUPPORTED, "not supported"},
    {"HugeShape", Npy(Dict("'<f4'", "(4611686018427387904, 4)"), ""), HD_ERR_FORMAT, "overflows"},
    {"HugeLength", Npy(Dict("'<f4'", "(99999999999999999999,)"), ""), HD_ERR_FORMAT, "out of range"},
    {"LargeButAbsent", Npy(Dict("'<f4'", "(1000000000000,)"), ""), HD_ERR_FORMAT, "the file has 0"},
    {"NegativeLength", Npy(Dict("'<f4'", "(-1,)"), ""), HD_ERR_FORMAT, "negative"},
    {"ManyDimensions", Npy(Dict("'<f4'", "(1,1,1,1,1,1,1,1,1)"), Bytes({1})), HD_ERR_UNSUPPORTED, "more than 8"},
    {"NoDict", Npy("hello", ""), HD_ERR_FORMAT, "lacks a '{'"},
    {"NoShape", Npy("{'descr': '<f4', 'fortran_order': False}", ""), HD_ERR_FORMAT,
     "lacks descr, fortran_order or shape"},
    {"UnknownKey", Npy("{'descr': '<f4', 'x': 1}", ""), HD_ERR_FORMAT, "unknown key"},
    {"OpenString", Npy("{'descr': '<f4", ""), HD_ERR_FORMAT, "ends in a string"},
    {"OpenEscape", Npy("{'descr': '<f4\\", ""), HD_ERR_FORMAT, "ends in a string"},
    {"OrderIsText", Npy(Dict("'<f4'", "(1,)", "'no'"), Bytes({1})), HD_ERR_FORMAT, "neither True nor False"},
    {"ShapeIsNumber", Npy(Dict("'<f4'", "1"), Bytes({1})), HD_ERR_FORMAT, "not a tuple"},
    {"TextAfterDict", Npy(Dict("'<f4'", "(1,)") + "}", Bytes({1})), HD_ERR_FORMAT, "after its header"},
    {"DeepRecords",
     Npy(Dict(
             [] {
               std::string s;
               for (int i = 0; i < 40; i++) s += "[('a', ";
               return s;
             }(),
             "(1,)"),
         ""),
     HD_ERR_UNSUPPORTED, "too deeply"},
};
INSTANTIATE_TEST_SUITE_P(Npy, Refuses, testing::ValuesIn(refusals),
                         [](auto &info) { return std::string(info.param.name); });

TEST(Npy, RefusesEveryPrefixOfAFile) {
  std::string whole = Npy(Dict("[('x', '<f4', (3,)), ('r', '<f8')]", "(2, 1)"), std::string(40, 1));
  for (size_t n = 0; n < whole.size(); n++) {
    Outcome o = ReadBytes(whole.substr(0, n));
    ASSERT_NE(o.status, HD_OK) << n;
    ASSERT_NE(o.why, "") << n;
  }
  EXPECT_EQ(ReadBytes(whole).status, HD_OK);
}

TEST(Npy, SurvivesEveryChangedByteOfAHeader) {
  std::string whole = Npy(Dict("[('x', '<f4', (3,)), ('r', '<f8')]", "(2, 1)", "True"), std::string(40, 1));
  for (size_t i = 0; i + 40 < whole.size(); i++)
    for (char c : {'\0', '0', '9', '(', ')', ',', '\'', '\\', ' ', '[', ']', '{', '}', '\xff'}) {
      std::string s = whole;
      s[i] = c;
      Outcome o = ReadBytes(s);
      ASSERT_TRUE(o.status == HD_OK || o.why != "") << i;
    }
}

TEST(Npy, RefusesWhatIsNotThere) {
  Outcome o = Read(TempPath("absent.npy"));
  EXPECT_EQ(o.status, HD_ERR_IO);
  EXPECT_NE(o.why.find("No such file"), std::string::npos) << o.why;
  EXPECT_EQ(Read(testing::TempDir()).status, HD_ERR_IO);
}

TEST(Npy, ReadsBackWhatItWrote) {
  float data[2][3] = {{1, 2, 3}, {4, 5, 6}};
  int64_t length[] = {2, 3};
  std::string path = TempPath("out.npy");
  OutFile out;
  char why[OUT_WHY];
  ASSERT_EQ(out_begin(path.c_str(), &out, why), HD_OK) << why;
  ASSERT_EQ(npy_write(&out, {'f', 4}, 2, length, data, why), HD_OK) << why;
  ASSERT_EQ(out_commit(&out, why), HD_OK) << why;
  Outcome o = Read(path);
  ASSERT_EQ(o.status, HD_OK) << o.why;
  EXPECT_EQ(o.header.ndim, 2);
  EXPECT_EQ(memcmp(o.data.data(), data, sizeof data), 0);
  std::ifstream f(path, std::ios::binary);
  std::string all((std::istreambuf_iterator<char>(f)), {});
  EXPECT_EQ(all.size() % 64, sizeof data % 64) << "the data is not aligned";
}

TEST(OutFile, LeavesTheOldFileWhenGivenUp) {
  std::string path = Put("kept.txt", "old");
  OutFile out;
  char why[OUT_WHY];
  ASSERT_EQ(out_begin(path.c_str(), &out, why), HD_OK) << why;
  fputs("new", out.file);
  out_abort(&out);
  std::ifstream f(path);
  std::string s;
  f >> s;
  EXPECT_EQ(s, "old");
}

TEST(OutFile, KeepsTheModeOfTheFileItReplaces) {
  std::string path = Put("mode.txt", "old");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  OutFile out;
  char why[OUT_WHY];
  ASSERT_EQ(out_begin(path.c_str(), &out, why), HD_OK) << why;
  ASSERT_EQ(out_commit(&out, why), HD_OK) << why;
  struct stat st;
  ASSERT_EQ(stat(path.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0640u);
  EXPECT_EQ(st.st_size, 0);
}

TEST(OutFile, NamesTheFolderThatIsMissing) {
  OutFile out;
  char why[OUT_WHY];
  EXPECT_EQ(out_begin(TempPath("no/such/folder/x").c_str(), &out, why), HD_ERR_IO);
  EXPECT_NE(strstr(why, "no/such/folder/x"), nullptr) << why;
  EXPECT_EQ(out_begin(testing::TempDir().c_str(), &out, why), HD_ERR_IO);
}

TEST(OutFile, WritesThroughToADevice) {
  OutFile out;
  char why[OUT_WHY];
  ASSERT_EQ(out_begin("/dev/null", &out, why), HD_OK) << why;
  fputs("x", out.file);
  EXPECT_EQ(out_commit(&out, why), HD_OK) << why;
}

TEST(OutFile, ReportsAFullDisk) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP();
  OutFile out;
  char why[OUT_WHY];
  ASSERT_EQ(out_begin("/dev/full", &out, why), HD_OK) << why;
  fputs("x", out.file);
  EXPECT_EQ(out_commit(&out, why), HD_ERR_IO);
  EXPECT_NE(strstr(why, "No space"), nullptr) << why;
}

} // namespace
