#include "passes/sharding/op_fit.h"

#include <algorithm>
#include <optional>

#include "ir/factors/local_op.h"
#include "ir/factors/rule_builder.h"
#include "ir/mesh/reshard.h"
#include "ir/reducer.h"
#include "passes/sharding/halo.h"

namespace hlo {
namespace {

using Atoms = std::vector<uint8_t>;

bool IsPrefix(const Atoms& a, const Atoms& b) {
  return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
}

// The reduction of the devices' results. Of booleans, 'or' is the maximum and 'and' the minimum.
std::optional<Reduction> ReductionOf(const Factor& factor, PrimitiveType type) {
  if (!factor.reducer) return std::nullopt;
  const bool is_pred = type == PrimitiveType::kPred;
  switch (*factor.reducer) {
    case Opcode::kAdd: return Reduction::kSum;
    case Opcode::kMaximum: return Reduction::kMax;
    case Opcode::kMinimum: return Reduction::kMin;
    case Opcode::kOr: return is_pred ? std::optional(Reduction::kMax) : std::nullopt;
    case Opcode::kAnd: return is_pred ? std::optional(Reduction::kMin) : std::nullopt;
    default: return std::nullopt;
  }
}

class Fitting {
 public:
  Fitting(const Instruction& inst, const FactorRule& rule, std::span<const ArraySplit> operands,
          std::span<const ArraySplit> results, const Axes& axes, ReshardPlans& plans)
      : inst_(inst), rule_(rule), axes_(axes), plans_(plans) {
    const std::vector<const Shape*> leaves = LeavesOf(inst.shape());
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) Add(*leaves[leaf], rule.result[leaf], results[leaf], true);
    for (int64_t i = 0; i < inst.operand_count(); ++i) {
      if (inst.operand(i).shape().IsArray()) Add(inst.operand(i).shape(), rule.operands[i][0], operands[i], false);
      else Add(inst.operand(i).shape(), kNoFactors, ArraySplit(), false);
    }
  }

  OpFit Best() const {
    OpFit best = Evaluated(AtomsByFactor(rule_.factors.size()));
    const auto consider = [&](AtomsByFactor assigned) {
      OpFit fit = Evaluated(std::move(assigned));
      if (IsBetter(fit, best)) best = std::move(fit);
    };
    for (size_t seed = 0; seed < tensors_.size(); ++seed) {
      consider(Assigned(seed));
      if (auto moved = MovedToFree(seed)) consider(std::move(*moved));
    }
    return best;
  }

 private:
  struct Tensor {
    const Shape* shape;
    const LeafFactors* factors;
    ArraySplit split;  // The present split of an operand, or the split that a result shall get.
    bool is_result;
  };
  static inline const LeafFactors kNoFactors;
  static constexpr double kImpossible = 1e30;  // Cost of a change of split that has no plan.

  void Add(const Shape& shape, const LeafFactors& factors, const ArraySplit& split, bool is_result) {
    tensors_.push_back({&shape, &factors, split, is_result});
  }

  // The atoms of tensor `seed`, and compatible atoms of other tensors, the largest tensor first.
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
    DropOverlaps(assigned);
    return assigned;
  }

  // The atoms of tensor `seed`, but those that split no free factor are moved to the largest unsplit free factor that
  // they divide. nullopt if there are no such atoms or no such factor.
  std::optional<AtomsByFactor> MovedToFree(size_t seed) const {
    if (!tensors_[seed].shape->IsArray()) return std::nullopt;
    AtomsByFactor assigned = AtomsByFactorOf(rule_, *tensors_[seed].factors, tensors_[seed].split, axes_);
    AxisSet moved = tensors_[seed].split.InDims();
    for (size_t f = 0; f < assigned.size(); ++f) {
      if (rule_.factors[f].kind == FactorKind::kFree && MayCut(f, assigned[f]))
        moved = moved - AxisSet::Of(assigned[f]);
      else assigned[f].clear();
    }
    if (moved.empty()) return std::nullopt;
    std::optional<size_t> free;
    for (size_t f = 0; f < assigned.size(); ++f) {
      const Factor& factor = rule_.factors[f];
      const bool is_larger = !free || factor.size > rule_.factors[*free].size;
      if (factor.kind == FactorKind::kFree && assigned[f].empty() && factor.size % axes_.SizeOf(moved) == 0 &&
          is_larger)
        free = f;
    }
    if (!free) return std::nullopt;
    for (const int atom : moved.Atoms()) assigned[*free].push_back(static_cast<uint8_t>(atom));
    DropMinorFactors(assigned);
    return assigned;
  }

  int64_t BytesOf(size_t i) const { return tensors_[i].shape->IsArray() ? tensors_[i].shape->ByteSize() : 0; }

  bool MayCut(size_t f, const Atoms& atoms) const {
    const Factor& factor = rule_.factors[f];
    const int64_t parts = axes_.SizeOf(atoms);
    const bool is_even = factor.size % parts == 0;
    if (!is_even && !IsAlone(f)) return false;
    switch (factor.kind) {
      case FactorKind::kFree: return true;
      case FactorKind::kSum: return MayCutSum(f, parts);
      case FactorKind::kWindow: return MayCutWindow(f, parts);
      case FactorKind::kLook: return IsAlone(f) && MayLook(factor);
      case FactorKind::kPut: return IsAlone(f) && HasScalarIndex(factor);
      default: return false;
    }
  }

  bool MayCutSum(size_t f, int64_t parts) const {
    const Factor& factor = rule_.factors[f];
    const bool is_even = factor.size % parts == 0;
    if (!factor.windows.empty()) return is_even && IsAlone(f) && HasHalos(factor, parts);
    if (!factor.reducer) return inst_.Is(Opcode::kReduce);
    return ReductionOf(factor, inst_.operand(0).shape().type()) && (is_even || NeutralElementOf(inst_));
  }

  bool MayCutWindow(size_t f, int64_t parts) const {
    const Factor& factor = rule_.factors[f];
    if (inst_.Is(Opcode::kSelectAndScatter) || !IsAlone(f)) return false;
    return inst_.Is(Opcode::kShuffle) ? factor.size % parts == 0 : HasHalos(factor, parts);
  }

  bool HasHalos(const Factor& factor, int64_t parts) const {
    return std::ranges::all_of(factor.windows, [&](const FactorWindow& read) {
      const auto halo = HaloOf(factor, read, inst_.operand(read.operand).shape().dim(read.dim), parts);
      return halo && (!halo->IsMasked() || !inst_.Is(Opcode::kReduceWindow) || NeutralElementOf(inst_));
    });
  }

  // Whether an indexed factor may be split. Each part must have all rows of a gather's slice or none.
  bool MayLook(const Factor& factor) const {
    if (!PickType(inst_.shape().type())) return false;
    return inst_.Is(Opcode::kGather) ? factor.index->width == 1 : HasScalarIndex(factor);
  }
  bool HasScalarIndex(const Factor& factor) const {
    return inst_.Is(Opcode::kScatter) || inst_.operand(factor.index->operand).shape().rank() == 0;
  }

  // Whether each dimension with factor f has no other factor.
  bool IsAlone(size_t f) const {
    for (const Tensor& tensor : tensors_) {
      for (const DimFactors& dim : *tensor.factors) {
        if (dim.size() > 1 && std::find(dim.begin(), dim.end(), f) != dim.end()) return false;
      }
    }
    return true;
  }

  // A part of a dimension is contiguous only if the factors before the last split one have a single index in it. Drops
  // other atoms. Repeats until nothing is dropped, because a dropped factor may precede another in a different tensor.
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

  // Drops other factors in dimensions that a split sum reads by windows: a convolution with a split kernel cannot split
  // the positions of the window, too.
  void DropOverlaps(AtomsByFactor& assigned) const {
    for (size_t f = 0; f < assigned.size(); ++f) {
      if (rule_.factors[f].kind != FactorKind::kSum || assigned[f].empty()) continue;
      for (const FactorWindow& read : rule_.factors[f].windows) {
        for (const uint16_t other : rule_.operands[read.operand][0][read.dim]) assigned[other].clear();
      }
    }
  }

  // Splits the operands along dimensions that windows of a split sum read.
  void SplitReadDims(OpFit& fit) const {
    for (size_t f = 0; f < fit.atoms.size(); ++f) {
      if (rule_.factors[f].kind != FactorKind::kSum) continue;
      for (const FactorWindow& read : rule_.factors[f].windows) {
        for (const uint8_t atom : fit.atoms[f]) fit.operands[read.operand].Append(read.dim, atom);
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
    const Result<ReshardPlan>& plan = plans_.Between(from, to, shape);
    return plan ? static_cast<double>(plan->ArrayBytes()) : kImpossible;
  }

  OpFit Evaluated(AtomsByFactor assigned) const {
    OpFit fit;
    AxisSet pending;
    std::optional<Reduction> reduction;
    for (size_t f = 0; f < assigned.size(); ++f) {
      const Factor& factor = rule_.factors[f];
      if (assigned[f].empty()) continue;
      if (factor.kind == FactorKind::kLook) reduction = Reduction::kSum;
      else if (factor.kind == FactorKind::kSum && factor.reducer)
        reduction = ReductionOf(factor, inst_.operand(0).shape().type());
      else continue;
      pending = pending | AxisSet::Of(assigned[f]);
    }
    for (const Tensor& tensor : tensors_) {
      ArraySplit split = SplitFor(tensor, assigned);
      if (tensor.is_result && reduction) {
        split.pending = pending;
        split.reduction = *reduction;
      }
      (tensor.is_result ? fit.results : fit.operands).push_back(std::move(split));
    }
    fit.atoms = std::move(assigned);
    SplitReadDims(fit);
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const auto& [shape, factors, present, is_result] = tensors_[i];
      if (!shape->IsArray()) continue;
      fit.cost += is_result ? BytesBetween(fit.results[i], present, *shape)
                            : BytesBetween(present, fit.operands[i - fit.results.size()], *shape);
    }
    fit.cost += BytesInOp(fit);
    fit.cost += ComputeCost() / static_cast<double>(PartsOf(fit));
    return fit;
  }

  // Bytes of the results of collectives within the op: rows of windows, and parts' results that a reduce's own
  // computation combines.
  double BytesInOp(const OpFit& fit) const {
    double bytes = 0;
    for (size_t f = 0; f < fit.atoms.size(); ++f) {
      const Factor& factor = rule_.factors[f];
      const int64_t parts = axes_.SizeOf(fit.atoms[f]);
      if (parts == 1) continue;
      for (const FactorWindow& read : factor.windows) {
        const Shape& operand = inst_.operand(read.operand).shape();
        const Shape part = axes_.LocalShape(operand, fit.operands[read.operand]);
        const double row =
            static_cast<double>(part.ByteSize()) / static_cast<double>(std::max<int64_t>(1, part.dim(read.dim)));
        bytes += row * static_cast<double>(RowsReceived(factor, read, operand.dim(read.dim), parts));
      }
      if (factor.kind != FactorKind::kSum || factor.reducer) continue;
      const std::vector<const Shape*> leaves = LeavesOf(inst_.shape());
      for (size_t leaf = 0; leaf < leaves.size(); ++leaf)
        bytes += static_cast<double>(parts * axes_.LocalShape(*leaves[leaf], fit.results[leaf]).ByteSize());
    }
    return bytes;
  }

  // A rotation receives each row of its part once at most.
  int64_t RowsReceived(const Factor& factor, const FactorWindow& read, int64_t elements, int64_t parts) const {
    if (!inst_.Is(Opcode::kShuffle)) return HaloOf(factor, read, elements, parts)->RowsReceived();
    if (&read != &factor.windows[0]) return 0;
    const int64_t own = elements / parts, start = -read.window.pad_low;
    const int64_t first = own - start % own;  // Number of rows from the first row to the end of its part.
    return (start / own == 0 ? 0 : first) + (start / own + 1 == parts ? 0 : own - first);
  }

  // Time of the whole op, as the bytes that a link sends meanwhile. A device with links of 360 GB/s does 2e14 steps of
  // a loop over all factors in a second, and its memory has 3 TB/s.
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
  ReshardPlans& plans_;
  std::vector<Tensor> tensors_;  // Results, then operands.
};

}  // namespace

std::optional<PrimitiveType> PickType(PrimitiveType type) {
  if (IsInteger(type)) return type;
  if (type == PrimitiveType::kPred) return PrimitiveType::kU8;
  if (!IsFloat(type)) return std::nullopt;
  switch (BitWidth(type)) {
    case 8: return PrimitiveType::kU8;
    case 16: return PrimitiveType::kU16;
    case 32: return PrimitiveType::kU32;
    case 64: return PrimitiveType::kU64;
    default: return std::nullopt;
  }
}

std::optional<Literal> NeutralElementOf(const Instruction& inst) {
  const PrimitiveType type = inst.operand(0).shape().type();
  if (inst.Is(Opcode::kDot) || inst.Is(Opcode::kConvolution)) return Literal::Scalar(type, int64_t{0});
  const Computation* reducer = nullptr;
  if (const auto* reduce = inst.attributes().GetIf<ReduceAttrs>()) reducer = reduce->to_apply;
  if (const auto* pool = inst.attributes().GetIf<ReduceWindowAttrs>()) reducer = pool->to_apply;
  if (reducer == nullptr || inst.operand_count() != 2) return std::nullopt;
  const std::optional<Opcode> op = ReducerOp(*reducer);
  return op ? IdentityOf(*op, type) : std::nullopt;
}

OpFit FitOp(const Instruction& inst, const FactorRule& rule, std::span<const ArraySplit> operands,
            std::span<const ArraySplit> results, const Axes& axes, ReshardPlans& plans) {
  return Fitting(inst, rule, operands, results, axes, plans).Best();
}

}  // namespace hlo
