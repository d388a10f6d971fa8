// The law of one factor of an instruction: the results of its local ops on the parts, combined as the kind of the
// factor requires, have the bits of the op on whole arrays.
#ifndef HLO_TESTS_IR_FACTOR_LAW_H_
#define HLO_TESTS_IR_FACTOR_LAW_H_

#include <gtest/gtest.h>

#include <span>

#include "ir/factors/factor_rules.h"
#include "ir/instruction.h"
#include "ir/literal.h"

namespace hlo {

// Whether the operand has indices of elements, or sizes of groups or of a dimension.
bool IsIndexOperand(const Instruction& inst, int64_t operand);

// The value of an op on these operands. Its computation is added to `module`.
Result<Literal> EvaluateOp(Module& module, Opcode opcode, const Shape& shape, const Attributes& attributes,
                           std::span<const Literal> operands);

// Compares the whole result with the combined results of `parts` parts.
testing::AssertionResult PartsGiveWhole(const Instruction& inst, const FactorRule& rule, int64_t factor, int64_t parts,
                                        std::span<const Literal> operands, const Literal& whole);

}  // namespace hlo

#endif  // HLO_TESTS_IR_FACTOR_LAW_H_
