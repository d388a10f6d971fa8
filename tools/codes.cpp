// hlo help CODE.
#include <cstdio>

#include "base/text.h"
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

}  // namespace

Result<ExitCode> HelpOnCode(const std::string& code) {
  if (code == "codes") {
    for (const CodeRow& row : kCodes)
      std::printf("%s  %s\n", std::string(row.code).c_str(), std::string(row.explanation).c_str());
    return ExitCode::kOk;
  }
  for (const CodeRow& row : kCodes) {
    if (row.code != code) continue;
    std::printf("%s: %s\n", code.c_str(), std::string(row.explanation).c_str());
    return ExitCode::kOk;
  }
  if (code.size() == 4 && code[0] == 'V') {
    std::printf(
        "%s: a rule of the verifier; its message says what was expected and what was found. --verify=off reads on "
        "without it.\n",
        code.c_str());
    return ExitCode::kOk;
  }
  FAIL(UsageError("F001", Str("no command and no diagnostic code '", Escaped(code), "'"))
           .Hint("'hlo help' lists the commands, 'hlo help codes' the codes"));
}

}  // namespace hlo
