// Prints passes as they run: modules before and after, changes, and a line for each instance.
#ifndef HLO_DRIVER_PASS_WATCH_H_
#define HLO_DRIVER_PASS_WATCH_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_words.h"
#include "base/result.h"
#include "driver/module_diff.h"
#include "passes/pipeline.h"
#include "passes/pipelines/selectors.h"

namespace hlo {

enum class PrintChanged : uint8_t { kNone, kFull, kDiff, kColoredDiff };
template <>
struct EnumWords<PrintChanged> {
  static constexpr std::string_view kWords[] = {"none", "full", "diff", "cdiff"};
};

struct PassWatchOptions {
  // Names as for --xla_disable_hlo_passes, or "all". nullopt prints none.
  std::optional<std::string> print_before, print_after;
  PrintChanged print_changed = PrintChanged::kNone;
  bool print_pass_instances = false;
  bool color = false;  // For kDiff.

  bool prints_diffs() const { return print_changed >= PrintChanged::kDiff; }
};

class PassWatch {
 public:
  // Errors (usage): unknown names.
  static Result<PassWatch> Make(const PassWatchOptions& options, const PipelineOptions& pipeline,
                                std::function<Result<std::string>(const Module&)> print);

  // Begin precedes a pipeline, which Before and After observe. All output goes to stderr.
  void Begin(const Module& module);
  Status Before(const PassRun& run, const Module& module);
  Status After(const PassRun& run, const Module& module);
  // Requests that matched nothing: "--print_after=dce: no pass of that name ran".
  std::vector<std::string> Notes() const;

 private:
  struct Names {
    std::string_view flag;
    std::string text;
    bool all = false, met = false;
    std::vector<Selector> selectors;
    bool Have(const PassRun& run);
  };
  static Result<std::optional<Names>> NamesOf(std::string_view flag, const std::optional<std::string>& text,
                                              const PipelineOptions& pipeline);

  PassWatchOptions options_;
  std::function<Result<std::string>(const Module&)> print_;
  std::optional<Names> before_, after_;
  ModuleLines last_;
};

}  // namespace hlo

#endif  // HLO_DRIVER_PASS_WATCH_H_
