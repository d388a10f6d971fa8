#include "interp/shadow.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "base/parallel.h"
#include "interp/interpreter.h"
#include "interp/shadow_rules.h"

namespace hlo {
namespace shadow {
namespace {

constexpr int64_t kGrain = 1 << 14;

// The elements of a float literal as f64.
Literal Widen(const Literal& literal) {
  if (literal.shape().type() == PrimitiveType::kF64) return literal;
  Literal wide = NewBuffer(literal.shape());
  double* out = wide.mutable_data<double>().data();
  const int64_t count = literal.shape().NumElements();
  if (literal.shape().type() == PrimitiveType::kF32) {
    const float* in = literal.data<float>().data();
    ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) { std::copy(in + begin, in + end, out + begin); });
    return wide;
  }
  ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = literal.GetDouble(i);
  });
  return wide;
}

bool SameNumber(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Back to the declared type. `lost` receives 1 where the element is not exact, not decided or not representable.
Literal Narrow(const ShadowValue& from, Mask& lost) {
  if (from.shape.IsTuple()) {
    std::vector<Literal> elements;
    for (const ShadowValue& element : from.elements) {
      Mask of_element;
      elements.push_back(Narrow(element, of_element));
      lost.push_back(std::ranges::count(of_element, 1) > 0);
    }
    return Literal::Tuple(std::move(elements));
  }
  if (!from.IsFloat()) {
    lost.assign(from.shape.IsArray() ? from.shape.NumElements() : 0, 0);
    if (from.HasOpen()) std::ranges::copy(from.open.data<uint8_t>(), lost.begin());
    return from.exact;
  }
  Literal narrow(from.shape);
  const int64_t count = from.shape.NumElements();
  lost.assign(count, 0);
  const double* value = Values(from.value);
  const double* bound = BoundsOrNull(from.bound);
  narrow.mutable_raw();
  for (int64_t i = 0; i < count; ++i) {
    narrow.SetDouble(i, value[i]);
    lost[i] = (bound != nullptr && bound[i] != 0) || !SameNumber(narrow.GetDouble(i), value[i]);
  }
  return narrow;
}

bool AnyLost(const Mask& lost) { return std::ranges::find(lost, 1) != lost.end(); }

// Marks the elements of a result as undetermined where `lost`.
void SpreadLoss(ShadowValue& to, const Mask& lost) {
  if (!to.shape.IsArray() || !AnyLost(lost)) return;
  if (!to.IsFloat()) {
    if (!to.HasOpen()) to.open = Literal(to.shape.WithType(PrimitiveType::kPred));
    auto open = to.open.mutable_data<uint8_t>();
    for (size_t i = 0; i < lost.size(); ++i) open[i] |= lost[i];
    return;
  }
  if (!to.HasBound()) to.bound = Zeros(to.shape);
  auto bound = to.bound.mutable_data<double>();
  for (size_t i = 0; i < lost.size(); ++i) {
    if (lost[i]) bound[i] = kUndetermined;
  }
}

// How many of the leading operands of a movement are data; the rest are indices.
int64_t DataOperands(const Instruction& inst) {
  switch (inst.opcode()) {
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kPad: return 2;
    case Opcode::kConcatenate: return inst.operand_count();
    default: return 1;
  }
}

// The movement `inst` on elements of another type.
class Movement {
 public:
  Movement(const Instruction& inst, PrimitiveType type) : module_("movement"), data_(DataOperands(inst)) {
    Computation& entry = module_.AddComputation("entry");
    std::vector<Instruction*> operands;
    for (int64_t i = 0; i < inst.operand_count(); ++i) {
      const Shape& shape = inst.operand(i).shape();
      operands.push_back(&entry.AddParameter(i, i < data_ ? shape.WithType(type) : shape));
    }
    Shape result = inst.shape().WithType(type);
    result.SetLayout(inst.shape().layout());
    for (int64_t i = 0; i < data_; ++i) {
      Shape shape = operands[i]->shape();
      shape.SetLayout(inst.operand(i).shape().layout());
      operands[i]->SetShape(shape);
    }
    clone_ = &entry.AddClone(inst, result, operands);
    entry.SetRoot(*clone_);
    module_.SetEntry(entry);
  }

  Result<Literal> operator()(std::vector<Literal> operands) const { return Evaluate(*clone_, operands); }

 private:
  Module module_;
  int64_t data_;
  Instruction* clone_;
};

// The operands' literals that `part` picks (zeros where absent), with the index operands as they are.
std::vector<Literal> Parts(const Instruction& inst, Operands operands, Literal ShadowValue::* part,
                           PrimitiveType type) {
  std::vector<Literal> parts;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const ShadowValue& operand = *operands[i];
    if (i >= DataOperands(inst)) {
      parts.push_back(operand.exact);
    } else if ((operand.*part).byte_size() != 0) {
      parts.push_back(operand.*part);
    } else if (part == &ShadowValue::likely && operand.HasBound()) {
      parts.push_back(operand.bound);
    } else {
      parts.push_back(Literal(operand.shape.WithType(type)));
    }
  }
  return parts;
}

}  // namespace

Literal NewBuffer(const Shape& shape) { return Literal::Uninitialized(shape.WithType(PrimitiveType::kF64)); }
Literal Zeros(const Shape& shape) { return Literal(shape.WithType(PrimitiveType::kF64)); }

int SignificandBits(PrimitiveType type) {
  if (type == PrimitiveType::kF64) return 53;
  if (type == PrimitiveType::kF32) return 24;
  return FormatOf(type).mantissa_bits + 1;
}

Rounding RoundingTo(PrimitiveType type, bool ftz) {
  if (type == PrimitiveType::kF64) return {0x1p-53, ftz ? 0x1p-1022 : 0x1p-1074, std::numeric_limits<double>::max()};
  if (type == PrimitiveType::kF32) return {0x1p-24, ftz ? 0x1p-126 : 0x1p-150, 0x1.ffffffp127};
  const FloatFormat format = FormatOf(type);
  const int p = format.mantissa_bits + 1;
  const double smallest_normal = std::ldexp(1.0, 1 - format.bias);
  const double half_step = std::ldexp(smallest_normal, -p);
  // The largest finite: all patterns below the specials.
  double largest = 0;
  for (uint32_t bits = 0; bits < (1u << (format.bits() - (format.specials == Specials::kExponent ? 0 : 1))); ++bits) {
    const double x = DecodeFloat(format, bits);
    if (std::isfinite(x)) largest = std::max(largest, x);
  }
  return {std::ldexp(1.0, -p), ftz ? smallest_normal : half_step, largest + Binade(largest) * std::ldexp(1.0, -p)};
}

Rounding RoundingTo(int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double relative = std::ldexp(1.0, -(mantissa_bits + 1));
  const double largest_binade = std::ldexp(1.0, bias);
  return {relative, std::ldexp(1.0, 1 - bias), largest_binade * (2 - relative)};
}

bool Context::IsOutput(const Instruction& inst) const {
  if (top == nullptr || &inst.computation() != top) return false;
  if (inst.IsRoot()) return true;
  return top->root().Is(Opcode::kTuple) &&
         std::ranges::find(top->root().operands(), &inst) != top->root().operands().end();
}

PrimitiveType Context::Held(const Instruction& inst) const {
  if (options.widened) return PrimitiveType::kF64;
  const InstructionPlan* plan = PlanOf(inst);
  if (plan != nullptr && plan->hold && !IsOutput(inst)) return *plan->hold;
  return inst.shape().type();
}

PrimitiveType Context::Computed(const Instruction& inst) const {
  if (options.widened) return PrimitiveType::kF64;
  const InstructionPlan* plan = PlanOf(inst);
  const PrimitiveType type = plan != nullptr && plan->hold ? *plan->hold : inst.shape().type();
  return BitWidth(type) < 32 ? PrimitiveType::kF32 : type;
}

Finish Context::FinishOf(const Instruction& inst, double ulps) const {
  const PrimitiveType compute = Computed(inst);
  const PrimitiveType held = Held(inst);
  Finish finish;
  finish.held = held;
  finish.compute = RoundingTo(compute, ftz());
  finish.compute.relative *= 2 * ulps;
  finish.compute.least *= 2 * ulps;
  finish.nearest = ulps == 0.5;
  if (held != compute) finish.target = RoundingTo(held, ftz());
  finish.overflow = RoundingTo(held, ftz()).overflow;
  finish.is_output = IsOutput(inst);
  const InstructionPlan* plan = PlanOf(inst);
  const bool fixed = options.widened || (plan != nullptr && plan->hold);
  const bool contracts =
      inst.Is(Opcode::kMultiply) && !options.widened && (options.plan == nullptr || options.plan->contract);
  finish.may_stay_wide = !finish.is_output && (contracts || (!fixed && BitWidth(held) < 32));
  return finish;
}

Pair AfterOverflow(const Finish& finish, double value, double bound) {
  const double size = std::fabs(value);
  if (!(size + bound >= finish.overflow)) return {value, bound};  // Undetermined stays it.
  if (finish.is_output) return {value, bound};
  if (finish.may_stay_wide || size - bound < finish.overflow) return {value, kUndetermined};
  return {std::copysign(std::numeric_limits<double>::infinity(), value), 0};
}

SumRule SumRuleOf(const Context& context, const Instruction& inst, int64_t terms, int product_bits) {
  const InstructionPlan* plan = context.PlanOf(inst);
  SumPlan sum = plan != nullptr && plan->sum ? *plan->sum : DefaultSum(inst.opcode(), inst.shape().type());
  if (context.options.widened) sum = {.accumulator = PrimitiveType::kF64};
  const auto gamma = [](double k, double u) {
    return k * u >= 0.5 ? std::numeric_limits<double>::max() : k * u / (1 - k * u);
  };
  const auto unit = [&](PrimitiveType type) {
    return std::ldexp(sum.rounding == SumRounding::kTruncate ? 2.0 : 1.0, -SignificandBits(type));
  };
  const double u = unit(sum.accumulator);
  const int64_t any_order = std::max<int64_t>(0, terms - 1);
  double chain = sum.longest_chain == 0 ? any_order : std::min<int64_t>(any_order, sum.longest_chain);

  SumRule rule;
  rule.finish = context.FinishOf(inst, 0.5);
  if (rule.finish.held == sum.accumulator) {
    rule.finish.target = kNoRounding;
  } else {
    rule.finish.target = RoundingTo(rule.finish.held, context.ftz());
  }
  // A product is rounded too, unless the accumulator holds it.
  const bool exact_products = product_bits == 0 || product_bits <= SignificandBits(sum.accumulator);
  if (!exact_products) {
    chain += 1;
    rule.each = terms * RoundingTo(sum.accumulator, context.ftz()).least;
  }
  rule.worst = gamma(chain, u);
  if (sum.promote_every != 0 && sum.promote_every < terms) {
    const int64_t promotions = terms / sum.promote_every + 1;
    rule.worst = gamma(sum.promote_every, u) + gamma(promotions, unit(sum.promoted)) * 1.01;
  }
  const double own = gamma(terms + 1, kOwn);
  // Truncation is not centred: its mean goes with h, not with its root.
  rule.likely = sum.rounding == SumRounding::kTruncate ? rule.worst : std::min(rule.worst, 6 * std::sqrt(chain) * u);
  rule.worst += own;
  rule.likely += own;
  rule.largest_integer = std::ldexp(1.0, SignificandBits(sum.accumulator));
  return rule;
}

bool AreIntegers(const ShadowValue& value) {
  return !value.HasBound() &&
         std::ranges::all_of(value.value.data<double>(), [](double x) { return std::nearbyint(x) == x; });
}

Combiner CombinerOf(const Computation& computation) {
  const Instruction& root = computation.root();
  if (computation.parameters().size() != 2) return Combiner::kOther;
  if (root.Is(Opcode::kParameter)) return root.parameter_number() == 1 ? Combiner::kAssign : Combiner::kOther;
  if (root.operand_count() != 2 || !root.operand(0).Is(Opcode::kParameter) || !root.operand(1).Is(Opcode::kParameter) ||
      &root.operand(0) == &root.operand(1)) {
    return Combiner::kOther;
  }
  switch (root.opcode()) {
    case Opcode::kAdd: return Combiner::kAdd;
    case Opcode::kMultiply: return Combiner::kMultiply;
    case Opcode::kMaximum: return Combiner::kMaximum;
    case Opcode::kMinimum: return Combiner::kMinimum;
    default: return Combiner::kOther;
  }
}

ShadowValue Undetermined(const Shape& shape) {
  ShadowValue value;
  value.shape = shape;
  if (shape.IsTuple()) {
    for (const Shape& element : shape.elements()) value.elements.push_back(Undetermined(element));
    return value;
  }
  if (!shape.IsArray()) {
    value.exact = Literal(shape);
    return value;
  }
  if (value.IsFloat()) {
    value.value = Zeros(shape);
    value.bound = NewBuffer(shape);
    std::ranges::fill(value.bound.mutable_data<double>(), kUndetermined);
    return value;
  }
  value.exact = Literal(shape);
  value.open = Literal(shape.WithType(PrimitiveType::kPred));
  std::ranges::fill(value.open.mutable_data<uint8_t>(), 1);
  return value;
}

Result<ShadowValue> ThroughInterpreter(Context& context, const Instruction& inst, Operands operands) {
  std::vector<Literal> literals;
  std::vector<Mask> lost(operands.size());
  bool any_lost = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    literals.push_back(Narrow(*operands[i], lost[i]));
    any_lost = any_lost || AnyLost(lost[i]);
  }
  const bool one_to_one =
      inst.Is(kElementwise) ||
      (inst.Is(Opcode::kBitcastConvert) && BitWidth(inst.shape().type()) == BitWidth(operands[0]->shape.type()));
  if (any_lost && !one_to_one) return Undetermined(inst.shape());
  const Literal value = TRY(Evaluate(inst, literals));
  if (!Compatible(value.shape(), inst.shape())) {
    FAIL(UnsupportedAt(
        inst, "U002",
        Str("no error bounds for '", inst.name(), "', a ", inst.shape(), " which is ", value.shape(), " at run time")));
  }
  ShadowValue result = ToShadow(value);
  result.shape = inst.shape();
  const int64_t count = inst.shape().IsArray() ? inst.shape().NumElements() : 0;
  for (const Mask& mask : lost) {
    if (static_cast<int64_t>(mask.size()) == count) {
      SpreadLoss(result, mask);
    } else if (AnyLost(mask)) {
      SpreadLoss(result, Mask(count, 1));
    }
  }
  return result;
}

bool IsMovement(const Instruction& inst) {
  switch (inst.opcode()) {
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kReverse:
    case Opcode::kSlice:
    case Opcode::kPad:
    case Opcode::kConcatenate:
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kGather: return true;
    case Opcode::kBitcast: return inst.shape().type() == inst.operand(0).shape().type();
    default: return false;
  }
}

namespace {

// The elements of the one operand that has choices keep theirs where they go.
Result<std::shared_ptr<const Choices>> MovedChoices(const Instruction& inst, Operands operands) {
  const auto data = operands.first(DataOperands(inst));
  const auto has_choices = [](const ShadowValue* operand) { return operand->choices != nullptr; };
  if (std::ranges::count_if(data, has_choices) != 1) return nullptr;
  const int64_t number = std::ranges::find_if(data, has_choices) - data.begin();
  Choices moved = *operands[number]->choices;
  const Literal source = TRY(SourceOf(inst, number, operands));
  std::vector<int64_t> of;
  for (const int64_t from : source.data<int64_t>()) of.push_back(from < 0 ? -1 : moved.DecisionOf(from));
  moved.of = std::move(of);
  return std::make_shared<const Choices>(std::move(moved));
}

}  // namespace

Result<ShadowValue> Move(Context& context, const Instruction& inst, Operands operands) {
  const int64_t data = DataOperands(inst);
  for (int64_t i = data; i < inst.operand_count(); ++i) {
    if (operands[i]->HasOpen() &&
        AnyLost(Mask(operands[i]->open.data<uint8_t>().begin(), operands[i]->open.data<uint8_t>().end()))) {
      return Undetermined(inst.shape());
    }
  }
  ShadowValue result;
  result.shape = inst.shape();
  result.choices = TRY(MovedChoices(inst, operands));
  const auto any = [&](auto&& has) {
    return std::ranges::any_of(operands.first(data), [&](const ShadowValue* operand) { return has(*operand); });
  };
  if (!result.IsFloat()) {
    result.exact = TRY(Evaluate(inst, Parts(inst, operands, &ShadowValue::exact, inst.shape().type())));
    if (any([](const ShadowValue& v) { return v.HasOpen(); })) {
      const Movement move(inst, PrimitiveType::kPred);
      result.open = TRY(move(Parts(inst, operands, &ShadowValue::open, PrimitiveType::kPred)));
    }
    return result;
  }
  const PrimitiveType wide = PrimitiveType::kF64;
  const Movement move(inst, wide);
  result.held = operands[0]->held;
  for (const ShadowValue* operand : operands.first(data)) {
    if (BitWidth(operand->held) > BitWidth(result.held)) result.held = operand->held;
  }
  result.value = TRY(move(Parts(inst, operands, &ShadowValue::value, wide)));
  if (!any([](const ShadowValue& v) { return v.HasBound(); })) return result;
  result.bound = TRY(move(Parts(inst, operands, &ShadowValue::bound, wide)));
  if (any([](const ShadowValue& v) { return v.HasLikely(); })) {
    result.likely = TRY(move(Parts(inst, operands, &ShadowValue::likely, wide)));
  }
  return result;
}

bool KeepsBitsOfNaN(const Context& context, const Instruction& inst) {
  std::vector<const Instruction*> pending{&inst};
  std::unordered_set<const Instruction*> seen;
  while (!pending.empty()) {
    const Instruction& next = *pending.back();
    pending.pop_back();
    if (!seen.insert(&next).second || (context.options.given && context.options.given(next))) continue;
    int64_t first = 0, end = next.operand_count();
    switch (next.opcode()) {
      case Opcode::kConstant:
      case Opcode::kBitcastConvert: continue;
      case Opcode::kParameter:
        if (&next.computation() != context.top) return false;  // Of a call: it is the caller's to say.
        continue;
      case Opcode::kSelect: first = 1; break;
      case Opcode::kTuple:
      case Opcode::kGetTupleElement:
      case Opcode::kOptimizationBarrier: break;
      case Opcode::kCopy:
        if (next.shape().type() != next.operand(0).shape().type()) return false;
        break;
      default:
        if (!IsMovement(next)) return false;
        end = DataOperands(next);
    }
    for (int64_t i = first; i < end; ++i) pending.push_back(&next.operand(i));
  }
  return true;
}

Result<Literal> SourceOf(const Instruction& inst, int64_t number, Operands operands) {
  std::vector<Literal> parts;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    if (i >= DataOperands(inst)) {
      if (operands.empty()) FAIL(UnsupportedAt(inst, "U040", Str("the source of '", inst.name(), "' depends on data")));
      parts.push_back(operands[i]->exact);
      continue;
    }
    Literal indices(inst.operand(i).shape().WithType(PrimitiveType::kS64));
    auto data = indices.mutable_data<int64_t>();
    for (size_t j = 0; j < data.size(); ++j) data[j] = i == number ? static_cast<int64_t>(j) : -1;
    parts.push_back(std::move(indices));
  }
  const Movement move(inst, PrimitiveType::kS64);
  return move(std::move(parts));
}

// ---- Running a computation
// -------------------------------------------------------------------------------------------

namespace {

// Each level is several frames of the stack, and large ones.
constexpr int kDeepest = 500;

// What the root needs, operands first; instructions with a given value are needed, their operands are not.
std::vector<const Instruction*> NeededOrder(const Context& context, const Instruction& root) {
  std::unordered_map<const Instruction*, bool> needed{{&root, true}};
  std::vector<Instruction*> order = root.computation().PostOrder();
  std::vector<const Instruction*> result;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (!needed.contains(*it)) continue;
    result.push_back(*it);
    if (*it != &root && context.options.given && context.options.given(**it)) continue;
    for (const Instruction* operand : (*it)->operands()) needed.emplace(operand, true);
  }
  std::ranges::reverse(result);
  return result;
}

Result<ShadowValue> RunWhile(Context& context, const Instruction& loop, const ShadowValue& init) {
  const WhileAttrs& attrs = loop.attrs<WhileAttrs>();
  ShadowValue state = init;
  for (int64_t iteration = 0;; ++iteration) {
    const ShadowValue* args[] = {&state};
    if (context.options.exact_loop_states) state = DropBounds(std::move(state));
    const ShadowValue go_on = TRY(Run(context, *attrs.condition, args));
    if (go_on.HasOpen() && go_on.open.GetInt(0) != 0) return Undetermined(loop.shape());
    if (go_on.exact.GetInt(0) == 0) return state;
    if (iteration >= context.options.max_loop_iterations) {
      FAIL(LimitError("L010", Str("'", loop.name(), "' exceeded ", iteration, " iterations (--max_loop_iterations)"),
                      loop.range()));
    }
    if (context.options.on_iteration) context.options.on_iteration(loop, iteration, state);
    state = TRY(Run(context, *attrs.body, args));
  }
}

Result<ShadowValue> RunConditional(Context& context, const Instruction& inst, Operands operands) {
  const std::vector<Computation*> branches = inst.attrs<ConditionalAttrs>().branches();
  const ShadowValue& selector = *operands[0];
  if (selector.HasOpen() && selector.open.GetInt(0) != 0) return Undetermined(inst.shape());
  const int64_t count = static_cast<int64_t>(branches.size());
  int64_t branch = selector.exact.GetInt(0);
  if (selector.shape.type() == PrimitiveType::kPred) branch = branch != 0 ? 0 : 1;
  if (branch < 0 || branch >= count) branch = count - 1;
  return Run(context, *branches[branch], operands.subspan(branch + 1, 1));
}

// The bits of a NaN as bits, from an instruction that need not keep them: undetermined.
Result<ShadowValue> BitsOf(Context& context, const Instruction& inst, Operands operands) {
  const ShadowValue& x = *operands[0];
  if (!x.IsFloat() || inst.shape().type() == x.shape.type() || KeepsBitsOfNaN(context, inst.operand(0))) {
    return ThroughInterpreter(context, inst, operands);
  }
  ShadowValue marked = x;
  const double* value = Values(x.value);
  for (int64_t i = 0; i < x.shape.NumElements(); ++i) {
    if (!std::isnan(value[i])) continue;
    if (!marked.HasBound()) marked.bound = Zeros(x.shape);
    marked.bound.mutable_data<double>()[i] = kUndetermined;
  }
  const ShadowValue* args[] = {&marked};
  return ThroughInterpreter(context, inst, args);
}

Result<ShadowValue> ByRule(Context& context, const Instruction& inst, Operands operands, const Mask& wanted) {
  switch (inst.opcode()) {
    case Opcode::kConstant: {
      ShadowValue value = ToShadow(inst.literal());
      value.shape = inst.shape();
      return value;
    }
    case Opcode::kTuple: {
      ShadowValue tuple;
      tuple.shape = inst.shape();
      for (const ShadowValue* operand : operands) tuple.elements.push_back(*operand);
      return tuple;
    }
    case Opcode::kGetTupleElement: return operands[0]->elements[inst.tuple_index()];
    case Opcode::kOptimizationBarrier:
    case Opcode::kDomain:
    case Opcode::kAddDependency: return *operands[0];
    case Opcode::kCopy: {
      if (inst.shape().type() != inst.operand(0).shape().type()) break;
      ShadowValue copy = *operands[0];
      copy.shape = inst.shape();
      return copy;
    }
    case Opcode::kCall: return Run(context, *inst.attrs<CallAttrs>().to_apply, operands);
    case Opcode::kFusion: return Run(context, *inst.attrs<FusionAttrs>().calls, operands);
    case Opcode::kMap: {
      const Lifted body(*inst.attrs<MapAttrs>().to_apply, inst.shape().dims());
      return body(context, operands);
    }
    case Opcode::kWhile: return RunWhile(context, inst, *operands[0]);
    case Opcode::kConditional: return RunConditional(context, inst, operands);
    case Opcode::kBatchNormTraining:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormGrad: return BatchNorm(context, inst, operands);
    case Opcode::kReduce: return Reduce(context, inst, operands);
    case Opcode::kReduceWindow: return ReduceWindow(context, inst, operands);
    case Opcode::kSelectAndScatter: return SelectAndScatter(context, inst, operands);
    case Opcode::kScatter: return Scatter(context, inst, operands);
    case Opcode::kDot: return Dot(context, inst, operands, wanted);
    case Opcode::kConvolution: return Convolution(context, inst, operands, wanted);
    default: break;
  }
  if (IsMovement(inst)) return Move(context, inst, operands);
  if (IsElementwiseRule(inst)) return Elementwise(context, inst, operands);

  // What is left and touches floats is exact by nature or has no rule.
  const auto is_exact_type = [](const Shape& shape) {
    bool exact = true;
    ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) {
      exact = exact && !IsFloat(leaf.type()) && !IsComplex(leaf.type());
    });
    return exact;
  };
  const bool integers =
      is_exact_type(inst.shape()) &&
      std::ranges::all_of(inst.operands(), [&](const Instruction* operand) { return is_exact_type(operand->shape()); });
  switch (inst.opcode()) {
    case Opcode::kSort:
    case Opcode::kTopK:
    case Opcode::kIota:
    case Opcode::kRng:
    case Opcode::kRngBitGenerator:
    case Opcode::kGetDimensionSize:
    case Opcode::kSetDimensionSize: return ThroughInterpreter(context, inst, operands);
    case Opcode::kBitcastConvert:
    case Opcode::kBitcast: return BitsOf(context, inst, operands);
    default: break;
  }
  if (integers) return ThroughInterpreter(context, inst, operands);
  FAIL(UnsupportedAt(inst, "U041", Str("no error bounds for '", inst.opcode(), "' on ", inst.shape())));
}

}  // namespace

Result<ShadowValue> RunInstruction(Context& context, const Instruction& inst, Operands operands, const Mask& wanted) {
  ShadowValue result = TRY(ByRule(context, inst, operands, wanted));
  const bool copies = inst.Is(Opcode::kCopy) && inst.shape().type() == operands[0]->shape.type();
  if (!inst.Is(kElementwise) || copies) return result;
  result.choices = operands.size() == 1 ? TRY(ChoicesOfUnary(context, inst, *operands[0])) : nullptr;
  return result;
}

namespace {

Result<ShadowValue> RunInOrder(Context& context, const Instruction& root, Operands args) {
  const std::vector<const Instruction*> order = NeededOrder(context, root);
  std::unordered_map<const Instruction*, ShadowValue> values;
  std::unordered_map<const Instruction*, int64_t> uses;
  for (const Instruction* inst : order) {
    for (const Instruction* operand : inst->operands()) ++uses[operand];
  }
  ++uses[&root];
  for (const Instruction* inst : order) {
    std::optional<ShadowValue> given;
    if (context.options.given && inst != &root) given = context.options.given(*inst);
    const bool cut = given.has_value();
    if (cut) {
      values[inst] = std::move(*given);
    } else if (inst->Is(Opcode::kParameter)) {
      values[inst] = *args[inst->parameter_number()];
    } else {
      std::vector<const ShadowValue*> operands;
      for (const Instruction* operand : inst->operands()) operands.push_back(&values[operand]);
      values[inst] = TRY(RunInstruction(context, *inst, operands, context.WantedOf(*inst)));
    }
    if (context.options.on_value && !cut) context.options.on_value(*inst, values[inst]);
    for (const Instruction* operand : inst->operands()) {
      if (--uses[operand] == 0) values.erase(operand);
    }
  }
  return std::move(values[&root]);
}

}  // namespace

Result<ShadowValue> Run(Context& context, const Computation& computation, Operands args) {
  if (context.options.given) {
    if (auto given = context.options.given(computation.root())) return std::move(*given);
  }
  return RunTo(context, computation.root(), args);
}

Result<ShadowValue> RunTo(Context& context, const Instruction& root, Operands args) {
  if (context.depth == kDeepest) {
    FAIL(UnsupportedAt(root, "U002", Str("the shadow does not follow calls that are nested deeper than ", kDeepest)));
  }
  ++context.depth;
  auto result = RunInOrder(context, root, args);
  --context.depth;
  return result;
}

Lifted::Lifted(const Computation& computation, const std::vector<int64_t>& dims)
    : module_(std::make_unique<Module>("lifted")) {
  Computation& entry = module_->AddComputation("entry");
  module_->SetEntry(entry);
  const auto lift = [&](const Shape& shape) {
    if (!shape.IsTuple()) return Shape(shape.type(), dims);
    std::vector<Shape> elements;
    for (const Shape& element : shape.elements()) elements.push_back(Shape(element.type(), dims));
    return Shape::Tuple(std::move(elements));
  };
  std::unordered_map<const Instruction*, Instruction*> map;
  for (const Instruction* inst : computation.PostOrder()) {
    if (inst->Is(Opcode::kParameter)) {
      map[inst] = &entry.AddParameter(inst->parameter_number(), lift(inst->shape()));
      continue;
    }
    if (inst->Is(Opcode::kConstant)) {
      Instruction& constant = entry.AddConstant(inst->literal());
      map[inst] = &entry.Add(Opcode::kBroadcast, lift(inst->shape()), {&constant}, DimensionsAttrs{});
      lifted_from_[map[inst]] = inst;
      continue;
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst->operands()) operands.push_back(map[operand]);
    map[inst] = &entry.AddClone(*inst, lift(inst->shape()), operands);
    lifted_from_[map[inst]] = inst;
  }
  entry.SetRoot(*map[&computation.root()]);
}

Result<ShadowValue> Lifted::operator()(Context& context, Operands args) const {
  // What is given for an instruction of the body is so at every index.
  const auto given = [&](const Instruction& inst) -> std::optional<ShadowValue> {
    const auto from = lifted_from_.find(&inst);
    if (from == lifted_from_.end() || !inst.shape().IsArray()) return std::nullopt;
    const auto scalar = context.options.given(*from->second);
    return scalar ? std::optional(Splat(*scalar, inst.shape())) : std::nullopt;
  };
  ShadowOptions options = context.options;
  if (options.given) options.given = given;
  // The plan knows instructions by number, and these have others; without its promises more is permitted.
  if (!context.ftz()) options.plan = nullptr;
  Context lifted = {.options = options,
                    .top = context.top,
                    .wanted = context.wanted,
                    .heuristic = context.heuristic,
                    .depth = context.depth};
  auto value = Run(lifted, module_->entry(), args);
  context.heuristic = lifted.heuristic;
  return value;
}

// ---- Sampling
// --------------------------------------------------------------------------------------------------------

namespace {

// Deterministic and independent of everything but the seed (SplitMix64).
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// At least `wanted` of `count` elements: both ends, the ends of rows spread over the whole, and one from each of as
// many strata.
std::vector<int64_t> Sample(const Shape& shape, int64_t wanted, uint64_t seed) {
  const int64_t count = shape.NumElements();
  std::vector<int64_t> sample;
  for (int64_t i = 0; i < std::min<int64_t>(count, 64); ++i) {
    sample.push_back(i);
    sample.push_back(count - 1 - i);
  }
  const int64_t row = shape.rank() == 0 ? 1 : std::max<int64_t>(1, shape.dims().back());
  const int64_t rows = count / row;
  for (int64_t i = 0; i < std::min<int64_t>(rows, 512); ++i) {
    const int64_t r = rows * i / std::min<int64_t>(rows, 512);
    sample.push_back(r * row);
    sample.push_back(r * row + row - 1);
  }
  for (int64_t i = 0; i < wanted; ++i) {
    const auto edge = [&](int64_t k) { return static_cast<int64_t>(static_cast<__int128>(count) * k / wanted); };
    const int64_t width = edge(i + 1) - edge(i);
    if (width > 0) sample.push_back(edge(i) + static_cast<int64_t>(Mix(seed + i) % width));
  }
  std::ranges::sort(sample);
  sample.erase(std::unique(sample.begin(), sample.end()), sample.end());
  return sample;
}

struct SamplePlan {
  std::unordered_map<const Instruction*, Mask> wanted;  // Of the instructions above the limit.
  std::vector<std::vector<int64_t>> outputs;
};

// Chooses outputs and walks their backward slices through what is elementwise or moves data, down to the instructions
// that are too much work. An instruction that is needed in full for another reason is computed in full.
Result<SamplePlan> PlanSample(const Computation& computation, const ShadowOptions& options) {
  SamplePlan plan;
  int64_t heaviest = 0;
  for (const Instruction* inst : computation.Instructions()) {
    const int64_t work = WorkOf(*inst);
    if (work > options.work_limit)
      heaviest = std::max(heaviest, work / std::max<int64_t>(1, inst->shape().NumElements()));
  }
  if (heaviest == 0) return plan;
  const int64_t wanted = std::max<int64_t>(4096, options.work_limit / heaviest);

  std::unordered_map<const Instruction*, Mask> masks;  // Present and empty: all.
  const auto want = [&](const Instruction& inst, int64_t index) {
    if (!inst.shape().IsArray()) {
      masks[&inst].clear();
      return;
    }
    const auto [it, fresh] = masks.try_emplace(&inst, inst.shape().NumElements(), 0);
    if (!it->second.empty()) it->second[index] = 1;
  };
  const auto want_all = [&](const Instruction& inst) { masks[&inst] = Mask(); };

  const Instruction& root = computation.root();
  std::vector<const Instruction*> outputs{&root};
  if (root.Is(Opcode::kTuple)) outputs.assign(root.operands().begin(), root.operands().end());
  for (const Instruction* output : outputs) {
    if (!output->shape().IsArray()) return SamplePlan{};
    plan.outputs.push_back(Sample(output->shape(), wanted, options.seed));
    for (const int64_t index : plan.outputs.back()) want(*output, index);
  }
  std::vector<Instruction*> order = computation.PostOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Instruction& inst = **it;
    const auto found = masks.find(&inst);
    if (found == masks.end() || inst.Is(Opcode::kTuple)) continue;
    const Mask mask = masks[&inst];
    if (WorkOf(inst) > options.work_limit) plan.wanted[&inst] = mask;
    const bool same_index = inst.Is(kElementwise) || inst.Is(Opcode::kReshape);
    for (int64_t i = 0; i < inst.operand_count(); ++i) {
      const Instruction& operand = inst.operand(i);
      if (mask.empty() || !operand.shape().IsArray() ||
          !(same_index || (IsMovement(inst) && DataOperands(inst) == inst.operand_count()))) {
        want_all(operand);
        continue;
      }
      if (same_index) {
        const bool scalar = operand.shape().NumElements() != inst.shape().NumElements();
        for (size_t j = 0; j < mask.size(); ++j) {
          if (mask[j]) want(operand, scalar ? 0 : j);
        }
        continue;
      }
      const Literal source = TRY(SourceOf(inst, i, {}));
      for (size_t j = 0; j < mask.size(); ++j) {
        if (mask[j] && source.data<int64_t>()[j] >= 0) want(operand, source.data<int64_t>()[j]);
      }
    }
  }
  return plan;
}

}  // namespace

const Mask& Context::WantedOf(const Instruction& inst) const {
  static const Mask kAll;
  if (wanted == nullptr) return kAll;
  const auto it = wanted->find(&inst);
  return it == wanted->end() ? kAll : it->second;
}

// The results of a kernel are rounded to their declared types, also where what they come from was held wider.
void RoundToDeclared(ShadowValue& value, bool ftz) {
  for (ShadowValue& element : value.elements) RoundToDeclared(element, ftz);
  if (value.choices) {
    Choices rounded = *value.choices;
    RoundToDeclared(rounded.candidates, ftz);
    value.choices = std::make_shared<const Choices>(std::move(rounded));
  }
  if (!value.shape.IsArray() || !value.IsFloat() || BitWidth(value.held) <= BitWidth(value.shape.type())) return;
  const Rounding rounding = RoundingTo(value.shape.type(), ftz);
  if (!value.HasBound()) return;  // Exact values of the declared type: arguments and constants.
  for (Literal* literal : {&value.bound, &value.likely}) {
    if (literal->byte_size() == 0) continue;
    auto bound = literal->mutable_data<double>();
    const double* v = Values(value.value);
    for (size_t i = 0; i < bound.size(); ++i)
      bound[i] = (bound[i] + HalfStep(rounding, (std::fabs(v[i]) + bound[i]) * kUp)) * kUp;
  }
  value.held = value.shape.type();
}

}  // namespace shadow

ShadowValue ToShadow(const Literal& literal) {
  ShadowValue value;
  value.shape = literal.shape();
  if (literal.shape().IsTuple()) {
    for (const Literal& element : literal.elements()) value.elements.push_back(ToShadow(element));
    return value;
  }
  if (!value.IsFloat()) {
    value.exact = literal;
    return value;
  }
  value.held = literal.shape().type();
  value.value = shadow::Widen(literal);
  return value;
}

Result<Shadow> EvaluateShadow(const Computation& computation, std::span<const ShadowValue> args,
                              const ShadowOptions& options) {
  shadow::SamplePlan sample = TRY(shadow::PlanSample(computation, options));
  shadow::Context context{.options = options, .top = &computation, .wanted = &sample.wanted};
  std::vector<const ShadowValue*> pointers;
  for (const ShadowValue& arg : args) pointers.push_back(&arg);
  Shadow result;
  result.value = TRY(shadow::Run(context, computation, pointers));
  if (!options.widened) shadow::RoundToDeclared(result.value, context.ftz());
  result.sampled = std::move(sample.outputs);
  result.heuristic = context.heuristic;
  return result;
}

Literal Splat(const Literal& element, const Shape& shape) {
  Literal splat = Literal::Uninitialized(shape.WithType(element.shape().type()));
  const auto size = static_cast<size_t>(element.byte_size());
  std::byte* to = splat.mutable_raw();
  for (int64_t i = 0; i < shape.NumElements(); ++i) std::memcpy(to + i * size, element.raw(), size);
  return splat;
}

ShadowValue Splat(const ShadowValue& element, const Shape& shape) {
  ShadowValue splat;
  splat.shape = shape;
  splat.held = element.held;
  for (Literal ShadowValue::* part :
       {&ShadowValue::value, &ShadowValue::bound, &ShadowValue::likely, &ShadowValue::exact, &ShadowValue::open}) {
    if ((element.*part).byte_size() != 0) splat.*part = Splat(element.*part, shape);
  }
  return splat;
}

ShadowValue DropBounds(ShadowValue value) {
  for (ShadowValue& element : value.elements) element = DropBounds(std::move(element));
  value.bound = value.likely = Literal();
  value.choices = nullptr;
  return value;
}

Result<ShadowValue> EvaluateShadowOf(const Instruction& inst, std::span<const ShadowValue> args,
                                     const ShadowOptions& options) {
  shadow::Context context{.options = options, .top = &inst.computation()};
  std::vector<const ShadowValue*> pointers;
  for (const ShadowValue& arg : args) pointers.push_back(&arg);
  return shadow::RunTo(context, inst, pointers);
}

Result<Shadow> EvaluateShadow(const Computation& computation, std::span<const Literal> args,
                              const ShadowOptions& options) {
  std::vector<ShadowValue> values;
  for (const Literal& arg : args) values.push_back(ToShadow(arg));
  return EvaluateShadow(computation, std::span<const ShadowValue>(values), options);
}

}  // namespace hlo
