#include "judge/bounds/complex_functions.h"

#include <numbers>

namespace hlo::shadow {
namespace {

using Number = ComplexParts;

// Notation: z = a + bi has modulus r = |z| and angle t in (-pi, pi].
class Formulas {
 public:
  Formulas(Computation& to, const Shape& part) : entry_(to), part_(part) {}

  std::optional<Number> Function(Opcode opcode, Number z, Number w) {
    switch (opcode) {
      case Opcode::kDivide: return Quotient(z, w);
      case Opcode::kPower: return Exp(Product(w, Log(z)));
      case Opcode::kExp: return Exp(z);
      case Opcode::kExpm1: return Expm1(z);
      case Opcode::kLog: return Log(z);
      case Opcode::kLog1p: return Log1p(z);
      case Opcode::kSqrt: return Sqrt(z);
      case Opcode::kRsqrt: return Quotient(One(), Sqrt(z));
      case Opcode::kSin: return Sine(z);
      case Opcode::kCos: return Cosine(z);
      case Opcode::kTan: return Tan(z);
      case Opcode::kCosh: return HyperbolicCosine(z);
      case Opcode::kSinh: return HyperbolicSine(z);
      case Opcode::kTanh: return Tanh(z);
      case Opcode::kAsin: return Asin(z);
      case Opcode::kAcos: return Acos(z);
      case Opcode::kAsinh: return Asinh(z);
      case Opcode::kAcosh: return Acosh(z);
      case Opcode::kAtanh: return Atanh(z);
      case Opcode::kAtan2: return Atan2(z, w);
      case Opcode::kLog2: {
        const Number log = Log(z);
        return Number{Times(log.real, Everywhere(1 / std::numbers::ln2)),
                      Times(log.imaginary, Everywhere(1 / std::numbers::ln2))};
      }
      case Opcode::kExp2:
        return Exp({Times(z.real, Everywhere(std::numbers::ln2)), Times(z.imaginary, Everywhere(std::numbers::ln2))});
      case Opcode::kSign: return Sign(z);
      case Opcode::kLogistic: {
        const Number e = Exp({Of(Opcode::kNegate, z.real), Of(Opcode::kNegate, z.imaginary)});
        return Quotient(One(), {Plus(Everywhere(1), e.real), e.imaginary});
      }
      default: return std::nullopt;
    }
  }

  Instruction* SizeOf(Number z) { return Of(Opcode::kSqrt, SquareOfSize(z)); }

 private:
  Instruction& Add(Opcode opcode, Instruction* a, Instruction* b) { return entry_.Add(opcode, part_, {a, b}); }
  Instruction* Of(Opcode opcode, Instruction* a) { return &entry_.Add(opcode, part_, {a}); }
  Instruction* Plus(Instruction* a, Instruction* b) { return &Add(Opcode::kAdd, a, b); }
  Instruction* Minus(Instruction* a, Instruction* b) { return &Add(Opcode::kSubtract, a, b); }
  Instruction* Times(Instruction* a, Instruction* b) { return &Add(Opcode::kMultiply, a, b); }
  Instruction* Over(Instruction* a, Instruction* b) { return &Add(Opcode::kDivide, a, b); }
  // The constant is not rounded, because functions are evaluated `widened`, where conversions do nothing.
  Instruction* Everywhere(double x) {
    Instruction& wide = entry_.AddConstant(Literal::Scalar(PrimitiveType::kF64, x));
    Instruction& scalar = entry_.Add(Opcode::kConvert, Shape(part_.type(), {}), {&wide});
    return &entry_.Add(Opcode::kBroadcast, part_, {&scalar}, DimensionsAttrs{});
  }
  Instruction* SquareOfSize(Number z) { return Plus(Times(z.real, z.real), Times(z.imaginary, z.imaginary)); }
  Instruction* AngleOf(Number z) { return &Add(Opcode::kAtan2, z.imaginary, z.real); }
  Number AtAngle(Instruction* size, Instruction* angle) {
    return {Times(size, Of(Opcode::kCos, angle)), Times(size, Of(Opcode::kSin, angle))};
  }

  Number Product(Number x, Number y) {
    return {Minus(Times(x.real, y.real), Times(x.imaginary, y.imaginary)),
            Plus(Times(x.real, y.imaginary), Times(x.imaginary, y.real))};
  }
  // x / y = x conj(y) / |y|^2. Adding 0 times the square makes the quotient NaN if the square overflows f64. The
  // interpreter then computes the element.
  Number Quotient(Number x, Number y) {
    const Number above = Product(x, {y.real, Of(Opcode::kNegate, y.imaginary)});
    Instruction* const square = SquareOfSize(y);
    Instruction* const below = Plus(square, Times(square, Everywhere(0)));
    return {Over(above.real, below), Over(above.imaginary, below)};
  }
  // z / |z|, or NaN on overflow as in Quotient.
  Number Sign(Number z) {
    Instruction* const size = SizeOf(z);
    Instruction* const below = Plus(size, Times(size, Everywhere(0)));
    return {Over(z.real, below), Over(z.imaginary, below)};
  }
  Number Exp(Number z) { return AtAngle(Of(Opcode::kExp, z.real), z.imaginary); }
  Number Log(Number z) { return {Of(Opcode::kLog, SizeOf(z)), AngleOf(z)}; }
  Number Sqrt(Number z) { return AtAngle(Of(Opcode::kSqrt, SizeOf(z)), Times(AngleOf(z), Everywhere(0.5))); }
  // Nothing cancels near 0 (interp/formulas.h).
  Number Expm1(Number z) {
    Instruction* const half = Of(Opcode::kSin, Times(z.imaginary, Everywhere(0.5)));
    return {Minus(Times(Of(Opcode::kExpm1, z.real), Of(Opcode::kCos, z.imaginary)),
                  Times(Everywhere(2), Times(half, half))),
            Times(Of(Opcode::kExp, z.real), Of(Opcode::kSin, z.imaginary))};
  }
  // log(1 + z): |1 + z|^2 = 1 + a (2 + a) + b^2.
  Number Log1p(Number z) {
    Instruction* const over_one = Plus(Times(z.real, Plus(Everywhere(2), z.real)), Times(z.imaginary, z.imaginary));
    return {Times(Everywhere(0.5), Of(Opcode::kLog1p, over_one)), AngleOf({Plus(Everywhere(1), z.real), z.imaginary})};
  }
  Number Sine(Number z) {
    return {Times(Of(Opcode::kSin, z.real), Of(Opcode::kCosh, z.imaginary)),
            Times(Of(Opcode::kCos, z.real), Of(Opcode::kSinh, z.imaginary))};
  }
  Number Cosine(Number z) {
    return {Times(Of(Opcode::kCos, z.real), Of(Opcode::kCosh, z.imaginary)),
            Of(Opcode::kNegate, Times(Of(Opcode::kSin, z.real), Of(Opcode::kSinh, z.imaginary)))};
  }
  Number HyperbolicCosine(Number z) {
    return {Times(Of(Opcode::kCosh, z.real), Of(Opcode::kCos, z.imaginary)),
            Times(Of(Opcode::kSinh, z.real), Of(Opcode::kSin, z.imaginary))};
  }
  Number HyperbolicSine(Number z) {
    return {Times(Of(Opcode::kSinh, z.real), Of(Opcode::kCos, z.imaginary)),
            Times(Of(Opcode::kCosh, z.real), Of(Opcode::kSin, z.imaginary))};
  }
  Number Tan(Number z) {
    Instruction *const a = Plus(z.real, z.real), *const b = Plus(z.imaginary, z.imaginary);
    Instruction* const below = Plus(Of(Opcode::kCos, a), Of(Opcode::kCosh, b));
    return {Over(Of(Opcode::kSin, a), below), Over(Of(Opcode::kSinh, b), below)};
  }
  Number Tanh(Number z) {
    Instruction *const a = Plus(z.real, z.real), *const b = Plus(z.imaginary, z.imaginary);
    Instruction* const below = Plus(Of(Opcode::kCosh, a), Of(Opcode::kCos, b));
    return {Over(Of(Opcode::kSinh, a), below), Over(Of(Opcode::kSin, b), below)};
  }
  Number One() { return {Everywhere(1), Everywhere(0)}; }
  Number Conjugate(Number z) { return {z.real, Of(Opcode::kNegate, z.imaginary)}; }
  Number Below(Number z) { return {Minus(Everywhere(1), z.real), Of(Opcode::kNegate, z.imaginary)}; }
  Number Above(Number z) { return {Plus(Everywhere(1), z.real), z.imaginary}; }
  Number Less(Number z) { return {Minus(z.real, Everywhere(1)), z.imaginary}; }
  // Kahan's formulas, which do not cancel (Branch cuts for complex elementary functions, 1987).
  Number Asin(Number z) {
    const Number a = Sqrt(Below(z)), b = Sqrt(Above(z));
    return {&Add(Opcode::kAtan2, z.real, Product(a, b).real), Of(Opcode::kAsinh, Product(Conjugate(a), b).imaginary)};
  }
  Number Acos(Number z) {
    const Number a = Sqrt(Below(z)), b = Sqrt(Above(z));
    Instruction* const half = &Add(Opcode::kAtan2, a.real, b.real);
    return {Plus(half, half), Of(Opcode::kAsinh, Product(Conjugate(b), a).imaginary)};
  }
  Number Acosh(Number z) {
    const Number a = Sqrt(Less(z)), b = Sqrt(Above(z));
    Instruction* const half = &Add(Opcode::kAtan2, a.imaginary, b.real);
    return {Of(Opcode::kAsinh, Product(Conjugate(a), b).real), Plus(half, half)};
  }
  // asinh z = -i asin(iz).
  Number Asinh(Number z) {
    const Number w = Asin({Of(Opcode::kNegate, z.imaginary), z.real});
    return {w.imaginary, Of(Opcode::kNegate, w.real)};
  }
  // atan2(y, x) = -i log((x + iy) / sqrt(x^2 + y^2)).
  Number Atan2(Number y, Number x) {
    const Number above = {Minus(x.real, y.imaginary), Plus(x.imaginary, y.real)};
    const Number xx = Product(x, x), yy = Product(y, y);
    const Number root = Sqrt({Plus(xx.real, yy.real), Plus(xx.imaginary, yy.imaginary)});
    const Number log = Log(Quotient(above, root));
    return {log.imaginary, Of(Opcode::kNegate, log.real)};
  }
  // atanh z = (log1p(4a / ((1 - a)^2 + b^2)) / 4, atan2(b, ((1 - a)(1 + a) - b^2) / 2) / 2). The real part uses |a|.
  // The angle's arguments are halved because 2b may overflow.
  Number Atanh(Number z) {
    Instruction* const a = Of(Opcode::kAbs, z.real);
    Instruction* const quotient = Over(Times(Everywhere(4), a), SquareOfSize(Below({a, z.imaginary})));
    Instruction* const right =
        Minus(Times(Minus(Everywhere(1), z.real), Plus(Everywhere(1), z.real)), Times(z.imaginary, z.imaginary));
    Instruction* const angle = &Add(Opcode::kAtan2, z.imaginary, Times(Everywhere(0.5), right));
    Instruction* const size = Times(Everywhere(0.25), Of(Opcode::kLog1p, quotient));
    return {Times(Of(Opcode::kSign, z.real), size), Times(Everywhere(0.5), angle)};
  }

  Computation& entry_;
  const Shape& part_;
};

}  // namespace

std::optional<ComplexParts> AddFunction(Computation& to, const Shape& part, Opcode opcode, ComplexParts z,
                                        ComplexParts w) {
  return Formulas(to, part).Function(opcode, z, w);
}

Instruction& AddModulus(Computation& to, const Shape& part, ComplexParts z) { return *Formulas(to, part).SizeOf(z); }

}  // namespace hlo::shadow
