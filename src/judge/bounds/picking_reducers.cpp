#include "judge/bounds/picking_reducers.h"

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

namespace hlo::shadow {
namespace {

bool SameSign(const ShadowValue& a, const ShadowValue& b, int64_t i) {
  if (!a.IsFloat() || Values(a.value)[i] != 0 || Values(b.value)[i] != 0) return true;
  return std::signbit(Values(a.value)[i]) == std::signbit(Values(b.value)[i]);
}

// Whether `inst` always equals parameter `place` of one side: of the left element (parameters k) or of the right one (k
// + arity) that a reducer combines.
bool TakenFromASide(const Instruction& inst, int64_t place, int64_t arity) {
  std::vector<const Instruction*> worklist = {&inst};
  std::unordered_set<const Instruction*> seen = {&inst};
  while (!worklist.empty()) {
    const Instruction& from = *worklist.back();
    worklist.pop_back();
    if (from.Is(Opcode::kParameter) && from.parameter_number() % arity == place) continue;
    const bool selects = from.Is(Opcode::kSelect);
    if (!selects && !from.Is(Opcode::kMaximum) && !from.Is(Opcode::kMinimum)) return false;
    for (const Instruction* operand : from.operands().subspan(selects ? 1 : 0)) {
      if (seen.insert(operand).second) worklist.push_back(operand);
    }
  }
  return true;
}

// The number, within its side, of the parameter that `inst` equals apart from exact widening. Otherwise -1.
int64_t PlaceOf(const Instruction& inst, int64_t arity) {
  const Instruction* from = &inst;
  for (; from->Is(Opcode::kConvert); from = &from->operand(0)) {
    const PrimitiveType wide = from->shape().type(), narrow = from->operand(0).shape().type();
    const bool is_whole = wide == PrimitiveType::kF32 || wide == PrimitiveType::kF64;
    if (!is_whole || !IsFloat(narrow) || BitWidth(wide) <= BitWidth(narrow)) return -1;
  }
  return from->Is(Opcode::kParameter) ? from->parameter_number() % arity : -1;
}

// Whether the result depends only on how the two elements of each operand compare.
bool GoesByOrder(const Computation& body, int64_t arity) {
  for (const Instruction* inst : body.PostOrder()) {
    switch (inst->opcode()) {
      case Opcode::kParameter:
      case Opcode::kSelect:
      case Opcode::kMaximum:
      case Opcode::kMinimum:
      case Opcode::kTuple: continue;
      case Opcode::kConstant:
      case Opcode::kAnd:
      case Opcode::kOr:
      case Opcode::kXor:
      case Opcode::kNot:
        if (inst->shape().type() != PrimitiveType::kPred) return false;
        continue;
      case Opcode::kConvert:
        if (PlaceOf(*inst, arity) < 0) return false;
        continue;
      case Opcode::kCompare: {
        const int64_t place = PlaceOf(inst->operand(0), arity);
        if (place < 0 || place != PlaceOf(inst->operand(1), arity)) return false;
        const bool total = inst->attrs<CompareAttrs>().type == ComparisonType::kTotalOrder;
        if (total && IsFloat(inst->operand(0).shape().type())) return false;
        continue;
      }
      default: return false;
    }
  }
  return true;
}

std::vector<std::pair<double, double>> OrdersOf(PrimitiveType type) {
  if (IsComplex(type)) return {};
  if (IsSigned(type) && !IsFloat(type)) return {{-1, 0}, {0, -1}, {0, 0}};  // s1 cannot represent 1.
  if (!IsFloat(type)) return {{0, 1}, {1, 0}, {1, 1}, {0, 0}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return {{1, 2}, {2, 1}, {0.0, -0.0}, {nan, 1}, {1, nan}, {nan, nan}};
}

}  // namespace

// Tries all combinations of orders, because an argmax that breaks ties takes the smaller index only for equal values.
Result<std::optional<PairOutcomes>> LeavesASide(const Computation& body) {
  const int64_t arity = static_cast<int64_t>(body.parameters().size()) / 2;
  std::optional<PairOutcomes> none;
  if (!PicksASide(body) || !GoesByOrder(body, arity)) return none;
  std::vector<std::vector<std::pair<double, double>>> orders;
  int64_t states = 1;
  for (int64_t k = 0; k < arity; ++k) {
    orders.push_back(OrdersOf(body.parameters()[k]->shape().type()));
    states *= static_cast<int64_t>(orders.back().size());
    if (states == 0 || states > 4096) return none;
  }
  PairOutcomes outcomes;
  std::vector<ShadowValue> sides(2 * arity);
  for (int64_t k = 0, stride = 1; k < arity; stride *= static_cast<int64_t>(orders[k].size()), ++k) {
    Literal left(Shape(body.parameters()[k]->shape().type(), {states})), right = left;
    for (int64_t s = 0; s < states; ++s) {
      const auto& [a, b] = orders[k][s / stride % orders[k].size()];
      for (auto& [side, x] : {std::pair<Literal&, double>(left, a), {right, b}}) {
        if (IsFloat(side.shape().type())) side.SetDouble(s, x);
        else side.SetInt(s, static_cast<int64_t>(x));
      }
    }
    outcomes.stride.push_back(stride);
    sides[k] = ToShadow(left);
    sides[arity + k] = ToShadow(right);
  }
  std::vector<const ShadowValue*> args;
  for (const ShadowValue& side : sides) args.push_back(&side);
  const ShadowOptions options;
  Context context{.options = options};
  const ShadowValue met = TRY(Lifted(body, {states})(context, args));
  for (int64_t s = 0; s < states; ++s) {
    bool left = true, right = true, left_signs = true, right_signs = true;
    for (int64_t k = 0; k < arity; ++k) {
      const ShadowValue& place = met.shape.IsTuple() ? met.elements[k] : met;
      left = left && MayBe(place, s, sides[k], s);
      right = right && MayBe(place, s, sides[arity + k], s);
      left_signs = left_signs && SameSign(place, sides[k], s);
      right_signs = right_signs && SameSign(place, sides[arity + k], s);
    }
    if (!left && !right) return none;
    if (!(left && left_signs) && !(right && right_signs)) outcomes.swaps_zeros = true;
    outcomes.left.push_back(left ? 1 : 0);
    outcomes.right.push_back(right ? 1 : 0);
  }
  return std::optional(std::move(outcomes));
}

std::vector<int64_t> DecidingPlaces(const Computation& body, int64_t arity) {
  std::vector<int64_t> places;
  for (const Instruction* inst : body.PostOrder()) {
    if (inst->Is(Opcode::kCompare)) places.push_back(PlaceOf(inst->operand(0), arity));
    const bool pred = inst->Is(Opcode::kParameter) && inst->shape().type() == PrimitiveType::kPred;
    if (pred) places.push_back(inst->parameter_number() % arity);
    if (!inst->Is(Opcode::kMaximum) && !inst->Is(Opcode::kMinimum)) continue;
    for (const Instruction* operand : inst->operands()) {
      if (operand->Is(Opcode::kParameter)) places.push_back(operand->parameter_number() % arity);
    }
  }
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

bool PicksASide(const Computation& body) {
  const Instruction& root = body.root();
  const int64_t arity = static_cast<int64_t>(body.parameters().size()) / 2;
  if (!root.Is(Opcode::kTuple)) return arity == 1 && TakenFromASide(root, 0, arity);
  for (int64_t place = 0; place < root.operand_count(); ++place) {
    if (!TakenFromASide(root.operand(place), place, arity)) return false;
  }
  return true;
}

}  // namespace hlo::shadow
