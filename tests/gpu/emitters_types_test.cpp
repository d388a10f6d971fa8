// Tests of element types that kernels compute in a wider type or in two parts: all values of floats of at most 8 bits
// and of integers of less than 8, bitcasts between widths, and complex numbers.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "interp/interpreter.h"
#include "tests/gpu/emitters_harness.h"

namespace hlo::gpu {
namespace {

using enum PrimitiveType;

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

constexpr PrimitiveType kByteFloats[] = {kF8E5M2,     kF8E4M3,    kF8E4M3FN, kF8E4M3B11FNUZ, kF8E3M4,  kF8E5M2FNUZ,
                                         kF8E4M3FNUZ, kF8E8M0FNU, kF4E2M1FN, kF6E3M2FN,      kF6E2M3FN};
constexpr PrimitiveType kSubBytes[] = {kS1, kS2, kS4, kU1, kU2, kU4};
constexpr PrimitiveType kReal[] = {kPred,          kS1,       kS2,         kS4,         kS8,        kS16,
                                   kS32,           kS64,      kU1,         kU2,         kU4,        kU8,
                                   kU16,           kU32,      kU64,        kF8E5M2,     kF8E4M3,    kF8E4M3FN,
                                   kF8E4M3B11FNUZ, kF8E3M4,   kF8E5M2FNUZ, kF8E4M3FNUZ, kF8E8M0FNU, kF4E2M1FN,
                                   kF6E3M2FN,      kF6E2M3FN, kF16,        kBF16,       kF32,       kF64};

template <class T>
Literal Of(PrimitiveType type, const std::vector<T>& values) {
  Literal literal(Shape(type, {static_cast<int64_t>(values.size())}));
  std::memcpy(literal.mutable_raw(), values.data(), values.size() * sizeof(T));
  return literal;
}

// Every value of a type of at most a byte, as it is stored in memory.
std::vector<uint8_t> AllValues(PrimitiveType type) {
  const int bits = type == kPred ? 1 : BitWidth(type);
  std::vector<uint8_t> values;
  for (int i = 0; i < 1 << bits; ++i)
    values.push_back(IsSigned(type) ? static_cast<uint8_t>(static_cast<int8_t>(i << (8 - bits)) >> (8 - bits))
                                    : static_cast<uint8_t>(i));
  return values;
}

void AllPairs(PrimitiveType type, Literal* a, Literal* b) {
  std::vector<uint8_t> first, second;
  for (const uint8_t x : AllValues(type)) {
    for (const uint8_t y : AllValues(type)) {
      first.push_back(x);
      second.push_back(y);
    }
  }
  *a = Of(type, first);
  *b = Of(type, second);
}

struct Root {
  PrimitiveType type;
  std::string text;
};
std::string ModuleOf(const std::vector<Literal>& inputs, const std::vector<Root>& roots) {
  std::string text = "ENTRY e {";
  const std::string dims = Str("[", inputs[0].shape().NumElements(), "] ");
  for (size_t i = 0; i < inputs.size(); ++i)
    text += Str(" p", i, " = ", inputs[i].shape().type(), dims, "parameter(", i, ")");
  std::vector<std::string> names, shapes;
  for (const Root& root : roots) {
    names.push_back(Str("r", names.size()));
    shapes.push_back(Str(root.type, dims));
    text += Str(" ", names.back(), " = ", shapes.back(), root.text);
  }
  return text + Str(" ROOT t = (", Join(shapes, ", "), ") tuple(", Join(names, ", "), ") }");
}

// Expects that the host has the interpreter's bits, except for the bits of a NaN.
void ExpectInterpreted(const std::vector<Literal>& inputs, const std::vector<Root>& roots) {
  const std::string text = ModuleOf(inputs, roots);
  SCOPED_TRACE(text);
  const auto module = Fused(text);
  const auto expected = Interpret(*module, inputs);
  ASSERT_TRUE(expected.has_value()) << expected.error().message();
  const auto actual = RunKernels(*module, inputs, On::kHost);
  ASSERT_TRUE(actual.has_value()) << actual.error().message();
  for (size_t r = 0; r < roots.size(); ++r) {
    const Literal &e = expected->elements()[r], &a = actual->elements()[r];
    const int64_t width = ByteWidth(e.shape().type());
    int bad = 0;
    for (int64_t i = 0; i < e.shape().NumElements() && bad < 3; ++i) {
      if (std::memcmp(e.raw() + i * width, a.raw() + i * width, width) == 0) continue;
      if (IsFloat(e.shape().type()) && std::isnan(e.GetDouble(i)) && std::isnan(a.GetDouble(i))) continue;
      std::string of;
      for (const Literal& input : inputs) of += Str(of.empty() ? "" : ", ", input.GetDouble(i));
      ADD_FAILURE() << ToString(roots[r].type) << roots[r].text << " of " << of << ": expected " << e.GetDouble(i)
                    << ", got " << a.GetDouble(i);
      ++bad;
    }
  }
}

std::vector<Root> ConvertsTo(std::span<const PrimitiveType> types) {
  std::vector<Root> roots;
  for (const PrimitiveType type : types) roots.push_back({type, "convert(p0)"});
  return roots;
}

TEST(EmitTypes, EveryValueOfAByteConverts) {
  for (const PrimitiveType from : kByteFloats) ExpectInterpreted({Of(from, AllValues(from))}, ConvertsTo(kReal));
  for (const PrimitiveType from : kSubBytes) ExpectInterpreted({Of(from, AllValues(from))}, ConvertsTo(kReal));
}

// All possible upper halves of an f32, with lower halves at and next to a tie.
TEST(EmitTypes, FloatsRoundOnceToAByte) {
  std::vector<uint32_t> words;
  for (uint32_t high = 0; high < 1 << 16; ++high) {
    for (const uint32_t low : {0x0000u, 0x0001u, 0x8000u, 0xffffu}) words.push_back(high << 16 | low);
  }
  ExpectInterpreted({Of(kF32, words)}, ConvertsTo(kByteFloats));
  ExpectInterpreted({Of(kF32, words)}, ConvertsTo(kSubBytes));
  // The middle of two neighbouring values and the f64 numbers next to it. Rounding to f32 first would turn these into
  // ties.
  std::vector<double> numbers;
  for (const PrimitiveType type : kByteFloats) {
    const Literal all = Of(type, AllValues(type));
    for (int64_t i = 0; i + 1 < all.shape().NumElements(); ++i) {
      const double middle = (all.GetDouble(i) + all.GetDouble(i + 1)) / 2;
      for (const double x : {middle, std::nextafter(middle, 1e9), std::nextafter(middle, -1e9)}) {
        numbers.push_back(x);
        numbers.push_back(x * 2);
      }
    }
  }
  for (const double x : {HUGE_VAL, -HUGE_VAL, std::nan(""), 0.0, -0.0, 1e300, -1e300, 5e-324}) numbers.push_back(x);
  ExpectInterpreted({Of(kF64, numbers)}, ConvertsTo(kByteFloats));
  ExpectInterpreted({Of(kF64, numbers)}, ConvertsTo(kSubBytes));
}

// Conversion truncates towards 0, saturates, and maps NaN to 0. The limits of every type are at or next to a power of
// two, so the inputs are around all of them.
TEST(EmitTypes, FloatsSaturateToIntegers) {
  constexpr PrimitiveType kWhole[] = {kS8, kS16, kS32, kS64, kU8, kU16, kU32, kU64};
  std::vector<uint16_t> halves;
  for (uint32_t bits = 0; bits < 1 << 16; ++bits) halves.push_back(static_cast<uint16_t>(bits));
  ExpectInterpreted({Of(kF16, halves)}, ConvertsTo(kWhole));
  ExpectInterpreted({Of(kBF16, halves)}, ConvertsTo(kWhole));
  std::vector<float> singles;
  std::vector<double> numbers = {kInfinity, -kInfinity, kNaN, 0.0, -0.0, 5e-324, 1e300};
  for (int exponent = -3; exponent < 70; ++exponent) {
    for (const double offset : {-1.5, -1.0, -0.5, 0.0, 0.5, 1.0}) {
      const double x = std::ldexp(1.0, exponent) + offset;
      for (const double y : {x, std::nextafter(x, 0), std::nextafter(x, kInfinity)})
        numbers.insert(numbers.end(), {y, -y});
    }
  }
  for (const double x : numbers) {
    const auto single = static_cast<float>(x);
    singles.insert(singles.end(), {single, std::nextafter(single, 0.0F), std::nextafter(single, HUGE_VALF)});
  }
  ExpectInterpreted({Of(kF32, singles)}, ConvertsTo(kWhole));
  ExpectInterpreted({Of(kF64, numbers)}, ConvertsTo(kWhole));
}

TEST(EmitTypes, IntegersRoundOnce) {
  constexpr PrimitiveType kSmall[] = {kF16, kBF16, kF8E5M2, kF8E8M0FNU, kF8E4M3FN, kF4E2M1FN, kS4, kU2, kS1};
  std::vector<int64_t> numbers;
  for (int bit = 0; bit < 64; ++bit) {
    for (int lower = 0; lower <= bit; lower += 3) {
      const uint64_t number = uint64_t{1} << bit | uint64_t{1} << lower;
      for (const uint64_t x : {number - 1, number, number + 1}) {
        numbers.push_back(static_cast<int64_t>(x));
        numbers.push_back(static_cast<int64_t>(0 - x));
      }
    }
  }
  ExpectInterpreted({Of(kS64, numbers)}, ConvertsTo(kSmall));
  ExpectInterpreted({Of(kU64, numbers)}, ConvertsTo(kSmall));
  std::vector<int16_t> words;
  for (int i = INT16_MIN; i <= INT16_MAX; ++i) words.push_back(static_cast<int16_t>(i));
  ExpectInterpreted({Of(kS16, words)}, ConvertsTo(kSmall));
}

std::vector<Root> Comparisons() {
  std::vector<Root> roots;
  for (const char* direction : {"EQ", "NE", "LT", "LE", "GT", "GE"})
    roots.push_back({kPred, Str("compare(p0, p1), direction=", direction)});
  return roots;
}

TEST(EmitTypes, ComputesEveryPairOfByteFloats) {
  for (const PrimitiveType type : kByteFloats) {
    Literal a, b;
    AllPairs(type, &a, &b);
    std::vector<Root> roots = Comparisons();
    for (const char* direction : {"EQ", "LT", "GE"})
      roots.push_back({kPred, Str("compare(p0, p1), direction=", direction, ", type=TOTALORDER")});
    for (const char* op : {"add", "subtract", "multiply", "divide", "maximum", "minimum"})
      roots.push_back({type, Str(op, "(p0, p1)")});
    // A remainder by 0 is a NaN of either sign. f4 and f6 have no NaN, so it would become the largest number with that
    // sign.
    if (BitWidth(type) == 8) roots.push_back({type, "remainder(p0, p1)"});
    roots.push_back({type, "clamp(p0, p1, p0)"});
    ExpectInterpreted({a, b}, roots);
  }
}

TEST(EmitTypes, ComputesUnaryOpsOfEveryByteFloat) {
  for (const PrimitiveType type : kByteFloats) {
    std::vector<Root> roots = {{kPred, "is-finite(p0)"}};
    for (const char* op :
         {"abs", "negate", "sign", "floor", "ceil", "round-nearest-even", "round-nearest-afz", "sqrt", "copy"})
      roots.push_back({type, Str(op, "(p0)")});
    for (const char* bits :
         {"exponent_bits=2, mantissa_bits=1", "exponent_bits=5, mantissa_bits=1", "exponent_bits=8, mantissa_bits=0"})
      roots.push_back({type, Str("reduce-precision(p0), ", bits)});
    ExpectInterpreted({Of(type, AllValues(type))}, roots);
  }
}

TEST(EmitTypes, ComputesEveryPairOfSubByteIntegers) {
  for (const PrimitiveType type : kSubBytes) {
    Literal a, b;
    AllPairs(type, &a, &b);
    std::vector<Root> roots = Comparisons();
    for (const char* op : {"add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "power", "and",
                           "or", "xor", "mulhi", "shift-left", "shift-right-arithmetic", "shift-right-logical"})
      roots.push_back({type, Str(op, "(p0, p1)")});
    for (const char* op : {"not", "negate", "popcnt", "count-leading-zeros", "copy"})
      roots.push_back({type, Str(op, "(p0)")});
    if (IsSigned(type)) {
      for (const char* op : {"abs", "sign"}) roots.push_back({type, Str(op, "(p0)")});
    }
    ExpectInterpreted({a, b}, roots);
  }
}

TEST(EmitTypes, ComputesEverySmallTypeInTheEmulator) {
  for (const PrimitiveType type : kReal) {
    if (BitWidth(type) > 8 || type == kPred) continue;
    const std::string t = Str(type, "[2,35] ");
    SCOPED_TRACE(t);
    Check(*Fused(Str("ENTRY e { a = ", t, "parameter(0) b = ", t, "parameter(1) s = ", t, "subtract(a, b) d = ", t,
                     "divide(s, b) c = pred[2,35] compare(d, a), direction=LT z = ", t,
                     "select(c, d, s) w = f32[2,35] convert(z) v = s32[2,35] convert(a) y = ", t,
                     "convert(v) ROOT r = (", t, ", f32[2,35], ", t, ") tuple(z, w, y) }")));
  }
}

TEST(EmitTypes, ComputesSmallTypesInEveryKindOfKernel) {
  for (const std::string t : {"f8e4m3fn", "f8e5m2", "s4", "u4", "f4e2m1fn"}) {
    SCOPED_TRACE(t);
    const std::string sum = "f { x = " + t + "[] parameter(0) y = " + t + "[] parameter(1) ROOT s = " + t +
                            "[] add(x, y) } m { x = " + t + "[] parameter(0) y = " + t +
                            "[] parameter(1) ROOT s = " + t + "[] maximum(x, y) } ";
    const std::string zero = " z = " + t + "[] constant(0)";
    Check(*Fused(sum + "ENTRY e { x = " + t + "[9,300] parameter(0)" + zero + " ROOT r = " + t +
                 "[9] reduce(x, z), dimensions={1}, to_apply=m }"));
    Check(*Fused(sum + "ENTRY e { x = " + t + "[90,33] parameter(0)" + zero + " ROOT r = " + t +
                 "[33] reduce(x, z), dimensions={0}, to_apply=m }"));
    Check(*Fused(sum + "ENTRY e { x = " + t + "[5,9] parameter(0)" + zero + " ROOT r = " + t +
                 "[4,9] reduce-window(x, z), window={size=2x1}, to_apply=m }"));
    Check(*Fused("ENTRY e { x = " + t + "[70,67] parameter(0) ROOT r = " + t +
                 "[67,70] transpose(x), dimensions={1,0} }"));
    Check(*Fused(
        "ENTRY e { x = " + t + "[7,20] parameter(0) y = " + t +
        "[20,33] parameter(1) ROOT r = f32[7,33] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"));
    Check(*Fused("ENTRY e { x = " + t + "[3,20] parameter(0)" + zero + " ROOT r = " + t +
                 "[7,42] pad(x, z), padding=1_3x2_1_1 }"));
    Check(*Fused(sum + "ENTRY e { x = " + t + "[7,20] parameter(0) i = s32[3,1] parameter(1) u = " + t +
                 "[3,20] parameter(2) ROOT r = " + t +
                 "[7,20] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
                 "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=m }"));
  }
}

TEST(EmitTypes, ConvertsBitsBetweenWidths) {
  struct {
    const char *from, *to;
  } const kCases[] = {{"f32[5,7]", "u8[5,7,4]"},    {"u8[5,7,4]", "f32[5,7]"},     {"u64[9]", "u32[9,2]"},
                      {"u32[9,2]", "u64[9]"},       {"f32[33]", "bf16[33,2]"},     {"bf16[33,2]", "f32[33]"},
                      {"f64[6]", "s16[6,4]"},       {"s16[6,4]", "f64[6]"},        {"u8[40]", "s4[40,2]"},
                      {"s4[40,2]", "u8[40]"},       {"s8[40]", "u2[40,4]"},        {"u1[5,8]", "s8[5]"},
                      {"f8e4m3fn[12]", "u4[12,2]"}, {"f8e5m2[6,4]", "f32[6]"},     {"f32[6]", "f4e2m1fn[6,8]"},
                      {"pred[5,4]", "u32[5]"},      {"f6e2m3fn[9]", "f6e3m2fn[9]"}};
  for (const auto& [from, to] : kCases) {
    SCOPED_TRACE(Str(from, " to ", to));
    Check(*Fused(Str("ENTRY e { x = ", from, " parameter(0) ROOT r = ", to, " bitcast-convert(x) }")));
  }
}

TEST(EmitTypes, ComputesStochasticConvert) {
  struct {
    PrimitiveType from, random;
  } const kCases[] = {{kF64, kU64}, {kF32, kU32}, {kF16, kU16}, {kBF16, kU16}, {kF8E5M2, kU8}};
  for (const auto& [from, random] : kCases) {
    Literal x(Shape(from, {4096})), bits(Shape(random, {4096}));
    for (int64_t i = 0; i < 4096; ++i) {
      const double special[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, std::nan(""), 127, 127.5, -128, -128.5, 1e30};
      x.SetDouble(i, i < 10 ? special[i] : (static_cast<double>(i) - 2048) / 13);
      bits.SetInt(i, static_cast<int64_t>(static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15));
    }
    std::vector<Root> roots;
    for (const PrimitiveType to : {kS4, kS8, kS16, kS32, kS64}) roots.push_back({to, "stochastic-convert(p0, p1)"});
    ExpectInterpreted({x, bits}, roots);
  }
}

TEST(EmitTypes, MovesComplexNumbers) {
  for (const std::string t : {"c64", "c128"}) {
    SCOPED_TRACE(t);
    Check(*Fused("ENTRY e { x = " + t + "[40,33] parameter(0) ROOT r = " + t +
                 "[33,40] transpose(x), dimensions={1,0} }"));
    Check(*Fused("ENTRY e { x = " + t + "[3,6] parameter(0) y = " + t + "[3,41] parameter(1) ROOT r = " + t +
                 "[3,47] concatenate(x, y), dimensions={1} }"));
    Check(*Fused("ENTRY e { x = " + t + "[4,33] parameter(0) z = " + t + "[] constant((7, -1)) ROOT r = " + t +
                 "[7,70] pad(x, z), padding=1_2x-1_6_1 }"));
    Check(*Fused("ENTRY e { x = " + t + "[7,50] parameter(0) u = " + t +
                 "[3,40] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3) n = " + t +
                 "[3,40] negate(u) ROOT r = " + t + "[7,50] dynamic-update-slice(x, n, i, j) }"));
    Check(*Fused("ENTRY e { x = " + t + "[10,36] parameter(0) i = s32[5,1] parameter(1) ROOT r = " + t +
                 "[5,36] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
                 "index_vector_dim=1, slice_sizes={1,36} }"));
    Check(*Fused("ENTRY e { c = " + t + "[2,2] constant({{(1,2),(3,4)},{(5,6),(7,8)}}) x = " + t +
                 "[2,2] parameter(0) r = " + t + "[2,2] reverse(c), dimensions={1} i = " + t +
                 "[2,2] iota(), iota_dimension=0 a = " + t + "[2,2] add(r, x) ROOT s = " + t +
                 "[2,2] multiply(a, i) }"));
    Check(*Fused("s { x = " + t + "[] parameter(0) y = " + t + "[] parameter(1) ROOT a = " + t +
                 "[] add(x, y) } ENTRY e { x = " + t + "[7,20] parameter(0) i = s32[3,1] parameter(1) u = " + t +
                 "[3,20] parameter(2) ROOT r = " + t +
                 "[7,20] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
                 "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=s }"));
  }
}

TEST(EmitTypes, ReducesComplexNumbers) {
  for (const std::string t : {"c64", "c128"}) {
    SCOPED_TRACE(t);
    for (const std::string op : {"add", "multiply"}) {
      const std::string f = "f { x = " + t + "[] parameter(0) y = " + t + "[] parameter(1) ROOT a = " + t + "[] " + op +
                            "(x, y) } ENTRY e { z = " + t + "[] constant((1, 0)) x = " + t;
      // Products of many integers are not exact.
      const Inputs inputs = op == "add" ? Inputs::kIntegers : Inputs::kPlain;
      const double ulps = op == "add" ? 0 : 200;
      Check(*Fused(f + "[9,40] parameter(0) ROOT r = " + t + "[9] reduce(x, z), dimensions={1}, to_apply=f }"), inputs,
            ulps);
      Check(*Fused(f + "[40,33] parameter(0) ROOT r = " + t + "[33] reduce(x, z), dimensions={0}, to_apply=f }"),
            inputs, ulps);
      Check(*Fused(f + "[5,9] parameter(0) ROOT r = " + t + "[5] reduce(x, z), dimensions={1}, to_apply=f }"), inputs,
            ulps);
      Check(
          *Fused(f + "[5,9] parameter(0) ROOT r = " + t + "[4,9] reduce-window(x, z), window={size=2x1}, to_apply=f }"),
          inputs, ulps);
    }
    // The reduction has a complex and a real operand.
    Check(*Fused("f { a = " + t + "[] parameter(0) b = s32[] parameter(1) c = " + t +
                 "[] parameter(2) d = s32[] parameter(3) x = " + t + "[] add(a, c) y = s32[] maximum(b, d) ROOT r = (" +
                 t + "[], s32[]) tuple(x, y) } ENTRY e { z = " + t + "[] constant((0, 0)) n = s32[] constant(-9) x = " +
                 t + "[9,40] parameter(0) y = s32[9,40] parameter(1) ROOT r = (" + t +
                 "[9], s32[9]) reduce(x, y, z, n), dimensions={1}, to_apply=f }"));
    for (const char* size : {"5", "40"}) {
      const std::string k(size);
      Check(*Fused("ENTRY e { x = " + t + "[7," + k + "] parameter(0) y = " + t + "[" + k +
                   ",6] parameter(1) ROOT r = " + t +
                   "[7,6] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"));
    }
    Check(*Fused("f { x = " + t + "[] parameter(0) y = " + t + "[] parameter(1) m = " + t +
                 "[] multiply(x, y) ROOT a = " + t + "[] subtract(m, x) } ENTRY e { x = " + t +
                 "[5,9] parameter(0) y = " + t + "[5,9] parameter(1) ROOT r = " + t +
                 "[5,9] map(x, y), dimensions={0,1}, to_apply=f }"));
  }
}

// The bounds are a few units in the last place of f64 for c128. The formulas of c64 are computed in f64.
TEST(EmitTypes, ComputesComplexFunctions) {
  for (const auto& [t, part, ulps] : {std::tuple("c64", "f32", 1.0), std::tuple("c128", "f64", 24.0)}) {
    for (const char* op : {"exponential", "exponential-minus-one",
                           "log",         "log-plus-one",
                           "sqrt",        "rsqrt",
                           "sine",        "cosine",
                           "tan",         "sinh",
                           "cosh",        "tanh",
                           "logistic",    "sign",
                           "negate",      "exp2",
                           "log2",        "acos",
                           "acosh",       "asin",
                           "asinh",       "atanh"}) {
      SCOPED_TRACE(Str(op, " of ", t));
      Check(*Fused(Str("ENTRY e { x = ", t, "[260] parameter(0) ROOT r = ", t, "[260] ", op, "(x) }")), Inputs::kPlain,
            ulps);
    }
    for (const char* op : {"add", "subtract", "multiply", "divide", "power", "atan2"}) {
      // atan2 needs the logarithm of a number whose absolute value is close to 1. c128 has no wider type that computes
      // it accurately.
      if (part == std::string_view("f64") && op == std::string_view("atan2")) continue;
      SCOPED_TRACE(Str(op, " of ", t));
      Check(*Fused(Str("ENTRY e { x = ", t, "[260] parameter(0) y = ", t, "[260] parameter(1) ROOT r = ", t, "[260] ",
                       op, "(x, y) }")),
            Inputs::kPlain, ulps);
    }
    Check(*Fused(Str("ENTRY e { x = ", t, "[70] parameter(0) y = ", t,
                     "[70] parameter(1) e = pred[70] compare(x, y), "
                     "direction=EQ n = pred[70] compare(x, y), direction=NE s = ",
                     t, "[70] select(e, x, y) a = ", part, "[70] real(s) b = ", part, "[70] imag(x) m = ", part,
                     "[70] abs(x) c = ", t,
                     "[70] complex(m, b) d = c64[70] convert(c) f = c128[70] convert(a) g = s8[70] convert(x) ROOT r = "
                     "(pred[70], pred[70], ",
                     part, "[70], ", t, "[70], c64[70], c128[70], s8[70]) tuple(e, n, a, c, d, f, g) }")),
          Inputs::kIntegers, ulps);
  }
}

// The interpreter follows annex G of the C standard.
TEST(EmitTypes, ComputesComplexFunctionsOfExtremeNumbers) {
  const std::vector<double> parts = {0.0, -0.0, 1, -1, 0.5, -3, 1e-300, 1e300, kInfinity, -kInfinity, kNaN};
  Literal numbers(Shape(kC128, {static_cast<int64_t>(parts.size() * parts.size())}));
  for (size_t i = 0; i < parts.size() * parts.size(); ++i)
    numbers.SetComplex(static_cast<int64_t>(i), {parts[i / parts.size()], parts[i % parts.size()]});
  const std::string type = Str("c128[", numbers.shape().NumElements(), "]");
  for (const char* op : {"exponential", "tanh", "tan", "logistic", "atanh", "log", "sqrt", "sinh", "cosine"}) {
    const auto module = Fused(Str("ENTRY e { x = ", type, " parameter(0) ROOT r = ", type, " ", op, "(x) }"));
    const auto found = RunKernels(*module, {&numbers, 1}, On::kHost);
    const auto expected = Evaluate(module->entry().root(), {&numbers, 1});
    ASSERT_TRUE(found && expected) << op;
    for (int64_t i = 0; i < numbers.shape().NumElements(); ++i) {
      const std::complex<double> right = expected->GetComplex(i), is = found->GetComplex(i);
      if (!std::isfinite(right.real()) || !std::isfinite(right.imag())) continue;
      EXPECT_LE(std::abs(is - right), 1e-14 * std::abs(right))
          << op << " of " << parts[i / parts.size()] << ", " << parts[i % parts.size()] << ": " << is << " for "
          << right;
    }
  }
}

}  // namespace
}  // namespace hlo::gpu
