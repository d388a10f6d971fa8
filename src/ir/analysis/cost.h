// Estimates arithmetic and memory traffic of instructions. RooflineOf gives a device's time for them.
//
//   arithmetic  An operation on an element counts one, a multiply-add two, a complex operation its real operations.
//               Transcendental functions (exp, log, sqrt, tanh, ...) are counted separately.
//   traffic     Bytes that the instruction reads and writes by itself: each operand and the result once, without
//               parts that it does not access. Renaming (tuple, bitcast, ...) costs nothing.
//   calls       A called computation counts as often as it runs, a conditional as its most expensive branch. A
//               fusion has the arithmetic of its computation and the traffic of its operands and results.
//
// gaps() lists instructions whose cost is not fully known, such as custom calls and loops with an unknown trip count.
#ifndef HLO_IR_ANALYSIS_COST_H_
#define HLO_IR_ANALYSIS_COST_H_

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/device_description.h"
#include "ir/module.h"

namespace hlo {

// Bits of the wider operand type of a dot or convolution. For complex operands, the bits of one part.
enum class DotWidth : uint8_t { k8, k16, k32, k64 };
inline constexpr int kDotWidths = 4;

struct Cost {
  double flops = 0;
  double transcendentals = 0;  // Number of function values.
  std::array<double, kDotWidths> dot_flops = {};
  double scalar_work = 0;  // Work except dots, in additions (InstructionCost in ir/fusion.h).
  double bytes_read = 0, bytes_written = 0;

  double bytes() const { return bytes_read + bytes_written; }
  Cost& operator+=(const Cost& other);
  Cost Times(double count) const;
};

// Seconds that a device's units need. They work at the same time.
struct Roofline {
  double memory = 0, dots = 0, scalar = 0;
  double Seconds() const { return std::max({memory, dots, scalar}); }
};
Roofline RooflineOf(const Cost& cost, const DeviceDescription& device);

struct CostGap {
  const Instruction* inst;
  std::string_view what;
};

// Bytes read from one operand. Slices and gathers read only the selected elements. A dynamic-update-slice reads nothing
// of the updated array, a scatter one element for each update. A fusion reads the same elements as its computation.
// BytesWritten counts only updated elements of in-place updates.
double BytesRead(const Instruction& inst, int64_t operand);
double BytesWritten(const Instruction& inst);
double BytesMoved(const Instruction& inst);  // Several reads of one value count at most its size.

// Keeps computed costs, so the module must not change. Not thread-safe.
class CostAnalysis {
 public:
  explicit CostAnalysis(const Module& module) : module_(module) {}

  const Cost& CostOf(const Instruction& inst) const;
  const Cost& CostOf(const Computation& computation) const;
  // Gaps in all computations that the entry reaches.
  const std::vector<CostGap>& gaps() const;

 private:
  Cost ComputeCost(const Instruction& inst) const;
  Cost CostOfCalls(const Instruction& inst) const;
  Cost CostOfApplied(const Instruction& inst) const;
  void AddGap(const Instruction& inst, std::string_view what) const;

  const Module& module_;
  mutable std::unordered_map<int, Cost> costs_, sums_;
  mutable std::unordered_set<int> with_gap_;
  mutable std::vector<CostGap> gaps_;
};

}  // namespace hlo

#endif  // HLO_IR_ANALYSIS_COST_H_
