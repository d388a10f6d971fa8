// The rules of ir/verifier/rules.def.
#ifndef HLO_IR_VERIFIER_RULES_H_
#define HLO_IR_VERIFIER_RULES_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace hlo {

enum class RuleLevel : uint8_t { kText, kDefault, kWarned, kStrict, kWarning };

struct VerifierRule {
  std::string_view code;
  RuleLevel level;
  std::string_view text;
};

std::span<const VerifierRule> VerifierRules();  // In the order of codes.
const VerifierRule* FindRule(std::string_view code);

}  // namespace hlo

#endif  // HLO_IR_VERIFIER_RULES_H_
