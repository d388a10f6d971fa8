// Measures for which element types each op is verified, interpreted and compiled, with the smallest programs.
#ifndef HLO_DRIVER_RUN_COVERAGE_H_
#define HLO_DRIVER_RUN_COVERAGE_H_

#include <span>
#include <string>
#include <vector>

#include "ir/opcode.h"
#include "ir/primitive_type.h"

namespace hlo {

struct Support {
  bool defined = false;  // The verifier accepts the op for this type.
  bool interpreter = false;
  bool kernels = false;  // The op itself has kernels, which cpu and cuda share.
  // If the op has no kernels: the pass that replaces it, or else why it cannot be compiled.
  std::string pass, why;

  bool compiled() const { return kernels || !pass.empty(); }
};

struct OpCoverage {
  Opcode opcode;
  bool interpreter = false;  // For at least one type.
  // Indexed by CoverageTypes. Empty for ops that are not measured, such as channels.
  std::vector<Support> by_type;
};

// The measured types: one of each group of types that are treated alike.
const std::vector<PrimitiveType>& CoverageTypes();
// One entry for each opcode, in the order of the op table.
std::vector<OpCoverage> MeasureCoverage();
// A program that uses each opcode. Its root is the tuple of their results.
std::string CoverageProgram(std::span<const Opcode> opcodes, PrimitiveType type);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_COVERAGE_H_
