// Modules without the roundings of their types.
#ifndef HLO_JUDGE_COMPARE_WIDENED_MODULE_H_
#define HLO_JUDGE_COMPARE_WIDENED_MODULE_H_

#include <memory>

#include "base/result.h"
#include "ir/literal.h"

namespace hlo {

class Instruction;
class Module;

// f64 for floats, c128 for complex numbers.
Shape Widened(const Shape& shape);
inline bool IsRounded(const Shape& shape) {
  return shape.IsArray() && (IsFloat(shape.type()) || IsComplex(shape.type()));
}
// Whether the type itself matters: its bits, its random numbers, or values from outside.
bool DependsOnType(const Instruction& inst);

// Floats become f64, and ids are kept. Instructions that need their type, such as bitcast-convert or rng, keep it
// between conversions. Error kUnsupported if such an instruction has tuples.
Result<std::unique_ptr<Module>> WidenedModule(const Module& module);
Literal WidenedLiteral(const Literal& literal);

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_WIDENED_MODULE_H_
