// all-gather-, all-reduce- and reduce-scatter-combiner: merge independent collectives with equal groups into one
// message.
#include <algorithm>
#include <deque>

#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/collectives/groups.h"
#include "passes/fusion/wait_graph.h"
#include "passes/pass.h"

namespace hlo {
namespace {

struct Batch {
  std::vector<Instruction*> members;
  int64_t bytes = 0;
};

// Number of newest matching batches that each collective tries.
constexpr size_t kMostOpen = 4;

bool MayShareOne(const Instruction& a, const Instruction& b) {
  return a.shape().type() == b.shape().type() && SameExchange(a, b);
}

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
      if (!MayShareOne(first, inst)) continue;
      ++asked;
      if (batch->bytes + bytes > options_.max_bytes || std::ssize(batch->members) >= options_.max_operands) continue;
      if (waits.IsReachable(inst, first) || waits.IsReachable(first, inst)) continue;
      waits.Join(first, inst);
      batch->members.push_back(&inst);
      batch->bytes += bytes;
      return;
    }
    batches_.push_back({{&inst}, bytes});
  }

  Computation& computation_;
  const Opcode opcode_;
  const CombiningOptions options_;
  const std::vector<Instruction*> order_;
  const std::vector<bool> bound_;
  std::deque<Batch> batches_;
};

void Combine(const Batch& batch) {
  Instruction& first = *batch.members.front();
  Computation& computation = first.computation();
  std::vector<Instruction*> operands;
  std::vector<Shape> shapes;
  for (const Instruction* inst : batch.members) {
    operands.push_back(&inst->operand(0));
    shapes.push_back(inst->shape());
  }
  Instruction& one =
      computation.AddLike(first, first.opcode(), Shape::Tuple(std::move(shapes)), operands, first.attributes());
  for (size_t i = 0; i < batch.members.size(); ++i) {
    Instruction& inst = *batch.members[i];
    Instruction& element = computation.AddGetTupleElement(one, static_cast<int64_t>(i));
    element.SetRange(inst.range());
    inst.ReplaceAllUses(element);
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
Result<bool> CombineReduceScatters(Module& module, const PassContext& context) {
  return CombineEach(module, context, Opcode::kReduceScatter);
}

}  // namespace hlo
