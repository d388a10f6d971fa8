#include "ir/verifier/rules.h"

#include <algorithm>

namespace hlo {
namespace {

constexpr VerifierRule kRules[] = {
#define RULE(code, level, text) {code, RuleLevel::level, text},
#include "ir/verifier/rules.def"
};

constexpr bool InOrder(const VerifierRule& a, const VerifierRule& b) { return a.code < b.code; }
static_assert(std::is_sorted(std::begin(kRules), std::end(kRules), InOrder));

}  // namespace

std::span<const VerifierRule> VerifierRules() { return kRules; }

const VerifierRule* FindRule(std::string_view code) {
  const auto* found = std::lower_bound(std::begin(kRules), std::end(kRules), VerifierRule{code, {}, {}}, InOrder);
  return found != std::end(kRules) && found->code == code ? found : nullptr;
}

}  // namespace hlo
