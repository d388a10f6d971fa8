// Custom calls that compute nothing. They declare placement, a split among devices, or limits for a compiler.
#ifndef HLO_IR_MARKERS_H_
#define HLO_IR_MARKERS_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace hlo {

class Instruction;

enum class Marker : uint8_t {
  kNone,
  kValue,   // The value is the operand, or the operands as a tuple.
  kNotice,  // The result is ().
  kShard,   // A manual region starts: each partition continues with its part of a value that all hold.
  kWhole,   // A manual region ends: the partitions' parts become one value that all hold.
};
Marker MarkerOf(const Instruction& inst);
std::vector<std::string_view> MarkerTargets();

// Whether the value is the operand, the operands as a tuple, or (). Includes a kShard or kWhole with only one part.
bool IsIdentityMarker(const Instruction& inst);

// Whether the instruction is a kWhole that joins several parts.
bool EndsManualRegion(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_MARKERS_H_
