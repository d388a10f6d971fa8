#ifndef HLO_DRIVER_LOAD_H_
#define HLO_DRIVER_LOAD_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/enum_words.h"
#include "base/result.h"
#include "ir/module.h"
#include "ir/verifier/verifier.h"
#include "parser/read_proto.h"

namespace hlo {

template <>
struct EnumWords<VerifyLevel> {
  static constexpr std::string_view kWords[] = {"off", "default", "strict"};
};

// For constant({...}), see FillElided.
enum class ElidedValues : uint8_t { kKeep, kError, kRandom, kZeros, kIota };
template <>
struct EnumWords<ElidedValues> {
  static constexpr std::string_view kWords[] = {"keep", "error", "random", "zeros", "iota"};
};

struct LoadOptions {
  VerifyLevel verify = VerifyLevel::kDefault;
  int64_t max_input = int64_t{2} << 30;
  int64_t max_depth = 8192;
  int64_t max_errors = 20;
  ElidedValues fill_elided_constants = ElidedValues::kKeep;
  int64_t num_replicas = 0, num_partitions = 0;  // 0 keeps the header's counts.
  bool split_input_file = false;                 // Modules are separated by lines that start with "// -----".
  bool subdirectories = false;
  bool one_state = false;  // For each dumped module, reads only the recorded runs, or its first state if there are
                           // none.
  // Set if the module is not run, rewritten or counted, so that --verify=off disables all checks. Otherwise it disables
  // only warnings, because evaluation and passes rely on the default rules.
  bool text_only = false;

  bool operator==(const LoadOptions&) const = default;
};

ParseOptions ParseOptionsOf(const LoadOptions& options);

// Reads HLO text or a protocol buffer. "-" is stdin, and FILE#2 the second module of a file. A nameless module gets the
// file's name. `warnings` may be null.
Result<std::unique_ptr<Module>> LoadModule(const std::string& path, const LoadOptions& options = {},
                                           std::vector<Diagnostic>* warnings = nullptr);

Result<std::unique_ptr<Module>> LoadModule(const std::shared_ptr<const SourceText>& text,
                                           const LoadOptions& options = {},
                                           std::vector<Diagnostic>* warnings = nullptr);

// Returns the number of filled constants. `memory_limit` bounds their bytes (P093). 0 allows three quarters of the
// memory.
Result<int64_t> FillElided(Module& module, const LoadOptions& options, uint64_t seed, int64_t memory_limit = 0);
std::string FilledText(int64_t count, const LoadOptions& options);

// A line such as "3 warnings: W004, W010; ...", or "".
std::string SummaryOf(std::span<const Diagnostic> warnings, const std::string& path);

// Files become FILE#1, FILE#2, ... if options.split_input_file. Directories become their .hlo, .txt, .pb and .pbtxt
// files, sorted, and @LIST the paths in LIST. Globs are expanded. `notes`, if not null, receives a sentence about
// states that options.one_state omits.
Result<std::vector<std::string>> ExpandPaths(std::span<const std::string> paths, const LoadOptions& options = {},
                                             std::vector<std::string>* notes = nullptr);

// A module's state in a dump directory of XLA or hlo-run, by file name.
struct DumpedState {
  enum class Kind : uint8_t { kRecording, kBefore, kAfter, kPass };  // A smaller kind is preferred as the first state.
  Kind kind = Kind::kPass;
  std::string module;  // "module_0001.jit_f", unique in its directory.
  std::string title;   // "0001.jit_f.execution_0000" for a recorded run.
};
std::optional<DumpedState> DumpedStateOf(std::string_view file_name);

// From the worst code on: 130, 70, 6, 5, 4, 3, 1, 7, 2, 0 (docs/reports.md#exit-codes).
ExitCode WorseOf(ExitCode a, ExitCode b);

}  // namespace hlo

#endif  // HLO_DRIVER_LOAD_H_
