// The constants of a module with sizes and ranges.
#ifndef HLO_DRIVER_INSPECT_LITERALS_H_
#define HLO_DRIVER_INSPECT_LITERALS_H_

#include <string>
#include <vector>

#include "ir/module.h"

namespace hlo {

struct LiteralStats {
  const Instruction* constant;
  bool elided = false;                // {...} in the text; other members are empty.
  bool splat = false;                 // All bits are equal.
  double min = 0, max = 0, mean = 0;  // Over finite elements, and real parts.
  int64_t finite = 0, nans = 0, infinities = 0, zeros = 0;
};

// The largest first.
std::vector<LiteralStats> LiteralsOf(const Module& module);
std::string LiteralsText(const std::vector<LiteralStats>& literals, int64_t top);  // `top` 0 is all.
std::string LiteralsJson(const std::vector<LiteralStats>& literals);               // "hlo.literals/1"

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_LITERALS_H_
