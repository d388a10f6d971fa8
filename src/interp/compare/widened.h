// Compares a module before a pass with the module after it, for passes that are not exact. Both are evaluated in f64,
// without the roundings of their types, and cut at the instructions that the pass kept: a value with an origin is
// computed from the nearest kept values, which both sides have in common, and compared within what f64 roundings can
// do. So a wrong formula or constant shows even where bf16 would hide it, and it shows at the instruction it happened
// to.
//
// A constant that the pass made was rounded to its type. So it has a bound of a few half steps.
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
  // No pass between the modules is declared to change precision. An instruction whose attributes they changed must then
  // give the same bits for the same operands, unless it adds up or calls.
  bool keeps_precision = false;
  int64_t loop_iterations = 8;  // Of each loop beside the first and the last; seeded.
  int64_t max_loop_iterations = 1'000'000;
  // Scalar steps of loops and of bodies that are applied to each element. 0: no limit.
  int64_t work_limit = 0;
  std::function<void(const Instruction& loop, int64_t trip)> on_trip;  // For progress; may be null.
  CompareOptions compare;
};

struct WidenedFinding {
  const Instruction* optimized = nullptr;  // The first in order of execution whose value differs.
  const Instruction* input = nullptr;      // Whose value it should have.
  std::string loop;                        // "iteration 3 of 'while.5'"; empty outside loops.
  Comparison comparison;
};

// Findings about one array, over all iterations of the loops around it.
struct WidenedValue {
  int instruction = -1;  // Id in the optimized module.
  ShapeIndex leaf;
  std::string open;         // Why it is open; empty: it is decided.
  bool opened = false;      // The input determines it, and the optimized module does not.
  bool by_bits = false;     // More than kMostUndetermined of its elements are decided by equal bits alone.
  bool is_partial = false;  // Some element is undetermined, or decided by equal bits alone.
  bool is_vague = false;    // The bounds of more than a tenth of its elements say nothing.
  bool is_silent = true;    // All expected elements are zero, infinite or NaN, and there are several.

  bool IsInQuestion() const { return !open.empty() || by_bits; }
  // Would a wrong value have been seen?
  bool IsDecidedByBounds() const { return !IsInQuestion() && !is_vague && !is_silent; }
};

struct WidenedResult {
  Verdict verdict = Verdict::kMatch;
  std::string reason;
  int64_t instructions = 0;  // Compared.
  int64_t elements = 0;
  int64_t undetermined = 0;
  int64_t vacuous = 0;       // Within bounds that say nothing.
  bool beyond_work = false;  // It took more than the work limit, and was left.
  bool opened = false;       // Of some value passes left much undetermined that is not in the input.
  int64_t by_bits = 0;       // Equal to the bit where bounds leave several outcomes.
  // Everything that was compared, or that could not be. The verdict is kInconclusive if one of them is open.
  std::vector<WidenedValue> values;
  std::optional<WidenedFinding> finding;
};

// `optimized` must come from `input` through Module::Clone(as_input) and passes, so that origins are ids of `input`.
// Where nothing has an origin the results alone are compared, with what bounds grow to on the way.
Result<WidenedResult> CompareWidened(const Module& input, const Module& optimized, std::span<const Literal> args,
                                     const WidenedOptions& options = {});

// "a pass is wrong: 'fusion.7' differs from 'add.3' ..." or what was compared.
std::string ToString(const WidenedResult& result);

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_WIDENED_H_
