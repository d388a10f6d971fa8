#include "gpu/runtime/tuning/reuse.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "gpu/runtime/prepare.h"
#include "gpu/runtime/values.h"
#include "ir/analysis/cost.h"

namespace hlo::gpu {
namespace {

struct Touch {
  int array;
  int64_t bytes;
  int reader;  // Id of the step, or -1 for a write.
};

// Values that control flow passes on are one array: they share memory or are copied.
class Arrays {
 public:
  explicit Arrays(const Values& values) : same_as_(values.values.size()) {
    std::iota(same_as_.begin(), same_as_.end(), 0);
    for (const Merge& merge : values.merges) same_as_[ArrayOf(merge.from)] = ArrayOf(merge.to);
  }
  int ArrayOf(int value) {
    while (same_as_[value] != value) value = same_as_[value] = same_as_[same_as_[value]];
    return value;
  }

 private:
  std::vector<int> same_as_;
};

class Tracer {
 public:
  explicit Tracer(const Module& module) : module_(module), values_(FindValues(module, {})), arrays_(values_) {}

  std::vector<Touch> Trace() {
    constexpr int kRuns = 2;
    for (int run = 0; run < kRuns; ++run) Walk(module_.entry(), 0);
    return std::move(touches_);
  }

  int64_t BytesOf(int array) const { return values_.values[array].bytes; }
  size_t count() const { return values_.values.size(); }

 private:
  void Walk(const Computation& computation, int loops) {
    // Loops are walked for two trips, or one trip if inside kMostLoops others.
    constexpr int kMostLoops = 4;
    for (const Instruction* inst : RunOrder(computation)) {
      if (inst->Is(kControl)) {
        const bool is_loop = inst->Is(Opcode::kWhile);
        for (int trip = 0; trip < (is_loop && loops < kMostLoops ? 2 : 1); ++trip) {
          for (const Computation* called : CalledComputations(*inst)) Walk(*called, loops + is_loop);
        }
      } else if (IsStep(*inst)) {
        AddStep(*inst);
      }
    }
  }

  void AddStep(const Instruction& inst) {
    for (int64_t i = 0; i < inst.operand_count(); ++i) {
      const Instruction& operand = inst.operand(i);
      if (std::ranges::find(inst.operands(), &operand) - inst.operands().begin() < i) continue;
      const auto read = static_cast<int64_t>(BytesRead(inst, i));
      AddAll(operand, read, inst.id());
    }
    AddAll(inst, static_cast<int64_t>(BytesWritten(inst)), -1);
  }

  void AddAll(const Instruction& inst, int64_t most, int reader) {
    for (const int value : values_.of_instruction[inst.id()]) {
      const int array = arrays_.ArrayOf(value);
      const int64_t bytes = std::min(most, BytesOf(array));
      if (bytes > 0) touches_.push_back({array, bytes, reader});
    }
  }

  const Module& module_;
  const Values values_;
  Arrays arrays_;
  std::vector<Touch> touches_;
};

// Counts bytes by the time of their last access, in a Fenwick tree.
class Timeline {
 public:
  explicit Timeline(size_t times) : sums_(times + 1, 0) {}
  void Add(int64_t time, int64_t bytes) {
    all_ += bytes;
    for (size_t i = time + 1; i < sums_.size(); i += i & -i) sums_[i] += bytes;
  }
  int64_t After(int64_t time) const {
    int64_t until = 0;
    for (size_t i = time + 1; i > 0; i -= i & -i) until += sums_[i];
    return all_ - until;
  }

 private:
  std::vector<int64_t> sums_;
  int64_t all_ = 0;
};

// Parts of an array by last access, oldest first. A step is assumed to access the oldest parts.
class Parts {
 public:
  explicit Parts(int64_t bytes) : untouched_(bytes) {}

  // Returns the bytes that had left the cache.
  int64_t Touch(int64_t time, int64_t bytes, int64_t cache_bytes, Timeline& timeline) {
    int64_t gone = 0, left = bytes;
    if (const int64_t first = std::min(left, untouched_); first > 0) {
      // The traced trips access these bytes for the first time. In a long loop an earlier trip accessed them, and then
      // the rest of the array.
      if (parts_.empty() || timeline.After(parts_.front().time) + untouched_ - first >= cache_bytes) gone += first;
      untouched_ -= first;
      left -= first;
    }
    while (left > 0) {
      Part& oldest = parts_.front();
      const int64_t some = std::min(left, oldest.bytes);
      if (timeline.After(oldest.time) >= cache_bytes) gone += some;
      timeline.Add(oldest.time, -some);
      oldest.bytes -= some;
      left -= some;
      if (oldest.bytes == 0) parts_.pop_front();
    }
    timeline.Add(time, bytes);
    parts_.push_back({time, bytes});
    return gone;
  }

 private:
  struct Part {
    int64_t time, bytes;
  };
  int64_t untouched_;
  std::deque<Part> parts_;
};

}  // namespace

std::unordered_set<int> ColdSteps(const Module& module, int64_t cache_bytes) {
  struct Read {
    int64_t bytes = 0, gone = 0;
  };
  Tracer tracer(module);
  const std::vector<Touch> touches = tracer.Trace();
  std::vector<Parts> arrays;
  for (size_t i = 0; i < tracer.count(); ++i) arrays.emplace_back(tracer.BytesOf(static_cast<int>(i)));
  std::unordered_map<int, Read> reads;
  Timeline timeline(touches.size());
  for (size_t time = 0; time < touches.size(); ++time) {
    const auto& [array, bytes, reader] = touches[time];
    const int64_t gone = arrays[array].Touch(static_cast<int64_t>(time), bytes, cache_bytes, timeline);
    if (reader < 0) continue;
    Read& read = reads[reader];
    if (time == 0 || touches[time - 1].reader != reader) read = {};
    read.bytes += bytes;
    read.gone += gone;
  }
  std::unordered_set<int> cold;
  for (const auto& [step, read] : reads) {
    if (2 * read.gone > read.bytes) cold.insert(step);
  }
  return cold;
}

}  // namespace hlo::gpu
