#include "interp/compare/both_sides.h"

#include <cstdint>
#include <limits>

#include "interp/compare/joined.h"
#include "interp/compare/limits.h"
#include "interp/contraction.h"
#include "interp/interpreter.h"
#include "interp/shadow/rules.h"

namespace hlo {
namespace {

// The number behind a splat, else the whole literal.
uint64_t ConstantKey(const Literal& literal) {
  if (literal.IsSplat()) return Literal::Scalar(literal.shape().type(), literal.GetDouble(0)).Hash();
  return literal.Hash();
}

std::unordered_set<uint64_t> ConstantKeys(const Module& module) {
  std::unordered_set<uint64_t> keys;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (inst->Is(Opcode::kConstant) && inst->shape().IsArray()) keys.insert(ConstantKey(inst->literal()));
    }
  }
  return keys;
}

// Cuts, and `in_f64`, what loops ended with.
shadow::Given WithLoops(const PairOfComputations& pair, shadow::Given cuts, bool in_f64) {
  if (!in_f64) return cuts;
  return [&pair, cuts = std::move(cuts)](const Instruction& inst) -> std::optional<shadow::ConeArgument> {
    if (auto cut = cuts(inst)) return cut;
    const auto ran = pair.ran.find(&inst);
    return ran == pair.ran.end() ? std::nullopt : std::optional(shadow::ConeArgument{.value = ran->second});
  };
}

// There is one to be watched, too.
std::unique_ptr<WorkMeter> MeterOf(const WidenedOptions& options) {
  if (options.work_limit == 0 && !options.on_trip) return nullptr;
  const int64_t limit = options.work_limit == 0 ? std::numeric_limits<int64_t>::max() : options.work_limit;
  return std::make_unique<WorkMeter>(limit, std::max(limit, WorkMeter::kLeast), options.on_trip);
}

Literal InDeclaredType(const ShadowValue& value) {
  if (value.shape.IsTuple()) {
    std::vector<Literal> elements;
    for (const ShadowValue& element : value.elements) elements.push_back(InDeclaredType(element));
    return Literal::Tuple(std::move(elements));
  }
  return value.IsFloat() ? Converted(value.value, value.shape.type()) : value.exact;
}

}  // namespace

std::vector<const Instruction*> Upstream(const Instruction& start, const IsCut& is_cut) {
  std::vector<const Instruction*> upstream{&start};
  std::unordered_set<const Instruction*> seen{&start};
  for (size_t i = 0; i < upstream.size(); ++i) {
    for (const Instruction* operand : upstream[i]->operands()) {
      if (seen.insert(operand).second && !is_cut(*operand)) upstream.push_back(operand);
    }
  }
  return upstream;
}

std::vector<const Instruction*> UpstreamAndInside(const Instruction& start, const IsCut& is_cut) {
  std::vector<const Instruction*> all = Upstream(start, is_cut);
  std::unordered_set<const Computation*> seen;
  for (size_t i = 0; i < all.size(); ++i) {
    for (const Computation* callee : CalledComputations(*all[i])) {
      if (!seen.insert(callee).second) continue;
      for (const Instruction* inside : callee->Instructions()) all.push_back(inside);
    }
  }
  return all;
}

std::vector<ShadowValue> Needed(std::vector<shadow::ConeArgument>& args, const Instruction& inst,
                                const shadow::Given& cuts) {
  constexpr int64_t kSmallBytes = 1 << 20;
  std::vector<ShadowValue> values(args.size());
  const auto is_cut = [&](const Instruction& next) { return cuts(next).has_value(); };
  for (const Instruction* next : Upstream(inst, is_cut)) {
    if (!next->Is(Opcode::kParameter)) continue;
    shadow::ConeArgument& argument = args[next->parameter_number()];
    const bool is_small = next->shape().IsArray() && next->shape().ByteSize() <= kSmallBytes;
    if (argument.literal != nullptr && is_small) argument = {.value = argument.All()};
    values[next->parameter_number()] = argument.All();
  }
  return values;
}

BothSides::BothSides(const Module& input, const Module& optimized, const WidenedOptions& options)
    : options_(options),
      meter_(MeterOf(options)),
      pairs_(input, optimized, LimitOfComparing(optimized, options.work_limit, options.loop_iterations)),
      constants_(ConstantKeys(input)) {
  const auto always = [](const Literal&) { return true; };
  const auto written = [this](const Literal& literal) { return constants_.contains(ConstantKey(literal)); };
  known_before_.emplace(input, always);
  known_before_->ForEachExact([this](const Literal& literal) { constants_.insert(ConstantKey(literal)); });
  known_before_->TakeFolded([&, made = ConstantKeys(optimized)](const Literal& literal) {
    return made.contains(ConstantKey(literal)) && !written(literal);
  });
  const auto open = [this](const Instruction& inst) {
    const Instruction* origin = pairs_.OriginOf(inst);
    return origin != nullptr && inst.shape().IsArray() && !known_before_->Value(*origin) &&
           !known_before_->IsFollowed(*origin);
  };
  known_alike_.emplace(optimized, written, open);
  if (known_alike_->LeftOpen()) known_after_.emplace(optimized, written);
}

BothSides::ComputedInside::ComputedInside(BothSides& sides, const PairOfComputations& pair,
                                          const Instruction& compared_with, const Instruction& inst)
    : computed_(sides.computed_inside_) {
  const Instruction& kernel = IsOneOfSeveral(inst) ? inst.operand(0) : inst;
  if (!kernel.Is(Opcode::kFusion) || pair.given_for_good.empty()) return;
  const auto origin_of = [&](const Instruction& one) { return sides.pairs_.OriginOf(one); };
  for (const Instruction* inside : kernel.attrs<FusionAttrs>().calls->Instructions()) {
    const Instruction* const origin = origin_of(*inside);
    if (origin != nullptr && origin != &compared_with && !pair.given_after.contains(inside)) computed_.insert(origin);
  }
  for (const Instruction* operand : kernel.operands()) computed_.erase(origin_of(*operand));
  for (const Instruction* inside : kernel.attrs<FusionAttrs>().calls->Instructions()) {
    if (pair.given_after.contains(inside)) computed_.erase(origin_of(*inside));
  }
}

shadow::Given BothSides::Cuts(const std::unordered_map<const Instruction*, KeptValue>& given,
                              const KnownValues* known) const {
  return [this, &given, known](const Instruction& inst) -> std::optional<shadow::ConeArgument> {
    const auto kept = given.find(pairs_.Twin(inst));
    const bool is_rounded = kept != given.end() && kept->second.left != nullptr;
    if (kept != given.end() && !(is_rounded && computed_inside_.contains(&inst))) return kept->second.Argument();
    if (known == nullptr) return std::nullopt;
    auto value = known == &*known_alike_ ? KnownAfter(inst) : known->Rounded(inst);
    if (!value) return std::nullopt;
    return shadow::ConeArgument{.value = std::move(*value)};
  };
}

ShadowOptions BothSides::Options(const shadow::Given& cuts) const {
  ShadowOptions options;
  options.widened = true;
  options.max_loop_iterations = options_.max_loop_iterations;
  options.meter = meter_.get();
  options.given = [cuts](const Instruction& inst) -> std::optional<ShadowValue> {
    const auto cut = cuts(inst);
    if (!cut) return std::nullopt;
    ShadowValue value = cut->All();
    value.shape = inst.shape();
    return value;
  };
  return options;
}

std::optional<ShadowValue> BothSides::KnownAfter(const Instruction& inst) const {
  const Instruction* origin = pairs_.OriginOf(inst);
  if (origin != nullptr && !inst.Is(Opcode::kConstant) && !known_before_->Rounded(*origin)) return {};
  return known_alike_->Rounded(inst);
}

Result<std::vector<shadow::ConeArgument>*> BothSides::ArgsOf(PairOfComputations& pair,
                                                             const Computation* computation) const {
  if (computation == pair.before) return &pair.args;
  const auto known = pair.callee_args.find(computation);
  if (known != pair.callee_args.end()) return &known->second.args;
  PairOfComputations::CalleeArgs args;
  for (const Instruction* operand : pairs_.CallerOf(*computation).operands()) {
    const auto given = pair.given_before.find(pairs_.Twin(*operand));
    const KeptValue kept =
        given != pair.given_before.end() ? given->second : KeptValue{TRY(ValueBefore(pair, *operand)), {}};
    args.args.push_back(kept.Argument());
    args.left.push_back(kept.left);
  }
  return &(pair.callee_args[computation] = std::move(args)).args;
}

// Loops in `inst`'s computation that it is computed from, run once; nothing behind what is cut or too large to stay.
Result<void> BothSides::RunLoops(PairOfComputations& pair, const Instruction& inst,
                                 std::vector<shadow::ConeArgument>& args, const ShadowOptions& options,
                                 const shadow::Given& cuts) const {
  constexpr int64_t kMostBytes = 1 << 30;
  const auto is_cut = [&](const Instruction& next) { return cuts(next).has_value(); };
  const std::vector<const Instruction*> upstream = Upstream(inst, is_cut);
  for (size_t i = upstream.size(); i-- > 1;) {
    const Instruction& loop = *upstream[i];
    const int64_t bytes = 2 * loop.shape().ByteSize();
    if (!loop.Is(Opcode::kWhile) || is_cut(loop) || pair.ran_bytes + bytes > kMostBytes) continue;
    pair.ran[&loop] = TRY(EvaluateShadowOf(loop, Needed(args, loop, cuts), options));
    pair.ran_bytes += bytes;
  }
  return {};
}

Result<ShadowValue> BothSides::ValueBefore(PairOfComputations& pair, const Instruction& inst, bool as_declared) const {
  if (!pair.is_made_up) {
    if (auto rounded = known_before_->Rounded(inst)) return std::move(*rounded);
  }
  const shadow::Given cuts = WithLoops(pair, CutsBefore(pair), !as_declared);
  ShadowOptions options = Options(cuts);
  options.widened = !as_declared;
  std::vector<shadow::ConeArgument>& args = *TRY(ArgsOf(pair, &inst.computation()));
  if (!as_declared) TRY(RunLoops(pair, inst, args, options, cuts));
  return EvaluateShadowOf(inst, Needed(args, inst, cuts), options);
}

Result<ShadowValue> BothSides::ValueAfter(PairOfComputations& pair, const Instruction& inst, bool as_declared) const {
  const shadow::Given cuts = WithLoops(pair, CutsAfter(pair), !as_declared);
  ShadowOptions options = Options(cuts);
  options.widened = !as_declared;
  if (!as_declared) TRY(RunLoops(pair, inst, pair.args_after(), options, cuts));
  if (!IsOneOfSeveral(inst)) return EvaluateShadowOf(inst, Needed(pair.args_after(), inst, cuts), options);
  // Of a kernel with several results just what this one needs.
  const shadow::Cone cone = shadow::ConeOf(inst, pair.args_after(), nullptr, cuts);
  std::vector<ShadowValue> args(cone.args.size());
  for (const Instruction* parameter : cone.module->entry().parameters()) {
    const int64_t i = parameter->parameter_number();
    if (parameter->IsRoot() || !parameter->users().empty()) args[i] = cone.args[i].All();
  }
  return TRY(EvaluateShadow(cone.module->entry(), std::span<const ShadowValue>(args), options)).value;
}

std::optional<Literal> BothSides::InterpretedBefore(PairOfComputations& pair, const Instruction& inst) const {
  constexpr int64_t kMostSteps = 10'000'000;
  const auto args = ArgsOf(pair, &inst.computation());
  if (!args) return std::nullopt;
  const shadow::Cone cone = shadow::ConeOf(inst, **args, nullptr, nullptr);
  if (cone.steps > kMostSteps) return std::nullopt;
  std::vector<Literal> values;
  for (const shadow::ConeArgument& argument : cone.args) {
    if (argument.literal == nullptr && HasParts(argument.value)) return std::nullopt;
    values.push_back(argument.literal != nullptr ? *argument.literal : InDeclaredType(argument.value));
  }
  const InterpretOptions limits{.max_loop_iterations = options_.max_loop_iterations, .max_steps = kMostSteps / 10};
  auto value = Interpret(*cone.module, values, limits);
  return value ? std::optional(std::move(*value)) : std::nullopt;
}

std::optional<Literal> BothSides::EvaluatedAfter(PairOfComputations& pair, const Instruction& inst,
                                                 const Instruction* operation) const {
  std::vector<Literal> operands;
  for (const Instruction* operand : inst.operands()) {
    const auto kept = pair.given_after.find(operand);
    std::optional<shadow::ConeArgument> given;
    if (kept != pair.given_after.end()) given = kept->second.Argument();
    else if (operand->Is(Opcode::kParameter)) given = pair.args_after()[operand->parameter_number()];
    else if (operand->Is(Opcode::kConstant)) given = {.literal = &operand->literal()};
    if (!given || (given->literal == nullptr && HasParts(given->value))) return std::nullopt;
    operands.push_back(given->literal != nullptr ? *given->literal : InDeclaredType(given->value));
  }
  auto value = Evaluate(operation != nullptr ? *operation : inst, operands);
  return value ? std::optional(std::move(*value)) : std::nullopt;
}

}  // namespace hlo
