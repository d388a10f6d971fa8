// The choice of the split in which an op is computed.
#ifndef HLO_PASSES_SHARDING_OP_FIT_H_
#define HLO_PASSES_SHARDING_OP_FIT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/mesh/axes.h"
#include "ir/module.h"
#include "passes/sharding/factor_atoms.h"
#include "passes/sharding/reshard_plans.h"

namespace hlo {

struct OpFit {
  AtomsByFactor atoms;
  std::vector<ArraySplit> operands;  // Tuples and tokens have rank 0.
  std::vector<ArraySplit> results;   // Indexed by leaf. Pending along the sums' atoms.
  // In bytes, for one device: results of collectives before, in and after the op, and what a link sends in the op's
  // time.
  double cost = 0;
};

// Of no split and the splits that follow from one operand or result, chooses the cheapest, then the one with most
// parts. Scan factors stay whole.
OpFit FitOp(const Instruction& inst, const FactorRule& rule, std::span<const ArraySplit> operands,
            std::span<const ArraySplit> results, const Axes& axes, ReshardPlans& plans);

// The integer type in which the bits of one device's value and the others' zeros are added, if any.
std::optional<PrimitiveType> PickType(PrimitiveType type);
// The element that changes no result of a dot, convolution, reduce or reduce-window, if known.
std::optional<Literal> NeutralElementOf(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_PASSES_SHARDING_OP_FIT_H_
