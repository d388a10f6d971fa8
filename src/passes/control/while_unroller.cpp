// while_loop_unroller: replaces a loop with a small known number of trips by copies of its body, in which counters are
// constants.
#include <algorithm>
#include <unordered_set>

#include "interp/count_trips.h"
#include "ir/analysis/trip_count.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/side_effects.h"
#include "passes/control/call_sites.h"
#include "passes/control/loop.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// By element: whether trips only pass it on, possibly to another position.
std::vector<bool> PassedOnElements(const Loop& loop) {
  std::vector<bool> passed_on(loop.Size(), true);
  for (bool again = true; again;) {
    again = false;
    for (int64_t i = 0; i < loop.Size(); ++i) {
      if (!passed_on[i]) continue;
      const auto source = loop.ElementInBody(loop.Next(i));
      passed_on[i] = source && passed_on[*source];
      again |= !passed_on[i];
    }
  }
  return passed_on;
}

// Whether a kernel can compute single elements of the result.
bool IsPartOfKernel(const Instruction& inst) {
  return inst.Is(kElementwise) || inst.Is(kMoves) || inst.Is(kHoldsLiteral) || inst.Is(Opcode::kIota) ||
         inst.Is(Opcode::kBitcast) || inst.Is(Opcode::kGetTupleElement) || inst.IsRoot();
}

// Whether one kernel can compute all trips. An element of a changing array may depend on changing arrays only at its
// own index. In a stencil, it would depend on more elements with each trip.
bool CanBeOneKernel(Instruction& inst) {
  const auto loop = ReadLoop(inst);
  if (!loop) return false;
  const std::vector<bool> passed_on = PassedOnElements(*loop);
  std::vector<bool> changes(loop->body->place_limit(), false);
  for (const Instruction* part : loop->body->PostOrder()) {
    if (part->Is(Opcode::kParameter)) continue;
    if (!IsPartOfKernel(*part)) return false;
    if (const auto element = loop->ElementInBody(*part)) {
      changes[part->place()] = !passed_on[*element] && !InductionOf(inst, *element);
      continue;
    }
    for (const Instruction* operand : part->operands()) {
      if (!changes[operand->place()]) continue;
      changes[part->place()] = true;
      if (!part->Is(kElementwise) && !operand->shape().IsScalar() && !part->IsRoot()) return false;
    }
  }
  return true;
}

// Computations with collectives, also in their callees.
std::unordered_set<const Computation*> WithCollectives(const Module& module) {
  std::unordered_set<const Computation*> with;
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->instructions()) {
      const auto runs_one = [&](const Computation* called) { return with.contains(called); };
      if (inst->Is(kCollective) || std::ranges::any_of(CalledComputations(*inst), runs_one)) with.insert(computation);
    }
  }
  return with;
}

class Unroller {
 public:
  Unroller(Module& module, const UnrollingOptions& options)
      : module_(module),
        options_(options),
        calls_(module),
        collectives_(WithCollectives(module)),
        left_(options.module_copies) {}

  bool Run(const PassContext& context) {
    bool changed = false;
    // Callees come first: an unrolled inner loop counts in the outer body's size.
    for (Computation* computation : SequentialComputations(module_)) {
      if (HasControlEdges(*computation)) continue;
      for (Instruction* inst : computation->PostOrder()) {
        if (!inst->Is(Opcode::kWhile) || inst->IsDead()) continue;
        const auto trips = TripsOf(*inst);
        if (!trips || !context.ConsumeFuel()) continue;
        Unroll(*inst, *trips);
        changed = true;
      }
    }
    module_.RemoveUnreachable();
    return changed;
  }

 private:
  std::optional<int64_t> TripsOf(Instruction& loop) const {
    const Computation& body = *loop.attrs<WhileAttrs>().body;
    const int64_t size = body.InstructionCount();
    // A copy of a collective would need a separate channel.
    if (size > options_.instructions || HasSideEffect(loop) || collectives_.contains(&body)) return std::nullopt;
    const auto trips = CountTrips(loop, options_.trips);
    if (!trips || *trips > options_.trips || size * *trips > std::min(options_.copies, left_)) return std::nullopt;
    return !options_.one_kernel || CanBeOneKernel(loop) ? trips : std::nullopt;
  }

  void Unroll(Instruction& loop, int64_t trips) {
    const Computation& body = *loop.attrs<WhileAttrs>().body;
    left_ -= body.InstructionCount() * trips;
    Instruction* state = &loop.operand(0);
    for (int64_t trip = 0; trip < trips; ++trip) {
      state = &WithCounters(*state, loop, trip);
      state = &calls_.Inline(loop.computation(), body, {&state, 1});
    }
    loop.ReplaceAllUses(*state);
    loop.computation().Remove(loop);
  }

  // The state before the trip, with constants as counters.
  static Instruction& WithCounters(Instruction& state, const Instruction& loop, int64_t trip) {
    if (!loop.shape().IsTuple()) return state;
    std::vector<Instruction*> elements;
    for (size_t i = 0; i < loop.shape().elements().size(); ++i) {
      const auto count =
          loop.shape().element(i).IsScalar() && InductionOf(loop, i) ? ScalarAfter(loop, i, trip) : std::nullopt;
      elements.push_back(count ? &loop.computation().AddConstant(*count) : &ElementOf(state, i));
    }
    return loop.computation().AddTuple(elements);
  }

  Module& module_;
  const UnrollingOptions options_;
  CallSites calls_;
  const std::unordered_set<const Computation*> collectives_;
  int64_t left_;
};

}  // namespace

Result<bool> UnrollLoops(Module& module, const PassContext& context) {
  return Unroller(module, context.Get<UnrollingOptions>()).Run(context);
}

}  // namespace hlo
