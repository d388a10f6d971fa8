// Patterns over instructions:
//
//   namespace m = match;
//   Instruction *x, *c;
//   if (!m::Add(m::Any(&x), m::Constant(&c))(&inst)) return nullptr;
//
// For commutative ops, `m::Add(p, q)` tries both orders. Captures are valid only if the whole pattern matches.
// `m::Add(&add)` matches any add and captures it. `m::Add(&add, p, q)` does both.
#ifndef HLO_PASSES_MATCH_H_
#define HLO_PASSES_MATCH_H_

#include <tuple>
#include <utility>

#include "ir/instruction.h"

namespace hlo::match {

struct AnyPattern {
  Instruction** capture = nullptr;
  bool operator()(Instruction* inst) const {
    if (capture != nullptr) *capture = inst;
    return true;
  }
};
inline AnyPattern Any(Instruction** capture = nullptr) { return {capture}; }

inline auto Is(const Instruction* wanted) {
  return [wanted](Instruction* inst) { return inst == wanted; };
}

template <class... Operands>
struct OpPattern {
  Opcode opcode;
  Instruction** capture;
  std::tuple<Operands...> operands;

  bool operator()(Instruction* inst) const {
    if (inst->opcode() != opcode) return false;
    if (!Matches(inst)) return false;
    if (capture != nullptr) *capture = inst;
    return true;
  }

 private:
  bool Matches(Instruction* inst) const {
    if constexpr (sizeof...(Operands) == 0) {
      return true;
    } else {
      if (inst->operand_count() != static_cast<int64_t>(sizeof...(Operands))) return false;
      if (InOrder(inst, std::index_sequence_for<Operands...>())) return true;
      if constexpr (sizeof...(Operands) == 2) {
        return inst->Is(kCommutative) && std::get<0>(operands)(&inst->operand(1)) &&
               std::get<1>(operands)(&inst->operand(0));
      }
      return false;
    }
  }
  template <size_t... I>
  bool InOrder(Instruction* inst, std::index_sequence<I...>) const {
    return (std::get<I>(operands)(&inst->operand(I)) && ...);
  }
};

template <class... Operands>
OpPattern<Operands...> Op(Opcode opcode, Instruction** capture, Operands... operands) {
  return {opcode, capture, std::tuple(std::move(operands)...)};
}

#define HLO_OPCODE(Name, ...)                                    \
  template <class... Operands>                                   \
  auto Name(Operands... operands) {                              \
    return Op(Opcode::k##Name, nullptr, std::move(operands)...); \
  }                                                              \
  template <class... Operands>                                   \
  auto Name(Instruction** capture, Operands... operands) {       \
    return Op(Opcode::k##Name, capture, std::move(operands)...); \
  }
#include "ir/opcodes.inc"

// A scalar or splat constant with this value, or its broadcast.
inline auto ConstantOf(double value) {
  return [value](Instruction* inst) { return inst->IsConstantOf(value); };
}

// A constant or its broadcast.
inline auto AnyConstant(Instruction** capture = nullptr) {
  return [capture](Instruction* inst) {
    if (capture != nullptr) *capture = inst;
    return inst->Is(Opcode::kConstant) || (inst->Is(Opcode::kBroadcast) && inst->operand(0).Is(Opcode::kConstant));
  };
}

// A scalar constant or a broadcast of it. Captures the constant.
inline auto ScalarConstant(Instruction** capture) {
  return [capture](Instruction* inst) {
    Instruction* constant = inst->Is(Opcode::kBroadcast) ? &inst->operand(0) : inst;
    if (!constant->Is(Opcode::kConstant) || !constant->shape().IsScalar()) return false;
    *capture = constant;
    return true;
  };
}

template <class Pattern>
auto OneUse(Pattern pattern) {
  return [pattern](Instruction* inst) { return inst->UseCount() == 1 && !inst->IsRoot() && pattern(inst); };
}

}  // namespace hlo::match

#endif  // HLO_PASSES_MATCH_H_
