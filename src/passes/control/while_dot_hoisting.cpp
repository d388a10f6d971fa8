// If each trip multiplies a slice of an array by invariant weights, one product in front of the loop multiplies the
// whole array:
//
//   dot(reshape(dynamic-slice(xs, i, 0, 0)), w) => reshape(dynamic-slice(dot(xs, w), i, 0, 0))
//
// Each step of an LSTM or GRU over few rows reads all weights, whereas one product reads them once. Conditions: there
// are at least as many trips as slices, each trip's product has few rows (loop_dots.h), and the whole product has at
// most kMostLoopDotBytes.
#include <algorithm>

#include "ir/analysis/trip_count.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/control/loop.h"
#include "passes/control/loop_dots.h"
#include "passes/pass.h"

namespace hlo {
namespace {

struct Product {
  Instruction* dot;
  int64_t side;  // Operand number of the slice.
  LoopSlice slice;
  int64_t weights;  // Number of the state element.
};

std::optional<Product> ReadProduct(Instruction& inst, const Loop& loop) {
  if (!inst.Is(Opcode::kDot) || inst.operand_count() != 2 || inst.IsDead() || !inst.shape().HasDefaultLayout())
    return std::nullopt;
  const auto& attrs = inst.attrs<DotAttrs>();
  if (!attrs.lhs_batch.empty() || !inst.control_predecessors().empty()) return std::nullopt;
  for (const int64_t side : {0, 1}) {
    const Instruction& weights = inst.operand(1 - side);
    const auto slice = ReadLoopSlice(loop, inst.operand(side));
    if (!slice || !IsGiven(loop, weights)) continue;
    const auto& contracting = side == 0 ? attrs.lhs_contracting : attrs.rhs_contracting;
    if (slice->keeps && std::ranges::count(contracting, slice->dimension) > 0) continue;
    return Product{&inst, side, *slice, *loop.ElementInBody(weights)};
  }
  return std::nullopt;
}

class Hoisting {
 public:
  Hoisting(Loop& loop, const Product& product) : loop_(loop), product_(product), dot_(*product.dot) {
    const auto& attrs = dot_.attrs<DotAttrs>();
    attrs_ = attrs;
    auto& contracting = product.side == 0 ? attrs_.lhs_contracting : attrs_.rhs_contracting;
    for (int64_t& d : contracting) d = product.slice.DimensionOf(d);
    // Free dimensions of the left operand come first in the result.
    const auto is_before = [&](int64_t d) { return d < product.slice.dimension; };
    at_ = product.slice.dimension - std::ranges::count_if(contracting, is_before);
    if (product.side == 1) at_ += dot_.operand(0).shape().rank() - std::ssize(contracting);
    std::vector<int64_t> dims = dot_.shape().dims();
    const int64_t places = product.slice.whole().shape().dim(product.slice.dimension);
    if (product.slice.keeps) dims[at_] = places;
    else dims.insert(dims.begin() + at_, places);
    shape_ = Shape(dot_.shape().type(), dims);
  }

  bool IsWorthIt(int64_t trips, const DeviceDescription& device) const {
    const Shape& weights = loop_.init->operand(product_.weights).shape();
    return trips > 1 && trips >= shape_.dim(at_) && shape_.ByteSize() <= kMostLoopDotBytes &&
           IsLoopDotOfFewRows(product_.slice.slice->shape(), weights, dot_.shape(), weights, device);
  }

  void Run() {
    Instruction* operands[2];
    operands[product_.side] = &loop_.init->operand(product_.slice.element);
    operands[1 - product_.side] = &loop_.init->operand(product_.weights);
    Instruction& all =
        loop_.loop->computation().AddLike(dot_, Opcode::kDot, shape_, {operands[0], operands[1]}, attrs_);
    all.SetOrigin(-1);  // No single trip computes this product.
    Instruction& inside = AddInvariantElement(loop_, all);
    Computation& body = *loop_.body;
    Instruction& place = product_.slice.place();
    Instruction& zero = body.AddConstant(Literal(place.shape()));
    std::vector<Instruction*> starts(1 + shape_.rank(), &zero);
    starts[0] = &inside;
    starts[1 + at_] = &place;
    std::vector<int64_t> sizes = shape_.dims();
    sizes[at_] = 1;
    Instruction* part = &body.AddLike(dot_, Opcode::kDynamicSlice, Shape(shape_.type(), sizes), starts,
                                      DynamicSliceAttrs{.sizes = sizes});
    if (!product_.slice.keeps) part = &body.AddLike(dot_, Opcode::kReshape, dot_.shape(), {part});
    dot_.ReplaceAllUses(*part);
    body.RemoveDeadTree(dot_);
  }

 private:
  Loop& loop_;
  const Product& product_;
  Instruction& dot_;
  DotAttrs attrs_;
  int64_t at_;   // Dimension of `shape_` that counts slices.
  Shape shape_;  // Shape of the product of all trips.
};

bool Hoist(Loop& loop, const PassContext& context) {
  const auto trips = DerivedTripCount(*loop.loop);
  if (!trips) return false;
  bool changed = false;
  for (Instruction* inst : loop.body->PostOrder()) {
    const auto product = ReadProduct(*inst, loop);
    if (!product) continue;
    Hoisting hoisting(loop, *product);
    if (!hoisting.IsWorthIt(*trips, *context.device) || !context.ConsumeFuel()) continue;
    hoisting.Run();
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> HoistLoopDots(Module& module, const PassContext& context) {
  return ForEachOwnLoop(module, context, Hoist);
}

}  // namespace hlo
