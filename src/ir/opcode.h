// Opcodes and what the table (ops.def) says of them.
#ifndef HLO_IR_OPCODE_H_
#define HLO_IR_OPCODE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ir/attrs.h"

namespace hlo {

class Instruction;

enum class Opcode : uint8_t {
#define HLO_OP(Name, ...) k##Name,
#include "ir/ops.def"
};

inline constexpr int kVariadic = -1;

enum OpTrait : uint32_t {
  kElementwise = 1 << 0,  // Result element i needs operand elements i only (clamp and select also take scalars).
  kCommutative = 1 << 1,  // f(a, b) == f(b, a).
  kInferable = 1 << 2,    // The text may leave out the result shape (docs/language.md#omitted-shapes).
  kSideEffect = 1 << 3,   // Kept although nothing uses it.
  kCollective = 1 << 4,
};

struct OpRow {
  std::string_view text;
  int arity;
  Result<Shape> (*shape_rule)(const Instruction&);
  uint32_t traits;
  int attrs_kind;              // Attributes::kind().
  Attributes (*make_attrs)();  // Default attributes of that kind.
};

extern const OpRow kOpRows[];
inline const OpRow& RowOf(Opcode opcode) { return kOpRows[static_cast<int>(opcode)]; }
std::span<const OpRow>
AllOps();  // Those with a word of their own, indexed by opcode: kElidedConstant, the last, has none.
inline std::string_view ToString(Opcode opcode) { return RowOf(opcode).text; }
std::optional<Opcode> OpcodeFromText(std::string_view text);

}  // namespace hlo

#endif  // HLO_IR_OPCODE_H_
