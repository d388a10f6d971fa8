// What is known of the functions of one float besides their rows in ir/ops.def: interp/functions.def.
#ifndef HLO_INTERP_FUNCTIONS_H_
#define HLO_INTERP_FUNCTIONS_H_

#include <cstdint>
#include <limits>
#include <span>

#include "ir/opcode.h"

namespace hlo {

// How far a function moves while its argument moves within bounds.
enum class Course : uint8_t {
  kMonotone,        // On its domain: the extremes over an interval lie at its ends.
  kVanishes,        // Monotone, and where it is next to nothing a kernel may give 0: what it divides by has overflowed.
  kFallsThenRises,  // Around 0.
  kWaves,           // Within [-1, 1], and nowhere steeper than `slope`.
  kRisesBetweenPoles,  // Which lie `period` apart, half of that on both sides of 0.
};

struct FunctionFacts {
  static constexpr double kInf = std::numeric_limits<double>::infinity();
  struct Range {
    double low = -kInf, high = kInf;
  };

  Range domain;        // Elsewhere it is NaN.
  Range made_up;       // Where made-up arguments lie: in the domain, and not next to a pole.
  Range samples = {};  // Where tests take half of their arguments: from below to above what is of interest.
  double slope = 1;    // kWaves.
  double period = 0;   // kRisesBetweenPoles.
  // Random modules ask for nothing larger, so that the result is not much larger than what it comes from; of complex
  // numbers, for no part larger than `tame_complex`, which gives no part larger than `complex_values` (0: larger by 4
  // than that of the argument).
  double tame = kInf, tame_complex = kInf, complex_values = 0;
  int weight = 1;  // How often they have it.
};

struct FloatFunction {
  Opcode opcode;
  double (*f64)(double);
  long double (*f80)(long double);
  bool of_complex;  // The interpreter has it of complex numbers, too.
  Course course;
  FunctionFacts facts;
};

std::span<const FloatFunction> FloatFunctions();
const FloatFunction* FloatFunctionOf(Opcode opcode);  // Null: it is none.

struct FloatFunctionOfTwo {
  Opcode opcode;
  double (*f64)(double, double);
  long double (*f80)(long double, long double);
  FunctionFacts::Range samples;
};

std::span<const FloatFunctionOfTwo> FloatFunctionsOfTwo();

}  // namespace hlo

#endif  // HLO_INTERP_FUNCTIONS_H_
