// fusion: which instructions share a kernel.
//
// One walk from users to operands. An instruction joins the kernels of all its users, copied into each when there are
// several, or it becomes the root of a kernel of its own. As an instruction is in a kernel only together with every
// path from it to a root, no two kernels wait for each other. Which of the two is decided by time: computing it again
// for every user against one more launch and the way through memory (DeviceDescription has the rates).
//
// A reduce can only be a root, or stand at the root's index below elementwise instructions: then those run once for
// each result element, after the reduction (ir/fusion.h, kInput).
#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "ir/fusion.h"
#include "ir/id_span.h"
#include "ir/module.h"
#include "passes/fusion/outline.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// Where in its kernel a value is needed.
enum class Place : uint8_t {
  kRoot,       // At the index of the root.
  kReduced,    // At the index of the reduce's operand.
  kElsewhere,  // At an index computed from one of them, or at several.
};

// A member that asks for another at an index of its own making, by IdSpan, and how many copies of it there are; or that
// the index is the root's. Sorted.
using Asker = std::pair<int, int64_t>;
constexpr Asker kAtRoot = {-1, 1};

// An instruction's part in a kernel.
struct Member {
  int kernel;
  double evaluations;  // How often an element of it is computed in all.
  Place place;
  std::vector<Asker> askers;
  int64_t copies = 1;  // In the code of the kernel: one for each index that it is computed at.
};

struct Kernel {
  Instruction* root = nullptr;
  Instruction* reduce = nullptr;      // The first, if any.
  bool alone = false;                 // Takes no one else in.
  std::vector<Instruction*> members;  // Users first.
  std::unordered_set<int> operands;   // Ids of what members use from outside, as far as decided.
  int64_t code = 0;                   // Copies of all members.
};

double Elements(const Instruction& inst) {
  return inst.shape().IsArray() ? static_cast<double>(inst.shape().NumElements()) : 1;
}
double Bytes(const Instruction& inst) { return static_cast<double>(inst.shape().ByteSize()); }

bool IsScalarConstant(const Instruction& inst) { return inst.Is(Opcode::kConstant) && inst.shape().IsScalar(); }

// Costs nothing to make again and reads nothing: copied to wherever it is used.
bool IsTrivial(const Instruction& inst) {
  return inst.Is(Opcode::kIota) || (inst.Is(Opcode::kBroadcast) && IsScalarConstant(inst.operand(0)));
}

// May be part of a kernel at all.
bool IsFusible(const Instruction& inst) {
  if (inst.Is(kSideEffect) || inst.Is(kCollective) || !inst.control_predecessors().empty()) return false;
  if (inst.shape().IsBuffer()) return false;  // V244
  switch (inst.opcode()) {
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kElidedConstant:
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kCall:
    case Opcode::kCustomCall:
    case Opcode::kFusion:
    case Opcode::kBitcast:
    case Opcode::kCopy:
    case Opcode::kAfterAll:
    case Opcode::kAddDependency:
    case Opcode::kOptimizationBarrier:
    case Opcode::kDomain:
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
    case Opcode::kGetDimensionSize:
    case Opcode::kSetDimensionSize:
    case Opcode::kDynamicReshape: return false;
    default: return inst.shape().IsArray() || StandsAlone(inst.opcode()) || inst.Is(Opcode::kReduce);
  }
}

// Result element i needs operand element i, in row-major order.
bool KeepsIndex(const Instruction& user, const Instruction& operand) {
  if (user.Is(Opcode::kReshape)) return true;
  return user.Is(kElementwise) && user.shape().IsArray() && SameDims(user.shape(), operand.shape());
}

class Planner {
 public:
  Planner(Computation& computation, const PassContext& context)
      : computation_(computation),
        options_(context.Get<FusionOptions>()),
        device_(*context.device),
        order_(computation.PostOrder()) {}

  bool Run() {
    SplitTrivial();
    ids_ = IdSpan(order_);
    roles_.resize(ids_.size());
    EstimateSubtrees();
    for (size_t i = order_.size(); i-- > 0;) Decide(*order_[i]);
    for (size_t i = bitcasts_.size(); i-- > 0;) ToBitcast(*bitcasts_[i]);
    // Producers' kernels first, for the sake of names in order.
    for (size_t i = kernels_.size(); i-- > 0;) Emit(kernels_[i]);
    return changed_;
  }

 private:
  struct Subtree {
    double bytes = 0;  // What computing it from its leaves reads.
    int size = 0;      // Instructions, shared ones counted twice, as far as that matters.
  };

  // What is trivial and used both by kernels and from outside exists twice: a kernel never reads it.
  void SplitTrivial() {
    std::vector<Instruction*> order;
    for (Instruction* inst : order_) {
      order.push_back(inst);
      if (!IsTrivial(*inst) || inst->users().size() < 2) continue;
      std::vector<Instruction*> outside;
      for (Instruction* user : inst->users()) {
        if (!IsFusible(*user)) outside.push_back(user);
      }
      if ((outside.empty() && !inst->IsRoot()) || outside.size() == inst->users().size()) continue;
      // The kernels' users move to the copy, since the root may be among what is outside.
      Instruction& copy = computation_.AddClone(*inst, {inst->operands().begin(), inst->operands().end()});
      order.push_back(&copy);
      const std::vector<Instruction*> users(inst->users().begin(), inst->users().end());
      for (Instruction* user : users) {
        if (!IsFusible(*user)) continue;
        for (int64_t i = 0; i < user->operand_count(); ++i) {
          if (&user->operand(i) == inst) user->SetOperand(i, copy);
        }
      }
    }
    order_ = std::move(order);
  }

  void EstimateSubtrees() {
    subtrees_.resize(ids_.size());
    for (const Instruction* inst : order_) {
      Subtree& subtree = subtrees_[ids_.Of(*inst)];
      if (!IsFusible(*inst) || inst->Is(Opcode::kReduce) || StandsAlone(inst->opcode())) {
        subtree.bytes = IsScalarConstant(*inst) ? 0 : Bytes(*inst);
        continue;
      }
      subtree.size = 1;
      for (const Instruction* operand : inst->operands()) {
        const Subtree& below = subtrees_[ids_.Of(*operand)];
        // A slice reads what it takes.
        subtree.bytes += below.bytes * std::min(1.0, Elements(*inst) / std::max(1.0, Elements(*operand)));
        subtree.size = std::min(subtree.size + below.size, kMostCopied + 1);  // Chains double it at every step.
      }
    }
  }

  void Decide(Instruction& inst) {
    if (!IsFusible(inst)) return;
    if (inst.users().empty() && !inst.IsRoot()) return;
    std::vector<Member> joins;
    if (Joins(inst, &joins)) {
      for (const Member& member : joins) Join(inst, member);
      return;
    }
    if (inst.Is(Opcode::kReshape) && inst.operand(0).shape().HasDefaultLayout() && inst.shape().HasDefaultLayout()) {
      bitcasts_.push_back(&inst);  // No kernel: the bytes are in place.
      return;
    }
    Kernel kernel;
    kernel.root = &inst;
    kernel.alone = StandsAlone(inst.opcode());
    kernels_.push_back(std::move(kernel));
    join_of_kernel_.push_back(0);
    Join(inst, {static_cast<int>(kernels_.size()) - 1, Elements(inst), Place::kRoot, {kAtRoot}});
  }

  void Join(Instruction& inst, const Member& member) {
    Kernel& kernel = kernels_[member.kernel];
    roles_[ids_.Of(inst)].push_back(member);
    kernel.members.push_back(&inst);
    kernel.code += member.copies;
    if (inst.Is(Opcode::kReduce) && kernel.reduce == nullptr) kernel.reduce = &inst;
    kernel.operands.erase(inst.id());
    for (const Instruction* operand : inst.operands()) {
      if (!IsScalarConstant(*operand)) kernel.operands.insert(operand->id());
    }
  }

  // Its part in the kernel of each user, if it should have no kernel of its own.
  bool Joins(const Instruction& inst, std::vector<Member>* joins) {
    if (inst.IsRoot() || StandsAlone(inst.opcode()) || !inst.shape().IsArray()) return false;
    for (const Instruction* user : inst.users()) {
      const std::vector<Member>& roles = roles_[ids_.Of(*user)];
      if (roles.empty()) return false;  // Used from outside of kernels.
      for (const Member& role : roles) AddUse(inst, *user, role, joins);
    }
    // An asker computes it once for each index that it is computed at itself.
    for (Member& join : *joins) {
      join.copies = 0;
      for (const auto& [asker, copies] : join.askers) join.copies += copies;
    }
    if (IsTrivial(inst))
      return std::none_of(joins->begin(), joins->end(), [&](const Member& m) { return kernels_[m.kernel].alone; });
    for (const Member& join : *joins) {
      if (!Fits(inst, join, joins->size())) return false;
    }
    return WorthIt(inst, *joins);
  }

  void AddUse(const Instruction& inst, const Instruction& user, const Member& role, std::vector<Member>* joins) {
    Member use = role;
    if (user.Is(Opcode::kReduce)) {
      use.evaluations = Elements(inst);
      use.place = inst.shape().IsScalar() && !user.operand(0).shape().IsScalar() ? Place::kElsewhere : Place::kReduced;
    } else if (!KeepsIndex(user, inst)) {
      use.place = Place::kElsewhere;
      // Of several side by side each is asked for its own part.
      if (user.Is(Opcode::kConcatenate) || (user.Is(Opcode::kPad) && !inst.shape().IsScalar()) ||
          user.Is(Opcode::kDynamicUpdateSlice)) {
        use.evaluations = role.evaluations * Elements(inst) / std::max(1.0, Elements(user));
      }
      if (inst.shape().IsScalar()) use.evaluations = 1;  // Computed once a thread at most.
    }
    if (!KeepsIndex(user, inst)) use.askers = {{static_cast<int>(ids_.Of(user)), role.copies}};
    // Where among the joins the kernel is, as far as it is there: a value may have as many users as there are kernels.
    const size_t at = join_of_kernel_[use.kernel];
    if (at >= joins->size() || (*joins)[at].kernel != use.kernel) {
      join_of_kernel_[use.kernel] = joins->size();
      joins->push_back(use);
      return;
    }
    Member& join = (*joins)[at];
    std::vector<Asker> askers;
    std::ranges::set_union(join.askers, use.askers, std::back_inserter(askers));
    join.askers = std::move(askers);
    if (join.place == use.place && use.place != Place::kElsewhere) {
      join.evaluations = std::max(join.evaluations, use.evaluations);
    } else {
      join.evaluations += use.evaluations;
      join.place = Place::kElsewhere;
    }
  }

  bool Fits(const Instruction& inst, const Member& join, size_t kernels) const {
    const Kernel& kernel = kernels_[join.kernel];
    if (kernel.alone) return false;
    if (static_cast<int64_t>(kernel.members.size()) >= options_.instructions) return false;
    if (static_cast<int64_t>(kernel.operands.size()) + inst.operand_count() > options_.parameters) return false;
    if (join.copies > 1 && kernel.code + join.copies > kMostCode) return false;
    if (!inst.Is(Opcode::kReduce)) return true;
    // One kernel only, and at the root's index.
    if (kernels != 1 || join.place != Place::kRoot || inst.operand_count() != 2) return false;
    if (kernel.reduce == nullptr) return kernel.root->shape().IsArray();
    return SameDims(kernel.reduce->operand(0).shape(), inst.operand(0).shape()) &&
           kernel.reduce->attrs<ReduceAttrs>().dimensions == inst.attrs<ReduceAttrs>().dimensions;
  }

  bool WorthIt(const Instruction& inst, const std::vector<Member>& joins) const {
    double evaluations = 0;
    for (const Member& join : joins) evaluations += join.evaluations;
    const double again = std::max(0.0, evaluations - Elements(inst)) * InstructionCost(inst) / device_.instruction_rate;
    const double kernels = static_cast<double>(joins.size());
    const double bytes = Bytes(inst);
    if (joins.size() == 1) return again <= device_.launch_seconds + 2 * bytes / device_.memory_rate;
    const Subtree& subtree = subtrees_[ids_.Of(inst)];
    if (subtree.size > kMostCopied) return false;
    if (InstructionCost(inst) >= kCostlyInstruction && kernels > 2) return false;
    const double inlined = again + kernels * subtree.bytes / device_.memory_rate;
    const double stored = device_.launch_seconds + (subtree.bytes + (1 + kernels) * bytes) / device_.memory_rate;
    return inlined <= stored;
  }

  void ToBitcast(Instruction& reshape) {
    Instruction& bitcast = computation_.AddLike(reshape, Opcode::kBitcast, reshape.shape(), {&reshape.operand(0)});
    bitcast.SetOrigin(reshape.origin());
    reshape.ReplaceAllUses(bitcast);
    computation_.Remove(reshape);
    changed_ = true;
  }

  void Emit(const Kernel& kernel) {
    std::vector<Instruction*> members(kernel.members.rbegin(), kernel.members.rend());
    const bool reduces = kernel.reduce != nullptr;
    std::string name = reduces ? "input_reduce" : Str(kernel.alone ? "" : "loop_", kernel.root->opcode());
    std::replace(name.begin(), name.end(), '-', '_');
    Instruction* const roots[] = {kernel.root};
    Outline(computation_, members, roots, reduces ? FusionKind::kInput : FusionKind::kLoop, name);
    changed_ = true;
  }

  // An instruction with more than this many below it, and one that costs this many adds, are not worth copying.
  static constexpr int kMostCopied = 24;
  // What is computed at several indices stands in the code as often. Of a prefix scan by halves each level asks for the
  // one below at two or three, so its code is exponential in the levels: above this many copies of instructions nothing
  // is copied any more. LLVM takes milliseconds for so many, and no kernel of testdata/models has a quarter of it. (XLA
  // stops at 15 copies of one instruction.)
  static constexpr int64_t kMostCode = 128;
  static constexpr double kCostlyInstruction = 10;

  Computation& computation_;
  const FusionOptions options_;
  const DeviceDescription& device_;
  std::vector<Instruction*> order_;
  IdSpan ids_;
  std::vector<std::vector<Member>> roles_;  // By id; empty: outside of kernels.
  std::vector<Subtree> subtrees_;
  std::vector<Kernel> kernels_;         // Users' kernels first.
  std::vector<size_t> join_of_kernel_;  // By kernel: its number among the joins of the last instruction that had it.
  std::vector<Instruction*> bitcasts_;
  bool changed_ = false;
};

}  // namespace

Result<bool> FuseInstructions(Module& module, const PassContext& context) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) changed |= Planner(*computation, context).Run();
  return changed;
}

}  // namespace hlo
