// Elementwise instructions that run repeatedly. Private to judge/bounds.
#ifndef HLO_JUDGE_BOUNDS_PREPARED_H_
#define HLO_JUDGE_BOUNDS_PREPARED_H_

#include <memory>
#include <optional>

#include "interp/ops/elementwise.h"
#include "judge/bounds/elementwise.h"

namespace hlo::shadow {

// An elementwise instruction whose rule is looked up once. It computes the same as RunInstruction, but allocates only
// for values.
class PreparedElementwise {
 public:
  // Null if the instruction has no such rule.
  static std::unique_ptr<PreparedElementwise> Of(const Context& context, const Instruction& inst);

  // `result` is empty or holds any value of the shape. If this returns false, `result` is invalid, and RunInstruction
  // must evaluate the instruction.
  bool Run(const Context& context, Operands operands, ShadowValue& result) const;

 private:
  explicit PreparedElementwise(const Instruction& inst);
  bool OfFloats(const Context& context, Operands operands, ShadowValue& result) const;
  bool OfOthers(Operands operands, ShadowValue& result) const;

  const Instruction& inst_;
  const Shape wide_;
  std::optional<ElementRule> rule_;
  std::optional<ElementwiseOp> op_;
};

}  // namespace hlo::shadow

#endif  // HLO_JUDGE_BOUNDS_PREPARED_H_
