// Custom calls that say where values live, how they are split among devices or what a compiler may do with them, and
// compute nothing. JAX, TensorFlow, PyTorch/XLA and XLA itself write them.
#ifndef HLO_IR_MARKERS_H_
#define HLO_IR_MARKERS_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace hlo {

class Instruction;

enum class Marker : uint8_t {
  kNone,    // Not a marker.
  kValue,   // Its value is its operand, or the tuple of its operands.
  kNotice,  // It has no value: the result is ().
  kShard,   // Each partition goes on with its part of a value that all of them hold whole: a manual region begins.
  kWhole,   // The parts of the partitions are one value again, which all of them hold: the region ends.
};
Marker MarkerOf(const Instruction& inst);
std::vector<std::string_view> MarkerTargets();

// A marker whose value is what it is given, or nothing. Where shards are as large as the whole there is one part.
bool IsIdentityMarker(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_MARKERS_H_
