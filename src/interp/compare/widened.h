// Compares a module before a pass with the module after it, for passes that are not exact. Both are evaluated in f64,
// without the roundings of their types. A value with an origin is computed from the nearest values that the pass kept,
// which both sides share. It is compared within the f64 roundings. So a wrong formula or constant is found even if bf16
// would hide it, and at its own instruction.
//
// A constant that the pass made was rounded to its type, so it has a bound of a few half steps.
#ifndef HLO_INTERP_COMPARE_WIDENED_H_
#define HLO_INTERP_COMPARE_WIDENED_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "interp/compare/compare.h"
#include "ir/literal.h"

namespace hlo {

class Instruction;
class Module;

struct WidenedOptions {
  uint64_t seed = 0;
  // No pass between the modules may change precision. Then an instruction whose attributes changed must give the same
  // bits for the same operands, unless it sums or calls.
  bool keeps_precision = false;
  int64_t loop_iterations = 8;  // Compared iterations of each loop, in addition to the first and last. They are seeded.
  int64_t max_loop_iterations = 1'000'000;
  // Limit on scalar steps of loops and of bodies that are applied to each element. 0 means no limit.
  int64_t work_limit = 0;
  std::function<void(const Instruction& loop, int64_t trip)> on_trip;  // Reports progress. May be null.
  CompareOptions compare;
};

struct WidenedFinding {
  const Instruction* optimized = nullptr;  // The first instruction, in order of execution, whose value differs.
  const Instruction* input = nullptr;      // The instruction whose value it should have.
  std::string loop;                        // "iteration 3 of 'while.5'". Empty outside of loops.
  Comparison comparison;
};

// Findings about one array over all iterations of the surrounding loops.
struct WidenedValue {
  int instruction = -1;  // Id in the optimized module.
  ShapeIndex leaf;
  std::string open;         // The reason why the array is open. Empty if it is decided.
  bool opened = false;      // The input determines it, but the optimized module does not.
  bool by_bits = false;     // Equal bits alone decide more than kMostUndetermined of its elements.
  bool is_partial = false;  // Some element is undetermined or decided by equal bits alone.
  bool is_vague = false;    // More than a tenth of its elements have uninformative bounds.
  bool is_silent = true;    // It has several elements, and all expected ones are zero, infinite or NaN.

  bool IsInQuestion() const { return !open.empty() || by_bits; }
  // Whether a wrong value would have been found.
  bool IsDecidedByBounds() const { return !IsInQuestion() && !is_vague && !is_silent; }
};

struct WidenedResult {
  Verdict verdict = Verdict::kMatch;
  std::string reason;
  int64_t instructions = 0;  // Number of compared instructions.
  int64_t elements = 0;
  int64_t undetermined = 0;
  int64_t vacuous = 0;       // Elements within uninformative bounds.
  bool beyond_work = false;  // The comparison exceeded the work limit and was stopped.
  bool opened = false;       // The optimized module leaves much of some value undetermined that the input determines.
  int64_t by_bits = 0;       // Elements that are equal to the bit although bounds permit several outcomes.
  // All values that were compared or could not be. The verdict is kInconclusive if one of them is open.
  std::vector<WidenedValue> values;
  std::optional<WidenedFinding> finding;
};

// `optimized` must come from `input` through Module::Clone(as_input) and passes, so that origins are ids of `input`. If
// nothing has an origin, only the results are compared, with bounds that grow along the whole computation.
Result<WidenedResult> CompareWidened(const Module& input, const Module& optimized, std::span<const Literal> args,
                                     const WidenedOptions& options = {});

// "a pass is wrong: 'fusion.7' differs from 'add.3' ...", or the number of comparisons.
std::string ToString(const WidenedResult& result);

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_WIDENED_H_
