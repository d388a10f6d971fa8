// Opcodes and the columns of their table (ir/ops.def).
#ifndef HLO_IR_OPCODE_H_
#define HLO_IR_OPCODE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ir/attrs.h"

namespace hlo {

struct FactorRule;
class Instruction;

enum class Opcode : uint8_t {
#define HLO_OPCODE(Name, ...) k##Name,
#include "ir/opcodes.inc"
};

inline constexpr int kVariadic = -1;

enum OpTrait : uint32_t {
  // Element i needs elements i of operands. clamp and select also take scalars.
  kElementwise = 1 << 0,
  kCommutative = 1 << 1,  // f(a, b) == f(b, a).
  kInferable = 1 << 2,    // The text may omit the result shape (docs/language.md#omitted-shapes).
  kSideEffect = 1 << 3,   // Kept even without users.
  kCollective = 1 << 4,
  kControl = 1 << 5,       // Runs called computations as separate steps: while, conditional, call.
  kHoldsLiteral = 1 << 6,  // A constant, known or elided.
  kNoKernel = 1 << 7,      // The result is known, or in the memory of the operands.
  kMoves = 1 << 8,         // Moves elements to other positions, or pads.
  kHandsOn = 1 << 9,       // The result consists of whole operands or elements of a tuple.
  // An order or predicate selects an operand for each element, without rounding.
  kChooses = 1 << 10,
  kStandsAlone = 1 << 11,  // Is not fused into its users.
  kExactTypes = 1 << 12,   // Float types must be the inferred ones (docs/verifier.md#written-and-inferred-shapes).
  kMixesFloats = 1 << 13,  // Float types may differ (docs/verifier.md#mixed-float-types).
  kKeepsLayout = 1 << 14,  // The result has the operands' layout (docs/verifier.md#layouts).
  kView = 1 << 15,         // The operand's elements, in the order of memory, with another shape.
};

// Cost of one result element. `work` is in additions of f32, for comparison with memory traffic. `flops` counts as XLA
// does: a complex product is 4 multiplies and 2 adds, a quotient 3 multiplies for each part, 3 adds and 2 divides.
// Other complex arithmetic works on each part.
struct ElementCost {
  double work, complex_work;
  double flops, complex_flops;
  bool function;  // Each part counts as one function value, and not in flops.
};
inline constexpr ElementCost kFree = {0, 0, 0, 0, false};
inline constexpr ElementCost kLight = {1, 1, 0, 0, false};    // Index arithmetic, or access to a part of a number.
inline constexpr ElementCost kGuarded = {4, 4, 0, 0, false};  // Index arithmetic with bound checks.
inline constexpr ElementCost kArithmetic = {1, 1, 1, 2, false};
inline constexpr ElementCost kProduct = {1, 6, 1, 6, false};
inline constexpr ElementCost kQuotient = {8, 24, 1, 11, false};
inline constexpr ElementCost kRoot = {4, 40, 0, 0, true};
inline constexpr ElementCost kExponential = {10, 50, 0, 0, true};
inline constexpr ElementCost kLogarithm = {14, 60, 0, 0, true};
inline constexpr ElementCost kFunction = {30, 90, 0, 0, true};

struct OpRow {
  std::string_view text;
  int arity;
  Result<Shape> (*shape_rule)(const Instruction&);
  FactorRule (*factor_rule)(const Instruction&);
  uint32_t traits;
  int attrs_kind;  // Attributes::kind().
  Attributes (*make_attrs)();
  ElementCost cost;
  // Largest error in f32, in units in the last place (DefaultUlps in ir/precision_plan.h).
  double ulps;
  std::string_view prose;  // One line. docs/ops.md has more.
};

extern const OpRow kOpRows[];
inline const OpRow& RowOf(Opcode opcode) { return kOpRows[static_cast<int>(opcode)]; }
std::span<const OpRow> AllOps();  // Indexed by opcode. Leaves out kElidedConstant, the last opcode.
inline std::string_view ToString(Opcode opcode) { return RowOf(opcode).text; }
std::optional<Opcode> OpcodeFromText(std::string_view text);

}  // namespace hlo

#endif  // HLO_IR_OPCODE_H_
