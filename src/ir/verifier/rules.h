// The rules of ir/verifier/rules.def as a table.
#ifndef HLO_IR_VERIFIER_RULES_H_
#define HLO_IR_VERIFIER_RULES_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace hlo {

// From where on a rule is said; the .def file tells what each means.
enum class RuleLevel : uint8_t { kText, kDefault, kWarned, kStrict, kWarning };

struct VerifierRule {
  std::string_view code;
  RuleLevel level;
  std::string_view text;
};

std::span<const VerifierRule> VerifierRules();        // In order of the codes.
const VerifierRule* FindRule(std::string_view code);  // Null when there is none.

}  // namespace hlo

#endif  // HLO_IR_VERIFIER_RULES_H_
