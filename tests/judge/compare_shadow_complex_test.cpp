// Tests the shadow's intervals of complex functions: each contains the interpreter's result and is not much wider than
// necessary.
#include <complex>

#include "tests/judge/compare_shadow_cases.h"

namespace hlo {
namespace {

constexpr PrimitiveType kC128 = PrimitiveType::kC128;

Literal RandomComplex(int64_t count, uint32_t seed, double size) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> part(-size, size);
  Literal literal(Shape(kC128, {count}));
  for (int64_t i = 0; i < count; ++i) literal.SetComplex(i, {part(random), part(random)});
  return literal;
}

// The distance of element i from the interpreter's result, and its bound. Each is the larger one of the real and the
// imaginary part.
struct Off {
  double error = 0, bound = 0;
};
Off OffOf(const ShadowValue& value, const Literal& interpreted, int64_t i) {
  const std::complex<double> right = interpreted.GetComplex(i);
  const auto part = [&](const ShadowValue& x, double number) {
    const double bound = x.HasBound() ? x.bound.data<double>()[i] : 0;
    return Off{std::fabs(x.value.data<double>()[i] - number), bound};
  };
  if (value.elements.empty()) return part(value, right.real());
  const Off real = part(value.elements[0], right.real()), imaginary = part(value.elements[1], right.imag());
  return {std::max(real.error, imaginary.error), std::max(real.bound, imaginary.bound)};
}

bool IsOfTwo(Opcode opcode) {
  return opcode == Opcode::kDivide || opcode == Opcode::kPower || opcode == Opcode::kAtan2;
}

class ComplexFunction : public testing::TestWithParam<Opcode> {};

TEST_P(ComplexFunction, EnclosesWhatTheInterpreterGives) {
  const bool binary = IsOfTwo(GetParam());
  for (const double size : {1e-3, 1.0, 8.0}) {
    Program p;
    Instruction& x = p.Parameter(kC128, {500});
    std::vector<Instruction*> operands = {&x};
    if (binary) operands.push_back(&p.Parameter(kC128, {500}));
    const Shape shape = GetParam() == Opcode::kAbs ? Shape(PrimitiveType::kF64, {500}) : x.shape();
    p.entry.SetRoot(p.entry.Add(GetParam(), shape, operands));
    std::vector<Literal> args = {RandomComplex(500, 1, size)};
    if (binary) args.push_back(RandomComplex(500, 2, size));
    const auto shadow = EvaluateShadow(p.entry, args, {.widened = true});
    const auto interpreted = EvaluateComputation(p.entry, args);
    ASSERT_TRUE(shadow && interpreted);
    for (int64_t i = 0; i < 500; ++i) {
      const Off off = OffOf(shadow->value, *interpreted, i);
      const double magnitude = std::abs(interpreted->GetComplex(i));
      // The bound does not include the interpreter's own error, which is a few roundings.
      EXPECT_LE(off.error, off.bound + 1e-14 * magnitude)
          << ToString(GetParam()) << " " << i << ", numbers up to " << size;
      EXPECT_LE(off.bound, 1e-12 * (magnitude + size))
          << ToString(GetParam()) << " " << i << ", numbers up to " << size;
    }
  }
}

// In the declared types: the permitted results of a c64 kernel are close to the interpreter's result for c128.
TEST_P(ComplexFunction, EnclosesAsDeclared) {
  for (const double size : {1e-3, 1.0, 8.0}) {
    std::vector<Literal> args = {RandomComplex(500, 3, size)};
    if (IsOfTwo(GetParam())) args.push_back(RandomComplex(500, 4, size));
    Program narrow, wide;
    std::vector<Instruction*> of_narrow, of_wide;
    std::vector<Literal> narrow_args, wide_args;
    for (const Literal& arg : args) {
      of_narrow.push_back(&narrow.Parameter(PrimitiveType::kC64, {500}));
      of_wide.push_back(&wide.Parameter(kC128, {500}));
      Literal rounded(Shape(PrimitiveType::kC64, {500})), again(Shape(kC128, {500}));
      for (int64_t i = 0; i < 500; ++i) rounded.SetComplex(i, arg.GetComplex(i));
      for (int64_t i = 0; i < 500; ++i) again.SetComplex(i, rounded.GetComplex(i));
      narrow_args.push_back(rounded);
      wide_args.push_back(again);
    }
    const bool is_abs = GetParam() == Opcode::kAbs;
    const PrimitiveType part = is_abs ? PrimitiveType::kF32 : PrimitiveType::kC64;
    narrow.entry.SetRoot(narrow.entry.Add(GetParam(), Shape(part, {500}), of_narrow));
    wide.entry.SetRoot(wide.entry.Add(GetParam(), Shape(is_abs ? PrimitiveType::kF64 : kC128, {500}), of_wide));
    const auto shadow = EvaluateShadow(narrow.entry, narrow_args);
    const auto exact = EvaluateComputation(wide.entry, wide_args);
    const auto interpreted = EvaluateComputation(narrow.entry, narrow_args);
    ASSERT_TRUE(shadow && exact && interpreted);
    for (int64_t i = 0; i < 500; ++i) {
      const double magnitude = std::abs(exact->GetComplex(i));
      for (const Literal* value : {&*exact, &*interpreted}) {
        const Off off = OffOf(shadow->value, *value, i);
        EXPECT_LE(off.error, off.bound) << ToString(GetParam()) << " " << i << ", numbers up to " << size;
        EXPECT_LE(off.bound, 0x1p-23 * magnitude + 1e-11 * (magnitude + size)) << ToString(GetParam()) << " " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ComplexFunction,
                         testing::Values(Opcode::kAcos, Opcode::kAcosh, Opcode::kAsin, Opcode::kAsinh, Opcode::kAtan2,
                                         Opcode::kAtanh, Opcode::kLog2, Opcode::kAbs, Opcode::kCos, Opcode::kCosh,
                                         Opcode::kDivide, Opcode::kExp, Opcode::kExp2, Opcode::kExpm1, Opcode::kLog,
                                         Opcode::kLog1p, Opcode::kLogistic, Opcode::kPower, Opcode::kRsqrt,
                                         Opcode::kSign, Opcode::kSin, Opcode::kSinh, Opcode::kSqrt, Opcode::kTan,
                                         Opcode::kTanh),
                         [](const auto& info) { return Str("Opcode", static_cast<int>(info.param)); });

// On branch cuts and where a part overflows, the value is the interpreter's and has no bound.
TEST(ComplexFunction, IsTheInterpretersWhereTheFormulaIsNone) {
  for (const Opcode opcode : {Opcode::kLog, Opcode::kSqrt, Opcode::kRsqrt, Opcode::kExp}) {
    Program p;
    Instruction& x = p.Parameter(kC128, {3});
    p.entry.SetRoot(p.entry.Add(opcode, x.shape(), {&x}));
    Literal arg(x.shape());
    const bool overflows = opcode == Opcode::kExp;
    const std::complex<double> hard[] = {{-2, -0.0}, {-0.25, 0}, {-3, 0}}, large[] = {{1000, 1}, {710, 2}, {1e300, 3}};
    for (int64_t i = 0; i < 3; ++i) arg.SetComplex(i, overflows ? large[i] : hard[i]);
    const auto shadow = EvaluateShadow(p.entry, std::vector<Literal>{arg}, {.widened = true});
    const auto interpreted = EvaluateComputation(p.entry, {&arg, 1});
    ASSERT_TRUE(shadow && interpreted);
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_FALSE(std::isfinite(OffOf(shadow->value, *interpreted, i).bound)) << ToString(opcode) << " " << i;
      EXPECT_EQ(shadow->value.elements[0].value.data<double>()[i], interpreted->GetComplex(i).real())
          << ToString(opcode);
      EXPECT_EQ(shadow->value.elements[1].value.data<double>()[i], interpreted->GetComplex(i).imag())
          << ToString(opcode);
    }
  }
}

}  // namespace
}  // namespace hlo
