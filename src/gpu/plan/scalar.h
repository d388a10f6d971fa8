// Scalar ops and types of kernels, for planning and emitting (emitters/scalar.h).
#ifndef HLO_GPU_PLAN_SCALAR_H_
#define HLO_GPU_PLAN_SCALAR_H_

#include <optional>

#include "base/result.h"
#include "gpu/kernel/kernel.h"
#include "ir/instruction.h"

namespace hlo {
class Computation;
}

namespace hlo::gpu {

// The kernel's type, or an error at `inst`. A complex number is two adjacent values of this real type, the real part
// first, also in memory.
Result<kernel::Type> KernelType(const Instruction& inst, PrimitiveType type);
// KernelType for types known to be supported.
kernel::Type KernelTypeOf(PrimitiveType type);
constexpr int kComplexParts = 2;
inline int ComponentCount(PrimitiveType type) { return IsComplex(type) ? kComplexParts : 1; }
// The sum over all arrays of a shape.
int ComponentCount(const Shape& shape);

// The ops in the table of emitters/scalar.cpp.
constexpr bool IsScalarOp(Opcode opcode, bool elementwise) { return elementwise && opcode != Opcode::kComplex; }
// The ops in the table of emitters/complex.cpp.
inline constexpr Opcode kComplexOps[] = {
    Opcode::kAbs,     Opcode::kAcos,     Opcode::kAcosh,   Opcode::kAdd,     Opcode::kAsin,     Opcode::kAsinh,
    Opcode::kAtan2,   Opcode::kAtanh,    Opcode::kCompare, Opcode::kComplex, Opcode::kConvert,  Opcode::kCopy,
    Opcode::kCos,     Opcode::kCosh,     Opcode::kDivide,  Opcode::kExp,     Opcode::kExp2,     Opcode::kExpm1,
    Opcode::kImag,    Opcode::kLog,      Opcode::kLog1p,   Opcode::kLog2,    Opcode::kLogistic, Opcode::kMaximum,
    Opcode::kMinimum, Opcode::kMultiply, Opcode::kNegate,  Opcode::kPower,   Opcode::kReal,     Opcode::kRsqrt,
    Opcode::kSelect,  Opcode::kSign,     Opcode::kSin,     Opcode::kSinh,    Opcode::kSqrt,     Opcode::kSubtract,
    Opcode::kTan,     Opcode::kTanh};
bool IsOfComplex(const Instruction& inst);

// An error if float types differ in an op that kernels compute in one type. The verifier allows this by default.
Status CheckOneFloatType(const Instruction& inst);
// Errors: no emitter computes `inst` from one value of each operand.
Status CheckScalar(const Instruction& inst);
// Accepts elementwise ops on scalars, constants, tuples and calls of such computations.
Status CheckScalarComputation(const Computation& computation);

// A reducer that consists of one op on its two parameters.
struct SimpleReducer {
  Opcode opcode;
  const Instruction* inst;
};
std::optional<SimpleReducer> AsSimpleReducer(const Computation& computation);

// Sums of floats below f32 accumulate in f32, which is more precise. Maxima and minima do too, with the same bits,
// because hosts cannot compare such types without converting at each step.
kernel::Type AccumulatorType(const Instruction& fold, kernel::Type type);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_SCALAR_H_
