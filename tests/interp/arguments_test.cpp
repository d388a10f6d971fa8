// Tests that generated arguments are the same on every machine and obey the constraints of the module's uses.
#include "interp/arguments/arguments.h"
#include "interp/arguments/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <set>

#include "base/parallel.h"
#include "interp/interpreter.h"
#include "parser/parser.h"
#include "tests/read_file.h"

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

TEST(Arguments, DoNotDependOnThreadsLayoutsOrOtherParameters) {
  const auto module = Parsed(ReadFile("testdata/arguments/two_floats.hlo"));
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

TEST(Arguments, EachIndexComponentIsInItsOwnRange) {
  const auto module = Parsed(ReadFile("testdata/arguments/each_index_component_is_in_its_own_range.hlo"));
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

TEST(Arguments, ConstraintsFollowWrappedIndicesLoopsAndLabels) {
  const auto module = Parsed(ReadFile("testdata/arguments/constraints_follow_wrapped_indices_loops_and_labels.hlo"));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Literal> args = Made(*module, {.seed = seed});
    EXPECT_TRUE(args[1].GetInt(0) >= 0 && args[1].GetInt(0) <= 8) << args[1].GetInt(0);
    EXPECT_TRUE(args[2].GetInt(0) >= 0 && args[2].GetInt(0) <= 6) << args[2].GetInt(0);
    for (int64_t i = 0; i < 40; ++i) EXPECT_TRUE(args[3].GetInt(i) >= 0 && args[3].GetInt(i) < 10);
  }
}

// The gather and the comparison with an iota both constrain the labels. The addition, with which JAX wraps negative
// labels, must not contradict these constraints.
TEST(Arguments, WrappedIndicesDoNotConflict) {
  const auto module = Parsed(ReadFile("testdata/arguments/wrapped_indices_do_not_conflict.hlo"));
  const auto made = MakeArgumentsChecked(*module, {});
  ASSERT_TRUE(made.has_value());
  EXPECT_TRUE(made->notes.empty()) << made->notes.front();
  for (int64_t i = 0; i < 6; ++i) EXPECT_TRUE(made->values[0].GetInt(i) >= 0 && made->values[0].GetInt(i) < 10);
}

// The operand has 3 x 4 = 12 rows, so twelve unique index pairs name each row once. Both promises, unique and sorted
// indices, also hold in the profile `edge`.
TEST(Arguments, PromisesOfIndicesAreKept) {
  const auto module = Parsed(ReadFile("testdata/arguments/promises_of_indices_are_kept.hlo"));
  for (const InputProfile profile : {InputProfile::kNormal, InputProfile::kEdge, InputProfile::kFingerprint}) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      const std::vector<Literal> args = Made(*module, {.seed = seed, .profile = profile});
      std::set<int64_t> rows;
      for (int64_t i = 0; i < 12; ++i) {
        const int64_t row = args[1].GetInt(2 * i), column = args[1].GetInt(2 * i + 1);
        ASSERT_TRUE(row >= 0 && row < 3 && column >= 0 && column < 4) << row << ", " << column;
        rows.insert(4 * row + column);
      }
      EXPECT_EQ(rows.size(), 12u);
      for (int64_t i = 0; i < 20; ++i) {
        const int64_t at = 4 * args[2].GetInt(i) + args[2].GetInt(20 + i);
        ASSERT_TRUE(at >= 0 && at < 12 && args[2].GetInt(20 + i) < 4);
        const int64_t before = i == 0 ? 0 : 4 * args[2].GetInt(i - 1) + args[2].GetInt(19 + i);
        EXPECT_GE(at, before);
      }
      for (int64_t i = 0; i < 7; ++i) {
        ASSERT_TRUE(args[3].GetInt(i) >= 0 && args[3].GetInt(i) < 9);
        const int64_t before = i == 0 ? -1 : args[3].GetInt(i - 1);
        EXPECT_GT(args[3].GetInt(i), before);
      }
    }
  }
}

TEST(Arguments, ANoteNamesIndicesThatCannotBeUnique) {
  const auto module = Parsed(ReadFile("testdata/arguments/a_note_names_indices_that_cannot_be_unique.hlo"));
  const auto made = MakeArgumentsChecked(*module, {});
  ASSERT_TRUE(made.has_value());
  ASSERT_EQ(made->notes.size(), 1u);
  EXPECT_EQ(made->notes[0],
            "'i' holds 5 indices for an op that relies on unique ones, but only 3 are in range, so some occur twice");
}

TEST(Arguments, SortKeysAreDistinctUnlessTiesAreRequested) {
  const auto module = Parsed(ReadFile("testdata/arguments/sorts.hlo"));
  const std::vector<Literal> args = Made(*module), ties = Made(*module, {.profile = InputProfile::kTies});
  const auto distinct = [](const Literal& literal) {
    std::set<double> values;
    for (int64_t i = 0; i < literal.shape().NumElements(); ++i) values.insert(literal.GetDouble(i));
    return static_cast<int64_t>(values.size());
  };
  EXPECT_EQ(distinct(args[0]), 2000);
  EXPECT_EQ(distinct(args[2]), 200);
  for (int64_t i = 0; i < 2000; ++i) EXPECT_LT(std::fabs(args[0].GetDouble(i)), 1);
  // The number of equal neighbours within rows of 50 elements. With ties, 30 % of the 1960 pairs are expected, with a
  // standard deviation of 24.
  const auto equal = [](const Literal& literal) {
    int count = 0;
    for (int64_t i = 1; i < 2000; ++i) count += i % 50 != 0 && literal.GetDouble(i) == literal.GetDouble(i - 1);
    return count;
  };
  EXPECT_EQ(equal(args[0]), 0);
  EXPECT_NEAR(equal(ties[0]), 588, 100);
  EXPECT_LE(equal(args[3]), 1);  // The values are random, so one pair may be equal by chance.
  EXPECT_NEAR(equal(ties[3]), 588, 100);
  EXPECT_EQ(distinct(ties[2]) < 160 && distinct(ties[2]) > 120, true) << distinct(ties[2]);
}

TEST(Arguments, InitialValuesAreIdentitiesOfTheirReducers) {
  const std::vector<Literal> args = Made(*Parsed(ReadFile("testdata/arguments/sorts.hlo")), {.seed = 3});
  EXPECT_EQ(args[5].GetDouble(0), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(args[6].GetInt(0), 0);
  const auto module = Parsed(ReadFile("testdata/arguments/initial_values_are_identities_of_their_reducers.hlo"));
  const std::vector<Literal> inits = Made(*module, {.seed = 1});
  EXPECT_EQ(inits[2].GetInt(0), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(inits[3].GetInt(0), 255);
  EXPECT_EQ(inits[5].GetDouble(0), 0);
  EXPECT_NE(inits[6].GetDouble(0), 0);  // |a - b| has no identity, so the initial value is random.
}

TEST(Arguments, SelectorsIncludeOutOfRangeBranches) {
  const auto module = Parsed(ReadFile("testdata/arguments/selectors_include_out_of_range_branches.hlo"));
  for (const InputProfile profile : {InputProfile::kNormal, InputProfile::kLong}) {
    std::set<int64_t> seen;
    for (uint64_t seed = 0; seed < 60; ++seed)
      seen.insert(Made(*module, {.seed = seed, .profile = profile})[0].GetInt(0));
    EXPECT_EQ(seen, (std::set<int64_t>{-1, 0, 1, 2}));
  }
}

TEST(Arguments, SliceStartsAreOftenAtEitherEnd) {
  const auto module = Parsed(ReadFile("testdata/arguments/slice_starts_are_often_at_either_end.hlo"));
  int low = 0, high = 0, between = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const int64_t i = Made(*module, {.seed = seed})[1].GetInt(0);
    EXPECT_TRUE(i >= 0 && i <= 990);
    (i == 0 ? low : i == 990 ? high : between) += 1;
  }
  EXPECT_TRUE(low > 8 && high > 8 && between > 100) << low << " " << high << " " << between;
}

TEST(Arguments, LongLoopsRunUpToAThousandTimes) {
  const auto module = Parsed(ReadFile("testdata/arguments/long_loops_run_up_to_a_thousand_times.hlo"));
  int64_t longest = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const int64_t n = Made(*module, {.seed = seed, .profile = InputProfile::kLong})[0].GetInt(0);
    EXPECT_TRUE(n >= 0 && n <= 1000);
    longest = std::max(longest, n);
  }
  EXPECT_GT(longest, 800);
}

// The profile `cancel` draws 100 terms of size 1 as pairs whose sum is about 2^-10 of a term.
TEST(Arguments, CancellingSumsAreFarSmallerThanTheirTerms) {
  const auto module = Parsed(ReadFile("testdata/arguments/cancelling_sums_are_far_smaller_than_their_terms.hlo"));
  for (const InputProfile profile : {InputProfile::kCancel, InputProfile::kNormal}) {
    const std::vector<Literal> args = Made(*module, {.profile = profile});
    const auto result = Interpret(*module, args);
    ASSERT_TRUE(result.has_value());
    double largest = 0;
    ForEachLeaf(result->shape(), [&](const ShapeIndex& index, const Shape& leaf) {
      for (int64_t i = 0; i < leaf.NumElements(); ++i)
        largest = std::max(largest, std::fabs(result->At(index).GetDouble(i)));
    });
    EXPECT_EQ(largest < 0.1, profile == InputProfile::kCancel) << largest;
    EXPECT_EQ(largest > 1, profile == InputProfile::kNormal) << largest;
  }
}

TEST(Arguments, DomainsOfFunctionsAreKept) {
  const auto module = Parsed(ReadFile("testdata/arguments/domains_of_functions_are_kept.hlo"));
  const std::vector<Literal> args = Made(*module);
  bool negative = false;
  for (int64_t i = 0; i < 300; ++i) {
    EXPECT_GE(args[0].GetDouble(i), -0.5);
    negative = negative || args[0].GetDouble(i) < 0;
    EXPECT_LE(std::fabs(args[1].GetDouble(i)), 0.875);
    EXPECT_GE(args[2].GetDouble(i), 1);
    EXPECT_GE(args[3].GetInt(i), 1);
  }
  EXPECT_TRUE(negative);
}

// At most one constraint per leaf is kept, however many leaves the parameter has.
TEST(Arguments, EveryLeafOfALargeTupleIsConstrained) {
  constexpr int kLeaves = 150;
  std::string shape, body, results, shapes;
  for (int i = 0; i < kLeaves; ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    shape += comma + "s32[]";
    body += Str("  at_", i, " = s32[] get-tuple-element(p), index=", i, "\n  part_", i,
                " = f32[1] dynamic-slice(x, at_", i, "), dynamic_slice_sizes={1}\n");
    results += comma + Str("part_", i);
    shapes += comma + "f32[1]";
  }
  const auto module =
      Parsed(Str("HloModule m\nENTRY main {\n  p = (", shape, ") parameter(0)\n  x = f32[5] parameter(1)\n", body,
                 "  ROOT t = (", shapes, ") tuple(", results, ")\n}"));
  const std::vector<Literal> args = Made(*module);
  for (const Literal& index : args[0].elements()) {
    EXPECT_GE(index.GetInt(0), 0);
    EXPECT_LE(index.GetInt(0), 4);
  }
}

TEST(Arguments, DivisorsAndRootsArePositive) {
  const auto module = Parsed(ReadFile("testdata/arguments/divisors_and_roots_are_positive.hlo"));
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
  const auto module = Parsed(ReadFile("testdata/arguments/weights_of_long_sums_are_scaled.hlo"));
  const std::vector<Literal> args = Made(*module);
  double largest = 0;
  for (const float x : args[1].data<float>()) largest = std::max<double>(largest, std::fabs(x));
  EXPECT_NEAR(largest, 0.1, 0.01);  // The bound is sqrt(3 / 300).
}

TEST(Arguments, ChecksAndTightensUntilResultsAreFinite) {
  const auto module = Parsed(ReadFile("testdata/arguments/checks_and_tightens_until_results_are_finite.hlo"));
  ArgumentOptions options;
  options.interpret = [&](std::span<const Literal> args) { return Interpret(*module, args); };
  const auto made = MakeArgumentsChecked(*module, options);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->scale, 0.25);
  EXPECT_EQ(made->tries, 3);
  EXPECT_LE(made->non_finite_share, 0.01);
  EXPECT_TRUE(made->reference.has_value());
}

TEST(Arguments, SpecsNameParametersByNumberOrName) {
  const auto module = Parsed(ReadFile("testdata/arguments/two_floats.hlo"));
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
  EXPECT_NEAR(tiny, 1150, 250);  // 60 of the 254 binades of f32 count as tiny.
  EXPECT_EQ(of(InputProfile::kFingerprint).GetDouble(4999), 5000);
  EXPECT_TRUE(of(InputProfile::kOnes).IsAll(1));
}

// In each format, values of the profile `wide` have both signs, are finite, and have magnitudes of every decade.
TEST(Arguments, WideReachesBothEndsOfTheType) {
  for (const char* type : {"f64", "f32", "f16", "bf16", "f8e4m3fn", "f8e5m2"}) {
    const auto module = Parsed(std::string("HloModule m\nENTRY main {\n  ROOT a = ") + type + "[4000] parameter(0)\n}");
    const Literal wide = Made(*module, {.profile = InputProfile::kWide})[0];
    double smallest = 1e300, largest = 0;
    int negative = 0, above = 0;
    for (int64_t i = 0; i < 4000; ++i) {
      const double x = wide.GetDouble(i);
      ASSERT_TRUE(std::isfinite(x) && x != 0) << type;
      smallest = std::min(smallest, std::fabs(x));
      largest = std::max(largest, std::fabs(x));
      negative += x < 0;
      above += std::fabs(x) >= 1;
    }
    EXPECT_NEAR(negative, 2000, 200) << type;
    EXPECT_NEAR(above, 2000, 450) << type;
    const auto [low, high] = std::string(type) == "f64"        ? std::pair(1e-300, 1e300)
                             : std::string(type) == "f16"      ? std::pair(1e-4, 6e4)
                             : std::string(type) == "f8e4m3fn" ? std::pair(0.016, 447.0)
                             : std::string(type) == "f8e5m2"   ? std::pair(1e-4, 57000.0)
                                                               : std::pair(1e-36, 1e37);
    EXPECT_LT(smallest, low) << type;
    EXPECT_GT(largest, high) << type;
  }
}

// bf16 represents all integers up to 256, so the first 512 elements, with both signs, are distinct. The next 512 have
// the same values in another order.
TEST(Arguments, FingerprintsRepeatOnlyIfTheTypeHasTooFewValues) {
  const auto module =
      Parsed(ReadFile("testdata/arguments/fingerprints_repeat_only_if_the_type_has_too_few_values.hlo"));
  const std::vector<Literal> args = Made(*module, {.profile = InputProfile::kFingerprint});
  const auto distinct = [](const Literal& literal, int64_t from, int64_t to) {
    std::set<double> values;
    for (int64_t i = from; i < to; ++i) {
      const double x = literal.GetDouble(i);
      EXPECT_TRUE(x == std::trunc(x) && std::fabs(x) <= 256);
      values.insert(x);
    }
    return values.size();
  };
  EXPECT_EQ(distinct(args[0], 0, 200), 200u);
  EXPECT_EQ(distinct(args[1], 0, 512), 512u);
  EXPECT_EQ(distinct(args[1], 512, 1024), 512u);
  int same = 0;
  for (int64_t i = 0; i < 512; ++i) same += args[1].GetDouble(i) == args[1].GetDouble(512 + i);
  EXPECT_LT(same, 20);
  EXPECT_EQ(distinct(args[2], 0, 256), 256u);
  EXPECT_GT(args[3].GetDouble(0), 9);  // Parameter 3 has other values than parameter 0.
}

TEST(Arguments, ExactIntegersAreNotZeroAndKeepTheirBound) {
  const auto module = Parsed(ReadFile("testdata/arguments/exact_integers_are_not_zero_and_keep_their_bound.hlo"));
  for (const int64_t bound : {int64_t{8}, int64_t{1}}) {
    for (const Literal& arg : Made(*module, {.profile = InputProfile::kExact, .exact_bound = bound})) {
      std::set<double> seen;
      for (int64_t i = 0; i < 500; ++i) seen.insert(arg.GetDouble(i));
      EXPECT_FALSE(seen.contains(0));
      EXPECT_EQ(*seen.rbegin(), static_cast<double>(bound));
      EXPECT_EQ(static_cast<int64_t>(seen.size()),
                IsSigned(arg.shape().type()) || IsFloat(arg.shape().type()) ? 2 * bound : bound);
    }
  }
}

TEST(Arguments, ArgRangeHoldsForRandomFloatsOfEveryProfile) {
  const auto module = Parsed("HloModule m\nENTRY main {\n  ROOT a = f32[500] parameter(0)\n}");
  for (const InputProfile profile : {InputProfile::kNormal, InputProfile::kXla, InputProfile::kWide}) {
    const Literal a = Made(*module, {.profile = profile, .range = {{5, 6}}})[0];
    for (int64_t i = 0; i < 500; ++i) EXPECT_TRUE(a.GetDouble(i) >= 5 && a.GetDouble(i) <= 6);
  }
}

TEST(Arguments, BothPartsOfComplexNumbersFollowTheProfile) {
  const auto module = Parsed("HloModule m\nENTRY main {\n  ROOT a = c64[4000] parameter(0)\n}");
  const auto of = [&](InputProfile profile) { return Made(*module, {.profile = profile})[0]; };
  EXPECT_EQ(of(InputProfile::kOnes).GetComplex(7), std::complex<double>(1, 0));
  EXPECT_EQ(of(InputProfile::kZeros).GetComplex(7), std::complex<double>(0, 0));
  EXPECT_EQ(of(InputProfile::kIota).GetComplex(3999), std::complex<double>(3999, 0));
  const Literal exact = of(InputProfile::kExact), special = of(InputProfile::kSpecial), wide = of(InputProfile::kWide);
  const Literal fingerprint = of(InputProfile::kFingerprint), xla = of(InputProfile::kXla);
  const Literal normal = of(InputProfile::kNormal), ties = of(InputProfile::kTies);
  EXPECT_TRUE(normal.BitEquals(ties));
  std::set<double> distinct;
  int nans[2] = {}, infinities[2] = {}, zeros[2][2] = {}, tiny[2] = {}, same_sign = 0;
  for (int64_t i = 0; i < 4000; ++i) {
    for (int part = 0; part < 2; ++part) {
      const auto number = [&](const Literal& literal) {
        return part == 0 ? literal.GetComplex(i).real() : literal.GetComplex(i).imag();
      };
      const double x = number(exact), y = number(special);
      EXPECT_TRUE(x == std::trunc(x) && x != 0 && std::fabs(x) <= 8);
      EXPECT_TRUE(number(xla) >= -0.1 && number(xla) <= 0.2);
      EXPECT_TRUE(std::fabs(number(normal)) <= 1);
      distinct.insert(number(fingerprint));
      nans[part] += std::isnan(y);
      infinities[part] += std::isinf(y);
      if (y == 0) ++zeros[part][std::signbit(y)];
      tiny[part] += std::fabs(number(wide)) < 1e-20;
    }
    same_sign += std::signbit(exact.GetComplex(i).real()) == std::signbit(exact.GetComplex(i).imag());
  }
  EXPECT_EQ(distinct.size(), 8000u);
  EXPECT_NEAR(same_sign, 2000, 200);
  for (int part = 0; part < 2; ++part) {
    EXPECT_NEAR(nans[part], 80, 50);
    EXPECT_NEAR(infinities[part], 80, 50);
    EXPECT_GT(zeros[part][0], 5);
    EXPECT_GT(zeros[part][1], 5);
    EXPECT_NEAR(tiny[part], 920, 250);
  }
}

TEST(Arguments, ArgRangeHoldsForBothPartsOfComplexNumbers) {
  const auto module = Parsed("HloModule m\nENTRY main {\n  ROOT a = c128[500] parameter(0)\n}");
  for (const InputProfile profile : {InputProfile::kNormal, InputProfile::kXla, InputProfile::kWide}) {
    const Literal a = Made(*module, {.profile = profile, .range = {{5, 6}}})[0];
    for (int64_t i = 0; i < 500; ++i) {
      EXPECT_TRUE(a.GetComplex(i).real() >= 5 && a.GetComplex(i).real() <= 6);
      EXPECT_TRUE(a.GetComplex(i).imag() >= 5 && a.GetComplex(i).imag() <= 6);
    }
  }
}

}  // namespace
}  // namespace hlo
