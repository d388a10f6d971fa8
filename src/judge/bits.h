// Judges two modules by the bits that their values have on the same arguments. Results of the entry and values with an
// origin must have the same bits. Passes that are Preserves::kExact promise this: docs/comparison.md#bits.
//
// All NaNs are equal, -0 and 0 differ, and layouts do not matter. Arrays of dynamic size must have the same sizes at
// run time, and only elements within these sizes are compared.
//
// Values within loops are compared as sets, because passes unroll, peel and hoist. A value in a branch that the module
// before did not always take is never wrong, because passes compute such values ahead of the decision. Elements that
// change with the bits of a NaN are undetermined (nan_bits.h).
#ifndef HLO_JUDGE_BITS_H_
#define HLO_JUDGE_BITS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "interp/compare/compare.h"
#include "interp/interpreter.h"
#include "ir/literal.h"
#include "judge/kept_values.h"

namespace hlo {

class Instruction;
class Module;

struct BitsOptions {
  // on_value, on_iteration and outfeed are replaced. Additional runs also replace nan_bits.
  InterpretOptions interpret;
  OriginsOf origins = OriginsOf::kBefore;
  CompareOptions compare;
};

struct BitsFinding {
  // The first instruction in order of execution whose value differs, and its counterpart. If only results of the entry
  // differ, these are roots or operands of a root.
  const Instruction* after = nullptr;
  const Instruction* before = nullptr;
  std::string loop;       // See FirstDifference::loop.
  Comparison comparison;  // It has no outputs if sizes differ or a value was never computed.
};

struct BitsResult {
  // kMismatch: a value or the outfeed differs, only the module after fails, or a loop in it does not end.
  // kInconclusive: the module before fails, a limit was reached, or too much depends on the bits of NaNs
  // (kMostUndetermined). kUnsupported: the interpreter cannot run a module, or the signatures differ.
  Verdict verdict = Verdict::kMatch;
  std::string reason;  // Set unless the verdict is kMatch.
  int64_t values = 0;  // Compared instructions with an origin, and results of the entry.
  int64_t elements = 0;
  int64_t undetermined = 0;
  std::optional<BitsFinding> finding;  // Set if values or results differ. Refers to both modules.
};

// A module for several devices runs on all of them with the same arguments. Errors: interruptions and internal errors
// of the interpreter. Other failures are part of the result.
Result<BitsResult> CompareByBits(const Module& before, const Module& after, std::span<const Literal> args,
                                 const BitsOptions& options = {});

// "values: 120, elements: 4096, the same bits" and the number of undetermined elements, if any. For other verdicts than
// kMatch, the reason.
std::string ToString(const BitsResult& result);

}  // namespace hlo

#endif  // HLO_JUDGE_BITS_H_
