// hlo diff: two modules, dump directories, bundles, profiles, autotune locks or files of arrays against each other:
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
inline constexpr std::string_view kDiffModeWords[] = {"auto", "text", "structure", "values", "perf", "all"};
enum class DiffFormat : uint8_t { kSummary, kText, kHtml, kJson };
inline constexpr std::string_view kDiffFormatWords[] = {"summary", "text", "html", "json"};
// Of two dump directories: which modules belong together.
enum class DumpPairing : uint8_t { kByPass, kByName, kBySize };
inline constexpr std::string_view kDumpPairingWords[] = {"by-pass", "by-name", "by-size"};

struct DiffFilesOptions {
  RunOptions run;  // How modules are read, run and compared.
  StructureOptions structure;
  DiffMode mode = DiffMode::kAuto;
  DiffFormat format = DiffFormat::kSummary;
  bool with_json = false;  // Beside the format.
  DumpPairing pairing = DumpPairing::kByPass;
  double significance = 0.05;
  int64_t rounds = 21;  // Of kPerf.
  int64_t top = 10;     // Rows of each list; 0: all.
};

// A module: a file, or what came through a pipe and is read once.
struct DiffSide {
  std::string path;
  std::shared_ptr<const SourceText> text;  // Null: of the file.
};

// What was found, in the forms that were asked for.
struct DiffReport {
  ExitCode exit = ExitCode::kOk;
  std::string verdict;  // EQUAL, DIFFERENT, MATCH, ...
  std::string detail;   // Beside it.
  std::string text;     // Or unified diff; lines.
  std::string html;     // Of a page's body.
  std::string json;     // Keys of an object, each with a comma behind it.
};

// The whole of it, with its verdict. Errors: kinds that do not agree [F004], and those of reading.
Result<DiffReport> Diff(const std::string& left, const std::string& right, const DiffFilesOptions& options,
                        Progress& progress);
// What a command prints.
std::string Rendered(const DiffReport& report, const std::string& left, const std::string& right, DiffFormat format);

// Of one kind.
Result<DiffReport> DiffModuleFiles(const DiffSide& left, const DiffSide& right, const DiffFilesOptions& options,
                                   Progress& progress);
Result<DiffReport> DiffDumps(const std::string& left, const std::string& right, const DiffFilesOptions& options);
Result<DiffReport> DiffBundles(const std::string& left, const std::string& right, const DiffFilesOptions& options);
Result<DiffReport> DiffArrayFiles(const std::string& left, const std::string& right, const DiffFilesOptions& options);
Result<DiffReport> DiffProfiles(const std::string& left, const std::string& right, const DiffFilesOptions& options);
Result<DiffReport> DiffLocks(const std::string& left, const std::string& right, const DiffFilesOptions& options);

// The files of a directory that --profile_json wrote, by name.
Result<std::vector<std::string>> ProfilesIn(const std::string& directory);

// Both modules on the same arguments: their results, and how long they take, by turns.
Result<DiffReport> DiffValues(const DiffSide& left, const DiffSide& right, const DiffFilesOptions& options,
                              Progress& progress);
Result<DiffReport> DiffTimes(const DiffSide& left, const DiffSide& right, const DiffFilesOptions& options,
                             Progress& progress);

// Two modules as they stand: what the structure of a file or of a state of a dump is told by.
Result<DiffReport> DiffStructure(const Module& left, const Module& right, const std::string& left_name,
                                 const std::string& right_name, const DiffFilesOptions& options);
// Of arrays, or results.
DiffReport ReportOf(const Comparison& comparison, const std::string& what);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_DIFF_H_
