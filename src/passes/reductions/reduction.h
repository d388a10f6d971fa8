// What the passes over reduces share: what a reduce is in memory, and when its terms may be grouped.
#ifndef HLO_PASSES_REDUCTIONS_REDUCTION_H_
#define HLO_PASSES_REDUCTIONS_REDUCTION_H_

#include <cstdint>

#include "ir/instruction.h"

namespace hlo {

// Every operand is row-major, and so is every result.
bool IsRowMajor(const Instruction& reduce);

// Neighbouring dimensions in one, so that a reduce is one of
//   rows      [major, kept, minor]     sums over major and minor; plain rows have major = 1
//   columns   [major, summed, minor]   sums over the middle
struct ReductionShape {
  bool is_row = false;
  int64_t major = 1, middle = 1, minor = 1;
};

// Dimensions are in memory order. False where neither those that stay nor those that go are neighbours, and where a
// kernel for rows or columns does not pay: threads of a warp would have nothing to do. Such a reduce is computed by one
// thread for each sum. XLA calls the others "reductions from or to contiguous dimensions".
bool IsRowOrColumnReduction(const Instruction& reduce, ReductionShape* shape);

// May terms be grouped at will, and the initial value taken once for each group? A float product may not: of a group it
// can be infinite where the whole is small.
bool MayGroup(Opcode op, const Instruction& init);

}  // namespace hlo

#endif  // HLO_PASSES_REDUCTIONS_REDUCTION_H_
