// From a path to a verified module.
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
  int64_t max_errors = 20;  // Of one text.
  // Of constant({...}): keep them, error, or what to fill them with: random, zeros, iota (FillElided).
  std::string fill_elided_constants = "keep";
  int64_t num_replicas = 0, num_partitions = 0;  // In place of the header's counts; 0: those.
  bool split_input_file = false;                 // Lines that begin with "// -----" part a file into modules.
  bool subdirectories = false;                   // A directory means those in it too.
  bool one_state = false;                        // Of a module that was dumped in a directory, its first state alone.
  // Nothing is run, rewritten or counted: --verify=off leaves everything out. Elsewhere it leaves out the warnings
  // alone, since evaluation and passes take the rules of the default level for granted (dimensions in range, say).
  bool text_only = false;

  bool operator==(const LoadOptions&) const = default;
};

ParseOptions ParseOptionsOf(const LoadOptions& options);
VerifyLevel VerifyLevelOf(const LoadOptions& options);

// Reads HLO text or a protocol buffer and verifies. "-" is stdin, FILE#2 the second module of a file of several. A
// module that its file does not name gets the file's name. `warnings`, where wanted, gets what is valid and seldom
// meant, in the order of the text; none when nothing is verified.
Result<std::unique_ptr<Module>> LoadModule(const std::string& path, const LoadOptions& options = {},
                                           std::vector<Diagnostic>* warnings = nullptr);

// The same of a text at hand.
Result<std::unique_ptr<Module>> LoadModule(const std::shared_ptr<const SourceText>& text,
                                           const LoadOptions& options = {},
                                           std::vector<Diagnostic>* warnings = nullptr);

// What options.fill_elided_constants has the elided constants become; how many there were. `memory_limit` bounds their
// bytes, 0: three quarters of the machine. Errors: [P093] the limit.
Result<int64_t> FillElided(Module& module, const LoadOptions& options, uint64_t seed, int64_t memory_limit = 0);
// "3 elided constants filled with made-up values (--fill_elided_constants=random)"
std::string FilledText(int64_t count, const LoadOptions& options);

// "3 warnings: W004, W010; hlo check FILE says more", or nothing.
std::string SummaryOf(std::span<const Diagnostic> warnings, const std::string& path);

// The files that `paths` stand for. A file with several modules becomes FILE#1, FILE#2, ... if options.split_input_file
// is set. A directory stands for its modules in .hlo, .txt, .pb and .pbtxt files, sorted, with those of its directories
// if options.subdirectories is set. @LIST stands for the paths in the file LIST. Globs are expanded. `notes`, if not
// null, gets a sentence on the dumps that options.one_state leaves out.
Result<std::vector<std::string>> ExpandPaths(std::span<const std::string> paths, const LoadOptions& options = {},
                                             std::vector<std::string>* notes = nullptr);

// A file name that XLA or hlo-run gave to a state of a module in a dump directory.
struct DumpedState {
  enum class Kind : uint8_t { kRecording, kBefore, kAfter, kPass };  // The first ones are the first states.
  Kind kind = Kind::kPass;
  std::string module;  // "module_0001.jit_f", which is one module's in its directory.
  std::string title;   // "0001.jit_f.execution_0000" of a recorded run, "0001.jit_f" of a module before the passes.
};
std::optional<DumpedState> DumpedStateOf(std::string_view file_name);

// The worse of two exit codes, in the order 130, 70, 6, 5, 4, 3, 1, 7, 2, 0 (docs/reports.md#exit-codes).
ExitCode WorseOf(ExitCode a, ExitCode b);

}  // namespace hlo

#endif  // HLO_DRIVER_LOAD_H_
