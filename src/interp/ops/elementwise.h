// Ops whose result element i needs operand elements i only: what each does to a run of elements.
// The rows are in elementwise_unary.cpp, elementwise_binary.cpp and interp/functions.def; an elementwise opcode of
// ir/ops.def without a row does not link, with its name in the message.
#ifndef HLO_INTERP_OPS_ELEMENTWISE_H_
#define HLO_INTERP_OPS_ELEMENTWISE_H_

#include "base/result.h"
#include "interp/elements.h"
#include "interp/ops/reduce_precision.h"
#include "ir/instruction.h"

namespace hlo {

class ElementwiseOp {
 public:
  // Operands and result in the compute type; `out` may be one of `in`.
  using Kernel = void (*)(const ElementwiseOp& op, const void* const* in, void* out, int64_t count);
  static constexpr int kMaxOperands = 3;

  // What to do for an elementwise instruction; kUnsupported when the op is not defined for the operand's type.
  static Result<ElementwiseOp> Make(const Instruction& inst);

  // `count` elements in memory form; out may be exactly one of `in`. An operand whose bit is set in `scalars` is one
  // element that serves for all.
  void Run(const std::byte* const* in, std::byte* out, int64_t count, uint32_t scalars = 0) const;

  // `count` elements, all that the instruction gives, by all threads.
  void RunAll(const std::byte* const* in, std::byte* out, int64_t count) const;

  // What the rows set.
  Kernel kernel = nullptr;
  Loader load[kMaxOperands] = {};  // Null: memory form is compute form.
  Storer store = nullptr;
  int bits = 0;                    // Width of the (first operand's) element type.
  ReducedPrecision reduced;        // reduce-precision: the target's.
  double lowest = 0, highest = 0;  // convert, stochastic-convert: the range of the target
  int64_t lowest_int = 0;
  uint64_t highest_int = 0;

 private:
  int operands_ = 0;
  int64_t in_bytes_[kMaxOperands] = {};  // Of one element in memory.
  int64_t in_compute_bytes_[kMaxOperands] = {};
  int64_t out_bytes_ = 0;
  uint32_t scalars_ = 0;  // Operands of select and clamp beside arrays.
};

// A row: sets the kernel for the instruction's types (and replaces loaders where it reads another form).
using ElementwiseRow = void (*)(const Instruction& inst, ElementwiseOp& op);

}  // namespace hlo

#endif  // HLO_INTERP_OPS_ELEMENTWISE_H_
