#include "passes/fusion/log.h"

#include "base/text.h"
#include "ir/instruction.h"

namespace hlo {
namespace {

constexpr bool kJoins = true, kKeepsApart = false;
struct ReasonRow {
  std::string_view name;
  bool joins;
  std::string_view text;
};
constexpr ReasonRow kReasons[] = {
#define FUSION_REASON(Name, joins, text) {#Name, joins, text},
#include "passes/fusion/reasons.def"
};

const ReasonRow& RowOf(FusionReason reason) { return kReasons[static_cast<int>(reason)]; }

std::string Figure(double value, char unit) {
  return unit == 't' ? Format("%.3g us", value * 1e6) : Str(static_cast<int64_t>(value));
}

}  // namespace

std::string_view NameOf(FusionReason reason) { return RowOf(reason).name; }
bool Joins(FusionReason reason) { return RowOf(reason).joins; }

std::string Text(const FusionNote& note) {
  const std::string_view text = RowOf(note.reason).text;
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      out += text[i];
      continue;
    }
    switch (text[++i]) {
      case 'x': out += note.inst != nullptr ? note.inst->name() : "it"; break;
      case '1': out += Figure(note.first, text[++i]); break;
      case '2': out += Figure(note.second, text[++i]); break;
      default: break;
    }
  }
  return out;
}

}  // namespace hlo
