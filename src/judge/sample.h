// Judges passes by samples, where interpreting whole modules takes too long or where the interpreter lacks an
// operation: docs/comparison.md#samples.
// A value that passes kept is right if its operation and operands are unchanged (value_numbers.h). Each other kept
// value is computed from both modules at a seeded sample of its elements. The computation is a slice that begins with
// the arguments and with values that a run of the program left. The slices are compared by bits, and for passes that
// are not exact by residues or in f64, too.
//
// Both slices begin with the same values, but a pass may rely on equalities that these values do not have. If a pass
// removes one of two equal values, a run leaves the other one, perhaps with other bits than the interpreter's.
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

// Values that a run of the optimized program left, by the id in the input of the instruction that has them.
struct LeftValues {
  std::function<bool(int id)> has;
  // Returns null if the run ended before.
  std::function<Result<std::shared_ptr<const Literal>>(int id)> take;
};

struct SampleOptions {
  InterpretOptions interpret;
  CompareOptions compare;
  LeftValues left;                   // The functions may be null. Slices then begin with the arguments.
  uint64_t seed = 0;                 // Seed of the sample.
  int64_t work_limit = 300'000'000;  // Scalar steps (interp/shadow/slice.h) of all slices.
};

struct SampleResult {
  // kInconclusive: fewer than a quarter of the changed values were compared.
  Verdict verdict = Verdict::kMatch;
  std::string reason;
  int64_t unchanged = 0;               // Kept values with the same operation and operands.
  int64_t changed = 0;                 // Kept values whose operation or operands changed, and results of the entry.
  int64_t by_bits = 0;                 // Changed values with the same bits.
  int64_t by_residues = 0;             // Changed values with the same residues.
  int64_t in_f64 = 0;                  // Changed values that are equal within bounds in f64.
  int64_t elements = 0;                // Compared elements.
  bool beyond_work = false;            // The work limit left values out.
  std::optional<BitsFinding> finding;  // Refers to both modules.

  int64_t compared() const { return by_bits + by_residues + in_f64; }
};

// `promise` is the promise of the pass, or of all passes, between the modules. `origins` tells what ids the origins
// are.
Result<SampleResult> CompareBySample(const Module& before, const Module& after, std::span<const Literal> args,
                                     OriginsOf origins, Preserves promise, const SampleOptions& options);

}  // namespace hlo

#endif  // HLO_JUDGE_SAMPLE_H_
