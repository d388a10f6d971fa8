#include "judge/reach/reach.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <unordered_map>

#include "ir/analysis/dynamic_indices.h"
#include "ir/analysis/taken_branch.h"
#include "ir/module.h"
#include "ir/side_effects.h"
#include "judge/reach/value_bounds.h"

namespace hlo {
namespace {

constexpr std::string_view kKinds[] = {"select", "compare", "tie", "clamp", "largest", "start", "index", "branch"};

// Computations whose instructions the interpreter runs one by one.
std::vector<const Computation*> SteppedThrough(const Module& module) {
  std::vector<const Computation*> found{&module.entry()};
  std::vector<bool> known(module.computation_id_limit());
  for (size_t next = 0; next < found.size(); ++next) {
    const std::vector<bool> live = LiveIn(*found[next]);
    for (const Instruction* inst : found[next]->instructions()) {
      if (!live[inst->place()]) continue;
      const bool steps = inst->Is(Opcode::kCall) || inst->Is(Opcode::kFusion) || inst->Is(Opcode::kWhile) ||
                         inst->Is(Opcode::kConditional) || inst->Is(Opcode::kAsyncStart);
      if (!steps) continue;
      for (const Computation* called : CalledComputations(*inst)) {
        if (!known[called->id()]) found.push_back(called);
        known[called->id()] = true;
      }
    }
  }
  return found;
}

bool IsOrdered(const Instruction& compare) {
  const ComparisonDirection direction = compare.attrs<CompareAttrs>().direction;
  return direction != ComparisonDirection::kEq && direction != ComparisonDirection::kNe &&
         !IsComplex(compare.operand(0).shape().type());
}

double At(const Literal& array, int64_t i) { return array.GetDouble(array.shape().NumElements() == 1 ? 0 : i); }

uint64_t SidesOf(const Literal& bools) {
  uint64_t sides = 0;
  for (int64_t i = 0; i < bools.shape().NumElements() && sides != 3; ++i) sides |= bools.GetInt(i) != 0 ? 1 : 2;
  return sides;
}

uint64_t SideOfIndex(int64_t index, int64_t most) {
  return uint64_t{1} << (index < 0 ? kBelow : index > most ? kBeyond : kInside);
}

int64_t IndicesOf(const Instruction& inst) { return inst.Is(Opcode::kGather) ? 1 : (inst.operand_count() - 1) / 2; }

class ComponentOfIndex {
 public:
  ComponentOfIndex(const Instruction& inst, const Shape& indices) {
    const int64_t dim = inst.Is(Opcode::kGather) ? inst.attrs<GatherAttrs>().index_vector_dim
                                                 : inst.attrs<ScatterAttrs>().index_vector_dim;
    if (dim >= indices.rank()) return;
    stride_ = RowMajorStrides(indices.dims())[dim];
    size_ = indices.dim(dim);
  }
  int64_t Of(int64_t element) const { return element / stride_ % size_; }

 private:
  int64_t stride_ = 1, size_ = 1;
};

int64_t MostOfIndex(const Instruction& inst, int64_t part) {
  const Shape& whole = inst.operand(0).shape();
  if (inst.Is(Opcode::kGather)) {
    const GatherAttrs& attrs = inst.attrs<GatherAttrs>();
    const int64_t dim = attrs.start_index_map[part];
    return whole.dim(dim) - attrs.slice_sizes[dim];
  }
  const ScatterAttrs& attrs = inst.attrs<ScatterAttrs>();
  const int64_t dim = attrs.scatter_dims_to_operand_dims[part];
  const Shape& updates = inst.operand((inst.operand_count() - 1) / 2 + 1).shape();
  int64_t next = 0;
  for (int64_t d = 0; d < whole.rank(); ++d) {
    if (std::ranges::find(attrs.inserted_window_dims, d) != attrs.inserted_window_dims.end() ||
        std::ranges::find(attrs.input_batching_dims, d) != attrs.input_batching_dims.end()) {
      if (d == dim) return whole.dim(d) - 1;
      continue;
    }
    if (d == dim) return whole.dim(d) - updates.dim(attrs.update_window_dims[next]);
    ++next;
  }
  return 0;
}

uint64_t ExcludedSides(const Site& site, const ValueBounds& bounds) {
  const Instruction& inst = *site.inst;
  uint64_t excluded = 0;
  const auto exclude = [&](int side, bool is_excluded) {
    if (is_excluded) excluded |= uint64_t{1} << side;
  };
  const auto of = [&](int64_t i) { return bounds.Of(inst.operand(i)); };
  const auto same = [&](int64_t a, int64_t b) { return &inst.operand(a) == &inst.operand(b); };
  const auto exclude_bools = [&](const Bounds& value) {
    exclude(0, value.high < 1);
    exclude(1, value.low > 0);
  };
  switch (site.kind) {
    case SiteKind::kSelect: exclude_bools(of(0)); break;
    case SiteKind::kCompare: exclude_bools(bounds.Of(inst)); break;
    case SiteKind::kTie: exclude(0, of(0).low > of(1).high || of(1).low > of(0).high); break;
    case SiteKind::kClamp:
      exclude(kBelow, same(0, 1) || of(1).low >= of(0).high);
      exclude(kBeyond, same(1, 2) || of(1).high <= of(2).low);
      exclude(kInside, of(1).high < of(0).low || of(1).low > of(2).high);
      break;
    case SiteKind::kLargest:
      exclude(0, same(0, 1) || of(0).low >= of(1).high);
      exclude(1, same(0, 1) || of(1).low >= of(0).high);
      break;
    case SiteKind::kStart:
    case SiteKind::kIndex: {
      const Bounds index = of(site.kind == SiteKind::kStart ? site.part : IndicesOf(inst));
      const auto most = static_cast<double>(site.most);
      exclude(kBelow, index.low >= 0);
      exclude(kBeyond, index.high <= most);
      exclude(kInside, index.high < 0 || index.low > most);
      break;
    }
    case SiteKind::kBranch:
      if (inst.operand(0).shape().type() == PrimitiveType::kPred) {
        exclude_bools(of(0));
        break;
      }
      for (int branch = 0; branch + 1 < site.sides; ++branch)
        exclude(branch, branch < of(0).low || branch > of(0).high);
      exclude(site.sides - 1, of(0).low >= 0 && of(0).high < site.sides - 1);
      break;
  }
  return excluded;
}

}  // namespace

std::string_view ToString(SiteKind kind) { return kKinds[static_cast<int>(kind)]; }

Reach::Reach(const Module& module)
    : module_(module),
      dependence_(module),
      by_id_(module.id_limit()),
      ran_(module.id_limit()),
      ever_ran_(module.id_limit()),
      is_selector_(module.id_limit()),
      calls_(module.computation_id_limit()) {
  const ValueBounds bounds(module);
  for (const Computation* computation : SteppedThrough(module)) {
    const std::vector<bool> live = LiveIn(*computation);
    for (const Instruction* inst : computation->instructions()) {
      if (!live[inst->place()]) continue;
      for (const Computation* called : CalledComputations(*inst)) calls_[called->id()].push_back(inst);
      if (inst->Is(Opcode::kConditional)) is_selector_[inst->operand(0).id()] = true;
      const auto first = static_cast<int>(sites_.size());
      FindSites(*inst);
      by_id_[inst->id()] = {first, static_cast<int>(sites_.size())};
      for (size_t i = first; i < sites_.size(); ++i) sites_[i].unreachable = ExcludedSides(sites_[i], bounds);
    }
  }
}

void Reach::Add(const Instruction& inst, SiteKind kind, int sides, int64_t part, int64_t most) {
  sites_.push_back({.inst = &inst, .kind = kind, .part = part, .most = most, .sides = sides});
}

void Reach::FindSites(const Instruction& inst) {
  if (inst.Is(Opcode::kConditional)) {
    const auto branches = std::ssize(inst.attrs<ConditionalAttrs>().branches());
    return Add(inst, SiteKind::kBranch, static_cast<int>(std::min<int64_t>(branches, 63)));
  }
  if (!inst.shape().IsArray() && !inst.Is(Opcode::kScatter)) return;
  if (inst.shape().IsArray() && inst.shape().NumElements() == 0) return;
  switch (inst.opcode()) {
    case Opcode::kSelect: return Add(inst, SiteKind::kSelect, 2);
    case Opcode::kCompare:
      Add(inst, SiteKind::kCompare, 2);
      if (IsOrdered(inst)) Add(inst, SiteKind::kTie, 1);
      return;
    case Opcode::kClamp: return Add(inst, SiteKind::kClamp, 3);
    case Opcode::kMaximum:
    case Opcode::kMinimum:
      if (inst.shape().type() != PrimitiveType::kPred && !IsComplex(inst.shape().type()))
        Add(inst, SiteKind::kLargest, 2);
      return;
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice: {
      if (!HasScalarIndices(inst)) return;
      const bool is_slice = inst.Is(Opcode::kDynamicSlice);
      const Shape &whole = inst.operand(0).shape(), &piece = is_slice ? inst.shape() : inst.operand(1).shape();
      for (int64_t d = 0; d < whole.rank(); ++d) {
        const int64_t most = whole.dim(d) - piece.dim(d);
        if (most != 0) Add(inst, SiteKind::kStart, 3, (is_slice ? 1 : 2) + d, most);
      }
      return;
    }
    case Opcode::kGather:
      for (int64_t part = 0; part < std::ssize(inst.attrs<GatherAttrs>().start_index_map); ++part)
        Add(inst, SiteKind::kIndex, 3, part, MostOfIndex(inst, part));
      return;
    case Opcode::kScatter:
      for (int64_t part = 0; part < std::ssize(inst.attrs<ScatterAttrs>().scatter_dims_to_operand_dims); ++part)
        Add(inst, SiteKind::kIndex, 3, part, MostOfIndex(inst, part));
      return;
    default: return;
  }
}

namespace {

uint64_t SidesReached(const Site& site, const Instruction& inst, std::span<const Literal> operands,
                      const Literal& value) {
  uint64_t sides = 0;
  switch (site.kind) {
    case SiteKind::kSelect: return SidesOf(operands[0]);
    case SiteKind::kCompare: return SidesOf(value);
    case SiteKind::kTie:
      for (int64_t i = 0; i < value.shape().NumElements() && sides == 0; ++i)
        sides |= At(operands[0], i) == At(operands[1], i) ? 1 : 0;
      return sides;
    case SiteKind::kClamp:
      for (int64_t i = 0; i < value.shape().NumElements() && sides != 7; ++i) {
        const double x = operands[1].GetDouble(i);
        if (x < At(operands[0], i)) sides |= 1 << kBelow;
        else if (x > At(operands[2], i)) sides |= 1 << kBeyond;
        else if (x == x) sides |= 1 << kInside;
      }
      return sides;
    case SiteKind::kLargest:
      for (int64_t i = 0; i < value.shape().NumElements() && sides != 3; ++i) {
        const double a = At(operands[0], i), b = At(operands[1], i);
        if (a < b) sides |= 1;
        if (b < a) sides |= 2;
      }
      return sides;
    case SiteKind::kStart: return SideOfIndex(IndexAt(operands[site.part], 0), site.most);
    case SiteKind::kIndex: {
      const Literal& indices = operands[IndicesOf(inst)];
      const ComponentOfIndex component(inst, indices.shape());
      for (int64_t i = 0; i < indices.shape().NumElements() && sides != 7; ++i) {
        if (component.Of(i) == site.part) sides |= SideOfIndex(IndexAt(indices, i), site.most);
      }
      return sides;
    }
    case SiteKind::kBranch: return 0;  // Reach::Run observes branches.
  }
  return 0;
}

}  // namespace

void Reach::Look(const Instruction& inst, std::span<const Literal> operands, const Literal& value) {
  const auto [first, end] = by_id_[inst.id()];
  for (int i = first; i < end; ++i) {
    Site& site = sites_[i];
    if (site.missing() != 0) site.reached |= SidesReached(site, inst, operands, value);
  }
}

void Reach::LookAtBranch(const Instruction& conditional, const Literal& selector) {
  Site& site = sites_[by_id_[conditional.id()].first];
  const int64_t branch = TakenBranch(selector, std::ssize(conditional.attrs<ConditionalAttrs>().branches()));
  if (branch < site.sides) site.reached |= uint64_t{1} << branch;
}

Result<Recording> Reach::Run(std::span<const Literal> args, const InterpretOptions& options, int64_t most_bytes) {
  Recording recording;
  ran_.assign(ran_.size(), false);
  recording.values.resize(module_.id_limit());
  recording.args.assign(args.begin(), args.end());
  for (const Instruction* parameter : module_.entry().parameters())
    recording.values[parameter->id()] = args[parameter->parameter_number()];
  int64_t bytes = 0;
  std::unordered_map<const Instruction*, Literal> selectors;
  InterpretOptions watched = options;
  watched.perturb = [&](const Instruction& inst, std::span<const Literal> operands, Literal& value) -> Status {
    Look(inst, operands, value);
    return {};
  };
  watched.on_value = [&](const Instruction& inst, const Literal& value) {
    constexpr int64_t kStepsOfInstruction = 250;  // For each instruction. Roughly nanoseconds.
    recording.steps += kStepsOfInstruction + (inst.shape().IsArray() ? inst.shape().NumElements() : 0);
    ran_[inst.id()] = ever_ran_[inst.id()] = true;
    if (is_selector_[inst.id()]) selectors[&inst] = value;
    if (inst.Is(Opcode::kConditional) && by_id_[inst.id()].first < by_id_[inst.id()].second)
      LookAtBranch(inst, selectors[&inst.operand(0)]);
    std::optional<Literal>& kept = recording.values[inst.id()];
    if (kept) return;
    bytes += value.shape().ByteSize();
    if (bytes <= most_bytes) kept = value;
  };
  const std::vector<Site> before = sites_;
  auto result = Interpret(module_, args, watched);
  if (!result) {
    sites_ = before;
    FAIL(std::move(result).error());
  }
  recording.result = std::move(*result);
  ProveByDependence();
  return recording;
}

namespace {

std::vector<const Instruction*> DecidingOperands(const Site& site) {
  const Instruction& inst = *site.inst;
  switch (site.kind) {
    case SiteKind::kSelect:
    case SiteKind::kBranch: return {&inst.operand(0)};
    case SiteKind::kStart: return {&inst.operand(site.part)};
    case SiteKind::kIndex: return {&inst.operand(IndicesOf(inst))};
    default: return {inst.operands().begin(), inst.operands().end()};
  }
}

}  // namespace

// Whether values that do not depend on arguments are the same in all runs that execute the computation. False if the
// computation or one of its callers has several callers, or if arguments determine in which iterations it runs.
bool Reach::RunsAlike(const Computation& computation) const {
  bool is_guarded = false;
  for (const Computation* at = &computation; !at->IsEntry();) {
    const std::vector<const Instruction*>& callers = calls_[at->id()];
    if (callers.size() != 1) return false;
    const Instruction& caller = *callers[0];
    if (caller.Is(Opcode::kWhile)) {
      if (is_guarded) return false;
      const WhileAttrs& attrs = caller.attrs<WhileAttrs>();
      is_guarded = at == attrs.body && dependence_.OfAny(attrs.condition->root());
    } else if (caller.Is(Opcode::kConditional)) {
      is_guarded |= dependence_.OfAny(caller.operand(0));
    }
    at = &caller.computation();
  }
  return true;
}

void Reach::ProveByDependence() {
  for (Site& site : sites_) {
    if (site.missing() == 0 || !ran_[site.inst->id()] || !RunsAlike(site.inst->computation())) continue;
    const auto operands = DecidingOperands(site);
    const bool depends = std::ranges::any_of(operands, [&](const auto* x) { return dependence_.OfAny(*x); });
    if (!depends) site.unreachable |= site.all() & ~site.reached;
  }
}

std::vector<int64_t> Reach::ElementsOf(const Site& site, int64_t most) {
  const Instruction& inst = *site.inst;
  if (site.kind == SiteKind::kStart || site.kind == SiteKind::kBranch) return {0};
  const bool is_index = site.kind == SiteKind::kIndex;
  const Shape& shape = is_index ? inst.operand(IndicesOf(inst)).shape() : inst.shape();
  std::vector<int64_t> elements;
  const int64_t count = shape.NumElements(), step = std::max<int64_t>(1, is_index ? 1 : count / most);
  for (int64_t i = 0; i < count && std::ssize(elements) < most; i += step) {
    if (!is_index || ComponentOfIndex(inst, shape).Of(i) == site.part) elements.push_back(i);
  }
  return elements;
}

int64_t Reach::Missing() const {
  int64_t sides = 0;
  for (const Site& site : sites_) sides += std::popcount(site.missing());
  return sides;
}

ReachCount Reach::CountOf(SiteKind kind) const {
  ReachCount count;
  for (const Site& site : sites_) {
    if (site.kind != kind) continue;
    ++count.sites;
    if (site.reached == site.all()) ++count.reached;
    else if (site.missing() == 0) ++count.proven;
  }
  return count;
}

}  // namespace hlo
