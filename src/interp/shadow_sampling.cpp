// Which results are computed when all of them would be too much work, and which elements those need.
#include <algorithm>

#include "interp/shadow_rules.h"

namespace hlo::shadow {
namespace {

// Deterministic and independent of everything but the seed (SplitMix64).
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// At least `wanted` of `count` elements: both ends, the ends of rows spread over the whole, and one from each of as
// many strata.
std::vector<int64_t> Sample(const Shape& shape, int64_t wanted, uint64_t seed) {
  const int64_t count = shape.NumElements();
  std::vector<int64_t> sample;
  for (int64_t i = 0; i < std::min<int64_t>(count, 64); ++i) {
    sample.push_back(i);
    sample.push_back(count - 1 - i);
  }
  const int64_t row = shape.rank() == 0 ? 1 : std::max<int64_t>(1, shape.dims().back());
  const int64_t rows = count / row;
  for (int64_t i = 0; i < std::min<int64_t>(rows, 512); ++i) {
    const int64_t r = rows * i / std::min<int64_t>(rows, 512);
    sample.push_back(r * row);
    sample.push_back(r * row + row - 1);
  }
  for (int64_t i = 0; i < wanted; ++i) {
    const auto edge = [&](int64_t k) { return static_cast<int64_t>(static_cast<__int128>(count) * k / wanted); };
    const int64_t width = edge(i + 1) - edge(i);
    if (width > 0) sample.push_back(edge(i) + static_cast<int64_t>(Mix(seed + i) % width));
  }
  std::ranges::sort(sample);
  sample.erase(std::unique(sample.begin(), sample.end()), sample.end());
  return sample;
}

// Multiply-adds of a dot or convolution, for the work limit; 0 for the rest.
int64_t WorkOf(const Instruction& inst) {
  const auto product = [](const Shape& shape, std::span<const int64_t> dimensions) {
    int64_t n = 1;
    for (const int64_t d : dimensions) n *= shape.dim(d);
    return n;
  };
  if (inst.Is(Opcode::kDot))
    return inst.shape().NumElements() * product(inst.operand(0).shape(), inst.attrs<DotAttrs>().lhs_contracting);
  if (!inst.Is(Opcode::kConvolution)) return 0;
  const DimLabels& labels = inst.attrs<ConvolutionAttrs>().dim_labels;
  const Shape& rhs = inst.operand(1).shape();
  return inst.shape().NumElements() * product(rhs, labels.rhs_spatial) * rhs.dim(labels.rhs_input_feature);
}

}  // namespace

Result<SamplePlan> PlanSample(const Computation& computation, const ShadowOptions& options) {
  SamplePlan plan;
  int64_t heaviest = 0;
  for (const Instruction* inst : computation.Instructions()) {
    const int64_t work = WorkOf(*inst);
    if (work > options.work_limit)
      heaviest = std::max(heaviest, work / std::max<int64_t>(1, inst->shape().NumElements()));
  }
  if (heaviest == 0) return plan;
  const int64_t wanted = std::max<int64_t>(4096, options.work_limit / heaviest);

  std::unordered_map<const Instruction*, Mask> masks;  // Present and empty: all.
  const auto want = [&](const Instruction& inst, int64_t index) {
    if (!inst.shape().IsArray()) {
      masks[&inst].clear();
      return;
    }
    const auto [it, fresh] = masks.try_emplace(&inst, inst.shape().NumElements(), 0);
    if (!it->second.empty()) it->second[index] = 1;
  };
  const auto want_all = [&](const Instruction& inst) { masks[&inst] = Mask(); };

  const Instruction& root = computation.root();
  std::vector<const Instruction*> outputs{&root};
  if (root.Is(Opcode::kTuple)) outputs.assign(root.operands().begin(), root.operands().end());
  for (const Instruction* output : outputs) {
    if (!output->shape().IsArray()) return SamplePlan{};
    plan.outputs.push_back(Sample(output->shape(), wanted, options.seed));
    for (const int64_t index : plan.outputs.back()) want(*output, index);
  }
  std::vector<Instruction*> order = computation.PostOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Instruction& inst = **it;
    const auto found = masks.find(&inst);
    if (found == masks.end() || inst.Is(Opcode::kTuple)) continue;
    const Mask mask = masks[&inst];
    if (WorkOf(inst) > options.work_limit) plan.wanted[&inst] = mask;
    const bool same_index = inst.Is(kElementwise) || inst.Is(Opcode::kReshape);
    for (int64_t i = 0; i < inst.operand_count(); ++i) {
      const Instruction& operand = inst.operand(i);
      if (mask.empty() || !operand.shape().IsArray() ||
          !(same_index || (IsMovement(inst) && DataOperands(inst) == inst.operand_count()))) {
        want_all(operand);
        continue;
      }
      if (same_index) {
        const bool scalar = operand.shape().NumElements() != inst.shape().NumElements();
        for (size_t j = 0; j < mask.size(); ++j) {
          if (mask[j]) want(operand, scalar ? 0 : j);
        }
        continue;
      }
      const Literal source = TRY(SourceOf(inst, i, {}));
      for (size_t j = 0; j < mask.size(); ++j) {
        if (mask[j] && source.data<int64_t>()[j] >= 0) want(operand, source.data<int64_t>()[j]);
      }
    }
  }
  return plan;
}

const Mask& Context::WantedOf(const Instruction& inst) const {
  static const Mask kAll;
  if (wanted == nullptr) return kAll;
  const auto it = wanted->find(&inst);
  return it == wanted->end() ? kAll : it->second;
}

}  // namespace hlo::shadow
