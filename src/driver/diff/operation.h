// Operations without operands: attributes for a diff, and hashes for matching.
#ifndef HLO_DRIVER_DIFF_OPERATION_H_
#define HLO_DRIVER_DIFF_OPERATION_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/module.h"

namespace hlo {

struct DiffIgnore {
  bool names = false, metadata = false, layouts = false, order = false, shapes = false, backend_config = false;
};
Result<DiffIgnore> DiffIgnoreFromWords(std::span<const std::string> words);
std::vector<std::string> DiffIgnoreWords();

// {"direction", "GE", "GT"}. The text of an absent attribute is "".
struct AttributeChange {
  std::string attribute, left, right;
};

// Covers opcode, shape, attributes and value. Callers add called computations and parameter numbers.
uint64_t HashOfOperation(const Instruction& inst, const DiffIgnore& ignore);
// Covers opcode, element types and dimensions.
uint64_t HashOfKind(const Instruction& inst);
// Covers opcode, op_name and source. 0 without op_name and source.
uint64_t HashOfOrigin(const Instruction& inst);

// Lists `name`, `opcode`, `shape`, then attributes. Does not compare operands, parameter numbers and names of
// computations.
std::vector<AttributeChange> ChangesOf(const Instruction& left, const Instruction& right, const DiffIgnore& ignore);
std::vector<AttributeChange> ChangesOf(const Module& left, const Module& right, const DiffIgnore& ignore);
std::vector<std::string> CallingAttributes(const Instruction& inst);

inline uint64_t MixHash(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15;
  return hash ^ (hash >> 31);
}

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_OPERATION_H_
