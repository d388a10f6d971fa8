// Judges two modules by the bits of their values. Both are interpreted in their declared types on the same arguments.
// The results of the entry must have the same bits, and so must each value that has an origin. A pass that is
// Preserves::kExact promises this; docs/comparison.md#bits.
//
// Two elements are equal if their bits are the same or both are NaN. -0 and 0 differ. Layouts do not matter. Arrays of
// dynamic size must have the same sizes at run time, and only elements within these sizes are compared.
//
// Values within loops are compared as sets, because passes unroll, peel and hoist. Values within a branch that the
// module before did not always take are not compared, because passes compute both branches ahead of the decision. The
// results of the entry always decide.
//
// Arithmetic leaves the bits of a NaN open. If values differ and an instruction reads bits of floats (nan_bits.h), both
// modules are interpreted with other NaN bits, too. Elements that change then are undetermined.
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
  // Limits, seed and infeed. on_value, on_iteration, outfeed and nan_bits are replaced.
  InterpretOptions interpret;
  OriginsOf origins = OriginsOf::kBefore;
  CompareOptions compare;  // Options of the comparison in a finding.
};

struct BitsFinding {
  // The first instruction in order of execution whose value differs, and the one whose value it should have. The roots
  // of the entries, or operands of root tuples, if only results of the entry differ.
  const Instruction* after = nullptr;
  const Instruction* before = nullptr;
  std::string loop;       // "iteration 3 of 'while.5'", counted from 0; empty outside of loops.
  Comparison comparison;  // Without outputs if the values differ in size, or if one of them was never computed.
};

struct BitsResult {
  // kMismatch: some value differs, or only the module after fails. kInconclusive: a limit was reached, or more than
  // kMostUndetermined of an output is undetermined. kUnsupported: the interpreter cannot run one of the modules.
  Verdict verdict = Verdict::kMatch;
  std::string reason;        // In a sentence, unless the verdict is kMatch.
  int64_t values = 0;        // Values that were compared: instructions with an origin, and results of the entry.
  int64_t elements = 0;      // Elements of these values.
  int64_t undetermined = 0;  // Elements of results that depend on the bits of NaNs.
  std::optional<BitsFinding> finding;  // Set for a mismatch of values. It refers to both modules.
};

// Interprets both modules and compares their values. A module for several devices runs on all of them, with the same
// arguments on each. Values of all devices are compared, and results are compared device by device. Errors: an
// interruption, and internal errors of the interpreter. Other failures of an interpretation are part of the result.
Result<BitsResult> CompareByBits(const Module& before, const Module& after, std::span<const Literal> args,
                                 const BitsOptions& options = {});

// "values: 120, elements: 4096, the same bits", with the number of undetermined elements. For other verdicts, the
// reason.
std::string ToString(const BitsResult& result);

}  // namespace hlo

#endif  // HLO_JUDGE_BITS_H_
