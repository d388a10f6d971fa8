// Laws of the factor rules (ir/factors/factor_rules.h): an op on whole arrays gives the same bits as its local ops on
// the parts of each factor that may be cut, put together as the kind of the factor says. This test cuts and assembles
// arrays by lists of indices, without the code under test. FULL=1 draws ten times as many instructions.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "base/text.h"
#include "driver/fuzz/grower.h"
#include "interp/interpreter.h"
#include "ir/factors/factor_rules.h"
#include "ir/factors/local_op.h"
#include "ir/module.h"
#include "ir/reducer.h"
#include "ir/shapes/shape_rules.h"
#include "tests/factor_parts.h"
#include "tests/interp_values.h"

namespace hlo {
namespace {

using enum FactorKind;

// ---- The table ---------------------------------------------------------------------------------------------------

// Opcodes without a law, and the reasons.
struct Exempt {
  Opcode opcode;
  const char* reason;
};
constexpr const char* kNoFactor = "no factor may be cut";
constexpr const char* kEdges = "called computations relate its leaves";
constexpr const char* kDevices = "tests/factors_collectives_test.cpp has its law";
constexpr Exempt kExempt[] = {
    {Opcode::kAfterAll, "tokens have no dimensions"},
    {Opcode::kAllGather, kDevices},
    {Opcode::kAllGatherDone, kNoFactor},
    {Opcode::kAllGatherStart, kNoFactor},
    {Opcode::kAllReduce, kDevices},
    {Opcode::kAllReduceDone, kNoFactor},
    {Opcode::kAllReduceStart, kNoFactor},
    {Opcode::kAllToAll, kDevices},
    {Opcode::kAsyncDone, kEdges},
    {Opcode::kAsyncStart, kEdges},
    {Opcode::kAsyncUpdate, kEdges},
    {Opcode::kBitcast, kNoFactor},
    {Opcode::kCall, kEdges},
    {Opcode::kCollectiveBroadcast, kDevices},
    {Opcode::kCollectivePermute, kDevices},
    {Opcode::kCollectivePermuteDone, kNoFactor},
    {Opcode::kCollectivePermuteStart, kNoFactor},
    {Opcode::kCollectiveReduce, kDevices},
    {Opcode::kConditional, kEdges},
    {Opcode::kCopyDone, kNoFactor},
    {Opcode::kCopyStart, kNoFactor},
    {Opcode::kCustomCall, kNoFactor},
    {Opcode::kDynamicReshape, kNoFactor},
    {Opcode::kFusion, kEdges},
    {Opcode::kInfeed, kNoFactor},
    {Opcode::kOutfeed, kNoFactor},
    {Opcode::kParameter, "its value is an argument"},
    {Opcode::kPartitionId, kNoFactor},
    {Opcode::kRaggedAllToAll, kDevices},
    {Opcode::kRecv, kNoFactor},
    {Opcode::kRecvDone, kNoFactor},
    {Opcode::kReduceScatter, kDevices},
    {Opcode::kReplicaId, kNoFactor},
    {Opcode::kRng, kNoFactor},
    {Opcode::kRngBitGenerator, kNoFactor},
    {Opcode::kRngGetAndUpdateState, kNoFactor},
    {Opcode::kSend, kNoFactor},
    {Opcode::kSendDone, kNoFactor},
    {Opcode::kWhile, kEdges},
};

bool IsExempt(Opcode opcode) {
  return std::ranges::any_of(kExempt, [&](const Exempt& exempt) { return exempt.opcode == opcode; });
}

// The kinds of factors of the other opcodes: only kFree, or those listed here.
const std::map<Opcode, std::set<FactorKind>> kKinds = {
    {Opcode::kConcatenate, {kFree, kWindow}},
    {Opcode::kConvolution, {kFree, kSum, kWindow}},
    {Opcode::kDot, {kFree, kSum}},
    {Opcode::kDynamicSlice, {kFree, kLook}},
    {Opcode::kDynamicUpdateSlice, {kFree, kPut}},
    {Opcode::kGather, {kFree, kLook}},
    {Opcode::kPad, {kFree, kWindow}},
    {Opcode::kRaggedDot, {kFree, kSum}},
    {Opcode::kReduce, {kFree, kSum}},
    {Opcode::kReduceWindow, {kFree, kWindow}},
    {Opcode::kReverse, {kFree, kWindow}},
    {Opcode::kScaledDot, {kFree, kSum}},
    {Opcode::kScan, {kFree, kScan}},
    {Opcode::kScatter, {kFree, kSum, kPut}},
    {Opcode::kSelectAndScatter, {kFree, kWindow}},
    {Opcode::kShuffle, {kFree, kWindow}},
    {Opcode::kSlice, {kFree, kWindow}},
    {Opcode::kTopK, {kFree, kSum}},
};

std::set<FactorKind> KindsOf(Opcode opcode) {
  const auto found = kKinds.find(opcode);
  return found == kKinds.end() ? std::set{kFree} : found->second;
}

// Instructions that random modules do not have.
constexpr const char* kTexts[] = {
    R"(
  x = f32[6,5] parameter(0)
  y = s32[4,3,2] parameter(1)
  all = (f32[6,5], s32[4,3,2]) tuple(x, y)
  first = f32[6,5] get-tuple-element(all), index=0
  second = s32[4,3,2] get-tuple-element(all), index=1
  nested = ((f32[6,5], s32[4,3,2]), f32[6,5]) tuple(all, x)
  inner = (f32[6,5], s32[4,3,2]) get-tuple-element(nested), index=0
  barrier = (f32[6,5], s32[4,3,2]) opt-barrier(all)
  ready = token[] after-all()
  dependency = f32[6,5] add-dependency(x, ready)
  counts = s32[6,5,3] iota(), iota_dimension=1
  domain = f32[6,5] domain(x), domain={kind="sharding", entry={replicated}, exit={replicated}}
  size = s32[] get-dimension-size(x), dimensions={0}
  new_size = s32[] parameter(2)
  ROOT set = f32[<=6,5] set-dimension-size(x, new_size), dimensions={0})",
    R"(
  x = f32[5,8] parameter(0)
  y = f32[8,7] parameter(1)
  x_scale = f32[5,4] parameter(2)
  y_scale = f32[2,7] parameter(3)
  z = f32[12,8] parameter(4)
  z_scale = f32[4,2] parameter(5)
  one = f32[1,1] parameter(6)
  dot = f32[5,7] scaled-dot(x, y, x_scale, y_scale), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  one_scale = f32[12,7] scaled-dot(z, y, z_scale, one), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  u = f32[6,5,8] parameter(7)
  v = f32[8,6] parameter(8)
  u_scale = f32[2,1,4] parameter(9)
  v_scale = f32[8,6] parameter(10)
  ROOT batch = f32[6,5] scaled-dot(u, v, u_scale, v_scale), lhs_batch_dims={0}, rhs_batch_dims={1},
    lhs_contracting_dims={2}, rhs_contracting_dims={0})",
    R"(
  x = f32[24,5] parameter(0)
  mixed = f32[6,10,2] reshape(x)
  y = s32[6,4] parameter(1)
  uneven = s32[4,6] reshape(y)
  z = s32[3,16] parameter(2)
  two_minor = s32[2,12,2] reshape(z)
  ROOT none = s32[8,3] reshape(y))",
};

constexpr const char* kMapText = R"(HloModule m
weigh {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] multiply(a, b)
}
ENTRY main {
  x = f32[6,5] parameter(0)
  y = f32[6,5] parameter(1)
  ROOT r = f32[6,5] map(x, y), dimensions={0,1}, to_apply=weigh
})";

// ---- Values ------------------------------------------------------------------------------------------------------

bool IsIndexOperand(const Instruction& inst, int64_t operand) {
  switch (inst.opcode()) {
    case Opcode::kGather: return operand == 1;
    case Opcode::kScatter: return operand == inst.operand_count() / 2;
    case Opcode::kDynamicSlice: return operand >= 1;
    case Opcode::kDynamicUpdateSlice: return operand >= 2;
    case Opcode::kRaggedDot: return operand == 2;
    default: return false;
  }
}

// An argmax or argmin.
bool IsPick(const Instruction& inst) { return inst.Is(Opcode::kReduce) && inst.operand_count() > 2; }

// Whether results are exact only for small integers: sums, products and quotients of many elements.
bool Accumulates(const Instruction& inst) { return !inst.Is(kElementwise) && !inst.Is(kMoves) && !IsPick(inst); }

bool Multiplies(const Instruction& inst) {
  for (const Computation* callee : CalledComputations(inst)) {
    for (const Instruction* step : callee->instructions()) {
      if (step->Is(Opcode::kMultiply)) return true;
    }
  }
  return inst.Is(Opcode::kTriangularSolve);
}

double AnyFloat(const Instruction& inst, Chance& chance) {
  if (Multiplies(inst)) return chance.OneOf({-1.0, 1.0, 2.0});
  if (Accumulates(inst)) return static_cast<double>(chance.Between(-1, 1));
  const double value = static_cast<double>(chance.Between(-4096, 4096)) / 512;
  if (!chance.Percent(10)) return value;
  if (IsPick(inst)) return NAN;
  return inst.Is(kMoves) ? chance.OneOf({-0.0, HUGE_VAL, double{NAN}}) : chance.OneOf({-0.0, HUGE_VAL});
}

int64_t AnyIndex(const Instruction& inst, PrimitiveType type, Chance& chance) {
  const bool may_be_negative = IsSigned(type) && !inst.Is(Opcode::kRaggedDot);
  return chance.Between(may_be_negative ? -2 : 0, 9);
}

Literal AnyArray(const Instruction& inst, int64_t operand, const Shape& shape, Chance& chance) {
  Literal literal(shape);
  const bool any_integers = chance.Percent(30);
  for (int64_t i = 0; i < shape.NumElements(); ++i) {
    if (IsIndexOperand(inst, operand)) literal.SetInt(i, AnyIndex(inst, shape.type(), chance));
    else if (IsComplex(shape.type())) literal.SetComplex(i, {AnyFloat(inst, chance), AnyFloat(inst, chance)});
    else if (IsFloat(shape.type())) literal.SetDouble(i, AnyFloat(inst, chance));
    else if (any_integers) literal.SetInt(i, static_cast<int64_t>(chance.Bits()));
    else literal.SetInt(i, chance.Between(0, 6) - (IsSigned(shape.type()) ? 3 : 0));
  }
  // Some matrix is positive definite.
  if (inst.Is(Opcode::kCholesky)) {
    const int64_t n = shape.dims().back();
    for (int64_t i = 0; i < shape.NumElements(); ++i) {
      if (i / n % n == i % n) literal.SetDouble(i, static_cast<double>(2 * n));
    }
  }
  return literal;
}

Literal AnyValue(const Instruction& inst, int64_t operand, const Shape& shape, Chance& chance) {
  if (shape.IsToken()) return Literal(shape);
  if (!shape.IsTuple()) return AnyArray(inst, operand, shape, chance);
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) elements.push_back(AnyValue(inst, operand, element, chance));
  return Literal::Tuple(std::move(elements));
}

// ---- A law -------------------------------------------------------------------------------------------------------

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

  // Compares the whole result with the one of `parts` parts.
  testing::AssertionResult Holds(int64_t parts) {
    values_.clear();
    parts_.clear();
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
    Computation& computation = inst_.module().AddComputation("law");
    Operands parameters;
    for (const Literal& operand : operands)
      parameters.push_back(&computation.AddParameter(std::ssize(parameters), operand.shape()));
    Instruction& op = computation.Add(opcode, shape, parameters, attributes);
    computation.SetRoot(op);
    const Shape inferred = TRY(InferShape(op));
    if (!Compatible(inferred, shape)) FAIL(Failed(Str("local shape ", shape, ", inferred ", inferred)));
    return EvaluateComputation(computation, operands);
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

  Literal LocalOperand(const LocalOp& local, const FactorPart& part, int64_t operand) const {
    const bool is_identity =
        !IsFirst(part) && std::ranges::find(factor().used_once, operand) != factor().used_once.end();
    std::vector<Literal> leaves = LeafLiterals(operands_[operand]);
    for (size_t i = 0; i < leaves.size(); ++i) {
      const LeafFactors& factors = rule_.operands[operand][i];
      Box box = BoxOf(rule_, factors, leaves[i].shape(), part);
      Indices rows;
      int64_t rows_dim = -1;
      for (const OperandRows& read : local.rows) {
        if (read.operand != operand) continue;
        rows_dim = read.dim;
        for (int64_t row = 0; row < read.rows.size; ++row) rows.push_back(read.rows.first + row);
      }
      if (rows_dim >= 0) box[rows_dim] = rows;
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

  // With margins as wide as a slice, an index outside of the part finds zeros, or changes the margin alone.
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

  // The component of the index vector at an element of the indices.
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

  // Reduces the parts, one behind the other in a new dimension.
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

  // The positions among the results of all parts select the indices.
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

  // A leaf of all parts, one behind the other along the last dimension.
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

  // The carry is leaf 1.
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

  // The op on the total of all earlier steps and on each step of a part.
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

// ---- All opcodes -------------------------------------------------------------------------------------------------

// The factors of each dimension multiply to its size, except in windows.
void ExpectSizes(const FactorRule& rule, const Shape& shape, const std::vector<LeafFactors>& leaves, bool is_result) {
  size_t next = 0;
  ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) {
    const LeafFactors& factors = leaves[next++];
    ASSERT_EQ(std::ssize(factors), leaf.rank());
    for (int64_t dim = 0; dim < leaf.rank(); ++dim) {
      int64_t size = 1;
      bool windowed = false;
      for (const uint16_t factor : factors[dim]) {
        size *= rule.factors[factor].size;
        windowed |= rule.factors[factor].kind == kWindow && !is_result;
      }
      EXPECT_TRUE(windowed || size == leaf.dim(dim)) << rule.ToString();
    }
  });
}

class Exercise {
 public:
  explicit Exercise(int draws) : draws_(draws) {}

  // Whether an opcode or one of its kinds still lacks draws.
  bool Lacks(Opcode opcode) const {
    if (IsExempt(opcode)) return false;
    return std::ranges::any_of(KindsOf(opcode), [&](FactorKind kind) { return Drawn(opcode, kind) < draws_; });
  }
  int Drawn(Opcode opcode, FactorKind kind) const {
    const auto found = drawn_.find({opcode, kind});
    return found == drawn_.end() ? 0 : found->second;
  }

  void Try(const Instruction& inst, Chance& chance) {
    if (!Lacks(inst.opcode()) || inst.Is(Opcode::kParameter)) return;
    const FactorRule rule = FactorsOf(inst);
    SCOPED_TRACE(Str(inst.name(), ": ", inst.shape(), " ", inst.opcode(), "  ", rule.ToString()));
    for (int64_t i = 0; i < inst.operand_count(); ++i)
      ExpectSizes(rule, inst.operand(i).shape(), rule.operands[i], false);
    ExpectSizes(rule, inst.shape(), rule.result, true);
    std::set<FactorKind> kinds;
    for (const Factor& factor : rule.factors) {
      if (factor.kind != kWhole) kinds.insert(factor.kind);
    }
    for (const FactorKind kind : kinds) EXPECT_TRUE(KindsOf(inst.opcode()).contains(kind)) << ToString(kind);
    const bool useful =
        std::ranges::any_of(kinds, [&](FactorKind kind) { return Drawn(inst.opcode(), kind) < draws_; });
    if (!useful || inst.shape().ByteSize() == 0) return;
    std::vector<Literal> operands;
    for (int64_t i = 0; i < inst.operand_count(); ++i)
      operands.push_back(AnyValue(inst, i, inst.operand(i).shape(), chance));
    const Result<Literal> whole = Whole(inst, operands);
    if (!whole) return;
    for (const FactorKind kind : kinds) ++drawn_[{inst.opcode(), kind}];
    for (int64_t factor = 0; factor < std::ssize(rule.factors); ++factor) {
      const Factor& f = rule.factors[factor];
      if (f.kind == kWhole) continue;
      if (f.kind == kSum && IsNarrowFloat(inst)) continue;
      Law law(inst, rule, factor, operands, *whole);
      for (const int64_t parts : {2, 3, 4, 8}) {
        ++(f.size % parts == 0 ? even_ : uneven_);
        EXPECT_TRUE(law.Holds(parts)) << "factor " << factor << ", " << ToString(f.kind) << ", in " << parts;
      }
    }
  }

  void ExpectComplete() const {
    for (int k = 0; k < std::ssize(AllOps()); ++k) {
      const auto opcode = static_cast<Opcode>(k);
      if (IsExempt(opcode)) continue;
      for (const FactorKind kind : KindsOf(opcode))
        EXPECT_GE(Drawn(opcode, kind), draws_) << "'" << ToString(opcode) << "', " << ToString(kind);
    }
    EXPECT_GT(even_, 100 * draws_);
    EXPECT_GT(uneven_, 100 * draws_);
    testing::Test::RecordProperty("even", std::to_string(even_));
    testing::Test::RecordProperty("uneven", std::to_string(uneven_));
  }

 private:
  // Sums of a few ones are not exact in floats of less than 16 bits.
  static bool IsNarrowFloat(const Instruction& inst) {
    const PrimitiveType type = inst.shape().IsArray() ? inst.shape().type() : PrimitiveType::kF32;
    return IsFloat(type) && BitWidth(type) < 16;
  }

  static Result<Literal> Whole(const Instruction& inst, std::span<const Literal> operands) {
    Computation& computation = inst.module().AddComputation("whole");
    Operands parameters;
    for (const Literal& operand : operands)
      parameters.push_back(&computation.AddParameter(std::ssize(parameters), operand.shape()));
    computation.SetRoot(computation.Add(inst.opcode(), inst.shape(), parameters, inst.attributes()));
    return EvaluateComputation(computation, operands);
  }

  const int draws_;
  int64_t even_ = 0, uneven_ = 0;
  std::map<std::pair<Opcode, FactorKind>, int> drawn_;
};

std::vector<std::string> GrownOpcodes(const Exercise& exercise) {
  std::set<std::string> names;
  for (const std::span<const GrowRow> family :
       {ElementwiseRows(), MovementRows(), IndexingRows(), ReductionRows(), ContractionRows(), LinearRows()}) {
    for (const GrowRow& row : family) {
      if (exercise.Lacks(row.opcode)) names.emplace(ToString(row.opcode));
    }
  }
  return {names.begin(), names.end()};
}

TEST(FactorLaws, PartsGiveTheWhole) {
  const int draws = std::getenv("FULL") != nullptr ? 200 : 20;
  Exercise exercise(draws);
  Chance chance(1);
  std::vector<std::string> texts = {kMapText};
  for (const char* text : kTexts) texts.push_back(Str("HloModule m\nENTRY main {", text, "\n}\n"));
  for (int round = 0; round < 3 * draws; ++round) {
    for (const std::string& text : texts) {
      const auto module = ParseText(text);
      ASSERT_NE(module, nullptr);
      for (const Instruction* inst : module->entry().Instructions()) exercise.Try(*inst, chance);
    }
  }
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const std::vector<std::string> focus = GrownOpcodes(exercise);
    if (focus.empty()) break;
    const auto module =
        GrowModule({.seed = seed, .max_instructions = 30, .max_elems = 200, .depth = 1, .focus = focus});
    for (const Instruction* inst : module->entry().Instructions()) exercise.Try(*inst, chance);
  }
  exercise.ExpectComplete();
}

}  // namespace
}  // namespace hlo
