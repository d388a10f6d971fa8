// Tests of array files: a written file can be read, and a damaged file is an error.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "interp/arguments/argument_files.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

class Npz : public testing::Test {
 protected:
  Npz() : folder_(fs::temp_directory_path() / Str("hlo-npz-", static_cast<int64_t>(getpid()))) {
    fs::create_directories(folder_);
  }
  ~Npz() override { fs::remove_all(folder_); }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
  }

  fs::path folder_;
};

std::string Npy(const std::string& header, const std::string& data) {
  std::string text = "\x93NUMPY";
  text += '\1';
  text += '\0';
  text += static_cast<char>(header.size());
  text += '\0';
  return text + header + data;
}

TEST_F(Npz, ReadsWhatItWrites) {
  const auto module = ParseText(R"(HloModule m
ENTRY main {
  a = bf16[2,3] parameter(0)
  b = (s4[5], (pred[], c64[2])) parameter(1)
  c = f8e5m2[3] parameter(2)
  d = f64[0,2] parameter(3)
  ROOT t = () tuple()
})");
  std::vector<Literal> args;
  args.push_back(Values(PrimitiveType::kBF16, {2, 3}, {1, -2, 3, -4, 5, 6}));
  Literal c64(Shape(PrimitiveType::kC64, {2}));
  c64.SetComplex(0, {1, 2});
  c64.SetComplex(1, {3, -4});
  args.push_back(Literal::Tuple({Values(PrimitiveType::kS4, {5}, {-8, 7, 0, 1, -1}),
                                 Literal::Tuple({Values(PrimitiveType::kPred, {}, {1}), c64})}));
  args.push_back(Values(PrimitiveType::kF8E5M2, {3}, {1, 2, 0.5}));
  args.push_back(Literal(Shape(PrimitiveType::kF64, {0, 2})));
  ASSERT_TRUE(WriteNpz(Path("a.npz"), "arg", args).has_value());
  const auto read = ReadArguments(Path("a.npz"), *module);
  ASSERT_TRUE(read.has_value()) << read.error().message();
  for (size_t i = 0; i < args.size(); ++i) EXPECT_TRUE((*read)[i].BitEquals(args[i])) << i;
}

TEST_F(Npz, ReadsFortranOrderAndBigEndian) {
  Write("f.npy", Npy("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n",
                     std::string("\0\1\0\4\0\2\0\5\0\3\0\6", 12)));
  const auto module = ParseText("HloModule m\nENTRY main {\n  ROOT x = s16[2,3] parameter(0)\n}");
  const auto args = ReadArguments(Path("f.npy"), *module);
  ASSERT_TRUE(args.has_value()) << args.error().message();
  EXPECT_EQ(Doubles((*args)[0]), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST_F(Npz, NamesArraysThatDoNotFit) {
  const auto module =
      ParseText("HloModule m\nENTRY main {\n  x = s32[3] parameter(0)\n  ROOT y = s4[2] parameter(1)\n}");
  ASSERT_TRUE(
      WriteNpz(Path("a.npz"), "arg",
               std::vector<Literal>{Literal(Shape(PrimitiveType::kS64, {3})), Literal(Shape(PrimitiveType::kS4, {2}))})
          .has_value());
  EXPECT_EQ(ReadArguments(Path("a.npz"), *module).error().message(),
            "argument 0 ('x') needs s32[3], but " + Path("a.npz") + ":arg0 is int64 (3,)");
  ASSERT_TRUE(
      WriteNpz(Path("b.npz"), "arg",
               std::vector<Literal>{Literal(Shape(PrimitiveType::kS32, {3})), Values(PrimitiveType::kS8, {2}, {1, 8})})
          .has_value());
  EXPECT_EQ(ReadArguments(Path("b.npz"), *module).error().message(),
            "argument 1 ('y') needs s4[2], but " + Path("b.npz") + ":arg1 is int8 (2,); element 1 is 8, out of range");
  ASSERT_TRUE(
      WriteNpz(Path("c.npz"), "arg", std::vector<Literal>{Literal(Shape(PrimitiveType::kS32, {3}))}).has_value());
  const auto missing = ReadArguments(Path("c.npz"), *module);
  EXPECT_EQ(missing.error().message(), "argument 1 ('y') needs s4[2], but " + Path("c.npz") + " has no key 'arg1'");
  EXPECT_EQ(missing.error().code(), "A003");
}

TEST_F(Npz, RejectsFilesThatAreNotArrays) {
  const auto module = ParseText("HloModule m\nENTRY main {\n  ROOT x = s32[3] parameter(0)\n}");
  for (const std::string& bytes : {std::string(), std::string("hello"), std::string("PK\5\6"),
                                   Npy("{'descr': '<i4', 'shape': (99,), }\n", "abc")}) {
    Write("bad", bytes);
    const auto result = ReadArguments(Path("bad"), *module);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code(), "A002");
  }
  EXPECT_EQ(ReadArguments(Path("absent.npz"), *module).error().code(), "A002");
  ASSERT_TRUE(
      WriteNpz(Path("a.npz"), "arg", std::vector<Literal>{Literal(Shape(PrimitiveType::kS32, {3}))}).has_value());
  std::ifstream file(Path("a.npz"), std::ios::binary);
  std::stringstream whole;
  whole << file.rdbuf();
  for (size_t size = 0; size < whole.str().size(); ++size) {
    Write("cut", whole.str().substr(0, size));
    EXPECT_FALSE(ReadArguments(Path("cut"), *module).has_value()) << size;
  }
}

TEST_F(Npz, LeavesNothingOnAFullDisk) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const auto result = WriteNpz("/dev/full", "out", std::vector<Literal>{Literal(Shape(PrimitiveType::kS32, {3}))});
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message().find("No space left on device"), std::string::npos);
}

}  // namespace
}  // namespace hlo
