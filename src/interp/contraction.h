// What dot and convolution share: operands in the compute type, and results back in theirs: docs/ops.md#accumulation.
#ifndef HLO_INTERP_CONTRACTION_H_
#define HLO_INTERP_CONTRACTION_H_

#include <optional>

#include "interp/evaluation.h"
#include "interp/scratch.h"

namespace hlo {

// The elements converted to `type` (the type of the result), in its compute type: a view of the literal when nothing
// needs to be done.
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

// The bytes that WidenedElements of `shape` takes while it is made, and afterwards. `given`: the literal is a copy made
// for it, which it frees.
struct WidenedBytes {
  int64_t making = 0, made = 0;

  WidenedBytes(const Shape& shape, PrimitiveType type, bool given);
};

// What the ops take for themselves beside operands and result; their attributes fit their operands.
int64_t DotScratchBytes(const Instruction& inst);
int64_t RaggedDotScratchBytes(const Instruction& inst);
int64_t ScaledDotScratchBytes(const Instruction& inst);
int64_t ConvolutionScratchBytes(const Instruction& inst);

// `literal` as elements of `type`: `convert`.
Literal Converted(const Literal& literal, PrimitiveType type);
// The dimensions of `literal` in another order; the same memory when they stay in order.
Literal Transposed(const Literal& literal, std::span<const int64_t> permutation);
bool IsOrdered(std::span<const int64_t> permutation);
// Does the scale of a scaled-dot's operand scale it? A scalar does not.
bool IsScaled(const Shape& elements, const Shape& scale);
// Operand `side` (0 or 1) as it stands, or as what it is the compressed form of.
Result<Literal> Dense(Evaluation& e, int64_t side, const std::optional<OperandSparsity>& sparsity);
// The shape of Dense.
Shape DenseShape(const Instruction& inst, int64_t side, const std::optional<OperandSparsity>& sparsity);
// Is the written shape the one that the operands give with their zeros? Of free dimensions XLA's rule asks for the
// sizes as they are kept, so that there is no room for the result. [U002]
template <class Attrs>
Status CheckDense(const Instruction& inst);
// Results from `count` elements in the compute type of `type`.
void StoreElements(const void* computed, PrimitiveType type, std::byte* to, int64_t count);

}  // namespace hlo

#endif  // HLO_INTERP_CONTRACTION_H_
