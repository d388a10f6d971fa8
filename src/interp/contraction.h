// Operands of dot and convolution in the compute type, and results in their own type: docs/ops.md#accumulation.
#ifndef HLO_INTERP_CONTRACTION_H_
#define HLO_INTERP_CONTRACTION_H_

#include <optional>

#include "interp/evaluation.h"
#include "interp/scratch.h"

namespace hlo {

// Elements that are converted to `type` and stored in its compute type. Shares the literal's memory if nothing is
// converted.
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

// Memory of WidenedElements: at most `making` during construction, then `made`. If `given`, the literal is a temporary
// copy, which counts, too.
struct WidenedBytes {
  int64_t making = 0, made = 0;

  WidenedBytes(const Shape& shape, PrimitiveType type, bool given);
};

// The attributes must fit the operands.
int64_t DotScratchBytes(const Instruction& inst);
int64_t RaggedDotScratchBytes(const Instruction& inst);
int64_t ScaledDotScratchBytes(const Instruction& inst);
int64_t ConvolutionScratchBytes(const Instruction& inst);

// Converts as `convert` does.
Literal Converted(const Literal& literal, PrimitiveType type);
// Shares the memory if the order is unchanged.
Literal Transposed(const Literal& literal, std::span<const int64_t> permutation);
bool IsOrdered(std::span<const int64_t> permutation);
// False for scales without effect, such as scalars.
bool IsScaled(const Shape& elements, const Shape& scale);
// Operand `side` (0 or 1), decompressed if it is sparse.
Result<Literal> Dense(Evaluation& e, int64_t side, const std::optional<OperandSparsity>& sparsity);
Shape DenseShape(const Instruction& inst, int64_t side, const std::optional<OperandSparsity>& sparsity);
// Error U002 unless the result's shape fits the decompressed operands. XLA's shape rule uses the compressed sizes of
// free dimensions, so its result can be too small.
template <class Attrs>
Status CheckDense(const Instruction& inst);
void StoreElements(const void* computed, PrimitiveType type, std::byte* to, int64_t count);

}  // namespace hlo

#endif  // HLO_INTERP_CONTRACTION_H_
