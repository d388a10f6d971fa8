// What instructions cost, counted from their shapes and attributes: arithmetic and memory traffic, no device. One law
// for each family of ops stands in cost.cpp.
//
//   arithmetic  Every operation on an element counts, integers' too; a multiply and an add count two. A complex
//   operation
//               counts as the real ones it takes. Transcendental functions (exp, log, sqrt, tanh, ...) are counted
//               apart.
//   traffic     Bytes of memory read and written if the instruction ran alone: each operand once and the result once,
//               less what it does not touch. Renaming (tuple, bitcast, ...) costs nothing.
//   called      What is called is counted as often as it runs: a loop by its trip count, a conditional by its costliest
//               branch, a fusion once over its whole computation with only its ends in memory.
//
// What has no law is named by `gap` and never guessed.
#ifndef HLO_IR_COST_H_
#define HLO_IR_COST_H_

#include <array>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/module.h"

namespace hlo {

// Of dots and convolutions, by the bits of their wider operand: they run on units of their own.
enum class DotWidth : uint8_t { k8, k16, k32, k64 };
inline constexpr int kDotWidths = 4;

struct Cost {
  double flops = 0;            // All arithmetic but transcendental functions, dots and convolutions included.
  double transcendentals = 0;  // Function values.
  std::array<double, kDotWidths> dot_flops = {};  // The part of `flops` that dots and convolutions do.
  double scalar_work = 0;                         // All else, in adds (InstructionCost in ir/fusion.h).
  double bytes_read = 0, bytes_written = 0;

  double bytes() const { return bytes_read + bytes_written; }
  Cost& operator+=(const Cost& other);
  Cost Times(double count) const;
};

// Where the numbers fall short, and how.
struct CostGap {
  const Instruction* inst;
  std::string_view what;
};

// Traffic of one instruction. Of an operand: slices and gathers read what they take, a dynamic-update-slice nothing of
// what it updates, a scatter what it adds to, a fusion what its computation does. Of the result: updates go in place.
double BytesRead(const Instruction& inst, int64_t operand);
double BytesWritten(const Instruction& inst);
double BytesMoved(const Instruction& inst);  // Both, each value read once, however many operands it is.

// Costs are counted when they are first asked for, those of what is called with them: a pass that asks for nothing pays
// nothing. What was counted stays as it was when the module changes. For one thread at a time.
class CostAnalysis {
 public:
  explicit CostAnalysis(const Module& module) : module_(module) {}

  const Cost& Of(const Instruction& inst) const;
  // One run of it. Called ones first, so nothing recurses.
  const Cost& Of(const Computation& computation) const;
  // Of all that the entry reaches, in order of computation, callees first.
  const std::vector<CostGap>& gaps() const;

 private:
  Cost CostOf(const Instruction& inst) const;
  Cost CostOfCalls(const Instruction& inst) const;
  void AddGap(const Instruction& inst, std::string_view what) const;

  const Module& module_;
  // By ids, which nothing else gets.
  mutable std::unordered_map<int, Cost> costs_, sums_;
  mutable std::unordered_set<int> with_gap_;
  mutable std::vector<CostGap> gaps_;
};

}  // namespace hlo

#endif  // HLO_IR_COST_H_
