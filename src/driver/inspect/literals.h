// The constants of a module with sizes and ranges.
#ifndef HLO_DRIVER_INSPECT_LITERALS_H_
#define HLO_DRIVER_INSPECT_LITERALS_H_

#include <string>
#include <vector>

#include "ir/module.h"

namespace hlo {

struct LiteralStats {
  const Instruction* constant;
  bool elided = false;                // The text has {...}, and the members below are empty.
  bool splat = false;                 // All elements have the same bits.
  double min = 0, max = 0, mean = 0;  // Figures of the finite elements, and of the real parts of complex numbers.
  int64_t finite = 0, nans = 0, infinities = 0, zeros = 0;
};

// The largest constants first.
std::vector<LiteralStats> LiteralsOf(const Module& module);
std::string LiteralsText(const std::vector<LiteralStats>& literals, int64_t top);  // `top` rows. 0 is all.
std::string LiteralsJson(const std::vector<LiteralStats>& literals);               // "hlo.literals/1"

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_LITERALS_H_
