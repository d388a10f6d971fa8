#include "judge/reach/value_bounds.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "ir/analysis/trip_count.h"
#include "ir/module.h"
#include "ir/reducer.h"
#include "judge/reach/leaf_flow.h"
#include "judge/reach/result_bounds.h"

namespace hlo {
namespace {

// After this many rounds, bounds that still grow become the limits of their type.
constexpr int kRoundsToGrow = 4;

class Finder {
 public:
  explicit Finder(const Module& module) : module_(module), leaves_(LeavesOf<Bounds>(module)) {}

  std::vector<std::vector<Bounds>> Run() {
    for (const Instruction* parameter : module_.entry().parameters()) SetAll(*parameter);
    do {
      changed_ = false;
      ++round_;
      const std::vector<Computation*> order = module_.PostOrder();
      for (auto computation = order.rbegin(); computation != order.rend(); ++computation) {
        if (!IsReached(**computation)) continue;
        for (const Instruction* inst : (*computation)->PostOrder()) Visit(*inst);
      }
    } while (changed_);
    return std::move(leaves_);
  }

 private:
  bool IsReached(const Computation& computation) const {
    return computation.IsEntry() || computation.parameters().empty() ||
           std::ranges::any_of(computation.parameters(), [&](const Instruction* parameter) {
             return std::ranges::any_of(leaves_[parameter->id()], [](const Bounds& leaf) { return !leaf.IsEmpty(); });
           });
  }

  void Set(const Instruction& inst, size_t leaf, const Bounds& bounds, PrimitiveType type) {
    std::vector<Bounds>& leaves = leaves_[inst.id()];
    if (leaf >= leaves.size()) return;
    Bounds joined = Join(leaves[leaf], bounds);
    if (joined == leaves[leaf]) return;
    if (round_ > kRoundsToGrow && !leaves[leaf].IsEmpty()) {
      const Bounds all = AllOf(type);
      if (joined.low < leaves[leaf].low) joined.low = all.low;
      if (joined.high > leaves[leaf].high) joined.high = all.high;
    }
    leaves[leaf] = joined;
    changed_ = true;
  }
  void Set(const Instruction& inst, const Bounds& bounds) {
    if (inst.shape().IsArray()) Set(inst, 0, bounds, inst.shape().type());
  }
  void SetAll(const Instruction& inst) {
    size_t leaf = 0;
    ForEachLeaf(inst.shape(), [&](const ShapeIndex&, const Shape& shape) {
      Set(inst, leaf++, shape.IsArray() ? AllOf(shape.type()) : Bounds{0, 0}, shape.type());
    });
  }
  void Copy(const Instruction& from, const Instruction& to, size_t first_from = 0, size_t first_to = 0) {
    size_t leaf = 0;
    ForEachLeaf(to.shape(), [&](const ShapeIndex&, const Shape& shape) {
      const std::vector<Bounds>& source = leaves_[from.id()];
      if (leaf >= first_to && leaf - first_to + first_from < source.size() &&
          leaf - first_to < static_cast<size_t>(std::max<int64_t>(1, from.shape().LeafCount())))
        Set(to, leaf, source[leaf - first_to + first_from], shape.type());
      ++leaf;
    });
  }

  const Bounds& Of(const Instruction& inst) const { return leaves_[inst.id()][0]; }
  const Bounds& Operand(const Instruction& inst, int64_t i) const { return Of(inst.operand(i)); }

  void Visit(const Instruction& inst) {
    const auto copy = [&](auto&&... args) { Copy(args...); };
    if (inst.Is(Opcode::kParameter) || CopiesLeaves(inst, copy)) return;
    switch (inst.opcode()) {
      case Opcode::kConditional: return VisitConditional(inst);
      case Opcode::kWhile: return VisitLoop(inst);
      case Opcode::kReduce:
      case Opcode::kReduceWindow: return VisitReduce(inst);
      case Opcode::kSort:
        for (int64_t i = 0; i < inst.operand_count(); ++i) Copy(inst.operand(i), inst, 0, static_cast<size_t>(i));
        break;
      default: break;
    }
    for (const Computation* called : CalledComputations(inst)) {
      for (const Instruction* parameter : called->parameters()) SetAll(*parameter);
    }
    if (inst.Is(Opcode::kSort)) return;
    if (inst.Is(Opcode::kTopK)) {
      Copy(inst.operand(0), inst);
      const Shape& from = inst.operand(0).shape();
      return Set(inst, 1, {0, static_cast<double>(from.dim(from.rank() - 1) - 1)}, inst.shape().element(1).type());
    }
    if (!inst.shape().IsArray() || IsComplex(inst.shape().type())) return SetAll(inst);
    if (inst.shape().NumElements() == 0 && !inst.shape().HasDynamicDims()) return;
    const bool waits = std::ranges::any_of(inst.operands(), [&](const Instruction* x) {
      return x->shape().IsArray() && !IsComplex(x->shape().type()) && x->shape().NumElements() > 0 && Of(*x).IsEmpty();
    });
    if (waits) return;
    std::vector<Bounds> operands;
    for (const Instruction* operand : inst.operands()) operands.push_back(Of(*operand));
    Set(inst, BoundsOfResult(inst, operands));
  }

  void VisitReduce(const Instruction& inst) {
    const Computation& reducer = *CalledComputations(inst)[0];
    const int64_t arrays = inst.operand_count() / 2;
    const Shape& from = inst.operand(0).shape();
    if (arrays == 1 && IsInteger(from.type()) && ReducerOp(reducer) == Opcode::kAdd) {
      const Bounds &term = Operand(inst, 0), &init = Operand(inst, 1);
      if (term.IsEmpty() || init.IsEmpty()) return;
      double terms = static_cast<double>(from.NumElements());
      if (inst.Is(Opcode::kReduce)) terms /= static_cast<double>(std::max<int64_t>(1, inst.shape().NumElements()));
      const double low = init.low + std::min(0.0, terms * term.low),
                   high = init.high + std::max(0.0, terms * term.high);
      for (const Instruction* parameter : reducer.parameters()) SetAll(*parameter);
      return Set(inst, Computed(from.type(), low, high, false));
    }
    for (int64_t i = 0; i < arrays; ++i) {
      const auto leaf = static_cast<size_t>(i);
      Copy(inst.operand(arrays + i), reducer.parameter(i));
      Copy(inst.operand(i), reducer.parameter(arrays + i));
      Copy(reducer.root(), reducer.parameter(i), leaf);
      // The order of a reduction is not defined, so both parameters of the reducer may be partial results.
      Copy(reducer.parameter(i), reducer.parameter(arrays + i));
      Copy(inst.operand(arrays + i), inst, 0, leaf);
      Copy(reducer.root(), inst, leaf, leaf);
    }
  }

  void VisitConditional(const Instruction& inst) {
    const auto branches = inst.attrs<ConditionalAttrs>().branches();
    const Bounds& index = Operand(inst, 0);
    if (index.IsEmpty()) return;
    const bool is_pred = inst.operand(0).shape().type() == PrimitiveType::kPred;
    const auto count = static_cast<int64_t>(branches.size());
    for (int64_t i = 0; i < count; ++i) {
      const double value = static_cast<double>(is_pred ? 1 - i : i);
      const bool is_taken = (value >= index.low && value <= index.high) ||
                            (!is_pred && i == count - 1 && (index.low < 0 || index.high >= static_cast<double>(count)));
      if (!is_taken) continue;
      Copy(inst.operand(i + 1), branches[i]->parameter(0));
      Copy(branches[i]->root(), inst);
    }
  }

  void VisitLoop(const Instruction& loop) {
    const WhileAttrs& attrs = loop.attrs<WhileAttrs>();
    Copy(loop.operand(0), loop);
    Copy(attrs.body->root(), loop);
    Copy(loop, attrs.condition->parameter(0));
    const std::vector<Bounds> state = leaves_[loop.id()];
    size_t leaf = 0;
    const std::optional<int64_t> trips = DerivedTripCount(loop);
    ForEachLeaf(loop.shape(), [&](const ShapeIndex& index, const Shape& shape) {
      Bounds bounds = state[leaf];
      if (index.size() == 1) Limit(attrs.condition->root(), index[0], bounds);
      if (index.size() == 1 && trips && shape.IsScalar()) Count(loop, index[0], *trips, shape.type(), bounds);
      if (shape.IsArray()) Set(attrs.body->parameter(0), leaf, bounds, shape.type());
      ++leaf;
    });
  }

  static void Count(const Instruction& loop, int64_t i, int64_t trips, PrimitiveType type, Bounds& bounds) {
    const auto counter = InductionOf(loop, i);
    if (!counter || trips == 0) return;
    const auto first = static_cast<double>(counter->first);
    const double last = first + static_cast<double>(counter->step) * static_cast<double>(trips - 1);
    const Bounds counted = Computed(type, std::min(first, last), std::max(first, last), false);
    bounds = {std::max(bounds.low, counted.low), std::min(bounds.high, counted.high)};
  }

  void Limit(const Instruction& condition, int64_t i, Bounds& bounds) const {
    using D = ComparisonDirection;
    if (condition.Is(Opcode::kAnd)) {
      Limit(condition.operand(0), i, bounds);
      return Limit(condition.operand(1), i, bounds);
    }
    if (!condition.Is(Opcode::kCompare) || !IsInteger(condition.operand(0).shape().type())) return;
    D direction = condition.attrs<CompareAttrs>().direction;
    for (const int64_t side : {0, 1}) {
      if (ElementOfState(condition.operand(side)) != i) continue;
      const Bounds& other = Operand(condition, 1 - side);
      if (other.IsEmpty()) continue;
      const bool is_less =
          side == 0 ? direction == D::kLt || direction == D::kLe : direction == D::kGt || direction == D::kGe;
      const bool is_more =
          side == 0 ? direction == D::kGt || direction == D::kGe : direction == D::kLt || direction == D::kLe;
      const double step = direction == D::kLt || direction == D::kGt ? 1 : 0;
      if (is_less) bounds.high = std::min(bounds.high, other.high - step);
      if (is_more) bounds.low = std::max(bounds.low, other.low + step);
    }
  }

  const Module& module_;
  std::vector<std::vector<Bounds>> leaves_;
  bool changed_ = false;
  int round_ = 0;
};

}  // namespace

ValueBounds::ValueBounds(const Module& module) : leaves_(Finder(module).Run()) {}

bool ValueBounds::IsNeverGiven(const Instruction& parameter) const {
  bool never = true;
  size_t leaf = 0;
  ForEachLeaf(parameter.shape(), [&](const ShapeIndex&, const Shape& shape) {
    never = never && leaves_[parameter.id()][leaf++].IsEmpty() && (!shape.IsArray() || shape.NumElements() > 0);
  });
  return never && leaves_[parameter.id()].size() == leaf;
}

}  // namespace hlo
