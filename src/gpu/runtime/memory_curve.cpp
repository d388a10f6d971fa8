#include "gpu/runtime/memory_curve.h"

#include <algorithm>
#include <map>

#include "gpu/device/device.h"
#include "gpu/runtime/program.h"

namespace hlo::gpu {
namespace {

// Arena buffers are padded, outputs are not.
int64_t BytesIn(Area area, int64_t bytes) { return area == Area::kOutput ? bytes : AlignedBytes(bytes); }

bool HoldsAt(const std::vector<Interval>& live, int64_t unit) {
  return std::ranges::any_of(live, [&](const Interval& part) { return part.begin <= unit && unit <= part.end; });
}

std::vector<std::vector<int>> ValuesOfBuffers(const BufferPlan& plan) {
  std::vector<std::vector<int>> values;
  for (size_t v = 0; v < plan.buffer_of.size(); ++v) {
    const Area area = plan.place_of[v].area;
    if (plan.buffer_of[v] < 0 || (area != Area::kArena && area != Area::kOutput)) continue;
    if (std::ssize(values) <= plan.buffer_of[v]) values.resize(plan.buffer_of[v] + 1);
    values[plan.buffer_of[v]].push_back(static_cast<int>(v));
  }
  std::erase_if(values, [](const auto& buffer) { return buffer.empty(); });
  return values;
}

// Disjoint intervals in which the buffer is live.
std::vector<Interval> LivesOf(const BufferPlan& plan, const std::vector<int>& buffer) {
  std::vector<Interval> all, lives;
  for (const int v : buffer) {
    const std::vector<Interval>& live = plan.values.values[v].live;
    all.insert(all.end(), live.begin(), live.end());
  }
  std::ranges::sort(all, {}, &Interval::begin);
  for (const Interval& live : all) {
    if (!lives.empty() && live.begin <= lives.back().end + 1) lives.back().end = std::max(lives.back().end, live.end);
    else lives.push_back(live);
  }
  return lives;
}

}  // namespace

MemoryCurve CurveOf(const BufferPlan& plan) {
  MemoryCurve curve;
  curve.at.resize(std::max<int64_t>(1, plan.values.positions));
  // A position has the bytes of its fullest unit.
  const std::vector<std::vector<int>> buffers = ValuesOfBuffers(plan);
  std::map<int64_t, MemoryPoint> changes;
  for (const std::vector<int>& buffer : buffers) {
    const Area area = plan.place_of[buffer.front()].area;
    const int64_t bytes = BytesIn(area, plan.values.values[buffer.front()].bytes);
    const auto part = area == Area::kOutput ? &MemoryPoint::outputs : &MemoryPoint::temporaries;
    for (const Interval& live : LivesOf(plan, buffer)) {
      changes[live.begin].*part += bytes;
      changes[live.end + 1].*part -= bytes;
    }
  }
  MemoryPoint now;
  int64_t unit = 0, peak_unit = 0, peak_bytes = -1;
  const auto pass_until = [&](int64_t end) {
    for (int64_t position = unit / 4; position < std::ssize(curve.at) && 4 * position < end; ++position) {
      if (now.bytes() > curve.at[position].bytes()) curve.at[position] = now;
    }
    if (end > unit && now.bytes() > peak_bytes) peak_bytes = now.bytes(), peak_unit = unit;
    unit = end;
  };
  for (const auto& [next, change] : changes) {
    pass_until(next);
    now.temporaries += change.temporaries;
    now.outputs += change.outputs;
  }
  pass_until(4 * std::ssize(curve.at));
  curve.peak = std::min(peak_unit / 4, std::ssize(curve.at) - 1);
  for (const std::vector<int>& buffer : buffers) {
    const std::vector<Interval> lives = LivesOf(plan, buffer);
    const auto held = std::ranges::find_if(
        lives, [&](const Interval& live) { return live.begin <= peak_unit && peak_unit <= live.end; });
    if (held == lives.end()) continue;
    const BufferedValue* holder = &plan.values.values[buffer.front()];
    for (const int v : buffer) {
      if (HoldsAt(plan.values.values[v].live, peak_unit)) holder = &plan.values.values[v];
    }
    const Area area = plan.place_of[buffer.front()].area;
    curve.at_peak.push_back(
        {holder, BytesIn(area, holder->bytes), area == Area::kOutput, held->begin / 4, held->end / 4});
  }
  std::ranges::stable_sort(curve.at_peak, std::greater<>(), &HeldBuffer::bytes);
  return curve;
}

MemoryCurve CurveOf(const Program& program) {
  MemoryCurve curve = CurveOf(program.buffers);
  for (const StepInfo& step : program.steps)
    curve.position_of_step.push_back(program.buffers.values.position_of[step.instruction->id()]);
  return curve;
}

}  // namespace hlo::gpu
