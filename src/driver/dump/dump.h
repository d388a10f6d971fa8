// The dump directory: the module before, after each pass that changed it, and after all; what was compiled from it.
// File names are XLA's, so that scripts keep working. Only changed states are written; a directory with older dumps is
// continued at the next module number and nothing is overwritten. index.json and index.html list what lies
// there (dump_index.h): docs/reports.md#dumps.
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
  std::string directory;        // Empty: no dump. "-": texts to stdout, as XLA does.
  std::string pass_pattern;     // Regular expression; empty: no module per pass.
  std::string module_pattern;   // Modules to dump; empty: all.
  std::string emitter_pattern;  // Of kEmitters: which code of the kernels; empty: all.
  // Beside the text, which every state has: a protocol buffer, pictures of the entry.
  bool as_text = true, as_proto = false, as_dot = false, as_html = false;
  bool large_constants = true;  // Else {...}, which does not read back.
  bool disable_metadata = false;
  // Beside a state after a pass: "instructions", what the pass did; "unified", its text against the state that was
  // dumped before it; "none".
  std::string diff = "instructions";
  bool snapshots = false;    // A run with its arguments and its result.
  int64_t limit_mib = 1024;  // Of one module's dump.
};

// Whose code of a kernel is dumped.
inline constexpr std::string_view kEmitters[] = {"llvm", "ptx", "host"};

// Names from strangers become part of a path: one component of it, of sane length.
std::string FileNamePart(std::string_view name);

class Dumper {
 public:
  // Errors: a bad regular expression (kUsage), a directory that cannot be made or written. With no directory the dumper
  // does nothing.
  static Result<Dumper> Make(const DumpOptions& options, const Module& module);

  // Until something cannot be written: that ends the dump, not the run. TakeNotes says so.
  bool active() const;
  Status Before(const Module& module);
  // A pass instance begins, and has ended.
  void BeforePass(const PassRun& run, const Module& module);
  Status AfterPass(const PassRun& run, const Module& module);
  // `platform`: "cpu" or "sm_9.0_gpu".
  Status After(std::string_view platform, const Module& module);
  // A run of the module as it was read.
  Status Snapshot(const Module& module, std::span<const Literal> arguments, const Literal& result);
  // The passes that ran, as JSON ("hlo.passes/1"). Behind After: where room ends, it is the states that are there.
  Status Passes(const PipelineReport& report);
  // Anything else that belongs to this module: "kernels.json", "fusion.3.ptx". May be called from several threads.
  Status Write(std::string_view suffix, std::string_view bytes);
  // "module_0003.jit_f.kernels.json"
  std::string FileName(std::string_view suffix) const;
  bool WantsEmitter(std::string_view emitter) const;
  // index.json and index.html of the whole directory, from the names of its files.
  Status WriteIndex() const;
  // What was not told yet: which patterns met nothing; what ended the dump.
  std::vector<std::string> TakeNotes();

 private:
  // A state of the module as files: of which extension, and what is in them.
  using Files = std::vector<std::pair<std::string_view, std::string>>;
  Files StateFiles(const Module& module);
  // A state whose name is known. Of --dump_diff=unified it gets its diff, and the next one's begins with it.
  Status WriteState(std::string_view suffix, Files files);
  void NoteMissing(std::string_view flag, const Error& error);
  Status Write(std::string_view suffix, const Files& files);
  // A file of the directory. Where it cannot be written, or is beyond the limit, the dump ends.
  void Put(std::string_view name, std::string_view bytes) const;
  void PutInAnyCase(std::string_view name, std::string_view bytes) const;
  Status Flush(std::string_view next_pass);

  std::string directory_;
  bool to_stdout_ = false;
  std::string prefix_;  // module_0003.jit_f
  std::optional<Pattern> passes_, emitters_;
  std::string pass_pattern_;
  bool any_pass_ = false, met_pass_ = false;
  std::vector<std::string> notes_;
  std::set<std::string> missing_;  // Flags whose files were not all written.
  PrintOptions print_;
  // The state after the last dumped pass waits for the name of the pass that comes next: it is part of the file name.
  struct Pending {
    int number;
    std::string pipeline, pass;
    Files files;
  };
  std::optional<Pending> pending_;
  std::string diff_;
  std::optional<ModuleLines> lines_;   // The module as it is now, where a diff of instructions begins with it.
  std::string last_name_, last_text_;  // The last state that was dumped, where a unified diff begins with it.
  int64_t first_count_ = 0;            // Instructions before the first pass.
  bool as_proto_ = false, as_dot_ = false, as_html_ = false, snapshots_ = false;
  int64_t limit_mib_ = 0;
  struct End {
    std::atomic<bool> is_there = false, by_limit = false;
    std::mutex mutex;
    std::string message;  // Why, until it is told.
    int64_t bytes = 0;    // Written so far.
  };
  std::shared_ptr<End> end_ = std::make_shared<End>();
};

}  // namespace hlo

#endif  // HLO_DRIVER_DUMP_DUMP_H_
