// Moves instructions of a computation into a fusion.
#ifndef HLO_PASSES_FUSION_OUTLINE_H_
#define HLO_PASSES_FUSION_OUTLINE_H_

#include <span>
#include <string_view>

#include "ir/attrs.h"

namespace hlo {

class Computation;
class Instruction;

// Makes a fusion of copies of `members` (operands before users) with results `roots`. A fusion among them contributes
// its computation's contents, and if it has several roots, `roots` has its get-tuple-elements. Other values become
// operands, except scalar constants, which are copied. The fusion replaces uses of the roots. The originals stay until
// dce, so that several fusions may copy a member.
Instruction& Outline(Computation& computation, std::span<Instruction* const> members,
                     std::span<Instruction* const> roots, FusionKind kind, std::string_view name);

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_OUTLINE_H_
