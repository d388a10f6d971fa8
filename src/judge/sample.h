// Judges passes by samples, where interpreting whole modules takes too long or the interpreter lacks an operation:
// docs/comparison.md#samples. A kept value with the same operation and operands is right (value_numbers.h). Other kept
// values are computed from both modules at a seeded sample of elements, by slices that begin with the arguments and
// with values that a run kept in memory. Slices must have the same bits, or after passes that are not exact, equal
// residues or agreement in f64.
//
// A difference counts only if both slices begin with the same set of values. While slices differ, values that only one
// slice reads are computed instead, until the sets are equal.
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

// Values that a run of the optimized program kept in memory. `id` is the id of the instruction in the input.
struct LeftValues {
  std::function<bool(int id)> has;
  // Returns null if a run ended before it computed the value.
  std::function<Result<std::shared_ptr<const Literal>>(int id)> take;
};

struct SampleOptions {
  InterpretOptions interpret;
  CompareOptions compare;
  LeftValues left;  // Without `has`, slices begin with the arguments.
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
  bool beyond_work = false;            // Slices exceeded their share of work_limit.
  std::optional<BitsFinding> finding;  // Refers to both modules.

  int64_t compared() const { return by_bits + by_residues + in_f64; }
};

Result<SampleResult> CompareBySample(const Module& before, const Module& after, std::span<const Literal> args,
                                     OriginsOf origins, Preserves promise, const SampleOptions& options);

}  // namespace hlo

#endif  // HLO_JUDGE_SAMPLE_H_
