#include "ir/shapes/shape_checks.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"

namespace hlo {
namespace {

// Sort key of HigherPrecision: complex, largest exponent, mantissa bits, width, sign.
std::tuple<bool, int, int, int, bool> Rank(PrimitiveType type) {
  int exponent = -1;
  int mantissa = -1;
  switch (type) {
    case PrimitiveType::kF32:
    case PrimitiveType::kC64: exponent = 128, mantissa = 23; break;
    case PrimitiveType::kF64:
    case PrimitiveType::kC128: exponent = 1024, mantissa = 52; break;
    default: break;
  }
  if (IsFloat(type) && exponent < 0) {
    const FloatFormat format = FormatOf(type);
    const bool top_is_special = format.specials == Specials::kIeee || format.specials == Specials::kExponent;
    exponent = (1 << format.exponent_bits) - (top_is_special ? 1 : 0) - format.bias;
    mantissa = format.mantissa_bits;
  }
  return {IsComplex(type), exponent, mantissa, BitWidth(type), IsSigned(type)};
}

}  // namespace

bool SameOrBothFloat(PrimitiveType a, PrimitiveType b) { return a == b || (IsFloat(a) && IsFloat(b)); }

PrimitiveType HigherPrecision(PrimitiveType a, PrimitiveType b) { return Rank(a) >= Rank(b) ? a : b; }

bool ShapesMatch(const Shape& a, const Shape& b, TypeMatch types) {
  const bool same_type = types == TypeMatch::kExact ? a.type() == b.type() : SameOrBothFloat(a.type(), b.type());
  if (!same_type || !SameSizes(a.dims(), b.dims()) || a.elements().size() != b.elements().size()) return false;
  for (size_t i = 0; i < a.elements().size(); ++i) {
    if (!ShapesMatch(a.element(i), b.element(i), types)) return false;
  }
  return true;
}

Status CheckArray(const Instruction& inst, int64_t operand) {
  const Shape& shape = inst.operand(operand).shape();
  if (shape.IsArray() && !shape.IsBuffer()) return {};
  FAIL(ErrorAtOperand(inst, operand, "V005",
                      Str("operand ", operand, " of '", inst.opcode(), "' is ", shape, ", expected an array")));
}

Status CheckArrays(const Instruction& inst) {
  for (int64_t i = 0; i < inst.operand_count(); ++i) TRY(CheckArray(inst, i));
  return {};
}

bool IsDimSet(std::span<const int64_t> dims, int64_t limit, bool sorted) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] >= limit) return false;
    if (sorted ? i > 0 && dims[i] <= dims[i - 1] : Contains(dims.first(i), dims[i])) return false;
  }
  return true;
}

bool SameSize(int64_t a, int64_t b) { return a == b || a == Shape::kUnbounded || b == Shape::kUnbounded; }

bool SameSizes(std::span<const int64_t> a, std::span<const int64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), SameSize);
}

std::string Braced(std::span<const int64_t> list) { return Str("{", Join(list, ","), "}"); }

std::string NoDimension(const Shape& shape, int64_t dimension) {
  if (shape.rank() == 0) return Str(shape, " is a scalar and has no dimension ", dimension);
  const std::string range = shape.rank() == 1 ? "0" : Str("0 to ", shape.rank() - 1);
  return Str(shape, " has no dimension ", dimension, ", expected ", range);
}

int64_t DilatedSize(int64_t size, int64_t dilation) { return size == 0 ? 0 : (size - 1) * dilation + 1; }

Error ErrorAtCallee(const Instruction& inst, const char* attribute, std::string code, std::string message,
                    const Instruction& there) {
  Error error = ErrorAtAttribute(inst, attribute, std::move(code), std::move(message));
  if (there.range().empty()) return error;
  // The note has no name, because the module may have renamed the instruction.
  return std::move(error).AddNote(Str("this is ", there.shape()), NameRange(there));
}

Result<std::vector<PrimitiveType>> CheckReducer(const Instruction& inst, const ReducerUse& use) {
  const Computation& f = use.computation;
  const int64_t k = use.inputs;
  const Instruction& root = f.root();
  const auto error = [&](const char* code, std::string message, const Instruction& there) {
    return ErrorAtCallee(inst, use.attribute, code, std::move(message), there);
  };
  const auto parameters = static_cast<int64_t>(f.parameters().size());
  if (parameters != 2 * k) {
    Error wrong = ErrorAtAttribute(inst, use.attribute, "V090",
                                   Str(k, k == 1 ? " input needs " : " inputs need ", 2 * k, " parameters, but '",
                                       f.name(), "' has ", parameters));
    FAIL(std::move(wrong).AddNote(Str("'", f.name(), "' is defined here"), f.range));
  }
  std::vector<Shape> results;
  if (root.shape().IsTuple()) {
    results = root.shape().elements();
  } else {
    results.push_back(root.shape());
  }
  const bool scalars = std::all_of(results.begin(), results.end(), [](const Shape& shape) { return shape.IsScalar(); });
  if (!scalars || static_cast<int64_t>(results.size()) != k) {
    FAIL(error("V091",
               Str("'", f.name(), "' returns ", root.shape(), ", expected ",
                   k == 1 ? "a scalar" : Str("a tuple of ", k, " scalars")),
               root));
  }
  std::vector<PrimitiveType> types;
  for (int64_t i = 0; i < k; ++i) {
    const PrimitiveType accumulator = results[i].type();
    types.push_back(accumulator);
    if (!f.parameter(i).shape().IsScalarOf(accumulator)) {
      FAIL(error("V092",
                 Str("result ", i, " of '", f.name(), "' is ", results[i], ", but its parameter ", i, " is ",
                     f.parameter(i).shape()),
                 f.parameter(i)));
    }
    if (use.init >= 0) {
      const Shape& init = inst.operand(use.init + i).shape();
      if (!init.IsScalar() || !SameOrBothFloat(init.type(), accumulator)) {
        FAIL(ErrorAtOperand(inst, use.init + i, "V093",
                            Str("initial value is ", init, ", but '", f.name(), "' accumulates ", results[i])));
      }
    }
    const Shape& element = f.parameter(k + i).shape();
    const PrimitiveType input = inst.operand(i).shape().type();
    if (!element.IsScalar() || !SameOrBothFloat(element.type(), input) ||
        !SameOrBothFloat(element.type(), accumulator)) {
      FAIL(error("V094",
                 Str("parameter ", k + i, " of '", f.name(), "' is ", element, ", but the input's elements are ", input,
                     " and the accumulator is ", results[i]),
                 f.parameter(k + i)));
    }
  }
  return types;
}

}  // namespace hlo
