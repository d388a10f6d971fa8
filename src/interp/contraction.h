// What dot and convolution share: operands in the compute type, and results back in theirs. Source: spec/ops.md 0.3.
#ifndef HLO_INTERP_CONTRACTION_H_
#define HLO_INTERP_CONTRACTION_H_

#include <memory>
#include <optional>

#include "interp/evaluation.h"

namespace hlo {

// The elements converted to `type` (the type of the result), in its compute type: a view of the literal when nothing
// needs to be done.
class WidenedElements {
 public:
  WidenedElements(const Literal& literal, PrimitiveType type);
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(data_);
  }

 private:
  Literal kept_;
  std::unique_ptr<std::byte[]> own_;
  const std::byte* data_;
};

// `literal` as elements of `type`: `convert`.
Literal Converted(const Literal& literal, PrimitiveType type);
// The dimensions of `literal` in another order.
Literal Transposed(const Literal& literal, std::span<const int64_t> permutation);
// Operand `side` (0 or 1) as it stands, or as what it is the compressed form of.
Result<Literal> Dense(Evaluation& e, int64_t side, const std::optional<OperandSparsity>& sparsity);
// Results from `count` elements in the compute type of `type`.
void StoreElements(const void* computed, PrimitiveType type, std::byte* to, int64_t count);

}  // namespace hlo

#endif  // HLO_INTERP_CONTRACTION_H_
