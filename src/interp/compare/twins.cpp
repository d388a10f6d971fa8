#include "interp/compare/twins.h"

#include <algorithm>
#include <vector>

#include "ir/fusion.h"

namespace hlo {
namespace {

// Instructions and the first that does the same. Called computations are the same where they are one.
class FirstOfEach {
 public:
  explicit FirstOfEach(const std::vector<Instruction*>& order) {
    for (const Instruction* inst : order) {
      first_[inst] = inst;
      const bool is_value =
          !inst->Is(Opcode::kParameter) && !inst->Is(kControl) && !inst->Is(kSideEffect) && !inst->Is(kCollective);
      if (!is_value) continue;
      uint64_t hash = HashOperation(*inst);
      for (const Instruction* operand : inst->operands()) hash = (hash ^ Of(*operand)->id()) * 0x9E3779B97F4A7C15;
      const auto [begin, end] = by_hash_.equal_range(hash);
      const auto same = std::find_if(begin, end, [&](const auto& other) { return DoTheSame(*other.second, *inst); });
      if (same != end) first_[inst] = same->second;
      else by_hash_.emplace(hash, inst);
    }
  }

  const Instruction* Of(const Instruction& inst) const { return first_.at(&inst); }

 private:
  bool DoTheSame(const Instruction& a, const Instruction& b) const {
    return SameOperation(a, b) && std::ranges::equal(a.operands(), b.operands(),
                                                     [&](const auto* x, const auto* y) { return Of(*x) == Of(*y); });
  }

  std::unordered_map<const Instruction*, const Instruction*> first_;
  std::unordered_multimap<uint64_t, const Instruction*> by_hash_;
};

}  // namespace

Twins::Twins(const Module& input, const Module& optimized) {
  std::unordered_set<int> origins;
  for (const Computation* computation : SequentialComputations(optimized)) {
    for (const Instruction* inst : computation->instructions()) origins.insert(inst->origin());
  }
  for (const Computation* computation : SequentialComputations(input)) FindIn(*computation, origins);
}

void Twins::FindIn(const Computation& computation, const std::unordered_set<int>& origins) {
  const std::vector<Instruction*> order = computation.PostOrder();
  const FirstOfEach first(order);
  std::unordered_map<const Instruction*, const Instruction*> survivor;  // By the first.
  for (const Instruction* inst : order) {
    if (origins.contains(inst->id())) survivor.emplace(first.Of(*inst), inst);
  }
  for (const Instruction* inst : order) {
    const auto twin = survivor.find(first.Of(*inst));
    if (twin != survivor.end() && !origins.contains(inst->id())) twin_of_[inst] = twin->second;
  }
}

}  // namespace hlo
