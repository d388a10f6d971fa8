// Text and JSON of comparisons. Layout: docs/reports.md#a-run.
#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "base/terminal.h"
#include "base/text.h"
#include "ir/module.h"
#include "judge/compare/compare.h"
#include "judge/compare/widened.h"

namespace hlo {
namespace {

std::string OutputName(const TensorComparison& t) { return t.key.empty() ? Str("{", Join(t.output, ","), "}") : t.key; }

// Zero is "0", which makes exact outputs visible.
std::string Scientific(double x, int digits = 1) { return x == 0 ? "0" : Format("%.*e", digits, x); }

std::string Ratio(double x) {
  if (std::isinf(x)) return "inf";
  return x < 100 ? Format("%.2f", x) : Format("%.1e", x);
}

// Writes "[3,961]", or "[3].im" for an imaginary part.
std::string IndexText(const TensorComparison& tensor, std::vector<int64_t> index) {
  if (!tensor.of_complex) return Str("[", Join(index, ","), "]");
  const bool imaginary = index.back() == 1;
  index.pop_back();
  return Str("[", Join(index, ","), "]", imaginary ? ".im" : ".re");
}

std::string StatusText(const TensorComparison& tensor) {
  switch (tensor.verdict) {
    case Verdict::kMatch: return "ok";
    case Verdict::kMismatch: return tensor.worst.empty() ? "" : IndexText(tensor, tensor.worst.front().index);
    case Verdict::kInconclusive: return Str("inconclusive: ", tensor.reason);
    case Verdict::kUnsupported: return Str("unsupported: ", tensor.reason);
  }
  return "";
}

std::string Table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string pad(width[c] - row[c].size(), ' ');
      line += c < 2 ? " " + row[c] + pad + " " : c + 1 == row.size() ? "   " + row[c] : "  " + pad + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

void DropColumns(std::vector<std::vector<std::string>>& rows, std::initializer_list<std::string_view> least_needed) {
  constexpr size_t kWithoutTerminal = 100;
  const size_t columns = TerminalColumns() > 0 ? TerminalColumns() : kWithoutTerminal;
  for (const std::string_view title : least_needed) {
    const std::string table = Table(rows);
    size_t width = 0;
    for (const std::string_view line : Split(table, '\n')) width = std::max(width, line.size());
    const auto found = std::ranges::find(rows.front(), title);
    if (width <= columns) return;
    if (found == rows.front().end()) continue;
    const auto place = found - rows.front().begin();
    for (auto& row : rows) row.erase(row.begin() + place);
  }
}

std::string Number(const Shape& shape, double x) {
  return IsFloat(shape.type()) ? Format("%.8g", x) : Format("%.0f", x);
}

}  // namespace

std::string VerdictText(Verdict verdict, std::string_view reason) {
  switch (verdict) {
    case Verdict::kMatch: return "MATCH";
    case Verdict::kMismatch: return "MISMATCH";
    case Verdict::kInconclusive: return Str("INCONCLUSIVE(", reason, ")");
    case Verdict::kUnsupported: return Str("UNSUPPORTED(", reason, ")");
  }
  return "";
}

std::string TensorComparison::ShapeText() const {
  if (!of_complex) return shape.ToString();
  std::vector<int64_t> dims = shape.dims();
  dims.pop_back();
  const bool single = shape.type() == PrimitiveType::kF32;
  return Shape(single ? PrimitiveType::kC64 : PrimitiveType::kC128, dims).ToString();
}

std::string OutputTable(const Comparison& comparison, bool mismatch) {
  const bool has_nan = mismatch || std::ranges::any_of(comparison.outputs,
                                                       [](const auto& t) { return t.nan_actual + t.nan_expected > 0; });
  std::vector<std::string> titles{"output", "shape"};
  titles.emplace_back(mismatch ? "bad" : "elements");
  titles.insert(titles.end(), {"max abs", "max rel", "max ulp"});
  if (mismatch) titles.emplace_back("rms rel");
  if (has_nan) titles.emplace_back("NaN act/exp");
  titles.insert(titles.end(), {"worst err/bound", ""});
  std::vector<std::vector<std::string>> rows{titles};
  for (const TensorComparison& t : comparison.outputs) {
    std::vector<std::string> row{OutputName(t), t.ShapeText()};
    if (mismatch) {
      const double share = t.checked == 0 ? 0 : 100.0 * static_cast<double>(t.bad()) / static_cast<double>(t.checked);
      row.push_back(Str(t.bad(), " (", t.bad() == 0 ? "0" : Format("%.1f", share), "%)"));
    } else {
      row.push_back(Str(t.elements));
    }
    row.insert(row.end(), {Scientific(t.max_abs, 2), Scientific(t.max_rel), Str(t.max_ulps)});
    if (mismatch) row.push_back(Scientific(t.rms_rel));
    if (has_nan) row.push_back(Str(t.nan_actual, "/", t.nan_expected));
    row.push_back(Ratio(t.worst_ratio));
    row.push_back(StatusText(t));
    rows.push_back(std::move(row));
  }
  DropColumns(rows, {"rms rel", "max ulp", "max rel", "NaN act/exp"});
  return Table(rows);
}

std::string Details(const TensorComparison& t) {
  if (t.bad() == 0) return "";
  const std::string name = OutputName(t);
  if (!t.reason.empty()) return Str("  ", name, " is ", t.reason, "\n");  // The sizes differ.
  std::string text = Str("  ", name, " worst ", t.worst.size(), " of ", t.bad(), "\n");
  std::vector<std::vector<std::string>> rows{
      {"  index", "expected", "actual", "abs err", "rel err", "ulp", "err/bound", "bits"}};
  for (const ElementReport& r : t.worst) {
    rows.push_back({"  " + IndexText(t, r.index), Number(t.shape, r.expected), Number(t.shape, r.actual),
                    Scientific(r.abs_error, 3), std::isfinite(r.expected) ? Scientific(r.rel_error, 3) : "-",
                    r.ulps == INT64_MAX ? "-" : Str(r.ulps), Ratio(r.ratio), r.actual_bits});
  }
  DropColumns(rows, {"bits", "ulp", "abs err"});
  text += Table(rows);
  if (!t.where.empty()) text += Str("  ", name, " where: ", t.where, "\n");
  if (!t.error_decades.empty()) {
    std::vector<std::string> decades;
    for (const auto& [decade, count] : t.error_decades) decades.push_back(Str(Format("1e%+03d", decade), ":", count));
    text += Str("  ", name, " |error| by decade: ", Join(decades, "  "), "\n");
  }
  for (const std::string& guess : t.looks_like) text += Str("  ", name, " looks like: ", guess, "\n");
  if (t.max_abs_bad > 0 && std::isfinite(t.max_abs_bad)) {
    text += Str("  ", name, " smallest passing bounds: abs ", Format("%.3g", t.max_abs_bad));
    text += std::isfinite(t.max_rel_bad) ? Format(" or rel %.3g\n", t.max_rel_bad) : "; no rel passes\n";
  }
  return text;
}

std::string CoverageText(const Comparison& comparison) {
  int64_t sampled = 0;
  for (const TensorComparison& t : comparison.outputs) sampled += t.checked < t.elements ? 1 : 0;
  std::string text = Str(comparison.Count(ElementClass::kUndetermined), " undetermined, ",
                         comparison.Count(ElementClass::kVacuous), " vacuous, ");
  text += sampled == 0 ? "0 sampled" : Str("sampled ", comparison.checked(), " of ", comparison.elements());
  if (const int64_t suspicious = comparison.Count(ElementClass::kSuspicious))
    text += Str(", ", suspicious, " suspicious");
  return text;
}

void WriteJson(JsonWriter& json, const Comparison& comparison) {
  json.Open('{').Key("verdict").Value(VerdictText(comparison.verdict, comparison.reason));
  json.Key("elements").Value(comparison.elements()).Key("checked").Value(comparison.checked());
  json.Key("outputs").Open('[');
  for (const TensorComparison& t : comparison.outputs) {
    json.Open('{').Key("output").Open('[');
    for (const int64_t i : t.output) json.Value(i);
    json.Close(']');
    if (!t.key.empty()) json.Key("key").Value(t.key);
    json.Key("shape").Value(t.ShapeText()).Key("verdict").Value(VerdictText(t.verdict, t.reason));
    json.Key("elements").Value(t.elements).Key("checked").Value(t.checked).Key("heuristic").Value(t.heuristic);
    json.Key("classes").Open('{');
    for (int c = 0; c < kElementClasses; ++c) json.Key(ToString(static_cast<ElementClass>(c))).Value(t.counts[c]);
    json.Close('}');
    json.Key("max_abs")
        .Value(t.max_abs)
        .Key("max_rel")
        .Value(t.max_rel)
        .Key("rms_rel")
        .Value(t.rms_rel)
        .Key("max_ulps")
        .Value(t.max_ulps);
    json.Key("worst_ratio")
        .Value(t.worst_ratio)
        .Key("median_ratio")
        .Value(t.median_ratio)
        .Key("worst_element")
        .Value(t.worst_element);
    json.Key("nan_actual").Value(t.nan_actual).Key("nan_expected").Value(t.nan_expected);
    json.Key("inf_actual").Value(t.inf_actual).Key("inf_expected").Value(t.inf_expected);
    json.Key("zero_actual").Value(t.zero_actual).Key("zero_expected").Value(t.zero_expected);
    const auto histogram = [&](std::string_view key, const std::map<int, int64_t>& bins) {
      json.Key(key).Open('{');
      for (const auto& [bin, count] : bins) json.Key(Str(bin)).Value(count);
      json.Close('}');
    };
    histogram("ulp_histogram", t.ulp_bins);
    histogram("log2_ratio_histogram", t.ratio_bins);
    histogram("error_decades", t.error_decades);
    json.Key("where").Value(t.where).Key("looks_like").Open('[');
    for (const std::string& guess : t.looks_like) json.Value(guess);
    json.Close(']').Key("smallest_passing_abs").Value(t.max_abs_bad).Key("smallest_passing_rel").Value(t.max_rel_bad);
    json.Key("worst").Open('[');
    for (const ElementReport& r : t.worst) {
      json.Open('{').Key("linear").Value(r.linear).Key("index").Open('[');
      for (const int64_t i : r.index) json.Value(i);
      json.Close(']')
          .Key("class")
          .Value(ToString(r.element_class))
          .Key("expected")
          .Value(r.expected)
          .Key("actual")
          .Value(r.actual);
      json.Key("bound")
          .Value(r.bound)
          .Key("abs")
          .Value(r.abs_error)
          .Key("rel")
          .Value(r.rel_error)
          .Key("ratio")
          .Value(r.ratio);
      json.Key("ulps").Value(r.ulps).Key("bits").Value(r.actual_bits).Close('}');
    }
    json.Close(']').Close('}');
  }
  json.Close(']').Close('}');
}

std::string ToString(const WidenedResult& result) {
  if (!result.finding) {
    return Str(VerdictText(result.verdict, result.reason), "  ", Counted(result.instructions, "instruction"), ", ",
               Counted(result.elements, "element"), " compared in f64, ", result.undetermined, " undetermined",
               result.vacuous == 0 ? "" : Str(", ", result.vacuous, " vacuous"),
               result.by_bits == 0 ? "" : Str(", ", result.by_bits, " by their bits alone"));
  }
  const WidenedFinding& finding = *result.finding;
  std::string text =
      Str("'", finding.optimized->name(), "' differs from '", finding.input->name(), "' before the passes");
  if (!finding.loop.empty()) text += Str(" (", finding.loop, ")");
  text += "\n";
  for (const TensorComparison& tensor : finding.comparison.outputs) text += Details(tensor);
  return text;
}

}  // namespace hlo
