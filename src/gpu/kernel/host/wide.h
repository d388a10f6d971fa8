// Bodies that can be emitted in vectors, a pass of the host lowering. LLVM's vectoriser takes a quarter of the time of
// compiling a kernel, to find out again what is known here: that elements are independent, which accesses are
// contiguous and what is the same for all. What this does not take (branches that vary, masks, narrow strides) is left
// to it; but bodies that do little else than gather or scatter stay scalar.
#ifndef HLO_GPU_KERNEL_HOST_WIDE_H_
#define HLO_GPU_KERNEL_HOST_WIDE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/kernel/host/facts.h"
#include "gpu/kernel/host/segments.h"
#include "gpu/kernel/host/strips.h"

namespace hlo::kernel {

// Not a line: a value of its own for each lane.
constexpr int64_t kOwnValue = INT64_MIN;

struct WidePlan {
  int64_t lanes = 0;  // That make a vector of the widest type in memory; 0: the body cannot be emitted so.
  // One lane after the other: vectors would be put together element by element, as slowly and in several times the
  // code.
  bool is_scalar = false;
  bool is_short = false;  // So that it may stand there several times.
  // Elements that were taken may be taken again: all that is stored is stored to shared arrays which nothing here
  // reads.
  bool may_repeat = false;
  bool has_branch = false;  // That is the same for all lanes: LLVM's vectoriser takes no such body.
  // The vectoriser is to take it without masks: an access has elements between those of its lanes, as parts of complex
  // numbers have, which masks would make it take one by one (on a Zen 4 a product of c64[500000] takes half the time
  // so).
  bool has_gaps = false;
  // By value: from one lane to the next. 0: the same for all; others are emitted as the scalar of the first lane.
  std::vector<int64_t> stride;
  // Variables of the lanes that live across branches, or across loops which are not written out where the context lets
  // those in.
  std::vector<int64_t> carried;
};

// Where a body stands. Null: not there.
struct WideContext {
  const SegmentPlan* segments = nullptr;
  const StripPlan* strip = nullptr;
  int group = 0;  // Of the strip.
  // Loops with the same bounds in all lanes may run inside the vector, as long as what differs between lanes in them
  // comes from shared arrays: those are in the cache, in whatever order they are read.
  bool loops_inside = false;
};

// How many vectors of `carried` variables each fit into the registers, next to what a step needs: 0 if not even one.
int VectorsInRegisters(size_t carried, int64_t vector_bytes);

// `body`: instructions in their order; `indices`: values that count lanes.
WidePlan PlanWide(const HostFacts& facts, std::span<const Instruction* const> body, std::span<const int32_t> indices,
                  WideContext context, int64_t vector_bytes);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_HOST_WIDE_H_
