// The dump directory: a module before the passes, after each pass that changed it, at the end, and compiled. File names
// follow XLA. New dumps get the next module number, so nothing is overwritten. The index is in dump_index.h:
// docs/reports.md#dumps.
#ifndef HLO_DRIVER_DUMP_DUMP_H_
#define HLO_DRIVER_DUMP_DUMP_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/enum_words.h"
#include "base/result.h"
#include "driver/module_diff.h"
#include "driver/pattern.h"
#include "ir/literal.h"
#include "ir/module.h"
#include "ir/text/printer.h"
#include "passes/pipeline.h"

namespace hlo {

// The addition to the state after a pass.
enum class DumpDiff : uint8_t {
  kInstructions,  // The changes of the pass.
  kUnified,       // A diff from the last dumped state.
  kNone,
};
template <>
struct EnumWords<DumpDiff> {
  static constexpr std::string_view kWords[] = {"instructions", "unified", "none"};
};

struct DumpOptions {
  std::string directory;        // Empty for no dump. "-" is stdout, as in XLA.
  std::string pass_pattern;     // Passes whose modules are dumped. Empty: none.
  std::string module_pattern;   // Empty is all.
  std::string emitter_pattern;  // Selects the kEmitters whose code is dumped. Empty: all, or none for stdout.
  // The forms of each state. Pictures show the entry.
  bool as_text = true, as_proto = false, as_dot = false, as_html = false;
  bool large_constants = true;  // If false, they are printed as {...} and cannot be read back.
  bool disable_metadata = false;
  DumpDiff diff = DumpDiff::kInstructions;
  bool snapshots = false;    // Also dumps module, arguments and results of a run.
  int64_t limit_mib = 1024;  // The limit for one module.

  bool operator==(const DumpOptions&) const = default;
};

inline constexpr std::string_view kEmitters[] = {"llvm", "ptx", "host"};

// Makes a short path component from an untrusted name.
std::string FileNamePart(std::string_view name);

class Dumper {
 public:
  // Does nothing without a directory. Errors: an invalid regular expression (kUsage), a directory that cannot be made
  // or written.
  static Result<Dumper> Make(const DumpOptions& options, const Module& module);

  // False without a dump, and after a failed write or at the limit, which end the dump but not the run.
  bool active() const;
  Status Before(const Module& module);
  void BeforePass(const PassRun& run, const Module& module);
  Status AfterPass(const PassRun& run, const Module& module);
  // `platform`: "cpu" or "sm_9.0_gpu".
  Status After(std::string_view platform, const Module& module);
  Status Snapshot(const Module& module, std::span<const Literal> arguments, const Literal& result);
  // Writes "hlo.passes/1". Called after After(), so that states are kept if space runs out.
  Status Passes(const PipelineReport& report);
  // Writes another file, such as "kernels.json". Thread-safe.
  Status Write(std::string_view suffix, std::string_view bytes);
  std::string FileName(std::string_view suffix) const;
  bool WantsEmitter(std::string_view emitter) const;
  // Writes index.json and index.html.
  Status WriteIndex() const;
  // Returns the notes since the last call: patterns without a match, and why the dump ended.
  std::vector<std::string> TakeNotes();

 private:
  // Extensions and contents of a state's files.
  using Files = std::vector<std::pair<std::string_view, std::string>>;
  Files StateFiles(const Module& module);
  Status WriteState(std::string_view suffix, Files files);
  void NoteMissing(std::string_view flag, const Error& error);
  Status Write(std::string_view suffix, const Files& files);
  void AddFile(std::string_view name, std::string_view bytes) const;
  void AddFileInAnyCase(std::string_view name, std::string_view bytes) const;
  Status Flush(std::string_view next_pass);

  std::string directory_;
  bool to_stdout_ = false;
  std::string prefix_;
  std::optional<Pattern> passes_, emitters_;
  std::string pass_pattern_;
  bool any_pass_ = false, met_pass_ = false;
  std::vector<std::string> notes_;
  std::set<std::string> missing_;
  PrintOptions print_;
  // The state after the last dumped pass. Its file name has the next pass, so it is written later.
  struct Pending {
    int number;
    std::string pipeline, pass;
    Files files;
  };
  std::optional<Pending> pending_;
  DumpDiff diff_ = DumpDiff::kNone;
  std::optional<ModuleLines> lines_;   // The module from which the next diff of instructions starts.
  std::string last_name_, last_text_;  // The text from which the next unified diff starts.
  int64_t first_count_ = 0;            // Number of instructions before the first pass.
  bool as_proto_ = false, as_dot_ = false, as_html_ = false, snapshots_ = false;
  int64_t limit_mib_ = 0;
  struct End {
    std::atomic<bool> is_there = false, by_limit = false;
    std::mutex mutex;
    std::string message;  // The reason, until it is reported.
    int64_t bytes = 0;
  };
  std::shared_ptr<End> end_ = std::make_shared<End>();
};

}  // namespace hlo

#endif  // HLO_DRIVER_DUMP_DUMP_H_
