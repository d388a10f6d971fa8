// The promise of a pass about the module's results.
#ifndef HLO_IR_PRESERVES_H_
#define HLO_IR_PRESERVES_H_

#include <cstdint>

namespace hlo {

enum class Preserves : uint8_t {
  kExact,             // Same bits for the same inputs, except payloads of NaNs.
  kReassociates,      // Same real numbers, with sums and products in another order or grouping.
  kChangesPrecision,  // Same real numbers, with other types or fewer roundings.
};

}  // namespace hlo

#endif  // HLO_IR_PRESERVES_H_
