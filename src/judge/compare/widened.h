// Compares the modules before and after a pass that is not exact. Both are evaluated in f64, without the roundings of
// their types. A value with an origin is computed from the nearest kept values, which both sides share, and compared
// within f64 roundings. This finds a wrong formula or constant at its own instruction, even if bf16 would hide it.
#ifndef HLO_JUDGE_COMPARE_WIDENED_H_
#define HLO_JUDGE_COMPARE_WIDENED_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/literal.h"
#include "judge/compare/compare.h"

namespace hlo {

class Instruction;
class Module;

struct WidenedOptions {
  uint64_t seed = 0;
  // Set if the passes must not change precision. Then an instruction with changed attributes must give the same bits
  // for the same operands, unless it sums or calls a computation.
  bool keeps_precision = false;
  int64_t loop_iterations = 8;  // Seeded iterations of each loop, besides the first and last.
  int64_t max_loop_iterations = 1'000'000;
  // Limit on scalar steps of loops, and of computations applied to each element. 0 means no limit.
  int64_t work_limit = 0;
  std::function<void(const Instruction& loop, int64_t trip)> on_trip;  // Reports progress. May be null.
  CompareOptions compare;
};

struct WidenedFinding {
  const Instruction* optimized = nullptr;
  const Instruction* input = nullptr;  // The instruction whose value `optimized` should have.
  std::string loop;                    // "iteration 3 of 'while.5'". Empty outside of loops.
  Comparison comparison;
};

// Findings about one array over all iterations.
struct WidenedValue {
  int instruction = -1;  // Id in the optimized module.
  ShapeIndex leaf;
  std::string open;         // The reason why the value is open, or empty.
  bool opened = false;      // The input determines the value, but the optimized module does not.
  bool by_bits = false;     // Only equal bits decide more than kMostUndetermined of the elements.
  bool is_partial = false;  // Some element is undetermined, or decided only by equal bits.
  bool is_vague = false;    // More than a tenth of its bounds are uninformative.
  bool is_silent = true;    // It has several elements, and all should be zero, infinite or NaN.

  bool IsInQuestion() const { return !open.empty() || by_bits; }
  // Whether a wrong value would have been found.
  bool IsDecidedByBounds() const { return !IsInQuestion() && !is_vague && !is_silent; }
};

struct WidenedResult {
  Verdict verdict = Verdict::kMatch;
  std::string reason;
  int64_t instructions = 0;
  int64_t elements = 0;
  int64_t undetermined = 0;
  int64_t vacuous = 0;
  bool beyond_work = false;
  bool opened = false;
  int64_t by_bits = 0;  // Elements that only equal bits decide.
  // Values that were compared or could not be compared. An open value makes the verdict kInconclusive.
  std::vector<WidenedValue> values;
  std::optional<WidenedFinding> finding;
};

// `optimized` must come from `input` by Module::Clone(as_input) and passes, so that origins are ids of `input`. Without
// origins, only results are compared, with bounds that grow along the computation.
Result<WidenedResult> CompareWidened(const Module& input, const Module& optimized, std::span<const Literal> args,
                                     const WidenedOptions& options = {});

std::string ToString(const WidenedResult& result);

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_WIDENED_H_
