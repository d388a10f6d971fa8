#ifndef HLO_PASSES_SHARDING_PREPARATION_H_
#define HLO_PASSES_SHARDING_PREPARATION_H_

namespace hlo {

class Computation;

// Rewrites ops to forms with a better factor rule: rotating concatenations to shuffles, slices of one row to
// dynamic-slices with a constant start. Returns whether anything changed.
bool PrepareForPropagation(Computation& computation);

}  // namespace hlo

#endif  // HLO_PASSES_SHARDING_PREPARATION_H_
