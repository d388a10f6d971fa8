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
#include "ir/factors/factor_rules.h"
#include "ir/module.h"
#include "tests/interp/values.h"
#include "tests/ir/factor_law.h"

namespace hlo {
namespace {

using enum FactorKind;

// ---- The table ---------------------------------------------------------------------------------------------------

struct Exempt {
  Opcode opcode;
  const char* reason;
};
constexpr const char* kNoFactor = "no factor may be cut";
constexpr const char* kEdges = "called computations relate its leaves";
constexpr const char* kDevices = "tests/ir/factors_collectives_test.cpp has its law";
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

// The reason why the opcode has no law here. Null if it has one.
const char* ReasonOf(Opcode opcode) {
  const auto found = std::ranges::find(kExempt, opcode, &Exempt::opcode);
  return found == std::end(kExempt) ? nullptr : found->reason;
}

// The kinds of factors of the other opcodes. An opcode that is not listed has only kFree.
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

constexpr const char* kModules[] = {
    R"(HloModule m
weigh {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] multiply(a, b)
}
ENTRY main {
  x = f32[6,5] parameter(0)
  y = f32[6,5] parameter(1)
  ROOT r = f32[6,5] map(x, y), dimensions={0,1}, to_apply=weigh
})",
    // The first NaN in row-major order wins, so parts of the last dimension cannot be combined.
    R"(HloModule m
argmax {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  greater = pred[] compare(a, b), direction=GT
  is_nan = pred[] compare(a, a), direction=NE
  more = pred[] or(greater, is_nan)
  equal = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tie = pred[] and(equal, before)
  keep = pred[] or(more, tie)
  value = f32[] select(more, a, b)
  place = s32[] select(keep, i, j)
  ROOT r = (f32[], s32[]) tuple(value, place)
}
ENTRY main {
  x = f32[4,3,6] parameter(0)
  places = s32[4,3,6] parameter(1)
  worst = f32[] parameter(2)
  nowhere = s32[] parameter(3)
  ROOT r = (f32[4], s32[4]) reduce(x, places, worst, nowhere), dimensions={1,2}, to_apply=argmax
})",
    R"(HloModule m
ENTRY main {
  x = s8[2,9,4] parameter(0)
  y = s8[3,4,5] parameter(1)
  ROOT saturates = s8[2,7,5] convolution(x, y), window={size=3}, dim_labels=b0f_0io->b0f
})",
};

// ---- Values ------------------------------------------------------------------------------------------------------

// An argmax or argmin.
bool IsPick(const Instruction& inst) { return inst.Is(Opcode::kReduce) && inst.operand_count() > 2; }

// Whether results add, multiply or divide many elements, which is exact only for small integers.
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

// An index, in some cases slightly out of range.
int64_t AnyIndex(const Instruction& inst, PrimitiveType type, Chance& chance) {
  if (inst.Is(Opcode::kRaggedDot) || inst.Is(Opcode::kSetDimensionSize)) return chance.Between(0, 4);
  int64_t most = 0;
  for (const int64_t size : inst.operand(0).shape().dims()) most = std::max(most, size);
  return chance.Between(IsSigned(type) ? -2 : 0, chance.Percent(50) ? 9 : std::min<int64_t>(most + 2, 127));
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
  // The large diagonal makes the matrix positive definite.
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

std::set<FactorKind> CutKinds(const FactorRule& rule) {
  std::set<FactorKind> kinds;
  for (const Factor& factor : rule.factors) {
    if (factor.kind != kWhole) kinds.insert(factor.kind);
  }
  return kinds;
}

class Exercise {
 public:
  explicit Exercise(int draws) : draws_(draws) {}

  // Whether some kind of the opcode's factors still lacks draws.
  bool Lacks(Opcode opcode) const {
    if (ReasonOf(opcode) != nullptr) return false;
    return std::ranges::any_of(KindsOf(opcode), [&](FactorKind kind) { return Drawn(opcode, kind) < draws_; });
  }
  int Drawn(Opcode opcode, FactorKind kind) const {
    const auto found = drawn_.find({opcode, kind});
    return found == drawn_.end() ? 0 : found->second;
  }

  void Try(const Instruction& inst, Chance& chance) {
    const char* const reason = ReasonOf(inst.opcode());
    EXPECT_TRUE(reason != kNoFactor || CutKinds(FactorsOf(inst)).empty()) << inst.name();
    if (reason != nullptr || inst.shape().ByteSize() == 0) return;
    const FactorRule rule = FactorsOf(inst);
    SCOPED_TRACE(Str(inst.name(), ": ", inst.shape(), " ", inst.opcode(), "  ", rule.ToString()));
    for (int64_t i = 0; i < inst.operand_count(); ++i)
      ExpectSizes(rule, inst.operand(i).shape(), rule.operands[i], false);
    ExpectSizes(rule, inst.shape(), rule.result, true);
    CheckParts(inst, rule, chance);
  }

  void ExpectComplete() const {
    for (int k = 0; k < std::ssize(AllOps()); ++k) {
      const auto opcode = static_cast<Opcode>(k);
      if (ReasonOf(opcode) != nullptr) continue;
      for (const FactorKind kind : KindsOf(opcode))
        EXPECT_GE(Drawn(opcode, kind), draws_) << "'" << ToString(opcode) << "', " << ToString(kind);
    }
    EXPECT_GT(even_, 100 * draws_);
    EXPECT_GT(uneven_, 100 * draws_);
    testing::Test::RecordProperty("even", std::to_string(even_));
    testing::Test::RecordProperty("uneven", std::to_string(uneven_));
  }

 private:
  void CheckParts(const Instruction& inst, const FactorRule& rule, Chance& chance) {
    std::set<FactorKind> kinds = CutKinds(rule);
    for (const FactorKind kind : kinds) EXPECT_TRUE(KindsOf(inst.opcode()).contains(kind)) << ToString(kind);
    if (IsNarrowFloat(inst)) kinds.erase(kSum);
    std::vector<Literal> operands;
    for (int64_t i = 0; i < inst.operand_count(); ++i)
      operands.push_back(AnyValue(inst, i, inst.operand(i).shape(), chance));
    const auto whole = EvaluateOp(inst.module(), inst.opcode(), inst.shape(), inst.attributes(), operands);
    if (!whole) return;
    for (const FactorKind kind : kinds) ++drawn_[{inst.opcode(), kind}];
    for (int64_t factor = 0; factor < std::ssize(rule.factors); ++factor) {
      const int64_t size = rule.factors[factor].size;
      const FactorKind kind = rule.factors[factor].kind;
      if (!kinds.contains(kind)) continue;
      for (const int64_t parts : {2, 3, 4, 8}) {
        ++(size % parts == 0 ? even_ : uneven_);
        EXPECT_TRUE(PartsGiveWhole(inst, rule, factor, parts, operands, *whole))
            << "factor " << factor << ", " << ToString(kind) << ", in " << parts;
      }
    }
  }

  // Floats of less than 16 bits cannot add even a few ones exactly.
  static bool IsNarrowFloat(const Instruction& inst) {
    const PrimitiveType type = inst.shape().IsArray() ? inst.shape().type() : PrimitiveType::kF32;
    return IsFloat(type) && BitWidth(type) < 16;
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

std::vector<std::string> AllTexts() {
  std::vector<std::string> texts(std::begin(kModules), std::end(kModules));
  for (const char* text : kTexts) texts.push_back(Str("HloModule m\nENTRY main {", text, "\n}\n"));
  return texts;
}

TEST(FactorLaws, PartsGiveTheWhole) {
  const int draws = std::getenv("FULL") != nullptr ? 200 : 20;
  Exercise exercise(draws);
  Chance chance(1);
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const std::vector<std::string> focus = GrownOpcodes(exercise);
    if (focus.empty()) break;
    const auto module =
        GrowModule({.seed = seed, .max_instructions = 30, .max_elems = 200, .depth = 1, .focus = focus});
    for (const Instruction* inst : module->entry().Instructions()) {
      if (exercise.Lacks(inst->opcode())) exercise.Try(*inst, chance);
    }
  }
  for (const std::string& text : AllTexts()) {
    const auto module = ParseText(text);
    ASSERT_NE(module, nullptr);
    for (const Instruction* inst : module->entry().Instructions()) {
      for (int draw = 0; draw < 2 * draws; ++draw) exercise.Try(*inst, chance);
    }
  }
  exercise.ExpectComplete();
}

}  // namespace
}  // namespace hlo
