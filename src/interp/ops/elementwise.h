// Elementwise ops on runs of elements. An op without a row is a link error with its name.
#ifndef HLO_INTERP_OPS_ELEMENTWISE_H_
#define HLO_INTERP_OPS_ELEMENTWISE_H_

#include "base/result.h"
#include "interp/elements.h"
#include "interp/ops/reduce_precision.h"
#include "ir/instruction.h"

namespace hlo {

class ElementwiseOp {
 public:
  // `out` may be one of `in`.
  using Kernel = void (*)(const ElementwiseOp& op, const void* const* in, void* out, int64_t count);
  static constexpr int kMaxOperands = 3;

  // kUnsupported if the op is not defined for the operand's type.
  static Result<ElementwiseOp> Make(const Instruction& inst);

  // Elements are in memory form. `out` may be one of `in`. A bit of `scalars` marks an operand with a single element.
  void Run(const std::byte* const* in, std::byte* out, int64_t count, uint32_t scalars = 0) const;

  // Uses all threads.
  void RunAll(const std::byte* const* in, std::byte* out, int64_t count) const;

  // Set by Make and the op's row.
  Kernel kernel = nullptr;
  Loader load[kMaxOperands] = {};
  Storer store = nullptr;
  int bits = 0;                    // Bits of the first operand's type.
  ReducedPrecision reduced;        // For reduce-precision.
  double lowest = 0, highest = 0;  // Range of the integer type to which an op converts.
  int64_t lowest_int = 0;
  uint64_t highest_int = 0;

 private:
  int operands_ = 0;
  int64_t in_bytes_[kMaxOperands] = {};
  int64_t in_compute_bytes_[kMaxOperands] = {};
  int64_t out_bytes_ = 0;
  uint32_t scalars_ = 0;  // Marks scalar operands beside arrays.
};

using ElementwiseRow = void (*)(const Instruction& inst, ElementwiseOp& op);

}  // namespace hlo

#endif  // HLO_INTERP_OPS_ELEMENTWISE_H_
