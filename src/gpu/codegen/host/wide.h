// A pass of the host lowering that plans which bodies are emitted as vectors. LLVM's vectoriser would spend much
// compile time to rediscover independent elements, contiguous accesses and uniform values, so it gets only bodies with
// varying branches, masks or narrow strides. Bodies that mainly gather or scatter stay scalar.
#ifndef HLO_GPU_CODEGEN_HOST_WIDE_H_
#define HLO_GPU_CODEGEN_HOST_WIDE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/codegen/host/segments.h"
#include "gpu/codegen/host/strips.h"
#include "gpu/kernel/facts.h"

namespace hlo::kernel {

// A stride: the value is not linear in the lane.
constexpr int64_t kOwnValue = INT64_MIN;

struct WidePlan {
  // Elements in a vector of the body's widest type in memory. 0 if the body cannot be emitted as vectors.
  int64_t lanes = 0;
  // Whether to emit lane by lane, because vectors built element by element are as slow and need several times the code.
  bool is_scalar = false;
  bool is_short = false;
  // Elements may be computed twice: the body stores only to shared arrays that it does not read.
  bool may_repeat = false;
  bool has_branch = false;  // Whether the body has a uniform branch, which LLVM's vectoriser does not support.
  // LLVM must not use masks, which would make accesses with gaps between lanes scalar (complex_mul in
  // bench/results/families.md).
  bool has_gaps = false;
  // Indexed by value: its difference between adjacent lanes. 0: uniform. kOwnValue: not linear in the lane. A value
  // with a known stride is emitted as the first lane's scalar.
  std::vector<int64_t> stride;
  // Thread-level variables that are set in branches, or in loops that are not unrolled.
  std::vector<int64_t> carried;
};

// The segments and strip that contain a body, null if absent, and its group in the strip.
struct WideContext {
  const SegmentPlan* segments = nullptr;
  const StripPlan* strip = nullptr;
  int group = 0;
  // Allows loops with the same bounds in all lanes inside the vector body. Varying values loaded there must come from
  // shared arrays, which are in the cache in any order of access.
  bool loops_inside = false;
};

// The most vectors for each of `carried` variables (8, 4, 2 or 1) that fit into registers together, or 0.
int VectorsInRegisters(size_t carried, int64_t vector_bytes);

// `indices` are the body's arguments that number the lanes.
WidePlan PlanWide(const HostFacts& facts, std::span<const Instruction* const> body, std::span<const int32_t> indices,
                  WideContext context, int64_t vector_bytes);

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_HOST_WIDE_H_
