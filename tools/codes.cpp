// hlo help CODE.
#include <cctype>
#include <cstdio>

#include "base/text.h"
#include "ir/verifier_rules.h"
#include "tools/command.h"

namespace hlo {
namespace {

struct CodeRow {
  std::string_view code, explanation;
};

constexpr CodeRow kCodes[] = {
#define CODE(code, explanation) {code, explanation},
#include "tools/codes.def"
};

const char* WhenSaid(RuleLevel level) {
  switch (level) {
    case RuleLevel::kText: return "Without it a text is not read, whatever --verify says.";
    case RuleLevel::kDefault: return "An error at --verify=default and strict.";
    case RuleLevel::kWarned: return "An error at --verify=strict, a warning at default, since XLA takes it.";
    case RuleLevel::kStrict: return "An error at --verify=strict.";
    case RuleLevel::kWarning: return "A warning at --verify=default and strict.";
  }
  return "";
}

void PrintRow(std::string_view code, std::string_view explanation) {
  std::printf("%s  %s\n", std::string(code).c_str(), std::string(explanation).c_str());
}

}  // namespace

Result<ExitCode> HelpOnCode(const std::string& asked) {
  std::string code = asked;
  if (!code.empty()) code[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(code[0])));
  if (asked == "codes") {
    for (const CodeRow& row : kCodes) PrintRow(row.code, row.explanation);
    for (const VerifierRule& rule : VerifierRules()) PrintRow(rule.code, rule.text);
    return ExitCode::kOk;
  }
  for (const CodeRow& row : kCodes) {
    if (row.code != code) continue;
    std::printf("%s: %s\n", code.c_str(), std::string(row.explanation).c_str());
    return ExitCode::kOk;
  }
  if (const VerifierRule* rule = FindRule(code)) {
    std::printf("%s: %s\n%s\n", code.c_str(), std::string(rule->text).c_str(), WhenSaid(rule->level));
    return ExitCode::kOk;
  }
  FAIL(UsageError("F001", Str("no command and no diagnostic code '", Escaped(asked), "'"))
           .Hint("'hlo help' lists the commands, 'hlo help codes' the codes"));
}

}  // namespace hlo
