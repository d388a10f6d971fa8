// The lock file of autotuning: the fastest measured plans, one on each line (docs/files.md#autotune-locks).
//
// A header applies up to the next one. If several lines have the same key, the first is used.
#ifndef HLO_GPU_RUNTIME_TUNING_LOCK_H_
#define HLO_GPU_RUNTIME_TUNING_LOCK_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/source_text.h"

namespace hlo::gpu {

struct LockContext {
  std::string tool, device;
  std::map<std::string, std::string> libraries;  // Versions of the libraries that modules needed.

  // Ignores library versions, because keys of steps with a library contain them.
  bool SamePlace(const LockContext& other) const { return tool == other.tool && device == other.device; }
};

struct Decision {
  std::string category;     // "gemm", "convolution", "fusion".
  std::string signature;    // Shapes, for people.
  std::string choice;       // See choice.h.
  double microseconds = 0;  // Median of `samples` times.
  double spread = 0;        // Half of the interquartile range.
  int64_t samples = 0;
  std::string check = "ok";  // See TuningHooks::Answer (race.h).
  std::string key;           // 16 hexadecimal digits.

  bool operator==(const Decision&) const = default;
};

class Lock {
 public:
  struct Section {
    LockContext context;
    std::map<std::string, Decision> decisions;
  };

  // Errors (A026, at the line): no header at the start, an invalid line or key.
  static Result<Lock> Parse(std::shared_ptr<const SourceText> source);
  // Empty if the file does not exist.
  static Result<Lock> ReadIfThere(const std::string& path);

  std::string ToString() const;
  const std::vector<Section>& sections() const { return sections_; }
  int64_t size() const;

  const Decision* Find(const LockContext& context, std::string_view key) const;
  void SetDecision(const LockContext& context, Decision decision);
  Lock Only(const std::function<bool(const Decision&)>& keeps) const;
  // Adds decisions of `other` that are missing.
  void Merge(const Lock& other);
  // Decisions for other devices or tool versions: "3 for 'cpu znver3 ...' by 0.2.0". "" for none.
  std::string OthersText(const LockContext& context) const;
  // Number of lines with the key of an earlier line and another choice.
  int64_t conflicts() const { return conflicts_; }

 private:
  Section& SectionOf(const LockContext& context);

  std::vector<Section> sections_;
  int64_t conflicts_ = 0;
};

// The decision as a line, without line break.
std::string ToString(const Decision& decision);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_LOCK_H_
