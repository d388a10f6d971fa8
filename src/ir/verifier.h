// Whether a module is valid. What holds afterwards, at every level but off:
//   - every computation has a root; operands, users and control predecessors live in the same computation, not removed;
//     operands and control edges have no cycle; a scheduled computation runs operands first (V008, V051, V266, V267)
//   - parameters are numbered 0..n-1; names of instructions are unique in the module (V007, V051)
//   - no computation calls itself, however far round (V163)
//   - each op has its number of operands, and its written shape is the one its rule infers from operands, attributes
//   and
//     called computations (V001, V002 and the rules' own codes: ir/shape_rules.h); no elementwise op broadcasts (V031);
//     no result is unbounded (V003)
//   - called computations run on the caller's thread; fusions own theirs, and use all that is in it (V152, V157-V161)
//   - tokens stand where tokens are wanted; asynchronous pairs match (V170-V176, V190, V196)
//   - entry layout, aliases and donors fit the entry (V262-V265)
//   - replica groups name each id once (V210-V215), source-target pairs too (V225)
// strict adds that float types do not mix (V006, exact V002) and that broadcasts keep the order of dimensions (V057).
// Everything that XLA compiles passes at default. Codes, wording and levels: spec/verifier.md, of which the rules on
// buffers, shardings, send and receive, and layouts are not here yet.
#ifndef HLO_IR_VERIFIER_H_
#define HLO_IR_VERIFIER_H_

#include "ir/module.h"

namespace hlo {

enum class VerifyLevel : uint8_t { kOff, kDefault, kStrict };

// All errors that could be found, at most one for each instruction and 20 in all, in one Error. What depends on
// something wrong is not judged. Linear in instructions; nothing recurses over the call graph.
Status Verify(const Module& module, VerifyLevel level = VerifyLevel::kDefault);

}  // namespace hlo

#endif  // HLO_IR_VERIFIER_H_
