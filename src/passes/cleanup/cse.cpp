// cse: keeps only the first of equal instructions in post-order. Constants are compared by bits, and collectives
// without their channel numbers.
#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/collective_groups.h"
#include "passes/log_why.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// Largest result of an all-gather that is shared, for example by the two directions of a training step.
constexpr int64_t kMostGatheredBytes = 30 << 20;

std::string_view WhyNotShared(const Instruction& inst) {
  if (inst.Is(kSideEffect)) return "it has an effect besides its value";
  if (inst.Is(Opcode::kAllGather) && inst.shape().ByteSize() > kMostGatheredBytes)
    return "the gathered array would stay in memory between its users";
  if (!inst.control_predecessors().empty()) return "it has control predecessors";
  switch (inst.opcode()) {
    case Opcode::kParameter: return "no parameter equals another one";
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kCall:
    case Opcode::kCustomCall: return "the pass does not compare calls";
    case Opcode::kRngBitGenerator: return "it advances a random state";
    case Opcode::kAfterAll: return "tokens define an order";
    case Opcode::kCopy: return "a copy exists to be a separate buffer";
    case Opcode::kOptimizationBarrier: return "a barrier separates the instructions on its two sides";
    default: return "";
  }
}

uint64_t HashWithOperands(const Instruction& inst) {
  uint64_t hash = inst.Is(kCollective) ? static_cast<uint64_t>(inst.opcode()) : HashOperation(inst);
  for (const Instruction* operand : inst.operands()) hash = (hash ^ operand->id()) * 0x9E3779B97F4A7C15;
  return hash ^ hash >> 32;
}

bool SameValue(const Instruction& a, const Instruction& b) {
  if (a.operand_count() != b.operand_count()) return false;
  for (int64_t i = 0; i < a.operand_count(); ++i) {
    if (&a.operand(i) != &b.operand(i)) return false;
  }
  if (a.Is(kCollective)) return a.shape() == b.shape() && SameExchange(a, b);
  if (IsFusion(a) && IsFusion(b) && a.common().backend_config.text != b.common().backend_config.text) return false;
  return SameOperation(a, b);
}

// A hash table in one array, without an allocation for each instruction.
class SeenInstructions {
 public:
  explicit SeenInstructions(size_t most) : slots_(std::bit_ceil(2 * most + 1)) {}

  // An equal instruction. If there is none, adds `inst` and returns null.
  Instruction* FindOrAdd(Instruction& inst) {
    const uint64_t hash = HashWithOperands(inst);
    for (size_t at = hash;; ++at) {
      Slot& slot = slots_[at & (slots_.size() - 1)];
      if (slot.inst == nullptr) {
        slot = {hash, &inst};
        return nullptr;
      }
      if (slot.hash == hash && SameValue(*slot.inst, inst)) return slot.inst;
    }
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    Instruction* inst = nullptr;
  };
  std::vector<Slot> slots_;
};

bool ShareIn(Computation& computation) {
  bool changed = false;
  std::unordered_set<const Instruction*> awaited;
  for (const Instruction* inst : computation.instructions())
    awaited.insert(inst->control_predecessors().begin(), inst->control_predecessors().end());
  const bool logs = LOGS_WHY();
  const std::vector<Instruction*> order = computation.PostOrder();
  SeenInstructions seen(order.size());
  for (Instruction* inst : order) {
    const std::string_view why_not =
        awaited.contains(inst) ? "other instructions have a control dependency on it" : WhyNotShared(*inst);
    if (!why_not.empty()) {
      if (logs) LogWhy("cse", *inst, "stays", why_not);
      continue;
    }
    Instruction* const earlier = seen.FindOrAdd(*inst);
    if (earlier == nullptr) continue;
    if (logs) LogWhy("cse", *inst, Str("=> ", earlier->name()), "both compute the same from the same operands");
    inst->ReplaceAllUses(*earlier);
    computation.Remove(*inst);
    changed = true;
  }
  return changed;
}

bool SameComputation(const Computation& a, const Computation& b) {
  const std::vector<Instruction*> as = a.PostOrder(), bs = b.PostOrder();
  if (as.size() != bs.size()) return false;
  std::unordered_map<const Instruction*, const Instruction*> paired;
  for (size_t i = 0; i < as.size(); ++i) {
    if (!SameOperation(*as[i], *bs[i]) || as[i]->operand_count() != bs[i]->operand_count()) return false;
    for (int64_t k = 0; k < as[i]->operand_count(); ++k) {
      if (paired.at(&as[i]->operand(k)) != &bs[i]->operand(k)) return false;
    }
    paired[as[i]] = bs[i];
  }
  return paired.at(&a.root()) == &b.root();
}

// Lets callers share equal small computations, such as reducers.
bool ShareComputations(Module& module) {
  std::unordered_multimap<uint64_t, Computation*> seen;
  std::unordered_map<Computation*, Computation*> same;
  std::vector<bool> sequential(module.computation_id_limit());
  for (const Computation* computation : SequentialComputations(module)) sequential[computation->id()] = true;
  for (Computation* computation : module.PostOrder()) {
    if (sequential[computation->id()]) continue;
    if (computation->InstructionCount() > 8) continue;
    const uint64_t hash = Fingerprint(*computation);
    const auto [begin, end] = seen.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (SameComputation(*it->second, *computation)) {
        same[computation] = it->second;
        break;
      }
    }
    if (!same.contains(computation)) seen.emplace(hash, computation);
  }
  bool changed = false;
  if (same.empty()) return false;
  for (Computation* computation : module.PostOrder()) {
    for (Instruction* inst : computation->Instructions()) {
      if (IsFusion(*inst)) continue;
      ForEachCalled(inst->attributes(), [&](Computation*& called) {
        if (const auto found = same.find(called); found != same.end()) {
          called = found->second;
          changed = true;
        }
      });
    }
  }
  return changed;
}

std::vector<Computation*> FusedComputations(const Module& module) {
  std::vector<Computation*> fused;
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->instructions()) {
      if (IsFusion(*inst)) fused.push_back(inst->attrs<FusionAttrs>().calls);
    }
  }
  return fused;
}

}  // namespace

Result<bool> ShareCommon(Module& module, const PassContext& context) {
  bool changed = false;
  if (context.Get<SharingOptions>().fusions_only) {
    for (Computation* computation : FusedComputations(module)) changed |= ShareIn(*computation);
    return changed;
  }
  changed = ShareComputations(module);
  for (Computation* computation : module.PostOrder()) changed |= ShareIn(*computation);
  module.RemoveUnreachable();  // Not reported as a change.
  return changed;
}

}  // namespace hlo
