// Evaluates custom calls. Internal to interp/.
#ifndef HLO_INTERP_CUSTOM_CALL_H_
#define HLO_INTERP_CUSTOM_CALL_H_

#include <string>
#include <string_view>
#include <vector>

#include "interp/evaluation.h"

namespace hlo {

// Error U007: the target is known, but `what` is not supported.
Error UnsupportedCall(const Instruction& inst, std::string_view what);

// True for lapack_*, blas_*trsm and cusolver_*, as registered by JAX.
bool IsLapackTarget(std::string_view target);
std::vector<std::string> LapackTargets();  // Without the names of older versions of JAX.
Result<Literal> CallLapack(Evaluation& e);
Result<Literal> CallCusolverCholesky(Evaluation& e);  // (a) -> (factor, workspace, info).

}  // namespace hlo

#endif  // HLO_INTERP_CUSTOM_CALL_H_
