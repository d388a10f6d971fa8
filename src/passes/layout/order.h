// Ops with their dimensions in another order.
//
// The order of an array lists its dimensions from major to minor: {0,2,3,1} of an f32[N,C,H,W] has channels last. The
// space of an instruction is the order in which it walks, from which the orders of its arrays follow:
//
//   convolution         of batch, spatial dimensions and features, as dim_labels has them: {0,1,2,3} is channels-last
//   reduce              of its operand's dimensions
//   all others          of its result's
//
// Nothing here looks at layouts: an array in another order has other dimensions, and is row-major.
#ifndef HLO_PASSES_LAYOUT_ORDER_H_
#define HLO_PASSES_LAYOUT_ORDER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

using Order = std::vector<int64_t>;

bool IsAsItLies(const Order& order);
Order Inverse(const Order& order);
// `dimensions` of the transpose that leads from an array that lies in order `from` to one in order `to`.
Order TransposeBetween(const Order& from, const Order& to);
// Does that move elements? Dimensions of size 1 lie anywhere.
bool MovesElements(const Shape& shape, const Order& from, const Order& to);
// x in this order is transpose(x, view) in `order`.
Order BeforeView(const Order& view, const Order& order);
Order BehindView(const Order& view, const Order& order);
Shape InOrder(const Shape& shape, const Order& order);

// One whose dimensions can be put in another order as far as its opcode and attributes say.
bool HasSpace(const Instruction& inst);
// Would the same terms be combined in the same order, and the same element of equals be chosen?
bool MayWalk(const Instruction& inst, const Order& space);

// What follows from the order of a neighbour; nothing where that does not say enough.
std::optional<Order> SpaceOfResult(const Instruction& inst, const Order& order);
std::optional<Order> SpaceOfOperand(const Instruction& inst, int64_t operand, const Order& order);
// Of an operand or the result in a space; empty: as it is in any (a scalar, a kernel of a convolution).
Order OrderOfOperand(const Instruction& inst, int64_t operand, const Order& space);
Order OrderOfResult(const Instruction& inst, const Order& space);

// The arrays of a convolution that have a batch, spatial dimensions and features, each as the list of those
// dimensions: the base and the result; of the gradient of a kernel, which has the forward result as its kernel, both
// operands, whose batch is what is added up.
struct ImagesOf {
  explicit ImagesOf(const Instruction& convolution);
  std::optional<Order> operand[2], result;
};

// The instruction with all of its arrays in the orders that `space` asks for; so do `operands` lie already.
Instruction& InSpace(Instruction& inst, const Order& space, std::vector<Instruction*> operands);

}  // namespace hlo

#endif  // HLO_PASSES_LAYOUT_ORDER_H_
