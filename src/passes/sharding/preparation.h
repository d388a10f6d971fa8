#ifndef HLO_PASSES_SHARDING_PREPARATION_H_
#define HLO_PASSES_SHARDING_PREPARATION_H_

namespace hlo {

class Computation;
class Module;

// Rewrites ops to forms with a better factor rule: rotating concatenations to shuffles, slices of one row to
// dynamic-slices with a constant start. Returns whether anything changed.
bool PrepareForPropagation(Computation& computation);

// A parameter or result of the entry keeps its stated split, even if a loop states another one for the same value: a
// copy stands between them and changes the split. Returns whether anything changed.
bool SeparateBorders(Module& module);

}  // namespace hlo

#endif  // HLO_PASSES_SHARDING_PREPARATION_H_
