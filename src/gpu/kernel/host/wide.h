// A pass of the host lowering that emits bodies as vectors directly. LLVM's vectoriser would spend much compile time to
// rediscover facts that are known here: elements are independent, some accesses are contiguous, and some values are
// uniform. Other bodies (varying branches, masks, narrow strides) are left to LLVM's vectoriser. Bodies that mainly
// gather or scatter stay scalar.
#ifndef HLO_GPU_KERNEL_HOST_WIDE_H_
#define HLO_GPU_KERNEL_HOST_WIDE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/kernel/host/facts.h"
#include "gpu/kernel/host/segments.h"
#include "gpu/kernel/host/strips.h"

namespace hlo::kernel {

// The stride of a value that is different in each lane and not linear.
constexpr int64_t kOwnValue = INT64_MIN;

struct WidePlan {
  int64_t lanes = 0;  // Lanes in a vector of the widest type in memory; 0 if the body cannot be emitted as vectors.
  // Emit one lane after another. Vectors would be built element by element, which is as slow and needs several times
  // the code.
  bool is_scalar = false;
  bool is_short = false;  // Short enough to be emitted several times.
  // Elements may be computed twice, because the body stores only to shared arrays that it does not read.
  bool may_repeat = false;
  bool has_branch = false;  // Has a uniform branch. LLVM's vectoriser does not support such bodies.
  // Vectorise without masks. An access has gaps between its lanes, as for parts of complex numbers. Masks would split
  // it into scalar accesses (complex_mul in bench/results/2026-11-27-families.md).
  bool has_gaps = false;
  // Indexed by value: the stride between lanes. 0 is uniform. Other linear values are emitted as the scalar of the
  // first lane.
  std::vector<int64_t> stride;
  // Variables of the lanes that live across branches, or across loops that are not unrolled, if the context allows
  // loops inside.
  std::vector<int64_t> carried;
};

// The surroundings of a body. Null members are absent.
struct WideContext {
  const SegmentPlan* segments = nullptr;
  const StripPlan* strip = nullptr;
  int group = 0;  // Within the strip.
  // Allows loops with the same bounds in all lanes inside the vector body. Varying values in them must come from shared
  // arrays, which are in the cache in any order of access.
  bool loops_inside = false;
};

// The number of vectors for each of `carried` variables that fit into registers beside the values of a step. 0 if not
// even one fits.
int VectorsInRegisters(size_t carried, int64_t vector_bytes);

// `body` are instructions in order, and `indices` values that count lanes.
WidePlan PlanWide(const HostFacts& facts, std::span<const Instruction* const> body, std::span<const int32_t> indices,
                  WideContext context, int64_t vector_bytes);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_HOST_WIDE_H_
