#include "judge/compare/made_up_operands.h"

#include <map>
#include <utility>

#include "ir/module.h"
#include "judge/bounds/slice.h"
#include "judge/compare/joined.h"

namespace hlo {
namespace {

ShadowValue MadeUp(ShadowValue value, double least, uint64_t seed) {
  for (ShadowValue& element : value.elements) element = MadeUp(std::move(element), least, ++seed);
  if (!value.shape.IsArray() || !value.IsFloat()) return DropBounds(std::move(value));
  Literal numbers(value.shape);
  for (int64_t i = 0; i < value.shape.NumElements(); ++i) {
    const auto random = static_cast<double>(Mix(Mix(seed) + static_cast<uint64_t>(i)) >> 11) * 0x1p-53;
    numbers.SetDouble(i, least + (2 - least) * random);
  }
  return ToShadow(numbers);
}

}  // namespace

std::optional<PairOfComputations> WithMadeUpOperands(const PairOfComputations& pair, const Correspondence& pairs,
                                                     double least, uint64_t seed) {
  constexpr int64_t kMostBytes = 1 << 24;
  int64_t bytes = 0;
  for (const auto& [key, kept] : pair.given_before) bytes += key->shape().ByteSize();
  if (bytes > kMostBytes) return std::nullopt;
  PairOfComputations made_up = pair;
  made_up.callee_args.clear();
  made_up.ran.clear();
  std::map<int, ShadowValue> values;
  const auto value_of = [&](const Instruction& key, const shadow::ConeArgument& now) {
    const auto [at, is_new] = values.try_emplace(key.id());
    if (is_new) at->second = MadeUp(now.All(), least, Mix(seed) + static_cast<uint64_t>(key.id()));
    return at->second;
  };
  for (auto& [key, kept] : made_up.given_before) kept = value_of(*key, {.value = kept});
  for (auto& [key, kept] : made_up.given_after) {
    const Instruction* compared = pairs.ComparedWith(*key, *pair.before);
    if (compared != nullptr) kept = value_of(*compared, {.value = kept});
  }
  for (const Instruction* parameter : pair.before->parameters()) {
    shadow::ConeArgument& argument = made_up.args[parameter->parameter_number()];
    argument = {.value = value_of(*parameter, argument)};
  }
  return made_up;
}

}  // namespace hlo
