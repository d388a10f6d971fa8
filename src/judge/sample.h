// Judges passes by samples if whole modules take too long or the interpreter lacks an operation:
// docs/comparison.md#samples. A kept value whose number is unchanged is right (value_numbers.h). Slices of both modules
// compute a seeded sample of the elements of other kept values.
#ifndef HLO_JUDGE_SAMPLE_H_
#define HLO_JUDGE_SAMPLE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "interp/interpreter.h"
#include "ir/literal.h"
#include "ir/preserves.h"
#include "judge/bits.h"

namespace hlo {

// Values that an optimized run kept in memory. `id` is the id in the input.
struct LeftValues {
  std::function<bool(int id)> has;
  // Returns null if the run ended before it computed the value.
  std::function<Result<std::shared_ptr<const Literal>>(int id)> take;
};

struct SampleOptions {
  InterpretOptions interpret;
  CompareOptions compare;
  LeftValues left;  // Without `has`, slices begin with the arguments.
  uint64_t seed = 0;
  int64_t work_limit = 300'000'000;  // Scalar steps (judge/bounds/slice.h) of all slices.
  int64_t reserve = 0;               // Further steps, for values whose least slice takes more than their share.
};

struct SampleResult {
  // kInconclusive: fewer than a quarter of the changed values were compared.
  Verdict verdict = Verdict::kMatch;
  std::string reason;
  int64_t unchanged = 0;  // Kept values with the same operation and operands.
  int64_t changed = 0;    // Other kept values, and results of the entry.
  int64_t by_bits = 0;
  int64_t by_residues = 0;
  int64_t in_f64 = 0;
  int64_t elements = 0;
  int64_t steps = 0;  // Of all slices.
  bool beyond_work = false;
  std::optional<BitsFinding> finding;

  int64_t compared() const { return by_bits + by_residues + in_f64; }
};

Result<SampleResult> CompareBySample(const Module& before, const Module& after, std::span<const Literal> args,
                                     OriginsOf origins, Preserves promise, const SampleOptions& options);

}  // namespace hlo

#endif  // HLO_JUDGE_SAMPLE_H_
