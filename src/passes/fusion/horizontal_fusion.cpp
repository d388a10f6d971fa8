// gpu_horizontal_loop_fusion, gpu_horizontal_input_fusion: join kernels too small to fill a device. Only one common
// user and the root may read these kernels, so that they do not depend on each other.
//
//   loop   kernels without reductions, with results of one type and equally much code, of any dimensions, at most 32
//   input  reductions that iterate over the same elements (walk.h)
#include <algorithm>
#include <optional>
#include <unordered_set>

#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/fusion/graph.h"
#include "passes/fusion/walk.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// XLA's thresholds. A larger kernel fills the device.
constexpr int64_t kMostElements = 128 * 2048;
constexpr int64_t kMostInstructions = 30;
constexpr int64_t kMostKernels = 32;
constexpr int64_t kMostParameterBytes = 4000;  // Bytes of pointers that a launch can pass.
constexpr int64_t kMostReductions = 8;         // Each reduction needs shared memory.

bool IsRowMajor(const Shape& shape) {
  if (!shape.IsTuple()) return shape.HasDefaultLayout();
  return std::ranges::all_of(shape.elements(), IsRowMajor);
}

const Shape& FirstShape(const Instruction& fusion) {
  return fusion.shape().IsTuple() ? fusion.shape().elements().front() : fusion.shape();
}

class HorizontalFusion {
 public:
  HorizontalFusion(Computation& computation, const PassContext& context, bool reductions)
      : options_(context.Get<FusionOptions>()),
        reductions_(reductions),
        graph_(computation, NeededOrder(computation), context) {}

  bool Run() {
    const std::vector<Instruction*>& order = graph_.order();
    for (size_t i = order.size(); i-- > 0;) {
      std::vector<GroupId> candidates = CandidatesOf(*order[i]);
      if (candidates.size() < 2) continue;
      if (reductions_) JoinReductions(*order[i], std::move(candidates));
      else JoinLoops(*order[i], std::move(candidates));
    }
    const FusionKind kind = reductions_ ? FusionKind::kInput : FusionKind::kLoop;
    return graph_.Outline([&](GroupId) { return FusionGraph::Shape{kind, "horizontal"}; });
  }

 private:
  const Instruction& Root(GroupId id) const { return *graph_.Members(id).front(); }

  std::vector<GroupId> CandidatesOf(const Instruction& consumer) {
    std::vector<Instruction*> found;
    std::unordered_set<const Instruction*> seen;
    for (Instruction* operand : consumer.operands()) {
      Instruction* producer = operand->Is(Opcode::kGetTupleElement) ? &operand->operand(0) : operand;
      if (!seen.insert(producer).second || !IsKernel(*producer) || !IsReadBy(*producer, consumer)) continue;
      const auto walk = WalkOf(*producer);
      if (walk && walk->reduces == reductions_ && IsSmall(*producer, *walk)) found.push_back(producer);
    }
    // Kernels that share a parameter are excluded, because their result could not reuse the parameter's memory.
    std::unordered_set<const Instruction*> once, shared;
    for (const Instruction* producer : found) {
      const std::unordered_set<const Instruction*> operands(producer->operands().begin(), producer->operands().end());
      for (const Instruction* operand : operands) {
        if (operand->Is(Opcode::kParameter) && !once.insert(operand).second) shared.insert(operand);
      }
    }
    std::vector<GroupId> candidates;
    for (Instruction* producer : found) {
      const auto is_shared = [&](const Instruction* operand) { return shared.contains(operand); };
      if (!reductions_ && std::ranges::any_of(producer->operands(), is_shared)) continue;
      if (graph_.GroupOf(*producer) != kNoGroup) continue;
      candidates.push_back(graph_.Open(*producer));
      walks_.push_back(*WalkOf(*producer));
    }
    return candidates;
  }

  bool IsReadBy(const Instruction& value, const Instruction& consumer) const {
    return std::ranges::all_of(value.users(), [&](const Instruction* user) {
      if (!graph_.IsNeeded(*user) || user == &consumer) return true;
      if (user->Is(Opcode::kGetTupleElement)) return !user->IsRoot() && IsReadBy(*user, consumer);
      return user->IsRoot() && user->Is(Opcode::kTuple);
    });
  }

  bool IsSmall(const Instruction& fusion, const Walk& walk) const {
    const auto is_row_major = [](const Instruction* operand) { return IsRowMajor(operand->shape()); };
    if (!IsRowMajor(fusion.shape()) || !std::ranges::all_of(fusion.operands(), is_row_major)) return false;
    if (reductions_) return true;  // JoinReductions has the limits.
    const std::vector<const Instruction*> roots = FusionRoots(fusion);
    const PrimitiveType type = roots.front()->shape().type();
    const auto of_one_type = [&](const Instruction* root) { return root->shape().type() == type; };
    return walk.instructions <= kMostInstructions && walk.iteration.NumElements() <= kMostElements &&
           std::ranges::all_of(roots, of_one_type);
  }

  int64_t Results(GroupId id) const { return Root(id).shape().LeafCount(); }

  bool IsAlike(GroupId a, GroupId b) const {
    return FirstShape(Root(a)).type() == FirstShape(Root(b)).type() && Results(a) == Results(b) &&
           walks_[a].instructions == walks_[b].instructions;
  }

  void JoinLoops(const Instruction& consumer, std::vector<GroupId> candidates) {
    std::ranges::stable_sort(candidates, [&](GroupId a, GroupId b) {
      const auto key = [&](GroupId id) {
        return std::tuple(FirstShape(Root(id)).type(), Results(id), walks_[id].instructions);
      };
      return key(a) < key(b);
    });
    for (size_t i = 0; i < candidates.size();) {
      const GroupId first = candidates[i];
      int64_t pointers = Root(first).operand_count() + Results(first), kernels = 1;
      for (++i; i < candidates.size() && kernels < kMostKernels; ++i, ++kernels) {
        const GroupId next = candidates[i];
        pointers += Root(next).operand_count() + Results(next);
        if (!IsAlike(first, next) || pointers * 8 >= kMostParameterBytes) break;
        graph_.Union(first, next, {FusionReason::kSideBySide, &consumer});
      }
    }
  }

  void JoinReductions(const Instruction& consumer, std::vector<GroupId> candidates) {
    std::ranges::stable_sort(candidates, [&](GroupId a, GroupId b) {
      const auto key = [&](GroupId id) {
        const Shape& shape = walks_[id].iteration;
        return std::tuple(shape.type(), std::vector<int64_t>(shape.dims().begin(), shape.dims().end()),
                          walks_[id].reduced, walks_[id].instructions);
      };
      return key(a) < key(b);
    });
    GroupId into = candidates.front();
    int64_t reductions = Results(into);
    for (size_t i = 1; i < candidates.size(); ++i) {
      const GroupId next = candidates[i];
      const int64_t more = Results(next);
      const int64_t instructions = walks_[into].instructions + walks_[next].instructions;
      const int64_t parameters = graph_.ReadCountOfUnion(into, next) + reductions + more;
      if (OtherWalk(walks_[into], walks_[next]) || reductions + more > kMostReductions ||
          instructions > options_.instructions || parameters > options_.parameters) {
        into = next;
        reductions = more;
        continue;
      }
      graph_.Union(into, next, {FusionReason::kSideBySide, &consumer});
      Join(walks_[next], &walks_[into]);
      reductions += more;
    }
  }

  const FusionOptions options_;
  const bool reductions_;
  FusionGraph graph_;
  std::vector<Walk> walks_;
};

Result<bool> FuseSideBySide(Module& module, const PassContext& context, bool reductions) {
  bool changed = false;
  // Repeats, because joined kernels may be alike although the originals were not.
  for (Computation* computation : SequentialComputations(module)) {
    while (HorizontalFusion(*computation, context, reductions).Run()) changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> FuseLoopsSideBySide(Module& module, const PassContext& context) {
  return FuseSideBySide(module, context, /*reductions=*/false);
}

Result<bool> FuseReductionsSideBySide(Module& module, const PassContext& context) {
  return FuseSideBySide(module, context, /*reductions=*/true);
}

}  // namespace hlo
