// Mathematical functions as IR: polynomials with explicit fma, bit-identical on GPU and host. Small floats are computed
// in f32 and rounded once. Denormals are kept. Results for NaN, infinities and signed zeros are exact, and so is
// overflow. Error bounds: docs/comparison.md#functions.
#ifndef HLO_GPU_KERNEL_MATH_H_
#define HLO_GPU_KERNEL_MATH_H_

#include "gpu/kernel/builder.h"

namespace hlo::kernel {

Value Exp(Value x);
Value Exp2(Value x);
Value Expm1(Value x);
Value Log(Value x);
Value Log2(Value x);
Value Log1p(Value x);
Value Tanh(Value x);
Value Logistic(Value x);
Value Erf(Value x);
Value Sin(Value x);
Value Cos(Value x);
Value Tan(Value x);
Value Asin(Value x);
Value Acos(Value x);
Value Sinh(Value x);
Value Cosh(Value x);
Value Asinh(Value x);
Value Acosh(Value x);
Value Atanh(Value x);
Value Rsqrt(Value x);
Value Cbrt(Value x);
Value Pow(Value x, Value y);
Value Atan2(Value y, Value x);
Value FloatRemainder(Value x, Value y);  // fmod; exact. For f32 and f64.

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_MATH_H_
