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
  std::vector<ArraySplit> operands;  // By operand. Tuples and tokens have rank 0.
  std::vector<ArraySplit> results;   // By leaf. Pending along the atoms of sums.
  // Bytes of the arrays of collectives before and after the op on a device (ReshardPlan::ArrayBytes), and the time of
  // the op on the device as bytes that a link would send in that time.
  double cost = 0;
};

// Chooses among the splits that follow from one of the operands or results, and no split at all: the least cost, then
// the most parts. Scan factors stay whole.
OpFit FitOp(const Instruction& inst, const FactorRule& rule, std::span<const ArraySplit> operands,
            std::span<const ArraySplit> results, const Axes& axes, ReshardPlans& plans);

// The unsigned type or integer type in which the value of one device and the zeros of the others are added. Nothing for
// types without one.
std::optional<PrimitiveType> PickType(PrimitiveType type);
// The element that changes no result of a dot, convolution, reduce or reduce-window, or nothing if it is unknown.
std::optional<Literal> NeutralElementOf(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_PASSES_SHARDING_OP_FIT_H_
