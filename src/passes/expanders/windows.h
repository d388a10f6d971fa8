// Shared parts of the expanders of gather and scatter, which process one window at a time.
#ifndef HLO_PASSES_EXPANDERS_WINDOWS_H_
#define HLO_PASSES_EXPANDERS_WINDOWS_H_

#include <functional>
#include <span>
#include <vector>

#include "ir/instruction.h"
#include "ir/module.h"

namespace hlo {

// The start positions of windows as a table. Each window has a row, in row-major order of the indices. Each dimension
// of the operand in `dimensions` has a column.
struct Positions {
  Instruction* table = nullptr;     // s32 or s64[windows, columns].
  std::vector<int64_t> dimensions;  // Indexed by column.
  int64_t windows = 0;
};

// The positions from the indices of `inst`. Batching dimensions become columns that count. The table is null for
// dynamic sizes and for index types beyond s64.
Positions PositionsOf(Instruction& inst, Instruction& indices, int64_t index_vector_dim,
                      std::span<const int64_t> index_map, std::span<const int64_t> operand_batching_dims,
                      std::span<const int64_t> indices_batching_dims);

// The scalars in row `row` (a scalar), one for each dimension of the operand. A dimension without a column has 0.
std::vector<Instruction*> PositionOf(const Instruction& like, const Positions& positions, Instruction& table,
                                     Instruction& row, int64_t rank);

// Runs `step` for each window on `state`, the values that it updates. `given` are values that it only reads. Uses a
// loop, or no loop for a single window. Returns the final state.
using WindowStep = std::function<std::vector<Instruction*>(Computation& computation, Instruction& row,
                                                           const std::vector<Instruction*>& state,
                                                           const std::vector<Instruction*>& given)>;
std::vector<Instruction*> ForEachWindow(Instruction& inst, int64_t windows, const std::vector<Instruction*>& state,
                                        const std::vector<Instruction*>& given, const WindowStep& step);

// Adds an instruction to the computation of its operands, with the metadata of `like`.
Instruction* Beside(const Instruction& like, Opcode opcode, Shape shape, const std::vector<Instruction*>& operands,
                    Attributes attrs = NoAttrs());
Instruction* Reshaped(const Instruction& like, Instruction* value, const std::vector<int64_t>& dims);
Instruction* Transposed(const Instruction& like, Instruction* value, const std::vector<int64_t>& order);
// Window `row` of values whose first dimension counts the windows, without that dimension.
Instruction* Row(const Instruction& like, Instruction* values, Instruction& row);

}  // namespace hlo

#endif  // HLO_PASSES_EXPANDERS_WINDOWS_H_
