// Data movements, and what those without index operands do to an index.
#ifndef HLO_IR_ANALYSIS_MOVEMENT_H_
#define HLO_IR_ANALYSIS_MOVEMENT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

// Whether the elements of the result are elements of operands (OpTrait kMoves), or a bitcast to the same type.
bool IsMovement(const Instruction& inst);
// The number of leading operands of a movement that are data. The others are indices.
int64_t DataOperands(const Instruction& inst);

// An index of the operand: offset + scale * (the result's index along `dim`).
struct MovedIndex {
  int64_t dim = 0;
  int64_t scale = 1;
  int64_t offset = 0;
};
// One index for each dimension of the operand. Nullopt except for broadcast, transpose, reverse and slice.
std::optional<std::vector<MovedIndex>> MovedIndices(const Instruction& inst);

// Element i of the result is operand element base + sum i_d * strides[d], in row-major order.
struct MovedStrides {
  std::vector<int64_t> strides;
  int64_t base = 0;
};
// Nullopt except for the instructions of MovedIndices, reshapes, and bitcasts that are reshapes.
std::optional<MovedStrides> StridesOfMovement(const Instruction& inst, const Shape& operand);

// Of the instructions above, concatenate and pad.
class ElementSources {
 public:
  struct Source {
    int64_t operand = 0;
    int64_t element = 0;  // Row-major.
  };

  static std::optional<ElementSources> Of(const Instruction& inst);
  Source At(std::span<const int64_t> index) const;

 private:
  const Instruction* inst_ = nullptr;
  std::vector<MovedStrides> operands_;
};

}  // namespace hlo

#endif  // HLO_IR_ANALYSIS_MOVEMENT_H_
