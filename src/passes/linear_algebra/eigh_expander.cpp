// Expands the custom call "Eigh", for real symmetric matrices, to loops of rotations: Jacobi's method, cyclic by rows.
// Source: Golub and Van Loan, Matrix Computations, 8.5.
//
// Unlike XLA, rotates one pair after the other, until a round needs no rotation. Off-diagonal elements are compared
// with the diagonal, so that small eigenvalues keep their digits. Pairs are rotated in the interpreter's order, which
// determines the signs of the eigenvectors.
#include <limits>

#include "base/text.h"
#include "ir/analysis/matrix_loops.h"
#include "ir/fusion.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

using enum ComparisonDirection;
using Values = Writer::Values;

// Off-diagonal elements shrink quadratically with each round. More than ten rounds have not been seen.
constexpr double kMostRounds = 100;

// The first two numbers of "lower,sort,rounds,tolerance". False if they are missing.
bool ReadConfig(const Instruction& call, bool* lower, bool* sort) {
  const std::string text = ConfigText(call);
  const std::vector<std::string_view> words = Split(text, ',');
  const auto read = [&](size_t i, bool* value) {
    int64_t number = 0;
    if (i >= words.size() || !ParseInt(Trim(words[i]), &number)) return false;
    *value = number != 0;
    return true;
  };
  return read(0, lower) && read(1, sort);
}

class Eigh {
 public:
  Eigh(Instruction& call, bool lower) : call_(call), lower_(lower), shapes_(call.operand(0).shape()) {}

  Instruction* Expand(bool sort) {
    Writer w(call_, call_.computation());
    const Shape index = Shape::Scalar(PrimitiveType::kS32);
    const Values init = {w.Constant(0, index), w.Constant(1, Shape::Scalar(PrimitiveType::kPred)), Symmetric(w),
                         w.Add(Opcode::kConvert, matrix(), {Diagonal(w)})};
    const auto goes_on = [&](Writer& c, const Values& state) {
      return c.Binary(Opcode::kAnd, c.Compare(state[0], kLt, c.Constant(kMostRounds, index)), state[1]);
    };
    const Values end = w.While(init, goes_on, [&](Writer& body, const Values& state) { return Round(body, state); });
    const MatrixShapes& s = shapes_;
    Instruction* const zeros = w.Constant(0, matrix());
    Instruction* const values = w.Reduce(w.Select(Diagonal(w), end[2], zeros), Opcode::kAdd);
    if (!sort) return &call_.computation().AddTuple({end[3], values});
    Instruction* const keys = w.Widen(values, matrix(), {s.BatchRank() + 1});
    SortAttrs attrs;
    attrs.dimension.value = s.BatchRank() + 1;
    attrs.is_stable = true;
    attrs.to_apply = &Ascending();
    Instruction& sorted = *w.Add(Opcode::kSort, Shape::Tuple({matrix(), matrix()}), {keys, end[3]}, attrs);
    Instruction& first = call_.computation().AddGetTupleElement(sorted, 0);
    Instruction* const row = w.Slice(&first, {}, s.With({1, s.columns}).dims(), s.Row());
    return &call_.computation().AddTuple({&call_.computation().AddGetTupleElement(sorted, 1), row});
  }

 private:
  const Shape& matrix() const { return shapes_.matrix; }

  Instruction* Indices(Writer& w, int64_t dim) {
    return w.Add(Opcode::kIota, matrix().WithType(PrimitiveType::kS32), {}, IotaAttrs{shapes_.BatchRank() + dim});
  }
  Instruction* Diagonal(Writer& w) { return w.Compare(Indices(w, 0), kEq, Indices(w, 1)); }

  // The symmetric matrix with the operand's lower or upper triangle.
  Instruction* Symmetric(Writer& w) {
    Instruction* const a = &call_.operand(0);
    DimensionsAttrs turned;
    for (int64_t d = 0; d < matrix().rank(); ++d) turned.dimensions.push_back(d);
    std::swap(turned.dimensions[shapes_.BatchRank()], turned.dimensions[shapes_.BatchRank() + 1]);
    return w.Select(w.Compare(Indices(w, 0), lower_ ? kGe : kLe, Indices(w, 1)), a,
                    w.Add(Opcode::kTranspose, matrix(), {a}, turned));
  }

  Computation& Ascending() {
    Computation& less = call_.module().AddComputation("ascending");
    const Shape scalar = Shape::Scalar(matrix().type());
    Instruction& a = less.AddParameter(0, scalar);
    Instruction& b = less.AddParameter(1, scalar);
    less.AddParameter(2, scalar);
    less.AddParameter(3, scalar);
    less.SetRoot(less.Add(Opcode::kCompare, Shape::Scalar(PrimitiveType::kPred), {&a, &b}, CompareAttrs{kLt}));
    return less;
  }

  // State: (round, rotated, a, v). Visits every pair p < q once.
  Values Round(Writer& w, const Values& state) {
    const Shape index = Shape::Scalar(PrimitiveType::kS32);
    const int64_t n = shapes_.rows;
    const Values init = {w.Constant(0, index), w.Constant(1, index), w.Constant(0, Shape::Scalar(PrimitiveType::kPred)),
                         state[2], state[3]};
    const Values end = w.For(n * (n - 1) / 2, init, [&](Writer& body, const Values& parts) -> Values {
      Instruction *const p = parts[1], *const q = parts[2], *const one = body.Constant(1, index);
      const Rotation rotation = RotationOf(body, parts[4], p, q);
      Instruction* const columns = Rotated(body, parts[4], rotation, p, q, 1);
      Instruction* const both = Rotated(body, columns, rotation, p, q, 0);
      // The rotation makes the element zero, except for rounding.
      const auto clear = [&](Instruction* a, Instruction* row, Instruction* column) {
        Instruction* const old = Element(body, a, row, column);
        Instruction* const cleared = body.Select(rotation.needed, body.Constant(0, old->shape()), old);
        return body.Update(a, cleared, At(row, column), shapes_.With({1, 1}).dims());
      };
      Instruction* const a = clear(clear(both, p, q), q, p);
      Instruction* const any = body.Binary(Opcode::kOr, parts[3], AnyOf(body, rotation.needed));
      Instruction* const next = body.Binary(Opcode::kAdd, q, one);
      Instruction* const is_last = body.Compare(next, kEq, body.Constant(static_cast<double>(n), index));
      Instruction* const next_p = body.Select(is_last, body.Binary(Opcode::kAdd, p, one), p);
      Instruction* const next_q = body.Select(is_last, body.Binary(Opcode::kAdd, next_p, one), next);
      return {next_p, next_q, any, a, Rotated(body, parts[5], rotation, p, q, 1)};
    });
    return {w.Binary(Opcode::kAdd, state[0], w.Constant(1, index)), end[2], end[3], end[4]};
  }

  Values At(Instruction* row, Instruction* column) const {
    Values starts(shapes_.BatchRank());
    starts.insert(starts.end(), {row, column});
    return starts;
  }
  Instruction* Element(Writer& w, Instruction* a, Instruction* row, Instruction* column) {
    return w.Slice(a, At(row, column), shapes_.With({1, 1}).dims(), shapes_.Scalar());
  }

  Instruction* AnyOf(Writer& w, Instruction* truths) {
    if (truths->shape().IsScalar()) return truths;
    Computation& either = call_.module().AddComputation("or");
    const Shape scalar = Shape::Scalar(PrimitiveType::kPred);
    Instruction& a = either.AddParameter(0, scalar);
    Instruction& b = either.AddParameter(1, scalar);
    either.SetRoot(either.Add(Opcode::kOr, scalar, {&a, &b}));
    ReduceAttrs attrs;
    for (int64_t d = 0; d < truths->shape().rank(); ++d) attrs.dimensions.push_back(d);
    attrs.to_apply = &either;
    return w.Add(Opcode::kReduce, scalar, {truths, w.Constant(0, scalar)}, attrs);
  }

  // `sign` is the sign of the off-diagonal element.
  struct Rotation {
    Instruction *needed, *cosine, *sine, *sign;
  };
  Rotation RotationOf(Writer& w, Instruction* a, Instruction* p, Instruction* q) {
    Instruction *const low = Element(w, a, p, p), *const high = Element(w, a, q, q), *const off = Element(w, a, p, q);
    const Shape& shape = off->shape();
    Instruction *const one = w.Constant(1, shape), *const zero = w.Constant(0, shape);
    const auto root = [&](Instruction* x) { return w.Unary(Opcode::kSqrt, w.Unary(Opcode::kAbs, x)); };
    const auto hypotenuse = [&](Instruction* x) {
      return w.Unary(Opcode::kSqrt, w.Binary(Opcode::kAdd, one, w.Binary(Opcode::kMultiply, x, x)));
    };
    const double epsilon = matrix().type() == PrimitiveType::kF32 ? std::numeric_limits<float>::epsilon()
                                                                  : std::numeric_limits<double>::epsilon();
    Instruction* const size = w.Unary(Opcode::kAbs, off);
    Instruction* const bound =
        w.Binary(Opcode::kMultiply, w.Binary(Opcode::kMultiply, w.Constant(epsilon, shape), root(low)), root(high));
    Instruction* const needed = w.Compare(size, kGt, bound);
    Instruction* const divisor = w.Select(needed, w.Binary(Opcode::kAdd, size, size), one);
    Instruction* const ratio = w.Binary(Opcode::kDivide, w.Binary(Opcode::kSubtract, high, low), divisor);
    Instruction* const reciprocal =
        w.Binary(Opcode::kDivide, one, w.Binary(Opcode::kAdd, w.Unary(Opcode::kAbs, ratio), hypotenuse(ratio)));
    Instruction* const tangent =
        w.Select(w.Compare(ratio, kLt, zero), w.Unary(Opcode::kNegate, reciprocal), reciprocal);
    Instruction* const cosine = w.Binary(Opcode::kDivide, one, hypotenuse(tangent));
    Instruction* const sign = w.Select(w.Compare(off, kLt, zero), w.Unary(Opcode::kNegate, one), one);
    return {needed, cosine, w.Binary(Opcode::kMultiply, tangent, cosine), sign};
  }

  // Rotates columns (dim 1) or rows (dim 0) p and q: x, y => c x - s y, s x + c y, with y times the sign.
  Instruction* Rotated(Writer& w, Instruction* a, const Rotation& rotation, Instruction* p, Instruction* q,
                       int64_t dim) {
    const Shape vector = shapes_.Row();
    const Dims sizes = dim == 1 ? shapes_.With({shapes_.rows, 1}).dims() : shapes_.With({1, shapes_.columns}).dims();
    const auto at = [&](Instruction* number) { return dim == 1 ? At(nullptr, number) : At(number, nullptr); };
    const auto wide = [&](Instruction* x) { return w.Widen(x, vector, {}); };
    const auto times = [&](Instruction* x, Instruction* y) { return w.Binary(Opcode::kMultiply, wide(x), y); };
    Instruction *const x = w.Slice(a, at(p), sizes, vector), *const old = w.Slice(a, at(q), sizes, vector);
    Instruction* const y = times(rotation.sign, old);
    Instruction* const first = w.Binary(Opcode::kSubtract, times(rotation.cosine, x), times(rotation.sine, y));
    Instruction* const second = w.Binary(Opcode::kAdd, times(rotation.sine, x), times(rotation.cosine, y));
    Instruction* const needed = wide(rotation.needed);
    Instruction* const with_first = w.Update(a, w.Select(needed, first, x), at(p), sizes);
    return w.Update(with_first, w.Select(needed, second, old), at(q), sizes);
  }

  Instruction& call_;
  const bool lower_;
  const MatrixShapes shapes_;
};

Result<Instruction*> Expand(Instruction& inst, const PassContext&) {
  bool lower = true, sort = true;
  if (inst.attrs<CustomCallAttrs>().target != "Eigh" || !inst.control_predecessors().empty() ||
      inst.operand_count() != 1 || !ReadConfig(inst, &lower, &sort))
    return nullptr;
  const Shape& shape = inst.operand(0).shape();
  if (!IsRealMatrices(shape)) return nullptr;
  const MatrixShapes shapes(shape);
  if (shapes.rows != shapes.columns || inst.shape() != Shape::Tuple({shape, shapes.Row()})) return nullptr;
  return Eigh(inst, lower).Expand(sort);
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"L.eigh.1", Opcode::kCustomCall, Expand, Preserves::kReassociates, "Eigh(a) => rounds of rotations of each pair of rows and columns"},
};
// clang-format on

}  // namespace

std::span<const Rule> EighRules() { return kRules; }

Result<bool> ExpandEigh(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kRules);
}

}  // namespace hlo
