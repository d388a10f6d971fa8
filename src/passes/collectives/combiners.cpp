// all-gather-, all-reduce-, reduce-scatter- and collective-permute-combiner: merge independent collectives with equal
// groups into one message.
#include <algorithm>
#include <deque>
#include <numeric>

#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/collective_groups.h"
#include "passes/expanders/windows.h"
#include "passes/fusion/wait_graph.h"
#include "passes/layout/order.h"
#include "passes/pass.h"

namespace hlo {
namespace {

struct Batch {
  std::vector<Instruction*> members;
  int64_t bytes = 0;
  bool may_mix = true;    // Whether each member can be combined along dimension 0.
  bool is_mixed = false;  // Whether the members gather or scatter along different dimensions.
};

// Largest operand or result, in bytes, that is transposed to combine its collective. A GPU transposes 1 MiB in about 1
// us, and begins a collective in about 20 us.
constexpr int64_t kMostTransposedBytes = 1 << 20;

// Whether the collective can be combined along dimension 0, if necessary after a transpose.
bool MayMix(const Instruction& inst) {
  const auto* attrs = inst.attributes().GetIf<CollectiveAttrs>();
  if (attrs == nullptr || !attrs->dimension) return false;
  if (attrs->dimension->value == 0) return true;
  const Shape &from = inst.operand(0).shape(), &to = inst.shape();
  return from.HasDefaultLayout() && to.HasDefaultLayout() &&
         std::max(from.ByteSize(), to.ByteSize()) <= kMostTransposedBytes;
}

// Each collective tries to join only this many of the newest batches.
constexpr size_t kMostOpen = 4;

class Combiner {
 public:
  Combiner(Computation& computation, Opcode opcode, const CombiningOptions& options)
      : computation_(computation),
        opcode_(opcode),
        options_(options),
        order_(computation.PostOrder()),
        bound_(WithControlEdges(computation)) {}

  std::vector<Batch> Find() {
    std::vector<Instruction*> candidates;
    for (Instruction* inst : order_) {
      if (IsCollectiveOfArray(*inst, opcode_) && !bound_[inst->place()]) candidates.push_back(inst);
    }
    if (candidates.size() < 2) return {};
    WaitGraph waits(order_);
    for (Instruction* inst : candidates) Place(*inst, waits);
    std::erase_if(batches_, [](const Batch& batch) { return batch.members.size() < 2; });
    return {batches_.begin(), batches_.end()};
  }

 private:
  void Place(Instruction& inst, WaitGraph& waits) {
    const int64_t bytes = inst.shape().ByteSize();
    size_t asked = 0;
    for (auto batch = batches_.rbegin(); batch != batches_.rend() && asked < kMostOpen; ++batch) {
      Instruction& first = *batch->members.front();
      if (!MayJoin(*batch, inst)) continue;
      ++asked;
      if (batch->bytes + bytes > options_.max_bytes || std::ssize(batch->members) >= options_.max_operands) continue;
      if (waits.IsReachable(inst, first) || waits.IsReachable(first, inst)) continue;
      waits.Join(first, inst);
      batch->members.push_back(&inst);
      batch->bytes += bytes;
      batch->may_mix &= MayMix(inst);
      batch->is_mixed |= !SameExchange(first, inst);
      return;
    }
    batches_.push_back({{&inst}, bytes, MayMix(inst)});
  }

  bool MayJoin(const Batch& batch, const Instruction& inst) const {
    const Instruction& first = *batch.members.front();
    if (first.shape().type() != inst.shape().type()) return false;
    if (!batch.is_mixed && SameExchange(first, inst)) return true;
    return !options_.combine_by_dim && batch.may_mix && MayMix(inst) &&
           SameExchange(first, inst, /*any_dimension=*/true);
  }

  Computation& computation_;
  const Opcode opcode_;
  const CombiningOptions options_;
  const std::vector<Instruction*> order_;
  const std::vector<bool> bound_;
  std::deque<Batch> batches_;
};

// The order of a member's dimensions in the combined collective. A mixed batch is combined along dimension 0.
Order OrderIn(const Batch& batch, const Instruction& inst) {
  Order order(inst.shape().rank());
  std::iota(order.begin(), order.end(), 0);
  if (!batch.is_mixed) return order;
  const auto dimension = order.begin() + inst.attrs<CollectiveAttrs>().dimension->value;
  std::rotate(order.begin(), dimension, dimension + 1);
  return order;
}

void Combine(const Batch& batch) {
  Instruction& first = *batch.members.front();
  Computation& computation = first.computation();
  std::vector<Instruction*> operands;
  std::vector<Shape> shapes;
  for (const Instruction* inst : batch.members) {
    const Order order = OrderIn(batch, *inst);
    operands.push_back(Transposed(*inst, &inst->operand(0), order));
    Shape shape = inst->shape();
    for (int64_t d = 0; d < shape.rank(); ++d) shape.SetDim(d, inst->shape().dim(order[d]));
    shapes.push_back(std::move(shape));
  }
  Attributes attrs = first.attributes();
  if (batch.is_mixed) attrs.Get<CollectiveAttrs>().dimension = OneDimension{0};
  Instruction& one = computation.AddLike(first, first.opcode(), Shape::Tuple(std::move(shapes)), operands, attrs);
  for (size_t i = 0; i < batch.members.size(); ++i) {
    Instruction& inst = *batch.members[i];
    Instruction& element = computation.AddGetTupleElement(one, static_cast<int64_t>(i));
    element.SetRange(inst.range());
    inst.ReplaceAllUses(*Transposed(inst, &element, Inverse(OrderIn(batch, inst))));
    computation.Remove(inst);
  }
}

Result<bool> CombineEach(Module& module, const PassContext& context, Opcode opcode) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) {
    for (const Batch& batch : Combiner(*computation, opcode, context.Get<CombiningOptions>()).Find()) {
      if (!context.ConsumeFuel()) continue;
      Combine(batch);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

Result<bool> CombineAllGathers(Module& module, const PassContext& context) {
  return CombineEach(module, context, Opcode::kAllGather);
}
Result<bool> CombineAllReduces(Module& module, const PassContext& context) {
  return CombineEach(module, context, Opcode::kAllReduce);
}
Result<bool> CombinePermutes(Module& module, const PassContext& context) {
  return CombineEach(module, context, Opcode::kCollectivePermute);
}
Result<bool> CombineReduceScatters(Module& module, const PassContext& context) {
  return CombineEach(module, context, Opcode::kReduceScatter);
}

}  // namespace hlo
