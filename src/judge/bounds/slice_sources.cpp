#include "judge/bounds/slice_sources.h"

#include <algorithm>

#include "interp/interpreter.h"
#include "interp/strided.h"
#include "ir/analysis/movement.h"
#include "judge/bounds/rules.h"

namespace hlo::shadow {

Result<std::optional<Literal>> KnownIntegers::Of(const Instruction& inst) {
  std::vector<const Instruction*> stack = {&inst};
  while (!stack.empty()) {
    const Instruction& top = *stack.back();
    if (known_.contains(&top)) {
      stack.pop_back();
      continue;
    }
    const bool computed = (top.Is(kElementwise) || IsMovement(top)) && top.shape().IsArray() &&
                          !IsFloat(top.shape().type()) && !top.Is(Opcode::kParameter) && !top.Is(Opcode::kConstant);
    const size_t before = stack.size();
    for (size_t i = 0; computed && i < top.operands().size(); ++i) {
      if (!known_.contains(top.operands()[i])) stack.push_back(top.operands()[i]);
    }
    if (stack.size() == before) known_[&top] = TRY(computed ? FromOperands(top) : Alone(top));
  }
  return known_.at(&inst);
}

Result<std::optional<Literal>> KnownIntegers::Alone(const Instruction& inst) const {
  if (!inst.shape().IsArray() || IsFloat(inst.shape().type())) return std::nullopt;
  if (inst.Is(Opcode::kConstant)) return inst.literal();
  if (!inst.Is(Opcode::kParameter)) return std::nullopt;
  const ConeArgument& argument = cone_.args[inst.parameter_number()];
  if (argument.literal != nullptr) return *argument.literal;
  if (argument.value.HasOpen()) return std::nullopt;
  return argument.value.exact;
}

Result<std::optional<Literal>> KnownIntegers::FromOperands(const Instruction& inst) const {
  std::vector<Literal> operands;
  for (const Instruction* operand : inst.operands()) {
    const std::optional<Literal>& value = known_.at(operand);
    if (!value) return std::nullopt;
    operands.push_back(*value);
  }
  return TRY(Evaluate(inst, operands));
}

namespace {

// Result j is element from[j] of operand number[j].
Origins OriginsFrom(int64_t data, std::vector<int64_t> from, std::vector<int32_t> number) {
  if (data == 1) return {.number = {}, .from = {Shared(std::move(from))}};
  std::vector<std::vector<int64_t>> lists(data);
  for (size_t j = 0; j < from.size(); ++j) lists[number[j]].push_back(from[j]);
  Origins origins{.number = std::move(number), .from = {}};
  for (std::vector<int64_t>& list : lists) origins.from.push_back(Shared(std::move(list)));
  return origins;
}

}  // namespace

Result<std::optional<Origins>> OriginsAt(const Instruction& movement, const Indices& wanted, KnownIntegers& known) {
  const std::vector<int64_t>& at = *wanted;
  const int64_t data = DataOperands(movement);
  std::vector<int64_t> from(at.size());
  std::vector<int32_t> number(data > 1 ? at.size() : 0);
  if (const auto sources = ElementSources::Of(movement)) {
    if (movement.Is(kView)) return Origins{.number = {}, .from = {wanted}};
    IndexWalk walk(movement.shape().dims());
    for (size_t j = 0; j < at.size(); ++j) {
      walk.Seek(at[j]);
      const auto [operand, element] = sources->At(walk.index());
      if (data > 1) number[j] = static_cast<int32_t>(operand);
      from[j] = element;
    }
    return OriginsFrom(data, std::move(from), std::move(number));
  }
  std::vector<ShadowValue> values(movement.operand_count());
  std::vector<const ShadowValue*> operands;
  for (int64_t i = 0; i < movement.operand_count(); ++i) {
    if (i >= data) {
      const std::optional<Literal> index = TRY(known.Of(movement.operand(i)));
      if (!index) return std::nullopt;
      values[i] = ToShadow(*index);
    }
    operands.push_back(&values[i]);
  }
  for (int32_t i = 0; i < data; ++i) {
    const Literal source = TRY(SourceOf(movement, i, operands));
    for (size_t j = 0; j < at.size(); ++j) {
      if (source.data<int64_t>()[at[j]] < 0) continue;
      if (data > 1) number[j] = i;
      from[j] = source.data<int64_t>()[at[j]];
    }
  }
  return OriginsFrom(data, std::move(from), std::move(number));
}

Result<std::optional<Landings>> LandingsOn(const Instruction& scatter, const std::vector<int64_t>& wanted,
                                           KnownIntegers& known) {
  if (!scatter.shape().IsArray() || scatter.operand_count() != 3) return std::nullopt;
  const std::optional<Literal> indices = TRY(known.Of(scatter.operand(1)));
  if (!indices) return std::nullopt;
  const std::vector<int64_t> destinations = DestinationsOf(scatter, *indices);
  std::vector<int64_t> update, landed;
  for (size_t u = 0; u < destinations.size(); ++u) {
    const auto on = std::ranges::lower_bound(wanted, destinations[u]);
    if (on == wanted.end() || *on != destinations[u]) continue;
    update.push_back(static_cast<int64_t>(u));
    landed.push_back(on - wanted.begin());
  }
  return Landings{.update = Shared(std::move(update)), .on = std::move(landed)};
}

std::vector<int64_t> TermsOf(const Instruction& reduce, const std::vector<int64_t>& wanted) {
  const std::vector<int64_t>& reduced = reduce.attrs<ReduceAttrs>().dimensions;
  const Shape& shape = reduce.operand(0).shape();
  const std::vector<int64_t> strides = RowMajorStrides(shape.dims());
  std::vector<int64_t> kept_dims, kept_strides, dims, dim_strides;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const bool gone = Contains(reduced, d);
    (gone ? dims : kept_dims).push_back(shape.dim(d));
    (gone ? dim_strides : kept_strides).push_back(strides[d]);
  }
  std::vector<int64_t> offsets, terms;
  for (IndexWalk walk(dims); walk.Valid(); walk.Next()) offsets.push_back(hlo::Dot(walk.index(), dim_strides));
  terms.reserve(offsets.size() * wanted.size());
  IndexWalk kept(kept_dims);
  for (const int64_t result : wanted) {
    kept.Seek(result);
    const int64_t base = hlo::Dot(kept.index(), kept_strides);
    for (const int64_t offset : offsets) terms.push_back(base + offset);
  }
  return terms;
}

}  // namespace hlo::shadow
