// The lock file of autotuning: what was measured to be fastest, a line each, for people, for diff and merge, and for a
// build that is to come out the same (docs/files.md#autotune-locks).
//
//   # autotune.lock v1   tool 0.3.0   device "cpu znver4 AVX-512, 2 threads"   oneDNN 2.6.3
//   fusion  f32[64,1024]->f32[64]  row_reduction heroes=2 tile=1x256 vector=4 threads=64  9.8us ±0.1 n=10 check=ok
//   key=55d0...
//
// A header holds for the lines below it, up to the next: files of several devices stand behind each other. Lines are
// sorted, so that a merge of two files is one of their lines; of two with one key the first counts.
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

// What decisions hold for: a header.
struct LockContext {
  std::string tool, device;
  std::map<std::string, std::string> libraries;  // Versions, as far as a module asked for one.

  // Versions of libraries are part of the keys of what hangs on them.
  bool SamePlace(const LockContext& other) const { return tool == other.tool && device == other.device; }
};

struct Decision {
  std::string category;     // "gemm", "convolution", "fusion".
  std::string signature;    // "f32[64,1024]->f32[64]"; for people.
  std::string choice;       // choice.h.
  double microseconds = 0;  // Median of `samples`...
  double spread = 0;        // ...and half of the range of their middle half.
  int64_t samples = 0;
  std::string check = "ok";  // ok, rough, none: how its result was judged.
  std::string key;           // 16 hexadecimal digits.

  bool operator==(const Decision&) const = default;
};

class Lock {
 public:
  struct Section {
    LockContext context;
    std::map<std::string, Decision> decisions;  // By key.
  };

  // Errors (A026, at the line): no header first, a line that is none, a key that is none.
  static Result<Lock> Parse(std::shared_ptr<const SourceText> source);
  // An empty one where there is no such file.
  static Result<Lock> ReadIfThere(const std::string& path);

  std::string ToString() const;
  const std::vector<Section>& sections() const { return sections_; }
  int64_t size() const;

  const Decision* Find(const LockContext& context, std::string_view key) const;
  // In the place of what has its key.
  void Put(const LockContext& context, Decision decision);
  // Those of its decisions that `keeps` holds for.
  Lock Only(const std::function<bool(const Decision&)>& keeps) const;
  // What is in `other` and not here.
  void Merge(const Lock& other);
  // Decisions for other devices or versions of the tool: "3 for 'cpu znver3 ...' by 0.2.0"; empty: none.
  std::string OthersText(const LockContext& context) const;
  // Lines whose key another line above had, with another choice.
  int64_t conflicts() const { return conflicts_; }

 private:
  Section& SectionOf(const LockContext& context);

  std::vector<Section> sections_;
  int64_t conflicts_ = 0;
};

// A line without its end, in columns that are parted by two blanks.
std::string ToString(const Decision& decision);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_LOCK_H_
