// Properties of float functions that ir/ops.def does not have. The table: interp/functions.def.
#ifndef HLO_INTERP_FUNCTIONS_H_
#define HLO_INTERP_FUNCTIONS_H_

#include <cstdint>
#include <limits>
#include <span>

#include "ir/opcode.h"

namespace hlo {

// The change of a function while its argument grows.
enum class Course : uint8_t {
  kMonotone,           // On its domain.
  kVanishes,           // Monotone. A kernel may return 0 for a tiny value, because a divisor overflows.
  kFallsThenRises,     // Minimum at 0.
  kWaves,              // Values are in [-1, 1], and the slope is at most `slope`.
  kRisesBetweenPoles,  // Its poles are the odd multiples of `period` / 2.
};

struct FunctionFacts {
  static constexpr double kInf = std::numeric_limits<double>::infinity();
  struct Range {
    double low = -kInf, high = kInf;
  };

  Range domain;        // The function is NaN elsewhere.
  Range made_up;       // Range of generated arguments, away from poles.
  Range samples = {};  // Range of half of the test arguments.
  double slope = 1;
  double period = 0;
  // The largest argument in random modules. Complex parts up to `tame_complex` give results with parts up to
  // `complex_values` (0: at most 4 more than the argument's).
  double tame = kInf, tame_complex = kInf, complex_values = 0;
  int weight = 1;  // The frequency in random modules.
};

struct FloatFunction {
  Opcode opcode;
  double (*f64)(double);
  long double (*f80)(long double);
  bool of_complex;
  Course course;
  FunctionFacts facts;
};

std::span<const FloatFunction> FloatFunctions();
const FloatFunction* FloatFunctionOf(Opcode opcode);

struct FloatFunctionOfTwo {
  Opcode opcode;
  double (*f64)(double, double);
  long double (*f80)(long double, long double);
  FunctionFacts::Range samples;
};

std::span<const FloatFunctionOfTwo> FloatFunctionsOfTwo();

}  // namespace hlo

#endif  // HLO_INTERP_FUNCTIONS_H_
