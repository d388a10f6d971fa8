// The choice of the split in which an op is computed.
#ifndef HLO_PASSES_SHARDING_OP_FIT_H_
#define HLO_PASSES_SHARDING_OP_FIT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ir/mesh/axes.h"
#include "ir/module.h"
#include "passes/sharding/factor_atoms.h"

namespace hlo {

struct OpFit {
  AtomsByFactor atoms;
  std::vector<ArraySplit> operands;  // By operand. Tuples and tokens have rank 0.
  std::vector<ArraySplit> results;   // By leaf. Pending along the atoms of sums.
  // Bytes of the results of collectives before and after the op on a device, and the time of the op on the device as
  // bytes that a link would send in that time.
  double cost = 0;
};

// Chooses among the splits that follow from one of the operands or results, and no split at all: the least cost, then
// the most parts. Whole stay: look and scan factors,
// windows that reach into other parts, and sums of uneven parts.
OpFit FitOp(const Instruction& inst, const FactorRule& rule, std::span<const ArraySplit> operands,
            std::span<const ArraySplit> results, const Axes& axes);

}  // namespace hlo

#endif  // HLO_PASSES_SHARDING_OP_FIT_H_
