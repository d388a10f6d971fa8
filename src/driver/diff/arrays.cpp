#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "driver/diff/diff.h"
#include "driver/inspect/text.h"
#include "interp/arguments/npz.h"
#include "judge/compare/compare.h"

namespace hlo {
namespace {

// Elements of two raw bytes are bf16, as ml_dtypes writes it.
Result<Literal> LiteralOf(const NpyArray& array, const std::string& where) {
  std::optional<PrimitiveType> type = OwnTypeOf(array);
  if (!type && array.kind == 'V' && array.width == 2) type = PrimitiveType::kBF16;
  if (!type)
    FAIL(Unsupported("U121", Str(where, " has ", array.ToString(), ", whose bytes have no known element type")));
  return LiteralFromNpy(array, Shape(*type, array.dims), where, where);
}

std::string KeyText(const std::string& key) { return key.empty() ? "the array" : Str("'", Escaped(key), "'"); }

}  // namespace

Result<DiffReport> DiffArrayFiles(const std::string& left, const std::string& right, const DiffFilesOptions& options) {
  const NpzArrays was = TRY(ReadNpz(left)), is = TRY(ReadNpz(right));
  std::vector<Literal> expected, actual;
  std::vector<std::string> keys, differences;
  const bool single = was.size() == 1 && is.size() == 1;  // If each file has one array, keys do not matter.
  std::set<std::string> seen;
  for (const auto& [key, array] : was) {
    const auto other = single ? is.begin() : std::ranges::find(is, key, &NpzArrays::value_type::first);
    if (other == is.end()) {
      differences.push_back(Str("only-left   ", KeyText(key), " ", array.ToString()));
      continue;
    }
    seen.insert(other->first);
    if (array.dims != other->second.dims || array.kind != other->second.kind || array.width != other->second.width) {
      differences.push_back(Str("changed     ", KeyText(key), " ", array.ToString(), " -> ", other->second.ToString()));
      continue;
    }
    expected.push_back(TRY(LiteralOf(array, Str(left, ":", key))));
    actual.push_back(TRY(LiteralOf(other->second, Str(right, ":", key))));
    keys.push_back(key);
  }
  for (const auto& [key, array] : is) {
    if (!seen.contains(key)) differences.push_back(Str("only-right  ", KeyText(key), " ", array.ToString()));
  }
  if (expected.empty()) {
    DiffReport report{.exit = ExitCode::kInconclusive, .verdict = "INCONCLUSIVE(no array is in both)"};
    for (const std::string& line : differences) report.text += Str("  ", line, "\n");
    return report;
  }
  const Literal one = Literal::Tuple(std::move(expected)), two = Literal::Tuple(std::move(actual));
  Comparison comparison = options.run.compare_mode == CompareMode::kBitwise
                              ? CompareBitwise(one, two, options.run.compare)
                              : CompareTolerance(one, two, options.run.tolerance, options.run.compare);
  for (size_t i = 0; i < comparison.outputs.size(); ++i) comparison.outputs[i].key = keys[i];
  DiffReport report = ReportOf(comparison, "array");
  if (differences.empty()) return report;
  for (const std::string& line : differences) report.text += Str("  ", line, "\n");
  report.exit = ExitCode::kNo;
  report.verdict = "DIFFERENT";
  report.detail += Str(", ", Counted(std::ssize(differences), "key"),
                       " with an array on one side only, or of another shape or type");
  return report;
}

}  // namespace hlo
