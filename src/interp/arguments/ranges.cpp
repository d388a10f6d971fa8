#include "interp/arguments/ranges.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "interp/functions.h"
#include "ir/reducer.h"

namespace hlo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Requirement {
  enum class Kind { kIndex, kPositive, kInterval, kExactly, kScale, kKey, kSummed } kind = Kind::kInterval;
  ClosedInterval interval;
  std::vector<ClosedInterval> components;
  int64_t component_dim = -1;
  double number = 0;  // For kExactly and kScale.
  int64_t dim = -1;   // For kKey and kSummed.
  enum Flags : int {
    kPromised = 1,
    kSorted = 2,
    kUnique = 4,
    kStart = 8,
    kTrips = 16,
    kDistinct = 32,
    kRepeats = 64,
  };
  int flags = 0;

  bool Has(Flags flag) const { return (flags & flag) != 0; }
  void Drop(int gone) { flags &= ~gone; }

  void Flatten() {
    if (components.size() > 1) Drop(kSorted | kUnique);
    for (const ClosedInterval& c : components)
      interval = {std::max(interval.low, c.low), std::min(interval.high, c.high)};
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

const Instruction& Bare(const Instruction& inst) {
  const Instruction* at = &inst;
  while (at->Is(Opcode::kConvert) || at->Is(Opcode::kCopy) || at->Is(Opcode::kBroadcast) || at->Is(Opcode::kReshape))
    at = &at->operand(0);
  return *at;
}

// Whether `wrapped` is `index` + n. A select of both counts negative indices from the end.
bool IsWrapped(const Instruction& wrapped, const Instruction& index) {
  const Instruction& sum = Bare(wrapped);
  if (!sum.Is(Opcode::kAdd) || !IsInteger(sum.shape().type())) return false;
  for (int64_t side = 0; side < 2; ++side) {
    if (ConstantOf(sum.operand(1 - side)) && &Bare(sum.operand(side)) == &Bare(index)) return true;
  }
  return false;
}

// The operand's dimension for `dim` of the result, or -1. `dim` may exceed the rank, because a pad passes the dimension
// of the padded array to its scalar.
int64_t OperandDim(const Instruction& inst, int64_t dim) {
  const Shape &from = inst.operand(0).shape(), &to = inst.shape();
  if (dim < 0 || dim >= to.rank()) return -1;
  switch (inst.opcode()) {
    case Opcode::kTranspose: return inst.attrs<DimensionsAttrs>().dimensions[dim];
    case Opcode::kBroadcast: {
      const auto& dims = inst.attrs<DimensionsAttrs>().dimensions;
      const auto found = std::ranges::find(dims, dim);
      return found == dims.end() ? -1 : found - dims.begin();
    }
    case Opcode::kReshape:
    case Opcode::kBitcast: {
      const std::vector<int64_t> strides = RowMajorStrides(from.dims());
      const int64_t stride = RowMajorStrides(to.dims())[dim];
      for (int64_t d = 0; d < from.rank(); ++d) {
        if (strides[d] == stride && from.dim(d) == to.dim(dim)) return d;
      }
      return -1;
    }
    default: return from.rank() == to.rank() ? dim : -1;
  }
}

// Identities of a reducer with `arrays` accumulators, such as (max, sum) and arg-reductions. Nullopt if unknown.
std::vector<std::optional<double>> IdentitiesOf(const Computation& body, int64_t arrays) {
  std::vector<std::optional<double>> identities(arrays);
  // The number of the parameter that `inst` is, or -1. Component k is parameter k of the accumulator, or k + arrays of
  // the element.
  const auto component = [&](const Instruction& inst) {
    const Instruction& bare = Bare(inst);
    return bare.Is(Opcode::kParameter) ? bare.parameter_number() : -1;
  };
  const auto are_both = [&](const Instruction& a, const Instruction& b, int64_t k) {
    return (component(a) == k && component(b) == k + arrays) || (component(b) == k && component(a) == k + arrays);
  };
  // +1 if a select keeps the larger value, -1 for the smaller one, else 0. Searches operands of `or`, which adds a test
  // for NaN, but not of `and`, which adds one for equal values.
  const auto chosen = [&](const Instruction& select, int64_t k) {
    const bool keeps_accumulator = component(select.operand(1)) == k;
    std::vector<const Instruction*> pending{&select.operand(0)};
    while (!pending.empty()) {
      const Instruction& at = *pending.back();
      pending.pop_back();
      if (at.Is(Opcode::kOr)) pending.insert(pending.end(), {&at.operand(0), &at.operand(1)});
      if (!at.Is(Opcode::kCompare) || !are_both(at.operand(0), at.operand(1), k)) continue;
      const ComparisonDirection direction = at.attrs<CompareAttrs>().direction;
      const bool greater = direction == ComparisonDirection::kGt || direction == ComparisonDirection::kGe;
      if (!greater && direction != ComparisonDirection::kLt && direction != ComparisonDirection::kLe) continue;
      const bool accumulator_first = component(at.operand(0)) == k;
      return (greater == accumulator_first) == keeps_accumulator ? 1 : -1;
    }
    return 0;
  };
  bool searches = false;
  for (int64_t k = 0; k < arrays; ++k) {
    const Instruction* root = &body.root();
    if (root->Is(Opcode::kTuple)) root = &root->operand(k);
    root = &Bare(*root);
    if (root->operand_count() == 2 && are_both(root->operand(0), root->operand(1), k)) {
      // Programs start sums with +0 instead of the identity -0.
      if (const auto number = IdentityOf(root->opcode(), PrimitiveType::kF64)) {
        identities[k] = number->GetDouble(0) + 0.0;
      } else if (const auto bits = IdentityOf(root->opcode(), root->shape().type())) {
        identities[k] = static_cast<double>(bits->GetInt(0));
      }
    }
    if (root->Is(Opcode::kSelect) && are_both(root->operand(1), root->operand(2), k)) {
      const int larger = chosen(*root, k);
      if (larger != 0) identities[k] = larger > 0 ? -kInfinity : kInfinity;
      searches = searches || larger != 0;
    }
  }
  for (int64_t k = 0; searches && k < arrays; ++k) {
    if (identities[k]) continue;
    const Instruction* root = &body.root();
    if (root->Is(Opcode::kTuple)) root = &root->operand(k);
    if (IsInteger(root->shape().type())) identities[k] = 0;  // The index of an arg-reduction.
  }
  return identities;
}

class Collector {
 public:
  explicit Collector(const Module& module) : module_(module) {
    for (const Instruction* parameter : module.entry().parameters())
      ranges_.parameters.emplace_back(parameter->shape().LeafCount());
    ranges_.elided.resize(module.id_limit());
    for (const Computation* computation : module.PostOrder()) {
      for (const Instruction* inst : computation->Instructions()) {
        for (const Computation* callee : CalledComputations(*inst)) callers_[callee].push_back(inst);
      }
    }
  }

  Ranges Run() {
    for (const Computation* computation : module_.PostOrder()) {
      for (const Instruction* inst : computation->Instructions()) RequireFor(*inst);
    }
    return std::move(ranges_);
  }

 private:
  struct Pending {
    const Instruction* inst;
    ShapeIndex path;
    Requirement requirement;
  };

  // ---- Uses ----

  void RequireFor(const Instruction& inst) {
    switch (inst.opcode()) {
      case Opcode::kGather: return RequireForGather(inst);
      case Opcode::kScatter: return RequireForScatter(inst);
      case Opcode::kDynamicSlice: return RequireStarts(inst, 1, inst.operand(0).shape(), inst.shape());
      case Opcode::kDynamicUpdateSlice: return RequireStarts(inst, 2, inst.operand(0).shape(), inst.operand(1).shape());
      case Opcode::kSetDimensionSize: return RequireSize(inst);
      case Opcode::kWhile: return RequireTrips(inst);
      case Opcode::kConditional: return RequireForBranch(inst);
      case Opcode::kCompare: return RequireLabels(inst);
      case Opcode::kReduce: return RequireForReduce(inst);
      case Opcode::kReduceWindow: return RequireInits(inst, *inst.attrs<ReduceWindowAttrs>().to_apply);
      case Opcode::kSelectAndScatter:
        RequireKeys(inst.operand(0), -1, 0);
        return RequireInit(inst.operand(2), IdentitiesOf(*inst.attrs<SelectAndScatterAttrs>().scatter, 1)[0]);
      case Opcode::kSort: return RequireForSort(inst);
      case Opcode::kTopK:
        return RequireKeys(inst.operand(0), inst.operand(0).shape().rank() - 1, Requirement::kDistinct);
      case Opcode::kDivide:
      case Opcode::kRemainder:
        if (IsInteger(inst.shape().type()) && !ConstantOf(inst.operand(1)))
          Require(inst.operand(1), {}, {.kind = Requirement::Kind::kInterval, .interval = {1, kInfinity}});
        return RequirePositive(inst.operand(1), 0.25);
      case Opcode::kPower:
        if (!ConstantOf(inst.operand(0))) RequirePositive(inst.operand(0), 0.25);
        Require(inst.operand(1), {}, {.kind = Requirement::Kind::kInterval, .interval = {1, 8}});
        return;
      case Opcode::kDot: {
        const DotAttrs& attrs = inst.attrs<DotAttrs>();
        if (!attrs.lhs_contracting.empty() && IsFloat(inst.shape().type())) {
          Require(inst.operand(0), {}, {.kind = Requirement::Kind::kSummed, .dim = attrs.lhs_contracting.back()});
          Require(inst.operand(1), {},
                  {.kind = Requirement::Kind::kSummed,
                   .dim = attrs.rhs_contracting.back(),
                   .flags = Requirement::kRepeats});
        }
        return RequireScale(inst, attrs.lhs_contracting);
      }
      case Opcode::kConvolution: return RequireScale(inst, {});
      default:
        if (const FloatFunction* function = FloatFunctionOf(inst.opcode())) RequireForArgument(inst, *function);
    }
  }

  void RequireForGather(const Instruction& inst) {
    const GatherAttrs& attrs = inst.attrs<GatherAttrs>();
    std::vector<ClosedInterval> ranges;
    for (const int64_t d : attrs.start_index_map)
      ranges.push_back({0, static_cast<double>(inst.operand(0).shape().dim(d) - attrs.slice_sizes[d])});
    RequireIndex(inst.operand(1), std::move(ranges), attrs.index_vector_dim,
                 attrs.indices_are_sorted ? Requirement::kSorted | Requirement::kPromised : 0);
  }

  void RequireForScatter(const Instruction& inst) {
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
    std::vector<ClosedInterval> ranges;
    for (const int64_t d : attrs.scatter_dims_to_operand_dims)
      ranges.push_back({0, static_cast<double>(operand.dim(d) - extent[d])});
    RequireIndex(inst.operand(arrays), std::move(ranges), attrs.index_vector_dim,
                 (attrs.indices_are_sorted ? Requirement::kSorted | Requirement::kPromised : 0) |
                     (attrs.unique_indices ? Requirement::kUnique | Requirement::kPromised : 0));
  }

  void RequireIndex(const Instruction& indices, std::vector<ClosedInterval> ranges, int64_t dim, int flags) {
    Requirement requirement{
        .kind = Requirement::Kind::kIndex, .components = std::move(ranges), .component_dim = dim, .flags = flags};
    if (requirement.components.empty()) return;
    if (dim >= indices.shape().rank() || requirement.components.size() == 1) requirement.Flatten();
    Require(indices, {}, std::move(requirement));
  }

  void RequireStarts(const Instruction& inst, int64_t first, const Shape& whole, const Shape& slice) {
    for (int64_t d = 0; d + first < inst.operand_count(); ++d) {
      if (!inst.operand(first + d).shape().IsScalar()) return;
      Require(inst.operand(first + d), {},
              {.kind = Requirement::Kind::kIndex,
               .interval = {0, static_cast<double>(whole.dim(d) - slice.dim(d))},
               .flags = Requirement::kStart});
    }
  }

  // kInterval is a range that no profile exceeds: a larger size would be an error (R006).
  void RequireSize(const Instruction& inst) {
    const int64_t most = inst.operand(0).shape().dim(inst.attrs<OneDimensionAttrs>().dimension.value);
    Require(inst.operand(1), {}, {.kind = Requirement::Kind::kInterval, .interval = {0, static_cast<double>(most)}});
  }

  // Integers that the condition compares stay small, so that loops end soon.
  void RequireTrips(const Instruction& loop) {
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
        Require(*operand, {}, {.kind = Requirement::Kind::kInterval, .interval = {0, 8}, .flags = Requirement::kTrips});
    }
  }

  void RequireForBranch(const Instruction& inst) {
    if (inst.operand(0).shape().type() == PrimitiveType::kPred) return;
    const double branches = static_cast<double>(inst.attrs<ConditionalAttrs>().branches().size());
    Require(inst.operand(0), {}, {.kind = Requirement::Kind::kInterval, .interval = {-1, branches}});
  }

  // compare(labels, iota) makes one-hot rows, so labels are below the size of the iota.
  void RequireLabels(const Instruction& inst) {
    if (inst.attrs<CompareAttrs>().direction != ComparisonDirection::kEq || !IsInteger(inst.operand(0).shape().type()))
      return;
    for (int64_t side = 0; side < 2; ++side) {
      const Instruction* iota = &inst.operand(side);
      while (iota->Is(Opcode::kBroadcast) || iota->Is(Opcode::kReshape) || iota->Is(Opcode::kConvert) ||
             iota->Is(Opcode::kCopy))
        iota = &iota->operand(0);
      if (!iota->Is(Opcode::kIota)) continue;
      const int64_t size = iota->shape().dim(iota->attrs<IotaAttrs>().iota_dimension);
      Require(inst.operand(1 - side), {},
              {.kind = Requirement::Kind::kIndex, .interval = {0, static_cast<double>(size - 1)}});
    }
  }

  void RequireForReduce(const Instruction& inst) {
    const ReduceAttrs& attrs = inst.attrs<ReduceAttrs>();
    RequireInits(inst, *attrs.to_apply);
    const int64_t arrays = inst.operand_count() / 2, dim = attrs.dimensions.empty() ? -1 : attrs.dimensions.back();
    const Instruction& root = attrs.to_apply->root();
    if (arrays == 1 && root.Is(Opcode::kAdd) && IsFloat(inst.shape().type()))
      return Require(inst.operand(0), {}, {.kind = Requirement::Kind::kSummed, .dim = dim});
    if (arrays == 1) return;
    const auto identities = IdentitiesOf(*attrs.to_apply, arrays);
    for (int64_t k = 0; k < arrays; ++k) {
      if (identities[k] && std::isinf(*identities[k])) RequireKeys(inst.operand(k), dim, 0);
    }
  }

  void RequireInits(const Instruction& inst, const Computation& body) {
    const int64_t arrays = inst.operand_count() / 2;
    const auto identities = IdentitiesOf(body, arrays);
    for (int64_t k = 0; k < arrays; ++k) RequireInit(inst.operand(arrays + k), identities[k]);
  }

  void RequireInit(const Instruction& init, std::optional<double> identity) {
    if (identity) Require(init, {}, {.kind = Requirement::Kind::kExactly, .number = *identity});
  }

  void RequireKeys(const Instruction& keys, int64_t dim, int flags) {
    Require(keys, {}, {.kind = Requirement::Kind::kKey, .dim = dim, .flags = flags});
  }

  // Equal keys matter only in stable sorts or with further operands.
  void RequireForSort(const Instruction& inst) {
    const SortAttrs& attrs = inst.attrs<SortAttrs>();
    const int flags = inst.operand_count() > 1 || attrs.is_stable ? Requirement::kDistinct : 0;
    std::set<const Instruction*> seen;
    std::vector<const Instruction*> pending{&attrs.to_apply->root()};
    while (!pending.empty()) {
      const Instruction* at = pending.back();
      pending.pop_back();
      if (!seen.insert(at).second) continue;
      if (at->Is(Opcode::kParameter))
        RequireKeys(inst.operand(at->parameter_number() / 2), attrs.dimension.value, flags);
      for (const Instruction* operand : at->operands()) pending.push_back(operand);
    }
  }

  // Sums of K products keep their size if one side, preferably the right one, has variance 1/K. Uniform numbers in [-s,
  // s] have variance s^2 / 3.
  void RequireScale(const Instruction& inst, const std::vector<int64_t>& contracting) {
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
              from->Is(Opcode::kSlice) || from->Is(Opcode::kReverse) || from->Is(Opcode::kShuffle) ||
              from->Is(Opcode::kGetTupleElement))) {
        from = &from->operand(0);
      }
      if (!from->Is(Opcode::kParameter) && !from->Is(Opcode::kElidedConstant)) continue;
      Require(inst.operand(side), {}, {.kind = Requirement::Kind::kScale, .number = std::sqrt(3 / terms)});
      return;
    }
  }

  void RequireForArgument(const Instruction& inst, const FloatFunction& function) {
    const auto [low, high] = function.facts.made_up;
    if (high < kInfinity && IsFloat(inst.shape().type()))
      return Require(inst.operand(0), {}, {.kind = Requirement::Kind::kInterval, .interval = {low, high}});
    if (high == kInfinity && low > -kInfinity) RequirePositive(inst.operand(0), low);
  }

  void RequirePositive(const Instruction& inst, double low) {
    if (!IsFloat(inst.shape().type())) return;
    Require(inst, {}, {.kind = Requirement::Kind::kPositive, .interval = {low, kInfinity}});
  }

  // ---- Walking backward ----

  // Passes a requirement from `inst`, or its leaf `path`, towards parameters. Follows each requirement once.
  void Require(const Instruction& inst, const ShapeIndex& path, Requirement requirement) {
    pending_.push_back({&inst, path, std::move(requirement)});
    if (is_following_) return;
    is_following_ = true;
    while (!pending_.empty()) {
      Pending pending = std::move(pending_.back());
      pending_.pop_back();
      if (!IsNew(pending)) continue;
      const size_t before = pending_.size();
      Step(*pending.inst, pending.path, std::move(pending.requirement));
      std::reverse(pending_.begin() + static_cast<int64_t>(before), pending_.end());
    }
    is_following_ = false;
  }

  // Only the first kMostRequirements of a leaf count, because a loop counter whose step is in a fusion gets new ones
  // without end.
  bool IsNew(const Pending& pending) {
    constexpr int kMostRequirements = 100;
    const Requirement& requirement = pending.requirement;
    const double last = requirement.components.empty() ? requirement.interval.high : requirement.components.back().high;
    const bool is_new =
        seen_
            .emplace(pending.inst->id(), pending.path, static_cast<int>(requirement.kind), requirement.flags,
                     requirement.dim, requirement.interval.low, last, requirement.number)
            .second;
    return is_new && ++requirement_count_[{pending.inst->id(), pending.path}] <= kMostRequirements;
  }

  void Step(const Instruction& inst, const ShapeIndex& path, Requirement requirement) {
    const auto tail = [&] { return ShapeIndex(path.begin() + 1, path.end()); };
    switch (inst.opcode()) {
      case Opcode::kParameter: return AtParameter(inst, path, std::move(requirement));
      case Opcode::kElidedConstant:
        ranges_.elided[inst.id()].resize(inst.shape().LeafCount());
        return Record(inst, ranges_.elided[inst.id()], path, std::move(requirement));
      case Opcode::kTuple: return Require(inst.operand(path.front()), tail(), std::move(requirement));
      case Opcode::kGetTupleElement: {
        ShapeIndex longer{inst.tuple_index()};
        longer.insert(longer.end(), path.begin(), path.end());
        return Require(inst.operand(0), longer, std::move(requirement));
      }
      case Opcode::kCall: return Require(inst.attrs<CallAttrs>().to_apply->root(), path, std::move(requirement));
      case Opcode::kFusion: return Require(inst.attrs<FusionAttrs>().calls->root(), path, std::move(requirement));
      case Opcode::kConditional:
        for (const Computation* branch : inst.attrs<ConditionalAttrs>().branches())
          Require(branch->root(), path, requirement);
        return;
      case Opcode::kWhile:
        Require(inst.operand(0), path, requirement);
        return RequireOfBody(inst, path, std::move(requirement));
      case Opcode::kOptimizationBarrier:
      case Opcode::kCopy:
      case Opcode::kConvert:
      case Opcode::kReducePrecision: return Require(inst.operand(0), path, std::move(requirement));
      case Opcode::kBitcast:
        if (inst.shape().type() != inst.operand(0).shape().type()) return;
        [[fallthrough]];
      case Opcode::kReshape:
      case Opcode::kTranspose:
      case Opcode::kBroadcast:
      case Opcode::kSlice:
      case Opcode::kDynamicSlice:
      case Opcode::kReverse:
      case Opcode::kShuffle:
      case Opcode::kGather:
        requirement.dim = OperandDim(inst, requirement.dim);
        if (inst.Is(Opcode::kBroadcast) || inst.Is(Opcode::kDynamicSlice) || inst.Is(Opcode::kGather))
          requirement.Drop(Requirement::kSorted | Requirement::kUnique);
        if (inst.Is(Opcode::kTranspose) || inst.Is(Opcode::kReverse) || inst.Is(Opcode::kShuffle))
          requirement.Drop(Requirement::kSorted);
        if (inst.Is(Opcode::kReshape) && requirement.component_dim == inst.shape().rank() - 1 &&
            inst.operand(0).shape().rank() > 0 &&
            inst.operand(0).shape().dims().back() == static_cast<int64_t>(requirement.components.size())) {
          requirement.component_dim = inst.operand(0).shape().rank() - 1;
        } else {
          requirement.Flatten();
        }
        return Require(inst.operand(0), {}, std::move(requirement));
      case Opcode::kPad:
      case Opcode::kDynamicUpdateSlice:
        requirement.Flatten();
        requirement.Drop(Requirement::kSorted | Requirement::kUnique);
        Require(inst.operand(0), {}, requirement);
        return Require(inst.operand(1), {}, std::move(requirement));
      case Opcode::kConcatenate: return AtConcatenate(inst, std::move(requirement));
      case Opcode::kSelect:
        if (!IsWrapped(inst.operand(1), inst.operand(2))) Require(inst.operand(1), {}, requirement);
        if (!IsWrapped(inst.operand(2), inst.operand(1))) Require(inst.operand(2), {}, std::move(requirement));
        return;
      default: break;
    }
    if (requirement.kind == Requirement::Kind::kSummed) return SummedThrough(inst, std::move(requirement));
    if (requirement.kind == Requirement::Kind::kPositive) return PositiveThrough(inst, requirement);
    if (requirement.kind == Requirement::Kind::kIndex || requirement.kind == Requirement::Kind::kInterval)
      return IntervalThrough(inst, std::move(requirement));
  }

  // Passes a requirement on to the next iteration's value, except for counters, which the trip count limits.
  void RequireOfBody(const Instruction& loop, const ShapeIndex& path, Requirement requirement) {
    const Instruction* root = &loop.attrs<WhileAttrs>().body->root();
    size_t depth = 0;
    while (root->Is(Opcode::kTuple) && depth < path.size()) root = &root->operand(path[depth++]);
    if (root->Is(Opcode::kAdd) || root->Is(Opcode::kSubtract)) return;
    Require(*root, ShapeIndex(path.begin() + depth, path.end()), std::move(requirement));
  }

  void AtConcatenate(const Instruction& inst, Requirement requirement) {
    const int64_t dim = inst.attrs<OneDimensionAttrs>().dimension.value;
    requirement.Drop(Requirement::kSorted | Requirement::kUnique);
    if (dim != requirement.component_dim) {
      requirement.Flatten();
      for (const Instruction* operand : inst.operands()) Require(*operand, {}, requirement);
      return;
    }
    size_t first = 0;
    for (const Instruction* operand : inst.operands()) {
      Requirement part = requirement;
      const size_t count = static_cast<size_t>(operand->shape().dim(dim));
      part.components.assign(requirement.components.begin() + first,
                             requirement.components.begin() + std::min(first + count, requirement.components.size()));
      first += count;
      if (part.components.size() == 1) part.Flatten();
      Require(*operand, {}, std::move(part));
    }
  }

  // A sum of products cancels if one factor cancels and the others come in equal pairs.
  void SummedThrough(const Instruction& inst, Requirement requirement) {
    if (inst.Is(Opcode::kNegate)) return Require(inst.operand(0), {}, std::move(requirement));
    if (!inst.Is(Opcode::kMultiply)) return;
    Require(inst.operand(0), {}, requirement);
    requirement.flags |= Requirement::kRepeats;
    Require(inst.operand(1), {}, std::move(requirement));
  }

  // Passes the requirement of a positive result on. Squares and exponentials are positive anyway.
  void PositiveThrough(const Instruction& inst, const Requirement& requirement) {
    const auto both = [&](double low) {
      for (int64_t i = 0; i < 2; ++i) {
        if (!ConstantOf(inst.operand(i)))
          Require(inst.operand(i), {}, {.kind = Requirement::Kind::kPositive, .interval = {low, kInfinity}});
      }
    };
    switch (inst.opcode()) {
      case Opcode::kAdd: return both(requirement.interval.low);
      case Opcode::kMultiply:
        if (&inst.operand(0) == &inst.operand(1)) return;
        return both(requirement.interval.low);
      case Opcode::kDivide: return both(std::max(requirement.interval.low, 0.25));
      case Opcode::kSqrt:
      case Opcode::kCbrt: return Require(inst.operand(0), {}, requirement);
      case Opcode::kMaximum: {
        const auto a = ConstantOf(inst.operand(0)), b = ConstantOf(inst.operand(1));
        if ((a && *a > 0) || (b && *b > 0)) return;
        return both(requirement.interval.low);
      }
      case Opcode::kReduce: return Require(inst.operand(0), {}, requirement);
      default: return;
    }
  }

  // Inverts index arithmetic with constants.
  void IntervalThrough(const Instruction& inst, Requirement requirement) {
    if (inst.operand_count() < 1) return;
    if (inst.Is(Opcode::kClamp)) return Require(inst.operand(1), {}, std::move(requirement));
    if (inst.Is(Opcode::kNegate)) {
      requirement.Flatten();
      requirement.Drop(Requirement::kSorted);
      requirement.interval = {-requirement.interval.high, -requirement.interval.low};
      return Require(inst.operand(0), {}, std::move(requirement));
    }
    if (inst.operand_count() != 2) return;
    const auto a = ConstantOf(inst.operand(0)), b = ConstantOf(inst.operand(1));
    const bool left = b.has_value();
    if (!a && !b) return;
    const double c = left ? *b : *a;
    const Instruction& rest = inst.operand(left ? 0 : 1);
    const auto shift = [&](auto&& map) {
      requirement.interval = map(requirement.interval);
      for (ClosedInterval& component : requirement.components) component = map(component);
      Require(rest, {}, requirement);
    };
    switch (inst.opcode()) {
      case Opcode::kAdd: return shift([&](ClosedInterval i) { return ClosedInterval{i.low - c, i.high - c}; });
      case Opcode::kSubtract:
        if (!left) requirement.Drop(Requirement::kSorted);
        if (left) return shift([&](ClosedInterval i) { return ClosedInterval{i.low + c, i.high + c}; });
        return shift([&](ClosedInterval i) { return ClosedInterval{c - i.high, c - i.low}; });
      case Opcode::kMultiply:
        if (c <= 0) return;
        return shift([&](ClosedInterval i) { return ClosedInterval{std::ceil(i.low / c), std::floor(i.high / c)}; });
      case Opcode::kMaximum:
      case Opcode::kMinimum:
      case Opcode::kRemainder:
      case Opcode::kAnd:
        requirement.Drop(Requirement::kSorted | Requirement::kUnique);
        return shift([](ClosedInterval i) { return i; });
      default: return;
    }
  }

  void AtParameter(const Instruction& parameter, const ShapeIndex& path, Requirement requirement) {
    const Computation& computation = parameter.computation();
    if (computation.IsEntry())
      return Record(parameter, ranges_.parameters[parameter.parameter_number()], path, std::move(requirement));
    for (const Instruction* caller : callers_[&computation]) {
      switch (caller->opcode()) {
        case Opcode::kCall:
        case Opcode::kFusion: Require(caller->operand(parameter.parameter_number()), path, requirement); break;
        case Opcode::kWhile:
          Require(caller->operand(0), path, requirement);
          RequireOfBody(*caller, path, requirement);
          break;
        case Opcode::kConditional: {
          const auto branches = caller->attrs<ConditionalAttrs>().branches();
          for (size_t i = 0; i < branches.size(); ++i) {
            if (branches[i] == &computation) Require(caller->operand(i + 1), path, requirement);
          }
          break;
        }
        default: break;
      }
    }
  }

  void Record(const Instruction& source, std::vector<LeafRange>& leaves, const ShapeIndex& path,
              Requirement requirement) {
    int64_t leaf = 0, at = 0;
    ForEachLeaf(source.shape(), [&](const ShapeIndex& index, const Shape&) {
      if (index == path) leaf = at;
      ++at;
    });
    LeafRange& range = leaves[leaf];
    switch (requirement.kind) {
      case Requirement::Kind::kExactly: range.exactly = requirement.number; return;
      case Requirement::Kind::kScale: range.scale = std::min(range.scale, requirement.number); return;
      case Requirement::Kind::kKey:
        range.is_key = true;
        range.distinct = range.distinct || requirement.Has(Requirement::kDistinct);
        if (range.key_dim < 0) range.key_dim = requirement.dim;
        return;
      case Requirement::Kind::kSummed:
        if (range.is_summed) return;
        range.is_summed = true;
        range.repeats = requirement.Has(Requirement::kRepeats);
        range.summed_dim = requirement.dim;
        return;
      default: break;
    }
    if (requirement.kind == Requirement::Kind::kIndex) range.is_index = true;
    range.is_promised = range.is_promised || requirement.Has(Requirement::kPromised);
    range.is_start = range.is_start || requirement.Has(Requirement::kStart);
    range.is_trip_count = range.is_trip_count || requirement.Has(Requirement::kTrips);
    range.rows_sorted = range.rows_sorted || requirement.Has(Requirement::kSorted);
    range.rows_unique = range.rows_unique || requirement.Has(Requirement::kUnique);
    if (!requirement.components.empty() && range.components.empty()) {
      range.components = requirement.components;
      range.component_dim = requirement.component_dim;
      return;
    }
    requirement.Flatten();
    const ClosedInterval meet{std::max(range.interval.low, requirement.interval.low),
                              std::min(range.interval.high, requirement.interval.high)};
    if (meet.low <= meet.high) {
      range.interval = meet;
      return;
    }
    range.conflict =
        Str("'", source.name(), "' must lie in [", range.interval.low, ", ", range.interval.high,
            "] for one use and in [", requirement.interval.low, ", ", requirement.interval.high, "] for another");
    if (requirement.kind == Requirement::Kind::kIndex) range.interval = requirement.interval;
  }

  const Module& module_;
  Ranges ranges_;
  std::unordered_map<const Computation*, std::vector<const Instruction*>> callers_;
  std::set<std::tuple<int, ShapeIndex, int, int, int64_t, double, double, double>> seen_;
  std::map<std::pair<int, ShapeIndex>, int> requirement_count_;
  // The last entry is followed next. Recursion would be too deep for long chains.
  std::vector<Pending> pending_;
  bool is_following_ = false;
};

}  // namespace

Ranges CollectRanges(const Module& module) { return Collector(module).Run(); }

}  // namespace hlo
