// Operations of CHLO by formulas, as XLA expands them.
#include <cmath>
#include <limits>

#include "parser/mlir/builders.h"
#include "parser/mlir/formula.h"
#include "parser/mlir/stablehlo_ops.h"

namespace hlo::mlir {

Expr Expr::Add(Opcode opcode, PrimitiveType type, Operands operands, Attributes attrs) const {
  return Expr(*to_, *op_, to_->Add(*op_, opcode, inst_->shape().WithType(type), std::move(operands), std::move(attrs)));
}

Expr Expr::Constant(double value) const {
  return Expr(*to_, *op_, to_->Constant(*op_, Literal::Scalar(type(), value), inst_->shape()));
}

Expr Expr::IntConstant(int64_t value) const {
  return Expr(*to_, *op_, to_->Constant(*op_, Literal::Scalar(type(), value), inst_->shape()));
}

namespace {

double Largest(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF16: return 65504;
    case PrimitiveType::kBF16: return 0x1.FEp127;
    case PrimitiveType::kF32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

Expr OperandOf(Lowering& to, const Operation& op, size_t i) { return Expr(to, op, to.Operand(op, i)); }

Status ExpectFloats(const Lowering& to, const Operation& op, size_t count) {
  bool good = op.operands.size() == count && op.result_count == 1;
  for (size_t i = 0; good && i < count; ++i) good = IsFloat(to.OperandShape(op, i).type());
  if (good) return {};
  FAIL(ErrorAtOp(op, "V001",
                 Str("'", op.name, "' takes ", count, count == 1 ? " operand" : " operands", " of a float type")));
}

// Narrow types are computed in f32.
template <class... Args>
Status BuildInF32(Lowering& to, const Operation& op, Expr (*formula)(Args...)) {
  constexpr size_t kCount = sizeof...(Args);
  TRY(ExpectFloats(to, op, kCount));
  const PrimitiveType type = to.OperandShape(op, 0).type();
  const bool is_narrow = BitWidth(type) < 32;
  const auto operand = [&](size_t i) {
    const Expr x = OperandOf(to, op, i);
    return is_narrow ? x.Convert(PrimitiveType::kF32) : x;
  };
  const Expr result = [&] {
    if constexpr (kCount == 1) return formula(operand(0));
    else return formula(operand(0), operand(1));
  }();
  to.SetResult(op, 0, is_narrow ? result.Convert(type).inst() : result.inst());
  return {};
}

Expr Cosh(const Expr& x) {
  const double log_half = std::log(0.5);
  return Exp(x + log_half) + Exp(log_half - x);
}

Expr Sinh(const Expr& x) {
  const double log_half = std::log(0.5);
  const Expr large = Exp(x + log_half) - Exp(log_half - x);
  const Expr expm1 = Expm1(x);
  return Select(Abs(x) < 1, 0.5 * (expm1 + expm1 / (expm1 + 1)), large);
}

Expr Acos(const Expr& x) { return Atan2(Sqrt((1 - x) * (1 + x)), x); }

Expr Asin(const Expr& x) {
  const Expr half = Atan2(x, 1 + Sqrt((1 - x) * (1 + x)));
  return half + half;
}

Expr Acosh(const Expr& x) {
  const Expr root = Sqrt(x - 1);
  return Select(x >= Largest(x.type()) / 2, std::log(2) + Log(x), Log1p(root * (Sqrt(x + 1) + root)));
}

Expr Asinh(const Expr& x) {
  const Expr size = Abs(x), square = size * size;
  const Expr large = std::log(2) + Log(size);
  return Sign(x) * Select(size >= std::sqrt(Largest(x.type())), large, Log1p(size + square / (1 + Sqrt(1 + square))));
}

Expr Atanh(const Expr& x) {
  return Select(Abs(x) > 1, x.Constant(std::numeric_limits<double>::quiet_NaN()), (Log1p(x) - Log1p(-x)) * 0.5);
}

// Complex functions stay instructions, which the formulas of XLA compute.
Status BuildReal(Lowering& to, const Operation& op, Expr (*formula)(const Expr&)) {
  if (op.operands.size() == 1 && IsComplex(to.OperandShape(op, 0).type())) return Plain(to, op);
  TRY(ExpectFloats(to, op, 1));
  to.SetResult(op, 0, formula(OperandOf(to, op, 0)).inst());
  return {};
}

Expr Atan(const Expr& x) { return Atan2(x, x.Constant(1)); }
Expr IsInf(const Expr& x) { return Abs(x) == std::numeric_limits<double>::infinity(); }
Expr IsPosInf(const Expr& x) { return x == std::numeric_limits<double>::infinity(); }
Expr IsNegInf(const Expr& x) { return x == -std::numeric_limits<double>::infinity(); }

// The neighbour of x in the direction of y, by its bits.
Expr NextAfter(const Expr& x, const Expr& y) {
  const int width = BitWidth(x.type());
  const PrimitiveType bits = width == 16   ? PrimitiveType::kS16
                             : width == 32 ? PrimitiveType::kS32
                             : width == 64 ? PrimitiveType::kS64
                                           : PrimitiveType::kS8;
  const int64_t sign_bit = int64_t{1} << (width - 1);
  const Expr x_bits = x.BitcastConvert(bits), y_bits = y.BitcastConvert(bits);
  const Expr is_nan = (x != x) | (y != y);
  const Expr nan = x.Constant(std::numeric_limits<double>::quiet_NaN()).BitcastConvert(bits);
  const Expr x_size = x_bits & x_bits.IntConstant(~sign_bit), y_size = y_bits & x_bits.IntConstant(~sign_bit);
  const Expr zero = x_bits.IntConstant(0), one = x_bits.IntConstant(1);
  const Expr x_sign = x_bits & x_bits.IntConstant(sign_bit), y_sign = y_bits & x_bits.IntConstant(sign_bit);
  const Expr gets_smaller = (x_size > y_size) | (x_sign != y_sign);
  Expr result = x_bits + Select(gets_smaller, x_bits.IntConstant(-1), one);
  result = Select(x_size == zero, Select(y_size == zero, y_bits, y_sign | one), result);
  result = Select(x == y, y_bits, result);
  return Select(is_nan, nan, result).BitcastConvert(x.type());
}

}  // namespace

Status BuildAcos(Lowering& to, const Operation& op) { return BuildReal(to, op, Acos); }
Status BuildAcosh(Lowering& to, const Operation& op) { return BuildReal(to, op, Acosh); }
Status BuildAsin(Lowering& to, const Operation& op) { return BuildReal(to, op, Asin); }
Status BuildAsinh(Lowering& to, const Operation& op) { return BuildReal(to, op, Asinh); }
Status BuildAtanh(Lowering& to, const Operation& op) { return BuildReal(to, op, Atanh); }

// atan(z) = -i atanh(i z)
Status BuildAtan(Lowering& to, const Operation& op) {
  if (op.operands.size() != 1 || !IsComplex(to.OperandShape(op, 0).type())) return BuildReal(to, op, Atan);
  const Expr z = OperandOf(to, op, 0);
  const PrimitiveType part = z.type() == PrimitiveType::kC64 ? PrimitiveType::kF32 : PrimitiveType::kF64;
  const auto part_of = [&](const Expr& of, Opcode opcode) { return of.Add(opcode, part, {&of.inst()}); };
  const auto complex = [&](const Expr& real, const Expr& imag) {
    return z.Add(Opcode::kComplex, z.type(), {&real.inst(), &imag.inst()});
  };
  const Expr turned = complex(-part_of(z, Opcode::kImag), part_of(z, Opcode::kReal));
  const Expr atanh = turned.Unary(Opcode::kAtanh);
  to.SetResult(op, 0, complex(part_of(atanh, Opcode::kImag), -part_of(atanh, Opcode::kReal)).inst());
  return {};
}

Status BuildIsInf(Lowering& to, const Operation& op) { return BuildReal(to, op, IsInf); }
Status BuildIsPosInf(Lowering& to, const Operation& op) { return BuildReal(to, op, IsPosInf); }
Status BuildIsNegInf(Lowering& to, const Operation& op) { return BuildReal(to, op, IsNegInf); }
Status BuildBesselI1e(Lowering& to, const Operation& op) { return BuildInF32(to, op, BesselI1e); }
Status BuildDigamma(Lowering& to, const Operation& op) { return BuildInF32(to, op, Digamma); }
Status BuildErfInv(Lowering& to, const Operation& op) { return BuildInF32(to, op, ErfInv); }
Status BuildErfc(Lowering& to, const Operation& op) { return BuildInF32(to, op, Erfc); }
Status BuildLgamma(Lowering& to, const Operation& op) { return BuildInF32(to, op, Lgamma); }
Status BuildPolygamma(Lowering& to, const Operation& op) { return BuildInF32(to, op, Polygamma); }
Status BuildZeta(Lowering& to, const Operation& op) { return BuildInF32(to, op, Zeta); }

Status BuildCosh(Lowering& to, const Operation& op) {
  if (op.operands.size() == 1 && IsComplex(to.OperandShape(op, 0).type())) return Plain(to, op);
  return BuildInF32(to, op, Cosh);
}

Status BuildSinh(Lowering& to, const Operation& op) {
  if (op.operands.size() == 1 && IsComplex(to.OperandShape(op, 0).type())) return Plain(to, op);
  return BuildInF32(to, op, Sinh);
}

Status BuildNextAfter(Lowering& to, const Operation& op) {
  TRY(ExpectFloats(to, op, 2));
  to.SetResult(op, 0, NextAfter(OperandOf(to, op, 0), OperandOf(to, op, 1)).inst());
  return {};
}

Status BuildConj(Lowering& to, const Operation& op) {
  if (op.operands.size() != 1 || op.result_count != 1) FAIL(ErrorAtOp(op, "V001", "expected one operand"));
  const Expr x = OperandOf(to, op, 0);
  if (!IsComplex(x.type())) {
    to.SetResult(op, 0, x.inst());
    return {};
  }
  const PrimitiveType part = x.type() == PrimitiveType::kC64 ? PrimitiveType::kF32 : PrimitiveType::kF64;
  const Expr real = x.Add(Opcode::kReal, part, {&x.inst()});
  const Expr imag = -x.Add(Opcode::kImag, part, {&x.inst()});
  to.SetResult(op, 0, x.Add(Opcode::kComplex, x.type(), {&real.inst(), &imag.inst()}).inst());
  return {};
}

Status BuildSquare(Lowering& to, const Operation& op) {
  if (op.operands.size() != 1 || op.result_count != 1) FAIL(ErrorAtOp(op, "V001", "expected one operand"));
  const Expr x = OperandOf(to, op, 0);
  to.SetResult(op, 0, (x * x).inst());
  return {};
}

}  // namespace hlo::mlir
