// How often a kernel evaluates the elements of its operands, and in how many places of its code.
#ifndef HLO_PASSES_FUSION_BODY_READS_H_
#define HLO_PASSES_FUSION_BODY_READS_H_

#include <cstdint>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

struct BodyRead {
  double evaluations = 0;  // Element evaluations in a run, with repetitions.
  int64_t copies = 0;      // Places in the code that evaluate the operand.
};

// Indexed by operand.
std::vector<BodyRead> BodyReads(const Instruction& fusion);

// Whether result element i of `user` needs element i of `operand`, in row-major order.
bool KeepsIndex(const Instruction& user, const Instruction& operand);
// The number of elements of `inst` that `user` evaluates for `of_user` elements of its own.
double EvaluationsFor(const Instruction& inst, const Instruction& user, double of_user);

double Elements(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_PASSES_FUSION_BODY_READS_H_
