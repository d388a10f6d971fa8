#include "ir/opcode.h"

#include "base/word_table.h"
#include "ir/factors/factor_rules.h"
#include "ir/shapes/shape_rules.h"

namespace hlo {

constinit const OpRow kOpRows[] = {
#define HLO_OP(Name, text, arity, Attrs, shape_rule, factor_rule, traits, cost, ulps, prose) \
  {text,                                                                                     \
   arity,                                                                                    \
   shape_rule,                                                                               \
   factor_rule,                                                                              \
   static_cast<uint32_t>(traits),                                                            \
   AttributeStructs::IndexOf<Attrs>(),                                                       \
   [] { return Attributes(Attrs()); },                                                       \
   cost,                                                                                     \
   ulps,                                                                                     \
   prose},
#include "ir/ops.def"
};

std::span<const OpRow> AllOps() { return {kOpRows, static_cast<size_t>(Opcode::kElidedConstant)}; }

std::optional<Opcode> OpcodeFromText(std::string_view text) {
  static constexpr std::string_view kTexts[] = {
#define HLO_OP(Name, text, ...) text,
#include "ir/ops.def"
  };
  static constexpr WordTable<static_cast<size_t>(Opcode::kElidedConstant)> kTable([](size_t i) { return kTexts[i]; });
  const int found = kTable.Find(text);
  if (found < 0) return std::nullopt;
  return static_cast<Opcode>(found);
}

}  // namespace hlo
