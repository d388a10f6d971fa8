// Formulas of complex functions, as instructions on real and imaginary parts. Private to judge/bounds.
#ifndef HLO_JUDGE_BOUNDS_COMPLEX_FUNCTIONS_H_
#define HLO_JUDGE_BOUNDS_COMPLEX_FUNCTIONS_H_

#include <optional>

#include "ir/module.h"

namespace hlo::shadow {

struct ComplexParts {
  Instruction *real, *imaginary;
};

// Adds the function of `z`, or of `z` and `w`, whose parts have the shape `part`. Nullopt for other opcodes.
std::optional<ComplexParts> AddFunction(Computation& to, const Shape& part, Opcode opcode, ComplexParts z,
                                        ComplexParts w);
Instruction& AddModulus(Computation& to, const Shape& part, ComplexParts z);

}  // namespace hlo::shadow

#endif  // HLO_JUDGE_BOUNDS_COMPLEX_FUNCTIONS_H_
