#include "tests/ir/factor_law.h"

#include "base/text.h"
#include "interp/interpreter.h"
#include "ir/factors/local_op.h"
#include "ir/module.h"
#include "ir/reducer.h"
#include "ir/shapes/shape_rules.h"
#include "tests/ir/factor_parts.h"

namespace hlo {
namespace {

using enum FactorKind;

Literal Splat(const Shape& shape, int64_t value) {
  Literal literal(shape);
  for (int64_t i = 0; i < shape.NumElements(); ++i) literal.SetInt(i, value);
  return literal;
}

Error Failed(std::string message) { return {ExitCode::kInternal, "", std::move(message)}; }

class Law {
 public:
  Law(const Instruction& inst, const FactorRule& rule, int64_t factor, std::span<const Literal> operands,
      const Literal& whole)
      : inst_(inst), rule_(rule), factor_(factor), operands_(operands), whole_(whole) {}

  testing::AssertionResult Holds(int64_t parts) {
    for (int64_t i = 0; i < parts; ++i) {
      const auto part = PartOf(rule_, factor_, parts, i);
      if (!part) continue;
      Result<Literal> value = PartValue(*part);
      if (!value) return testing::AssertionFailure() << "part " << i << ": " << value.error().message();
      parts_.push_back(*part);
      values_.push_back(LeafLiterals(*value));
    }
    const std::vector<Literal> expected = LeafLiterals(whole_);
    for (size_t leaf = 0; leaf < expected.size(); ++leaf) {
      const Result<Literal> actual = Assembled(static_cast<int64_t>(leaf));
      if (!actual) return testing::AssertionFailure() << "leaf " << leaf << ": " << actual.error().message();
      if (!actual->BitEquals(expected[leaf])) return testing::AssertionFailure() << "another result in leaf " << leaf;
    }
    return testing::AssertionSuccess();
  }

 private:
  const Factor& factor() const { return rule_.factors[factor_]; }
  FactorKind kind() const { return factor().kind; }
  bool IsFirst(const FactorPart& part) const {
    const ScanAttrs* scan = inst_.attributes().GetIf<ScanAttrs>();
    return scan != nullptr && scan->is_reverse ? part.range.first + part.range.size == factor().size
                                               : part.range.first == 0;
  }

  Result<Literal> Run(Opcode opcode, const Shape& shape, const Attributes& attributes,
                      std::span<const Literal> operands) const {
    return EvaluateOp(inst_.module(), opcode, shape, attributes, operands);
  }

  Result<Literal> PartValue(const FactorPart& part) const {
    const LocalOp local = LocalOpOf(inst_, rule_, part);
    std::vector<Literal> operands;
    for (int64_t i = 0; i < inst_.operand_count(); ++i) operands.push_back(LocalOperand(local, part, i));
    Shape shape = local.shape;
    const bool clamped_put = kind() == kPut && factor().index->clamped;
    if (clamped_put) shape = operands[0].shape();
    Literal value = TRY(Run(inst_.opcode(), shape, local.attributes, operands));
    if (clamped_put) value = Rows(value, CutDim(rule_.result[0], factor_), {factor().index->width, part.range.size});
    if (local.kept) value = Rows(value, CutDim(rule_.result[0], factor_), *local.kept);
    if (local.offset != 0) {
      Literal& leaf = value.shape().IsTuple() ? value.mutable_elements()[local.offset_leaf] : value;
      leaf = TRY(Run(Opcode::kAdd, leaf.shape(), NoAttrs(), {{leaf, Splat(leaf.shape(), local.offset)}}));
    }
    return value;
  }

  // Replaces the indices of each dimension that the op reads in windows by the rows of all windows, one after the
  // other.
  static void SelectRows(const LocalOp& local, int64_t operand, Box& box) {
    std::set<int64_t> dims;
    for (const OperandRows& read : local.rows) {
      if (read.operand != operand) continue;
      if (dims.insert(read.dim).second) box[read.dim].clear();
      for (int64_t row = 0; row < read.rows.size; ++row) box[read.dim].push_back(read.rows.first + row);
    }
  }

  Literal LocalOperand(const LocalOp& local, const FactorPart& part, int64_t operand) const {
    const bool is_identity =
        !IsFirst(part) && std::ranges::find(factor().used_once, operand) != factor().used_once.end();
    std::vector<Literal> leaves = LeafLiterals(operands_[operand]);
    for (size_t i = 0; i < leaves.size(); ++i) {
      const LeafFactors& factors = rule_.operands[operand][i];
      Box box = BoxOf(rule_, factors, leaves[i].shape(), part);
      SelectRows(local, operand, box);
      leaves[i] = Take(leaves[i], box);
      if (is_identity) leaves[i] = IdentityLike(leaves[i]);
      if (factor().index) leaves[i] = Indexed(std::move(leaves[i]), operand, factors, part);
    }
    std::span<const Literal> rest = leaves;
    return OfLeaves(inst_.operand(operand).shape(), rest);
  }

  Literal IdentityLike(Literal literal) const {
    const Literal identity = *IdentityOf(*factor().reducer, literal.shape().type());
    for (int64_t i = 0; i < literal.shape().NumElements(); ++i)
      std::copy_n(identity.raw(), identity.byte_size(), literal.mutable_raw() + i * identity.byte_size());
    return literal;
  }

  // For a factor with an index: subtracts the beginning of the part from index operands, and gives other operands
  // margins of zeros as wide as a slice. An index outside of the part then reads zeros, or changes only a margin.
  Literal Indexed(Literal literal, int64_t operand, const LeafFactors& factors, const FactorPart& part) const {
    const FactorIndex& index = *factor().index;
    const int64_t margin = index.clamped ? index.width : 0;
    if (IsIndexOperand(inst_, operand)) {
      Literal wide(literal.shape().WithType(PrimitiveType::kS64));
      for (int64_t i = 0; i < wide.shape().NumElements(); ++i) {
        int64_t value = literal.GetInt(i);
        if (operand == index.operand && Component(wide.shape(), i) == index.component) {
          if (index.clamped) value = std::clamp<int64_t>(value, 0, factor().size - index.width);
          value += margin - part.range.first;
        }
        wide.SetInt(i, value);
      }
      return wide;
    }
    const int64_t dim = CutDim(factors, factor_);
    return dim < 0 || margin == 0 ? literal : WithMargin(literal, dim, margin);
  }

  // The component of the index vector that element i of the index operand has.
  int64_t Component(const Shape& shape, int64_t i) const {
    const int64_t dim = factor().index->vector_dim;
    if (dim >= shape.rank()) return 0;
    return i / RowMajorStrides(shape.dims())[dim] % shape.dim(dim);
  }

  Result<Literal> Assembled(int64_t leaf) const {
    switch (kind()) {
      case kSum: return Summed(leaf);
      case kLook: return Picked(leaf);
      case kScan: return Scanned(leaf);
      default: return SideBySide(leaf, [&](size_t part) { return values_[part][leaf]; });
    }
  }

  template <class ValueOf>
  Result<Literal> SideBySide(int64_t leaf, ValueOf&& value_of) const {
    Literal all(LeafLiterals(whole_)[leaf].shape());
    const bool is_cut = CutDim(rule_.result[leaf], factor_) >= 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Literal value = value_of(i);
      if (!is_cut && i > 0 && !value.BitEquals(all)) FAIL(Failed("parts of a result without the factor differ"));
      Place(value, BoxOf(rule_, rule_.result[leaf], all.shape(), parts_[i]), all);
    }
    return all;
  }

  Result<Literal> Summed(int64_t leaf) const {
    if (!factor().reducer) return SummedByReduce(leaf);
    if (*factor().reducer == Opcode::kTopK) return SummedByTopK(leaf);
    Literal sum = values_[0][leaf];
    for (size_t i = 1; i < values_.size(); ++i)
      sum = TRY(Run(*factor().reducer, sum.shape(), NoAttrs(), {{sum, values_[i][leaf]}}));
    return sum;
  }

  // Stacks the results of the parts along a new first dimension, and reduces it.
  Result<Literal> SummedByReduce(int64_t leaf) const {
    std::vector<Literal> operands;
    for (size_t result = 0; result < values_[0].size(); ++result) {
      const Literal& first = values_[0][result];
      std::vector<int64_t> dims = first.shape().dims();
      dims.insert(dims.begin(), std::ssize(values_));
      Literal stack(first.shape().WithDims(dims));
      for (size_t i = 0; i < values_.size(); ++i) {
        std::copy_n(values_[i][result].raw(), first.byte_size(), stack.mutable_raw() + i * first.byte_size());
      }
      operands.push_back(std::move(stack));
    }
    const int64_t inputs = inst_.operand_count() / 2;
    for (int64_t i = 0; i < inputs; ++i) operands.push_back(operands_[inputs + i]);
    const ReduceAttrs attrs{{0}, inst_.attrs<ReduceAttrs>().to_apply};
    return LeafLiterals(TRY(Run(Opcode::kReduce, inst_.shape(), attrs, operands)))[leaf];
  }

  // The top k of the results of all parts. Their positions select the indices.
  Result<Literal> SummedByTopK(int64_t leaf) const {
    const Literal values = TRY(Joined(0)), indices = TRY(Joined(1));
    const Literal top = TRY(Run(Opcode::kTopK, inst_.shape(), inst_.attributes(), {{values}}));
    if (leaf == 0) return top.elements()[0];
    Literal result = top.elements()[1];
    const int64_t k = result.shape().dims().back(), joined = values.shape().dims().back();
    for (int64_t i = 0; i < result.shape().NumElements(); ++i)
      result.SetInt(i, indices.GetInt(i / k * joined + result.GetInt(i)));
    return result;
  }

  // The results `leaf` of all parts, concatenated along the last dimension.
  Result<Literal> Joined(int64_t leaf) const {
    std::vector<Literal> operands;
    Shape shape = values_[0][leaf].shape();
    const int64_t last = shape.rank() - 1;
    shape.SetDim(last, 0);
    for (const auto& value : values_) {
      operands.push_back(value[leaf]);
      shape.SetDim(last, shape.dim(last) + value[leaf].shape().dim(last));
    }
    return Run(Opcode::kConcatenate, shape, OneDimensionAttrs{{last}}, operands);
  }

  Result<Literal> Picked(int64_t leaf) const {
    Literal all(values_[0][leaf].shape());
    for (const auto& value : values_) {
      for (int64_t i = 0; i < all.byte_size(); ++i) all.mutable_raw()[i] |= value[leaf].raw()[i];
    }
    return all;
  }

  // Combines the results of a scan. Result 1 of a part is its carry.
  Result<Literal> Scanned(int64_t leaf) const {
    std::vector<size_t> order(parts_.size());
    std::iota(order.begin(), order.end(), 0);
    if (!IsFirst(parts_[0])) std::ranges::reverse(order);
    std::vector<Literal> results(parts_.size());
    Literal total = values_[order[0]][1];
    for (size_t i = 0; i < order.size(); ++i) {
      const std::vector<Literal>& value = values_[order[i]];
      results[order[i]] = i == 0 ? value[0] : TRY(Combined(total, value[0]));
      if (i > 0) total = TRY(Run(*factor().reducer, total.shape(), NoAttrs(), {{total, value[1]}}));
    }
    if (leaf == 1) return total;
    return SideBySide(leaf, [&](size_t part) { return results[part]; });
  }

  // Applies the scan's op to the total of all earlier parts and each step of a part.
  Result<Literal> Combined(const Literal& total, const Literal& steps) const {
    const int64_t along = CutDim(rule_.result[0], factor_);
    std::vector<int64_t> kept;
    for (int64_t dim = 0; dim < steps.shape().rank(); ++dim) {
      if (dim != along) kept.push_back(dim);
    }
    const Literal all = TRY(Run(Opcode::kBroadcast, steps.shape(), DimensionsAttrs{kept}, {{total}}));
    return Run(*factor().reducer, steps.shape(), NoAttrs(), {{all, steps}});
  }

  const Instruction& inst_;
  const FactorRule& rule_;
  const int64_t factor_;
  const std::span<const Literal> operands_;
  const Literal& whole_;
  std::vector<FactorPart> parts_;
  std::vector<std::vector<Literal>> values_;  // Indexed by part and leaf.
};

}  // namespace

bool IsIndexOperand(const Instruction& inst, int64_t operand) {
  switch (inst.opcode()) {
    case Opcode::kGather: return operand == 1;
    case Opcode::kScatter: return operand == inst.operand_count() / 2;
    case Opcode::kDynamicSlice: return operand >= 1;
    case Opcode::kDynamicUpdateSlice: return operand >= 2;
    case Opcode::kRaggedDot: return operand == 2;
    case Opcode::kSetDimensionSize: return operand == 1;
    default: return false;
  }
}

Result<Literal> EvaluateOp(Module& module, Opcode opcode, const Shape& shape, const Attributes& attributes,
                           std::span<const Literal> operands) {
  Computation& computation = module.AddComputation("op");
  Operands parameters;
  for (const Literal& operand : operands)
    parameters.push_back(&computation.AddParameter(std::ssize(parameters), operand.shape()));
  Instruction& op = computation.Add(opcode, shape, parameters, attributes);
  computation.SetRoot(op);
  const Shape inferred = TRY(InferShape(op));
  if (!Compatible(inferred, shape)) FAIL(Failed(Str("the shape is ", shape, ", inferred ", inferred)));
  return EvaluateComputation(computation, operands);
}

testing::AssertionResult PartsGiveWhole(const Instruction& inst, const FactorRule& rule, int64_t factor, int64_t parts,
                                        std::span<const Literal> operands, const Literal& whole) {
  return Law(inst, rule, factor, operands, whole).Holds(parts);
}

}  // namespace hlo
