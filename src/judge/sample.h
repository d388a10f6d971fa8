// Judges passes by samples, where interpreting whole modules takes too long or the interpreter lacks an operation:
// docs/comparison.md#samples. A kept value with the same operation and operands is right (value_numbers.h). Other kept
// values are computed from both modules at a seeded sample of elements, by slices that begin with the arguments and
// with values that a run left. Slices are compared by bits, and for passes that are not exact by residues or in f64,
// too.
//
// A run may leave only one of two values that a pass considers equal, perhaps with other bits than the interpreter's.
// Therefore a difference counts only if both slices begin with the same set of values. Values that only one slice reads
// are computed, too, until the sets are equal.
#ifndef HLO_JUDGE_SAMPLE_H_
#define HLO_JUDGE_SAMPLE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "interp/interpreter.h"
#include "ir/literal.h"
#include "judge/bits.h"
#include "passes/pass.h"

namespace hlo {

// Values that a run of the optimized program left, by id of their instructions in the input.
struct LeftValues {
  std::function<bool(int id)> has;
  // Returns null if the run ended before.
  std::function<Result<std::shared_ptr<const Literal>>(int id)> take;
};

struct SampleOptions {
  InterpretOptions interpret;
  CompareOptions compare;
  LeftValues left;  // If null, slices begin with the arguments.
  uint64_t seed = 0;
  int64_t work_limit = 300'000'000;  // Scalar steps (interp/shadow/slice.h) of all slices.
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
  bool beyond_work = false;
  std::optional<BitsFinding> finding;  // Refers to both modules.

  int64_t compared() const { return by_bits + by_residues + in_f64; }
};

Result<SampleResult> CompareBySample(const Module& before, const Module& after, std::span<const Literal> args,
                                     OriginsOf origins, Preserves promise, const SampleOptions& options);

}  // namespace hlo

#endif  // HLO_JUDGE_SAMPLE_H_
