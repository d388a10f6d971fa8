// Checks whether a module is valid. ir/verifier/rules.def lists all rules with their levels. Families of rules:
// ir/verifier/checks.h and ir/shapes/shape_rules.h. verifier.cpp has the rules that the others build on:
//   - Every computation has a root. Operands, users and control predecessors are in the same computation and not
//     removed. There is no cycle of operands and control edges. A scheduled computation runs operands first (V008,
//     V266, V267).
//   - Parameters are numbered 0..n-1 (V051). Names are unique in the module (V007; ensured by NameTable, and checked
//     only when strict).
//   - No computation calls itself, directly or through others (V163).
//   - Each op has its number of operands, and its written shape is the inferred one (V001, V002).
//
// Every module that XLA compiles passes the default level. The strict level adds XLA's rules for modules with layouts,
// and our own rules against senseless modules that XLA accepts.
#ifndef HLO_IR_VERIFIER_VERIFIER_H_
#define HLO_IR_VERIFIER_VERIFIER_H_

#include "ir/module.h"

namespace hlo {

enum class VerifyLevel : uint8_t { kOff, kDefault, kStrict };

// Reports at most one error for each instruction and 20 in total. Skips instructions whose operands or called roots are
// wrong. Takes linear time and does not recurse. `warnings` may be null.
Status Verify(const Module& module, VerifyLevel level = VerifyLevel::kDefault,
              std::vector<Diagnostic>* warnings = nullptr);

// The parts of a module that were found valid at the default level.
struct Verified {
  struct Known {
    uint64_t version = 0;                     // No computation has version 0.
    bool is_ordered = false;                  // Operands precede users.
    bool is_normal = false;                   // CheckNormalLayouts found nothing.
    std::vector<const Instruction*> notable;  // Findings::notable
  };
  std::vector<Known> computations;  // Indexed by id.
  int64_t replica_count = 0, num_partitions = 0;
};

// For a module that passes change repeatedly. Checks only changed computations and their callers completely.
Status VerifyAgain(const Module& module, Verified* verified);

}  // namespace hlo

#endif  // HLO_IR_VERIFIER_VERIFIER_H_
