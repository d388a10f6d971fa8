// Shared parts of the expanders of gather and scatter, which process one window at a time.
#ifndef HLO_PASSES_EXPANDERS_WINDOWS_H_
#define HLO_PASSES_EXPANDERS_WINDOWS_H_

#include <functional>
#include <span>
#include <vector>

#include "ir/instruction.h"
#include "ir/module.h"

namespace hlo {

// The start positions of windows: a row for each window, in row-major order of the indices, and a column for each of
// the operand's `dimensions`.
struct Positions {
  Instruction* table = nullptr;  // s32 or s64[windows, columns].
  std::vector<int64_t> dimensions;
  int64_t windows = 0;
};

// A batching dimension becomes a column with the indices along this dimension. The table is null if a size is dynamic
// or the indices are u64.
Positions PositionsOf(Instruction& inst, Instruction& indices, int64_t index_vector_dim,
                      std::span<const int64_t> index_map, std::span<const int64_t> operand_batching_dims,
                      std::span<const int64_t> indices_batching_dims);

// The start of one window: a scalar for each dimension of the operand, 0 for those without a column.
std::vector<Instruction*> PositionOf(const Instruction& like, const Positions& positions, Instruction& table,
                                     Instruction& row, int64_t rank);

// Runs `step` for each window, in a loop if there are several, and returns the final state. `step` updates `state` and
// only reads `given`.
using WindowStep = std::function<std::vector<Instruction*>(Computation& computation, Instruction& row,
                                                           const std::vector<Instruction*>& state,
                                                           const std::vector<Instruction*>& given)>;
std::vector<Instruction*> ForEachWindow(Instruction& inst, int64_t windows, const std::vector<Instruction*>& state,
                                        const std::vector<Instruction*>& given, const WindowStep& step);

// Adds an instruction beside its operands, with `like`'s metadata.
Instruction* Beside(const Instruction& like, Opcode opcode, Shape shape, const std::vector<Instruction*>& operands,
                    Attributes attrs = NoAttrs());
Instruction* Reshaped(const Instruction& like, Instruction* value, const std::vector<int64_t>& dims);
Instruction* Transposed(const Instruction& like, Instruction* value, const std::vector<int64_t>& order);
// The part at index `row` of the first dimension, which is removed.
Instruction* Row(const Instruction& like, Instruction* values, Instruction& row);

}  // namespace hlo

#endif  // HLO_PASSES_EXPANDERS_WINDOWS_H_
