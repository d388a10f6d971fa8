#include "driver/list_pipelines.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/check.h"
#include "base/text.h"

namespace hlo {
namespace {

constexpr std::string_view kPartitioning = "spmd-partitioner", kEmission = "GPU-ir-emit-prepare", kOutside = "schedule";

class Counter {
 public:
  Counter(const Module& module, const DeviceDescription& device) : module_(module), device_(device) {}

  void Count(const std::vector<PipelineItem>& items, std::string_view stage, bool open) {
    for (const PipelineItem& item : items) {
      switch (item.kind) {
        case PipelineItem::Kind::kPass: Pass(item.pass->name, stage, open); break;
        case PipelineItem::Kind::kTodo: Pass(item.name, stage, open); break;
        case PipelineItem::Kind::kStage: Count(item.items, stage.empty() ? item.name : stage, open); break;
        case PipelineItem::Kind::kGate: Count(item.items, stage, open && item.gate.IsOpen({module_, device_})); break;
      }
    }
  }

  PassCounts Counts() const {
    PassCounts counts{.invocations = invocations_};
    counts.distinct = static_cast<int>(optimizing_.size());
    counts.distinct_one_device = static_cast<int>(
        std::ranges::count_if(optimizing_, [&](std::string_view name) { return elsewhere_.contains(name); }));
    return counts;
  }

 private:
  void Pass(std::string_view name, std::string_view stage, bool open) {
    if (stage == kOutside) return;
    if (stage != kEmission) optimizing_.insert(name);
    if (stage == kPartitioning) return;
    elsewhere_.insert(name);
    invocations_ += open;
  }

  const Module& module_;
  const DeviceDescription& device_;
  std::set<std::string_view> optimizing_, elsewhere_;
  int invocations_ = 0;
};

int64_t PassesOf(const std::vector<PipelineItem>& items) {
  int64_t passes = 0;
  for (const PipelineItem& item : items)
    passes +=
        item.kind == PipelineItem::Kind::kPass || item.kind == PipelineItem::Kind::kTodo ? 1 : PassesOf(item.items);
  return passes;
}

std::string AboutOf(const PipelineItem& item, std::string_view text) {
  std::vector<std::string_view> lines;
  size_t end = text.substr(0, item.range.begin).rfind('\n');
  while (end != std::string_view::npos && end > 0) {
    const size_t begin = text.substr(0, end).rfind('\n') + 1;
    const std::string_view line = Trim(text.substr(begin, end - begin));
    if (!line.starts_with("//")) break;
    lines.insert(lines.begin(), Trim(line.substr(2)));
    end = begin == 0 ? std::string_view::npos : begin - 1;
  }
  const std::string about = Join(lines, " ");
  const size_t stop = about.find_first_of(".:;");
  return about.substr(0, stop);
}

void Append(const std::vector<PipelineItem>& items, const SourceText& source, int depth, int* number,
            std::string* out) {
  for (const PipelineItem& item : items) {
    if (item.kind == PipelineItem::Kind::kGate) Append(item.items, source, depth, number, out);
    if (item.kind != PipelineItem::Kind::kStage) continue;
    const bool counts = depth > 0 || item.name != kOutside;
    *number += counts;
    const std::string name = Str(std::string(static_cast<size_t>(2 * depth), ' '), item.name,
                                 item.repeat.fixed_point ? " (fixed point)" : "");
    const std::string about =
        counts ? AboutOf(item, source.text()) : "not a pipeline of XLA, which schedules outside its pipelines";
    *out += Format("%4s  %-40s %3lld %-6s  %s", counts ? Str(*number).c_str() : "", name.c_str(),
                   static_cast<long long>(PassesOf(item.items)), PassesOf(item.items) == 1 ? "pass" : "passes",
                   about.c_str());
    out->erase(out->find_last_not_of(' ') + 1);
    *out += '\n';
    Append(item.items, source, depth + 1, number, out);
  }
}

}  // namespace

PassCounts CountsOf(const Pipeline& pipeline, const Module& module, const DeviceDescription& device) {
  Counter counter(module, device);
  counter.Count(pipeline.items, "", true);
  return counter.Counts();
}

std::string ToString(const PassCounts& counts) {
  return Str(counts.distinct, " different passes, ", counts.distinct_one_device, " of them on one device, where ",
             counts.invocations, " instances run");
}

std::string PipelineList() {
  const Module of_one_device("");
  std::string out;
  for (const Preset& preset : AllPresets()) {
    const auto pipeline = ParsePipeline(preset.source);
    CHECK(pipeline, pipeline.error().message());
    int number = 0;
    out += Str(out.empty() ? "" : "\n", preset.name, ": ", preset.what, "\n");
    Append(pipeline->items, *preset.source, 0, &number, &out);
    out +=
        Str("      ", ToString(CountsOf(*pipeline, of_one_device, DefaultDevice())), "; a fixed point counts once\n");
  }
  return out;
}

}  // namespace hlo
