#include "passes/sharding/factor_atoms.h"

namespace hlo {

AtomsByFactor AtomsByFactorOf(const FactorRule& rule, const LeafFactors& leaf, const ArraySplit& split,
                              const Axes& axes) {
  AtomsByFactor by_factor(rule.factors.size());
  for (int64_t dim = 0; dim < split.rank(); ++dim) {
    const DimFactors& factors = leaf[dim];
    std::span<const uint8_t> left = split.AtomsOf(dim);
    for (size_t k = 0; k < factors.size() && !left.empty(); ++k) {
      int64_t rest = rule.factors[factors[k]].size;
      const bool is_last = k + 1 == factors.size();
      // A more minor factor is split only if each device has a single index of the more major one.
      while (!left.empty() && (is_last || (rest > 1 && rest % axes.atoms()[left[0]].size == 0))) {
        rest /= axes.atoms()[left[0]].size;
        by_factor[factors[k]].push_back(left[0]);
        left = left.subspan(1);
      }
      if (rest > 1) break;
    }
  }
  return by_factor;
}

}  // namespace hlo
