// Checks whether a module is valid. ir/verifier/rules.def lists all rules with their levels. Each file in ir/verifier
// has one family of rules (ir/verifier/checks.h). Shape inference checks the preconditions of ops
// (ir/shapes/shape_rules.h). This file has the rules that the others build on:
//   - Every computation has a root. Operands, users and control predecessors are in the same computation and not
//     removed. Operands and control edges have no cycle. A scheduled computation runs operands first (V008, V051, V266,
//     V267).
//   - Parameters are numbered 0..n-1 (V051). Names are unique in the module (V007; ensured by NameTable, and checked
//     only when strict).
//   - No computation calls itself, directly or through others (V163).
//   - Each op has its number of operands, and its written shape is the inferred one (V001, V002).
//
// Every module that XLA compiles passes the default level. The strict level adds XLA's requirements for modules with
// layouts, and our own rules against modules that XLA accepts although they make no sense.
#ifndef HLO_IR_VERIFIER_VERIFIER_H_
#define HLO_IR_VERIFIER_VERIFIER_H_

#include "ir/module.h"

namespace hlo {

enum class VerifyLevel : uint8_t { kOff, kDefault, kStrict };

// Reports at most one error for each instruction and 20 in total, in one Error. Instructions that depend on a wrong one
// are not checked. Takes linear time and does not recurse over the call graph. `warnings`, if not null, receives
// findings that are valid but rarely intended.
Status Verify(const Module& module, VerifyLevel level = VerifyLevel::kDefault,
              std::vector<Diagnostic>* warnings = nullptr);

// The parts of a module that were found valid at the default level.
struct Verified {
  struct Known {
    uint64_t version = 0;                     // 0 is the version of no computation.
    bool is_ordered = false;                  // Operands precede their users.
    bool is_normal = false;                   // CheckNormalLayouts found nothing.
    std::vector<const Instruction*> notable;  // Findings::notable
  };
  std::vector<Known> computations;                // Indexed by computation id.
  int64_t replica_count = 0, num_partitions = 0;  // Values of the module.
};

// Verifies a module repeatedly while passes change it. Only changed computations and their callers are checked
// completely, the others only by rules of the whole module.
Status VerifyAgain(const Module& module, Verified* verified);

}  // namespace hlo

#endif  // HLO_IR_VERIFIER_VERIFIER_H_
