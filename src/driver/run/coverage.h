// Measures which ops are supported for which element types. A smallest use of each op is verified, interpreted, and
// optimized and compiled as by `hlo-run --platform=cpu`.
#ifndef HLO_DRIVER_RUN_COVERAGE_H_
#define HLO_DRIVER_RUN_COVERAGE_H_

#include <span>
#include <string>
#include <vector>

#include "ir/opcode.h"
#include "ir/primitive_type.h"

namespace hlo {

struct Support {
  bool defined = false;      // The verifier accepts the op for this type.
  bool interpreter = false;  // The interpreter returns a result.
  bool kernels = false;      // The op itself has kernels. They are the same for cpu and cuda.
  // If the op has no kernels but can run compiled, `pass` is the pass that replaces it. Otherwise `why` is the reason.
  std::string pass, why;

  bool compiled() const { return kernels || !pass.empty(); }
};

struct OpCoverage {
  Opcode opcode;
  bool interpreter = false;  // For at least one type.
  // In the order of CoverageTypes. Empty for ops whose uses are not measured, such as channels.
  std::vector<Support> by_type;
};

// One type of each group of types that are treated alike.
const std::vector<PrimitiveType>& CoverageTypes();
// Support by opcode, in the order of the op table.
std::vector<OpCoverage> MeasureCoverage();
// A program of the measured uses of `opcodes` with `type`. Its root is the tuple of their results.
std::string CoverageProgram(std::span<const Opcode> opcodes, PrimitiveType type);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_COVERAGE_H_
