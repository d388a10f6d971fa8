// Elementwise ops as functions on runs of elements. Their rows are in elementwise_unary.cpp, elementwise_binary.cpp and
// interp/functions.def. An elementwise opcode of ir/ops.def without a row is a link error with its name.
#ifndef HLO_INTERP_OPS_ELEMENTWISE_H_
#define HLO_INTERP_OPS_ELEMENTWISE_H_

#include "base/result.h"
#include "interp/elements.h"
#include "interp/ops/reduce_precision.h"
#include "ir/instruction.h"

namespace hlo {

class ElementwiseOp {
 public:
  // Operands and result are in the compute type. `out` may be one of `in`.
  using Kernel = void (*)(const ElementwiseOp& op, const void* const* in, void* out, int64_t count);
  static constexpr int kMaxOperands = 3;

  // The operation of an elementwise instruction. kUnsupported if the op is not defined for the operand's type.
  static Result<ElementwiseOp> Make(const Instruction& inst);

  // Computes `count` elements in memory form. `out` may be one of `in`. A bit in `scalars` marks an operand with a
  // single element.
  void Run(const std::byte* const* in, std::byte* out, int64_t count, uint32_t scalars = 0) const;

  // Computes all `count` elements of the instruction on all threads.
  void RunAll(const std::byte* const* in, std::byte* out, int64_t count) const;

  // Set by the rows.
  Kernel kernel = nullptr;
  Loader load[kMaxOperands] = {};  // Null if memory form is compute form.
  Storer store = nullptr;
  int bits = 0;                    // Bits of the first operand's element type.
  ReducedPrecision reduced;        // The target type of reduce-precision.
  double lowest = 0, highest = 0;  // The range of the target type of convert and stochastic-convert.
  int64_t lowest_int = 0;
  uint64_t highest_int = 0;

 private:
  int operands_ = 0;
  int64_t in_bytes_[kMaxOperands] = {};  // Bytes of an element in memory.
  int64_t in_compute_bytes_[kMaxOperands] = {};
  int64_t out_bytes_ = 0;
  uint32_t scalars_ = 0;  // Scalar operands of select and clamp beside arrays.
};

// Sets the kernel for the instruction's types, and other loaders if it reads another form.
using ElementwiseRow = void (*)(const Instruction& inst, ElementwiseOp& op);

}  // namespace hlo

#endif  // HLO_INTERP_OPS_ELEMENTWISE_H_
