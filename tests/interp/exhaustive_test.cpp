// Tests every unary op on every value of every narrow float type, and the binary ops on every pair. The expected result
// is the exact result rounded to f32, which is the compute type according to docs/ops.md#compute-types, and then to the
// type.
//
// The test does not use the interpreter's knowledge of the formats. It computes their values from the definition of a
// format and rounds by searching them. Exact results are computed in long double. Its 64 bits determine the 24 bits of
// f32 unless the value is within 2^-40 of a tie.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/float_limits.h"
#include "base/small_floats.h"
#include "base/text.h"
#include "interp/functions.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Type {
  const char* name;
  int exponent_bits, mantissa_bits, bias;
  Specials specials;
};
constexpr Type kTypes[] = {
    {"f16", 5, 10, 15, Specials::kIeee},          {"bf16", 8, 7, 127, Specials::kIeee},
    {"f8e5m2", 5, 2, 15, Specials::kIeee},        {"f8e4m3", 4, 3, 7, Specials::kIeee},
    {"f8e3m4", 3, 4, 3, Specials::kIeee},         {"f8e4m3fn", 4, 3, 7, Specials::kFn},
    {"f8e4m3b11fnuz", 4, 3, 11, Specials::kFnuz}, {"f8e4m3fnuz", 4, 3, 8, Specials::kFnuz},
    {"f8e5m2fnuz", 5, 2, 16, Specials::kFnuz},    {"f4e2m1fn", 2, 1, 1, Specials::kFinite},
    {"f6e3m2fn", 3, 2, 3, Specials::kFinite},     {"f6e2m3fn", 2, 3, 1, Specials::kFinite},
};

// A float format by its definition: the value of each bit pattern.
class Format {
 public:
  explicit Format(const Type& type) : type_(type), bits_(1 + type.exponent_bits + type.mantissa_bits) {
    const uint32_t count = 1u << bits_;
    for (uint32_t pattern = 0; pattern < count; ++pattern) values_.push_back(Decode(pattern));
    for (uint32_t pattern = 0; pattern < count / 2 && std::isfinite(values_[pattern]); ++pattern)
      sizes_.push_back(values_[pattern]);
  }

  uint32_t count() const { return static_cast<uint32_t>(values_.size()); }
  double Value(uint32_t pattern) const { return values_[pattern]; }
  double Largest() const { return sizes_.back(); }
  bool HasNan() const { return type_.specials != Specials::kFinite; }

  // Rounds to the nearest value, with ties to the even pattern. A NaN stays a NaN. A value that is too large becomes
  // infinity, in formats without infinity a NaN, and in formats without both the largest value.
  double Round(float x) const {
    if (x != x) return kNan;
    const double size = std::fabs(double{x}), largest = sizes_.back();
    const auto signed_as_x = [&](double y) {
      return type_.specials == Specials::kFnuz && y == 0 ? 0.0 : std::copysign(y, double{x});
    };
    const auto above = std::lower_bound(sizes_.begin(), sizes_.end(), size);
    if (above == sizes_.end()) {
      // A value beyond the largest one rounds to it if it is within half a step.
      const double step = largest - sizes_[sizes_.size() - 2];
      const bool even = (sizes_.size() - 1) % 2 == 0;
      const bool fits = size < largest + step / 2 || (size == largest + step / 2 && even);
      if (type_.specials == Specials::kFinite || fits) return signed_as_x(largest);
      return type_.specials == Specials::kIeee ? signed_as_x(std::numeric_limits<double>::infinity()) : kNan;
    }
    if (*above == size) return signed_as_x(size);
    const double low = above[-1], high = *above;
    const bool down = size - low < high - size || (size - low == high - size && (above - sizes_.begin()) % 2 != 0);
    return signed_as_x(down ? low : high);
  }

 private:
  double Decode(uint32_t pattern) const {
    const uint32_t sign = pattern >> (bits_ - 1), magnitude = pattern & ((1u << (bits_ - 1)) - 1);
    const uint32_t exponent = magnitude >> type_.mantissa_bits,
                   mantissa = magnitude & ((1u << type_.mantissa_bits) - 1);
    const uint32_t top = (1u << type_.exponent_bits) - 1, ones = (1u << (bits_ - 1)) - 1;
    const double scale = std::ldexp(1.0, -type_.mantissa_bits);
    double size = exponent == 0 ? std::ldexp(mantissa * scale, 1 - type_.bias)
                                : std::ldexp(1 + mantissa * scale, static_cast<int>(exponent) - type_.bias);
    if (type_.specials == Specials::kIeee && exponent == top)
      size = mantissa == 0 ? std::numeric_limits<double>::infinity() : kNan;
    if (type_.specials == Specials::kFn && magnitude == ones) size = kNan;
    if (type_.specials == Specials::kFnuz && magnitude == 0 && sign != 0) return kNan;
    return sign != 0 ? -size : size;
  }

  const Type& type_;
  int bits_;
  std::vector<double> values_;
  // The finite values that are not negative, in ascending order. Entry i has the pattern i.
  std::vector<double> sizes_;
};

using Real = long double;
Real RoundAway(Real x) { return std::round(x); }
struct Unary {
  std::string_view opcode;
  Real (*exact)(Real);
};
// Ops that are not in interp/functions.def.
constexpr Unary kExactUnaries[] = {
    {"abs", [](Real x) { return std::fabs(x); }},
    {"ceil", [](Real x) { return std::ceil(x); }},
    {"floor", [](Real x) { return std::floor(x); }},
    {"negate", [](Real x) { return -x; }},
    {"round-nearest-afz", RoundAway},
    {"round-nearest-even", [](Real x) { return std::nearbyint(x); }},
    {"sign", [](Real x) { return x != x ? x : std::copysign(static_cast<Real>(x != 0), x); }},
};

std::vector<Unary> Unaries() {
  std::vector<Unary> all(std::begin(kExactUnaries), std::end(kExactUnaries));
  for (const FloatFunction& function : FloatFunctions()) all.push_back({ToString(function.opcode), function.f80});
  return all;
}

// The larger number. +0 is larger than -0, and the first NaN wins.
Real Larger(Real a, Real b) { return a != a ? a : b != b ? b : a == b ? (std::signbit(a) ? b : a) : std::max(a, b); }
struct Binary {
  std::string_view opcode;
  Real (*exact)(Real, Real);
};
// Ops that are not in interp/functions.def.
constexpr Binary kArithmetic[] = {
    {"add", [](Real a, Real b) { return a + b; }},
    {"subtract", [](Real a, Real b) { return a - b; }},
    {"multiply", [](Real a, Real b) { return a * b; }},
    {"divide", [](Real a, Real b) { return a / b; }},
    {"maximum", [](Real a, Real b) { return Larger(a, b); }},
    {"minimum", [](Real a, Real b) { return -Larger(-a, -b); }},
};

std::vector<Binary> Binaries() {
  std::vector<Binary> all(std::begin(kArithmetic), std::end(kArithmetic));
  for (const FloatFunctionOfTwo& function : FloatFunctionsOfTwo())
    all.push_back({ToString(function.opcode), function.f80});
  return all;
}

// True if the values and the signs of zeros are equal. All NaNs are equal.
bool Same(double a, double b) { return (a != a && b != b) || (a == b && std::signbit(a) == std::signbit(b)); }

Result<Literal> RunOp(std::string_view text, std::vector<Literal> args) {
  const auto module = ParseText(std::string(text));
  return Interpret(*module, args);
}

// All patterns, each `repeats` times in a row. This sequence is repeated `rounds` times.
Literal AllPatterns(const Format& format, const Type& type, int64_t repeats, int64_t rounds) {
  auto shape = ParseShape(Str(type.name, "[", format.count() * repeats * rounds, "]"));
  Literal literal(*shape);
  int64_t i = 0;
  const int64_t bytes = ByteWidth(shape->type());
  for (int64_t round = 0; round < rounds; ++round) {
    for (uint32_t pattern = 0; pattern < format.count(); ++pattern) {
      for (int64_t k = 0; k < repeats; ++k, ++i) std::memcpy(literal.mutable_raw() + i * bytes, &pattern, bytes);
    }
  }
  return literal;
}

class Exhaustive : public testing::TestWithParam<Type> {};

TEST_P(Exhaustive, FormatsAreAsDefined) {
  const Format format(GetParam());
  const Literal all = AllPatterns(format, GetParam(), 1, 1);
  for (uint32_t pattern = 0; pattern < format.count(); ++pattern) {
    ASSERT_TRUE(Same(all.GetDouble(pattern), format.Value(pattern)))
        << "pattern " << pattern << " is " << all.GetDouble(pattern) << ", not " << format.Value(pattern);
  }
  EXPECT_EQ(LargestFinite(FormatOf(*PrimitiveTypeFromText(GetParam().name))), format.Largest());
}

TEST_P(Exhaustive, UnaryOpsAreCorrectlyRounded) {
  const Type& type = GetParam();
  const Format format(type);
  const Literal x = AllPatterns(format, type, 1, 1);
  const std::string shape = Str(type.name, "[", format.count(), "]");
  for (const Unary& op : Unaries()) {
    const auto result =
        RunOp(Str("ENTRY e { x = ", shape, " parameter(0)\n ROOT r = ", shape, " ", op.opcode, "(x) }"), {x});
    ASSERT_TRUE(result.has_value()) << op.opcode;
    int wrong = 0;
    for (uint32_t pattern = 0; pattern < format.count() && wrong < 3; ++pattern) {
      const double in = format.Value(pattern), out = result->GetDouble(pattern);
      const double expected = format.Round(static_cast<float>(op.exact(in)));
      // If a type has no NaN, the result in place of a NaN is not specified.
      if (Same(out, expected) || (expected != expected && !format.HasNan())) continue;
      ++wrong;
      ADD_FAILURE() << op.opcode << "(" << in << ") of " << type.name << " is " << out << ", not " << expected;
    }
  }
}

TEST_P(Exhaustive, BinaryOpsAreCorrectlyRounded) {
  const Type& type = GetParam();
  if (1 + type.exponent_bits + type.mantissa_bits > 8) return;  // There are 2^32 pairs.
  const Format format(type);
  const Literal x = AllPatterns(format, type, format.count(), 1), y = AllPatterns(format, type, 1, format.count());
  const std::string shape = Str(type.name, "[", int64_t{format.count()} * format.count(), "]");
  const auto text = [&](std::string_view result, std::string_view op, std::string_view attributes) {
    return Str("ENTRY e { x = ", shape, " parameter(0)\n y = ", shape, " parameter(1)\n ROOT r = ", result, " ", op,
               "(x, y)", attributes, " }");
  };
  for (const Binary& op : Binaries()) {
    const auto result = RunOp(text(shape, op.opcode, ""), {x, y});
    ASSERT_TRUE(result.has_value()) << op.opcode;
    int wrong = 0;
    for (int64_t i = 0; i < x.shape().NumElements() && wrong < 3; ++i) {
      const double a = format.Value(i / format.count()), b = format.Value(i % format.count());
      const double out = result->GetDouble(i), expected = format.Round(static_cast<float>(op.exact(a, b)));
      if (Same(out, expected) || (expected != expected && !format.HasNan())) continue;
      ++wrong;
      ADD_FAILURE() << op.opcode << "(" << a << ", " << b << ") of " << type.name << " is " << out << ", not "
                    << expected;
    }
  }
  struct Direction {
    const char* word;
    bool (*holds)(double, double);
  };
  constexpr Direction kDirections[] = {
      {"EQ", [](double a, double b) { return a == b; }}, {"NE", [](double a, double b) { return a != b; }},
      {"LT", [](double a, double b) { return a < b; }},  {"LE", [](double a, double b) { return a <= b; }},
      {"GT", [](double a, double b) { return a > b; }},  {"GE", [](double a, double b) { return a >= b; }},
  };
  for (const Direction& direction : kDirections) {
    const std::string pred = Str("pred", shape.substr(shape.find('[')));
    const auto result = RunOp(text(pred, "compare", Str(", direction=", direction.word)), {x, y});
    ASSERT_TRUE(result.has_value()) << direction.word;
    for (int64_t i = 0; i < x.shape().NumElements(); ++i) {
      const double a = format.Value(i / format.count()), b = format.Value(i % format.count());
      ASSERT_EQ(result->GetInt(i) != 0, direction.holds(a, b)) << a << " " << direction.word << " " << b;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Interp, Exhaustive, testing::ValuesIn(kTypes),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ExhaustiveConvert, ConvertsBetweenNarrowFloats) {
  for (const Type& from : kTypes) {
    const Format source(from);
    const Literal x = AllPatterns(source, from, 1, 1);
    for (const Type& to : kTypes) {
      const Format target(to);
      const auto result = RunOp(Str("ENTRY e { x = ", from.name, "[", source.count(),
                                    "] parameter(0)\n ROOT r = ", to.name, "[", source.count(), "] convert(x) }"),
                                {x});
      ASSERT_TRUE(result.has_value()) << from.name << " to " << to.name;
      int wrong = 0;
      for (uint32_t pattern = 0; pattern < source.count() && wrong < 3; ++pattern) {
        const double in = source.Value(pattern), out = result->GetDouble(pattern);
        const double expected = target.Round(static_cast<float>(in));
        if (Same(out, expected) || (in != in && !target.HasNan())) continue;
        ++wrong;
        ADD_FAILURE() << in << " of " << from.name << " as " << to.name << " is " << out << ", not " << expected;
      }
    }
  }
}

}  // namespace
}  // namespace hlo
