// Loops of recurrent networks (GRU, LSTM, plain RNNs, lax.scan) after fusion, which a cluster of blocks can run as one
// kernel. Each block keeps some columns of the weights in shared memory. The pass that makes such regions
// (ir/analysis/region.h, "block") and their planner use this file.
//
//   h' = tanh(x[t] + h W);  ys[t] = h'        h f32[8,256], W f32[256,256], 8 blocks: each has 32 columns of W and h
//
// The body may contain:
//   - library products [rows, terms] x [terms, columns], where the weights are a constant or unchanged state. A vector
//     may be either operand of the dot. Elementwise instructions may follow.
//   - kernels in which each element keeps its column: elementwise ops, slices at multiples of the period,
//     concatenations of whole periods, reshapes, broadcasts along rows, and dynamic slices of rows.
//
// The state consists of single elements, unchanged values, arrays of whole periods, and arrays that a
// dynamic-update-slice fills in place. The trip count must be known.
//
// Values that depend on the state are distributed over the blocks. Block `rank` of n computes the elements whose
// position in memory, modulo the period, is in [rank, rank + 1) * period / n, which are the same units of each gate. It
// reads elements of other blocks only as left operands of products. Each block computes all other values.
#ifndef HLO_IR_ANALYSIS_RECURRENT_LOOP_H_
#define HLO_IR_ANALYSIS_RECURRENT_LOOP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/device_description.h"
#include "ir/instruction.h"

namespace hlo {

struct RecurrentLoop {
  enum class Element : uint8_t {
    kNumber,     // One element, which each block computes.
    kUnchanged,  // Unchanged by the loop and read in place.
    kColumns,    // Passed from trip to trip, distributed by columns.
    kFilled,     // Distributed by columns. Each trip writes new positions and reads none.
  };
  struct Product {
    const Instruction* call = nullptr;
    const Instruction* dot = nullptr;
    int64_t left = 0, weights = 0;
    bool weights_by_column = false;  // The weights have the shape [columns, terms].
    const Shape* weights_shape = nullptr;
    int64_t rows = 0, terms = 0, columns = 0;
    // The left operand if it is distributed by columns and must be gathered, or null.
    const Instruction* gathered = nullptr;
  };

  const Instruction* loop = nullptr;
  int64_t trips = 0;
  int64_t period = 0;
  std::vector<Element> state;
  std::vector<Product> products;
  // Instructions of the body that are distributed by columns.
  std::unordered_set<const Instruction*> in_columns;
  std::vector<const Instruction*> gathered;  // Without duplicates.
  int launches = 0;                          // Kernels and calls of a trip that compute more than single elements.

  const Product* ProductOf(const Instruction& call) const;
};

// Sets `why_not` for other loops.
std::optional<RecurrentLoop> RecurrentLoopOf(const Instruction& loop, std::string* why_not);

// The division of a product among the warps of a block: rows of a thread at a time, and partial sums of each element.
struct ProductSplit {
  int64_t rows = 1, sums = 1;
};
ProductSplit SplitOf(const RecurrentLoop::Product& product, int blocks, int64_t warps);

int64_t SharedBytes(const RecurrentLoop& loop, int blocks, int64_t warps);

// Estimated seconds of a trip: as one kernel of `blocks` blocks, and as separate launches. A single block reads the
// weights from a cache in each trip.
double SecondsOfTrip(const RecurrentLoop& loop, int blocks, const DeviceDescription& device);
double SecondsOfLaunches(const RecurrentLoop& loop, const DeviceDescription& device);

// Blocks for the loop, and their threads. Returns nothing and sets `why_not` if no cluster can run the loop, or if
// separate launches or a single block are faster.
struct ClusterShape {
  int blocks = 0;
  int64_t threads = 0;
};
std::optional<ClusterShape> ClusterFor(const RecurrentLoop& loop, const DeviceDescription& device,
                                       std::string* why_not);

// The value that a chain of bitcasts renames.
const Instruction& WithoutNames(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_ANALYSIS_RECURRENT_LOOP_H_
