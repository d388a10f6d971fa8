// Elementwise instructions that are evaluated again and again. Private to interp/shadow*.cpp.
#ifndef HLO_INTERP_SHADOW_PREPARED_H_
#define HLO_INTERP_SHADOW_PREPARED_H_

#include <memory>
#include <optional>

#include "interp/ops/elementwise.h"
#include "interp/shadow/elementwise.h"

namespace hlo::shadow {

// One whose rule is made ready, of single elements of floats or of what is no float: where nothing is undetermined, the
// same as RunInstruction, without any other memory than that of the values.
class PreparedElementwise {
 public:
  // Null: of another instruction.
  static std::unique_ptr<PreparedElementwise> Of(const Context& context, const Instruction& inst);

  // Into `result`, which holds anything of the instruction's shape, or nothing. False: it is for RunInstruction to say,
  // and `result` holds nothing of use.
  bool Run(const Context& context, Operands operands, ShadowValue& result) const;

 private:
  explicit PreparedElementwise(const Instruction& inst);
  bool OfFloats(const Context& context, Operands operands, ShadowValue& result) const;
  bool OfOthers(Operands operands, ShadowValue& result) const;

  const Instruction& inst_;
  const Shape wide_;  // Of f64.
  std::optional<ElementRule> rule_;
  std::optional<ElementwiseOp> op_;
};

}  // namespace hlo::shadow

#endif  // HLO_INTERP_SHADOW_PREPARED_H_
