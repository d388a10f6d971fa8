// Shared parts of dot and convolution: operands in the compute type, and results in their own type:
// docs/ops.md#accumulation.
#ifndef HLO_INTERP_CONTRACTION_H_
#define HLO_INTERP_CONTRACTION_H_

#include <optional>

#include "interp/evaluation.h"
#include "interp/scratch.h"

namespace hlo {

// The elements converted to `type`, the result's type, in its compute type. A view of the literal if no conversion is
// needed.
class WidenedElements {
 public:
  WidenedElements(Literal literal, PrimitiveType type);
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(data_);
  }

 private:
  Literal kept_;
  Scratch<std::byte> own_;
  const std::byte* data_;
};

// The bytes that WidenedElements of `shape` uses while it is made, and afterwards. With `given`, it owns the literal
// and frees it.
struct WidenedBytes {
  int64_t making = 0, made = 0;

  WidenedBytes(const Shape& shape, PrimitiveType type, bool given);
};

// The scratch bytes of the ops. The attributes must fit the operands.
int64_t DotScratchBytes(const Instruction& inst);
int64_t RaggedDotScratchBytes(const Instruction& inst);
int64_t ScaledDotScratchBytes(const Instruction& inst);
int64_t ConvolutionScratchBytes(const Instruction& inst);

// Converts `literal` to `type`, as `convert` does.
Literal Converted(const Literal& literal, PrimitiveType type);
// Permutes the dimensions of `literal`. Shares its memory if the order is unchanged.
Literal Transposed(const Literal& literal, std::span<const int64_t> permutation);
bool IsOrdered(std::span<const int64_t> permutation);
// Whether the scale of a scaled-dot's operand applies. A scalar does not.
bool IsScaled(const Shape& elements, const Shape& scale);
// Operand `side` (0 or 1), decompressed if it is sparse.
Result<Literal> Dense(Evaluation& e, int64_t side, const std::optional<OperandSparsity>& sparsity);
Shape DenseShape(const Instruction& inst, int64_t side, const std::optional<OperandSparsity>& sparsity);
// Checks that the written shape is the one for decompressed operands. XLA's shape rule uses the compressed sizes of
// free dimensions, which leave no room for the result (U002).
template <class Attrs>
Status CheckDense(const Instruction& inst);
// Stores `count` results from the compute type of `type`.
void StoreElements(const void* computed, PrimitiveType type, std::byte* to, int64_t count);

}  // namespace hlo

#endif  // HLO_INTERP_CONTRACTION_H_
