// Fuzzes hlo fmt with HLO text.
#include "driver/format.h"
#include "base/source_text.h"
#include "parser/parser.h"
#include "tests/fuzz/target.h"

namespace hlo {
namespace {

// A text that parses can be formatted, and formatting it again changes nothing. FormatText checks that the module stays
// the same.
std::string BrokenByFormatting(std::string_view text) {
  const ParseOptions options;
  const auto module = Parse(std::make_shared<const SourceText>("test", std::string(text)), options);
  if (!module) return "";
  const auto once = FormatText(**module);
  if (!once) return once.error().message();
  const auto again = Parse(std::make_shared<const SourceText>("formatted", *once), options);
  if (!again) return again.error().message();
  const auto twice = FormatText(**again);
  if (!twice) return twice.error().message();
  return *twice == *once ? "" : "formatting what is formatted changes it:\n" + *once + "\nbecomes\n" + *twice;
}

}  // namespace
}  // namespace hlo

HLO_FUZZ_TARGET(hlo::BrokenByFormatting)
