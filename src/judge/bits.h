// Judges two modules on the same arguments. Results of the entry and values with an origin must have the same bits, as
// passes that are Preserves::kExact promise. docs/comparison.md#bits has the rules for NaNs, layouts, dynamic sizes,
// loops and branches. Elements that change with the bits of a NaN are undetermined (nan_bits.h).
#ifndef HLO_JUDGE_BITS_H_
#define HLO_JUDGE_BITS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "interp/interpreter.h"
#include "ir/literal.h"
#include "judge/compare/compare.h"
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
  // The first executed instruction whose value differs, and its counterpart. If only results of the entry differ: the
  // roots, or their operands.
  const Instruction* after = nullptr;
  const Instruction* before = nullptr;
  std::string loop;       // See FirstDifference::loop.
  Comparison comparison;  // Has no outputs if sizes differ or a value was never computed.
};

struct BitsResult {
  // kMismatch: a value or the outfeed differs, or only the module after fails or has an endless loop. kInconclusive:
  // the module before fails, a limit was reached, or more than kMostUndetermined depends on the bits of NaNs.
  // kUnsupported: the interpreter cannot run a module, or the signatures differ.
  Verdict verdict = Verdict::kMatch;
  std::string reason;  // Set unless the verdict is kMatch.
  int64_t values = 0;  // Number of compared instructions with an origin and of results of the entry.
  int64_t elements = 0;
  int64_t undetermined = 0;
  std::optional<BitsFinding> finding;  // Set if values or results differ. Refers to both modules.
};

// A module for several devices runs on all of them. Errors: interruptions, internal errors of the interpreter.
Result<BitsResult> CompareByBits(const Module& before, const Module& after, std::span<const Literal> args,
                                 const BitsOptions& options = {});

// "values: 120, elements: 4096, the same bits" and the number of undetermined elements. For another verdict than
// kMatch, the reason.
std::string ToString(const BitsResult& result);

}  // namespace hlo

#endif  // HLO_JUDGE_BITS_H_
