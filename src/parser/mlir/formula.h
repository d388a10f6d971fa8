// Expressions that add instructions, for operations that are defined by formulas.
#ifndef HLO_PARSER_MLIR_FORMULA_H_
#define HLO_PARSER_MLIR_FORMULA_H_

#include <span>

#include "parser/mlir/lowering.h"

namespace hlo::mlir {

// A value in a formula. All values have the same dimensions. A number in an expression is a constant of the other
// operand's type.
class Expr {
 public:
  Expr(Lowering& to, const Operation& op, Instruction& inst) : to_(&to), op_(&op), inst_(&inst) {}

  Instruction& inst() const { return *inst_; }
  PrimitiveType type() const { return inst_->shape().type(); }
  Expr Constant(double value) const;
  Expr IntConstant(int64_t value) const;
  Expr Add(Opcode opcode, PrimitiveType type, Operands operands, Attributes attrs = NoAttrs()) const;
  Expr Unary(Opcode opcode) const { return Add(opcode, type(), {inst_}); }
  Expr Binary(Opcode opcode, const Expr& other) const { return Add(opcode, type(), {inst_, other.inst_}); }
  Expr Compare(ComparisonDirection direction, const Expr& other) const {
    return Add(Opcode::kCompare, PrimitiveType::kPred, {inst_, other.inst_}, CompareAttrs{direction});
  }
  Expr Convert(PrimitiveType type) const { return Add(Opcode::kConvert, type, {inst_}); }
  Expr BitcastConvert(PrimitiveType type) const { return Add(Opcode::kBitcastConvert, type, {inst_}); }

 private:
  Lowering* to_;
  const Operation* op_;
  Instruction* inst_;
};

#define HLO_OPERATOR(sign, Name)                                                                   \
  inline Expr operator sign(const Expr& a, const Expr& b) { return a.Binary(Opcode::k##Name, b); } \
  inline Expr operator sign(const Expr& a, double b) { return a sign a.Constant(b); }              \
  inline Expr operator sign(double a, const Expr& b) { return b.Constant(a) sign b; }
HLO_OPERATOR(+, Add)
HLO_OPERATOR(-, Subtract)
HLO_OPERATOR(*, Multiply)
HLO_OPERATOR(/, Divide)
#undef HLO_OPERATOR
#define HLO_COMPARISON(sign, Name)                                                                               \
  inline Expr operator sign(const Expr& a, const Expr& b) { return a.Compare(ComparisonDirection::k##Name, b); } \
  inline Expr operator sign(const Expr& a, double b) { return a sign a.Constant(b); }
HLO_COMPARISON(<, Lt)
HLO_COMPARISON(<=, Le)
HLO_COMPARISON(>, Gt)
HLO_COMPARISON(>=, Ge)
HLO_COMPARISON(==, Eq)
HLO_COMPARISON(!=, Ne)
#undef HLO_COMPARISON
inline Expr operator-(const Expr& a) { return a.Unary(Opcode::kNegate); }
inline Expr operator&(const Expr& a, const Expr& b) { return a.Binary(Opcode::kAnd, b); }
inline Expr operator|(const Expr& a, const Expr& b) { return a.Binary(Opcode::kOr, b); }
#define HLO_FUNCTION(Name) \
  inline Expr Name(const Expr& x) { return x.Unary(Opcode::k##Name); }
HLO_FUNCTION(Abs)
HLO_FUNCTION(Cos)
HLO_FUNCTION(Exp)
HLO_FUNCTION(Expm1)
HLO_FUNCTION(Floor)
HLO_FUNCTION(Log)
HLO_FUNCTION(Log1p)
HLO_FUNCTION(Sign)
HLO_FUNCTION(Sin)
HLO_FUNCTION(Sqrt)
#undef HLO_FUNCTION
inline Expr Atan2(const Expr& y, const Expr& x) { return y.Binary(Opcode::kAtan2, x); }
inline Expr Power(const Expr& x, const Expr& y) { return x.Binary(Opcode::kPower, y); }
inline Expr Remainder(const Expr& x, const Expr& y) { return x.Binary(Opcode::kRemainder, y); }
inline Expr Select(const Expr& condition, const Expr& a, const Expr& b) {
  return a.Add(Opcode::kSelect, a.type(), {&condition.inst(), &a.inst(), &b.inst()});
}
// The polynomial with these coefficients, the one of the highest power first.
Expr Polynomial(const Expr& x, std::span<const double> coefficients);

// Special functions (special_functions.cpp). The types are f32 and f64.
Expr BesselI1e(const Expr& x);
Expr Digamma(const Expr& x);
Expr Erfc(const Expr& x);
Expr ErfInv(const Expr& x);
Expr Lgamma(const Expr& x);
Expr Polygamma(const Expr& n, const Expr& x);
Expr Zeta(const Expr& x, const Expr& q);

}  // namespace hlo::mlir

#endif  // HLO_PARSER_MLIR_FORMULA_H_
