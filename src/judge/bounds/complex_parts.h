// Complex instructions as computations on real and imaginary parts. Private to judge/bounds.
#ifndef HLO_JUDGE_BOUNDS_COMPLEX_PARTS_H_
#define HLO_JUDGE_BOUNDS_COMPLEX_PARTS_H_

#include <cstdint>
#include <vector>

#include "ir/module.h"
#include "judge/bounds/rules.h"

namespace hlo::shadow {

inline bool IsComplexArray(const Shape& shape) { return shape.IsArray() && IsComplex(shape.type()); }
inline PrimitiveType PartOf(PrimitiveType type) {
  return type == PrimitiveType::kC64 ? PrimitiveType::kF32 : PrimitiveType::kF64;
}

// An instruction as a module on parts. The root is the result or a tuple of its parts.
struct PartsOfInstruction {
  explicit PartsOfInstruction(const Instruction& of);

  bool HasRule() const { return root != nullptr; }
  Result<ShadowValue> Evaluate(Context& context, bool widened, Operands operands,
                               const WantedResults* wanted = nullptr) const;

  const Instruction& inst;
  Module module{"parts"};
  Computation& entry;
  Shape part;
  Instruction* root = nullptr;
  std::vector<const Instruction*> contractions;
  bool is_function = false;
};

}  // namespace hlo::shadow

#endif  // HLO_JUDGE_BOUNDS_COMPLEX_PARTS_H_
