// A pipeline as text, the same in files and on the command line (`hlo help pipelines`):
//
//   // A comment.
//   algsimp                                 a pass, by its registered name or its class's
//   fusion{instructions=128}                with options
//   algsimp(fixed-point)                    again until it changes nothing; (fixed-point=9): at most 9 times
//   pipeline simplification(fixed-point) {  a stage: a name for dumps, reports and switches
//     cse, dce
//   }
//   simplification                          the stage of that name of the default pipeline
//   if cc>=8.0 { ... }                      a gate
//   todo(sharding-propagation)              a pass that XLA has and hlokit does not: skipped, and counted
//
// Items stand one behind the other, parted by commas or line ends.
#ifndef HLO_PASSES_PIPELINES_TEXT_H_
#define HLO_PASSES_PIPELINES_TEXT_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/source_text.h"
#include "passes/pass.h"

namespace hlo {

// What a gate asks of the module or the device.
struct GateRow {
  std::string_view name;
  std::string_view what;
  double (*value)(const Module& module, const DeviceDescription& device);
};
std::span<const GateRow> AllGates();

struct Gate {
  const GateRow* row = nullptr;
  std::string_view comparison;  // "==", "!=", "<", "<=", ">", ">=".
  double value = 0;

  bool IsOpen(const Module& module, const DeviceDescription& device) const;
};

// How often something is run.
struct Repeat {
  int most = 1;
  bool fixed_point = false;  // Until it changes nothing, at most `most` times...
  bool stops = false;        // ...and then it may be left unfinished, since the text says so.
};
inline constexpr int kMostRounds = 25;

struct PipelineItem {
  enum class Kind : uint8_t { kPass, kStage, kGate, kTodo };

  Kind kind = Kind::kPass;
  SourceRange range;  // In the text at hand, also of what was taken over from the default pipeline.
  bool is_preset = false;
  Repeat repeat;                    // Of a pass or stage.
  const PassRow* pass = nullptr;    // Of a pass.
  PassOptions options;              // Of a pass.
  Gate gate;                        // Of a gate.
  std::string name;                 // Of a stage; of a pass that is still to be written.
  std::vector<PipelineItem> items;  // Of a stage or gate.
};

struct Pipeline {
  std::shared_ptr<const SourceText> source;
  std::vector<PipelineItem> items;
};

// Errors (usage), at their place: what is not of the grammar; unknown passes, options and gates.
Result<Pipeline> ParsePipeline(std::shared_ptr<const SourceText> source);

// The texts in this folder: "default", "2022".
struct Preset {
  std::string_view name;
  std::string_view what;
  std::shared_ptr<const SourceText> source;
};
std::span<const Preset> AllPresets();
// Null when there is none.
const Preset* FindPreset(std::string_view name);
// By SamePassName, of the default pipeline; null when there is none.
const PipelineItem* FindDefaultStage(std::string_view name);

}  // namespace hlo

#endif  // HLO_PASSES_PIPELINES_TEXT_H_
