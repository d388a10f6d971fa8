#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "interp/arguments/requirement.h"
#include "interp/functions.h"
#include "ir/dimensions.h"
#include "ir/reducer.h"

namespace hlo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

void Require(Requirements& out, const Instruction& inst, Requirement requirement) {
  out.push_back({&inst, std::move(requirement)});
}

void RequireKeys(Requirements& out, const Instruction& keys, int64_t dim, int flags) {
  Require(out, keys, {.kind = Requirement::Kind::kKey, .dim = dim, .flags = flags});
}

void RequireInit(Requirements& out, const Instruction& init, std::optional<double> identity) {
  if (identity) Require(out, init, {.kind = Requirement::Kind::kExactly, .number = *identity});
}

void RequireInits(Requirements& out, const Instruction& inst, const Computation& body) {
  const int64_t arrays = inst.operand_count() / 2;
  const auto identities = IdentitiesOf(body, arrays);
  for (int64_t k = 0; k < arrays; ++k) RequireInit(out, inst.operand(arrays + k), identities[k]);
}

void RequirePositive(Requirements& out, const Instruction& inst, double low) {
  if (!IsFloat(inst.shape().type())) return;
  Require(out, inst, {.kind = Requirement::Kind::kPositive, .interval = {low, kInfinity}});
}

void RequireIndex(Requirements& out, const Instruction& indices, std::vector<ClosedInterval> ranges, int64_t dim,
                  int flags) {
  Requirement requirement{
      .kind = Requirement::Kind::kIndex, .components = std::move(ranges), .component_dim = dim, .flags = flags};
  if (requirement.components.empty()) return;
  if (dim >= indices.shape().rank() || requirement.components.size() == 1) requirement.Flatten();
  Require(out, indices, std::move(requirement));
}

void RequireForGather(Requirements& out, const Instruction& inst) {
  const GatherAttrs& attrs = inst.attrs<GatherAttrs>();
  std::vector<ClosedInterval> ranges;
  for (const int64_t d : attrs.start_index_map)
    ranges.push_back({0, static_cast<double>(inst.operand(0).shape().dim(d) - attrs.slice_sizes[d])});
  RequireIndex(out, inst.operand(1), std::move(ranges), attrs.index_vector_dim,
               attrs.indices_are_sorted ? Requirement::kSorted | Requirement::kPromised : 0);
}

void RequireForScatter(Requirements& out, const Instruction& inst) {
  const ScatterAttrs& attrs = inst.attrs<ScatterAttrs>();
  const int64_t arrays = (inst.operand_count() - 1) / 2;
  const Shape &operand = inst.operand(0).shape(), &updates = inst.operand(arrays + 1).shape();
  std::vector<int64_t> extent(operand.rank(), 1);
  size_t next = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (!Contains(attrs.inserted_window_dims, d) && !Contains(attrs.input_batching_dims, d))
      extent[d] = updates.dim(attrs.update_window_dims[next++]);
  }
  std::vector<ClosedInterval> ranges;
  for (const int64_t d : attrs.scatter_dims_to_operand_dims)
    ranges.push_back({0, static_cast<double>(operand.dim(d) - extent[d])});
  RequireIndex(out, inst.operand(arrays), std::move(ranges), attrs.index_vector_dim,
               (attrs.indices_are_sorted ? Requirement::kSorted | Requirement::kPromised : 0) |
                   (attrs.unique_indices ? Requirement::kUnique | Requirement::kPromised : 0));
}

void RequireStarts(Requirements& out, const Instruction& inst, int64_t first, const Shape& whole, const Shape& slice) {
  for (int64_t d = 0; d + first < inst.operand_count(); ++d) {
    if (!inst.operand(first + d).shape().IsScalar()) return;
    Require(out, inst.operand(first + d),
            {.kind = Requirement::Kind::kIndex,
             .interval = {0, static_cast<double>(whole.dim(d) - slice.dim(d))},
             .flags = Requirement::kStart});
  }
}

// kInterval is a range that no profile exceeds: a larger size would be an error (R006).
void RequireSize(Requirements& out, const Instruction& inst) {
  const int64_t most = inst.operand(0).shape().dim(inst.attrs<OneDimensionAttrs>().dimension.value);
  Require(out, inst.operand(1), {.kind = Requirement::Kind::kInterval, .interval = {0, static_cast<double>(most)}});
}

// Integers that the condition compares stay small, so that loops end soon.
void RequireTrips(Requirements& out, const Instruction& loop) {
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
      Require(out, *operand, {.kind = Requirement::Kind::kInterval, .interval = {0, 8}, .flags = Requirement::kTrips});
  }
}

void RequireForBranch(Requirements& out, const Instruction& inst) {
  if (inst.operand(0).shape().type() == PrimitiveType::kPred) return;
  const double branches = static_cast<double>(inst.attrs<ConditionalAttrs>().branches().size());
  Require(out, inst.operand(0), {.kind = Requirement::Kind::kInterval, .interval = {-1, branches}});
}

// compare(labels, iota) makes one-hot rows, so labels are below the size of the iota.
void RequireLabels(Requirements& out, const Instruction& inst) {
  if (inst.attrs<CompareAttrs>().direction != ComparisonDirection::kEq || !IsInteger(inst.operand(0).shape().type()))
    return;
  for (int64_t side = 0; side < 2; ++side) {
    const Instruction* iota = &inst.operand(side);
    while (iota->Is(Opcode::kBroadcast) || iota->Is(Opcode::kReshape) || iota->Is(Opcode::kConvert) ||
           iota->Is(Opcode::kCopy))
      iota = &iota->operand(0);
    if (!iota->Is(Opcode::kIota)) continue;
    const int64_t size = iota->shape().dim(iota->attrs<IotaAttrs>().iota_dimension);
    Require(out, inst.operand(1 - side),
            {.kind = Requirement::Kind::kIndex, .interval = {0, static_cast<double>(size - 1)}});
  }
}

void RequireForReduce(Requirements& out, const Instruction& inst) {
  const ReduceAttrs& attrs = inst.attrs<ReduceAttrs>();
  RequireInits(out, inst, *attrs.to_apply);
  const int64_t arrays = inst.operand_count() / 2, dim = attrs.dimensions.empty() ? -1 : attrs.dimensions.back();
  const Instruction& root = attrs.to_apply->root();
  if (arrays == 1 && root.Is(Opcode::kAdd) && IsFloat(inst.shape().type()))
    return Require(out, inst.operand(0), {.kind = Requirement::Kind::kSummed, .dim = dim});
  if (arrays == 1) return;
  const auto identities = IdentitiesOf(*attrs.to_apply, arrays);
  for (int64_t k = 0; k < arrays; ++k) {
    if (identities[k] && std::isinf(*identities[k])) RequireKeys(out, inst.operand(k), dim, 0);
  }
}

// Equal keys matter only in stable sorts or with further operands.
void RequireForSort(Requirements& out, const Instruction& inst) {
  const SortAttrs& attrs = inst.attrs<SortAttrs>();
  const int flags = inst.operand_count() > 1 || attrs.is_stable ? Requirement::kDistinct : 0;
  std::set<const Instruction*> seen;
  std::vector<const Instruction*> pending{&attrs.to_apply->root()};
  while (!pending.empty()) {
    const Instruction* at = pending.back();
    pending.pop_back();
    if (!seen.insert(at).second) continue;
    if (at->Is(Opcode::kParameter))
      RequireKeys(out, inst.operand(at->parameter_number() / 2), attrs.dimension.value, flags);
    for (const Instruction* operand : at->operands()) pending.push_back(operand);
  }
}

// Sums of K products keep their size if one side, preferably the right one, has variance 1/K. Uniform numbers in [-s,
// s] have variance s^2 / 3.
void RequireScale(Requirements& out, const Instruction& inst, const std::vector<int64_t>& contracting) {
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
           (from->Is(kView) || from->Is(Opcode::kTranspose) || from->Is(Opcode::kConvert) || from->Is(Opcode::kCopy) ||
            from->Is(Opcode::kBroadcast) || from->Is(Opcode::kSlice) || from->Is(Opcode::kReverse) ||
            from->Is(Opcode::kShuffle) || from->Is(Opcode::kGetTupleElement))) {
      from = &from->operand(0);
    }
    if (!from->Is(Opcode::kParameter) && !from->Is(Opcode::kElidedConstant)) continue;
    Require(out, inst.operand(side), {.kind = Requirement::Kind::kScale, .number = std::sqrt(3 / terms)});
    return;
  }
}

void RequireForArgument(Requirements& out, const Instruction& inst, const FloatFunction& function) {
  const auto [low, high] = function.facts.made_up;
  if (high < kInfinity && IsFloat(inst.shape().type()))
    return Require(out, inst.operand(0), {.kind = Requirement::Kind::kInterval, .interval = {low, high}});
  if (high == kInfinity && low > -kInfinity) RequirePositive(out, inst.operand(0), low);
}

void RequireFor(Requirements& out, const Instruction& inst) {
  switch (inst.opcode()) {
    case Opcode::kGather: return RequireForGather(out, inst);
    case Opcode::kScatter: return RequireForScatter(out, inst);
    case Opcode::kDynamicSlice: return RequireStarts(out, inst, 1, inst.operand(0).shape(), inst.shape());
    case Opcode::kDynamicUpdateSlice:
      return RequireStarts(out, inst, 2, inst.operand(0).shape(), inst.operand(1).shape());
    case Opcode::kSetDimensionSize: return RequireSize(out, inst);
    case Opcode::kWhile: return RequireTrips(out, inst);
    case Opcode::kConditional: return RequireForBranch(out, inst);
    case Opcode::kCompare: return RequireLabels(out, inst);
    case Opcode::kReduce: return RequireForReduce(out, inst);
    case Opcode::kReduceWindow: return RequireInits(out, inst, *inst.attrs<ReduceWindowAttrs>().to_apply);
    case Opcode::kSelectAndScatter:
      RequireKeys(out, inst.operand(0), -1, 0);
      return RequireInit(out, inst.operand(2), IdentitiesOf(*inst.attrs<SelectAndScatterAttrs>().scatter, 1)[0]);
    case Opcode::kSort: return RequireForSort(out, inst);
    case Opcode::kTopK:
      return RequireKeys(out, inst.operand(0), inst.operand(0).shape().rank() - 1, Requirement::kDistinct);
    case Opcode::kDivide:
    case Opcode::kRemainder:
      if (IsInteger(inst.shape().type()) && !ConstantOf(inst.operand(1)))
        Require(out, inst.operand(1), {.kind = Requirement::Kind::kInterval, .interval = {1, kInfinity}});
      return RequirePositive(out, inst.operand(1), 0.25);
    case Opcode::kPower:
      if (!ConstantOf(inst.operand(0))) RequirePositive(out, inst.operand(0), 0.25);
      Require(out, inst.operand(1), {.kind = Requirement::Kind::kInterval, .interval = {1, 8}});
      return;
    case Opcode::kDot: {
      const DotAttrs& attrs = inst.attrs<DotAttrs>();
      if (!attrs.lhs_contracting.empty() && IsFloat(inst.shape().type())) {
        Require(out, inst.operand(0), {.kind = Requirement::Kind::kSummed, .dim = attrs.lhs_contracting.back()});
        Require(
            out, inst.operand(1),
            {.kind = Requirement::Kind::kSummed, .dim = attrs.rhs_contracting.back(), .flags = Requirement::kRepeats});
      }
      return RequireScale(out, inst, attrs.lhs_contracting);
    }
    case Opcode::kConvolution: return RequireScale(out, inst, {});
    default:
      if (const FloatFunction* function = FloatFunctionOf(inst.opcode())) RequireForArgument(out, inst, *function);
  }
}

}  // namespace

Requirements RequirementsOfUse(const Instruction& inst) {
  Requirements out;
  RequireFor(out, inst);
  return out;
}

}  // namespace hlo
