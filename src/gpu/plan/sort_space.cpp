#include "gpu/plan/sort_space.h"

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "gpu/kernel/builder.h"
#include "gpu/plan/scalar.h"
#include "ir/module.h"

namespace hlo::gpu {
namespace {

constexpr std::string_view kSteps[] = {"merge_lines", "merge_tiles",   "merge_runs",  "radix_lines",
                                       "radix_count", "radix_offsets", "radix_move",  "radix_digits",
                                       "radix_pass",  "select_tiles",  "select_lines"};

// Positions are 32-bit numbers.
constexpr int64_t kLongestLine = int64_t{1} << 31;

// ---- The key of a comparator -------------------------------------------------------------------------------------

// Whether `x` computes from one side of a comparator (a0, b0, a1, b1, ...) what `y` computes from the other. `side`
// becomes x's side, and is -1 before the first parameter.
bool Mirrors(const Instruction& x, const Instruction& y, int& side, int depth = 0) {
  constexpr int kDeepest = 32;
  if (depth > kDeepest) return false;
  if (x.Is(Opcode::kParameter) || y.Is(Opcode::kParameter)) {
    if (!x.Is(Opcode::kParameter) || !y.Is(Opcode::kParameter)) return false;
    const int of_x = static_cast<int>(x.parameter_number() % 2);
    if (side >= 0 && side != of_x) return false;
    side = of_x;
    return (x.parameter_number() ^ 1) == y.parameter_number();
  }
  if (x.operand_count() != y.operand_count() || !SameOperation(x, y)) return false;
  for (int64_t i = 0; i < x.operand_count(); ++i) {
    if (!Mirrors(x.operand(i), y.operand(i), side, depth + 1)) return false;
  }
  return true;
}

bool IsTotalOrder(const Instruction& compare) {
  return !IsFloat(compare.operand(0).shape().type()) ||
         compare.attrs<CompareAttrs>().type == ComparisonType::kTotalOrder;
}

std::optional<SortKey> KeyOf(const Computation& comparator) {
  const Instruction& root = comparator.root();
  if (!root.Is(Opcode::kCompare)) return std::nullopt;
  const ComparisonDirection direction = root.attrs<CompareAttrs>().direction;
  if (direction != ComparisonDirection::kLt && direction != ComparisonDirection::kGt) return std::nullopt;
  int side = -1;
  if (!Mirrors(root.operand(0), root.operand(1), side) || side < 0) return std::nullopt;
  const Instruction& number = root.operand(0);
  SortKey key{.type = number.shape().type(),
              .descending = (direction == ComparisonDirection::kGt) != (side == 1),
              .is_total = IsTotalOrder(root),
              .number = &number,
              .element = 0};
  if (number.Is(Opcode::kParameter)) {
    key.number = nullptr;
    key.element = number.parameter_number() / 2;
  }
  return key;
}

// ---- The space ---------------------------------------------------------------------------------------------------

bool IsSort(const Instruction& inst) { return inst.Is(Opcode::kSort) || inst.Is(Opcode::kTopK); }

// The sort that computes the root, or null, and its result number.
std::pair<const Instruction*, int64_t> SortBehind(const FusionBody& body, const FusionBody::Root& root) {
  const Instruction* inst = root.inst;
  int64_t result = root.result;
  if (inst->Is(Opcode::kGetTupleElement) && body.LeafOf(*inst) < 0) {
    result = inst->tuple_index();
    inst = &inst->operand(0);
  }
  return {IsSort(*inst) && body.LeafOf(*inst) < 0 ? inst : nullptr, result};
}

int64_t CarriedBy(const SortSpace& space) {
  std::vector<int64_t> others;
  for (const int64_t result : space.results) {
    if (!space.IsKey(result) && std::ranges::find(others, result) == others.end()) others.push_back(result);
  }
  if (others.size() > 1) return SortSpace::kPosition;
  return others.empty() ? SortSpace::kNothing : others[0];
}

// Whether NaN may be unordered, so that the result depends on the algorithm. With a key the result is defined: kernels
// then merge tiles in the interpreter's order (SortKernel).
bool MayBeNoOrder(const Computation& comparator) {
  return std::ranges::any_of(comparator.Instructions(), [](const Instruction* inst) {
    if (!inst->Is(Opcode::kCompare) || IsTotalOrder(*inst)) return false;
    const ComparisonDirection direction = inst->attrs<CompareAttrs>().direction;
    return direction != ComparisonDirection::kEq && direction != ComparisonDirection::kNe;
  });
}

// Integer registers must hold a float's bits, with the sign first.
bool IsSorted(PrimitiveType type) {
  if (!IsFloat(type)) return !IsComplex(type);
  return BitWidth(type) >= 8 && type != PrimitiveType::kF8E8M0FNU;
}

Status Check(const Instruction& inst, const SortSpace& space) {
  std::vector<PrimitiveType> types;
  for (const Instruction* operand : inst.operands()) types.push_back(operand->shape().type());
  if (space.key) types.push_back(space.key->type);
  for (const PrimitiveType type : types) {
    TRY(KernelType(inst, type));
    if (!IsSorted(type)) FAIL(UnsupportedAt(inst, "U109", Str("no emitter for '", inst.opcode(), "' of ", type)));
  }
  if (space.length > kLongestLine)
    FAIL(UnsupportedAt(
        inst, "U109",
        Str("no kernels that sort lines of ", space.length, " elements, because the limit is ", kLongestLine)));
  if (inst.Is(Opcode::kTopK)) return {};
  const Computation& comparator = *space.comparator();
  for (const Instruction* parameter : comparator.parameters()) {
    const Instruction& operand = inst.operand(parameter->parameter_number() / 2);
    if (parameter->shape().type() == operand.shape().type()) continue;
    FAIL(UnsupportedAt(inst, "U109", "no emitter for 'sort' whose comparator has other types than its operands"));
  }
  if (!space.key && MayBeNoOrder(comparator))
    FAIL(UnsupportedAt(inst, "U109", "no emitter for 'sort' whose comparator compares floats without type=TOTALORDER"));
  return CheckScalarComputation(comparator);
}

}  // namespace

std::string_view ToString(SortStep step) { return kSteps[static_cast<int>(step)]; }

const Computation* SortSpace::comparator() const {
  return inst->Is(Opcode::kSort) ? inst->attrs<SortAttrs>().to_apply : nullptr;
}

std::vector<NodeId> SortSpace::OutputValues() const {
  std::vector<NodeId> values;
  for (const Output& output : outputs) {
    if (output.value >= 0) values.push_back(output.value);
  }
  return values;
}

Result<std::unique_ptr<SortSpace>> SortSpaceOf(const FusionBody& body) {
  const Instruction* inst = nullptr;
  for (const FusionBody::Root& root : body.roots()) {
    if (const Instruction* sort = SortBehind(body, root).first; sort != nullptr) inst = sort;
  }
  if (inst == nullptr) return nullptr;
  for (const FusionBody::Root& root : body.roots()) {
    if (SortBehind(body, root).first != inst)
      FAIL(UnsupportedAt(*inst, "U109", Str("no emitter for '", inst->opcode(), "' in a fusion with other results")));
  }
  auto space = std::make_unique<SortSpace>(body);
  space->inst = inst;
  const Shape& shape = inst->operand(0).shape();
  const int64_t dimension = inst->Is(Opcode::kSort) ? inst->attrs<SortAttrs>().dimension.value : shape.rank() - 1;
  space->length = space->kept = shape.dim(dimension);
  if (inst->Is(Opcode::kTopK)) {
    const TopKAttrs& attrs = inst->attrs<TopKAttrs>();
    space->kept = attrs.k;
    space->key =
        SortKey{.type = shape.type(), .descending = attrs.largest, .is_total = true, .number = nullptr, .element = 0};
  } else {
    space->key = KeyOf(*space->comparator());
  }
  TRY(Check(*inst, *space));
  IndexPool& pool = space->pool;
  std::vector<IndexExpr> at(shape.rank(), pool.Constant(0));
  const auto add = [&](int64_t d, Role role) {
    const int64_t size = shape.dim(d);
    space->variables.push_back({pool.Variable(0, std::max<int64_t>(size, 1) - 1), size, role});
    at[d] = space->variables.back().e;
  };
  for (const int64_t d : MajorToMinor(shape)) {
    if (d != dimension) add(d, Role::kKept);
  }
  add(dimension, Role::kScanned);
  for (const Instruction* operand : inst->operands()) space->elements.push_back(TRY(space->graph.Plan(*operand, at)));
  for (const FusionBody::Root& root : body.roots()) {
    const int64_t result = SortBehind(body, root).second;
    const bool is_position = inst->Is(Opcode::kTopK) && result == 1;
    space->results.push_back(is_position ? SortSpace::kPosition : result);
    space->outputs.push_back(
        {&root, is_position ? NodeId{-1} : space->elements[result], pool.Dot(at, LayoutStrides(*root.shape))});
  }
  space->carried = CarriedBy(*space);
  return space;
}

int KeyBits(const SortKey& key) { return std::max(8, BitWidth(key.type)); }

int DigitBits(const SortShape& shape) { return std::countr_zero(static_cast<uint64_t>(shape.digits)); }

int DigitPasses(const SortSpace& space, const SortShape& shape) {
  return kernel::CeilDiv(KeyBits(*space.key), DigitBits(shape));
}

int64_t BytesMoved(const SortSpace& space) {
  const int64_t key = KeyBits(*space.key) / 8;
  if (space.carried == SortSpace::kNothing) return key;
  if (space.carried == SortSpace::kPosition) return key + 4;
  return key + kernel::Bytes(KernelTypeOf(space.inst->operand(space.carried).shape().type()));
}

std::vector<SortStepAt> SortSteps(const SortSpace& space, const SortShape& shape) {
  const bool is_radix = shape.digits > 1;
  std::vector<SortStepAt> steps;
  if (shape.selects()) {
    if (shape.tile < space.length) steps.push_back({SortStep::kSelectTiles});
    steps.push_back({.step = SortStep::kSelectLines, .pass = static_cast<int>(steps.size())});
  } else if (shape.tile >= space.length) {
    steps.push_back({is_radix ? SortStep::kRadixLines : SortStep::kMergeLines});
  } else if (is_radix) {
    const std::vector<SortStep> in_pass =
        shape.walkers() == 1 ? std::vector{SortStep::kRadixCount, SortStep::kRadixOffsets, SortStep::kRadixMove}
                             : std::vector{SortStep::kRadixPass};
    if (shape.walkers() > 1) steps.push_back({SortStep::kRadixDigits});
    for (int pass = 0; pass < DigitPasses(space, shape); ++pass) {
      for (const SortStep step : in_pass) steps.push_back({.step = step, .pass = pass});
    }
  } else {
    steps.push_back({SortStep::kMergeTiles});
    int pass = 0;
    for (int64_t run = shape.tile; run < space.length; run *= 2)
      steps.push_back({.step = SortStep::kMergeRuns, .run = run, .pass = ++pass});
  }
  steps.back().is_last = true;
  return steps;
}

int64_t BlocksOfLine(const SortSpace& space, SortStep step, const SortShape& shape) {
  // Blocks that count all digits: enough for any GPU, but few, because each adds its counts to its line's sums.
  constexpr int64_t kCounting = 512;
  const int64_t tiles = kernel::CeilDiv(space.length, shape.tile);
  if (step == SortStep::kRadixOffsets || step == SortStep::kSelectLines) return 1;
  if (step != SortStep::kRadixDigits) return tiles;
  return std::min(tiles, kernel::CeilDiv(kCounting, std::max<int64_t>(space.lines(), 1)));
}

LaunchShape LaunchOf(const SortSpace& space, SortStep step, const KernelPlan& plan) {
  return {space.lines() * BlocksOfLine(space, step, SortShape(plan)), static_cast<int>(plan.threads)};
}

}  // namespace hlo::gpu
