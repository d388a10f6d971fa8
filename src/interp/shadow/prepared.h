// Elementwise instructions that are evaluated repeatedly. Private to interp/shadow.
#ifndef HLO_INTERP_SHADOW_PREPARED_H_
#define HLO_INTERP_SHADOW_PREPARED_H_

#include <memory>
#include <optional>

#include "interp/ops/elementwise.h"
#include "interp/shadow/elementwise.h"

namespace hlo::shadow {

// An elementwise instruction with a rule that is looked up once. If nothing is undetermined, it computes the same as
// RunInstruction, and allocates no memory except for values.
class PreparedElementwise {
 public:
  // Returns null if the instruction has no such rule.
  static std::unique_ptr<PreparedElementwise> Of(const Context& context, const Instruction& inst);

  // Writes into `result`, which is empty or holds any value of the instruction's shape. If it returns false, `result`
  // is invalid and RunInstruction must evaluate the instruction.
  bool Run(const Context& context, Operands operands, ShadowValue& result) const;

 private:
  explicit PreparedElementwise(const Instruction& inst);
  bool OfFloats(const Context& context, Operands operands, ShadowValue& result) const;
  bool OfOthers(Operands operands, ShadowValue& result) const;

  const Instruction& inst_;
  const Shape wide_;  // The instruction's dimensions with f64 elements.
  std::optional<ElementRule> rule_;
  std::optional<ElementwiseOp> op_;
};

}  // namespace hlo::shadow

#endif  // HLO_INTERP_SHADOW_PREPARED_H_
