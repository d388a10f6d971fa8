// Merges a kernel into all of its users or none, because a single remaining user would still need the launch and the
// stored result.
//
// XLA of January 2022 limits repeated work (costly functions, elements read several times), memory traffic, and code
// size. In addition, the device description must not predict a longer time.
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/fusion/body_reads.h"
#include "passes/fusion/graph.h"
#include "passes/fusion/walk.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// XLA's thresholds.
constexpr double kMostTraffic = 1.1;  // Bytes after merging / bytes before.
// Several users may repeat costly functions if merging reduces traffic of at least kLeastTraffic bytes below this
// ratio.
constexpr double kWorthCostly = 0.3, kLeastTraffic = 1024;
constexpr int64_t kMostCopies = 15;        // Most copies of a producer in one kernel's code.
constexpr double kCostlyInstruction = 10;  // In additions, as in the pass fusion.

class FusionMerger {
 public:
  FusionMerger(Computation& computation, const PassContext& context)
      : options_(context.Get<FusionOptions>()),
        device_(*context.device),
        graph_(computation, NeededOrder(computation), context) {}

  bool Run() {
    for (Instruction* inst : graph_.order()) {
      if (!IsKernel(*inst) || !MayTakePart(*inst)) continue;
      graph_.Open(*inst);
      kernels_.push_back(KernelOf(*inst));
    }
    for (Instruction* inst : graph_.order()) {
      const GroupId id = graph_.GroupOf(*inst);
      if (id == kNoGroup || !IsFusion(*inst) || !kernels_[id].may_merge) continue;
      if (const auto veto = Merge(*inst, id)) graph_.KeepAlone(id, *veto);
    }
    return graph_.Outline([&](GroupId id) { return kernels_[id].shape; });
  }

 private:
  struct Kernel {
    bool may_merge = false;  // The kernel may be merged into its users.
    bool alone = false;      // No kernel may be merged into it.
    bool costly = false;
    int64_t instructions = 0;
    int64_t copies = 1;  // The largest number of copies of one merged kernel in this kernel's code.
    FusionGraph::Shape shape;
  };
  // A kernel that reads the producer. It has not been merged itself, because producers come first.
  struct User {
    const Instruction* fusion;
    GroupId id;
    BodyRead read;
    double times;
  };

  // Merged kernels are outlined anew, without control predecessors and aliases, and with arrays as results.
  static bool MayTakePart(const Instruction& fusion) {
    const auto is_array = [](const Instruction* root) { return root->shape().IsArray(); };
    const std::vector<const Instruction*> roots = FusionRoots(fusion);
    return fusion.control_predecessors().empty() && fusion.attrs<FusionAttrs>().aliases.empty() &&
           IsUsedByElements(fusion) && !roots.empty() && std::ranges::all_of(roots, is_array);
  }

  static Kernel KernelOf(const Instruction& fusion) {
    const Computation& body = FusedComputation(fusion);
    Kernel kernel{.instructions = body.InstructionCount()};
    bool reduces = false;
    for (const Instruction* inst : body.instructions()) {
      kernel.alone |= inst->Is(kStandsAlone);
      kernel.costly |= InstructionCost(*inst) >= kCostlyInstruction;
      reduces |= inst->Is(Opcode::kReduce);
    }
    const FusionKind kind = fusion.attrs<FusionAttrs>().kind;
    const bool in_place = !fusion.shape().IsTuple() && CanUpdateInPlace(fusion, 0).has_value();
    kernel.may_merge = kind == FusionKind::kLoop && fusion.shape().IsArray() && !fusion.IsRoot() && !kernel.alone &&
                       !reduces && !in_place;
    std::string root(ToString(body.root().opcode()));
    std::ranges::replace(root, '-', '_');
    if (kind == FusionKind::kInput) root = body.root().Is(Opcode::kTuple) ? "multi" : "reduce";
    if (body.root().Is(Opcode::kTuple)) root = "multi";
    kernel.shape = {kind, Str(kind == FusionKind::kInput ? "input_" : "loop_", root)};
    return kernel;
  }

  // The reason why the kernel stays.
  std::optional<FusionNote> Merge(const Instruction& fusion, GroupId id) {
    std::vector<User> users;
    for (const Instruction* inst : fusion.users()) {
      if (!graph_.IsNeeded(*inst)) continue;
      const GroupId group = IsFusion(*inst) ? graph_.GroupOf(*inst) : kNoGroup;
      const bool is_result = inst->IsRoot() && inst->Is(Opcode::kTuple);
      if (group == kNoGroup) return FusionNote{is_result ? FusionReason::kResult : FusionReason::kReadOutside, inst};
      users.push_back({inst, group, {}, 0});
      if (const auto veto = VetoOfUser(fusion, id, &users.back())) return veto;
    }
    if (const auto veto = VetoOfCost(id, users)) return veto;
    for (const User& user : users) {
      Kernel& kernel = kernels_[user.id];
      kernel.instructions += kernels_[id].instructions;
      kernel.costly |= kernels_[id].costly;
      kernel.copies = std::max(kernel.copies, user.read.copies * kernels_[id].copies);
      graph_.CopyGroup(id, user.id, user.times,
                       users.size() == 1 ? FusionReason::kOneKernel : FusionReason::kRecomputed);
    }
    graph_.Dissolve(id);
    return std::nullopt;
  }

  std::optional<FusionNote> VetoOfUser(const Instruction& fusion, GroupId id, User* user) const {
    const Kernel& kernel = kernels_[user->id];
    if (kernel.alone) return FusionNote{FusionReason::kUserByItself, user->fusion};
    if (UpdatesWhatIsRead(*user->fusion, fusion)) return FusionNote{FusionReason::kReadsUpdated, user->fusion};
    const int64_t instructions = kernel.instructions + kernels_[id].instructions;
    if (instructions > options_.instructions)
      return Counts(FusionReason::kInstructions, user->fusion, instructions, options_.instructions);
    const int64_t reads = graph_.ReadCountOfUnion(user->id, id) - 1;  // Without the producer's value.
    const int64_t parameters = reads + user->fusion->shape().LeafCount();
    if (reads > graph_.ReadCount(user->id) && parameters > options_.parameters)
      return Counts(FusionReason::kParameters, user->fusion, parameters, options_.parameters);
    const std::vector<BodyRead> reads_of = BodyReads(*user->fusion);
    for (int64_t i = 0; i < user->fusion->operand_count(); ++i) {
      if (&user->fusion->operand(i) != &fusion) continue;
      user->read.evaluations += reads_of[i].evaluations;
      user->read.copies += reads_of[i].copies;
    }
    user->times = user->read.evaluations / static_cast<double>(std::max<int64_t>(1, fusion.shape().NumElements()));
    const int64_t copies = user->read.copies * kernels_[id].copies;
    if (copies > kMostCopies) return Counts(FusionReason::kCopies, user->fusion, copies, kMostCopies);
    return std::nullopt;
  }

  // The merged kernel must not read an array that it updates in place.
  static bool UpdatesWhatIsRead(const Instruction& user, const Instruction& producer) {
    const int64_t roots = std::ssize(FusionRoots(user));
    for (int64_t root = 0; root < roots; ++root) {
      const auto updated = CanUpdateInPlace(user, root);
      if (!updated) continue;
      const Instruction& array = user.operand(*updated);
      if (&array == &producer || std::ranges::find(producer.operands(), &array) != producer.operands().end())
        return true;
    }
    return false;
  }

  std::optional<FusionNote> VetoOfCost(GroupId id, const std::vector<User>& users) const {
    const auto count = static_cast<double>(users.size());
    const GroupCost before = graph_.CostOf(id);
    double seconds_before = before.Seconds(device_), seconds_after = 0;
    // The producer's traffic, and the reads of its users.
    const double traffic = before.bytes() + count * before.bytes_written;
    bool again = false;
    double more = -before.bytes();
    for (const User& user : users) {
      const GroupCost cost = graph_.CostOf(user.id), merged = graph_.CostWithCopy(id, user.id, user.times);
      more += merged.bytes() - cost.bytes();
      seconds_before += cost.Seconds(device_);
      seconds_after += merged.Seconds(device_);
      again |= user.times > 1;
    }
    const double ratio = traffic > 0 ? (traffic + more) / traffic : 1;
    const bool worth_costly = !again && (users.size() == 1 || (ratio < kWorthCostly && traffic > kLeastTraffic));
    if (kernels_[id].costly && !worth_costly) {
      if (users.size() == 1) return FusionNote{FusionReason::kAgainInOne, nullptr, seconds_after, seconds_before};
      return FusionNote{FusionReason::kCostlyAgain, nullptr, count, kCostlyInstruction};
    }
    if (ratio > kMostTraffic) return FusionNote{FusionReason::kMoreTraffic, nullptr, count, more};
    if (seconds_after > seconds_before) return FusionNote{FusionReason::kAgain, nullptr, seconds_after, seconds_before};
    return std::nullopt;
  }

  static FusionNote Counts(FusionReason reason, const Instruction* about, int64_t count, int64_t limit) {
    return {reason, about, static_cast<double>(count), static_cast<double>(limit)};
  }

  const FusionOptions options_;
  const DeviceDescription& device_;
  FusionGraph graph_;
  std::vector<Kernel> kernels_;
};

}  // namespace

Result<bool> MergeFusions(Module& module, const PassContext& context) {
  bool changed = false;
  // Repeats, because merged users give a kernel other users.
  for (Computation* computation : SequentialComputations(module)) {
    while (FusionMerger(*computation, context).Run()) changed = true;
  }
  return changed;
}

}  // namespace hlo
