#include "base/check.h"
#include "base/embed.h"
#include "passes/pipelines/text.h"

HLO_EMBED(hlo_pipeline_default, "src/passes/pipelines/default.txt");
HLO_EMBED(hlo_pipeline_2022, "src/passes/pipelines/2022.txt");

extern "C" {
extern const char hlo_pipeline_default[], hlo_pipeline_default_end[];
extern const char hlo_pipeline_2022[], hlo_pipeline_2022_end[];
}

namespace hlo {
namespace {

Preset Embedded(std::string_view name, std::string_view what, const char* begin, const char* end) {
  return {name, what, std::make_shared<const SourceText>(std::string(name), std::string(begin, end))};
}

}  // namespace

std::span<const Preset> AllPresets() {
  static const Preset kPresets[] = {
      Embedded("default", "the pipeline that runs by default", hlo_pipeline_default, hlo_pipeline_default_end),
      Embedded("2022", "the pipeline of XLA:GPU in January 2022, pass by pass", hlo_pipeline_2022,
               hlo_pipeline_2022_end),
  };
  return kPresets;
}

const Preset* FindPreset(std::string_view name) {
  for (const Preset& preset : AllPresets()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

const PipelineItem* FindDefaultStage(std::string_view name) {
  static const Pipeline kDefault = [] {
    auto parsed = ParsePipeline(FindPreset("default")->source);
    CHECK(parsed, parsed.error().message());
    return std::move(*parsed);
  }();
  for (const PipelineItem& item : kDefault.items) {
    if (item.kind == PipelineItem::Kind::kStage && SamePassName(item.name, name)) return &item;
  }
  return nullptr;
}

}  // namespace hlo
