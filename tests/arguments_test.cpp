// Arguments are the same everywhere and mean something to the module.
#include "interp/arguments.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/parallel.h"
#include "interp/interpreter.h"
#include "parser/parser.h"

namespace hlo {
namespace {

std::unique_ptr<Module> Parsed(std::string text) {
  auto module = Parse(std::make_shared<SourceText>("test.hlo", std::move(text)));
  EXPECT_TRUE(module.has_value()) << (module ? "" : module.error().message());
  return module ? std::move(*module) : nullptr;
}

std::vector<Literal> Made(const Module& module, const ArgumentOptions& options = {}) {
  auto values = MakeArguments(module, options);
  EXPECT_TRUE(values.has_value()) << (values ? "" : values.error().message());
  return values ? *values : std::vector<Literal>();
}

// Source: the known answers of Random123 for philox4x32-10.
TEST(Arguments, PhiloxGivesTheKnownAnswers) {
  const PhiloxBlock zeros = Philox(0, 0, 0);
  EXPECT_EQ(zeros.words[0], 0x6627e8d5u);
  EXPECT_EQ(zeros.words[1], 0xe169c58du);
  EXPECT_EQ(zeros.words[2], 0xbc57ac4cu);
  EXPECT_EQ(zeros.words[3], 0x9b00dbd8u);
  const PhiloxBlock ones = Philox(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0});
  EXPECT_EQ(ones.words[0], 0x408f276du);
  EXPECT_EQ(ones.words[1], 0x41c83b0eu);
}

constexpr const char* kTwoFloats = R"(HloModule m
ENTRY main {
  a = f32[70000] parameter(0)
  b = bf16[3,5]{0,1} parameter(1)
  c = f32[3,5] convert(b)
  ROOT t = (f32[70000], f32[3,5]) tuple(a, c)
})";

TEST(Arguments, DoNotDependOnThreadsLayoutsOrOtherParameters) {
  const auto module = Parsed(kTwoFloats);
  const std::vector<Literal> first = Made(*module, {.seed = 7});
  SetThreads(1);
  const std::vector<Literal> again = Made(*module, {.seed = 7});
  EXPECT_TRUE(first[0].BitEquals(again[0]));
  EXPECT_TRUE(first[1].BitEquals(again[1]));
  const auto alone = Parsed("HloModule m\nENTRY main {\n  ROOT a = f32[70000] parameter(0)\n}");
  EXPECT_TRUE(first[0].BitEquals(Made(*alone, {.seed = 7})[0]));
  EXPECT_FALSE(first[0].BitEquals(Made(*alone, {.seed = 8})[0]));
  double sum = 0, squares = 0;
  for (const float x : first[0].data<float>()) {
    ASSERT_TRUE(x >= -1 && x < 1);
    sum += x;
    squares += static_cast<double>(x) * x;
  }
  EXPECT_NEAR(sum / 70000, 0, 0.02);
  EXPECT_NEAR(squares / 70000, 1.0 / 3, 0.01);
}

TEST(Arguments, IndicesLieInRangeEachComponentInItsOwn) {
  const auto module = Parsed(R"(HloModule m
ENTRY main {
  x = f32[4,100] parameter(0)
  rows = s32[500,1] parameter(1)
  columns = s32[500,1] parameter(2)
  both = s32[500,2] parameter(3)
  i = s32[500,2] concatenate(rows, columns), dimensions={1}
  g = f32[500] gather(x, i), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}
  h = f32[500] gather(x, both), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={1,0}, index_vector_dim=1, slice_sizes={1,1}
  ROOT r = f32[500] add(g, h)
})");
  const std::vector<Literal> args = Made(*module);
  std::set<int64_t> rows, columns;
  for (int64_t i = 0; i < 500; ++i) {
    rows.insert(args[1].GetInt(i));
    columns.insert(args[2].GetInt(i));
    EXPECT_TRUE(args[3].GetInt(2 * i) >= 0 && args[3].GetInt(2 * i) < 100);
    EXPECT_TRUE(args[3].GetInt(2 * i + 1) >= 0 && args[3].GetInt(2 * i + 1) < 4);
  }
  EXPECT_EQ(rows, (std::set<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(*columns.begin() >= 0 && *columns.rbegin() < 100, true);
  EXPECT_GT(columns.size(), 90u);
  const std::vector<Literal> edge = Made(*module, {.profile = InputProfile::kEdge});
  int outside = 0;
  for (int64_t i = 0; i < 500; ++i) outside += edge[1].GetInt(i) < 0 || edge[1].GetInt(i) > 3;
  EXPECT_TRUE(outside > 25 && outside < 100) << outside;
}

TEST(Arguments, WrappedIndicesLoopsAndLabels) {
  const auto module = Parsed(R"(HloModule m
condition {
  s = (s32[], s32[], f32[9]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  ROOT go = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], s32[], f32[9]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  n = s32[] get-tuple-element(s), index=1
  x = f32[9] get-tuple-element(s), index=2
  ROOT t = (s32[], s32[], f32[9]) tuple(next, n, x)
}
ENTRY main {
  x = f32[9] parameter(0)
  n = s32[] parameter(1)
  at = s32[] parameter(2)
  labels = s32[40] parameter(3)
  zero = s32[] constant(0)
  size = s32[] constant(9)
  negative = pred[] compare(at, zero), direction=LT
  wrapped = s32[] add(at, size)
  start = s32[] select(negative, wrapped, at)
  slice = f32[3] dynamic-slice(x, start), dynamic_slice_sizes={3}
  init = (s32[], s32[], f32[9]) tuple(zero, n, x)
  loop = (s32[], s32[], f32[9]) while(init), condition=condition, body=body
  iota = s32[40,10] iota(), iota_dimension=1
  wide = s32[40,10] broadcast(labels), dimensions={0}
  hot = pred[40,10] compare(wide, iota), direction=EQ
  ROOT t = (f32[3], (s32[], s32[], f32[9]), pred[40,10]) tuple(slice, loop, hot)
})");
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Literal> args = Made(*module, {.seed = seed});
    EXPECT_TRUE(args[1].GetInt(0) >= 0 && args[1].GetInt(0) <= 8) << args[1].GetInt(0);
    EXPECT_TRUE(args[2].GetInt(0) >= -9 && args[2].GetInt(0) <= 6) << args[2].GetInt(0);
    for (int64_t i = 0; i < 40; ++i) EXPECT_TRUE(args[3].GetInt(i) >= 0 && args[3].GetInt(i) < 10);
  }
}

TEST(Arguments, DivisorsAndRootsArePositive) {
  const auto module = Parsed(R"(HloModule m
ENTRY main {
  x = f32[200] parameter(0)
  variance = f32[200] parameter(1)
  moment = f32[200] parameter(2)
  e = f32[] constant(1e-5)
  es = f32[200] broadcast(e), dimensions={}
  v = f32[200] add(variance, es)
  r = f32[200] rsqrt(v)
  y = f32[200] multiply(x, r)
  b = f32[] constant(0.9)
  bs = f32[200] broadcast(b), dimensions={}
  m = f32[200] multiply(moment, bs)
  xx = f32[200] multiply(x, x)
  mm = f32[200] add(m, xx)
  s = f32[200] sqrt(mm)
  d = f32[200] add(s, es)
  ROOT z = f32[200] divide(y, d)
})");
  const std::vector<Literal> args = Made(*module);
  bool negative = false;
  for (int64_t i = 0; i < 200; ++i) {
    negative = negative || args[0].GetDouble(i) < 0;
    EXPECT_GT(args[1].GetDouble(i), 0.2);
    EXPECT_GE(args[2].GetDouble(i), 0);
  }
  EXPECT_TRUE(negative);
}

TEST(Arguments, WeightsOfLongSumsAreScaled) {
  const auto module = Parsed(R"(HloModule m
ENTRY main {
  x = f32[2,300] parameter(0)
  w = f32[300,4] parameter(1)
  ROOT y = f32[2,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})");
  const std::vector<Literal> args = Made(*module);
  double largest = 0;
  for (const float x : args[1].data<float>()) largest = std::max<double>(largest, std::fabs(x));
  EXPECT_NEAR(largest, 0.1, 0.01);  // sqrt(3 / 300).
}

TEST(Arguments, ChecksAndTightensUntilResultsAreFinite) {
  const auto module = Parsed(R"(HloModule m
ENTRY main {
  x = f32[100] parameter(0)
  c = f32[] constant(300)
  cs = f32[100] broadcast(c), dimensions={}
  y = f32[100] multiply(x, cs)
  ROOT e = f32[100] exponential(y)
})");
  ArgumentOptions options;
  options.interpret = [&](std::span<const Literal> args) { return Interpret(*module, args); };
  const auto made = MakeArgumentsChecked(*module, options);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->scale, 0.25);
  EXPECT_EQ(made->tries, 3);
  EXPECT_LE(made->non_finite_share, 0.01);
  EXPECT_TRUE(made->reference.has_value());
}

TEST(Arguments, SpecsByNumberAndName) {
  const auto module = Parsed(kTwoFloats);
  ArgumentOptions options;
  options.specs = {{"0", "iota"}, {"b", "uniform(2,3)"}};
  const std::vector<Literal> args = Made(*module, options);
  EXPECT_EQ(args[0].GetDouble(12345), 12345);
  for (int64_t i = 0; i < 15; ++i) EXPECT_TRUE(args[1].GetDouble(i) >= 2 && args[1].GetDouble(i) <= 3);
  options.specs = {{"bb", "ones"}};
  EXPECT_EQ(MakeArguments(*module, options).error().code(), "A005");
  options.specs = {{"0", "twos"}};
  EXPECT_EQ(MakeArguments(*module, options).error().code(), "A006");
}

TEST(Arguments, ProfilesDoWhatTheirNamesSay) {
  const auto module = Parsed("HloModule m\nENTRY main {\n  ROOT a = f32[5000] parameter(0)\n}");
  const auto of = [&](InputProfile profile) { return Made(*module, {.profile = profile})[0]; };
  const Literal exact = of(InputProfile::kExact), special = of(InputProfile::kSpecial), wide = of(InputProfile::kWide);
  int nan = 0, tiny = 0;
  for (int64_t i = 0; i < 5000; ++i) {
    const double x = exact.GetDouble(i);
    EXPECT_TRUE(x == std::trunc(x) && x != 0 && std::fabs(x) <= 8);
    nan += std::isnan(special.GetDouble(i));
    tiny += std::fabs(wide.GetDouble(i)) < 1e-20;
  }
  EXPECT_NEAR(nan, 100, 60);
  EXPECT_NEAR(tiny, 1150, 250);  // 18 of the type's 77 decades.
  EXPECT_EQ(of(InputProfile::kFingerprint).GetDouble(4999), 5000);
  EXPECT_TRUE(of(InputProfile::kOnes).IsAll(1));
}

}  // namespace
}  // namespace hlo
