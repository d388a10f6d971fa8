// A custom call of a library (cuBLAS, cuDNN, CUB) as plain HLO. The plain HLO computes in f32 (f64 for f64, the complex
// type for complex, s32 for products of integers) and rounds once at the end.
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

// A module whose entry takes the operands of the call and returns a tuple of its first results. Further results of the
// call are workspace. Errors (U007): an unknown or inconsistent configuration.
Result<std::unique_ptr<Module>> MeaningOf(const Instruction& call);

}  // namespace hlo

#endif  // HLO_INTERP_LIBRARY_CALL_H_
