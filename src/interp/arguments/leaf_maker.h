#ifndef HLO_INTERP_ARGUMENTS_LEAF_MAKER_H_
#define HLO_INTERP_ARGUMENTS_LEAF_MAKER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "interp/arguments/arguments.h"
#include "interp/arguments/philox.h"
#include "interp/arguments/ranges.h"

namespace hlo {

// Without options.constrain, uses only the facts of `range` that profiles need: keys and summed dimensions. Multiplies
// the scale of floats by `tighten`.
Literal MakeLeaf(const Shape& shape, const LeafRange& range, const ArgumentOptions& options, int64_t parameter,
                 int64_t leaf, double tighten = 1);

// The high half of the Philox counters of a leaf.
inline uint64_t CounterOf(int64_t parameter, int64_t leaf) {
  return static_cast<uint64_t>(parameter) << 32 | static_cast<uint32_t>(leaf);
}

int64_t Between(const PhiloxBlock& random, int64_t low, int64_t high);

// Makes a literal from f(shape, leaf++) of each leaf.
template <class F>
Result<Literal> ByLeaf(const Shape& shape, int64_t& leaf, F&& f) {
  if (!shape.IsTuple()) return f(shape, leaf++);
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) elements.push_back(TRY(ByLeaf(element, leaf, f)));
  return Literal::Tuple(std::move(elements));
}

}  // namespace hlo

#endif  // HLO_INTERP_ARGUMENTS_LEAF_MAKER_H_
