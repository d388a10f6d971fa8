// Whether a module is valid, by the rules of ir/verifier/rules.def, which says what holds afterwards at which level.
// The files ir/verifier/*.cpp have a family of them each (ir/verifier/checks.h); the preconditions of each op stand
// with the inference of its shape (ir/shapes/shape_rules.h). This file has what the others build on:
//   - every computation has a root; operands, users and control predecessors live in the same computation, not removed;
//     operands and control edges have no cycle; a scheduled computation runs operands first (V008, V051, V266, V267)
//   - parameters are numbered 0..n-1 (V051); names are unique in the module (V007: NameTable's doing, looked at when
//     strict)
//   - no computation calls itself, however far round (V163)
//   - each op has its number of operands, and its written shape is the inferred one (V001, V002)
// Everything that XLA compiles passes at default. strict is what XLA asks of a module that has layouts, and rules of
// ours against what XLA takes though it makes no sense.
#ifndef HLO_IR_VERIFIER_VERIFIER_H_
#define HLO_IR_VERIFIER_VERIFIER_H_

#include "ir/module.h"

namespace hlo {

enum class VerifyLevel : uint8_t { kOff, kDefault, kStrict };

// All errors that could be found, at most one for each instruction and 20 in all, in one Error. What depends on
// something wrong is not judged. Linear in instructions; nothing recurses over the call graph.
// `warnings`, where wanted, gets what is valid but seldom meant.
Status Verify(const Module& module, VerifyLevel level = VerifyLevel::kDefault,
              std::vector<Diagnostic>* warnings = nullptr);

// What was found valid of a module, at the default level.
struct Verified {
  struct Known {
    uint64_t version = 0;                     // Of none: they start at 1.
    bool is_ordered = false;                  // Operands come first.
    bool is_normal = false;                   // CheckNormalLayouts found nothing.
    std::vector<const Instruction*> notable;  // Findings::notable
  };
  std::vector<Known> computations;                // By id.
  int64_t replica_count = 0, num_partitions = 0;  // That the module had.
};

// The same of one module again and again, as passes change it: a computation that has changed since, and what calls it,
// is looked at; of the others only what rules of the whole module look at.
Status VerifyAgain(const Module& module, Verified* verified);

}  // namespace hlo

#endif  // HLO_IR_VERIFIER_VERIFIER_H_
