#include "ir/reducer.h"

#include <limits>

#include "ir/module.h"
#include "ir/opcode_set.h"

namespace hlo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::optional<Literal> ExtremeOf(PrimitiveType type, bool largest) {
  if (type == PrimitiveType::kPred) return Literal::Scalar(type, int64_t{largest});
  if (IsFloat(type)) {
    const double wanted = largest ? kInfinity : -kInfinity;
    const Literal infinite = Literal::Scalar(type, wanted);
    return infinite.GetDouble(0) == wanted ? std::optional(infinite) : std::nullopt;
  }
  if (!IsInteger(type)) return std::nullopt;
  const uint64_t ones = ~uint64_t{0} >> (64 - BitWidth(type));
  if (!IsSigned(type)) return Literal::Scalar(type, static_cast<int64_t>(largest ? ones : 0));
  const auto top = static_cast<int64_t>(ones >> 1);
  return Literal::Scalar(type, largest ? top : -top - 1);
}

// -0 for floats, because adding +0 turns -0 into +0.
Literal Zero(PrimitiveType type) {
  if (!IsComplex(type)) return IsFloat(type) ? Literal::Scalar(type, -0.0) : Literal::Scalar(type, int64_t{0});
  Literal zero{Shape::Scalar(type)};
  zero.SetComplex(0, {-0.0, -0.0});
  return zero;
}

}  // namespace

std::optional<Opcode> ReducerOp(const Computation& reducer) {
  const Instruction& root = reducer.root();
  if (root.operand_count() != 2 || !root.Is(kElementwise) || !root.Is(kCommutative)) return std::nullopt;
  const Instruction &a = root.operand(0), &b = root.operand(1);
  if (!a.Is(Opcode::kParameter) || !b.Is(Opcode::kParameter) || &a == &b) return std::nullopt;
  return root.opcode();
}

std::optional<Literal> IdentityOf(Opcode op, PrimitiveType type) {
  const bool of_bits = IsInteger(type) || type == PrimitiveType::kPred;
  if (!of_bits && !IsFloat(type) && !IsComplex(type)) return std::nullopt;
  switch (op) {
    case Opcode::kAdd: return Zero(type);
    case Opcode::kMultiply: return of_bits ? Literal::Scalar(type, int64_t{1}) : Literal::Scalar(type, 1.0);
    case Opcode::kMaximum: return ExtremeOf(type, false);
    case Opcode::kMinimum: return ExtremeOf(type, true);
    case Opcode::kOr:
    case Opcode::kXor: return of_bits ? std::optional(Literal::Scalar(type, int64_t{0})) : std::nullopt;
    case Opcode::kAnd:
      if (!of_bits) return std::nullopt;
      return Literal::Scalar(type, type == PrimitiveType::kPred ? int64_t{1} : int64_t{-1});
    default: return std::nullopt;
  }
}

bool IsIdempotent(Opcode op) {
  constexpr OpcodeSet kIdempotent = {Opcode::kMaximum, Opcode::kMinimum, Opcode::kAnd, Opcode::kOr};
  return kIdempotent.Has(op);
}

}  // namespace hlo
