// What custom calls of libraries mean: one handler for each family of targets; custom_call.cpp says which target is
// whose. Internal to interp/.
#ifndef HLO_INTERP_CUSTOM_CALL_H_
#define HLO_INTERP_CUSTOM_CALL_H_

#include <string>
#include <string_view>
#include <vector>

#include "interp/evaluation.h"

namespace hlo {

// U007 at the instruction: the target is known, but `what` is not supported.
Error UnsupportedCall(const Instruction& inst, std::string_view what);

// Of libraries, calls/<library>_calls.cpp. Results beyond those that a target defines are workspace: zeros.
Result<Literal> CallMatmul(Evaluation& e);    // __cublas$gemm, __cublas$lt$matmul
Result<Literal> CallMatmulF8(Evaluation& e);  // __cublas$lt$matmul$f8
Result<Literal> CallTriangularSolve(Evaluation& e);
Result<Literal> CallBlockScaledDot(Evaluation& e);
Result<Literal> CallConvolution(Evaluation& e);  // Forward, with bias and activation or without.
Result<Literal> CallConvolutionInputGradient(Evaluation& e);
Result<Literal> CallConvolutionFilterGradient(Evaluation& e);
Result<Literal> CallLayerNorm(Evaluation& e);
Result<Literal> CallRadixSort(Evaluation& e);

// lapack_calls.cpp: lapack_*, blas_*trsm and cusolver_*, as JAX registers them.
bool IsLapackTarget(std::string_view target);
std::vector<std::string> LapackTargets();  // Of today's names.
Result<Literal> CallLapack(Evaluation& e);
Result<Literal> CallCusolverCholesky(Evaluation& e);  // Of XLA itself: (a) -> (factor, workspace, info).

}  // namespace hlo

#endif  // HLO_INTERP_CUSTOM_CALL_H_
