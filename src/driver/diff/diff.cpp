#include "driver/diff/diff.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/diff/structure_report.h"
#include "driver/dump/dump_index.h"
#include "driver/inspect/text.h"
#include "driver/line_diff.h"
#include "driver/load.h"
#include "driver/page.h"
#include "driver/xml.h"
#include "interp/arguments/npz.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

enum class Kind : uint8_t { kModule, kDump, kArrays, kBundle, kProfile, kLock };

struct KindRow {
  Kind kind;
  std::string_view name;
  std::vector<DiffMode> modes;
};
const KindRow kKinds[] = {
    {Kind::kModule,
     "a module",
     {DiffMode::kText, DiffMode::kStructure, DiffMode::kValues, DiffMode::kPerf, DiffMode::kAll}},
    {Kind::kDump, "a dump directory", {DiffMode::kStructure}},
    {Kind::kArrays, "arrays", {DiffMode::kValues}},
    {Kind::kBundle, "a bundle", {DiffMode::kStructure, DiffMode::kValues}},
    {Kind::kProfile, "a profile", {DiffMode::kPerf}},
    {Kind::kLock, "an autotune lock", {DiffMode::kStructure}},
};
const KindRow& RowOf(Kind kind) { return *std::ranges::find(kKinds, kind, &KindRow::kind); }

constexpr size_t kEnough = 4096;

bool IsProfile(std::string_view beginning) {
  return Trim(beginning).starts_with('{') && beginning.find("\"hlo.profile/") != std::string_view::npos;
}

Result<Kind> KindOfDirectory(const std::string& path) {
  bool is_dump = false;
  for (const std::string& name : TRY(NamesIn(path))) {
    if (name == "manifest.json") return Kind::kBundle;
    is_dump |= ModuleNumber(name) >= 0;
  }
  if (!is_dump && !TRY(ProfilesIn(path)).empty()) return Kind::kProfile;
  if (!is_dump)
    FAIL(Rejected("A012", Str("'", Escaped(path), "' is a directory but not a dump: it has no file module_N.*"))
             .Hint("--xla_dump_to=DIR makes one; other directories are compared file by file"));
  return Kind::kDump;
}

Kind KindOfBytes(std::string_view bytes) {
  if (bytes.starts_with("PK\x03\x04") || IsNpy(bytes)) return Kind::kArrays;
  const std::string_view text = Trim(bytes.substr(0, kEnough));
  if (text.starts_with("# autotune.lock")) return Kind::kLock;
  if (IsProfile(text)) return Kind::kProfile;
  return Kind::kModule;
}

Result<Kind> KindOf(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return KindOfDirectory(path);
  const auto bytes = ReadBytes(path, kEnough);
  return bytes ? KindOfBytes(*bytes) : Kind::kModule;  // Reading a module reports the error of an unreadable file.
}

bool IsReadOnce(const std::string& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  return path == "-" || type == fs::file_type::fifo || type == fs::file_type::character;
}

// If an input can be read only once and is not a module, a temporary file keeps its bytes.
struct Operand {
  DiffSide side;
  Kind kind = Kind::kModule;
  std::string kept;

  Operand() = default;
  Operand(Operand&& other) noexcept
      : side(std::move(other.side)), kind(other.kind), kept(std::exchange(other.kept, {})) {}
  Operand& operator=(Operand&&) = delete;
  ~Operand() {
    std::error_code ignored;
    if (!kept.empty()) fs::remove_all(kept, ignored);
  }
};

Result<Operand> Open(const std::string& path, const LoadOptions& load) {
  Operand operand;
  operand.side.path = path;
  if (!IsReadOnce(path)) {
    operand.kind = TRY(KindOf(path));
    return operand;
  }
  operand.side.text = TRY(ReadSource(path, load.max_input));
  operand.kind = KindOfBytes(operand.side.text->text());
  if (operand.kind == Kind::kModule) return operand;
  operand.kept = TRY(MakeTemporaryDirectory("hlo-diff"));
  operand.side.path = operand.kept + "/piped";
  TRY(WriteFile(operand.side.path, operand.side.text->text()));
  return operand;
}

Result<DiffReport> DiffTexts(const Module& left, const Module& right, const std::string& left_name,
                             const std::string& right_name, DiffFormat format) {
  PrintOptions form = ShortForm();
  form.constants = Constants::kSmall;
  DiffReport report;
  const std::string diff = UnifiedDiff(left_name, Print(left, form), right_name, Print(right, form));
  report.exit = diff.empty() ? ExitCode::kOk : ExitCode::kNo;
  report.verdict = diff.empty() ? "EQUAL" : "DIFFERENT";
  report.detail = "the printed texts";
  report.text = diff;
  if (format == DiffFormat::kHtml && !diff.empty()) report.html = DiffHtml(diff);
  report.json = Str("\"unified\":", JsonWriter().Value(diff).text(), ",");
  return report;
}

// Keeps the worse verdict.
void Add(const DiffReport& part, DiffReport* all) {
  all->text += part.text;
  all->html += part.html;
  all->json += part.json;
  if (all->verdict.empty() || (part.exit != ExitCode::kOk && WorseOf(part.exit, all->exit) == part.exit)) {
    all->verdict = part.verdict;
    all->exit = part.exit;
  }
  all->detail += Str(all->detail.empty() ? "" : "; ", part.detail);
}

}  // namespace

Result<std::vector<std::string>> ProfilesIn(const std::string& directory) {
  std::vector<std::string> files;
  for (const std::string& name : TRY(NamesIn(directory))) {
    if (!name.ends_with(".json")) continue;
    std::string file = Str(directory, "/", name);
    const auto bytes = ReadBytes(file, kEnough);
    if (bytes && IsProfile(*bytes)) files.push_back(std::move(file));
  }
  std::ranges::sort(files);
  return files;
}

Result<DiffReport> DiffStructure(const Module& left, const Module& right, const std::string& left_name,
                                 const std::string& right_name, const DiffFilesOptions& options) {
  const StructureDiff diff = TRY(DiffModules(left, right, options.structure));
  const StructureView view{
      left, right, left_name, right_name, *options.structure.device, options.top, options.structure.ignore.names};
  DiffReport report;
  const bool matches = diff.matched + std::ssize(diff.changed) > 0;
  report.exit = diff.is_equal() ? ExitCode::kOk : matches ? ExitCode::kNo : ExitCode::kInconclusive;
  report.verdict = diff.is_equal() ? "EQUAL" : matches ? "DIFFERENT" : "INCONCLUSIVE(nothing is the same in both)";
  report.detail = diff.is_equal() ? Counted(diff.matched, "instruction") : CountsText(diff);
  if (options.format == DiffFormat::kSummary) report.text = StructureText(diff, view);
  if (options.format == DiffFormat::kText) report.text = StructureUnified(diff, view);
  if (options.format == DiffFormat::kHtml) report.html = StructureHtml(diff, view);
  if (options.format != DiffFormat::kJson && !options.with_json) return report;
  JsonWriter json;
  json.Open('{');
  WriteJson(json, diff);
  report.json = Str("\"structure\":", json.Close('}').text(), ",");
  return report;
}

Result<DiffReport> DiffModuleFiles(const DiffSide& left, const DiffSide& right, const DiffFilesOptions& options,
                                   Progress& progress) {
  DiffReport all;
  const DiffMode mode = options.mode;
  const auto is_asked = [&](DiffMode one) { return mode == one || mode == DiffMode::kAll; };
  if (mode == DiffMode::kAuto || mode == DiffMode::kText || is_asked(DiffMode::kStructure)) {
    LoadOptions load = options.run.load;
    load.fill_elided_constants = ElidedValues::kKeep;
    progress.Stage("reading");
    const auto read = [&](const DiffSide& side) {
      return side.text == nullptr ? LoadModule(side.path, load) : LoadModule(side.text, load);
    };
    const auto was = TRY(read(left)), is = TRY(read(right));
    progress.Stage("matching");
    if (mode == DiffMode::kText) return DiffTexts(*was, *is, left.path, right.path, options.format);
    Add(TRY(DiffStructure(*was, *is, left.path, right.path, options)), &all);
  }
  if (is_asked(DiffMode::kValues)) Add(TRY(DiffValues(left, right, options, progress)), &all);
  if (is_asked(DiffMode::kPerf)) Add(TRY(DiffTimes(left, right, options, progress)), &all);
  return all;
}

Result<DiffReport> Diff(const std::string& left, const std::string& right, const DiffFilesOptions& options,
                        Progress& progress) {
  const Operand was = TRY(Open(left, options.run.load)), is = TRY(Open(right, options.run.load));
  const Kind kind = was.kind, other = is.kind;
  if (kind != other) {
    FAIL(UsageError("F004", Str("'", Escaped(left), "' is ", RowOf(kind).name, ", but '", Escaped(right), "' is ",
                                RowOf(other).name, ": only files of the same kind can be compared")));
  }
  const KindRow& row = RowOf(kind);
  if (options.mode != DiffMode::kAuto && std::ranges::find(row.modes, options.mode) == row.modes.end())
    FAIL(UsageError("F004",
                    Str("--mode=", options.mode, " does not apply to '", Escaped(left), "', which is ", row.name)));
  if (kind == Kind::kBundle) return DiffBundles(left, right, options);
  if (kind == Kind::kArrays) return DiffArrayFiles(was.side.path, is.side.path, options);
  if (kind == Kind::kDump) return DiffDumps(left, right, options);
  if (kind == Kind::kLock) return DiffLocks(was.side.path, is.side.path, options);
  if (kind == Kind::kProfile) return DiffProfiles(was.side.path, is.side.path, options);
  return DiffModuleFiles(was.side, is.side, options, progress);
}

DiffReport ReportOf(const Comparison& comparison, const std::string& what) {
  const bool mismatch = comparison.verdict == Verdict::kMismatch;
  DiffReport report;
  report.exit = ExitCodeOf(comparison.verdict);
  report.verdict = VerdictText(comparison.verdict, comparison.reason);
  report.detail = Str(Counted(std::ssize(comparison.outputs), what), ", ", Counted(comparison.elements(), "element"),
                      mismatch ? Str(", ", comparison.bad(), " bad") : "");
  report.text = OutputTable(comparison, mismatch);
  for (const TensorComparison& tensor : comparison.outputs) report.text += Details(tensor);
  report.html = Str("<pre>", XmlText(report.text), "</pre>\n");
  JsonWriter json;
  WriteJson(json, comparison);
  report.json = Str("\"values\":", json.text(), ",");
  return report;
}

std::string Rendered(const DiffReport& report, const std::string& left, const std::string& right, DiffFormat format) {
  const std::string last = Str(report.verdict, report.detail.empty() ? "" : Str("  ", report.detail));
  if (format == DiffFormat::kText) return report.text;
  if (format == DiffFormat::kSummary) return Str(report.text, last, "\n");
  if (format == DiffFormat::kHtml) {
    const std::string title = Str(left, " and ", right);
    return Str(PageHead(title), "<h1>", XmlText(report.verdict), "</h1>\n<p>", XmlText(title), "</p>\n<p>",
               XmlText(report.detail), "</p>\n", report.html, kPageEnd);
  }
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.diff/1").Key("left_path").Value(left).Key("right_path").Value(right);
  json.Key("verdict").Value(report.verdict).Key("exit").Value(static_cast<int>(report.exit));
  json.Key("detail").Value(report.detail);
  std::string members = report.json;
  if (!members.empty()) members.pop_back();
  return Str(json.text(), members.empty() ? "" : ",", members, "}\n");
}

}  // namespace hlo
