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
#define HLO_OPCODE(Name, ...) k##Name,
#include "ir/opcodes.inc"
};

inline constexpr int kVariadic = -1;

enum OpTrait : uint32_t {
  kElementwise = 1 << 0,  // Result element i needs operand elements i only (clamp and select also take scalars).
  kCommutative = 1 << 1,  // f(a, b) == f(b, a).
  kInferable = 1 << 2,    // The text may leave out the result shape (docs/language.md#omitted-shapes).
  kSideEffect = 1 << 3,   // Kept although nothing uses it.
  kCollective = 1 << 4,
  kControl = 1 << 5,       // Runs computations that it calls as steps of their own: while, conditional, call.
  kHoldsLiteral = 1 << 6,  // A constant, known or elided.
  kOnlyNames = 1 << 7,     // Its result is where its operands are, or is known: nothing runs, nothing moves.
  kMoves = 1 << 8,         // Elements of an operand to other places, or padding: no arithmetic.
  kHandsOn = 1 << 9,       // Whole values of operands, as they are.
  kChooses = 1 << 10,      // Each element is one of an operand's, by order or by a predicate: nothing is rounded.
  kStandsAlone = 1 << 11,  // A kernel, a library call or a step of its own: fusion takes nothing behind it.
  kExactTypes = 1 << 12,   // Its float types are the inferred ones (docs/verifier.md#written-and-inferred-shapes).
  kMixesFloats = 1 << 13,  // Operands and result may differ in theirs (docs/verifier.md#mixed-float-types).
  kKeepsLayout = 1 << 14,  // Its result lies as its operands do (docs/verifier.md#layouts).
};

// What one element of a result costs: `work` in additions of f32, which fusion weighs against memory, and what an
// analysis counts as XLA's does. Complex: (a+bi)(c+di) is 4 multiplies and 2 adds; a quotient 3 multiplies for each
// part, 3 adds and 2 divides; other arithmetic works on each part.
struct ElementCost {
  double work, complex_work;
  double flops, complex_flops;
  bool function;  // A call of a function of math for each part, which counts no flops.
};
inline constexpr ElementCost kFree = {0, 0, 0, 0, false};
inline constexpr ElementCost kLight = {1, 1, 0, 0, false};    // Index arithmetic, or parts of a number.
inline constexpr ElementCost kGuarded = {4, 4, 0, 0, false};  // Index arithmetic with bounds to look at.
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
  uint32_t traits;
  int attrs_kind;              // Attributes::kind().
  Attributes (*make_attrs)();  // Default attributes of that kind.
  ElementCost cost;
  double ulps;
  std::string_view prose;  // What the op is, in a line; at length: docs/ops.md.
};

extern const OpRow kOpRows[];
inline const OpRow& RowOf(Opcode opcode) { return kOpRows[static_cast<int>(opcode)]; }
std::span<const OpRow>
AllOps();  // Those with a word of their own, indexed by opcode: kElidedConstant, the last, has none.
inline std::string_view ToString(Opcode opcode) { return RowOf(opcode).text; }
std::optional<Opcode> OpcodeFromText(std::string_view text);

}  // namespace hlo

#endif  // HLO_IR_OPCODE_H_
