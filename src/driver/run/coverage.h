// Which ops are supported for which element types, measured: a smallest use of each op is verified, interpreted, and
// goes the way of a plain `hlo-run` on cpu: through the passes, and to what is compiled and what is a step by the
// interpreter.
#ifndef HLO_DRIVER_RUN_COVERAGE_H_
#define HLO_DRIVER_RUN_COVERAGE_H_

#include <span>
#include <string>
#include <vector>

#include "ir/opcode.h"
#include "ir/primitive_type.h"

namespace hlo {

struct Support {
  bool defined = false;      // HLO has the op for this type: the verifier takes it.
  bool interpreter = false;  // The interpreter gives a result.
  bool kernels = false;      // There are kernels for it (the same for cpu and cuda).
  // Of what has none: what runs it compiled all the same, and is the pass after which there are kernels; empty: none,
  // and then why not.
  std::string pass, why;

  bool compiled() const { return kernels || !pass.empty(); }
};

struct OpCoverage {
  Opcode opcode;
  bool interpreter = false;      // For some type.
  std::vector<Support> by_type;  // As CoverageTypes lists them; empty for ops that no array type is a parameter of.
};

// Of the types that are handled alike, one.
const std::vector<PrimitiveType>& CoverageTypes();
// By opcode, in the order of the op table.
std::vector<OpCoverage> MeasureCoverage();
// The uses that are measured, of opcodes that have `type`, as one program: its root is the tuple of their results.
std::string CoverageProgram(std::span<const Opcode> opcodes, PrimitiveType type);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_COVERAGE_H_
