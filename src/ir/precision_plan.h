// What a compiled kernel promises about its arithmetic, instruction by instruction, and what holds where nothing was
// promised. Code generation fills it, the shadow (interp/shadow/shadow.h) derives error bounds from it, ToString shows
// it. A plan that promises too much shows as violations; one that promises too little shows as loose bounds. What
// follows from it: docs/comparison.md#local.
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

// How a reduction, dot, convolution, reduce-window or scatter adds up.
struct SumPlan {
  PrimitiveType accumulator = PrimitiveType::kF32;
  SumRounding rounding = SumRounding::kNearest;
  // The most additions that any one term passes through: in its thread, in the tree, across blocks. A row of 4096 over
  // 128 threads and a tree of 7 levels: 31 + 7. 0: any order, that is one less than the number of terms.
  int64_t longest_chain = 0;
  // Tensor cores: partial sums move into an accumulator of `promoted` after this many terms. 0: never.
  int64_t promote_every = 0;
  PrimitiveType promoted = PrimitiveType::kF32;
  // Significand bits (the hidden one counts) to which dot and convolution operands are rounded first: 11 for tf32, 8
  // for bf16. 0: operands as they are.
  int operand_bits = 0;

  bool operator==(const SumPlan&) const = default;
};

struct InstructionPlan {
  // The type the value lives in inside the kernel. Unset: the declared type, or wider, at the kernel's choice. A
  // kernel's result is rounded to its declared type in any case.
  std::optional<PrimitiveType> hold;
  // Of ops that add up. Unset: DefaultSum.
  std::optional<SumPlan> sum;
  // Of functions: how far from the exact value, in units in the last place of the type computed in (`hold`, else f32
  // for narrower types). Unset: DefaultUlps.
  std::optional<double> ulps;
  std::string variant;  // Which implementation, for ToString: "polynomial", "approx.ftz", "div.full".

  bool operator==(const InstructionPlan&) const = default;
};

struct PrecisionPlan {
  // By id of the instruction inside the fused computation (for an instruction outside fusions: its own id). What is
  // missing promises nothing. Ordered, so that it prints the same twice.
  std::map<int, InstructionPlan> instructions;
  bool contract = true;  // a * b + c may be one rounding.
  bool ftz = false;      // Results below the smallest normal may become 0.

  const InstructionPlan* Find(int id) const {
    const auto it = instructions.find(id);
    return it == instructions.end() ? nullptr : &it->second;
  }
  bool operator==(const PrecisionPlan&) const = default;
};

// What holds without a promise, for an op whose result has element type `type`. Any order. Dot and convolution
// accumulate in the compute type of the result (docs/ops.md#accumulation); a reduction may round each
// step to its declared type.
SumPlan DefaultSum(Opcode opcode, PrimitiveType type);

// The budget in ulps of f32 (f64: of f64): docs/comparison.md#functions. Correctly rounded operations have 0.5; ops
// that never round (max, abs, copies) 0.
double DefaultUlps(Opcode opcode, PrimitiveType type);

// One line for each instruction of `computation` that the plan knows:
//   "  sum.3  reduce  acc f32 nearest, chain 38;  exp.2  exponential  hold f32, 2 ulp (polynomial)".
std::string ToString(const PrecisionPlan& plan, const Computation& computation);

}  // namespace hlo

#endif  // HLO_IR_PRECISION_PLAN_H_
