// Moves instructions of a computation into a fusion.
#ifndef HLO_PASSES_FUSION_OUTLINE_H_
#define HLO_PASSES_FUSION_OUTLINE_H_

#include <span>
#include <string_view>

#include "ir/attrs.h"

namespace hlo {

class Computation;
class Instruction;

// A fusion of copies of `members` (operands before users), whose values `roots` (members) it gives: as its own value,
// or as a tuple when there are several. What members use from outside becomes operands, scalar constants are copied in.
// All uses of the roots take the fusion's value; the originals stay until dce, so that several fusions may copy one
// member.
Instruction& Outline(Computation& computation, std::span<Instruction* const> members,
                     std::span<Instruction* const> roots, FusionKind kind, std::string_view name);

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_OUTLINE_H_
