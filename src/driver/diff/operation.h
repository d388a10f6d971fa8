// What an instruction does, whoever it reads: as attributes by name, which a diff shows, and as one hash, which
// matching compares.
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

// What is no difference.
struct DiffIgnore {
  bool names = false, metadata = false, layouts = false, order = false, shapes = false, backend_config = false;
};
// The words of --ignore. Errors [F004].
Result<DiffIgnore> DiffIgnoreFromWords(std::span<const std::string> words);
std::vector<std::string> DiffIgnoreWords();

// `direction` of a compare: GE on the left, GT on the right; "" where it says nothing.
struct AttributeChange {
  std::string attribute, left, right;
};

// Opcode, shape, attributes and value, without names and metadata; called computations and the number of a parameter
// are left to the caller.
uint64_t HashOfOperation(const Instruction& inst, const DiffIgnore& ignore);
// The same instruction but for layouts and attributes: opcode, element types and dimensions.
uint64_t HashOfKind(const Instruction& inst);
// Where in somebody's program it comes from, by op_name and source; 0: nothing is said.
uint64_t HashOfOrigin(const Instruction& inst);

// Of two that were matched, in the order of printing; `opcode` and `shape` first. Attributes that name computations are
// left out, and so are operands and the number of a parameter.
std::vector<AttributeChange> ChangesOf(const Instruction& left, const Instruction& right, const DiffIgnore& ignore);
// Of the header.
std::vector<AttributeChange> ChangesOf(const Module& left, const Module& right, const DiffIgnore& ignore);
// The attributes of an instruction that name computations.
std::vector<std::string> CallingAttributes(const Instruction& inst);

inline uint64_t MixHash(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15;
  return hash ^ (hash >> 31);
}

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_OPERATION_H_
