#include "judge/compare/both_sides.h"

#include <cstdint>
#include <limits>

#include "interp/contraction.h"
#include "interp/interpreter.h"
#include "judge/bounds/rules.h"
#include "judge/compare/joined.h"

namespace hlo {
namespace {

shadow::Given WithLoops(const PairOfComputations& pair, shadow::Given cuts) {
  return [&pair, cuts = std::move(cuts)](const Instruction& inst) -> std::optional<shadow::ConeArgument> {
    if (auto cut = cuts(inst)) return cut;
    const auto ran = pair.ran.find(&inst);
    return ran == pair.ran.end() ? std::nullopt : std::optional(shadow::ConeArgument{.value = ran->second});
  };
}

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

BothSides::BothSides(const Module& input, const WidenedOptions& options)
    : options_(options), meter_(MeterOf(options)), pairs_(input), made_(input) {}

shadow::Given BothSides::CutsBefore(const PairOfComputations& pair) const {
  return [&pair](const Instruction& inst) -> std::optional<shadow::ConeArgument> {
    const auto kept = pair.given_before.find(&inst);
    if (kept == pair.given_before.end()) return std::nullopt;
    return shadow::ConeArgument{.value = kept->second};
  };
}

shadow::Given BothSides::CutsAfter(const PairOfComputations& pair) const {
  return [this, &pair](const Instruction& inst) -> std::optional<shadow::ConeArgument> {
    const auto kept = pair.given_after.find(&inst);
    if (kept != pair.given_after.end()) return shadow::ConeArgument{.value = kept->second};
    auto made = made_.Of(inst);
    if (!made) return std::nullopt;
    return shadow::ConeArgument{.value = std::move(*made)};
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

Result<std::vector<shadow::ConeArgument>*> BothSides::ArgsOf(PairOfComputations& pair,
                                                             const Computation* computation) const {
  if (computation == pair.before) return &pair.args;
  const auto known = pair.callee_args.find(computation);
  if (known != pair.callee_args.end()) return &known->second;
  std::vector<shadow::ConeArgument> args;
  for (const Instruction* operand : pairs_.CallerOf(*computation).operands()) {
    const auto given = pair.given_before.find(operand);
    args.push_back({.value = given != pair.given_before.end() ? given->second : TRY(ValueBefore(pair, *operand))});
  }
  return &(pair.callee_args[computation] = std::move(args));
}

// Runs once each loop on which `inst` depends. Stops at cut points, and at loops whose state is too large.
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

Result<ShadowValue> BothSides::ValueBefore(PairOfComputations& pair, const Instruction& inst) const {
  const shadow::Given cuts = WithLoops(pair, CutsBefore(pair));
  const ShadowOptions options = Options(cuts);
  std::vector<shadow::ConeArgument>& args = *TRY(ArgsOf(pair, &inst.computation()));
  TRY(RunLoops(pair, inst, args, options, cuts));
  return EvaluateShadowOf(inst, Needed(args, inst, cuts), options);
}

Result<ShadowValue> BothSides::ValueAfter(PairOfComputations& pair, const Instruction& inst) const {
  const shadow::Given cuts = WithLoops(pair, CutsAfter(pair));
  const ShadowOptions options = Options(cuts);
  TRY(RunLoops(pair, inst, pair.args, options, cuts));
  if (!IsOneOfSeveral(inst)) return EvaluateShadowOf(inst, Needed(pair.args, inst, cuts), options);
  // `inst` is one of several results, so only its instructions are evaluated.
  const shadow::Cone cone = shadow::ConeOf(inst, pair.args, nullptr, cuts);
  std::vector<ShadowValue> args(cone.args.size());
  for (const Instruction* parameter : cone.module->entry().parameters()) {
    const int64_t i = parameter->parameter_number();
    if (parameter->IsRoot() || !parameter->users().empty()) args[i] = cone.args[i].All();
  }
  return TRY(EvaluateShadow(cone.module->entry(), std::span<const ShadowValue>(args), options)).value;
}

std::optional<Literal> BothSides::EvaluatedAfter(PairOfComputations& pair, const Instruction& inst,
                                                 const Instruction* operation) const {
  std::vector<Literal> operands;
  for (const Instruction* operand : inst.operands()) {
    const auto kept = pair.given_after.find(operand);
    std::optional<shadow::ConeArgument> given;
    if (kept != pair.given_after.end()) given = {.value = kept->second};
    else if (operand->Is(Opcode::kParameter)) given = pair.args[operand->parameter_number()];
    else if (operand->Is(Opcode::kConstant)) given = {.literal = &operand->literal()};
    if (!given || (given->literal == nullptr && HasParts(given->value))) return std::nullopt;
    operands.push_back(given->literal != nullptr ? *given->literal : InDeclaredType(given->value));
  }
  auto value = Evaluate(operation != nullptr ? *operation : inst, operands);
  return value ? std::optional(std::move(*value)) : std::nullopt;
}

}  // namespace hlo
