// Expands the product of a vector and a matrix to a reduction, if the matrix is converted only for this product. The
// reduction converts elements as it reads them. A library needs the converted matrix in memory.
//
// No preset has this pass: presets optimise for a GPU, and on the host checking a long sum takes much longer than
// checking a product.
#include <algorithm>
#include <numeric>

#include "ir/fusion.h"
#include "passes/libraries/dot_dimensions.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

struct Side {
  Instruction* value;
  const std::vector<int64_t>* batch;
  const std::vector<int64_t>* contracting;

  std::vector<int64_t> Free() const { return FreeDimensions(value->shape().rank(), *batch, *contracting); }
  // Batch, then contracting dimensions, in the same order for both operands.
  std::vector<int64_t> Paired() const {
    std::vector<int64_t> dims = *batch;
    dims.insert(dims.end(), contracting->begin(), contracting->end());
    return dims;
  }
};

bool IsVector(const Side& side) {
  return std::ranges::all_of(side.Free(), [&](int64_t d) { return side.value->shape().dim(d) == 1; });
}

// Whether it is a float converted, and possibly then reshaped, only for its single user.
bool IsConvertedForThis(const Instruction& value) {
  const Instruction* inst = &value;
  while (inst->UseCount() == 1 && inst->Is(kView)) inst = &inst->operand(0);
  return inst->UseCount() == 1 && inst->Is(Opcode::kConvert) && IsFloat(inst->operand(0).shape().type());
}

bool HasPlainShape(const Shape& shape) {
  return shape.IsArray() && IsFloat(shape.type()) && shape.HasDefaultLayout() && !shape.HasDynamicDims() &&
         shape.NumElements() > 0;
}

// The type in which libraries sum.
PrimitiveType SumType(const Instruction& dot) {
  const bool wide = std::ranges::any_of(
      dot.operands(), [](const Instruction* operand) { return operand->shape().type() == PrimitiveType::kF64; });
  return wide || dot.shape().type() == PrimitiveType::kF64 ? PrimitiveType::kF64 : PrimitiveType::kF32;
}

class Expansion {
 public:
  Expansion(Instruction& dot, const Side& vector, const Side& matrix)
      : dot_(dot), vector_(vector), matrix_(matrix), type_(SumType(dot)) {}

  Instruction* Run() {
    Instruction* products = Step(dot_, Opcode::kMultiply, Shape(type_, matrix_.value->shape().dims()),
                                 {SpreadVector(), Converted(matrix_.value, type_)});
    Computation& adder = dot_.module().AddComputation("add_dot");
    const Shape scalar = Shape::Scalar(type_);
    Instruction& a = adder.AddParameter(0, scalar, "a");
    Instruction& b = adder.AddParameter(1, scalar, "b");
    adder.SetRoot(adder.Add(Opcode::kAdd, scalar, {&a, &b}));
    ReduceAttrs attrs{.dimensions = *matrix_.contracting, .to_apply = &adder};
    std::ranges::sort(attrs.dimensions);
    std::vector<int64_t> kept;
    for (int64_t d = 0; d < matrix_.value->shape().rank(); ++d) {
      if (!std::ranges::binary_search(attrs.dimensions, d)) kept.push_back(matrix_.value->shape().dim(d));
    }
    Instruction& zero = dot_.computation().AddConstant(Literal::Scalar(type_, 0.0));
    Instruction* sums = Step(dot_, Opcode::kReduce, Shape(type_, kept), {products, &zero}, attrs);
    return Reshaped(Converted(sums, dot_.shape().type()), dot_.shape());
  }

 private:
  Instruction* Converted(Instruction* value, PrimitiveType type) {
    if (value->shape().type() == type) return value;
    return Step(dot_, Opcode::kConvert, Shape(type, value->shape().dims()), {value});
  }
  Instruction* Reshaped(Instruction* value, const Shape& shape) {
    if (SameDims(value->shape(), shape)) return value;
    return Step(dot_, Opcode::kReshape, Shape(value->shape().type(), shape.dims()), {value});
  }

  Instruction* SpreadVector() {
    const std::vector<int64_t> own = vector_.Paired(), to = matrix_.Paired();
    std::vector<int64_t> by_place(own.size()), sizes, spread;
    std::iota(by_place.begin(), by_place.end(), 0);
    // Free dimensions have size 1.
    std::ranges::sort(by_place, {}, [&](int64_t i) { return own[i]; });
    for (const int64_t i : by_place) sizes.push_back(vector_.value->shape().dim(own[i]));
    Instruction* value = Reshaped(Converted(vector_.value, type_), Shape(type_, sizes));
    std::vector<int64_t> order(by_place.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](int64_t i) { return to[by_place[i]]; });
    std::vector<int64_t> ordered_sizes;
    for (const int64_t i : order) {
      ordered_sizes.push_back(sizes[i]);
      spread.push_back(to[by_place[i]]);
    }
    if (!std::ranges::is_sorted(order))
      value = Step(dot_, Opcode::kTranspose, Shape(type_, ordered_sizes), {value}, DimensionsAttrs{order});
    return Step(dot_, Opcode::kBroadcast, Shape(type_, matrix_.value->shape().dims()), {value},
                DimensionsAttrs{spread});
  }

  Instruction& dot_;
  const Side& vector_;
  const Side& matrix_;
  const PrimitiveType type_;
};

// The remaining dimensions of the matrix must be in the result's order.
Result<Instruction*> ExpandSkinny(Instruction& inst, const PassContext&) {
  const auto& attrs = inst.attrs<DotAttrs>();
  if (attrs.algorithm != DotAlgorithm::kUnset || !attrs.sparsity.empty() || inst.operand_count() != 2 ||
      !HasPlainShape(inst.shape()))
    return nullptr;
  const Side sides[] = {{&inst.operand(0), &attrs.lhs_batch, &attrs.lhs_contracting},
                        {&inst.operand(1), &attrs.rhs_batch, &attrs.rhs_contracting}};
  if (!HasPlainShape(sides[0].value->shape()) || !HasPlainShape(sides[1].value->shape())) return nullptr;
  for (const int i : {0, 1}) {
    const Side &vector = sides[i], &matrix = sides[1 - i];
    if (!IsVector(vector) || IsVector(matrix) || !IsConvertedForThis(*matrix.value)) continue;
    std::vector<int64_t> result = *matrix.batch;
    const std::vector<int64_t> free = matrix.Free();
    result.insert(result.end(), free.begin(), free.end());
    if (matrix.contracting->empty() || !std::ranges::is_sorted(result)) continue;
    return Expansion(inst, vector, matrix).Run();
  }
  return nullptr;
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"K.dot.1", Opcode::kDot, ExpandSkinny, Preserves::kReassociates, "dot(v, convert(m)) => reduce(v * convert(m)), where v is a vector and m is converted for this dot alone"},
};
// clang-format on

}  // namespace

std::span<const Rule> SkinnyDotRules() { return kRules; }

Result<bool> ExpandSkinnyDots(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kRules);
}

}  // namespace hlo
