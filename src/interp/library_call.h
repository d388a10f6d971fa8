// A call of cuBLAS, cuDNN or CUB as plain HLO, which computes in f32 (f64 for f64, the complex type for complex, s32
// for products of integers) and rounds once at the end.
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

// A module that computes the same as `call`. Its entry takes the call's operands, and returns a tuple of the call's
// first results. The call's other results are workspace. Errors (U007): an unknown or inconsistent configuration.
Result<std::unique_ptr<Module>> MeaningOf(const Instruction& call);

}  // namespace hlo

#endif  // HLO_INTERP_LIBRARY_CALL_H_
