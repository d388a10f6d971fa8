#include "passes/sharding/op_fit.h"

#include <algorithm>
#include <optional>

#include "ir/factors/local_op.h"
#include "ir/factors/rule_builder.h"
#include "ir/mesh/reshard.h"

namespace hlo {
namespace {

using Atoms = std::vector<uint8_t>;

bool IsPrefix(const Atoms& a, const Atoms& b) {
  return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
}

std::optional<Reduction> ReductionOf(const Factor& factor) {
  if (!factor.reducer) return std::nullopt;
  switch (*factor.reducer) {
    case Opcode::kAdd: return Reduction::kSum;
    case Opcode::kMaximum: return Reduction::kMax;
    case Opcode::kMinimum: return Reduction::kMin;
    default: return std::nullopt;
  }
}

class Fitting {
 public:
  Fitting(const Instruction& inst, const FactorRule& rule, std::span<const ArraySplit> operands,
          std::span<const ArraySplit> results, const Axes& axes)
      : inst_(inst), rule_(rule), axes_(axes) {
    const std::vector<const Shape*> leaves = LeavesOf(inst.shape());
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) Add(*leaves[leaf], rule.result[leaf], results[leaf], true);
    for (int64_t i = 0; i < inst.operand_count(); ++i) {
      if (inst.operand(i).shape().IsArray()) Add(inst.operand(i).shape(), rule.operands[i][0], operands[i], false);
      else Add(inst.operand(i).shape(), kNoFactors, ArraySplit(), false);
    }
  }

  OpFit Best() const {
    OpFit best = Evaluated(AtomsByFactor(rule_.factors.size()));
    for (size_t seed = 0; seed < tensors_.size(); ++seed) {
      OpFit fit = Evaluated(Assigned(seed));
      if (IsBetter(fit, best)) best = std::move(fit);
    }
    return best;
  }

 private:
  struct Tensor {
    const Shape* shape;
    const LeafFactors* factors;
    ArraySplit split;  // The present split of an operand, or the wanted split of a result.
    bool is_result;
  };
  static inline const LeafFactors kNoFactors;
  static constexpr double kImpossible = 1e30;  // The cost of a change without a plan.

  void Add(const Shape& shape, const LeafFactors& factors, const ArraySplit& split, bool is_result) {
    tensors_.push_back({&shape, &factors, split, is_result});
  }

  // The atoms of the seed tensor, and further atoms of the other tensors, the largest first, that do not contradict
  // them.
  AtomsByFactor Assigned(size_t seed) const {
    std::vector<size_t> order(tensors_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, [&](size_t a, size_t b) {
      if ((a == seed) != (b == seed)) return a == seed;
      return BytesOf(a) > BytesOf(b);
    });
    AtomsByFactor assigned(rule_.factors.size());
    AxisSet used;
    for (const size_t i : order) {
      if (!tensors_[i].shape->IsArray()) continue;
      const AtomsByFactor own = AtomsByFactorOf(rule_, *tensors_[i].factors, tensors_[i].split, axes_);
      for (size_t f = 0; f < own.size(); ++f) {
        if (!IsPrefix(assigned[f], own[f]) || !MayCut(f, own[f])) continue;
        const auto more = std::span(own[f]).subspan(assigned[f].size());
        if (!(AxisSet::Of(more) & used).empty()) continue;
        used = used | AxisSet::Of(more);
        assigned[f] = own[f];
      }
    }
    DropMinorFactors(assigned);
    return assigned;
  }

  int64_t BytesOf(size_t i) const { return tensors_[i].shape->IsArray() ? tensors_[i].shape->ByteSize() : 0; }

  bool MayCut(size_t f, const Atoms& atoms) const {
    const Factor& factor = rule_.factors[f];
    const bool is_even = factor.size % axes_.SizeOf(atoms) == 0;
    if (factor.kind == FactorKind::kWindow) return is_even && WindowsStayInParts(factor, axes_.SizeOf(atoms));
    if (factor.kind == FactorKind::kPut) return inst_.Is(Opcode::kScatter) && IsAlone(f);
    if (factor.kind == FactorKind::kSum) return is_even && ReductionOf(factor) && factor.windows.empty();
    return factor.kind == FactorKind::kFree && (is_even || IsAlone(f));
  }

  // Whether each part reads rows of its own part of the operands, at the same place in all parts. The windows are
  // linear in the number of the part, so the first parts and the last one tell.
  bool WindowsStayInParts(const Factor& factor, int64_t parts) const {
    if (inst_.Is(Opcode::kSelectAndScatter)) return false;
    std::vector<int64_t> seen;
    for (const FactorWindow& read : factor.windows) {
      const int64_t elements = inst_.operand(read.operand).shape().dim(read.dim), own = elements / parts;
      if (elements % parts != 0 || std::ranges::find(seen, read.operand) != seen.end()) return false;
      seen.push_back(read.operand);
      const int64_t positions = factor.size / parts;
      const auto window_of = [&](int64_t part) {
        return LocalWindowOf(read.window, elements, {part * positions, positions});
      };
      const LocalWindow first = window_of(0);
      if (first.rows.first + first.rows.size > own) return false;
      for (const int64_t part : {int64_t{1}, parts - 1}) {
        const LocalWindow local = window_of(part);
        if (local.rows.first - part * own != first.rows.first || local.rows.size != first.rows.size ||
            local.window != first.window)
          return false;
      }
    }
    return true;
  }

  // Whether no dimension has other factors beside it.
  bool IsAlone(size_t f) const {
    for (const Tensor& tensor : tensors_) {
      for (const DimFactors& dim : *tensor.factors) {
        if (dim.size() > 1 && std::find(dim.begin(), dim.end(), f) != dim.end()) return false;
      }
    }
    return true;
  }

  // A part of a dimension is contiguous only if the major factors have one index in it. A factor that is dropped for
  // one tensor may be a major one of another, so this repeats until nothing is dropped.
  void DropMinorFactors(AtomsByFactor& assigned) const {
    for (bool dropped = true; dropped;) {
      dropped = false;
      for (const Tensor& tensor : tensors_) {
        for (const DimFactors& dim : *tensor.factors) {
          bool is_complete = true;
          for (const uint16_t f : dim) {
            if (!is_complete && !assigned[f].empty()) {
              assigned[f].clear();
              dropped = true;
            }
            is_complete = is_complete && axes_.SizeOf(assigned[f]) == rule_.factors[f].size;
          }
        }
      }
    }
  }

  ArraySplit SplitFor(const Tensor& tensor, const AtomsByFactor& assigned) const {
    ArraySplit split(std::ssize(*tensor.factors));
    split.manual = tensor.split.manual;
    for (int64_t dim = 0; dim < split.rank(); ++dim) {
      for (const uint16_t f : (*tensor.factors)[dim]) {
        for (const uint8_t atom : assigned[f]) split.Append(dim, atom);
      }
    }
    return split;
  }

  double BytesBetween(const ArraySplit& from, const ArraySplit& to, const Shape& shape) const {
    if (from == to) return 0;
    const auto plan = PlanReshard(from, to, shape, axes_);
    return plan ? static_cast<double>(plan->ResultBytes()) : kImpossible;
  }

  OpFit Evaluated(AtomsByFactor assigned) const {
    OpFit fit;
    AxisSet pending;
    std::optional<Reduction> reduction;
    for (size_t f = 0; f < assigned.size(); ++f) {
      if (rule_.factors[f].kind != FactorKind::kSum || assigned[f].empty()) continue;
      pending = pending | AxisSet::Of(assigned[f]);
      reduction = ReductionOf(rule_.factors[f]);
    }
    for (const Tensor& tensor : tensors_) {
      ArraySplit split = SplitFor(tensor, assigned);
      if (tensor.is_result && reduction) {
        split.pending = pending;
        split.reduction = *reduction;
      }
      if (tensor.shape->IsArray())
        fit.cost += tensor.is_result ? BytesBetween(split, tensor.split, *tensor.shape)
                                     : BytesBetween(tensor.split, split, *tensor.shape);
      (tensor.is_result ? fit.results : fit.operands).push_back(std::move(split));
    }
    fit.atoms = std::move(assigned);
    fit.cost += ComputeCost() / static_cast<double>(PartsOf(fit));
    return fit;
  }

  // The time of the whole op, in bytes of a link. A device with links of 360 GB/s does 2e14 steps of a loop over all
  // factors in a second, and its memory has 3 TB/s.
  double ComputeCost() const {
    constexpr double kBytesPerStep = 3.6e11 / 2e14, kBytesPerMemoryByte = 3.6e11 / 3e12;
    double steps = 1, bytes = 0;
    for (const Factor& factor : rule_.factors) steps *= static_cast<double>(factor.size);
    for (size_t i = 0; i < tensors_.size(); ++i) bytes += static_cast<double>(BytesOf(i));
    return kBytesPerStep * steps + kBytesPerMemoryByte * bytes;
  }

  int64_t PartsOf(const OpFit& fit) const {
    int64_t parts = 1;
    for (const Atoms& atoms : fit.atoms) parts *= axes_.SizeOf(atoms);
    return parts;
  }

  bool IsBetter(const OpFit& fit, const OpFit& than) const {
    if (fit.cost != than.cost) return fit.cost < than.cost;
    return PartsOf(fit) > PartsOf(than);
  }

  const Instruction& inst_;
  const FactorRule& rule_;
  const Axes& axes_;
  std::vector<Tensor> tensors_;  // Results, then operands.
};

}  // namespace

OpFit FitOp(const Instruction& inst, const FactorRule& rule, std::span<const ArraySplit> operands,
            std::span<const ArraySplit> results, const Axes& axes) {
  return Fitting(inst, rule, operands, results, axes).Best();
}

}  // namespace hlo
