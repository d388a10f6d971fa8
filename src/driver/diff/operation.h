// The operation of an instruction without its operands: as attributes by name for showing a diff, and as a hash for
// matching.
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

// Properties that are not compared.
struct DiffIgnore {
  bool names = false, metadata = false, layouts = false, order = false, shapes = false, backend_config = false;
};
// Parses the words of --ignore. Errors: F004.
Result<DiffIgnore> DiffIgnoreFromWords(std::span<const std::string> words);
std::vector<std::string> DiffIgnoreWords();

// A changed attribute, such as `direction` of a compare: GE on the left, GT on the right; "" if absent.
struct AttributeChange {
  std::string attribute, left, right;
};

// Covers opcode, shape, attributes and value, but not names and metadata. The caller handles called computations and
// parameter numbers.
uint64_t HashOfOperation(const Instruction& inst, const DiffIgnore& ignore);
// Covers only opcode, element types and dimensions.
uint64_t HashOfKind(const Instruction& inst);
// The origin in the source program by op_name and source; 0 if unknown.
uint64_t HashOfOrigin(const Instruction& inst);

// The changes between two matched instructions in printing order, `opcode` and `shape` first. Attributes that name
// computations, operands and parameter numbers are not compared.
std::vector<AttributeChange> ChangesOf(const Instruction& left, const Instruction& right, const DiffIgnore& ignore);
// The changes of the header.
std::vector<AttributeChange> ChangesOf(const Module& left, const Module& right, const DiffIgnore& ignore);
// The attributes of an instruction that name computations.
std::vector<std::string> CallingAttributes(const Instruction& inst);

inline uint64_t MixHash(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15;
  return hash ^ (hash >> 31);
}

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_OPERATION_H_
