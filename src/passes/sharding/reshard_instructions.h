// Instructions for the moves of ir/mesh/reshard.h on a device's part.
//
//   mesh x=2, y=4, f32[4,3] x as a part by [{}, {y}], and the move gather(1: {y})
//   => f32[4,12] all-gather(x), channel_id=1, replica_groups=mesh['x'=2,'y'=4] {'y'}, dimensions={1},
//      use_global_device_ids=true
//
// An all-gather, reduce-scatter or all-to-all works along one dimension. For several, it works along a new leading
// dimension with one block for each member of a group. Members have the order of the axes in replica_groups.
#ifndef HLO_PASSES_SHARDING_RESHARD_INSTRUCTIONS_H_
#define HLO_PASSES_SHARDING_RESHARD_INSTRUCTIONS_H_

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "ir/digits.h"
#include "ir/mesh/axes.h"
#include "ir/mesh/reshard.h"
#include "ir/module.h"

namespace hlo {

// The device-dependent values of one computation, all s32[]. Each is made once, so the instructions must not be removed
// meanwhile.
class DeviceDigits {
 public:
  // Borrows `axes`.
  DeviceDigits(Computation& computation, const Axes& axes) : computation_(computation), axes_(axes) {}

  Instruction& PartitionId();
  Instruction& DigitOf(const Atom& atom) { return NumberOf(std::vector<Digit>{{atom.size, atom.stride}}); }
  // The device's part number along a dimension that these atoms split, the major one first. `axes` is the constructor's
  // mesh, possibly with finer atoms.
  Instruction& PartNumber(const Axes& axes, std::span<const uint8_t> atoms);

 private:
  struct Number {
    std::vector<Digit> digits;
    Instruction* value;
  };

  Instruction& Position();
  Instruction& NumberOf(std::span<const Digit> digits);
  Instruction& MakeNumber(std::span<const Digit> digits);
  Instruction& Compute(Opcode opcode, Instruction& a, Instruction& b);
  Instruction& Constant(int64_t value);

  Computation& computation_;
  const Axes& axes_;
  Instruction* partition_id_ = nullptr;
  Instruction* position_ = nullptr;
  std::vector<Number> numbers_;
};

// Channels and reducers for new collectives of one module. Unreachable computations must not be removed meanwhile.
class CollectiveSupply {
 public:
  explicit CollectiveSupply(Module& module);

  // Above all channels of the original module.
  int64_t NextChannel() { return ++last_channel_; }
  // One computation for each reduction and type.
  Computation& Reducer(Reduction reduction, PrimitiveType type);

 private:
  Module& module_;
  int64_t last_channel_ = 0;
  std::map<std::pair<Reduction, PrimitiveType>, Computation*> reducers_;
};

// Adds the moves of `local`, a device's part by the plan's first split, and returns the part by the last one. `axes` is
// the plan's mesh. The metadata is that of `reason`, the op that needs the last split, or of `local` if `reason` has no
// source line.
Instruction& EmitReshard(Instruction& local, const Instruction& reason, const ReshardPlan& plan, const Axes& axes,
                         DeviceDigits& digits, CollectiveSupply& supply);

}  // namespace hlo

#endif  // HLO_PASSES_SHARDING_RESHARD_INSTRUCTIONS_H_
