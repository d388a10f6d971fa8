// A custom call of a library (cuBLAS, cuDNN, CUB) as the plain HLO that it stands for: f32 inside (f64 for f64, the
// complex type for complex, s32 for products of integers), one rounding at the end. The interpreter evaluates it, and
// so does whoever judges; a pass compiles it.
#ifndef HLO_INTERP_LIBRARY_CALL_H_
#define HLO_INTERP_LIBRARY_CALL_H_

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/module.h"

namespace hlo {

bool HasMeaning(const Instruction& inst);
std::vector<std::string_view> LibraryCallTargets();

// A computation over the call's operands, whose root is a tuple of the first results of the call; what the call has
// beyond them is workspace. Errors [U007], at the call: a configuration that is not known, or does not fit.
Result<std::unique_ptr<Module>> MeaningOf(const Instruction& call);

}  // namespace hlo

#endif  // HLO_INTERP_LIBRARY_CALL_H_
