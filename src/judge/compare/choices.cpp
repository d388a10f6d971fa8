// Judges elements whose right value is one of several candidates (Choices in shadow.h).
#include <unordered_map>
#include <unordered_set>

#include "judge/compare/leaf.h"

namespace hlo {
namespace {

// Matches the positions of a sorted line with elements that are not ruled out there, each once, by augmenting paths.
class Placing {
 public:
  Placing(const Decisions& decisions, const std::vector<uint8_t>& ruled_out)
      : decisions_(decisions), ruled_out_(ruled_out) {}

  std::vector<int64_t> WithoutElement() {
    std::vector<int64_t> without;
    for (int64_t d = 0; d < static_cast<int64_t>(decisions_.line.size()); ++d) {
      if (decisions_.first[d] == decisions_.first[d + 1]) continue;
      seen_.clear();
      if (!Place(d)) without.push_back(d);
    }
    return without;
  }

 private:
  bool Place(int64_t decision) {
    for (int64_t c = decisions_.first[decision]; c < decisions_.first[decision + 1]; ++c) {
      const int64_t element = decisions_.element[c];
      if (ruled_out_[c] != 0 || taken_.contains(element)) continue;
      taken_[element] = decision;
      return true;
    }
    for (int64_t c = decisions_.first[decision]; c < decisions_.first[decision + 1]; ++c) {
      const int64_t element = decisions_.element[c];
      if (ruled_out_[c] != 0 || !seen_.insert(element).second) continue;
      if (!Place(taken_.at(element))) continue;
      taken_[element] = decision;
      return true;
    }
    return false;
  }

  const Decisions& decisions_;
  const std::vector<uint8_t>& ruled_out_;
  std::unordered_map<int64_t, int64_t> taken_;  // Decision of each element.
  std::unordered_set<int64_t> seen_;
};

}  // namespace

void JudgeChoices(std::vector<Leaf>& leaves) {
  std::unordered_map<const Decisions*, std::vector<uint8_t>> ruled_out;  // Flags for each candidate.
  for (Leaf& leaf : leaves) {
    if (leaf.choices == nullptr) continue;
    const ShadowValue& candidates = leaf.choices->candidates;
    const std::vector<int64_t>& first = leaf.choices->decisions->first;
    std::vector<uint8_t>& out = ruled_out[leaf.choices->decisions.get()];
    out.resize(candidates.shape.NumElements());
    leaf.chosen.resize(leaf.shape.NumElements());
    const Judge judge(leaf, 0, false);
    for (int64_t i = 0; i < leaf.shape.NumElements(); ++i) {
      const int64_t decision = leaf.choices->DecisionOf(i);
      if (decision < 0 || first[decision] == first[decision + 1]) continue;
      std::vector<int64_t> others;
      bool found = false, undetermined = false;
      for (int64_t c = first[decision]; c < first[decision + 1]; ++c) {
        if (out[c] != 0) continue;
        const ElementClass against = judge.Against(i, candidates, c);
        if (against == ElementClass::kViolation) others.push_back(c);
        found = found || against != ElementClass::kViolation;
        undetermined = undetermined || against == ElementClass::kUndetermined;
      }
      leaf.chosen[i] = !found         ? ElementClass::kViolation
                       : undetermined ? ElementClass::kUndetermined
                                      : ElementClass::kWithin;
      if (!found) continue;
      for (const int64_t c : others) out[c] = 1;
    }
  }
  for (const auto& [decisions, out] : ruled_out) {
    if (decisions->element.empty()) continue;
    std::unordered_set<int64_t> without;
    for (const int64_t d : Placing(*decisions, out).WithoutElement()) without.insert(d);
    for (Leaf& leaf : leaves) {
      if (leaf.choices == nullptr || leaf.choices->decisions.get() != decisions) continue;
      for (int64_t i = 0; i < leaf.shape.NumElements(); ++i) {
        if (without.contains(leaf.choices->DecisionOf(i))) leaf.chosen[i] = ElementClass::kViolation;
      }
    }
  }
}

}  // namespace hlo
