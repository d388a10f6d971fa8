#include "gpu/emitters/reduction_body.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace hlo::gpu {

using Output = ReductionSpace::Output;

ReductionBody::ReductionBody(ReductionSpace& space, KernelFrame& frame, bool by_bits)
    : Reducers(frame.k(), frame.emission(), space.Heroes(), by_bits),
      space_(space),
      k_(frame.k()),
      emission_(frame.emission()) {
  for (const Output& output : space_.outputs) epilogues_.push_back(frame.Output(*output.root));
  for (const Output& output : space_.stores) stores_.push_back(frame.Output(*output.root));
}

void ReductionBody::Accumulate(const std::vector<Slot>& slots, const std::vector<Emission::ScopeData>& steps,
                               const std::function<void(size_t)>& bind, Value is_first) {
  std::vector<Value> accumulators;
  for (const Slot& slot : slots) accumulators.push_back(slot.Get());
  if (is_first) accumulators.back() = Select(is_first, k_.Constant(kFlag, int64_t{0}), k_.Constant(kFlag, int64_t{1}));
  for (size_t u = 0; u < steps.size(); ++u) {
    emission_.Enter(steps[u]);
    emission_.Enter();
    bind(u);
    accumulators = Combine(accumulators, TermsAndStores());
    emission_.Leave();
    emission_.Leave();
  }
  for (size_t i = 0; i < slots.size(); ++i) slots[i].Set(accumulators[i]);
}

std::vector<Value> ReductionBody::TermsAndStores() {
  std::vector<Value> terms = Terms();
  std::vector<std::vector<Value>> stored;
  for (const Output& store : space_.stores) stored.push_back(emission_.EmitParts(std::span(&store.value, 1)));
  for (size_t i = 0; i < stored.size(); ++i)
    StoreElement(stores_[i], emission_.Lower(space_.stores[i].offset), stored[i]);
  return terms;
}

void ReductionBody::HoistInputs() {
  emission_.Hoist(space_.Inputs());
  for (const Output& store : space_.stores) emission_.Hoist(store.offset);
}

void ReductionBody::AddPartial(const std::vector<Slot>& sums, const std::vector<Array>& partials,
                               const std::function<Value()>& at) {
  std::vector<Value> a, b;
  for (size_t j = 0; j < sums.size(); ++j) {
    a.push_back(sums[j].Get());
    b.push_back(partials[j].Load(at()));
  }
  const std::vector<Value> combined = Combine(a, b);
  for (size_t j = 0; j < sums.size(); ++j) sums[j].Set(combined[j]);
}

void ReductionBody::Finish(const std::vector<Value>& totals) {
  Give(totals);
  std::vector<std::vector<Value>> results;
  for (const Output& output : space_.outputs) results.push_back(emission_.EmitParts(std::span(&output.value, 1)));
  for (size_t i = 0; i < results.size(); ++i)
    StoreElement(epilogues_[i], emission_.Lower(space_.outputs[i].offset), results[i]);
}

void ReductionBody::HoistEpilogues() {
  emission_.Hoist(space_.Epilogues());
  for (const Output& output : space_.outputs) emission_.Hoist(output.offset);
}

Partials MakePartials(KernelFrame& frame, const std::vector<Type>& types, int64_t elements, int64_t counters) {
  Partials partials;
  for (size_t i = 0; i < types.size(); ++i)
    partials.values.push_back(frame.Scratch(static_cast<int>(i), types[i], elements));
  partials.counters = frame.Scratch(static_cast<int>(types.size()), Type::kU32, counters, true);
  return partials;
}

EmittedKernel WithChain(EmittedKernel kernel, const ReductionSpace& reduction, int64_t chain) {
  for (const ReducedHero& hero : reduction.heroes)
    AddChain(hero, chain, reduction.Size(Role::kReduced), kernel.precision);
  return kernel;
}

bool UsesTransposedTile(const KernelPlan& plan) { return plan.tile.size() == 2 && plan.tile[0] == plan.threads; }

bool AreLanesVectors(const KernelPlan& plan) {
  return plan.vector == 1 && (plan.tile[0] == 1 || UsesTransposedTile(plan)) && plan.threads <= 64;
}

Result<std::unique_ptr<ReductionSpace>> SpaceFor(const EmitRequest& request, Role minor_role) {
  const KernelPlan& plan = request.plan;
  const std::vector<const Instruction*> heroes = TRY(request.Heroes());
  for (const Instruction* hero : heroes)
    TRY(request.Require(hero->Is(Opcode::kReduce), Str("'", hero->name(), "' is not a reduce")));
  TRY(request.Require(heroes[0]->operand(0).shape().NumElements() > 0, "it reduces no elements"));
  std::string why_not;
  auto space = TRY(ReductionSpaceOf(request.body, heroes, &why_not));
  TRY(request.Require(space != nullptr, why_not));
  TRY(request.Require(
      !space->variables.empty() && space->minor().role == minor_role,
      minor_role == Role::kReduced ? "it does not reduce the minor dimension" : "it reduces the minor dimension"));
  TRY(request.RequireBlock(2));
  const int64_t minor = space->minor().size, warps = plan.threads / 32;
  TRY(request.Require(minor % plan.vector == 0,
                      Str("the minor dimension, ", minor, ", is not a multiple of vector, ", plan.vector)));
  if (minor_role == Role::kReduced && UsesTransposedTile(plan)) return space;
  const bool by_warps =
      minor_role == Role::kReduced ? plan.tile[0] == warps : warps % std::max<int64_t>(plan.tile[0], 1) == 0;
  TRY(request.Require(
      (plan.tile[0] == 1 || by_warps) && plan.tile[0] * plan.tile[1] == plan.threads * plan.vector,
      Str("a tile for ", plan.threads, " threads with vector ", plan.vector, " must be [1,", plan.threads * plan.vector,
          "] or [", warps, ",", 32 * plan.vector, "]", minor_role == Role::kKept ? " or a shape between them" : "")));
  return space;
}

}  // namespace hlo::gpu
