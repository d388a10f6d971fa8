// Tests the law of every shadow rule on random elements of all magnitudes. For all operands within their bounds, the
// exact result, rounded to the type, is within the bound of the result, or the result is undetermined.
#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/source_text.h"
#include "base/text.h"
#include "driver/fuzz/grow.h"
#include "interp/arguments/arguments.h"
#include "interp/functions.h"
#include "judge/bounds/rules.h"
#include "parser/parser.h"
#include "tests/judge/compare_shadow_cases.h"

namespace hlo {
namespace {

constexpr PrimitiveType kTypes[] = {PrimitiveType::kF64, PrimitiveType::kF32, PrimitiveType::kBF16,
                                    PrimitiveType::kF16};
constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

double RoundTo(PrimitiveType type, long double x) {
  if (type == PrimitiveType::kF64) return static_cast<double>(x);
  if (type == PrimitiveType::kF32) return static_cast<float>(x);
  return Literal::Scalar(type, static_cast<double>(static_cast<float>(x))).GetDouble(0);
}

double OverflowOf(PrimitiveType type) { return shadow::RoundingTo(type, false).overflow; }

struct Element {
  double value, bound;
};

// Random elements of one type and random values within their bounds.
class Chance {
 public:
  Chance(PrimitiveType type, uint64_t seed) : type_(type), random_(seed) {}

  int64_t Below(int64_t count) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(count)); }
  double Unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  double Number() {
    static constexpr double kSpecial[] = {0.0, -0.0, kInf, -kInf, kNaN, 1, -1, 0.5, 2, 3, -3, 0x1p-1074, 0x1p-149};
    const double sign = Below(2) == 0 ? 1 : -1;
    switch (Below(5)) {
      case 0: return RoundTo(type_, kSpecial[Below(std::ssize(kSpecial))]);
      case 1: return RoundTo(type_, sign * largest_ * (1 - Unit() / 4));
      case 2: return RoundTo(type_, sign * std::ldexp(1 + Unit(), static_cast<int>(Below(10)) - 5));
      case 3: return RoundTo(type_, sign * static_cast<double>(Below(9)));
      default: {
        const int range = static_cast<int>(std::log2(largest_));
        return RoundTo(type_, sign * std::ldexp(1 + Unit(), static_cast<int>(Below(2 * range + 60)) - range - 60));
      }
    }
  }

  Element Draw() {
    const double x = Number();
    if (!std::isfinite(x)) return {x, Below(4) == 0 ? kNaN : 0};
    const double v = Below(2) == 0 ? x : static_cast<double>(x + static_cast<long double>(x) * Unit() * 0x1p-20);
    double e = 0;
    switch (Below(8)) {
      case 0: e = std::fabs(v) * std::ldexp(1 + Unit(), -static_cast<int>(Below(55))); break;
      case 1: e = std::fabs(v) * std::ldexp(1.0, -static_cast<int>(Below(55))); break;
      case 2: e = std::fabs(Number()); break;
      case 3: e = 0x1p-1074 * static_cast<double>(1 + Below(3)); break;
      case 4: e = Below(2) == 0 ? kNaN : kInf; break;
      default: return {x, 0};
    }
    if (e == 0) return {x, 0};
    if (!std::isfinite(e)) return {v, std::isinf(e) ? kInf : kNaN};
    return {v, std::fabs(v) + e < overflow_ ? e : kNaN};
  }

  // Draws elements. A higher `calm` gives fewer special values.
  std::vector<Element> DrawSome(int64_t count, int calm) {
    std::vector<Element> elements;
    for (int64_t i = 0; i < count; ++i) {
      Element x = Draw();
      const bool is_odd = !std::isfinite(x.value) || !std::isfinite(x.bound);
      if (calm > 0 && is_odd && Below(20) != 0) x = {RoundTo(type_, Unit() - 0.5), 0};
      if (calm > 1 && Below(10) != 0)
        x = {RoundTo(type_, 4 * Unit() - 2), Below(3) == 0 ? std::ldexp(1.0, -10 * calm) : 0};
      elements.push_back(x);
    }
    return elements;
  }

  // A random number of type `held` within the bound of `x`. Returns nullopt if none was found.
  std::optional<double> Permitted(const Element& x, PrimitiveType held) {
    if (x.bound == 0) return x.value;
    if (!std::isfinite(x.bound)) {
      const double any = Number();
      return std::isnan(any) && std::isinf(x.bound) ? 1 : any;
    }
    const int64_t where = Below(4);
    const double offset = where == 0 ? -x.bound : where == 1 ? x.bound : x.bound * (2 * Unit() - 1);
    double t = x.value + offset;
    while (std::fabs(static_cast<long double>(t) - x.value) > x.bound) t = std::nextafter(t, x.value);
    t = RoundTo(held, t);
    if (std::fabs(static_cast<long double>(t) - x.value) > x.bound) t = RoundTo(held, x.value);
    return std::fabs(static_cast<long double>(t) - x.value) <= x.bound ? std::optional(t) : std::nullopt;
  }

 private:
  PrimitiveType type_;
  double overflow_ = OverflowOf(type_), largest_ = std::nextafter(overflow_, 0);
  std::mt19937_64 random_;
};

// The seeds of a test. By default there are `count`. With HLO_LAWS=N there are N, and the first is random and is
// printed.
struct Seeds {
  uint64_t first, end;
};
Seeds SeedsOf(uint64_t count) {
  const char* const asked = std::getenv("HLO_LAWS");
  if (asked == nullptr) return {1, 1 + count};
  const uint64_t first = std::random_device()();
  std::printf("%s seeds from %llu\n", asked, static_cast<unsigned long long>(first));
  return {first, first + std::strtoull(asked, nullptr, 10)};
}

ShadowValue Elements(const Shape& shape, PrimitiveType held, const std::vector<Element>& elements) {
  ShadowValue x;
  x.shape = shape;
  x.held = held;
  x.value = Literal(shape.WithType(PrimitiveType::kF64));
  x.bound = x.value;
  for (size_t i = 0; i < elements.size(); ++i) {
    x.value.SetDouble(i, elements[i].value);
    x.bound.mutable_data<double>()[i] = elements[i].bound;
  }
  return x;
}

// Whether value and bound of `x` permit `t`. A result may also be infinite if its bound reaches `overflow`.
bool Encloses(const Element& x, double t, double overflow, bool is_result) {
  if (!std::isfinite(x.bound)) return std::isnan(x.bound) || !std::isnan(t);
  if (std::isnan(x.value)) return std::isnan(t);
  if (std::isinf(x.value)) return t == x.value;
  if (is_result && std::isinf(t)) return (t < 0 ? -x.value : x.value) + x.bound >= overflow;
  if (x.bound == 0) return t == x.value && std::signbit(t) == std::signbit(x.value);
  return std::isfinite(t) && std::fabs(static_cast<long double>(t) - x.value) <= x.bound;
}

using Exact = std::function<long double(const long double* x)>;

// `type` is the operands' type and `held` the type that holds them. `is_result` tells whether the operation is the
// root.
struct Setting {
  PrimitiveType type, held;
  bool is_result = false, widened = false;
};

std::string Words(const Element& x) {
  char text[100];
  std::snprintf(text, sizeof text, "%.17g +- %.6g", x.value, x.bound);
  return text;
}

constexpr int64_t kElements = 200;
constexpr int kTries = 4;

void CheckElementwise(Opcode opcode, int arity, const Setting& setting, const Exact& exact, uint64_t seed) {
  Chance chance(setting.widened ? PrimitiveType::kF64 : setting.type, seed);
  Program program;
  std::vector<Instruction*> parameters;
  std::vector<std::vector<Element>> elements(arity);
  std::vector<ShadowValue> args;
  for (auto& operand : elements) {
    parameters.push_back(&program.Parameter(setting.type, {kElements}));
    for (int64_t i = 0; i < kElements; ++i) operand.push_back(chance.Draw());
    args.push_back(Elements(parameters.back()->shape(), setting.held, operand));
  }
  Instruction& op = program.Op(opcode, parameters);
  program.entry.SetRoot(setting.is_result ? op : program.Op(Opcode::kReshape, {&op}));
  const auto result = EvaluateShadowOf(op, args, {.widened = setting.widened});
  ASSERT_TRUE(result) << ToString(opcode) << ": " << result.error().message();
  const double overflow = OverflowOf(setting.type);
  for (int64_t i = 0, wrong = 0; i < kElements && wrong < 3; ++i) {
    const Element is{result->value.GetDouble(i), result->HasBound() ? result->bound.data<double>()[i] : 0};
    for (int n = 0; n < kTries; ++n) {
      std::array<long double, 3> t = {};
      std::string operands;
      bool all = true;
      for (int k = 0; k < arity && all; ++k) {
        const auto permitted = chance.Permitted(elements[k][i], setting.held);
        all = permitted.has_value();
        t[k] = permitted.value_or(0);
      }
      if (!all) continue;
      const double found = RoundTo(result->held, exact(t.data()));
      if (Encloses(is, found, overflow, setting.is_result)) continue;
      for (int k = 0; k < arity; ++k)
        operands += Str("\n  ", Words(elements[k][i]), ", here ", Format("%.17g", static_cast<double>(t[k])));
      ADD_FAILURE() << Str(opcode, " of ", setting.type, " held in ", setting.held, setting.widened ? " widened" : "",
                           setting.is_result ? " at the end" : "", ": ", Words(is), ", and it may be ",
                           Format("%.17g", found), operands);
      ++wrong;
      break;
    }
  }
}

void CheckElementwise(Opcode opcode, int arity, const Exact& exact) {
  const Seeds seeds = SeedsOf(1);
  for (uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
    for (const PrimitiveType type : kTypes) {
      for (const PrimitiveType held : {type, PrimitiveType::kF64}) {
        for (const bool is_result : {false, true})
          CheckElementwise(opcode, arity, {type, held, is_result}, exact, seed);
      }
    }
    CheckElementwise(opcode, arity, {.type = kF32, .held = PrimitiveType::kF64, .widened = true}, exact, seed);
  }
}

TEST(ShadowLaws, FunctionsOfOne) {
  for (const FloatFunction& function : FloatFunctions())
    CheckElementwise(function.opcode, 1, [&](const long double* x) { return function.f80(x[0]); });
}

TEST(ShadowLaws, FunctionsOfTwo) {
  for (const FloatFunctionOfTwo& function : FloatFunctionsOfTwo())
    CheckElementwise(function.opcode, 2, [&](const long double* x) { return function.f80(x[0], x[1]); });
}

long double Larger(long double x, long double y) {
  return std::isnan(x) || std::isnan(y) ? static_cast<long double>(kNaN) : std::max(x, y);
}
long double Smaller(long double x, long double y) { return -Larger(-x, -y); }

TEST(ShadowLaws, Arithmetic) {
  const std::pair<Opcode, Exact> kOps[] = {
      {Opcode::kAdd, [](const long double* x) { return x[0] + x[1]; }},
      {Opcode::kSubtract, [](const long double* x) { return x[0] - x[1]; }},
      {Opcode::kMultiply, [](const long double* x) { return x[0] * x[1]; }},
      {Opcode::kDivide, [](const long double* x) { return x[0] / x[1]; }},
      {Opcode::kMaximum, [](const long double* x) { return Larger(x[0], x[1]); }},
      {Opcode::kMinimum, [](const long double* x) { return Smaller(x[0], x[1]); }},
  };
  for (const auto& [opcode, exact] : kOps) CheckElementwise(opcode, 2, exact);
  CheckElementwise(Opcode::kClamp, 3, [](const long double* x) { return Smaller(x[2], Larger(x[0], x[1])); });
}

TEST(ShadowLaws, Steps) {
  const std::pair<Opcode, Exact> kOps[] = {
      {Opcode::kAbs, [](const long double* x) { return std::fabs(x[0]); }},
      {Opcode::kNegate, [](const long double* x) { return -x[0]; }},
      {Opcode::kFloor, [](const long double* x) { return std::floor(x[0]); }},
      {Opcode::kCeil, [](const long double* x) { return std::ceil(x[0]); }},
      {Opcode::kRoundNearestAfz, [](const long double* x) { return std::round(x[0]); }},
      {Opcode::kRoundNearestEven, [](const long double* x) { return std::nearbyint(x[0]); }},
      {Opcode::kSign,
       [](const long double* x) { return std::isnan(x[0]) || x[0] == 0 ? x[0] : std::copysign(1.0L, x[0]); }},
  };
  for (const auto& [opcode, exact] : kOps) CheckElementwise(opcode, 1, exact);
}

// ---- Operations that combine elements -------------------------------------------------------------------------------

// T stands for a type such as f32 or f16.
constexpr const char* kOperations[] = {
    R"(ENTRY main {
  x = T[40,7] parameter(0)
  start = T[] parameter(1)
  ROOT sum = T[40] reduce(x, start), dimensions={1}, to_apply=add
})",
    R"(ENTRY main {
  x = T[5,40] parameter(0)
  start = T[] parameter(1)
  ROOT product = T[40] reduce(x, start), dimensions={0}, to_apply=multiply
})",
    R"(ENTRY main {
  x = T[40,5] parameter(0)
  start = T[] parameter(1)
  ROOT largest = T[40] reduce(x, start), dimensions={1}, to_apply=maximum
})",
    R"(ENTRY main {
  x = T[40,5] parameter(0)
  start = T[] parameter(1)
  ROOT least = T[40] reduce(x, start), dimensions={1}, to_apply=minimum
})",
    R"(ENTRY main {
  x = T[60] parameter(0)
  start = T[] parameter(1)
  ROOT sums = T[60] reduce-window(x, start), window={size=5 pad=4_0}, to_apply=add
})",
    R"(ENTRY main {
  x = T[60] parameter(0)
  start = T[] parameter(1)
  ROOT sums = T[60] reduce-window(x, start), window={size=60 pad=59_0}, to_apply=add
})",
    R"(ENTRY main {
  x = T[60] parameter(0)
  start = T[] parameter(1)
  ROOT products = T[58] reduce-window(x, start), window={size=3}, to_apply=multiply
})",
    R"(ENTRY main {
  x = T[60] parameter(0)
  start = T[] parameter(1)
  ROOT largest = T[60] reduce-window(x, start), window={size=20 pad=19_0}, to_apply=maximum
})",
    R"(ENTRY main {
  x = T[60] parameter(0)
  from = T[20] parameter(1)
  start = T[] parameter(2)
  ROOT some = T[60] select-and-scatter(x, from, start), window={size=3 stride=3}, select=not_less, scatter=add
})",
    R"(ENTRY main {
  x = T[12] parameter(0)
  at = s32[20,1] parameter(1)
  by = T[20] parameter(2)
  ROOT sums = T[12] scatter(x, at, by), update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
})",
    R"(ENTRY main {
  x = T[12] parameter(0)
  at = s32[20,1] parameter(1)
  by = T[20] parameter(2)
  ROOT products = T[12] scatter(x, at, by), update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=multiply
})",
    R"(ENTRY main {
  x = T[12] parameter(0)
  at = s32[20,1] parameter(1)
  by = T[20] parameter(2)
  ROOT others = T[12] scatter(x, at, by), update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=assign
})",
    R"(ENTRY main {
  x = T[8,5] parameter(0)
  y = T[5,8] parameter(1)
  ROOT product = T[8,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})",
    R"(ENTRY main {
  x = f32[8,5] parameter(0)
  y = T[5,8] parameter(1)
  ROOT product = T[8,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})",
    R"(ENTRY main {
  x = T[8,5] parameter(0)
  y = T[5,8] parameter(1)
  ROOT product = f16[8,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})",
    R"(ENTRY main {
  x = T[2,9,3] parameter(0)
  y = T[3,3,4] parameter(1)
  ROOT product = T[2,9,4] convolution(x, y), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f
})",
    R"(ENTRY main {
  x = T[30] parameter(0)
  y = T[30] parameter(1)
  z = T[30] parameter(2)
  is_less = pred[30] compare(x, y), direction=LT
  ROOT either = T[30] select(is_less, x, z)
})",
    R"(ENTRY main {
  x = T[30] parameter(0)
  y = T[30] parameter(1)
  same = pred[30] compare(x, y), direction=EQ
  order = pred[30] compare(x, y), direction=LE, type=TOTALORDER
  finite = pred[30] is-finite(x)
  whole = s32[30] convert(x)
  few = u8[30] convert(x)
  some = pred[30] convert(x)
  ROOT all = (pred[30], pred[30], pred[30], s32[30], u8[30], pred[30]) tuple(same, order, finite, whole, few, some)
})",
    R"(ENTRY main {
  x = T[30] parameter(0)
  single = f32[30] convert(x)
  half = f16[30] convert(x)
  brain = bf16[30] convert(x)
  coarse = T[30] reduce-precision(x), exponent_bits=5, mantissa_bits=3
  ROOT all = (f32[30], f16[30], bf16[30], T[30]) tuple(single, half, brain, coarse)
})",
    R"(ENTRY main {
  x = s32[30] parameter(0)
  y = T[30] parameter(1)
  many = s32[] constant(123457)
  factor = s32[30] broadcast(many), dimensions={}
  large = s32[30] multiply(x, factor)
  numbers = T[30] convert(large)
  ROOT less = T[30] divide(numbers, y)
})",
    R"(ENTRY main {
  x = T[4,12] parameter(0)
  y = T[4,12] parameter(1)
  ROOT sorted = (T[4,12], T[4,12]) sort(x, y), dimensions={1}, to_apply=by_first
})",
    R"(ENTRY main {
  x = T[20,8] parameter(0)
  places = s32[20,8] iota(), iota_dimension=1
  start = T[] constant(-inf)
  first = s32[] constant(0)
  ROOT best = (T[20], s32[20]) reduce(x, places, start, first), dimensions={1}, to_apply=argmax
})",
    // In f64, the interpreter may overflow where the formula does not, because it multiplies factors that the formula
    // divides first.
    R"(ENTRY main {
  x = f32[6,4] parameter(0)
  scale = f32[4] parameter(1)
  offset = f32[4] parameter(2)
  ROOT normal = (f32[6,4], f32[4], f32[4]) batch-norm-training(x, scale, offset), epsilon=0.001, feature_index=1
})",
    R"(ENTRY main {
  x = f32[6,4] parameter(0)
  scale = f32[4] parameter(1)
  offset = f32[4] parameter(2)
  mean = f32[4] parameter(3)
  variance = f32[4] parameter(4)
  ROOT normal = f32[6,4] batch-norm-inference(x, scale, offset, mean, variance), epsilon=0.001, feature_index=1
})",
    R"(ENTRY main {
  x = f32[6,4] parameter(0)
  scale = f32[4] parameter(1)
  mean = f32[4] parameter(2)
  variance = f32[4] parameter(3)
  dy = f32[6,4] parameter(4)
  ROOT all = (f32[6,4], f32[4], f32[4]) batch-norm-grad(x, scale, mean, variance, dy), epsilon=0.001, feature_index=1
})",
};

// In widened modules, complex numbers have bounds for their parts. Products of infinities are NaN as in the formula.
constexpr const char* kComplexOperations[] = {
    R"(ENTRY main {
  a = T[30] parameter(0)
  b = T[30] parameter(1)
  c = T[30] parameter(2)
  d = T[30] parameter(3)
  x = c128[30] complex(a, b)
  y = c128[30] complex(c, d)
  quotient = c128[30] divide(x, y)
  difference = c128[30] subtract(x, y)
  size = T[30] abs(x)
  quotient_a = T[30] real(quotient)
  quotient_b = T[30] imag(quotient)
  difference_a = T[30] real(difference)
  ROOT all = (T[30], T[30], T[30], T[30]) tuple(quotient_a, quotient_b, difference_a, size)
})",
    R"(ENTRY main {
  a = T[30] parameter(0)
  b = T[30] parameter(1)
  x = c128[30] complex(a, b)
  exp = c128[30] exponential(x)
  log = c128[30] log(x)
  root = c128[30] sqrt(x)
  inverse = c128[30] rsqrt(x)
  exp_a = T[30] real(exp)
  exp_b = T[30] imag(exp)
  log_a = T[30] real(log)
  log_b = T[30] imag(log)
  root_a = T[30] real(root)
  root_b = T[30] imag(root)
  inverse_a = T[30] real(inverse)
  inverse_b = T[30] imag(inverse)
  ROOT all = (T[30], T[30], T[30], T[30], T[30], T[30], T[30], T[30]) tuple(exp_a, exp_b, log_a, log_b, root_a,
    root_b, inverse_a, inverse_b)
})",
    R"(ENTRY main {
  a = T[30] parameter(0)
  b = T[30] parameter(1)
  x = c128[30] complex(a, b)
  wave = c128[30] sine(x)
  tangent = c128[30] tanh(x)
  share = c128[30] logistic(x)
  less = c128[30] exponential-minus-one(x)
  wave_a = T[30] real(wave)
  wave_b = T[30] imag(wave)
  tangent_a = T[30] real(tangent)
  tangent_b = T[30] imag(tangent)
  share_a = T[30] real(share)
  share_b = T[30] imag(share)
  less_a = T[30] real(less)
  less_b = T[30] imag(less)
  ROOT all = (T[30], T[30], T[30], T[30], T[30], T[30], T[30], T[30]) tuple(wave_a, wave_b, tangent_a, tangent_b,
    share_a, share_b, less_a, less_b)
})",
};

constexpr const char* kBodies = R"(HloModule law
add {
  a = T[] parameter(0)
  b = T[] parameter(1)
  ROOT c = T[] add(a, b)
}
multiply {
  a = T[] parameter(0)
  b = T[] parameter(1)
  ROOT c = T[] multiply(a, b)
}
maximum {
  a = T[] parameter(0)
  b = T[] parameter(1)
  ROOT c = T[] maximum(a, b)
}
minimum {
  a = T[] parameter(0)
  b = T[] parameter(1)
  ROOT c = T[] minimum(a, b)
}
assign {
  a = T[] parameter(0)
  ROOT b = T[] parameter(1)
}
not_less {
  a = T[] parameter(0)
  b = T[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=GE
}
by_first {
  a = T[] parameter(0)
  b = T[] parameter(1)
  p = T[] parameter(2)
  q = T[] parameter(3)
  ROOT c = pred[] compare(a, b), direction=LT, type=TOTALORDER
}
argmax {
  a = T[] parameter(0)
  i = s32[] parameter(1)
  b = T[] parameter(2)
  j = s32[] parameter(3)
  keep = pred[] compare(a, b), direction=GE
  value = T[] select(keep, a, b)
  place = s32[] select(keep, i, j)
  ROOT both = (T[], s32[]) tuple(value, place)
}
)";

std::unique_ptr<Module> ModuleOf(const std::string& operation, PrimitiveType type) {
  std::string text;
  for (const char c : kBodies + operation) {
    const bool is_type = c == 'T' && (text.ends_with(' ') || text.ends_with('('));
    text += is_type ? std::string(ToString(type)) : std::string(1, c);
  }
  auto module = Parse(std::make_shared<const SourceText>("law", text));
  EXPECT_TRUE(module) << (module ? "" : module.error().message()) << "\n" << text;
  return module ? std::move(*module) : nullptr;
}

// Checks that the interpreter's results for arguments within their bounds are permitted.
void CheckModule(const Module& module, const std::string& what, std::vector<ShadowValue> args, Chance& chance,
                 bool widened = false) {
  const auto shadow = EvaluateShadow(module.entry(), std::span<const ShadowValue>(args), {.widened = widened});
  if (!shadow || shadow->heuristic) return;  // No bound is claimed, or it is not proven.
  for (int n = 0; n < kTries; ++n) {
    std::vector<Literal> permitted;
    for (const ShadowValue& arg : args) {
      permitted.push_back(arg.IsFloat() ? Literal(arg.shape) : arg.exact);
      for (int64_t i = 0; arg.IsFloat() && i < arg.shape.NumElements(); ++i) {
        const Element x{arg.value.GetDouble(i), arg.HasBound() ? arg.bound.data<double>()[i] : 0};
        const auto t = chance.Permitted(x, arg.shape.type());
        if (!t) return;
        permitted.back().SetDouble(i, *t);
      }
    }
    const auto actual = Interpret(module, permitted, {.max_loop_iterations = 10'000});
    if (!actual) continue;
    const Comparison comparison = CompareWithBounds(shadow->value, *actual);
    for (const TensorComparison& tensor : comparison.outputs) {
      if (tensor.bad() == 0) continue;
      ADD_FAILURE() << what << ", output " << Join(tensor.output, ",") << "\n" << Details(tensor);
      return;
    }
  }
}

void CheckOperation(const std::string& operation, PrimitiveType type, bool widened, uint64_t seed) {
  const auto module = ModuleOf(operation, type);
  ASSERT_NE(module, nullptr);
  const int calm = static_cast<int>(seed % 4);
  std::vector<ShadowValue> args;
  Chance chance(type, seed);
  for (const Instruction* parameter : module->entry().parameters()) {
    const Shape& shape = parameter->shape();
    const int64_t count = shape.NumElements();
    if (IsFloat(shape.type())) {
      Chance own(shape.type(), seed + static_cast<uint64_t>(args.size() << 32));
      args.push_back(Elements(shape, shape.type(), own.DrawSome(count, calm)));
      continue;
    }
    Literal indices(shape);
    for (int64_t i = 0; i < count; ++i) indices.SetInt(i, chance.Below(14) - 1);
    args.push_back(ToShadow(indices));
  }
  CheckModule(*module, Str(type, widened ? " widened" : "", ", seed ", seed, ": ", operation), std::move(args), chance,
              widened);
}

TEST(ShadowLaws, Operations) {
  const Seeds seeds = SeedsOf(4);
  for (uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
    for (const char* operation : kOperations) {
      for (const PrimitiveType type : kTypes) CheckOperation(operation, type, false, seed);
      // All floats of widened modules are f64, so operations with narrower types are left out.
      const bool is_narrower = std::string_view(operation).find("f16[") != std::string_view::npos ||
                               std::string_view(operation).find("f32[") != std::string_view::npos;
      if (!is_narrower) CheckOperation(operation, PrimitiveType::kF64, true, seed);
    }
    for (const char* operation : kComplexOperations) CheckOperation(operation, PrimitiveType::kF64, true, seed);
  }
}

// Comparisons with a NaN are false. So a NaN is replaced by the next element, and the element before it is lost.
TEST(ShadowLaws, BehindANaNAnyMayBeSelected) {
  const auto module = ModuleOf(R"(ENTRY main {
  x = T[60] parameter(0)
  from = T[20] parameter(1)
  start = T[] parameter(2)
  ROOT some = T[60] select-and-scatter(x, from, start), window={size=3 stride=3}, select=not_less, scatter=add
})",
                               kF32);
  ASSERT_NE(module, nullptr);
  std::vector<Element> x;
  for (int i = 0; i < 20; ++i) x.insert(x.end(), {{5, 0}, {0, kNaN}, {1, 0}});
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Chance chance(kF32, seed);
    CheckModule(
        *module, "behind a NaN",
        {Elements(Shape(kF32, {60}), kF32, x), Elements(Shape(kF32, {20}), kF32, std::vector<Element>(20, {3, 0})),
         Elements(Shape::Scalar(kF32), kF32, {{0, 0}})},
        chance);
  }
}

// ---- Modules --------------------------------------------------------------------------------------------------------

// The literal as an argument, some of whose elements have a bound relative to their value.
ShadowValue Loosened(const Literal& literal, Chance& chance) {
  ShadowValue x = ToShadow(literal);
  if (!x.IsFloat()) return x;
  x.bound = Literal(literal.shape().WithType(PrimitiveType::kF64));
  const int bits = shadow::SignificandBits(literal.shape().type());
  const int64_t loose = chance.Below(4);  // About this many of ten elements have a bound.
  const double coarse = std::ldexp(1.0, -static_cast<int>(chance.Below(bits + 1)));
  auto bound = x.bound.mutable_data<double>();
  const double overflow = OverflowOf(literal.shape().type());
  for (int64_t i = 0; i < std::ssize(bound); ++i) {
    const double v = std::fabs(x.value.GetDouble(i));
    if (chance.Below(10) >= loose) continue;
    bound[i] = v * coarse * (chance.Below(2) == 0 ? 1 : 0x1p-3);
    if (!(v + bound[i] < overflow)) bound[i] = std::isfinite(v) ? kNaN : 0;
  }
  return x;
}

void CheckGrown(uint64_t seed) {
  static constexpr InputProfile kProfiles[] = {InputProfile::kNormal, InputProfile::kSpecial, InputProfile::kWide,
                                               InputProfile::kEdge,   InputProfile::kTies,    InputProfile::kCancel,
                                               InputProfile::kIota,   InputProfile::kSpecial};
  const InputProfile profile = kProfiles[seed % std::size(kProfiles)];
  const auto module = GrowModule({.seed = seed, .max_elems = 256});
  const auto arguments = MakeArguments(*module, {.seed = seed, .profile = profile});
  ASSERT_TRUE(arguments) << arguments.error().message();
  Chance chance(kF32, seed);
  std::vector<ShadowValue> loosened;
  for (const Literal& argument : *arguments) loosened.push_back(Loosened(argument, chance));
  CheckModule(*module, Str("seed ", seed, ", ", ToString(profile)), std::move(loosened), chance);
}

TEST(ShadowLaws, GrownModules) {
  const Seeds seeds = SeedsOf(20);
  for (uint64_t seed = seeds.first; seed < seeds.end; ++seed) CheckGrown(seed);
}

}  // namespace
}  // namespace hlo
