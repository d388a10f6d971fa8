// The split of an array, seen from the factors of an op.
#ifndef HLO_PASSES_SHARDING_FACTOR_ATOMS_H_
#define HLO_PASSES_SHARDING_FACTOR_ATOMS_H_

#include <cstdint>
#include <vector>

#include "ir/factors/factor_rules.h"
#include "ir/mesh/axes.h"

namespace hlo {

// The atoms of each factor of a rule, the major one first.
using AtomsByFactor = std::vector<std::vector<uint8_t>>;

// Leaves out atoms that do not divide a factor, and the minor ones behind them.
AtomsByFactor AtomsByFactorOf(const FactorRule& rule, const LeafFactors& leaf, const ArraySplit& split,
                              const Axes& axes);

}  // namespace hlo

#endif  // HLO_PASSES_SHARDING_FACTOR_ATOMS_H_
