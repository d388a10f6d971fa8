#include "interp/ranges.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"

namespace hlo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One wish on its way from a use to parameters.
struct Wish {
  enum class Kind { kIndex, kPositive, kInterval, kExactly, kScale } kind = Kind::kInterval;
  Interval interval;
  std::vector<Interval> components;
  int64_t component_dim = -1;
  double number = 0;  // kExactly, kScale.

  // Every component in what all may be.
  void Flatten() {
    for (const Interval& c : components) interval = {std::max(interval.low, c.low), std::min(interval.high, c.high)};
    components.clear();
    component_dim = -1;
  }
};

std::optional<double> ConstantOf(const Instruction& inst) {
  const Instruction* at = &inst;
  while (at->Is(Opcode::kBroadcast) || at->Is(Opcode::kReshape) || at->Is(Opcode::kConvert) || at->Is(Opcode::kCopy) ||
         at->Is(Opcode::kBitcast)) {
    at = &at->operand(0);
  }
  if (!at->Is(Opcode::kConstant) || !at->shape().IsArray() || IsComplex(at->shape().type())) return {};
  if (at->shape().NumElements() != 1 && !at->literal().IsSplat()) return {};
  return at->literal().GetDouble(0);
}

class Collector {
 public:
  explicit Collector(const Module& module) : module_(module) {
    for (const Instruction* parameter : module.entry().parameters())
      ranges_.emplace_back(parameter->shape().LeafCount());
    for (const Computation* computation : module.PostOrder()) {
      for (const Instruction* inst : computation->Instructions()) {
        for (const Computation* callee : CalledComputations(*inst)) callers_[callee].push_back(inst);
      }
    }
  }

  std::vector<std::vector<LeafRange>> Run() {
    for (const Computation* computation : module_.PostOrder()) {
      for (const Instruction* inst : computation->Instructions()) AskFor(*inst);
    }
    return std::move(ranges_);
  }

 private:
  // ---- Uses ----

  void AskFor(const Instruction& inst) {
    switch (inst.opcode()) {
      case Opcode::kGather: return AskForGather(inst);
      case Opcode::kScatter: return AskForScatter(inst);
      case Opcode::kDynamicSlice: return AskForStarts(inst, 1, inst.operand(0).shape(), inst.shape());
      case Opcode::kDynamicUpdateSlice: return AskForStarts(inst, 2, inst.operand(0).shape(), inst.operand(1).shape());
      case Opcode::kWhile: return AskForTrips(inst);
      case Opcode::kConditional: return AskForBranch(inst);
      case Opcode::kCompare: return AskForLabels(inst);
      case Opcode::kReduce: return AskForInits(inst, inst.attrs<ReduceAttrs>().to_apply);
      case Opcode::kReduceWindow: return AskForInits(inst, inst.attrs<ReduceWindowAttrs>().to_apply);
      case Opcode::kRsqrt:
      case Opcode::kLog:
      case Opcode::kLog2: return AskPositive(inst.operand(0), 0.25);
      case Opcode::kSqrt: return AskPositive(inst.operand(0), 0);
      case Opcode::kDivide:
        if (IsFloat(inst.shape().type())) AskPositive(inst.operand(1), 0.25);
        return;
      case Opcode::kPower:
        if (!ConstantOf(inst.operand(0))) AskPositive(inst.operand(0), 0.25);
        Ask(inst.operand(1), {}, {.kind = Wish::Kind::kInterval, .interval = {1, 8}});
        return;
      case Opcode::kDot: return AskForScale(inst, inst.attrs<DotAttrs>().lhs_contracting);
      case Opcode::kConvolution: return AskForScale(inst, {});
      default: return;
    }
  }

  void AskForGather(const Instruction& inst) {
    const GatherAttrs& attrs = inst.attrs<GatherAttrs>();
    std::vector<Interval> ranges;
    for (const int64_t d : attrs.start_index_map)
      ranges.push_back({0, static_cast<double>(inst.operand(0).shape().dim(d) - attrs.slice_sizes[d])});
    AskIndex(inst.operand(1), std::move(ranges), attrs.index_vector_dim);
  }

  void AskForScatter(const Instruction& inst) {
    const ScatterAttrs& attrs = inst.attrs<ScatterAttrs>();
    const int64_t arrays = (inst.operand_count() - 1) / 2;
    const Shape &operand = inst.operand(0).shape(), &updates = inst.operand(arrays + 1).shape();
    const auto in = [](const std::vector<int64_t>& list, int64_t d) {
      return std::ranges::find(list, d) != list.end();
    };
    std::vector<int64_t> extent(operand.rank(), 1);
    size_t next = 0;
    for (int64_t d = 0; d < operand.rank(); ++d) {
      if (!in(attrs.inserted_window_dims, d) && !in(attrs.input_batching_dims, d))
        extent[d] = updates.dim(attrs.update_window_dims[next++]);
    }
    std::vector<Interval> ranges;
    for (const int64_t d : attrs.scatter_dims_to_operand_dims)
      ranges.push_back({0, static_cast<double>(operand.dim(d) - extent[d])});
    AskIndex(inst.operand(arrays), std::move(ranges), attrs.index_vector_dim);
  }

  void AskIndex(const Instruction& indices, std::vector<Interval> ranges, int64_t dim) {
    Wish wish{.kind = Wish::Kind::kIndex, .components = std::move(ranges), .component_dim = dim};
    if (wish.components.empty()) return;
    if (dim >= indices.shape().rank() || wish.components.size() == 1) wish.Flatten();
    Ask(indices, {}, std::move(wish));
  }

  void AskForStarts(const Instruction& inst, int64_t first, const Shape& whole, const Shape& slice) {
    for (int64_t d = 0; d + first < inst.operand_count(); ++d) {
      if (!inst.operand(first + d).shape().IsScalar()) return;
      Ask(inst.operand(first + d), {},
          {.kind = Wish::Kind::kIndex, .interval = {0, static_cast<double>(whole.dim(d) - slice.dim(d))}});
    }
  }

  // Whatever the condition compares stays small, so that loops end soon.
  void AskForTrips(const Instruction& loop) {
    const Instruction& root = loop.attrs<WhileAttrs>().condition->root();
    std::vector<const Instruction*> pending{&root};
    while (!pending.empty()) {
      const Instruction* inst = pending.back();
      pending.pop_back();
      if (inst->Is(Opcode::kAnd) || inst->Is(Opcode::kOr) || inst->Is(Opcode::kNot) || inst->Is(Opcode::kFusion) ||
          inst->Is(Opcode::kCall)) {
        for (const Instruction* operand : inst->operands()) pending.push_back(operand);
      }
      if (!inst->Is(Opcode::kCompare) || !IsInteger(inst->operand(0).shape().type())) continue;
      for (const Instruction* operand : inst->operands())
        Ask(*operand, {}, {.kind = Wish::Kind::kInterval, .interval = {0, 8}});
    }
  }

  void AskForBranch(const Instruction& inst) {
    if (inst.operand(0).shape().type() == PrimitiveType::kPred) return;
    const double branches = static_cast<double>(inst.attrs<ConditionalAttrs>().branches().size());
    Ask(inst.operand(0), {}, {.kind = Wish::Kind::kInterval, .interval = {-1, branches}});
  }

  // compare(labels, iota) is a one-hot row: labels are indices into the iota's dimension.
  void AskForLabels(const Instruction& inst) {
    if (inst.attrs<CompareAttrs>().direction != ComparisonDirection::kEq || !IsInteger(inst.operand(0).shape().type()))
      return;
    for (int64_t side = 0; side < 2; ++side) {
      const Instruction* iota = &inst.operand(side);
      while (iota->Is(Opcode::kBroadcast) || iota->Is(Opcode::kReshape) || iota->Is(Opcode::kConvert) ||
             iota->Is(Opcode::kCopy))
        iota = &iota->operand(0);
      if (!iota->Is(Opcode::kIota)) continue;
      const int64_t size = iota->shape().dim(iota->attrs<IotaAttrs>().iota_dimension);
      Ask(inst.operand(1 - side), {}, {.kind = Wish::Kind::kIndex, .interval = {0, static_cast<double>(size - 1)}});
    }
  }

  void AskForInits(const Instruction& inst, const Computation* body) {
    if (inst.operand_count() != 2 || body->parameters().size() != 2) return;
    double identity;
    switch (body->root().opcode()) {
      case Opcode::kAdd:
      case Opcode::kOr:
      case Opcode::kXor: identity = 0; break;
      case Opcode::kMultiply: identity = 1; break;
      case Opcode::kMaximum: identity = -kInfinity; break;
      case Opcode::kMinimum: identity = kInfinity; break;
      default: return;
    }
    Ask(inst.operand(1), {}, {.kind = Wish::Kind::kExactly, .number = identity});
  }

  // Sums of K products keep their size when one side has variance 1/K; uniform on [-s, s] has variance s^2 / 3. The
  // side that is a parameter, moved at most, is the weights.
  void AskForScale(const Instruction& inst, const std::vector<int64_t>& contracting) {
    if (!IsFloat(inst.shape().type())) return;
    double terms = 1;
    if (inst.Is(Opcode::kDot)) {
      for (const int64_t d : contracting) terms *= static_cast<double>(inst.operand(0).shape().dim(d));
    } else {
      const Shape& rhs = inst.operand(1).shape();
      terms = static_cast<double>(rhs.NumElements()) /
              static_cast<double>(
                  std::max<int64_t>(1, rhs.dim(inst.attrs<ConvolutionAttrs>().dim_labels.rhs_output_feature)));
    }
    if (terms < 2) return;
    for (const int64_t side : {1, 0}) {
      const Instruction* from = &inst.operand(side);
      while (from->operand_count() == 1 &&
             (from->Is(Opcode::kTranspose) || from->Is(Opcode::kReshape) || from->Is(Opcode::kConvert) ||
              from->Is(Opcode::kCopy) || from->Is(Opcode::kBroadcast) || from->Is(Opcode::kBitcast) ||
              from->Is(Opcode::kSlice) || from->Is(Opcode::kReverse) || from->Is(Opcode::kGetTupleElement))) {
        from = &from->operand(0);
      }
      if (!from->Is(Opcode::kParameter)) continue;
      Ask(inst.operand(side), {}, {.kind = Wish::Kind::kScale, .number = std::sqrt(3 / terms)});
      return;
    }
  }

  void AskPositive(const Instruction& inst, double low) {
    if (!IsFloat(inst.shape().type())) return;
    Ask(inst, {}, {.kind = Wish::Kind::kPositive, .interval = {low, kInfinity}});
  }

  // ---- Walking backward ----

  // `path` names the leaf of a tuple-shaped `inst`. The same wish asked twice records the same, so each is followed
  // once.
  void Ask(const Instruction& inst, const ShapeIndex& path, Wish wish) {
    const double last = wish.components.empty() ? wish.interval.high : wish.components.back().high;
    if (!asked_.emplace(inst.id(), path, static_cast<int>(wish.kind), wish.interval.low, last, wish.number).second)
      return;
    Step(inst, path, std::move(wish));
  }

  void Step(const Instruction& inst, const ShapeIndex& path, Wish wish) {
    const auto tail = [&] { return ShapeIndex(path.begin() + 1, path.end()); };
    switch (inst.opcode()) {
      case Opcode::kParameter: return AtParameter(inst, path, std::move(wish));
      case Opcode::kTuple: return Ask(inst.operand(path.front()), tail(), std::move(wish));
      case Opcode::kGetTupleElement: {
        ShapeIndex longer{inst.tuple_index()};
        longer.insert(longer.end(), path.begin(), path.end());
        return Ask(inst.operand(0), longer, std::move(wish));
      }
      case Opcode::kCall: return Ask(inst.attrs<CallAttrs>().to_apply->root(), path, std::move(wish));
      case Opcode::kFusion: return Ask(inst.attrs<FusionAttrs>().calls->root(), path, std::move(wish));
      case Opcode::kConditional:
        for (const Computation* branch : inst.attrs<ConditionalAttrs>().branches()) Ask(branch->root(), path, wish);
        return;
      case Opcode::kWhile: Ask(inst.operand(0), path, wish); return AskBody(inst, path, std::move(wish));
      case Opcode::kOptimizationBarrier:
      case Opcode::kCopy:
      case Opcode::kConvert:
      case Opcode::kReducePrecision: return Ask(inst.operand(0), path, std::move(wish));
      case Opcode::kBitcast:
        if (inst.shape().type() != inst.operand(0).shape().type()) return;
        [[fallthrough]];
      case Opcode::kReshape:
      case Opcode::kTranspose:
      case Opcode::kBroadcast:
      case Opcode::kSlice:
      case Opcode::kDynamicSlice:
      case Opcode::kReverse:
      case Opcode::kGather:
        if (inst.Is(Opcode::kReshape) && wish.component_dim == inst.shape().rank() - 1 &&
            inst.operand(0).shape().rank() > 0 &&
            inst.operand(0).shape().dims().back() == static_cast<int64_t>(wish.components.size())) {
          wish.component_dim = inst.operand(0).shape().rank() - 1;
        } else {
          wish.Flatten();
        }
        return Ask(inst.operand(0), {}, std::move(wish));
      case Opcode::kPad:
      case Opcode::kDynamicUpdateSlice:
        wish.Flatten();
        Ask(inst.operand(0), {}, wish);
        return Ask(inst.operand(1), {}, std::move(wish));
      case Opcode::kConcatenate: return AtConcatenate(inst, std::move(wish));
      case Opcode::kSelect: Ask(inst.operand(1), {}, wish); return Ask(inst.operand(2), {}, std::move(wish));
      default: break;
    }
    if (wish.kind == Wish::Kind::kPositive) return PositiveThrough(inst, wish);
    if (wish.kind == Wish::Kind::kIndex || wish.kind == Wish::Kind::kInterval)
      return IntervalThrough(inst, std::move(wish));
  }

  // What a loop hands to its next iteration; counters aside, whose range comes from the trip count.
  void AskBody(const Instruction& loop, const ShapeIndex& path, Wish wish) {
    const Instruction* root = &loop.attrs<WhileAttrs>().body->root();
    size_t depth = 0;
    while (root->Is(Opcode::kTuple) && depth < path.size()) root = &root->operand(path[depth++]);
    if (root->Is(Opcode::kAdd) || root->Is(Opcode::kSubtract)) return;
    Ask(*root, ShapeIndex(path.begin() + depth, path.end()), std::move(wish));
  }

  void AtConcatenate(const Instruction& inst, Wish wish) {
    const int64_t dim = inst.attrs<OneDimensionAttrs>().dimension.value;
    if (dim != wish.component_dim) {
      wish.Flatten();
      for (const Instruction* operand : inst.operands()) Ask(*operand, {}, wish);
      return;
    }
    size_t first = 0;
    for (const Instruction* operand : inst.operands()) {
      Wish part = wish;
      const size_t count = static_cast<size_t>(operand->shape().dim(dim));
      part.components.assign(wish.components.begin() + first,
                             wish.components.begin() + std::min(first + count, wish.components.size()));
      first += count;
      if (part.components.size() == 1) part.Flatten();
      Ask(*operand, {}, std::move(part));
    }
  }

  // Sums, products and quotients of positive numbers are positive; squares and exponentials need nothing.
  void PositiveThrough(const Instruction& inst, const Wish& wish) {
    const auto both = [&](double low) {
      for (int64_t i = 0; i < 2; ++i) {
        if (!ConstantOf(inst.operand(i)))
          Ask(inst.operand(i), {}, {.kind = Wish::Kind::kPositive, .interval = {low, kInfinity}});
      }
    };
    switch (inst.opcode()) {
      case Opcode::kAdd: return both(wish.interval.low);
      case Opcode::kMultiply:
        if (&inst.operand(0) == &inst.operand(1)) return;
        return both(wish.interval.low);
      case Opcode::kDivide: return both(std::max(wish.interval.low, 0.25));
      case Opcode::kSqrt:
      case Opcode::kCbrt: return Ask(inst.operand(0), {}, wish);
      case Opcode::kMaximum: {
        const auto a = ConstantOf(inst.operand(0)), b = ConstantOf(inst.operand(1));
        if ((a && *a > 0) || (b && *b > 0)) return;
        return both(wish.interval.low);
      }
      case Opcode::kReduce: return Ask(inst.operand(0), {}, wish);
      default: return;
    }
  }

  // Index arithmetic with constants, inverted.
  void IntervalThrough(const Instruction& inst, Wish wish) {
    if (inst.operand_count() < 1) return;
    if (inst.Is(Opcode::kClamp)) return Ask(inst.operand(1), {}, std::move(wish));  // Clamped again or not, it fits.
    if (inst.Is(Opcode::kNegate)) {
      wish.Flatten();
      wish.interval = {-wish.interval.high, -wish.interval.low};
      return Ask(inst.operand(0), {}, std::move(wish));
    }
    if (inst.operand_count() != 2) return;
    const auto a = ConstantOf(inst.operand(0)), b = ConstantOf(inst.operand(1));
    const bool left = b.has_value();  // The operand that is asked.
    if (!a && !b) return;
    const double c = left ? *b : *a;
    const Instruction& rest = inst.operand(left ? 0 : 1);
    const auto shift = [&](auto&& map) {
      wish.interval = map(wish.interval);
      for (Interval& component : wish.components) component = map(component);
      Ask(rest, {}, wish);
    };
    switch (inst.opcode()) {
      case Opcode::kAdd:
        // x + n as the "counted from the end" half of a select: the other half asks for what matters.
        return shift([&](Interval i) { return Interval{i.low - c, i.high - c}; });
      case Opcode::kSubtract:
        if (left) return shift([&](Interval i) { return Interval{i.low + c, i.high + c}; });
        return shift([&](Interval i) { return Interval{c - i.high, c - i.low}; });
      case Opcode::kMultiply:
        if (c <= 0) return;
        return shift([&](Interval i) { return Interval{std::ceil(i.low / c), std::floor(i.high / c)}; });
      case Opcode::kMaximum:
      case Opcode::kMinimum:
      case Opcode::kRemainder:
      case Opcode::kAnd: return shift([](Interval i) { return i; });
      default: return;
    }
  }

  void AtParameter(const Instruction& parameter, const ShapeIndex& path, Wish wish) {
    const Computation& computation = parameter.computation();
    if (computation.IsEntry()) return Record(parameter, path, std::move(wish));
    for (const Instruction* caller : callers_[&computation]) {
      switch (caller->opcode()) {
        case Opcode::kCall:
        case Opcode::kFusion: Ask(caller->operand(parameter.parameter_number()), path, wish); break;
        case Opcode::kWhile:
          Ask(caller->operand(0), path, wish);
          AskBody(*caller, path, wish);
          break;
        case Opcode::kConditional: {
          const auto branches = caller->attrs<ConditionalAttrs>().branches();
          for (size_t i = 0; i < branches.size(); ++i) {
            if (branches[i] == &computation) Ask(caller->operand(i + 1), path, wish);
          }
          break;
        }
        default: break;  // Scalar bodies: nothing to ask of single elements.
      }
    }
  }

  void Record(const Instruction& parameter, const ShapeIndex& path, Wish wish) {
    int64_t leaf = 0, at = 0;
    ForEachLeaf(parameter.shape(), [&](const ShapeIndex& index, const Shape&) {
      if (index == path) leaf = at;
      ++at;
    });
    LeafRange& range = ranges_[parameter.parameter_number()][leaf];
    switch (wish.kind) {
      case Wish::Kind::kExactly: range.exactly = wish.number; return;
      case Wish::Kind::kScale: range.scale = std::min(range.scale, wish.number); return;
      default: break;
    }
    if (wish.kind == Wish::Kind::kIndex) range.is_index = true;
    if (!wish.components.empty() && range.components.empty()) {
      range.components = wish.components;
      range.component_dim = wish.component_dim;
      return;
    }
    wish.Flatten();
    const Interval meet{std::max(range.interval.low, wish.interval.low),
                        std::min(range.interval.high, wish.interval.high)};
    if (meet.low <= meet.high) {
      range.interval = meet;
      return;
    }
    range.conflict = Str("'", parameter.name(), "' is asked to lie in [", range.interval.low, ", ", range.interval.high,
                         "] and in [", wish.interval.low, ", ", wish.interval.high, "]");
    if (wish.kind == Wish::Kind::kIndex) range.interval = wish.interval;  // Indices first.
  }

  const Module& module_;
  std::vector<std::vector<LeafRange>> ranges_;
  std::unordered_map<const Computation*, std::vector<const Instruction*>> callers_;
  std::set<std::tuple<int, ShapeIndex, int, double, double, double>> asked_;
};

}  // namespace

std::vector<std::vector<LeafRange>> CollectRanges(const Module& module) { return Collector(module).Run(); }

}  // namespace hlo
