// Moves instructions of a computation into a fusion.
#ifndef HLO_PASSES_FUSION_OUTLINE_H_
#define HLO_PASSES_FUSION_OUTLINE_H_

#include <span>
#include <string_view>

#include "ir/attrs.h"

namespace hlo {

class Computation;
class Instruction;

// A fusion of copies of `members` (operands before users), whose values `roots` it gives: as its own value, or as a
// tuple when there are several. A member that is a fusion itself gives what its computation holds, and its roots, where
// it has several, are its get-tuple-elements. What members use from outside becomes operands; scalar constants that
// instructions use are copied in. All uses of the roots take the fusion's value; the originals stay until dce, so that
// several fusions may copy one member.
Instruction& Outline(Computation& computation, std::span<Instruction* const> members,
                     std::span<Instruction* const> roots, FusionKind kind, std::string_view name);

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_OUTLINE_H_
