// hlo diff compares two modules, dump directories, bundles, profiles, autotune locks or array files:
// docs/differences.md.
#ifndef HLO_DRIVER_DIFF_DIFF_H_
#define HLO_DRIVER_DIFF_DIFF_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/source_text.h"
#include "driver/diff/structure.h"
#include "driver/progress.h"
#include "driver/run/run.h"

namespace hlo {

enum class DiffMode : uint8_t { kAuto, kText, kStructure, kValues, kPerf, kAll };
template <>
struct EnumWords<DiffMode> {
  static constexpr std::string_view kWords[] = {"auto", "text", "structure", "values", "perf", "all"};
};
enum class DiffFormat : uint8_t { kSummary, kText, kHtml, kJson };
template <>
struct EnumWords<DiffFormat> {
  static constexpr std::string_view kWords[] = {"summary", "text", "html", "json"};
};
enum class DumpPairing : uint8_t { kByPass, kByName, kBySize };
template <>
struct EnumWords<DumpPairing> {
  static constexpr std::string_view kWords[] = {"by-pass", "by-name", "by-size"};
};

struct DiffFilesOptions {
  RunOptions run;
  StructureOptions structure;
  DiffMode mode = DiffMode::kAuto;
  DiffFormat format = DiffFormat::kSummary;
  bool with_json = false;
  DumpPairing pairing = DumpPairing::kByPass;
  double significance = 0.05;
  int64_t rounds = 21;
  int64_t top = 10;  // Rows of each list. 0 prints all.
};

// A module in a file or as text from a pipe.
struct DiffSide {
  std::string path;
  std::shared_ptr<const SourceText> text;
};

struct DiffReport {
  ExitCode exit = ExitCode::kOk;
  std::string verdict;
  std::string detail;
  std::string text;
  std::string html;  // The body of a page.
  std::string json;  // Members of an object, each followed by a comma.
};

// Errors: F004 if the kinds differ, or an input cannot be read.
Result<DiffReport> Diff(const std::string& left, const std::string& right, const DiffFilesOptions& options,
                        Progress& progress);
std::string Rendered(const DiffReport& report, const std::string& left, const std::string& right, DiffFormat format);

Result<DiffReport> DiffModuleFiles(const DiffSide& left, const DiffSide& right, const DiffFilesOptions& options,
                                   Progress& progress);
Result<DiffReport> DiffDumps(const std::string& left, const std::string& right, const DiffFilesOptions& options);
Result<DiffReport> DiffBundles(const std::string& left, const std::string& right, const DiffFilesOptions& options);
Result<DiffReport> DiffArrayFiles(const std::string& left, const std::string& right, const DiffFilesOptions& options);
Result<DiffReport> DiffProfiles(const std::string& left, const std::string& right, const DiffFilesOptions& options);
Result<DiffReport> DiffLocks(const std::string& left, const std::string& right, const DiffFilesOptions& options);

Result<std::vector<std::string>> ProfilesIn(const std::string& directory);

// DiffValues and DiffTimes run both modules on the same arguments. DiffTimes alternates the runs.
Result<DiffReport> DiffValues(const DiffSide& left, const DiffSide& right, const DiffFilesOptions& options,
                              Progress& progress);
Result<DiffReport> DiffTimes(const DiffSide& left, const DiffSide& right, const DiffFilesOptions& options,
                             Progress& progress);

Result<DiffReport> DiffStructure(const Module& left, const Module& right, const std::string& left_name,
                                 const std::string& right_name, const DiffFilesOptions& options);
DiffReport ReportOf(const Comparison& comparison, const std::string& what);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_DIFF_H_
