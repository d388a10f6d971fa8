// How much work comparing an instruction of the optimized module is, and the most that one may be. Internal to
// interp/compare.
#ifndef HLO_INTERP_COMPARE_LIMITS_H_
#define HLO_INTERP_COMPARE_LIMITS_H_

#include <cstdint>

namespace hlo {

class Instruction;
class Module;

// A result of a kernel that has several.
bool IsOneOfSeveral(const Instruction& inst);
// What computes it inside; null: what computes all of them does.
const Instruction* InsideKernel(const Instruction& one_of_several);

// Scalar steps: both sides of an instruction cost about what the optimized one does. Of a kernel with several results
// these are compared.
int64_t StepsOfComparing(const Instruction& inst);

// The limit of one instruction, so that all stay below `work_limit`; 0: there is none. Of loops so many seeded
// iterations are looked at, and two more.
int64_t LimitOfComparing(const Module& optimized, int64_t work_limit, int64_t loop_iterations);

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_LIMITS_H_
