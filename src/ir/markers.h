// Custom calls that compute nothing. They declare the placement of values, their split among devices, or limits for a
// compiler. JAX, TensorFlow, PyTorch/XLA and XLA write them.
#ifndef HLO_IR_MARKERS_H_
#define HLO_IR_MARKERS_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace hlo {

class Instruction;

enum class Marker : uint8_t {
  kNone,
  kValue,   // The value is the operand, or the tuple of the operands.
  kNotice,  // Has no value; the result is ().
  kShard,   // Start of a manual region: each partition continues with its part of a value that all of them hold.
  kWhole,   // End of a manual region: the parts of the partitions become one value that all of them hold.
};
Marker MarkerOf(const Instruction& inst);
std::vector<std::string_view> MarkerTargets();

// Whether the value of the marker is its operand, or (). A kShard or kWhole is included if its operand and result have
// the same shape, because then there is only one part.
bool IsIdentityMarker(const Instruction& inst);

// Whether the instruction ends a manual region whose parts must be joined.
bool EndsManualRegion(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_MARKERS_H_
