// The op that a device computes if one factor of an op is cut.
//
//   f32[10] slice(f32[16]), slice={[2:12]}    factor i: window, cut in 2
//   => part 1 is f32[5] slice(f32[5]), slice={[0:5]}, of rows 7 to 11 of the operand
//
// Operands are parts along the factor's dimensions, or rows in the factor's windows. The caller moves rows to the
// device, combines the parts of a sum, look or scan, and for a look or put subtracts the part's first index from the
// indices.
#ifndef HLO_IR_FACTORS_LOCAL_OP_H_
#define HLO_IR_FACTORS_LOCAL_OP_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/factors/factor_rules.h"
#include "ir/instruction.h"

namespace hlo {

struct IndexRange {
  int64_t first = 0, size = 0;
  bool operator==(const IndexRange&) const = default;
};

struct FactorPart {
  int64_t factor = 0;
  IndexRange range;  // Indices of the factor, at least one.
  // Whether the caller gives all rows that the part's windows cover, even padding outside of the operand. Then all
  // parts have the same window.
  bool has_padding_rows = false;
};

// Parts have ceil(size / parts) indices, except for the last ones. Returns nothing if the part has none.
std::optional<FactorPart> PartOf(const FactorRule& rule, int64_t factor, int64_t parts, int64_t part);

// The elements that a part reads, and its window over these elements alone.
struct LocalWindow {
  IndexRange rows;
  WindowDim window;  // Its padding is not negative.
};
LocalWindow LocalWindowOf(const WindowDim& window, int64_t elements, IndexRange positions);
// Includes rows outside of the operand, whose numbers are negative or too large.
LocalWindow UnclampedWindowOf(const WindowDim& window, IndexRange positions);

// Rows along a dimension. Rows of several windows are concatenated.
struct OperandRows {
  int64_t operand = 0, dim = 0;
  IndexRange rows;
};

struct LocalOp {
  Shape shape;
  Attributes attributes;
  std::vector<OperandRows> rows;  // Rows for each window of the factor.
  // The caller adds `offset` to leaf `offset_leaf` of the result: an iota and the indices of a topk count from the
  // part's start on.
  int64_t offset = 0, offset_leaf = 0;
  // Result rows that belong to the part. Empty: all.
  std::optional<IndexRange> kept;
};

// The rule must be FactorsOf(inst), and the factor not whole. A scan whose step becomes smaller gets a new computation
// in its module.
LocalOp LocalOpOf(const Instruction& inst, const FactorRule& rule, const FactorPart& part);
// Cuts several different factors. The op must not be a constant.
LocalOp LocalOpOf(const Instruction& inst, const FactorRule& rule, std::span<const FactorPart> parts);

// Requires arrays without windows, or tuples of such arrays.
Shape LocalShape(const Shape& whole, const std::vector<LeafFactors>& leaves, const FactorRule& rule,
                 const FactorPart& part);

}  // namespace hlo

#endif  // HLO_IR_FACTORS_LOCAL_OP_H_
