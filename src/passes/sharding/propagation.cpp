#include "passes/sharding/propagation.h"

#include <algorithm>
#include <set>

#include "base/source_text.h"
#include "base/text.h"
#include "ir/markers.h"
#include "ir/mesh/stated_shardings.h"
#include "ir/side_effects.h"

namespace hlo {
namespace {

constexpr int kLevels = 4;

// Lower levels propagate first, because their splits cost nothing. Source: Shardy's op priorities.
int LevelOf(const Instruction& inst) {
  switch (inst.opcode()) {
    case Opcode::kTranspose:
    case Opcode::kReshape:
    case Opcode::kPad:
    case Opcode::kSlice:
    case Opcode::kConcatenate:
    case Opcode::kReverse:
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice: return 1;
    case Opcode::kBroadcast:
    case Opcode::kReduceWindow: return 2;
    default: return inst.Is(kElementwise) || inst.Is(Opcode::kCopy) || MarkerOf(inst) != Marker::kNone ? 0 : 3;
  }
}

bool IsPrefix(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  return a.size() <= b.size() && std::ranges::equal(a, b.first(a.size()));
}

size_t CommonPrefix(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// Parts may be uneven if padding adds at most a quarter of the elements, and if the factor shares no dimension
// (`is_alone`).
bool MaySplit(int64_t size, int64_t parts, bool is_alone) {
  if (size % parts == 0) return true;
  return is_alone && 4 * ((size + parts - 1) / parts * parts) <= 5 * size;
}

// "'x' (model.hlo:12:3)"
std::string WithPlace(const Instruction& inst) {
  const auto& source = inst.module().source;
  if (source == nullptr || inst.range().empty()) return Str("'", inst.name(), "'");
  const SourceText::Place place = source->PlaceOf(inst.range().begin);
  return Str("'", inst.name(), "' (", source->name(), ":", place.line, ":", place.column, ")");
}

// The booleans of {true,false,...}. One value means the same for all. Without values all are false.
std::vector<bool> FlagsOf(const PropagationFlags& flags, size_t count) {
  const std::string_view text = flags.text;
  std::vector<bool> values;
  for (const std::string_view value : Split(text.size() < 2 ? "" : text.substr(1, text.size() - 2), ','))
    values.push_back(Trim(value) == "true");
  if (values.size() != count) values.assign(count, !values.empty() && values.front());
  return values;
}

}  // namespace

Propagation::Propagation(const Module& module)
    : module_(module), axes_(Axes::Of(module)), classes_(module), states_(classes_.count()) {
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->PostOrder()) {
      int64_t leaf = 0;
      ForEachLeaf(inst->shape(), [&](const ShapeIndex&, const Shape& shape) {
        State& state = states_[classes_.Of(*inst, leaf++)];
        if (!shape.IsArray() || state.is_array) return;
        state = {.split = ArraySplit(shape.rank()), .is_array = true, .open = std::vector<bool>(shape.rank(), true)};
      });
    }
  }
  ReadStated();
  CloseBorders();
  ops_.reserve(module.id_limit());
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->PostOrder()) AddOp(*inst);
  }
}

// ---- Stated splits --------------------------------------------------------------------------------------------------

void Propagation::ReadStated() {
  // The entry first: its sharding= holds against others, because the caller knows it.
  for (const Instruction* inst : module_.entry().instructions()) ReadStatedOf(*inst);
  for (const Computation* computation : module_.Computations()) {
    if (computation->IsEntry()) continue;
    for (const Instruction* inst : computation->instructions()) ReadStatedOf(*inst);
  }
}

void Propagation::ReadStatedOf(const Instruction& inst) {
  const auto stated = StatedShardings(inst);
  const bool is_border = inst.computation().IsEntry() && (inst.Is(Opcode::kParameter) || inst.IsRoot());
  const std::vector<bool> allowed = is_border ? AllowedLeaves(inst) : std::vector<bool>(stated.size(), false);
  for (size_t leaf = 0; leaf < stated.size(); ++leaf) {
    State& state = states_[classes_.Of(inst, static_cast<int64_t>(leaf))];
    if (!stated[leaf] || !state.is_array) continue;
    const Sharding& sharding = stated[leaf]->sharding;
    if (sharding.kind == ShardingKind::kUnknown) continue;
    auto split = axes_.Read(sharding, state.split.rank());
    if (!split) {
      misfits_.push_back(Str(WithPlace(inst), ": ", split.error().message()));
      continue;
    }
    // XLA writes {replicated} for a result without a sharding if other results have one.
    if (allowed[leaf] && stated[leaf]->by == StatedBy::kSharding && split->IsReplicated()) continue;
    if (split->only_device && !HasSideEffect(inst)) {
      misfits_.push_back(
          Str(WithPlace(inst), " states device ", *split->only_device, ", but all devices compute the value"));
      continue;
    }
    if (state.stated_by != nullptr) {
      // Shardy's last statement holds, otherwise the first sharding=, because sharding= is made from Shardy's
      // attributes.
      const bool is_ignored = stated[leaf]->by == StatedBy::kSharding;
      if (state.split != *split)
        conflicts_.push_back(is_ignored ? ConflictText(inst, *split, *state.stated_by, state.split)
                                        : ConflictText(*state.stated_by, state.split, inst, *split));
      if (is_ignored) continue;
    }
    state.split = std::move(*split);
    state.stated_by = &inst;
    state.priorities = stated[leaf]->priorities;
    state.replicated = axes_.ReplicatedIn(sharding);
    for (int64_t dim = 0; dim < state.split.rank(); ++dim)
      state.open[dim] = sharding.kind == ShardingKind::kNamed && dim < std::ssize(sharding.named->dims) &&
                        sharding.named->dims[dim].open;
  }
}

std::string Propagation::ConflictText(const Instruction& ignored, const ArraySplit& its_split, const Instruction& used,
                                      const ArraySplit& split) const {
  return Str(WithPlace(ignored), " states ", axes_.Text(its_split), ", but ", WithPlace(used), " states ",
             axes_.Text(split), " for the same value");
}

std::vector<bool> Propagation::AllowedLeaves(const Instruction& inst) const {
  const ModuleHeader& header = module_.header;
  const auto leaves = static_cast<size_t>(inst.shape().LeafCount());
  if (inst.IsRoot()) return FlagsOf(header.propagation_to_output, leaves);
  const std::vector<bool> allowed = FlagsOf(header.propagation_to_parameters, module_.entry().parameters().size());
  return std::vector<bool>(leaves, allowed[inst.parameter_number()]);
}

// Unstated parameters and results of the entry stay whole, unless the header allows propagation to them.
void Propagation::CloseBorders() {
  const auto close = [&](const Instruction& inst) {
    const std::vector<bool> allowed = AllowedLeaves(inst);
    for (size_t leaf = 0; leaf < allowed.size(); ++leaf) {
      State& state = states_[classes_.Of(inst, static_cast<int64_t>(leaf))];
      if (state.stated_by == nullptr && !allowed[leaf]) state.open.assign(state.open.size(), false);
    }
  };
  for (const Instruction* parameter : module_.entry().parameters()) close(*parameter);
  close(module_.entry().root());
}

// ---- Propagation ----------------------------------------------------------------------------------------------------

void Propagation::AddOp(const Instruction& inst) {
  if (ValueClasses::TiesAll(inst)) return;
  if (IsRegionBorder(inst)) return AddBorder(inst);
  Op op = {.inst = &inst, .rule = FactorsOf(inst), .tensors = {}, .level = LevelOf(inst)};
  if (op.rule.edges || op.rule.factors.empty()) return;
  ops_.push_back(std::move(op));
  Op& added = ops_.back();
  const auto add = [&](const Instruction& value, const std::vector<LeafFactors>& leaves) {
    int64_t leaf = 0;
    ForEachLeaf(value.shape(), [&](const ShapeIndex&, const Shape& shape) {
      if (shape.IsArray()) added.tensors.push_back({classes_.Of(value, leaf), &shape, &leaves[leaf]});
      ++leaf;
    });
  };
  for (int64_t i = 0; i < inst.operand_count(); ++i) add(inst.operand(i), added.rule.operands[i]);
  add(inst, added.rule.result);
}

void Propagation::AddBorder(const Instruction& inst) {
  auto border = RegionBorderOf(inst, axes_);
  if (!border) return;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const Shape& result = inst.shape().IsTuple() ? inst.shape().element(i) : inst.shape();
    const int of_operand = classes_.Of(inst.operand(i), 0), of_result = classes_.Of(inst, i);
    const bool begins = border->begins;
    borders_.push_back({.outside = begins ? of_operand : of_result,
                        .inside = begins ? of_result : of_operand,
                        .part = begins ? &result : &inst.operand(i).shape(),
                        .manual = border->manual,
                        .value = std::move(border->values[i])});
  }
}

void Propagation::Run(int64_t* fuel) {
  std::set<int64_t> rounds = {0};
  for (const State& state : states_) rounds.insert(state.priorities.begin(), state.priorities.end());
  for (const int64_t round : rounds) {
    round_ = round;
    for (Op& op : ops_) std::ranges::fill(op.seen, -1);
    RunRound(fuel);
  }
}

void Propagation::RunRound(int64_t* fuel) {
  for (int level = 0; level < kLevels; ++level) {
    for (const bool aggressive : {false, true}) {
      bool changed = true;
      while (changed) {
        changed = Sweep(level, aggressive, /*backward=*/false, fuel);
        changed |= Sweep(level, aggressive, /*backward=*/true, fuel);
      }
    }
  }
}

bool Propagation::Sweep(int level, bool aggressive, bool backward, int64_t* fuel) {
  bool changed = false;
  for (const Border& border : borders_) {
    if (fuel != nullptr && *fuel <= 0) return false;
    ++step_;
    if (!StepBorder(border)) continue;
    changed = true;
    if (fuel != nullptr) --*fuel;
  }
  for (size_t i = 0; i < ops_.size(); ++i) {
    Op& op = ops_[backward ? ops_.size() - 1 - i : i];
    if (op.level > level) continue;
    int64_t& seen = op.seen[aggressive];
    const bool is_same =
        std::ranges::none_of(op.tensors, [&](const Tensor& tensor) { return states_[tensor.state].changed > seen; });
    if (seen >= 0 && is_same) continue;
    if (fuel != nullptr && *fuel <= 0) return false;
    seen = step_++;
    if (!Step(op, aggressive)) continue;
    changed = true;
    if (fuel != nullptr) --*fuel;
  }
  return changed;
}

bool Propagation::Step(Op& op, bool aggressive) {
  const auto is_replicated = [&](const Tensor& tensor) { return states_[tensor.state].split.IsReplicated(); };
  if (std::ranges::all_of(op.tensors, is_replicated)) return false;
  bool changed = SpreadManual(op);
  std::vector<AtomsByFactor> own;
  for (const Tensor& tensor : op.tensors) own.push_back(AtomsInRound(op, tensor));
  const AtomsByFactor wanted = WantedByFactor(op, own, aggressive);
  for (size_t i = 0; i < op.tensors.size(); ++i) changed |= Extend(op, op.tensors[i], own[i], wanted);
  return changed;
}

bool Propagation::StepBorder(const Border& border) {
  State &outside = states_[border.outside], &inside = states_[border.inside];
  if (!outside.is_array || !inside.is_array || !border.value.stated.pending.empty()) return false;
  bool changed = false;
  const auto add_manual = [&](State& state, AxisSet manual) {
    if ((manual - state.split.manual).empty()) return;
    state.split.manual = state.split.manual | manual;
    state.changed = step_;
    changed = true;
  };
  // A region inside of another one is also manual along the axes of the outer one.
  add_manual(inside, outside.split.manual | border.manual);
  add_manual(outside, inside.split.manual - border.manual);
  const ArraySplit stated_inside = WithoutAtoms(border.value.stated, border.manual);
  for (int64_t dim = 0; dim < outside.split.rank(); ++dim) {
    const std::span<const uint8_t> stated = border.value.stated.AtomsOf(dim), held = outside.split.AtomsOf(dim);
    const int64_t size = border.part->dim(dim);
    if (border.value.open[dim] && IsPrefix(stated, held)) {
      Atoms wanted(stated_inside.AtomsOf(dim).begin(), stated_inside.AtomsOf(dim).end());
      wanted.insert(wanted.end(), held.begin() + std::ssize(stated), held.end());
      changed |= Append(inside, dim, wanted, size);
    }
    const ArraySplit wanted = border.value.Outside(inside.split);
    changed |= Append(outside, dim, wanted.AtomsOf(dim),
                      size * axes_.SizeOf(border.manual & AxisSet::Of(wanted.AtomsOf(dim))));
  }
  return changed;
}

bool Propagation::Append(State& state, int64_t dim, std::span<const uint8_t> wanted, int64_t size) {
  const std::span<const uint8_t> own = state.split.AtomsOf(dim);
  if (!state.open[dim] || !IsInRound(state, dim) || !IsPrefix(own, wanted)) return false;
  int64_t parts = axes_.SizeOf(own);
  bool changed = false;
  for (const uint8_t atom : Atoms(wanted.begin() + std::ssize(own), wanted.end())) {
    const AxisSet used = state.split.InDims() | state.split.manual | state.split.pending | state.replicated;
    parts *= axes_.atoms()[atom].size;
    if (used.Has(atom) || size % parts != 0) break;
    state.split.Append(dim, atom);
    state.changed = step_;
    changed = true;
  }
  return changed;
}

// If one value of an op is in a manual region, all are parts along the region's axes.
bool Propagation::SpreadManual(const Op& op) {
  AxisSet manual;
  for (const Tensor& tensor : op.tensors) manual = manual | states_[tensor.state].split.manual;
  bool changed = false;
  for (const Tensor& tensor : op.tensors) {
    State& state = states_[tensor.state];
    if (state.split.manual == manual || !(state.split.InDims() & manual).empty()) continue;
    state.split.manual = manual;
    state.changed = step_;
    changed = true;
  }
  return changed;
}

AtomsByFactor Propagation::WantedByFactor(const Op& op, const std::vector<AtomsByFactor>& own, bool aggressive) const {
  const size_t count = op.rule.factors.size();
  AtomsByFactor wanted(count);
  std::vector<int64_t> weight(count, 0);  // By factor: bytes of the largest array that is split along it.
  for (size_t f = 0; f < count; ++f) {
    for (size_t i = 0; i < own.size(); ++i) {
      const Atoms& atoms = own[i][f];
      if (atoms.empty()) continue;
      const int64_t bytes = op.tensors[i].shape->ByteSize();
      Atoms& best = wanted[f];
      if (IsPrefix(best, atoms) || IsPrefix(atoms, best)) {
        if (atoms.size() > best.size()) best = atoms;
      } else if (!aggressive) {
        best.resize(CommonPrefix(best, atoms));
      } else if (bytes > weight[f]) {
        best = atoms;
      }
      weight[f] = std::max(weight[f], bytes);
    }
  }
  // An atom may split only one factor. If each array chose its own one, as with Shardy, a step of fully sharded
  // training would send twice the bytes.
  for (size_t f = 0; f < count; ++f) {
    for (size_t g = 0; g < count; ++g) {
      if (f == g) continue;
      const auto shared = std::ranges::find_if(
          wanted[f], [&](uint8_t atom) { return std::ranges::find(wanted[g], atom) != wanted[g].end(); });
      if (shared == wanted[f].end()) continue;
      if (!aggressive) wanted[g].resize(std::ranges::find(wanted[g], *shared) - wanted[g].begin());
      if (!aggressive || weight[f] < weight[g] || (weight[f] == weight[g] && g < f))
        wanted[f].resize(shared - wanted[f].begin());
      else wanted[g].resize(std::ranges::find(wanted[g], *shared) - wanted[g].begin());
    }
  }
  return wanted;
}

AtomsByFactor Propagation::AtomsInRound(const Op& op, const Tensor& tensor) const {
  const State& state = states_[tensor.state];
  AtomsByFactor atoms = AtomsByFactorOf(op.rule, *tensor.factors, state.split, axes_);
  for (int64_t dim = 0; dim < state.split.rank(); ++dim) {
    if (IsInRound(state, dim)) continue;
    for (const uint16_t factor : (*tensor.factors)[dim]) atoms[factor].clear();
  }
  return atoms;
}

bool Propagation::Extend(const Op& op, const Tensor& tensor, const AtomsByFactor& own, const AtomsByFactor& wanted) {
  State& state = states_[tensor.state];
  bool changed = false;
  for (int64_t dim = 0; dim < state.split.rank(); ++dim) {
    if (!state.open[dim] || !IsInRound(state, dim) || tensor.shape->IsDynamic(dim)) continue;
    const DimFactors& factors = (*tensor.factors)[dim];
    for (size_t k = 0; k < factors.size(); ++k) {
      const Factor& factor = op.rule.factors[factors[k]];
      const Atoms &has = own[factors[k]], &wants = wanted[factors[k]];
      int64_t parts = axes_.SizeOf(has);
      const int64_t size = factors.size() == 1 ? tensor.shape->dim(dim) : factor.size;
      const bool minor_is_split = std::any_of(factors.begin() + static_cast<int64_t>(k) + 1, factors.end(),
                                              [&](uint16_t f) { return !own[f].empty(); });
      if (IsPrefix(has, wants) && !minor_is_split) {
        for (const uint8_t atom : std::span(wants).subspan(has.size())) {
          const AxisSet used = state.split.InDims() | state.split.manual | state.split.pending | state.replicated;
          const int64_t more_parts = parts * axes_.atoms()[atom].size;
          if (used.Has(atom) || !MaySplit(size, more_parts, factors.size() == 1)) break;
          parts = more_parts;
          state.split.Append(dim, atom);
          state.changed = step_;
          changed = true;
        }
      }
      if (parts != size) break;
    }
  }
  return changed;
}

}  // namespace hlo
