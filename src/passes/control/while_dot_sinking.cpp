// If a loop sums products, one product after the loop replaces them:
//
//   s = s + dot(reshape(dynamic-slice(xs, i, 0, 0)), y)
//     => ys = dynamic-update-slice(ys, y, i, 0, 0), and after the loop s + dot(xs, ys), which also contracts the trips
//
// i must take each index once. Gradients of an LSTM's weights are such sums: each trip reads and writes the whole
// gradient, one product writes it once. Conditions: each trip's product has few rows (loop_dots.h), and ys has at most
// kMostLoopDotBytes.
#include <algorithm>
#include <map>

#include "ir/analysis/trip_count.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/control/loop.h"
#include "passes/control/loop_dots.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// The state element `sum`, to which each trip adds a product, possibly transposed (`added`).
struct Sum {
  int64_t sum;
  Instruction *added, *dot;
  int64_t side;  // The slice's operand number. The state collects the other operand.
  LoopSlice slice;

  Instruction& kept() const { return dot->operand(1 - side); }
};

std::vector<const Instruction*> ReadersOf(const Loop& loop, int64_t i) {
  std::vector<const Instruction*> readers;
  for (const auto* elements : {&loop.in_body, &loop.in_condition}) {
    for (const Instruction* element : *elements) {
      if (element->tuple_index() == i) readers.insert(readers.end(), element->users().begin(), element->users().end());
    }
  }
  return readers;
}

std::optional<Sum> ReadSum(Loop& loop, int64_t i, int64_t trips) {
  Instruction& next = loop.Next(i);
  const PrimitiveType type = next.shape().IsArray() ? next.shape().type() : PrimitiveType::kPred;
  // In a narrower type, the dot would sum in a wider type than the loop.
  if ((type != PrimitiveType::kF32 && type != PrimitiveType::kF64) || !next.Is(Opcode::kAdd) || next.UseCount() != 1)
    return std::nullopt;
  const std::vector<const Instruction*> readers = ReadersOf(loop, i);
  if (readers.size() != 1 || readers[0] != &next) return std::nullopt;
  const int64_t own = loop.ElementInBody(next.operand(0)) == i ? 0 : 1;
  Instruction& added = next.operand(1 - own);
  Instruction& dot = added.Is(Opcode::kTranspose) ? added.operand(0) : added;
  if (!dot.Is(Opcode::kDot) || dot.operand_count() != 2 || dot.shape().type() != type) return std::nullopt;
  if (added.UseCount() != 1 || dot.UseCount() != 1 || !dot.attrs<DotAttrs>().lhs_batch.empty()) return std::nullopt;
  for (const int64_t side : {0, 1}) {
    const auto slice = ReadLoopSlice(loop, dot.operand(side));
    const Shape& kept = dot.operand(1 - side).shape();
    if (!slice || slice->keeps || slice->whole().shape().dim(slice->dimension) != trips) continue;
    if (kept.HasDynamicDims() || !TakesEachOnce(loop, slice->place(), trips)) continue;
    return Sum{i, &added, &dot, side, *slice};
  }
  return std::nullopt;
}

class Sinking {
 public:
  Sinking(Loop& loop, int64_t trips) : loop_(loop), trips_(trips) {}

  bool IsWorthIt(const Sum& sum, const DeviceDescription& device) const {
    const Shape &kept = sum.kept().shape(), &product = sum.dot->shape();
    return kept.ByteSize() <= kMostLoopDotBytes / trips_ &&
           IsLoopDotOfFewRows(sum.slice.slice->shape(), kept, product, product, device);
  }

  void Run(const Sum& sum) {
    const std::vector<Instruction*> outside = loop_.outside;
    const Instruction& next = loop_.Next(sum.sum);
    Computation& caller = loop_.loop->computation();
    Instruction* operands[2];
    operands[sum.side] = &loop_.init->operand(sum.slice.element);
    operands[1 - sum.side] = &caller.AddGetTupleElement(*loop_.loop, Kept(sum.kept(), sum.slice.place()));
    auto attrs = sum.dot->attrs<DotAttrs>();
    auto& of_slice = sum.side == 0 ? attrs.lhs_contracting : attrs.rhs_contracting;
    auto& of_kept = sum.side == 0 ? attrs.rhs_contracting : attrs.lhs_contracting;
    for (int64_t& d : of_slice) d = sum.slice.DimensionOf(d);
    for (int64_t& d : of_kept) d += 1;
    of_slice.insert(of_slice.begin(), sum.slice.dimension);
    of_kept.insert(of_kept.begin(), 0);
    Instruction* all = &caller.AddLike(*sum.dot, Opcode::kDot, sum.dot->shape(), {operands[0], operands[1]}, attrs);
    all->SetOrigin(-1);  // No single trip computes this product.
    if (sum.added != sum.dot) {
      all = &caller.AddLike(*sum.added, Opcode::kTranspose, sum.added->shape(), {all},
                            sum.added->attrs<DimensionsAttrs>());
      all->SetOrigin(-1);
    }
    for (Instruction* element : outside) {
      if (element->tuple_index() != sum.sum || element->IsDead()) continue;
      Instruction& total = caller.AddLike(*element, Opcode::kAdd, next.shape(), {&loop_.init->operand(sum.sum), all});
      element->ReplaceAllUses(total);
    }
    Instruction& root = loop_.body->root();
    Instruction& same = loop_.body->AddGetTupleElement(loop_.body->parameter(0), sum.sum);
    same.SetOrigin(-1);
    Instruction& add = loop_.Next(sum.sum);
    root.SetOperand(sum.sum, same);
    loop_.body->RemoveDeadTree(add);
  }

 private:
  // The number of the state element that collects each trip's `value` at index `place`.
  int64_t Kept(Instruction& value, Instruction& place) {
    const auto known = kept_.find({&value, &place});
    if (known != kept_.end()) return known->second;
    std::vector<int64_t> dims = value.shape().dims();
    dims.insert(dims.begin(), trips_);
    const Shape shape(value.shape().type(), dims);
    Computation &caller = loop_.loop->computation(), &body = *loop_.body;
    Instruction& zero = caller.AddConstant(Literal(Shape::Scalar(shape.type())));
    Instruction& inside = AddInvariantElement(loop_, caller.Add(Opcode::kBroadcast, shape, {&zero}, DimensionsAttrs{}));
    dims[0] = 1;
    Instruction& row = body.AddLike(value, Opcode::kReshape, Shape(shape.type(), dims), {&value});
    std::vector<Instruction*> operands(2 + shape.rank(), &body.AddConstant(Literal(place.shape())));
    operands[0] = &inside;
    operands[1] = &row;
    operands[2] = &place;
    Instruction& next = body.AddLike(value, Opcode::kDynamicUpdateSlice, shape, operands);
    for (Instruction* made : {&row, &next}) made->SetOrigin(-1);
    const int64_t element = loop_.Size() - 1;
    body.root().SetOperand(element, next);
    kept_[{&value, &place}] = element;
    return element;
  }

  Loop& loop_;
  int64_t trips_;
  std::map<std::pair<const Instruction*, const Instruction*>, int64_t> kept_;
};

bool Sink(Loop& loop, const PassContext& context) {
  const auto trips = DerivedTripCount(*loop.loop);
  if (!trips || *trips < 2) return false;
  Sinking sinking(loop, *trips);
  bool changed = false;
  for (int64_t i = 0, size = loop.Size(); i < size; ++i) {
    const auto sum = ReadSum(loop, i, *trips);
    if (!sum || !sinking.IsWorthIt(*sum, *context.device) || !context.ConsumeFuel()) continue;
    sinking.Run(*sum);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> SinkLoopDots(Module& module, const PassContext& context) { return ForEachOwnLoop(module, context, Sink); }

}  // namespace hlo
