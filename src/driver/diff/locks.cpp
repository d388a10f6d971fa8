// Compares autotune locks. Times are shown but do not count as differences.
#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/diff/diff.h"
#include "driver/inspect/text.h"
#include "driver/xml.h"
#include "gpu/runtime/tuning/lock.h"

namespace hlo {
namespace {

using gpu::Decision;

std::map<std::string, const Decision*> DecisionsOf(const gpu::Lock& lock) {
  std::map<std::string, const Decision*> decisions;
  for (const gpu::Lock::Section& section : lock.sections()) {
    for (const auto& [key, decision] : section.decisions)
      decisions[Str(decision.category, "  ", decision.signature, "  key=", key)] = &decision;
  }
  return decisions;
}

std::string TimeText(const Decision& decision) { return Format("%.1fus", decision.microseconds); }

struct Row {
  std::string step;
  const Decision *left = nullptr, *right = nullptr;

  bool IsEqual() const { return left != nullptr && right != nullptr && left->choice == right->choice; }
};

std::string TextOf(const Row& row) {
  std::string out = row.step + "\n";
  if (row.left != nullptr) out += Str("  - ", row.left->choice, "  ", TimeText(*row.left), "\n");
  if (row.right != nullptr) out += Str("  + ", row.right->choice, "  ", TimeText(*row.right), "\n");
  return out;
}

}  // namespace

Result<DiffReport> DiffLocks(const std::string& left, const std::string& right, const DiffFilesOptions& options) {
  const gpu::Lock was = TRY(gpu::Lock::Parse(TRY(ReadSource(left)))),
                  is = TRY(gpu::Lock::Parse(TRY(ReadSource(right))));
  std::map<std::string, Row> rows;
  for (const auto& [step, decision] : DecisionsOf(was)) rows[step] = {.step = step, .left = decision};
  for (const auto& [step, decision] : DecisionsOf(is)) {
    rows[step].step = step;
    rows[step].right = decision;
  }
  int64_t equal = 0, changed = 0, only_left = 0, only_right = 0, shown = 0;
  DiffReport report;
  JsonWriter json;
  json.Open('[');
  for (const auto& [step, row] : rows) {
    if (row.IsEqual()) {
      ++equal;
      continue;
    }
    ++(row.left == nullptr ? only_right : row.right == nullptr ? only_left : changed);
    if (options.top == 0 || shown++ < options.top) report.text += TextOf(row);
    json.Open('{').Key("step").Value(step);
    if (row.left != nullptr) json.Key("left").Value(row.left->choice).Key("left_us").Value(row.left->microseconds);
    if (row.right != nullptr) json.Key("right").Value(row.right->choice).Key("right_us").Value(row.right->microseconds);
    json.Close('}');
  }
  if (options.top > 0 && shown > options.top)
    report.text += Str("... and ", shown - options.top, " more (--top=0 shows all)\n");
  const bool same = changed + only_left + only_right == 0;
  report.exit = same ? ExitCode::kOk : ExitCode::kNo;
  report.verdict = same ? "EQUAL" : "DIFFERENT";
  report.detail = same ? Counted(equal, "decision")
                       : Str(changed, " different, ", only_left, " only on the left, ", only_right,
                             " only on the right, ", equal, " equal");
  report.html = Str("<pre>", XmlText(report.text), "</pre>\n");
  report.json = Str("\"decisions\":", json.Close(']').text(), ",");
  return report;
}

}  // namespace hlo
