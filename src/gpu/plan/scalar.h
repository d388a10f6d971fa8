// Which scalars kernels compute, in which types: what planning asks and emitting (emitters/scalar.h) relies on.
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

// The kernel's type for an element type; an error at `inst` when kernels have none. Kernels know real numbers alone: a
// complex one is two values side by side, of this type, the real part first; in memory too.
Result<kernel::Type> KernelType(const Instruction& inst, PrimitiveType type);
// The same for types that were checked.
kernel::Type KernelTypeOf(PrimitiveType type);
constexpr int kComplexParts = 2;
inline int PartsOf(PrimitiveType type) { return IsComplex(type) ? kComplexParts : 1; }
// Of all arrays of a shape.
int PartsOf(const Shape& shape);

// Ops whose element the table of emitters/scalar.cpp computes: the elementwise ones, but for what makes complex
// numbers.
constexpr bool IsScalarOp(Opcode opcode, bool elementwise) { return elementwise && opcode != Opcode::kComplex; }
// Those that the table of emitters/complex.cpp computes, where an operand or the result is complex.
inline constexpr Opcode kComplexOps[] = {
    Opcode::kAbs,     Opcode::kAcos,     Opcode::kAcosh,   Opcode::kAdd,     Opcode::kAsin,     Opcode::kAsinh,
    Opcode::kAtan2,   Opcode::kAtanh,    Opcode::kCompare, Opcode::kComplex, Opcode::kConvert,  Opcode::kCopy,
    Opcode::kCos,     Opcode::kCosh,     Opcode::kDivide,  Opcode::kExp,     Opcode::kExp2,     Opcode::kExpm1,
    Opcode::kImag,    Opcode::kLog,      Opcode::kLog1p,   Opcode::kLog2,    Opcode::kLogistic, Opcode::kMaximum,
    Opcode::kMinimum, Opcode::kMultiply, Opcode::kNegate,  Opcode::kPower,   Opcode::kReal,     Opcode::kRsqrt,
    Opcode::kSelect,  Opcode::kSign,     Opcode::kSin,     Opcode::kSinh,    Opcode::kSqrt,     Opcode::kSubtract,
    Opcode::kTan,     Opcode::kTanh};
bool IsOfComplex(const Instruction& inst);

// An error where float types differ that an op takes as one; the verifier lets that pass at default.
Status CheckOneFloatType(const Instruction& inst);
// Can `inst` be computed from values of its operands?
Status CheckScalar(const Instruction& inst);
// A computation on scalars (a reducer, a comparator): elementwise ops, constants, tuples, calls of such computations.
Status CheckScalarComputation(const Computation& computation);

// What a reducer of two scalars is, when it is one op of its two parameters.
struct SimpleReducer {
  Opcode opcode;
  const Instruction* inst;
};
std::optional<SimpleReducer> AsSimpleReducer(const Computation& computation);

// Accumulators of additions of floats below f32 are f32, and so are those of maxima and minima: no processor at hand
// compares them, so that each step would go there and back, by a rounding; the bits are the same. All others have the
// type of the value.
kernel::Type AccumulatorType(const Instruction& fold, kernel::Type type);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_SCALAR_H_
