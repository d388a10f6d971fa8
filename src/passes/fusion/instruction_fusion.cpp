// fusion: decides which instructions share a kernel.
//
// Users are placed before operands. An instruction joins the kernels of all its users, with a copy in each, or becomes
// the root of its own kernel. So a kernel contains every path to its root, and no two kernels depend on each other. An
// instruction joins if the repeated computation takes less time than a launch and its memory traffic
// (DeviceDescription).
//
// A reduce or running fold (ir/analysis/running_fold.h) is a root, or is read at the root's index through elementwise
// instructions, which run after it (ir/fusion.h, kInput).
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/text.h"
#include "ir/analysis/running_fold.h"
#include "ir/fusion.h"
#include "ir/id_span.h"
#include "ir/module.h"
#include "ir/opcode_set.h"
#include "passes/fusion/body_reads.h"
#include "passes/fusion/graph.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// The index at which a kernel needs a value.
enum class Place : uint8_t {
  kRoot,
  kReduced,    // The index of the fold's operand.
  kElsewhere,  // A computed index, or several.
};

// A reader of a value at an index of the reader's own: its number in ids_, and its number of copies in the kernel's
// code. kAtRoot is a read at the root's index.
using Reader = std::pair<int, int64_t>;
constexpr Reader kAtRoot = {-1, 1};

// A range of members_ or readers_.
struct Range {
  int begin = 0, end = 0;
  bool operator==(const Range&) const = default;
};
constexpr Range kByRoot = {0, 1};  // The range of kAtRoot in readers_.

// An instruction as a member of one kernel.
struct Member {
  GroupId kernel;
  double evaluations;  // Number of computed elements, with repetitions.
  Place place;
  Range readers;        // Sorted range of readers_.
  int64_t copies = 1;   // Number of copies in the code, one for each index.
  bool places = false;  // The value is only an index of gathers.
};

struct Kernel {
  const Instruction* fold = nullptr;  // The first reduce or running fold.
  bool alone = false;                 // Nothing may join the kernel.
  int64_t code = 0;
  double idle = 0;  // Seconds in which arithmetic waits for memory.
  size_t join = 0;  // The kernel's last known position in joins_.
};

double Bytes(const Instruction& inst) { return static_cast<double>(inst.shape().ByteSize()); }

bool IsScalarConstant(const Instruction& inst) { return inst.Is(Opcode::kConstant) && inst.shape().IsScalar(); }

// Whether `inst` is free, so that each user gets a copy.
bool IsTrivial(const Instruction& inst) {
  return inst.Is(Opcode::kIota) || (inst.Is(Opcode::kBroadcast) && IsScalarConstant(inst.operand(0)));
}

bool IsFold(const Instruction& inst) { return inst.Is(Opcode::kReduce) || RunningFoldOf(inst).has_value(); }

bool IsAlone(const Instruction& inst) { return inst.Is(kStandsAlone) && !IsFold(inst); }

bool CanShareIteration(const Instruction& a, const Instruction& b) {
  if (a.opcode() != b.opcode() || !SameDims(a.operand(0).shape(), b.operand(0).shape())) return false;
  if (!a.Is(Opcode::kReduce)) return RunningFoldOf(a) == RunningFoldOf(b);
  return a.attrs<ReduceAttrs>().dimensions == b.attrs<ReduceAttrs>().dimensions;
}

bool IsFusible(const Instruction& inst) {
  if (inst.Is(kSideEffect) || inst.Is(kCollective) || !inst.control_predecessors().empty()) return false;
  if (inst.shape().IsBuffer()) return false;  // Verifier rule V244.
  constexpr OpcodeSet kNone = {Opcode::kParameter,
                               Opcode::kConstant,
                               Opcode::kElidedConstant,
                               Opcode::kTuple,
                               Opcode::kGetTupleElement,
                               Opcode::kWhile,
                               Opcode::kConditional,
                               Opcode::kCall,
                               Opcode::kCustomCall,
                               Opcode::kFusion,
                               Opcode::kBitcast,
                               Opcode::kCopy,
                               Opcode::kAfterAll,
                               Opcode::kAddDependency,
                               Opcode::kOptimizationBarrier,
                               Opcode::kDomain,
                               Opcode::kPartitionId,
                               Opcode::kReplicaId,
                               Opcode::kGetDimensionSize,
                               Opcode::kSetDimensionSize,
                               Opcode::kDynamicReshape};
  if (kNone.Has(inst.opcode())) return false;
  return inst.shape().IsArray() || inst.Is(kStandsAlone) || inst.Is(Opcode::kReduce);
}

// The needed instructions, operands before users. Copies trivial ones with users in kernels and outside, so that no
// kernel reads them from memory.
std::vector<Instruction*> SplitTrivial(Computation& computation) {
  const std::vector<Instruction*> all = computation.PostOrder();
  const std::vector<bool> needed = NeededPlaces(computation, all);
  std::vector<Instruction*> order;
  for (Instruction* inst : all) {
    if (!needed[inst->place()]) continue;
    order.push_back(inst);
    if (!IsTrivial(*inst) || inst->users().size() < 2) continue;
    std::vector<Instruction*> users(inst->users().begin(), inst->users().end());
    std::erase_if(users, [&](const Instruction* user) { return !needed[user->place()]; });
    const auto outside = std::ranges::count_if(users, [](const Instruction* user) { return !IsFusible(*user); });
    if ((outside == 0 && !inst->IsRoot()) || outside == std::ssize(users)) continue;
    Instruction& copy = computation.AddClone(*inst, {inst->operands().begin(), inst->operands().end()});
    order.push_back(&copy);
    for (Instruction* user : users) {
      if (!IsFusible(*user)) continue;
      for (int64_t i = 0; i < user->operand_count(); ++i) {
        if (&user->operand(i) == inst) user->SetOperand(i, copy);
      }
    }
  }
  return order;
}

class InstructionFusion {
 public:
  InstructionFusion(Computation& computation, const PassContext& context)
      : computation_(computation),
        options_(context.Get<FusionOptions>()),
        device_(*context.device),
        graph_(computation, SplitTrivial(computation), context),
        ids_(graph_.order()),
        roles_(ids_.size()),
        readers_({kAtRoot}) {}

  bool Run() {
    const std::vector<Instruction*>& order = graph_.order();
    EstimateSubtrees();
    for (size_t i = order.size(); i-- > 0;) Decide(*order[i]);
    for (size_t i = bitcasts_.size(); i-- > 0;) ToBitcast(*bitcasts_[i]);
    return graph_.Outline([&](GroupId id) { return ShapeOf(id); }) || !bitcasts_.empty();
  }

 private:
  struct Subtree {
    double bytes = 0;  // Bytes that computing the value reads.
    int size = 0;      // Instructions, repeated ones too, up to a limit.
  };

  void EstimateSubtrees() {
    subtrees_.resize(ids_.size());
    for (const Instruction* inst : graph_.order()) {
      Subtree& subtree = subtrees_[ids_.IndexOf(*inst)];
      if (!IsFusible(*inst) || inst->Is(Opcode::kReduce) || inst->Is(kStandsAlone)) {
        subtree.bytes = IsScalarConstant(*inst) ? 0 : Bytes(*inst);
        continue;
      }
      subtree.size = 1;
      for (const Instruction* operand : inst->operands()) {
        const Subtree& below = subtrees_[ids_.IndexOf(*operand)];
        subtree.bytes += below.bytes * std::min(1.0, Elements(*inst) / std::max(1.0, Elements(*operand)));
        subtree.size = std::min(subtree.size + below.size, kMostCopied + 1);  // Each step may double the size.
      }
    }
  }

  void Decide(Instruction& inst) {
    if (!IsFusible(inst)) return;
    const auto is_needed = [&](const Instruction* user) { return graph_.IsNeeded(*user); };
    if (!inst.IsRoot() && std::ranges::none_of(inst.users(), is_needed)) return;
    if (Joins(inst)) {
      for (const Member& join : joins_) Join(inst, join);
      SetRoles(inst, joins_);
      return;
    }
    // A reshape becomes a bitcast, unless it says which dynamic dimension is inferred.
    if (inst.Is(Opcode::kReshape) && inst.operand(0).shape().HasDefaultLayout() && inst.shape().HasDefaultLayout() &&
        inst.attrs<ReshapeAttrs>().inferred_dimension < 0) {
      bitcasts_.push_back(&inst);  // A bitcast needs no kernel.
      return;
    }
    const Member root{graph_.Open(inst, &why_), Elements(inst), Place::kRoot, kByRoot};
    kernels_.push_back({.fold = IsFold(inst) ? &inst : nullptr,
                        .alone = IsAlone(inst),
                        .code = 1,
                        .idle = Bytes(inst) / device_.memory_rate - Seconds(inst, Elements(inst))});
    SetRoles(inst, {&root, 1});
  }

  void Join(Instruction& inst, const Member& join) {
    Kernel& kernel = kernels_[join.kernel];
    kernel.code += join.copies;
    kernel.idle -= Seconds(inst, join.evaluations);
    if (kernel.fold == nullptr && IsFold(inst)) kernel.fold = &inst;
    graph_.Copy(inst, join.kernel, join.evaluations,
                IsTrivial(inst)      ? FusionReason::kTrivial
                : joins_.size() == 1 ? FusionReason::kOneKernel
                                     : FusionReason::kRecomputed);
  }

  std::span<const Member> RolesOf(const Instruction& inst) const {
    const Range& range = roles_[ids_.IndexOf(inst)];
    return std::span(members_).subspan(range.begin, range.end - range.begin);
  }
  void SetRoles(const Instruction& inst, std::span<const Member> roles) {
    const int begin = static_cast<int>(members_.size());
    members_.insert(members_.end(), roles.begin(), roles.end());
    roles_[ids_.IndexOf(inst)] = {begin, static_cast<int>(members_.size())};
  }

  bool Refuse(FusionReason reason, const Instruction& about, double first = 0, double second = 0) {
    why_ = {reason, &about, first, second};
    return false;
  }

  // Sets joins_ if `inst` joins the kernels of all its users, otherwise why_.
  bool Joins(const Instruction& inst) {
    joins_.clear();
    if (inst.IsRoot()) return Refuse(FusionReason::kResult, inst);
    if (IsAlone(inst)) return Refuse(FusionReason::kByItself, inst);
    if (!inst.shape().IsArray()) return Refuse(FusionReason::kSeveralValues, inst);
    for (const Instruction* user : inst.users()) {
      if (!graph_.IsNeeded(*user)) continue;
      if (roles_[ids_.IndexOf(*user)] == Range())
        return Refuse(user->IsRoot() && user->Is(Opcode::kTuple) ? FusionReason::kResult : FusionReason::kReadOutside,
                      *user);
      for (const Member& role : RolesOf(*user)) AddUse(inst, *user, role);
    }
    // Each copy of a reader needs a copy of `inst`.
    for (Member& join : joins_) {
      join.copies = 0;
      for (int i = join.readers.begin; i < join.readers.end; ++i) join.copies += readers_[i].second;
    }
    if (IsTrivial(inst)) {
      const auto alone = std::ranges::find_if(joins_, [&](const Member& join) { return kernels_[join.kernel].alone; });
      return alone == joins_.end() || Refuse(FusionReason::kUserByItself, RootOf(*alone));
    }
    for (const Member& join : joins_) {
      if (!Fits(inst, join)) return false;
    }
    return WorthIt(inst);
  }

  void AddUse(const Instruction& inst, const Instruction& user, const Member& role) {
    Member use = role;
    use.evaluations = EvaluationsFor(inst, user, role.evaluations);
    use.places = KeepsIndex(user, inst) ? role.places : user.Is(Opcode::kGather) && &user.operand(0) != &inst;
    if (IsFold(user)) {
      use.place = inst.shape().IsScalar() && !user.operand(0).shape().IsScalar() ? Place::kElsewhere : Place::kReduced;
    } else if (!KeepsIndex(user, inst)) {
      use.place = Place::kElsewhere;
    }
    if (!KeepsIndex(user, inst)) {
      use.readers = AddReaders([&](auto out) { *out = Reader(static_cast<int>(ids_.IndexOf(user)), role.copies); });
    }
    // Finds the kernel's element of joins_ in constant time, because a value may have many users.
    size_t& at = kernels_[use.kernel].join;
    if (at >= joins_.size() || joins_[at].kernel != use.kernel) {
      at = joins_.size();
      joins_.push_back(use);
      return;
    }
    Member& join = joins_[at];
    join.places &= use.places;
    if (join.readers != use.readers) {
      const auto first = [&](Range range) { return readers_.begin() + range.begin; };
      std::vector<Reader> both;
      std::set_union(first(join.readers), first(join.readers) + (join.readers.end - join.readers.begin),
                     first(use.readers), first(use.readers) + (use.readers.end - use.readers.begin),
                     std::back_inserter(both));
      join.readers = AddReaders([&](auto out) { std::ranges::copy(both, out); });
    }
    if (join.place == use.place && use.place != Place::kElsewhere) {
      join.evaluations = std::max(join.evaluations, use.evaluations);
    } else {
      join.evaluations += use.evaluations;
      join.place = Place::kElsewhere;
    }
  }

  template <class Fill>
  Range AddReaders(Fill fill) {
    const int begin = static_cast<int>(readers_.size());
    fill(std::back_inserter(readers_));
    return {begin, static_cast<int>(readers_.size())};
  }

  const Instruction& RootOf(const Member& join) const { return *graph_.Members(join.kernel).front(); }

  bool Fits(const Instruction& inst, const Member& join) {
    const Kernel& kernel = kernels_[join.kernel];
    const Instruction& root = RootOf(join);
    if (kernel.alone) return Refuse(FusionReason::kUserByItself, root);
    const auto size = std::ssize(graph_.Members(join.kernel));
    if (size >= options_.instructions)
      return Refuse(FusionReason::kInstructions, root, static_cast<double>(size + 1),
                    static_cast<double>(options_.instructions));
    const int64_t reads = graph_.ReadCount(join.kernel) + inst.operand_count();
    if (reads > options_.parameters)
      return Refuse(FusionReason::kParameters, root, static_cast<double>(reads + 1),
                    static_cast<double>(options_.parameters));
    if (join.copies > 1 && kernel.code + join.copies > kMostCode)
      return Refuse(FusionReason::kCopies, inst, static_cast<double>(join.copies));
    if (!IsFold(inst)) return true;
    // A fold may join only one kernel, at the root's index.
    const bool scans = !inst.Is(Opcode::kReduce);
    if (joins_.size() != 1) return Refuse(scans ? FusionReason::kScanElsewhere : FusionReason::kSumOfSeveral, inst);
    if (join.place != Place::kRoot || inst.operand_count() != 2)
      return Refuse(scans ? FusionReason::kScanElsewhere : FusionReason::kSumOnTheWay, root);
    if (kernel.fold == nullptr) return root.shape().IsArray() || Refuse(FusionReason::kSeveralValues, root);
    const bool other_scan = scans || !kernel.fold->Is(Opcode::kReduce);
    return CanShareIteration(*kernel.fold, inst) ||
           Refuse(other_scan ? FusionReason::kOtherScan : FusionReason::kOtherSums, *kernel.fold);
  }

  double Seconds(const Instruction& inst, double evaluations) const {
    return evaluations * InstructionCost(inst) / device_.instruction_rate;
  }

  bool WorthIt(const Instruction& inst) {
    double evaluations = 0;
    for (const Member& join : joins_) evaluations += join.evaluations;
    const double again = Seconds(inst, std::max(0.0, evaluations - Elements(inst)));
    const auto kernels = static_cast<double>(joins_.size());
    const double bytes = Bytes(inst);
    if (joins_.size() == 1) {
      // A kernel computes indices while it waits for memory. kLeft leaves part of this time to later joins.
      constexpr double kLeft = 0.5;
      const double idle = joins_[0].places ? std::max(0.0, kLeft * kernels_[joins_[0].kernel].idle) : 0;
      const double memory = device_.launch_seconds + 2 * bytes / device_.memory_rate + idle;
      return again <= memory || Refuse(FusionReason::kAgainInOne, inst, again, memory);
    }
    const Subtree& subtree = subtrees_[ids_.IndexOf(inst)];
    if (subtree.size > kMostCopied) return Refuse(FusionReason::kTooMuchAgain, inst, kernels, kMostCopied);
    if (InstructionCost(inst) >= kCostlyInstruction && kernels > 2)
      return Refuse(FusionReason::kCostlyAgain, inst, kernels, InstructionCost(inst));
    const double inlined = again + kernels * subtree.bytes / device_.memory_rate;
    const double stored = device_.launch_seconds + (subtree.bytes + (1 + kernels) * bytes) / device_.memory_rate;
    return inlined <= stored || Refuse(FusionReason::kAgain, inst, inlined, stored);
  }

  void ToBitcast(Instruction& reshape) {
    Instruction& bitcast = computation_.AddLike(reshape, Opcode::kBitcast, reshape.shape(), {&reshape.operand(0)});
    bitcast.SetOrigin(reshape.origin());
    reshape.ReplaceAllUses(bitcast);
    computation_.Remove(reshape);
  }

  FusionGraph::Shape ShapeOf(GroupId id) const {
    const Instruction* const fold = kernels_[id].fold;
    if (fold != nullptr) return {FusionKind::kInput, fold->Is(Opcode::kReduce) ? "input_reduce" : "input_scan"};
    std::string name = Str(kernels_[id].alone ? "" : "loop_", graph_.Members(id).front()->opcode());
    std::replace(name.begin(), name.end(), '-', '_');
    return {FusionKind::kLoop, name};
  }

  // Larger subtrees are not copied. Costly instructions have at most two copies.
  static constexpr int kMostCopied = 24;
  // Copies of instructions in a kernel. In a prefix scan by halves, they grow exponentially with the levels.
  static constexpr int64_t kMostCode = 128;
  static constexpr double kCostlyInstruction = 10;

  Computation& computation_;
  const FusionOptions options_;
  const DeviceDescription& device_;
  FusionGraph graph_;
  const IdSpan ids_;
  std::vector<Range> roles_;     // Ranges of members_ by id. Empty if not in a kernel.
  std::vector<Member> members_;  // Uses of one instruction are adjacent.
  std::vector<Reader> readers_;
  std::vector<Subtree> subtrees_;
  std::vector<Kernel> kernels_;
  std::vector<Member> joins_;  // Uses of the current instruction.
  FusionNote why_ = {};
  std::vector<Instruction*> bitcasts_;
};

}  // namespace

Result<bool> FuseInstructions(Module& module, const PassContext& context) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module))
    changed |= InstructionFusion(*computation, context).Run();
  return changed;
}

}  // namespace hlo
