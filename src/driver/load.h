// Loads and verifies a module from a path.
#ifndef HLO_DRIVER_LOAD_H_
#define HLO_DRIVER_LOAD_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/module.h"
#include "ir/verifier/verifier.h"
#include "parser/read_proto.h"

namespace hlo {

struct LoadOptions {
  std::string verify = "default";  // strict, default, off
  int64_t max_input = int64_t{2} << 30;
  int64_t max_depth = 8192;
  int64_t max_errors = 20;  // For one text.
  // For constant({...}): keep, error, or values to fill in: random, zeros, iota (FillElided).
  std::string fill_elided_constants = "keep";
  int64_t num_replicas = 0, num_partitions = 0;  // Replaces the header's counts; 0 keeps them.
  bool split_input_file = false;                 // Lines that start with "// -----" separate the modules of a file.
  bool subdirectories = false;                   // A directory includes its subdirectories.
  bool one_state = false;                        // For a module dumped in a directory, only its first state.
  // If nothing is run, rewritten or counted, --verify=off disables all checks. Otherwise it disables only warnings,
  // because evaluation and passes rely on the default rules (dimensions in range, for example).
  bool text_only = false;

  bool operator==(const LoadOptions&) const = default;
};

ParseOptions ParseOptionsOf(const LoadOptions& options);
VerifyLevel VerifyLevelOf(const LoadOptions& options);

// Reads HLO text or a protocol buffer and verifies it. "-" is stdin, and FILE#2 is the second module of a file. A
// module without a name gets the file's name. `warnings`, if not null, receives valid but rarely intended findings in
// the order of the text, unless verification is off.
Result<std::unique_ptr<Module>> LoadModule(const std::string& path, const LoadOptions& options = {},
                                           std::vector<Diagnostic>* warnings = nullptr);

// The same for a text.
Result<std::unique_ptr<Module>> LoadModule(const std::shared_ptr<const SourceText>& text,
                                           const LoadOptions& options = {},
                                           std::vector<Diagnostic>* warnings = nullptr);

// Fills elided constants according to options.fill_elided_constants and returns their number. `memory_limit` bounds
// their bytes; 0 is three quarters of the memory. Error: P093 for the limit.
Result<int64_t> FillElided(Module& module, const LoadOptions& options, uint64_t seed, int64_t memory_limit = 0);
// "3 elided constants filled with made-up values (--fill_elided_constants=random)".
std::string FilledText(int64_t count, const LoadOptions& options);

// "3 warnings: W004, W010; hlo check FILE says more", or "".
std::string SummaryOf(std::span<const Diagnostic> warnings, const std::string& path);

// Expands `paths` to files. A file with several modules becomes FILE#1, FILE#2, ... if options.split_input_file. A
// directory becomes its .hlo, .txt, .pb and .pbtxt files, sorted, including subdirectories if options.subdirectories.
// @LIST becomes the paths in the file LIST. Globs are expanded. `notes`, if not null, gets a sentence about dumps that
// options.one_state omits.
Result<std::vector<std::string>> ExpandPaths(std::span<const std::string> paths, const LoadOptions& options = {},
                                             std::vector<std::string>* notes = nullptr);

// The file name of a state of a module in a dump directory, written by XLA or hlo-run.
struct DumpedState {
  enum class Kind : uint8_t { kRecording, kBefore, kAfter, kPass };  // In the order of preference for the first state.
  Kind kind = Kind::kPass;
  std::string module;  // "module_0001.jit_f", unique in its directory.
  std::string title;   // "0001.jit_f.execution_0000" for a recorded run, "0001.jit_f" for a module before the passes.
};
std::optional<DumpedState> DumpedStateOf(std::string_view file_name);

// The worse of two exit codes, in the order 130, 70, 6, 5, 4, 3, 1, 7, 2, 0 (docs/reports.md#exit-codes).
ExitCode WorseOf(ExitCode a, ExitCode b);

}  // namespace hlo

#endif  // HLO_DRIVER_LOAD_H_
