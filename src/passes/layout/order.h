// Reorders the dimensions of instructions and their arrays.
//
// An order lists an array's dimensions from major to minor: {0,2,3,1} of an f32[N,C,H,W] has channels last. The space
// of an instruction is an order of the dimensions over which it iterates, and determines the orders of its arrays. Its
// dimensions are:
//
//   convolution         batch, spatial dimensions and features, as in dim_labels: {0,1,2,3} is channels-last
//   reduce              the dimensions of its operand
//   all others          the dimensions of the result
//
// Layouts play no role: an array in another order has permuted dimensions and is row-major.
#ifndef HLO_PASSES_LAYOUT_ORDER_H_
#define HLO_PASSES_LAYOUT_ORDER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

using Order = std::vector<int64_t>;

bool IsIdentityPermutation(const Order& order);
Order Inverse(const Order& order);
Order TransposeBetween(const Order& from, const Order& to);
// Whether a transpose between the orders moves elements in memory. Dimensions of size 1 do not count.
bool MovesElements(const Shape& shape, const Order& from, const Order& to);
// BeforeView: the order of x if transpose(x, view) has `order`. BehindView: the reverse.
Order BeforeView(const Order& view, const Order& order);
Order BehindView(const Order& view, const Order& order);
Shape InOrder(const Shape& shape, const Order& order);

bool HasSpace(const Instruction& inst);
// Whether iteration in this space combines terms in the same order, and selects the same one of equal elements, as the
// instruction itself.
bool MayWalk(const Instruction& inst, const Order& space);

// The space that an order of the result or operand implies, or nullopt.
std::optional<Order> SpaceOfResult(const Instruction& inst, const Order& order);
std::optional<Order> SpaceOfOperand(const Instruction& inst, int64_t operand, const Order& order);
// The operand's or result's order in `space`. Empty if it is independent of the space (a scalar, a convolution's
// filter).
Order OrderOfOperand(const Instruction& inst, int64_t operand, const Order& space);
Order OrderOfResult(const Instruction& inst, const Order& space);

// The arrays of a convolution with batch, spatial dimensions and features, as lists of these dimensions: input and
// result, or for a filter's gradient, which contracts the batch, both operands.
struct ImagesOf {
  explicit ImagesOf(const Instruction& convolution);
  std::optional<Order> operand[2], result;
};

// Copies `inst` in `space`. The operands already have their orders.
Instruction& InSpace(Instruction& inst, const Order& space, std::vector<Instruction*> operands);

}  // namespace hlo

#endif  // HLO_PASSES_LAYOUT_ORDER_H_
