#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "base/text.h"
#include "driver/bundle.h"
#include "driver/diff/diff.h"
#include "driver/inspect/text.h"
#include "driver/load.h"
#include "driver/xml.h"

namespace hlo {
namespace {

constexpr std::string_view kModules[] = {"module.hlo", "module.pb", "module.opt.hlo"};
constexpr std::string_view kArrays[] = {"args.npz", "expected.npz", "actual.npz"};
// Compared members of the manifest. The files themselves are compared instead of their hashes and sizes.
constexpr std::string_view kMembers[] = {"version", "verdict", "platform", "device", "flags", "environment"};

bool Has(const std::string& folder, std::string_view file) {
  std::error_code error;
  return std::filesystem::is_regular_file(Str(folder, "/", file), error);
}

std::string TextOf(const JsonValue& value) {
  if (value.IsNull()) return "nothing";
  return value.String() != nullptr ? *value.String() : value.ToString();
}

Result<DiffReport> DiffManifests(const std::string& left, const std::string& right) {
  const JsonValue was = TRY(ManifestOf(left)), is = TRY(ManifestOf(right));
  DiffReport report{.exit = ExitCode::kOk, .verdict = "EQUAL"};
  JsonWriter json;
  json.Open('[');
  for (const std::string_view member : kMembers) {
    const std::string one = TextOf(was[member]), other = TextOf(is[member]);
    if (one == other) continue;
    report.exit = ExitCode::kNo;
    report.verdict = "DIFFERENT";
    report.text += Str("  ", member, ": ", Escaped(one), " -> ", Escaped(other), "\n");
    json.Open('{').Key("attribute").Value(member).Key("left").Value(one).Key("right").Value(other).Close('}');
  }
  report.html = report.text.empty() ? "" : Str("<pre>", XmlText(report.text), "</pre>\n");
  report.json = Str("\"changes\":", json.Close(']').text(), ",");
  return report;
}

Result<DiffReport> DiffModulesOfBundles(const std::string& left, const std::string& right,
                                        const DiffFilesOptions& options) {
  LoadOptions load = options.run.load;
  load.fill_elided_constants = ElidedValues::kKeep;
  const auto was = TRY(LoadModule(left, load)), is = TRY(LoadModule(right, load));
  return DiffStructure(*was, *is, left, right, options);
}

void Add(std::string_view file, const DiffReport& part, DiffFormat format, DiffReport* all) {
  const std::string verdict = Str(part.verdict, part.detail.empty() ? "" : Str("  ", part.detail));
  all->text += format == DiffFormat::kText ? part.text : Str(file, "  ", verdict, "\n", part.text);
  all->html += Str("<h2>", XmlText(file), "</h2>\n<p>", XmlText(verdict), "</p>\n", part.html);
  JsonWriter json;
  json.Open('{').Key("file").Value(file).Key("verdict").Value(part.verdict).Key("detail").Value(part.detail);
  std::string members = part.json;
  if (!members.empty()) members.pop_back();
  all->json += Str(json.text(), members.empty() ? "" : ",", members, "},");
  if (part.exit == ExitCode::kOk) return;
  all->detail += Str(all->detail.empty() ? "" : ", ", file);
  if (WorseOf(part.exit, all->exit) != part.exit) return;
  all->exit = part.exit;
  all->verdict = part.verdict;
}

}  // namespace

Result<DiffReport> DiffBundles(const std::string& left, const std::string& right, const DiffFilesOptions& options) {
  DiffReport all{.exit = ExitCode::kOk, .verdict = "EQUAL", .json = "\"files\":["};
  Add("manifest.json", TRY(DiffManifests(left, right)), options.format, &all);
  const auto compare = [&](std::string_view file, const auto& diff) -> Status {
    const bool was = Has(left, file), is = Has(right, file);
    if (was && is) Add(file, TRY(diff(Str(left, "/", file), Str(right, "/", file), options)), options.format, &all);
    if (was != is)
      Add(file, {.exit = ExitCode::kNo, .verdict = "DIFFERENT", .detail = was ? "only-left" : "only-right"},
          options.format, &all);
    return {};
  };
  if (options.mode != DiffMode::kValues) {
    for (const std::string_view file : kModules) TRY(compare(file, DiffModulesOfBundles));
  }
  if (options.mode != DiffMode::kStructure) {
    for (const std::string_view file : kArrays) TRY(compare(file, DiffArrayFiles));
  }
  if (all.json.ends_with(',')) all.json.pop_back();
  all.json += "],";
  return all;
}

}  // namespace hlo
