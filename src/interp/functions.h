// Properties of functions of one or two floats that ir/ops.def does not have. The table is interp/functions.def.
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
  kVanishes,           // Monotone. Where the value is tiny, a kernel may return 0, because a divisor overflows.
  kFallsThenRises,     // Minimum at 0.
  kWaves,              // Values are in [-1, 1]. Its slope is at most `slope`.
  kRisesBetweenPoles,  // Its poles are the odd multiples of `period` / 2.
};

struct FunctionFacts {
  static constexpr double kInf = std::numeric_limits<double>::infinity();
  struct Range {
    double low = -kInf, high = kInf;
  };

  Range domain;        // Elsewhere the function is NaN.
  Range made_up;       // The range of generated arguments, away from poles.
  Range samples = {};  // The range of half of the test arguments.
  double slope = 1;
  double period = 0;
  // The largest argument in random modules. Complex arguments have parts of at most `tame_complex`, which gives results
  // with parts of at most `complex_values` (0: at most 4 larger than the argument's).
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
