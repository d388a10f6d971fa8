// A pipeline as text, with passes, stages and gates. `hlo help pipelines` explains the grammar.
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

struct GateInput {
  const Module& module;
  const DeviceDescription& device;
  bool partitions = false;  // PipelineOptions::partitions
};

// A value that a gate compares.
struct GateRow {
  std::string_view name;
  std::string_view what;
  double (*value)(const GateInput& input);
};
std::span<const GateRow> AllGates();

struct Gate {
  const GateRow* row = nullptr;
  std::string_view comparison;  // "==", "!=", "<", "<=", ">", ">=".
  double value = 0;

  bool IsOpen(const GateInput& input) const;
};

struct Repeat {
  int most = 1;
  bool fixed_point = false;  // Repeats until nothing changes, `most` times at most.
  bool stops = false;        // (fixed-point=N): ending before the fixed point is no error.
};
inline constexpr int kMostRounds = 25;

struct PipelineItem {
  enum class Kind : uint8_t { kPass, kStage, kGate, kTodo };

  Kind kind = Kind::kPass;
  SourceRange range;  // Place in the pipeline's text, also for items from the default pipeline.
  bool is_preset = false;
  Repeat repeat;  // For passes and stages.
  const PassRow* pass = nullptr;
  PassOptions options;
  Gate gate;
  std::string name;                 // Name of a stage, or of a pass that hlokit lacks.
  std::vector<PipelineItem> items;  // For a stage or gate.
};

struct Pipeline {
  std::shared_ptr<const SourceText> source;
  std::vector<PipelineItem> items;
};

// Usage errors with a place: syntax errors, unknown passes, options and gates.
Result<Pipeline> ParsePipeline(std::shared_ptr<const SourceText> source);

// A pipeline text in this folder.
struct Preset {
  std::string_view name;
  std::string_view what;
  std::shared_ptr<const SourceText> source;
};
std::span<const Preset> AllPresets();
const Preset* FindPreset(std::string_view name);
// SamePassName compares names. Null if there is none.
const PipelineItem* FindDefaultStage(std::string_view name);

}  // namespace hlo

#endif  // HLO_PASSES_PIPELINES_TEXT_H_
