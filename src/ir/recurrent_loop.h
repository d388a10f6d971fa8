// Loops of recurrent networks (GRU, LSTM, plain ones; lax.scan), after fusion: what the blocks of one cluster run as
// one kernel, each with some columns of the weights in its shared memory. Asked by the pass that makes a region of such
// a loop and by the planner of that region (ir/region.h, "block").
//
//   h' = tanh(x[t] + h W);  ys[t] = h'        h f32[8,256], W f32[256,256], 8 blocks: each has 32 columns of W and h
//
// Which bodies: library products [rows, terms] x [terms, columns] of weights that the loop hands on, or of one vector
// on either side of them, followed at most by what is elementwise; kernels that go element by element, in which
// everything keeps its column (elementwise, slices at multiples of the period, concatenations of whole periods,
// reshapes, broadcasts along rows, dynamic slices of rows); state that is a number, is handed on, has whole periods, or
// is filled by a dynamic-update-slice where it lies; as many trips as the text says.
//
// Columns: of a value that hangs on the state, block `rank` of n makes the elements whose place in memory, modulo the
// period, is in [rank, rank + 1) * period / n. So it has the same units of each gate, and reads of others only what it
// multiplies. All other values each block makes for itself.
#ifndef HLO_IR_RECURRENT_LOOP_H_
#define HLO_IR_RECURRENT_LOOP_H_

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
    kNumber,    // One element; each block has it.
    kHandedOn,  // Read where it lies.
    kColumns,   // Carried from trip to trip, in columns.
    kFilled,    // Written at other places in each trip, in columns, and not read.
  };
  struct Product {
    const Instruction* call = nullptr;  // A library's, in the body.
    const Instruction* dot = nullptr;   // In its computation.
    int64_t left = 0, weights = 0;      // Operands of the call.
    bool weights_by_column = false;     // [columns, terms].
    const Shape* weights_shape = nullptr;
    int64_t rows = 0, terms = 0, columns = 0;
    // What is multiplied, where it lies in columns and so has to be gathered first; null: each block has it.
    const Instruction* gathered = nullptr;
  };

  const Instruction* loop = nullptr;
  int64_t trips = 0;
  int64_t period = 0;
  std::vector<Element> state;
  std::vector<Product> products;                      // In the order of the body.
  std::unordered_set<const Instruction*> in_columns;  // Kernels, calls and names of the body.
  std::vector<const Instruction*> gathered;           // Each value once.
  int launches = 0;                                   // Of a trip, one by one.

  const Product* ProductOf(const Instruction& call) const;  // Null: it is none.
};

// Nothing, and why, where the loop is none. `loop`: a while.
std::optional<RecurrentLoop> RecurrentLoopOf(const Instruction& loop, std::string* why_not);

// Partial sums of one element, and rows that a thread sums at a time: how `warps` warps share a product.
struct ProductSplit {
  int64_t rows = 1, sums = 1;
};
ProductSplit SplitOf(const RecurrentLoop::Product& product, int blocks, int64_t warps);

// Bytes that each of so many blocks needs in shared memory, at least.
int64_t SharedBytes(const RecurrentLoop& loop, int blocks, int64_t warps);

// A model, not measured: seconds of a trip as one kernel of so many blocks (a single one reads the weights out of a
// cache in each trip); and as the launches that the body is.
double SecondsOfTrip(const RecurrentLoop& loop, int blocks, const DeviceDescription& device);
double SecondsOfLaunches(const RecurrentLoop& loop, const DeviceDescription& device);

// How many blocks share the loop on this device, and their threads. Nothing, and why, where it runs as launches.
struct ClusterShape {
  int blocks = 0;
  int64_t threads = 0;
};
std::optional<ClusterShape> ClusterFor(const RecurrentLoop& loop, const DeviceDescription& device,
                                       std::string* why_not);

// The value that `inst` names: itself, but for bitcasts.
const Instruction& WithoutNames(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_RECURRENT_LOOP_H_
