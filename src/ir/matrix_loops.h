// What the expansions of decompositions are written with: instructions in a computation, batches of matrices in pieces,
// loops.
#ifndef HLO_IR_MATRIX_LOOPS_H_
#define HLO_IR_MATRIX_LOOPS_H_

#include <functional>
#include <initializer_list>
#include <vector>

#include "ir/module.h"

namespace hlo {

// The shapes of a batch of matrices f[..., rows, columns], and of what is taken out of them.
struct MatrixShapes {
  explicit MatrixShapes(const Shape& matrices);

  Shape Column() const { return With({rows}); }
  Shape Row() const { return With({columns}); }
  Shape Scalar() const { return With({}); }
  Shape With(std::initializer_list<int64_t> last) const;  // The batch, and these.
  int64_t BatchRank() const { return static_cast<int64_t>(batch.size()); }

  Shape matrix;
  Dims batch;
  int64_t rows, columns;
};

// f32 or f64, row-major, not empty, of known size.
bool IsRealMatrices(const Shape& shape);

// Adds instructions to a computation; range and metadata of `like`.
class Writer {
 public:
  using Values = std::vector<Instruction*>;

  Writer(Instruction& like, Computation& computation) : like_(like), computation_(computation) {}

  Instruction* Add(Opcode opcode, const Shape& shape, const Values& operands, Attributes attrs = NoAttrs());
  Instruction* Unary(Opcode opcode, Instruction* x) { return Add(opcode, x->shape(), {x}); }
  Instruction* Binary(Opcode opcode, Instruction* a, Instruction* b) { return Add(opcode, a->shape(), {a, b}); }
  Instruction* Constant(double value, const Shape& shape);
  Instruction* Compare(Instruction* a, ComparisonDirection direction, Instruction* b);
  Instruction* Select(Instruction* which, Instruction* a, Instruction* b) {
    return Add(Opcode::kSelect, a->shape(), {which, a, b});
  }
  // `x`, whose last dimensions are `last` of those of `shape`, and whose others the leading ones.
  Instruction* Widen(Instruction* x, const Shape& shape, std::initializer_list<int64_t> last);
  // The index along `dim` of `shape`, against `number`, an s32.
  Instruction* CompareIndex(const Shape& shape, int64_t dim, ComparisonDirection direction, Instruction* number);
  // Over the last dimension, by add or, of what is not negative, maximum.
  Instruction* Reduce(Instruction* x, Opcode op);
  // `sizes` elements of `x` from `starts` on, as `result`; null starts at 0.
  Instruction* Slice(Instruction* x, const Values& starts, const Dims& sizes, const Shape& result);
  // `x` with `part`, reshaped to `sizes`, from `starts` on.
  Instruction* Update(Instruction* x, Instruction* part, const Values& starts, const Dims& sizes);
  // state = init; while (condition(state)) state = body(state); gives the parts of state.
  Values While(const Values& init, const std::function<Instruction*(Writer&, const Values&)>& condition,
               const std::function<Values(Writer&, const Values&)>& body);
  // body(i, state...) for i of s32 from 0 to `count`; gives state.
  Values For(int64_t count, const Values& init, const std::function<Values(Writer&, const Values&)>& body);

 private:
  Values Starts(const Instruction& x, const Values& starts);
  Values Parts(Instruction& tuple);

  Instruction& like_;
  Computation& computation_;
};

}  // namespace hlo

#endif  // HLO_IR_MATRIX_LOOPS_H_
