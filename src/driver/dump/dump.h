// The dump directory: the module before the passes, after each pass that changed it, and at the end, and the compiled
// code. File names follow XLA, so that scripts keep working. A directory with older dumps is continued with the next
// module number, and nothing is overwritten. index.json and index.html list the files (dump_index.h):
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

#include "base/result.h"
#include "driver/module_diff.h"
#include "driver/pattern.h"
#include "ir/literal.h"
#include "ir/module.h"
#include "ir/text/printer.h"
#include "passes/pipeline.h"

namespace hlo {

struct DumpOptions {
  std::string directory;        // Empty for no dump. "-" prints texts to stdout, as in XLA.
  std::string pass_pattern;     // A regular expression; empty dumps no module per pass.
  std::string module_pattern;   // The modules to dump; empty is all.
  std::string emitter_pattern;  // Selects the code of kernels from kEmitters; empty is all.
  // In addition to the text of every state: a protocol buffer, and pictures of the entry.
  bool as_text = true, as_proto = false, as_dot = false, as_html = false;
  bool large_constants = true;  // Otherwise {...}, which does not read back.
  bool disable_metadata = false;
  // In addition to a state after a pass: "instructions" (the changes of the pass), "unified" (the text compared with
  // the state dumped before), or "none".
  std::string diff = "instructions";
  bool snapshots = false;    // Dumps runs with arguments and results.
  int64_t limit_mib = 1024;  // For the dump of one module.
};

// The emitters whose code can be dumped.
inline constexpr std::string_view kEmitters[] = {"llvm", "ptx", "host"};

// Turns an untrusted name into a path component of reasonable length.
std::string FileNamePart(std::string_view name);

class Dumper {
 public:
  // Errors: an invalid regular expression (kUsage), or a directory that cannot be made or written. Does nothing without
  // a directory.
  static Result<Dumper> Make(const DumpOptions& options, const Module& module);

  // False after a failed write, which ends the dump but not the run. TakeNotes has the reason.
  bool active() const;
  Status Before(const Module& module);
  // Called before and after each pass instance.
  void BeforePass(const PassRun& run, const Module& module);
  Status AfterPass(const PassRun& run, const Module& module);
  // `platform` is "cpu" or "sm_9.0_gpu".
  Status After(std::string_view platform, const Module& module);
  // Dumps a run of the module as it was read.
  Status Snapshot(const Module& module, std::span<const Literal> arguments, const Literal& result);
  // Dumps the passes that ran as JSON ("hlo.passes/1"). Called after After(), so that the states are kept if space runs
  // out.
  Status Passes(const PipelineReport& report);
  // Dumps other files of this module: "kernels.json", "fusion.3.ptx". Thread-safe.
  Status Write(std::string_view suffix, std::string_view bytes);
  // "module_0003.jit_f.kernels.json"
  std::string FileName(std::string_view suffix) const;
  bool WantsEmitter(std::string_view emitter) const;
  // Writes index.json and index.html for the whole directory, from the names of its files.
  Status WriteIndex() const;
  // New notes: patterns without a match, and the reason why the dump ended.
  std::vector<std::string> TakeNotes();

 private:
  // The files of a state: extension and contents.
  using Files = std::vector<std::pair<std::string_view, std::string>>;
  Files StateFiles(const Module& module);
  // Writes a state with a known name, and for --dump_diff=unified its diff from the previous state.
  Status WriteState(std::string_view suffix, Files files);
  void NoteMissing(std::string_view flag, const Error& error);
  Status Write(std::string_view suffix, const Files& files);
  // Writes a file to the directory. A failure or the limit ends the dump.
  void AddFile(std::string_view name, std::string_view bytes) const;
  void AddFileInAnyCase(std::string_view name, std::string_view bytes) const;
  Status Flush(std::string_view next_pass);

  std::string directory_;
  bool to_stdout_ = false;
  std::string prefix_;  // Such as module_0003.jit_f.
  std::optional<Pattern> passes_, emitters_;
  std::string pass_pattern_;
  bool any_pass_ = false, met_pass_ = false;
  std::vector<std::string> notes_;
  std::set<std::string> missing_;  // Flags with incomplete files.
  PrintOptions print_;
  // The state after the last dumped pass. It is written later, because its file name contains the next pass.
  struct Pending {
    int number;
    std::string pipeline, pass;
    Files files;
  };
  std::optional<Pending> pending_;
  std::string diff_;
  std::optional<ModuleLines> lines_;   // The current module, as the start of the next diff of instructions.
  std::string last_name_, last_text_;  // The last dumped state, as the start of the next unified diff.
  int64_t first_count_ = 0;            // Number of instructions before the first pass.
  bool as_proto_ = false, as_dot_ = false, as_html_ = false, snapshots_ = false;
  int64_t limit_mib_ = 0;
  struct End {
    std::atomic<bool> is_there = false, by_limit = false;
    std::mutex mutex;
    std::string message;  // The reason, until it is reported.
    int64_t bytes = 0;    // Bytes written so far.
  };
  std::shared_ptr<End> end_ = std::make_shared<End>();
};

}  // namespace hlo

#endif  // HLO_DRIVER_DUMP_DUMP_H_
