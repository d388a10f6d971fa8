// How often a kernel asks for the elements of what it reads, and in how many places of its code: what computing them
// there instead would cost.
#ifndef HLO_PASSES_FUSION_BODY_READS_H_
#define HLO_PASSES_FUSION_BODY_READS_H_

#include <cstdint>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

struct BodyRead {
  double evaluations = 0;  // Of elements, over a run of the kernel, the same one again counted again.
  int64_t copies = 0;      // Indices at which code asks for one.
};

// By number of the operand of a fusion.
std::vector<BodyRead> BodyReads(const Instruction& fusion);

// Result element i of `user` needs element i of `operand`, in row-major order.
bool KeepsIndex(const Instruction& user, const Instruction& operand);
// How often elements of `inst` are asked for by `user`, of which so many elements are computed.
double EvaluationsFor(const Instruction& inst, const Instruction& user, double of_user);

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_BODY_READS_H_
