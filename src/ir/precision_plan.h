// The precision that a compiled kernel promises for each instruction, and the defaults where it promises nothing. Code
// generation fills in the plan, the shadow (interp/shadow/shadow.h) derives error bounds from it, and ToString prints
// it. A plan that promises too much shows as violations, and one that promises too little as loose bounds. The bounds:
// docs/comparison.md#local.
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

// The addition of terms by a reduction, dot, convolution, reduce-window or scatter.
struct SumPlan {
  PrimitiveType accumulator = PrimitiveType::kF32;
  SumRounding rounding = SumRounding::kNearest;
  // The largest number of additions that one term passes through, in its thread, in the tree and across blocks. For
  // 4096 terms, 128 threads and a tree of 7 levels it is 31 + 7. 0 means any order, that is, the number of terms minus
  // 1.
  int64_t longest_chain = 0;
  // For tensor cores: partial sums are added to an accumulator of type `promoted` after this number of terms. 0 means
  // never.
  int64_t promote_every = 0;
  PrimitiveType promoted = PrimitiveType::kF32;
  // Operands of dot and convolution are first rounded to this number of significand bits, with the hidden bit: 11 for
  // tf32, 8 for bf16. 0 means not rounded.
  int operand_bits = 0;

  bool operator==(const SumPlan&) const = default;
};

struct InstructionPlan {
  // The type of the value inside the kernel. If unset, the declared type or a wider one. A result of the kernel is
  // always rounded to its declared type.
  std::optional<PrimitiveType> hold;
  // For ops that sum. Unset means DefaultSum.
  std::optional<SumPlan> sum;
  // For functions: the largest error, in units in the last place of `hold`, or of f32 for narrower types. Unset means
  // DefaultUlps.
  std::optional<double> ulps;
  std::string variant;  // The implementation, for ToString: "polynomial", "approx.ftz", "div.full".

  bool operator==(const InstructionPlan&) const = default;
};

struct PrecisionPlan {
  // Indexed by the id of the instruction in the fused computation, or of the instruction itself outside fusions. A
  // missing instruction has no promise. Ordered, so that printing is reproducible.
  std::map<int, InstructionPlan> instructions;
  bool contract = true;  // a * b + c may be rounded once.
  bool ftz = false;      // Results below the smallest normal number may become 0.

  const InstructionPlan* Find(int id) const {
    const auto it = instructions.find(id);
    return it == instructions.end() ? nullptr : &it->second;
  }
  bool operator==(const PrecisionPlan&) const = default;
};

// The summation if nothing is promised, for an op with result type `type`: any order. Dot and convolution accumulate in
// the compute type of the result (docs/ops.md#accumulation). A reduction may round each step to its declared type.
SumPlan DefaultSum(Opcode opcode, PrimitiveType type);

// The largest error in ulps of f32, or of f64 for f64: docs/comparison.md#functions. It is 0.5 for correctly rounded
// operations and 0 for ops that never round (max, abs, copies).
double DefaultUlps(Opcode opcode, PrimitiveType type);

// One line for each instruction of `computation` in the plan:
//   "  sum.3  reduce  acc f32 nearest, chain 38;  exp.2  exponential  hold f32, 2 ulp (polynomial)".
std::string ToString(const PrecisionPlan& plan, const Computation& computation);

}  // namespace hlo

#endif  // HLO_IR_PRECISION_PLAN_H_
