// Joins kernels that iterate over the same elements (walk.h) into one with several results.
//
//   producer and consumer   The consumer reads the producer's result at the index of the iteration. Saves a read.
//   siblings                Both read a value with the dimensions of the iteration. Saves a read.
//   small kernels           They have equal dimensions and small results. Saves a launch.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/fusion/graph.h"
#include "passes/fusion/walk.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// Largest result of kernels that are joined only to save a launch.
constexpr int64_t kSmallBytes = 1 << 20;
// Kernels that each kernel tries to join. More distant ones usually depend on it.
constexpr int kMostTries = 8;

// Whether every use in the fused computation is at the index of the iteration.
bool ReadsAtIteration(const Instruction& value) {
  std::unordered_set<const Instruction*> seen = {&value};
  std::vector<const Instruction*> worklist = {&value};
  while (!worklist.empty()) {
    const Instruction& read = *worklist.back();
    worklist.pop_back();
    for (const Instruction* user : read.users()) {
      if (user->Is(Opcode::kTuple)) continue;
      if (user->Is(Opcode::kReduce)) {
        if (&user->operand(0) != &read) return false;
        continue;
      }
      if (!user->Is(kElementwise) || !SameDims(user->shape(), read.shape())) return false;
      if (seen.insert(user).second) worklist.push_back(user);
    }
  }
  return true;
}

class MultiOutputFusion {
 public:
  MultiOutputFusion(Computation& computation, const PassContext& context)
      : options_(context.Get<FusionOptions>()), graph_(computation, NeededOrder(computation), context) {}

  bool Run() {
    FindKernels();
    if (walks_.size() < 2 && !graph_.logging()) return false;
    JoinConsumers();
    JoinSiblings();
    JoinSmall();
    return graph_.Outline([&](GroupId id) {
      return walks_[id].reduces ? FusionGraph::Shape{FusionKind::kInput, "input_multi"}
                                : FusionGraph::Shape{FusionKind::kLoop, "loop_multi"};
    });
  }

 private:
  using Veto = std::optional<FusionNote>;

  void FindKernels() {
    FusionNote why_not = {};
    for (Instruction* inst : graph_.order()) {
      if (!IsKernel(*inst)) continue;
      std::optional<Walk> walk = WalkOf(*inst, &why_not);
      if (!walk) {
        graph_.KeepFromAll(*inst, why_not);
        continue;
      }
      graph_.Open(*inst);
      walks_.push_back(*std::move(walk));
    }
  }

  bool IsGone(GroupId id) const { return graph_.Members(id).empty(); }

  bool TryJoin(GroupId a, GroupId b, const FusionNote& why, const Veto& veto) {
    if (veto) {
      graph_.KeepApart(a, b, *veto);
      return false;
    }
    graph_.Union(a, b, why);
    Join(walks_[b], &walks_[a]);
    return true;
  }

  Veto VetoOfLimits(GroupId a, GroupId b) const {
    const int64_t instructions = walks_[a].instructions + walks_[b].instructions;
    if (instructions > options_.instructions)
      return Limit(FusionReason::kInstructions, instructions, options_.instructions);
    int64_t parameters = graph_.ReadCountOfUnion(a, b);
    for (const GroupId id : {a, b}) {
      for (const Instruction* member : graph_.Members(id)) parameters += member->shape().LeafCount();
    }
    if (parameters > options_.parameters) return Limit(FusionReason::kParameters, parameters, options_.parameters);
    return {};
  }

  static FusionNote Limit(FusionReason reason, int64_t count, int64_t limit) {
    return {reason, nullptr, static_cast<double>(count), static_cast<double>(limit)};
  }

  // ---- Producer and consumer

  void JoinConsumers() {
    for (Instruction* consumer : graph_.order()) {
      if (graph_.GroupOf(*consumer) == kNoGroup) continue;
      for (int64_t i = 0; i < consumer->operand_count(); ++i) {
        const GroupId a = graph_.GroupOf(consumer->operand(i)), b = graph_.GroupOf(*consumer);
        if (a == kNoGroup || a == b) continue;
        TryJoin(a, b, {FusionReason::kReadsWhatIsMade}, VetoOfReading(a, b));
      }
    }
  }

  // `b` reads results of `a`.
  Veto VetoOfReading(GroupId a, GroupId b) {
    const Walk &producer = walks_[a], &kernel = walks_[b];
    // A reduce's result is known only after the iteration.
    if (producer.reduces && !kernel.reduces) return FusionNote{FusionReason::kNeedsAll};
    if (Veto veto = OtherWalk(walks_[a], walks_[b])) return veto;
    if (Veto veto = VetoOfLimits(a, b)) return veto;
    for (const Instruction* consumer : graph_.Members(b)) {
      for (int64_t i = 0; i < consumer->operand_count(); ++i) {
        const Instruction& value = consumer->operand(i);
        if (graph_.GroupOf(value) != a) continue;
        // The value must not be a reduction, and must be read at the index of the iteration.
        if (!SameDims(value.shape(), kernel.iteration) || !ReadsAtIteration(FusedComputation(*consumer).parameter(i)))
          return FusionNote{FusionReason::kReadsElsewhere, &value};
        if (producer.reduces && producer.iteration.NumElements() == value.shape().NumElements() &&
            IsReduced(RootOf(value)))
          return FusionNote{FusionReason::kNeedsAll};
      }
    }
    if (const Instruction* third = graph_.InstructionBetween(b, a)) return FusionNote{FusionReason::kWaits, third};
    return {};
  }

  static const Instruction& RootOf(const Instruction& value) {
    const bool element = value.Is(Opcode::kGetTupleElement);
    return *FusionRoots(element ? value.operand(0) : value)[element ? value.tuple_index() : 0];
  }

  // ---- Kernels side by side

  Veto VetoOfSiblings(GroupId a, GroupId b) {
    if (Veto veto = OtherWalk(walks_[a], walks_[b])) return veto;
    if (Veto veto = VetoOfLimits(a, b)) return veto;
    if (graph_.IsReachable(a, b)) return Waits(a, b);
    if (graph_.IsReachable(b, a)) return Waits(b, a);
    return {};
  }

  FusionNote Waits(GroupId group, GroupId before) {
    const Instruction* third = graph_.InstructionBetween(group, before);
    return {third != nullptr ? FusionReason::kWaits : FusionReason::kNeedsResult, third};
  }

  void JoinSiblings() {
    // The last value that lists the group as a reader.
    std::vector<const Instruction*> read(walks_.size());
    for (const Instruction* value : graph_.order()) {
      if (!value->shape().IsArray() || value->users().size() < 2) continue;
      std::vector<GroupId> readers;
      for (const Instruction* user : value->users()) {
        const GroupId reader = graph_.GroupOf(*user);
        if (reader == kNoGroup || !SameDims(walks_[reader].iteration, value->shape())) continue;
        if (std::exchange(read[reader], value) != value) readers.push_back(reader);
      }
      for (size_t i = 0; i < readers.size(); ++i) {
        const GroupId a = readers[i];
        int tries = IsGone(a) ? 0 : kMostTries;
        for (size_t k = i + 1; k < readers.size() && tries > 0; ++k) {
          if (IsGone(readers[k])) continue;
          if (!TryJoin(a, readers[k], {FusionReason::kReadsTheSame, value}, VetoOfSiblings(a, readers[k]))) --tries;
        }
      }
    }
  }

  void JoinSmall() {
    std::map<std::vector<int64_t>, std::vector<GroupId>> open;
    for (GroupId id = 0; id < static_cast<GroupId>(walks_.size()); ++id) {
      if (IsGone(id) || walks_[id].reduces) continue;
      if (graph_.Members(id).front()->shape().ByteSize() > kSmallBytes) continue;
      std::vector<GroupId>& same = open[walks_[id].iteration.dims()];
      bool joined = false;
      for (size_t i = same.size(), tries = 0; i-- > 0 && tries < kMostTries && !joined; ++tries) {
        if (IsGone(same[i]) || VetoOfSiblings(same[i], id)) continue;
        joined = TryJoin(same[i], id, {FusionReason::kSmall}, {});
      }
      if (!joined) same.push_back(id);
    }
  }

  const FusionOptions options_;
  FusionGraph graph_;
  std::vector<Walk> walks_;
};

}  // namespace

Result<bool> JoinKernels(Module& module, const PassContext& context) {
  bool changed = false;
  // A union may join kernels that its parts could not.
  for (Computation* computation : SequentialComputations(module)) {
    while (MultiOutputFusion(*computation, context).Run()) changed = true;
  }
  return changed;
}

}  // namespace hlo
