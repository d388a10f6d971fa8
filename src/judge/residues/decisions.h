// Elementwise ops in which values decide. The result is open if roundings might change the decision.
#ifndef HLO_JUDGE_RESIDUES_DECISIONS_H_
#define HLO_JUDGE_RESIDUES_DECISIONS_H_

#include "judge/residues/rules.h"

namespace hlo::residue {

Result<Value> Compared(Context& context, const Instruction& inst, Operands operands, const Shape& shape);
Value Chosen(Context& context, const Shape& shape, const Value& a, const Value& b, bool larger);
// kAbs or kSign.
Value BySign(Context& context, const Instruction& inst, const Shape& shape, const Value& operand);
Result<Value> Stepped(Context& context, const Instruction& inst, const Shape& shape, const Value& x);
// a - n * b, where the values determine the integer n.
Value Remainder(Context& context, const Shape& shape, const Value& a, const Value& b);

}  // namespace hlo::residue

#endif  // HLO_JUDGE_RESIDUES_DECISIONS_H_
