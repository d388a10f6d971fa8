#include "judge/bounds/totals.h"

#include <algorithm>
#include <unordered_map>

#include "judge/bounds/plain_body.h"

namespace hlo::shadow {
namespace {

// An infinite or NaN term determines the sum, unless finite terms may first overflow to the opposite infinity. A finite
// sum that may overflow is undetermined.
Bounds FinishSum(const SumRule& rule, double overflow, const Total& t) {
  if (!std::isfinite(t.bounds)) return {0, kUndetermined, kUndetermined};
  if (!std::isfinite(t.value)) {
    const bool decided = t.magnitudes < (std::isnan(t.value) ? kInfinity : overflow);
    return {t.value, decided ? 0 : kUndetermined, decided ? 0 : kUndetermined};
  }
  const double worst = rule.Worst(t.value, t.bounds, t.magnitudes);
  const double likely = std::min(worst, rule.Likely(t.value, t.likely, t.magnitudes));
  const Pair pair = AfterOverflow(rule.finish, t.value, worst);
  if (OverflowIsOpen(t.value, worst, t.magnitudes, overflow)) return {t.value, kUndetermined, kUndetermined};
  if (rule.RoundsOnGrid(t.value, worst))
    return RoundedOnGrid(rule.finish, t.value, rule.WorstBefore(t.bounds, t.magnitudes),
                         rule.LikelyBefore(t.likely, t.magnitudes));
  return {pair.value, pair.bound, std::isfinite(pair.bound) ? std::min(likely, pair.bound) : kUndetermined};
}

// Each of n - 1 products is rounded: |t| <= prod(|v| + e) (1 + u)^(n-1), and t has the sign of v unless a factor may be
// zero. A product that underflows is off by at most half a step, which the factors of at least 1 magnify. If these
// factors overflow by themselves, so may an intermediate product.
//
// An infinite factor determines the result unless the factors below 1 may first underflow to 0. Above `normal` they
// cannot, since roundings are relative there. If the factors of at least 1 overflow by themselves, the others may be
// zeros by then. If the finite factors overflow f64, the source of an infinity is unknown. Without a factor below 1,
// every order gives infinity.
Bounds FinishProduct(const SumRule& rule, const Rounding& accumulator, int64_t terms, const Total& t) {
  constexpr Bounds kOpen{0, kUndetermined, kUndetermined};
  if (std::isnan(t.bounds)) return {kUndetermined, 0, 0};  // A factor is NaN.
  if (std::isnan(t.likely)) return kOpen;
  const double normal = accumulator.least / accumulator.relative;
  const bool vanishes = t.likely * (1 - rule.worst) < normal;
  if (!std::isfinite(t.value)) {
    const bool decided = std::isfinite(t.bounds) ? !vanishes : !std::isnan(t.value) && t.likely == 1;
    return decided ? Bounds{t.value, 0, 0} : kOpen;
  }
  if (t.bounds >= accumulator.overflow && (vanishes || std::fabs(t.value) < accumulator.overflow)) return kOpen;
  const double underflow = static_cast<double>(terms) * accumulator.least;
  const double before = t.magnitudes * (1 + rule.worst) - std::fabs(t.value) + underflow * t.bounds;
  const double size = (std::fabs(t.value) + before) * kUp;
  const double worst = (before + HalfUlp(rule.finish.target, size)) * kUp;
  if (rule.RoundsOnGrid(t.value, worst)) return RoundedOnGrid(rule.finish, t.value, before * kUp, before * kUp);
  const Pair pair = AfterOverflow(rule.finish, t.value, worst);
  return {pair.value, pair.bound, pair.bound};
}

// The maximum is between the largest lower end and the largest upper end.
Bounds FinishExtreme(bool minimum, const Total& t) {
  const double value = minimum ? -t.value : t.value;
  if (std::isnan(t.value)) return {value, 0, 0};
  if (std::isnan(t.bounds)) return {0, kUndetermined, kUndetermined};  // An element may be NaN.
  if (!std::isfinite(t.bounds) && !std::isinf(t.value)) return {value, kUndetermined, kUndetermined};
  double bound = std::isinf(t.value) ? 0 : std::max(t.bounds - t.value, t.value - t.magnitudes) * kUp;
  if (t.value == 0) bound = std::max(bound, kTiny);  // The result may be 0 or -0.
  return {value, bound, bound};
}

}  // namespace

Combiner CombinerOf(const Computation& computation) {
  if (const auto plain = PlainBody::Of(computation)) return CombinerOf(plain->computation());
  const Instruction& root = computation.root();
  if (computation.parameters().size() != 2) return Combiner::kOther;
  if (root.Is(Opcode::kParameter)) return root.parameter_number() == 1 ? Combiner::kAssign : Combiner::kOther;
  if (root.operand_count() != 2 || !root.operand(0).Is(Opcode::kParameter) || !root.operand(1).Is(Opcode::kParameter) ||
      &root.operand(0) == &root.operand(1)) {
    return Combiner::kOther;
  }
  constexpr std::pair<Opcode, Combiner> kCombiners[] = {{Opcode::kAdd, Combiner::kAdd},
                                                        {Opcode::kMaximum, Combiner::kMaximum},
                                                        {Opcode::kMinimum, Combiner::kMinimum},
                                                        {Opcode::kMultiply, Combiner::kMultiply}};
  const auto row = std::ranges::find(kCombiners, root.opcode(), &std::pair<Opcode, Combiner>::first);
  return row != std::end(kCombiners) ? row->second : Combiner::kOther;
}

bool HasRule(Combiner combiner) {
  return combiner == Combiner::kAdd || combiner == Combiner::kMultiply || combiner == Combiner::kMaximum ||
         combiner == Combiner::kMinimum;
}

Closing::Closing(const Context& context, const Instruction& inst, Combiner combiner, int64_t terms, bool integers)
    : combiner_(combiner), rule_(SumRuleOf(context, inst, terms)), terms_(terms) {
  rule_.integers = integers;
  const InstructionPlan* plan = context.PlanOf(inst);
  const PrimitiveType accumulator = context.options.widened  ? PrimitiveType::kF64
                                    : plan && plan->sum      ? plan->sum->accumulator
                                    : inst.shape().IsArray() ? inst.shape().type()
                                                             : PrimitiveType::kF32;
  accumulator_ = RoundingTo(accumulator, context.ftz());
}

Bounds Closing::operator()(const Total& total) const {
  switch (combiner_) {
    case Combiner::kAdd: return FinishSum(rule_, accumulator_.overflow, total);
    case Combiner::kMultiply: return FinishProduct(rule_, accumulator_, terms_, total);
    case Combiner::kMaximum: return FinishExtreme(false, total);
    default: return FinishExtreme(true, total);
  }
}

Totals::Totals(const ShadowValue& start)
    : from_(start), totals_(start.shape.NumElements(), Add::kNothing), terms_(totals_.size()) {}

void Totals::Add(int64_t at, double value, double bound, double likely) {
  hlo::shadow::Add::Take(totals_[at], value, bound, likely);
  ++terms_[at];
}

void Totals::Loosen(int64_t at, double bound) {
  totals_[at].bounds += bound;
  totals_[at].likely += bound;
  totals_[at].magnitudes += bound;
  ++terms_[at];
}

ShadowValue Totals::Close(const Context& context, const Instruction& inst) {
  Sink sink(inst.shape(), context.Held(inst), true);
  std::unordered_map<int64_t, Closing> closings;
  for (size_t i = 0; i < totals_.size(); ++i) {
    const Bounds start{from_.value[i], from_.Bound(i), from_.Likely(i)};
    if (terms_[i] == 0) {
      sink.Put(i, start);
      continue;
    }
    hlo::shadow::Add::Take(totals_[i], start.value, start.bound, start.likely);
    const auto close = closings.try_emplace(terms_[i], context, inst, Combiner::kAdd, terms_[i] + 1).first;
    sink.Put(i, close->second(totals_[i]));
  }
  return sink.Take();
}

}  // namespace hlo::shadow
