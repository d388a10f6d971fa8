#include "judge/new_roundings.h"

#include <algorithm>
#include <cstdint>
#include <ranges>
#include <vector>

#include "ir/component_type.h"
#include "ir/opcode_set.h"
#include "ir/reducer.h"
#include "judge/bounds/rules.h"
#include "judge/kept_values.h"

namespace hlo {
namespace {

// Element types, one bit each.
using Types = uint64_t;

constexpr OpcodeSet kSums = {Opcode::kDot,          Opcode::kConvolution, Opcode::kRaggedDot,       Opcode::kReduce,
                             Opcode::kReduceWindow, Opcode::kScatter,     Opcode::kSelectAndScatter};

Types FloatTypesOf(const Shape& shape) {
  Types types = 0;
  ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) {
    if (!leaf.IsArray()) return;
    const PrimitiveType type = IsComplex(leaf.type()) ? ComponentType(leaf.type()) : leaf.type();
    if (IsFloat(type)) types |= Types{1} << static_cast<int>(type);
  });
  return types;
}

bool IncludesSome(PrimitiveType wide, Types types) {
  for (int type = 0; types >> type != 0; ++type) {
    if ((types >> type & 1) != 0 && shadow::Includes(wide, static_cast<PrimitiveType>(type))) return true;
  }
  return false;
}

// Formats without infinities overflow differently, so only their mantissa is reduced.
ReducePrecisionAttrs BitsOf(PrimitiveType type) {
  if (type == PrimitiveType::kF32) return {.exponent_bits = 8, .mantissa_bits = 23};
  const FloatFormat format = FormatOf(type);
  return {.exponent_bits = format.specials == Specials::kIeee ? format.exponent_bits : 11,
          .mantissa_bits = format.mantissa_bits};
}

bool MakesNumbers(const Instruction& inst) {
  if (inst.Is(Opcode::kConvert)) {
    const PrimitiveType from = inst.operand(0).shape().type();
    return !IsFloat(from) || !shadow::Includes(inst.shape().type(), from);
  }
  if (inst.Is(kElementwise)) return RowOf(inst.opcode()).ulps > 0;
  if (!kSums.Has(inst.opcode())) return false;
  constexpr OpcodeSet kPicks = {Opcode::kMaximum, Opcode::kMinimum};
  return std::ranges::none_of(CalledComputations(inst), [&](const Computation* reducer) {
    const auto op = ReducerOp(*reducer);
    return op && kPicks.Has(*op);
  });
}

class NewRoundings {
 public:
  NewRoundings(const Module& before, const Module& after)
      : origins_(before, OriginsOf::kBefore),
        after_(after),
        kept_(before.id_limit()),
        held_(before.id_limit()),
        permitted_(after.id_limit()),
        by_callers_(after.computation_id_limit()) {
    for (const Computation* computation : after.PostOrder()) {
      for (const Instruction* inst : computation->instructions()) {
        if (const Instruction* origin = OriginOf(*inst)) kept_[origin->id()] = true;
      }
    }
    FindHeld(before);
    by_callers_[after.entry().id()] = held_[before.entry().root().id()];
    FindPermitted();
  }

  std::vector<int> Find() const {
    std::vector<int> found;
    for (const Computation* computation : after_.PostOrder()) {
      if (ReducerOp(*computation)) continue;  // The instruction that calls a reducer counts instead.
      for (const Instruction* inst : computation->instructions()) {
        if (Rounds(*inst)) found.push_back(inst->id());
      }
    }
    return found;
  }

 private:
  const Instruction* OriginOf(const Instruction& inst) const {
    for (const Instruction* origin : origins_.Of(inst)) {
      if (Compatible(origin->shape(), inst.shape())) return origin;
    }
    return nullptr;
  }

  // Collects the float types of each instruction of the module before, and of the instructions between it and the kept
  // values from which it is computed.
  void FindHeld(const Module& before) {
    constexpr OpcodeSet kGiven = {Opcode::kParameter, Opcode::kConstant, Opcode::kIota};
    std::vector<Types> of_all(before.computation_id_limit());
    for (const Computation* computation : before.PostOrder()) {
      for (const Instruction* inst : computation->PostOrder()) {
        if (kGiven.Has(inst->opcode())) continue;
        Types& types = held_[inst->id()];
        types = FloatTypesOf(inst->shape());
        const bool hands_on = types != 0;
        for (const Instruction* operand : inst->operands()) {
          if (!kept_[operand->id()]) types |= held_[operand->id()];
          if (!hands_on)
            types |= FloatTypesOf(operand->shape());  // Comparisons have the float types of their operands.
        }
        for (const Computation* callee : CalledComputations(*inst)) types |= of_all[callee->id()];
        of_all[computation->id()] |= types;
      }
    }
  }

  // Collects for each new instruction the float types from which the module before computed the kept values that depend
  // on it.
  void FindPermitted() {
    for (const Computation* computation : after_.PostOrder() | std::views::reverse) {
      const std::vector<Instruction*> order = computation->PostOrder();
      for (const Instruction* inst : order | std::views::reverse) {
        Types& types = permitted_[inst->id()];
        if (const Instruction* origin = OriginOf(*inst)) {
          types = held_[origin->id()];
        } else {
          for (const Instruction* user : inst->users()) types |= permitted_[user->id()];
          if (inst->IsRoot()) types |= by_callers_[computation->id()];
        }
        for (const Computation* callee : CalledComputations(*inst)) by_callers_[callee->id()] |= types;
      }
    }
  }

  bool Rounds(const Instruction& inst) const {
    if (!inst.shape().IsArray() || !IsFloat(inst.shape().type()) || OriginOf(inst) != nullptr) return false;
    const Types permitted = permitted_[inst.id()];
    if (permitted == 0 || !MakesNumbers(inst)) return false;
    return !IncludesSome(inst.shape().type(), permitted) && !WasConverted(inst);
  }

  bool WasConverted(const Instruction& inst) const {
    const Instruction* const from = inst.Is(Opcode::kConvert) ? OriginOf(inst.operand(0)) : nullptr;
    return from != nullptr && std::ranges::any_of(from->users(), [&](const Instruction* user) {
             return user->Is(Opcode::kConvert) && user->shape().type() == inst.shape().type();
           });
  }

  const Origins origins_;
  const Module& after_;
  std::vector<bool> kept_;         // Indexed by id in the module before.
  std::vector<Types> held_;        // Indexed by id in the module before.
  std::vector<Types> permitted_;   // Indexed by id in the module after.
  std::vector<Types> by_callers_;  // Union of `permitted_` of all callers, by computation id.
};

void RoundBehind(Instruction& inst) {
  Computation& computation = inst.computation();
  const std::vector<Instruction*> users(inst.users().begin(), inst.users().end());
  const bool is_root = inst.IsRoot();
  const Shape wide = inst.shape().WithType(PrimitiveType::kF64);
  Instruction& widened = computation.Add(Opcode::kConvert, wide, {&inst});
  Instruction& rounded = computation.Add(Opcode::kReducePrecision, wide, {&widened}, BitsOf(inst.shape().type()));
  Instruction& narrowed = computation.Add(Opcode::kConvert, inst.shape(), {&rounded});
  for (Instruction* user : users) {
    for (int64_t i = 0; i < user->operand_count(); ++i) {
      if (&user->operand(i) == &inst) user->SetOperand(i, narrowed);
    }
  }
  if (is_root) computation.SetRoot(narrowed);
}

}  // namespace

std::unique_ptr<Module> WithNewRoundings(const Module& before, const Module& after) {
  const std::vector<int> found = NewRoundings(before, after).Find();
  if (found.empty()) return nullptr;
  std::unique_ptr<Module> rounded = after.Clone();
  rounded->header.is_scheduled = false;  // New instructions are appended.
  std::vector<Instruction*> by_id(rounded->id_limit());
  for (const Computation* computation : rounded->PostOrder()) {
    for (Instruction* inst : computation->instructions()) by_id[inst->id()] = inst;
  }
  for (const int id : found) RoundBehind(*by_id[id]);
  return rounded;
}

}  // namespace hlo
