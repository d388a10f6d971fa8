// Estimates the cost of instructions from their shapes and attributes: arithmetic and memory traffic, independent of a
// device. cost.cpp has one formula for each family of ops.
//
//   arithmetic  Each operation on an element counts one, for integers too. A multiply-add counts two. A complex
//               operation counts as its real operations. Transcendental functions (exp, log, sqrt, tanh, ...) are
//               counted separately.
//   traffic     Bytes that the instruction would read and write if it ran alone: each operand and the result once,
//               without the parts that it does not access. Renaming (tuple, bitcast, ...) costs nothing.
//   calls       A called computation counts as often as it runs. A loop body counts once for each trip, a conditional
//               as its most expensive branch. A fusion has the arithmetic of its computation and the traffic of its
//               operands and results.
//
// An instruction without a formula, or with an unknown count, is listed in gaps() instead of guessed.
#ifndef HLO_IR_COST_H_
#define HLO_IR_COST_H_

#include <array>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/module.h"

namespace hlo {

// Bits of the wider operand of a dot or convolution. Dots and convolutions have their own rates on a device.
enum class DotWidth : uint8_t { k8, k16, k32, k64 };
inline constexpr int kDotWidths = 4;

struct Cost {
  // All arithmetic except transcendental functions, including dots and convolutions.
  double flops = 0;
  double transcendentals = 0;                     // Number of function values.
  std::array<double, kDotWidths> dot_flops = {};  // The part of `flops` in dots and convolutions.
  double scalar_work = 0;                         // All other work, in additions (InstructionCost in ir/fusion.h).
  double bytes_read = 0, bytes_written = 0;

  double bytes() const { return bytes_read + bytes_written; }
  Cost& operator+=(const Cost& other);
  Cost Times(double count) const;
};

// An instruction whose cost is incomplete, and why.
struct CostGap {
  const Instruction* inst;
  std::string_view what;
};

// Bytes that an instruction reads from one operand. Slices and gathers read only the selected elements. A
// dynamic-update-slice does not read the array that it updates, and a scatter reads only the elements that it combines.
// A fusion reads what its computation reads. BytesWritten counts only the updated elements of in-place updates.
double BytesRead(const Instruction& inst, int64_t operand);
double BytesWritten(const Instruction& inst);
double BytesMoved(const Instruction& inst);  // Reads and writes. A value that is several operands counts once.

// Costs are computed on demand, together with the costs of called computations. They are not updated when the module
// changes. Not thread-safe.
class CostAnalysis {
 public:
  explicit CostAnalysis(const Module& module) : module_(module) {}

  const Cost& CostOf(const Instruction& inst) const;
  // The cost of one run. Computes callees first, so that nothing recurses.
  const Cost& CostOf(const Computation& computation) const;
  // The gaps in all computations that the entry reaches, in post-order of the computations.
  const std::vector<CostGap>& gaps() const;

 private:
  Cost ComputeCost(const Instruction& inst) const;
  Cost CostOfCalls(const Instruction& inst) const;
  void AddGap(const Instruction& inst, std::string_view what) const;

  const Module& module_;
  // Keyed by ids, which are never reused.
  mutable std::unordered_map<int, Cost> costs_, sums_;
  mutable std::unordered_set<int> with_gap_;
  mutable std::vector<CostGap> gaps_;
};

}  // namespace hlo

#endif  // HLO_IR_COST_H_
