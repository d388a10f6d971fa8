#include "ir/analysis/region.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "ir/attrs.h"
#include "ir/control_edges.h"
#include "ir/fusion.h"
#include "ir/module.h"

namespace hlo {
namespace {

// Replaces a region by its contents. Each group becomes a smaller region.
class Inliner {
 public:
  Inliner(Instruction& region, const RegionGroups& groups, std::vector<Instruction*>* order)
      : region_(region), held_(*region.attrs<FusionAttrs>().calls), groups_(groups), order_(order) {
    for (size_t i = 0; i < groups.size(); ++i) {
      for (const Instruction* member : groups[i]) group_of_[member->place()] = static_cast<int>(i);
    }
  }

  void Run() {
    for (Instruction* inst : held_.PostOrder()) {
      const int group = group_of_[inst->place()];
      if (inst->Is(Opcode::kParameter)) {
        values_[inst->place()] = &region_.operand(inst->parameter_number());
      } else if (group >= 0) {
        if (!made_[group]) MakeRegion(group);
      } else if (inst->Is(Opcode::kGetTupleElement) && group_of_[inst->operand(0).place()] >= 0) {
        values_[inst->place()] = elements_[inst->operand(0).place()][inst->tuple_index()];
      } else {
        Copy(*inst);
      }
    }
    Replace();
  }

 private:
  Computation& outer() { return region_.computation(); }
  Instruction& Added(Instruction& inst) {
    order_->push_back(&inst);
    return inst;
  }

  // The value outside of the region. If a kernel in a smaller region is used as a tuple, the tuple is built here.
  Instruction* ValueOf(const Instruction& inst) {
    Instruction*& value = values_[inst.place()];
    if (value == nullptr) value = &Added(outer().AddTuple(elements_[inst.place()]));
    return value;
  }

  void Copy(Instruction& inst) {
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst.operands()) operands.push_back(ValueOf(*operand));
    Instruction& copy = AddInPlaceOf(outer(), inst, operands);
    for (Instruction* before : region_.control_predecessors()) copy.AddControlPredecessor(*before);
    for (const Instruction* before : inst.control_predecessors()) copy.AddControlPredecessor(*ValueOf(*before));
    values_[inst.place()] = &Added(copy);
  }

  void MakeRegion(int group) {
    made_[group] = true;
    const std::string kind = RegionOf(region_);
    Computation& held = outer().module().AddComputation(Str("region_", kind));
    std::unordered_map<const Instruction*, Instruction*> inside;
    Operands operands;
    std::vector<Instruction*> results;
    // The kernel of each result, and its index in the kernel's tuple or -1.
    std::vector<std::pair<const Instruction*, int64_t>> taken;
    const std::function<Instruction*(Instruction&)> value_of = [&](Instruction& inst) -> Instruction* {
      Instruction*& value = inside[&inst];
      if (value != nullptr) return value;
      if (inst.Is(Opcode::kParameter)) {
        value = &held.AddParameter(std::ssize(operands), inst.shape());
        operands.push_back(&region_.operand(inst.parameter_number()));
        return value;
      }
      std::vector<Instruction*> own;
      for (Instruction* operand : inst.operands()) own.push_back(value_of(*operand));
      return inside[&inst] = &AddInPlaceOf(held, inst, own);
    };
    for (const Instruction* member : groups_[group]) {
      Instruction& kernel = *value_of(const_cast<Instruction&>(*member));
      if (!kernel.shape().IsTuple()) {
        results.push_back(&kernel);
        taken.emplace_back(member, -1);
        continue;
      }
      for (int64_t i = 0; i < std::ssize(kernel.shape().elements()); ++i) {
        results.push_back(&held.AddGetTupleElement(kernel, i));
        taken.emplace_back(member, i);
      }
    }
    held.SetRoot(results.size() == 1 ? *results.front() : held.AddTuple(results));
    Instruction& region =
        Added(outer().Add(Opcode::kFusion, held.root().shape(), std::move(operands),
                          FusionAttrs{.kind = FusionKind::kCustom, .calls = &held}, Str(kind, "_region")));
    region.SetRange(region_.range());
    SetConfigValue(region, "region", kind);
    for (Instruction* before : region_.control_predecessors()) region.AddControlPredecessor(*before);
    for (size_t i = 0; i < taken.size(); ++i) {
      const auto& [member, element] = taken[i];
      Instruction& value =
          taken.size() == 1 ? region : Added(outer().AddGetTupleElement(region, static_cast<int64_t>(i)));
      value.SetOrigin(results[i]->origin());
      if (element < 0) values_[member->place()] = &value;
      else elements_[member->place()].push_back(&value);
    }
  }

  // Users of the region's get-tuple-elements read the results directly.
  void Replace() {
    Instruction& result = *ValueOf(held_.root());
    if (result.Is(Opcode::kTuple)) {
      const std::vector<Instruction*> users(region_.users().begin(), region_.users().end());
      for (Instruction* user : users) {
        if (!user->Is(Opcode::kGetTupleElement)) continue;
        user->ReplaceAllUses(result.operand(user->tuple_index()));
        outer().Remove(*user);
      }
    }
    region_.ReplaceAllUses(result);
    Computation& computation = outer();
    computation.Remove(region_);
    if (!result.Is(Opcode::kTuple) || result.IsRoot() || result.UseCount() > 0) return;
    order_->pop_back();
    computation.Remove(result);
  }

  Instruction& region_;
  Computation& held_;
  const RegionGroups& groups_;
  std::vector<Instruction*>* order_;
  std::vector<int> group_of_ = std::vector<int>(held_.place_limit(), -1);
  std::vector<bool> made_ = std::vector<bool>(groups_.size());
  std::vector<Instruction*> values_ = std::vector<Instruction*>(held_.place_limit());
  std::vector<std::vector<Instruction*>> elements_ = std::vector<std::vector<Instruction*>>(held_.place_limit());
};

using GroupsOf = std::function<std::optional<RegionGroups>(const Instruction&)>;

bool TakeApart(Computation& computation, const GroupsOf& groups_of) {
  const std::vector<Instruction*> before = computation.Instructions();
  std::vector<Instruction*> order;
  Replacements apart;
  for (Instruction* inst : before) {
    if (inst->removed()) continue;
    const std::optional<RegionGroups> groups = IsRegion(*inst) ? groups_of(*inst) : std::nullopt;
    if (!groups) {
      order.push_back(inst);
      continue;
    }
    const auto first = std::ssize(order);
    Inliner(*inst, *groups, &order).Run();
    apart[inst].assign(order.begin() + first, order.end());
  }
  if (apart.empty()) return false;
  MoveControlEdges(computation, apart);
  std::erase_if(order, [](const Instruction* inst) { return inst->removed(); });
  if (computation.module().header.is_scheduled) computation.SetOrder(order);
  return true;
}

// Computes the results of a region's fusions in a single computation.
class Flattener {
 public:
  Flattener(const Computation& held, Computation& flat, std::string_view library)
      : held_(held), flat_(flat), library_(library) {}

  bool Run() {
    if (!TakeAll()) return false;
    std::vector<Instruction*>& results = values_[held_.root().place()];
    if (std::ranges::any_of(results, [](const Instruction* each) { return !each->shape().IsArray(); })) return false;
    flat_.SetRoot(held_.root().shape().IsTuple() ? flat_.AddTuple(results) : *results.front());
    return true;
  }

 private:
  using Values = std::vector<std::vector<Instruction*>>;
  using Known = std::unordered_multimap<uint64_t, std::pair<const Instruction*, Instruction*>>;

  Flattener(const Computation& held, Flattener& outer)
      : held_(held), flat_(outer.flat_), library_(outer.library_), known_(outer.known_) {}

  bool TakeAll() {
    return std::ranges::all_of(held_.PostOrder(), [&](const Instruction* inst) { return Take(*inst); });
  }

  static std::vector<Instruction*> OperandsOf(const Instruction& inst, const Values& values) {
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst.operands()) operands.push_back(values[operand->place()].front());
    return operands;
  }
  static bool NamesTuples(const Instruction& inst) {
    return inst.Is(Opcode::kTuple) || inst.Is(Opcode::kGetTupleElement);
  }
  static std::vector<Instruction*> Named(const Instruction& inst, const Values& values) {
    if (inst.Is(Opcode::kGetTupleElement)) return {values[inst.operand(0).place()][inst.tuple_index()]};
    return OperandsOf(inst, values);
  }

  bool Take(const Instruction& inst) {
    std::vector<Instruction*>& value = values_[inst.place()];
    if (inst.Is(Opcode::kParameter)) {
      if (!value.empty()) return true;
      if (!inst.shape().IsArray()) return false;
      value = {&flat_.AddParameter(inst.parameter_number(), inst.shape())};
      return true;
    }
    if (NamesTuples(inst)) {
      value = Named(inst, values_);
      return true;
    }
    if (inst.Is(Opcode::kBitcast) || inst.Is(Opcode::kConstant)) {
      value = {&Clone(inst, OperandsOf(inst, values_))};
      return true;
    }
    if (RegionOf(inst) == "rows") {
      Flattener inner(FusedComputation(inst), *this);
      for (int64_t i = 0; i < inst.operand_count(); ++i)
        inner.values_[inner.held_.parameter(i).place()] = values_[inst.operand(i).place()];
      if (!inner.TakeAll()) return false;
      value = inner.values_[inner.held_.root().place()];
      return true;
    }
    if (!IsKernel(inst) && !(IsFusion(inst) && LibraryOf(inst) == library_)) return false;
    value = Inside(FusedComputation(inst), OperandsOf(inst, values_));
    return !value.empty();
  }

  // Several kernels may compute the same value. The flat computation does so once.
  Instruction& Clone(const Instruction& inst, const std::vector<Instruction*>& operands) {
    uint64_t hash = HashOperation(inst);
    for (const Instruction* operand : operands) hash = (hash ^ operand->id()) * 0x9E3779B97F4A7C15;
    const auto [first, last] = known_.equal_range(hash);
    for (auto each = first; each != last; ++each) {
      const auto& [original, copy] = each->second;
      if (SameOperation(*original, inst) && std::ranges::equal(copy->operands(), operands)) return *copy;
    }
    Instruction& copy = flat_.AddClone(inst, Operands(operands));
    known_.insert({hash, {&inst, &copy}});
    return copy;
  }

  std::vector<Instruction*> Inside(const Computation& fused, const std::vector<Instruction*>& operands) {
    Values values(fused.place_limit());
    for (const Instruction* inst : fused.PostOrder()) {
      std::vector<Instruction*>& value = values[inst->place()];
      if (inst->Is(Opcode::kParameter)) {
        value = {operands[inst->parameter_number()]};
      } else if (inst->Is(Opcode::kTuple)) {
        value = OperandsOf(*inst, values);
      } else {
        value = {&Clone(*inst, OperandsOf(*inst, values))};
      }
    }
    std::vector<Instruction*>& results = values[fused.root().place()];
    if (fused.root().Is(Opcode::kTuple) || !fused.root().shape().IsTuple()) return results;
    std::vector<Instruction*> elements;
    for (size_t i = 0; i < fused.root().shape().elements().size(); ++i)
      elements.push_back(&flat_.AddGetTupleElement(*results.front(), static_cast<int64_t>(i)));
    return elements;
  }

  const Computation& held_;
  Computation& flat_;
  const std::string_view library_;
  Values values_ = Values(held_.place_limit());
  Known own_known_;
  Known& known_ = own_known_;
};

}  // namespace

std::string RegionOf(const Instruction& inst) {
  if (!IsFusion(inst) || inst.attrs<FusionAttrs>().kind != FusionKind::kCustom) return "";
  return ConfigValue(inst, "region").value_or("");
}

std::vector<Computation*> ComputationsOfKernels(const Module& module) {
  std::vector<Computation*> found = {&module.entry()};
  std::vector<bool> seen(module.computation_id_limit());
  seen[module.entry().id()] = true;
  for (size_t i = 0; i < found.size(); ++i) {
    for (const Instruction* inst : found[i]->instructions()) {
      if (!inst->Is(kControl) && !IsRegion(*inst)) continue;
      for (Computation* called : CalledComputations(*inst)) {
        if (!seen[called->id()]) found.push_back(called);
        seen[called->id()] = true;
      }
    }
  }
  std::vector<Computation*> order;
  for (Computation* computation : module.PostOrder()) {
    if (seen[computation->id()]) order.push_back(computation);
  }
  return order;
}

Instruction& AddInPlaceOf(Computation& computation, const Instruction& inst, std::span<Instruction* const> operands) {
  Operands of_copy;
  for (Instruction* operand : operands) of_copy.push_back(operand);
  Instruction& copy = computation.AddNamed(inst.opcode(), Shape(inst.shape()), std::move(of_copy),
                                           Attributes(inst.attributes()), inst.name());
  copy.SetRange(inst.range());
  copy.SetOrigin(inst.origin());
  if (inst.HasCommon()) copy.SetCommon(inst.common());
  return copy;
}

Instruction* AddFlattened(Instruction& region) {
  Computation& computation = region.computation();
  Computation& flat = computation.module().AddComputation(Str("flat_", region.name()));
  const bool is_call = RegionOf(region) == "statistics";
  const std::string_view library = is_call ? "convolution" : "gemm";
  if (!Flattener(*region.attrs<FusionAttrs>().calls, flat, library).Run()) return nullptr;
  Operands operands;
  for (Instruction* operand : region.operands()) operands.push_back(operand);
  Instruction& fusion = computation.AddNamed(
      Opcode::kFusion, Shape(region.shape()), std::move(operands),
      FusionAttrs{.kind = is_call ? FusionKind::kCustom : FusionKind::kInput, .calls = &flat}, region.name());
  if (is_call) SetConfigValue(fusion, "library", library);
  fusion.SetRange(region.range());
  fusion.SetOrigin(region.origin());
  return &fusion;
}

void ReplaceRegions(Computation& computation, std::span<const RegionAndFusion> flat) {
  if (flat.empty()) return;
  std::vector<Instruction*> order = computation.Instructions();
  order.resize(order.size() - flat.size());
  auto next = flat.begin();
  for (Instruction*& inst : order) {
    if (next != flat.end() && inst == next->region) inst = next++->fusion;
  }
  Replacements gone;
  for (const auto& [region, fusion] : flat) {
    for (Instruction* before : region->control_predecessors()) fusion->AddControlPredecessor(*before);
    region->ReplaceAllUses(*fusion);
    computation.Remove(*region);
    gone[region] = {fusion};
  }
  MoveControlEdges(computation, gone);
  if (computation.module().header.is_scheduled) computation.SetOrder(order);
}

bool TakeRegionsApart(Module& module, const GroupsOf& groups_of) {
  bool changed = false;
  // Each round moves inner regions outwards by one level.
  for (bool again = true; again;) {
    again = false;
    for (Computation* computation : ComputationsOfKernels(module)) again |= TakeApart(*computation, groups_of);
    changed |= again;
  }
  if (changed) module.RemoveUnreachable();
  return changed;
}

bool TakeRegionsApart(Module& module) {
  return TakeRegionsApart(module, [](const Instruction&) { return RegionGroups(); });
}

}  // namespace hlo
