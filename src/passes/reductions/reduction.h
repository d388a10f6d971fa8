// Shared parts of the passes over reduces.
#ifndef HLO_PASSES_REDUCTIONS_REDUCTION_H_
#define HLO_PASSES_REDUCTIONS_REDUCTION_H_

#include <cstdint>

#include "ir/instruction.h"

namespace hlo {

bool IsRowMajor(const Instruction& reduce);

// A reduce with adjacent dimensions merged:
//   rows      [major, kept, minor]     sums over major and minor; a plain row reduction has major = 1
//   columns   [major, summed, minor]   sums over the middle
struct ReductionShape {
  bool is_row = false;
  int64_t major = 1, middle = 1, minor = 1;
};

// Requires a row-major operand. False if neither the kept nor the reduced dimensions are adjacent, or if threads of a
// warp would idle. Then a kernel computes each sum in one thread.
bool IsRowOrColumnReduction(const Instruction& reduce, ReductionShape* shape);

// Whether terms may be grouped arbitrarily, each group with the initial value. Not for float products: a group's
// product can overflow although the whole is small.
bool MayGroup(Opcode op, const Instruction& init);

}  // namespace hlo

#endif  // HLO_PASSES_REDUCTIONS_REDUCTION_H_
