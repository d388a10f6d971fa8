// Judges two modules by the bits that their values have on the same arguments. Results of the entry and values with an
// origin must have the same bits. Passes that are Preserves::kExact promise this: docs/comparison.md#bits.
//
// All NaNs are equal, -0 and 0 differ, and layouts do not matter. Arrays of dynamic size must have the same sizes at
// run time, and only elements within these sizes are compared.
//
// Values within loops are compared as sets, because passes unroll, peel and hoist. Values within a branch that the
// module before did not always take are not compared, because passes compute both branches ahead of the decision.
//
// Arithmetic leaves the bits of a NaN open. If values differ and an instruction reads bits of floats (nan_bits.h), both
// modules are interpreted again with other NaN bits. Elements that change then are undetermined.
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
  // on_value, on_iteration, outfeed and nan_bits are replaced.
  InterpretOptions interpret;
  OriginsOf origins = OriginsOf::kBefore;
  CompareOptions compare;
};

struct BitsFinding {
  // The first instruction in order of execution whose value differs, and its counterpart. Roots or their operands, if
  // only results of the entry differ.
  const Instruction* after = nullptr;
  const Instruction* before = nullptr;
  std::string loop;       // See FirstDifference::loop.
  Comparison comparison;  // Without outputs if the sizes differ or a value was never computed.
};

struct BitsResult {
  // kMismatch: a value differs, or only the module after fails. kInconclusive: the module before fails, a limit was
  // reached, or more than kMostUndetermined of an output is undetermined. kUnsupported: the interpreter cannot run a
  // module, or the signatures differ.
  Verdict verdict = Verdict::kMatch;
  std::string reason;  // Set unless the verdict is kMatch.
  int64_t values = 0;  // Compared instructions with an origin, and results of the entry.
  int64_t elements = 0;
  int64_t undetermined = 0;
  std::optional<BitsFinding> finding;  // Set for a mismatch of values. It refers to both modules.
};

// A module for several devices runs on all of them with the same arguments. Errors: interruptions and internal errors
// of the interpreter. Other failures are part of the result.
Result<BitsResult> CompareByBits(const Module& before, const Module& after, std::span<const Literal> args,
                                 const BitsOptions& options = {});

// "values: 120, elements: 4096, the same bits", with the number of undetermined elements. For other verdicts, the
// reason.
std::string ToString(const BitsResult& result);

}  // namespace hlo

#endif  // HLO_JUDGE_BITS_H_
