// The precision that a kernel promises for each instruction, and the defaults. Code generation fills in the plan, and
// the shadow (judge/bounds/shadow.h) derives error bounds from it: docs/comparison.md#local.
#ifndef HLO_IR_PRECISION_PLAN_H_
#define HLO_IR_PRECISION_PLAN_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "ir/opcode.h"
#include "ir/primitive_type.h"

namespace hlo {

class Computation;

enum class SumRounding : uint8_t { kNearest, kTruncate };

struct SumPlan {
  PrimitiveType accumulator = PrimitiveType::kF32;
  SumRounding rounding = SumRounding::kNearest;
  // The most additions that a term passes through, in its thread, in the tree and across blocks together. 0 means any
  // order: the number of terms minus 1.
  int64_t longest_chain = 0;
  // For tensor cores: the number of terms after which partial sums are added to an accumulator of type `promoted`. 0
  // means never.
  int64_t promote_every = 0;
  PrimitiveType promoted = PrimitiveType::kF32;
  // Significand bits, with the hidden one, to which operands of dot and convolution are rounded: 11 for tf32, 8 for
  // bf16. 0 means none.
  int operand_bits = 0;

  bool operator==(const SumPlan&) const = default;
};

struct InstructionPlan {
  // The value's type inside the kernel. If unset, the declared type or a wider one. Results are rounded to their
  // declared type.
  std::optional<PrimitiveType> hold;
  std::optional<SumPlan> sum;
  // Largest error of a function, in units in the last place of `hold`, or of f32 for narrower types. Unset means
  // DefaultUlps.
  std::optional<double> ulps;
  std::string variant;

  bool operator==(const InstructionPlan&) const = default;
};

struct PrecisionPlan {
  // Keys are ids of instructions in the fused computation, or outside fusions. Ordered for reproducible printing.
  std::map<int, InstructionPlan> instructions;
  bool contract = true;  // a * b + c may be rounded once.
  bool ftz = false;      // Results below the smallest normal number may become 0.

  const InstructionPlan* Find(int id) const {
    const auto it = instructions.find(id);
    return it == instructions.end() ? nullptr : &it->second;
  }
  bool operator==(const PrecisionPlan&) const = default;
};

// The default: a sum in any order. Dot and convolution accumulate in the compute type of the result
// (docs/ops.md#accumulation). A reduction may round each step to its declared type.
SumPlan DefaultSum(Opcode opcode, PrimitiveType type);

// The largest error in ulps of f32, or of f64 for f64: docs/comparison.md#functions. 0.5 for correctly rounded
// operations, 0 for exact operations (max, abs, copies).
double DefaultUlps(Opcode opcode, PrimitiveType type);

// A line for `contract` and `ftz`, then one for each planned instruction of `computation`, such as: sum.3 reduce acc
// f32 nearest, chain 38.
std::string ToString(const PrecisionPlan& plan, const Computation& computation);

}  // namespace hlo

#endif  // HLO_IR_PRECISION_PLAN_H_
