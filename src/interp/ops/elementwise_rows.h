#ifndef HLO_INTERP_OPS_ELEMENTWISE_ROWS_H_
#define HLO_INTERP_OPS_ELEMENTWISE_ROWS_H_

#include <algorithm>
#include <type_traits>

#include "interp/ops/elementwise.h"
#include "interp/ops/wide_math.h"

namespace hlo {

// Declares a row for each opcode. Only elementwise opcodes have a definition.
#define HLO_OPCODE(Name, ...) void Name##Row(const Instruction& inst, ElementwiseOp& op);
#include "ir/opcodes.inc"

namespace rows {

template <class T>
constexpr bool kIsComplex = std::is_same_v<T, C64> || std::is_same_v<T, C128>;

enum Types : unsigned {
  kPred = 1 << 0,
  kSigned = 1 << 1,
  kUnsigned = 1 << 2,
  kFloat = 1 << 3 | 1 << 4,
  kComplex = 1 << 5 | 1 << 6,
  kFloatOrComplex = kFloat | kComplex,
  kInt = kSigned | kUnsigned,
  kReal = kInt | kFloat,
  kArith = kReal | kComplex,
  kAny = kArith | kPred,
};

template <class T, class F>
void UnaryLoop(const ElementwiseOp& op, const void* const* in, void* out, int64_t count) {
  using R = decltype(F()(op, T()));
  const auto* x = static_cast<const T*>(in[0]);
  auto* r = static_cast<R*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) r[i] = F()(op, x[i]);
}

// F computes arguments that Function does not cover.
template <class Function, class F>
void WideLoop(const ElementwiseOp& op, const void* const* in, void* out, int64_t count) {
  constexpr int64_t kChunk = 256;
  double x[kChunk];
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t part = std::min(kChunk, count - begin);
    auto* r = static_cast<float*>(out) + begin;
    // Copied first, because `out` may be the same memory.
    std::copy_n(static_cast<const float*>(in[0]) + begin, part, x);
    uint64_t left_out = 0;
    for (int64_t i = 0; i < part; ++i) left_out |= Function::Covers(x[i]) ? 0 : 1;
    for (int64_t i = 0; i < part; ++i) r[i] = static_cast<float>(Function::Evaluate(x[i]));
    for (int64_t i = 0; i < part && left_out != 0; ++i) {
      if (!Function::Covers(x[i])) r[i] = F()(op, static_cast<float>(x[i]));
    }
  }
}

template <class T, class F>
void BinaryLoop(const ElementwiseOp& op, const void* const* in, void* out, int64_t count) {
  using R = decltype(F()(op, T(), T()));
  const auto* x = static_cast<const T*>(in[0]);
  const auto* y = static_cast<const T*>(in[1]);
  auto* r = static_cast<R*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) r[i] = F()(op, x[i], y[i]);
}

template <class T, class F>
void TernaryLoop(const ElementwiseOp& op, const void* const* in, void* out, int64_t count) {
  const auto* x = static_cast<const T*>(in[0]);
  const auto* y = static_cast<const T*>(in[1]);
  const auto* z = static_cast<const T*>(in[2]);
  auto* r = static_cast<T*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) r[i] = F()(op, x[i], y[i], z[i]);
}

template <unsigned kTypes, int kOperands, class F>
void SetKernel(const Instruction& inst, ElementwiseOp& op, F) {
  WithCompute(ComputeOf(inst.operand(0).shape().type()), [&]<class T>() {
    if constexpr ((kTypes >> static_cast<int>(kComputeOf<T>)) & 1) {
      if constexpr (kOperands == 1) op.kernel = UnaryLoop<T, F>;
      if constexpr (kOperands == 2) op.kernel = BinaryLoop<T, F>;
      if constexpr (kOperands == 3) op.kernel = TernaryLoop<T, F>;
    }
  });
}

template <Opcode opcode, unsigned kTypes, class F>
void SetFunction(const Instruction& inst, ElementwiseOp& op, F f) {
  SetKernel<kTypes, 1>(inst, op, f);
  if constexpr (requires { typename wide::FunctionOf<opcode>::Type; }) {
    if (ComputeOf(inst.operand(0).shape().type()) == Compute::kF32)
      op.kernel = WideLoop<typename wide::FunctionOf<opcode>::Type, F>;
  }
}

// Leaves 32-bit integers in memory form, so low bits of F must depend only on low bits of the operands.
template <unsigned kTypes, int kOperands, class F>
void SetWordKernel(const Instruction& inst, ElementwiseOp& op, F f) {
  SetKernel<kTypes, kOperands>(inst, op, f);
  const PrimitiveType type = inst.shape().type();
  if (type != PrimitiveType::kS32 && type != PrimitiveType::kU32) return;
  for (const Instruction* operand : inst.operands()) {
    if (operand->shape().type() != type) return;
  }
  if constexpr (kOperands == 1) op.kernel = UnaryLoop<uint32_t, F>;
  if constexpr (kOperands == 2) op.kernel = BinaryLoop<uint32_t, F>;
  std::fill_n(op.load, kOperands, nullptr);
  op.store = nullptr;
}

// The C library's functions in this type, rounded to T, are almost always correct.
template <class T>
struct WideOf {
  using Type = T;
};
template <>
struct WideOf<float> {
  using Type = double;
};
template <>
struct WideOf<double> {
  using Type = long double;
};
template <>
struct WideOf<C64> {
  using Type = C128;
};
template <class T>
using Wide = typename WideOf<T>::Type;

}  // namespace rows

// UNARY(Negate, kArith, -x) defines the row of negate. The result may have another type.
#define UNARY(Name, types, ...)                                                                                     \
  void Name##Row(const Instruction& inst, ElementwiseOp& op) {                                                      \
    rows::SetKernel<(rows::types), 1>(inst, op, []<class T>(const ElementwiseOp& op, T x) { return __VA_ARGS__; }); \
  }
#define BINARY(Name, types, ...)                                                                               \
  void Name##Row(const Instruction& inst, ElementwiseOp& op) {                                                 \
    rows::SetKernel<(rows::types), 2>(inst, op,                                                                \
                                      []<class T>(const ElementwiseOp& op, T x, T y) { return __VA_ARGS__; }); \
  }
#define WORD_BINARY(Name, types, ...)                                                                              \
  void Name##Row(const Instruction& inst, ElementwiseOp& op) {                                                     \
    rows::SetWordKernel<(rows::types), 2>(inst, op,                                                                \
                                          []<class T>(const ElementwiseOp& op, T x, T y) { return __VA_ARGS__; }); \
  }
// x and y have the type Wide<T>, and the result is rounded once.
#define BINARY_FUNCTION(Name, types, ...)                                                                   \
  void Name##Row(const Instruction& inst, ElementwiseOp& op) {                                              \
    rows::SetKernel<(rows::types), 2>(inst, op, []<class T>(const ElementwiseOp&, T narrow_x, T narrow_y) { \
      const auto x = static_cast<rows::Wide<T>>(narrow_x), y = static_cast<rows::Wide<T>>(narrow_y);        \
      return static_cast<T>(__VA_ARGS__);                                                                   \
    });                                                                                                     \
  }

}  // namespace hlo

#endif  // HLO_INTERP_OPS_ELEMENTWISE_ROWS_H_
