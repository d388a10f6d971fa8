// Writes slices of batches of matrices, and loops, for expanded decompositions.
#ifndef HLO_IR_ANALYSIS_MATRIX_LOOPS_H_
#define HLO_IR_ANALYSIS_MATRIX_LOOPS_H_

#include <functional>
#include <initializer_list>
#include <vector>

#include "ir/module.h"

namespace hlo {

// Shapes of a batch f[..., rows, columns] and of its parts.
struct MatrixShapes {
  explicit MatrixShapes(const Shape& matrices);

  Shape Column() const { return With({rows}); }
  Shape Row() const { return With({columns}); }
  Shape Scalar() const { return With({}); }
  Shape With(std::initializer_list<int64_t> last) const;
  int64_t BatchRank() const { return static_cast<int64_t>(batch.size()); }

  Shape matrix;
  Dims batch;
  int64_t rows, columns;
};

bool IsRealMatrices(const Shape& shape);

// Adds instructions with the range and metadata of `like`.
class Writer {
 public:
  using Values = std::vector<Instruction*>;

  Writer(const Instruction& like, Computation& computation) : like_(like), computation_(computation) {}

  Instruction* Add(Opcode opcode, const Shape& shape, const Values& operands, Attributes attrs = NoAttrs());
  Instruction* Unary(Opcode opcode, Instruction* x) { return Add(opcode, x->shape(), {x}); }
  Instruction* Binary(Opcode opcode, Instruction* a, Instruction* b) { return Add(opcode, a->shape(), {a, b}); }
  Instruction* Constant(double value, const Shape& shape);
  Instruction* Compare(Instruction* a, ComparisonDirection direction, Instruction* b);
  Instruction* Select(Instruction* which, Instruction* a, Instruction* b) {
    return Add(Opcode::kSelect, a->shape(), {which, a, b});
  }
  // Broadcasts `x` to `shape`. The last dimensions of `x` become dimensions `last`, the others the leading ones.
  Instruction* Widen(Instruction* x, const Shape& shape, std::initializer_list<int64_t> last);
  // Compares the index along `dim` with `number`, an s32 scalar, at each position in `shape`.
  Instruction* CompareIndex(const Shape& shape, int64_t dim, ComparisonDirection direction, Instruction* number);
  // Reduces the last dimension with add, or with maximum of values that are not negative.
  Instruction* Reduce(Instruction* x, Opcode op);
  // Reshapes the slice to `result`. A null start is 0.
  Instruction* Slice(Instruction* x, const Values& starts, const Dims& sizes, const Shape& result);
  // Reshapes `part` to `sizes` first.
  Instruction* Update(Instruction* x, Instruction* part, const Values& starts, const Dims& sizes);
  // state = init; while (condition(state)) state = body(state). Returns the final state.
  Values While(const Values& init, const std::function<Instruction*(Writer&, const Values&)>& condition,
               const std::function<Values(Writer&, const Values&)>& body);
  // Calls body(i, state...) for each s32 i in [0, `count`). Returns the final state.
  Values For(int64_t count, const Values& init, const std::function<Values(Writer&, const Values&)>& body);

 private:
  Values Starts(const Instruction& x, const Values& starts);
  Values Parts(Instruction& tuple);

  const Instruction& like_;
  Computation& computation_;
};

}  // namespace hlo

#endif  // HLO_IR_ANALYSIS_MATRIX_LOOPS_H_
