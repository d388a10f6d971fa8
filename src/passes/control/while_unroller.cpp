// while_loop_unroller: a loop whose number of trips is known, and small, is its body, so many times one behind the
// other. Counters are constants in each copy.
//
// A copy of an instruction has no origin: what it computes is one of the values that the body's had.
#include <algorithm>
#include <unordered_set>

#include "interp/count_trips.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/side_effects.h"
#include "ir/trip_count.h"
#include "passes/control/call_sites.h"
#include "passes/control/loop.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// By element: a trip only hands it on, maybe to another place.
std::vector<bool> HandedOn(const Loop& loop) {
  std::vector<bool> handed(loop.Size(), true);
  for (bool again = true; again;) {
    again = false;
    for (int64_t i = 0; i < loop.Size(); ++i) {
      if (!handed[i]) continue;
      const auto source = loop.ElementInBody(loop.Next(i));
      handed[i] = source && handed[*source];
      again |= !handed[i];
    }
  }
  return handed;
}

// What a kernel computes on the way to an element of its result.
bool IsPartOfKernel(const Instruction& inst) {
  return inst.Is(kElementwise) || inst.Is(kMoves) || inst.Is(kHoldsLiteral) || inst.Is(Opcode::kIota) ||
         inst.Is(Opcode::kBitcast) || inst.Is(Opcode::kGetTupleElement) || inst.IsRoot();
}

// All trips can be one kernel: an element of what changes hangs on elements at its own place, on what a kernel makes of
// values that do not change, and on counters. A stencil does not: all that an element hangs on grows with each trip.
bool CanBeOneKernel(Instruction& inst) {
  const auto loop = ReadLoop(inst);
  if (!loop) return false;
  const std::vector<bool> handed = HandedOn(*loop);
  std::vector<bool> changes(loop->body->place_limit(), false);
  for (const Instruction* part : loop->body->PostOrder()) {
    if (part->Is(Opcode::kParameter)) continue;
    if (!IsPartOfKernel(*part)) return false;
    if (const auto element = loop->ElementInBody(*part)) {
      changes[part->place()] = !handed[*element] && !InductionOf(inst, *element);
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

// Computations in which, or in what they call, a collective runs.
std::unordered_set<const Computation*> WithCollectives(const Module& module) {
  std::unordered_set<const Computation*> with;  // Looked up only.
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
    // Callees first: what becomes of a loop within counts in the body of the one around it.
    for (Computation* computation : SequentialComputations(module_)) {
      if (HasWaits(*computation)) continue;
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
  // Of a loop to unroll.
  std::optional<int64_t> TripsOf(Instruction& loop) const {
    const Computation& body = *loop.attrs<WhileAttrs>().body;
    const int64_t size = body.InstructionCount();
    // A collective that runs again is the same one; a copy would need a channel of its own.
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

  // The state before a trip, where counters are constants.
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
