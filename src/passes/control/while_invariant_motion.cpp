// Moves invariant instructions of a loop body in front of the loop, and passes their values through the state.
//
// A value in the state is read from memory, whereas a kernel can compute it in the body. A cheap instruction moves only
// if the body then reads no more bytes (a sum of two arrays, but not a mask made of a scalar), or if its users read
// from memory anyway. {inflating=true} also moves the others, like XLA.
#include <algorithm>

#include "ir/analysis/trip_count.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/opcode_set.h"
#include "ir/side_effects.h"
#include "passes/control/call_sites.h"
#include "passes/control/loop.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// Cost in additions per element from which reading is cheaper than computing: a division or a mathematical function.
constexpr double kWorthReading = 8;

// Whether `inst` is free in the kernel of its users.
bool MovesWithUsersOnly(const Instruction& inst) {
  constexpr OpcodeSet kFreeWhereUsed = {
      Opcode::kBitcast, Opcode::kBroadcast, Opcode::kConstant, Opcode::kGetTupleElement, Opcode::kIota,
      Opcode::kReshape, Opcode::kReverse,   Opcode::kSlice,    Opcode::kTranspose,       Opcode::kTuple};
  return kFreeWhereUsed.Has(inst.opcode());
}

// Whether a library call or separate kernel reads the value from memory.
bool FeedsMemory(const Instruction& inst) {
  return std::ranges::any_of(inst.users(), [](const Instruction* user) { return user->Is(kStandsAlone); });
}

bool IsStatic(const Shape& shape) {
  bool all = true;
  ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) { all &= leaf.IsArray() && !leaf.HasDynamicDims(); });
  return all;
}

class Motion {
 public:
  Motion(const Loop& loop, bool inflating)
      : loop_(loop),
        inflating_(inflating),
        runs_(DerivedTripCount(*loop.loop).has_value()),
        order_(loop.body->PostOrder()),
        facts_(loop.body->place_limit()) {}

  bool Run(const PassContext& context) {
    for (Instruction* inst : order_) Look(*inst);
    if (std::ranges::none_of(facts_, [](const Fact& fact) { return fact.moves; }) || !context.ConsumeFuel())
      return false;
    CopyOut();
    AddMovedToState();
    for (size_t i = order_.size(); i-- > 0;) {
      // Otherwise unused get-tuple-elements would keep moved tuples.
      const bool goes = FactOf(*order_[i]).invariant || order_[i]->Is(Opcode::kGetTupleElement);
      if (goes && order_[i]->IsDead()) loop_.body->Remove(*order_[i]);
    }
    return true;
  }

 private:
  struct Fact {
    bool invariant = false;
    bool moves = false;   // Moving it is worth the cost.
    bool needed = false;  // An instruction that moves uses it.
    bool gone = false;    // The body no longer needs it.
    double work = 0;      // Cost of computing the value in the body, in additions.
    double bytes = 0;     // Bytes read to compute the value in the body.
    Instruction* outside = nullptr;
  };
  Fact& FactOf(const Instruction& inst) { return facts_[inst.place()]; }

  void Look(Instruction& inst) {
    Fact& fact = FactOf(inst);
    if (const auto element = loop_.ElementInBody(inst)) {
      fact.invariant = loop_.IsInvariant(*element);
      fact.bytes = static_cast<double>(inst.shape().ByteSize());
      fact.outside = fact.invariant ? &loop_.init->operand(*element) : nullptr;
      return;
    }
    fact.invariant = IsInvariant(inst);
    if (!fact.invariant) return;
    const auto bytes = static_cast<double>(inst.shape().ByteSize());
    fact.work = inst.shape().IsArray() ? InstructionCost(inst) * static_cast<double>(inst.shape().NumElements()) : 0;
    fact.bytes = inst.Is(Opcode::kConstant) ? bytes : 0;
    for (const Instruction* operand : inst.operands()) {
      fact.work += FactOf(*operand).work;
      fact.bytes += FactOf(*operand).bytes;
    }
    if (inst.Is(kMoves)) fact.bytes = std::min(fact.bytes, bytes);
    fact.moves = IsWorthMoving(inst, fact, bytes);
    if (!fact.moves) return;
    fact.work = 0;
    fact.bytes = bytes;
  }

  bool IsInvariant(const Instruction& inst) {
    if (inst.Is(Opcode::kParameter) || inst.Is(Opcode::kDomain) || inst.Is(Opcode::kOptimizationBarrier) ||
        inst.Is(Opcode::kElidedConstant) || inst.IsDead() || inst.IsRoot())
      return false;
    if (inst.Is(kCollective) || !IsStatic(inst.shape())) return false;
    if (std::ranges::any_of(inst.operands(), [&](const Instruction* operand) { return !FactOf(*operand).invariant; }))
      return false;
    // An inner loop or unknown custom call may not terminate, and must not run if the outer loop has no trip.
    if ((inst.Is(kControl) || inst.Is(Opcode::kCustomCall)) && !runs_) return false;
    return !HasSideEffect(inst);
  }

  bool IsWorthMoving(const Instruction& inst, const Fact& fact, double bytes) {
    if (inst.Is(Opcode::kGetTupleElement)) return FactOf(inst.operand(0)).moves;
    const bool feeds_memory = inst.Is(Opcode::kBroadcast) && FeedsMemory(inst);
    if (MovesWithUsersOnly(inst)) return feeds_memory;
    if (inst.shape().IsTuple()) {
      return std::ranges::all_of(inst.users(),
                                 [](const Instruction* user) { return user->Is(Opcode::kGetTupleElement); });
    }
    if (inflating_ || !(inst.Is(kElementwise) || inst.Is(kMoves))) return true;
    if (bytes <= fact.bytes || FeedsMemory(inst)) return true;
    return fact.work >= kWorthReading * static_cast<double>(inst.shape().NumElements());
  }

  void CopyOut() {
    for (size_t i = order_.size(); i-- > 0;) {
      const Fact& fact = FactOf(*order_[i]);
      if (fact.outside != nullptr || !(fact.moves || fact.needed)) continue;
      for (const Instruction* operand : order_[i]->operands()) FactOf(*operand).needed = true;
    }
    Computation& caller = loop_.loop->computation();
    for (const Instruction* inst : order_) {
      Fact& fact = FactOf(*inst);
      if (fact.outside != nullptr || !(fact.moves || fact.needed)) continue;
      std::vector<Instruction*> operands;
      for (const Instruction* operand : inst->operands()) operands.push_back(FactOf(*operand).outside);
      fact.outside = &caller.AddClone(*inst, operands);
      fact.outside->SetOrigin(-1);  // No single trip computes the value.
    }
  }

  void AddMovedToState() {
    Computation& body = *loop_.body;
    Instruction& root = body.root();
    std::vector<Instruction*> first(loop_.init->operands().begin(), loop_.init->operands().end());
    std::vector<Shape> shapes = loop_.loop->shape().elements();
    std::vector<std::pair<Instruction*, int64_t>> inside;
    for (size_t i = order_.size(); i-- > 0;) {
      Fact& fact = FactOf(*order_[i]);
      const auto is_gone = [&](const Instruction* user) { return FactOf(*user).gone; };
      fact.gone = fact.invariant && (fact.moves || std::ranges::all_of(order_[i]->users(), is_gone));
    }
    for (Instruction* inst : order_) {
      const auto stays = [&](const Instruction* user) { return !FactOf(*user).gone; };
      if (!FactOf(*inst).moves || inst->shape().IsTuple() || std::ranges::none_of(inst->users(), stays)) continue;
      inside.emplace_back(inst, std::ssize(first));
      first.push_back(FactOf(*inst).outside);
      shapes.push_back(inst->shape());
    }
    const Shape state = Shape::Tuple(std::move(shapes));
    body.parameter(0).SetShape(state);
    loop_.condition->parameter(0).SetShape(state);
    std::vector<Instruction*> next(root.operands().begin(), root.operands().end());
    for (const auto& [inst, element] : inside) {
      Instruction& value = body.AddGetTupleElement(body.parameter(0), element);
      std::ranges::replace(next, inst, &value);
      inst->ReplaceAllUses(value);
      value.SetOrigin(-1);
      next.push_back(&value);
    }
    body.SetRoot(body.AddTuple(next));
    body.Remove(root);
    loop_.loop->SetOperand(0, loop_.loop->computation().AddTuple(first));
    loop_.loop->SetShape(state);
  }

  const Loop& loop_;
  const bool inflating_;
  const bool runs_;  // The loop is known to have a trip.
  const std::vector<Instruction*> order_;
  std::vector<Fact> facts_;
};

}  // namespace

Result<bool> MoveLoopInvariants(Module& module, const PassContext& context) {
  const CallSites calls(module);
  const bool inflating = context.Get<MotionOptions>().inflating;
  bool changed = false;
  // Inner loops come first, because an instruction may leave several loops.
  for (Computation* computation : SequentialComputations(module)) {
    for (Instruction* inst : computation->PostOrder()) {
      if (inst->IsDead()) continue;
      const auto loop = ReadLoop(*inst);
      if (!loop || calls.Count(*loop->body) != 1 || calls.Count(*loop->condition) != 1 || HasControlEdges(*loop->body))
        continue;
      if (const auto trips = DerivedTripCount(*inst); trips && *trips <= 1) continue;
      changed |= Motion(*loop, inflating).Run(context);
    }
  }
  return changed;
}

}  // namespace hlo
