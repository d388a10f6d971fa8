// Gathers and scatters one window at a time: what their expanders share.
#ifndef HLO_PASSES_EXPANDERS_WINDOWS_H_
#define HLO_PASSES_EXPANDERS_WINDOWS_H_

#include <functional>
#include <span>
#include <vector>

#include "ir/instruction.h"
#include "ir/module.h"

namespace hlo {

// The positions at which windows begin, as a table: a row for each window, in row-major order of the indices, a column
// for each dimension of the operand that `dimensions` names.
struct Positions {
  Instruction* table = nullptr;     // s32 or s64[windows, columns].
  std::vector<int64_t> dimensions;  // By column.
  int64_t windows = 0;
};

// From the indices of `inst`: batching dimensions become columns that count. Null tables where the indices' type goes
// beyond what s64 holds, or where something is dynamic.
Positions PositionsOf(Instruction& inst, Instruction& indices, int64_t index_vector_dim,
                      std::span<const int64_t> index_map, std::span<const int64_t> operand_batching_dims,
                      std::span<const int64_t> indices_batching_dims);

// The scalars of row `row` (a scalar), one for each of the operand's dimensions; zero where there is no column.
std::vector<Instruction*> PositionOf(const Instruction& like, const Positions& positions, Instruction& table,
                                     Instruction& row, int64_t rank);

// Runs `step` for each window: on `state`, values that come and go through it, in a loop, or, where there is one
// window, right here. `given` are values that it reads. The state after the last one.
using WindowStep = std::function<std::vector<Instruction*>(Computation& computation, Instruction& row,
                                                           const std::vector<Instruction*>& state,
                                                           const std::vector<Instruction*>& given)>;
std::vector<Instruction*> ForEachWindow(Instruction& inst, int64_t windows, const std::vector<Instruction*>& state,
                                        const std::vector<Instruction*>& given, const WindowStep& step);

// An instruction beside `like`'s, in the computation of its operands.
Instruction* Beside(const Instruction& like, Opcode opcode, Shape shape, const std::vector<Instruction*>& operands,
                    Attributes attrs = NoAttrs());
Instruction* Reshaped(const Instruction& like, Instruction* value, const std::vector<int64_t>& dims);
Instruction* Transposed(const Instruction& like, Instruction* value, const std::vector<int64_t>& order);
// Window `row` of values that lie one behind the other, without the dimension that counts them.
Instruction* Row(const Instruction& like, Instruction* values, Instruction& row);

}  // namespace hlo

#endif  // HLO_PASSES_EXPANDERS_WINDOWS_H_
