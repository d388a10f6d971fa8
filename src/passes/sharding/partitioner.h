// Makes the program of one device from a program whose arrays have shardings.
//
// Each array becomes the part that a device holds. Each op is computed in the split that FitOp chooses. Its operands
// and result change their splits by collectives. The program reads partition-id, so that all devices run the same
// program.
#ifndef HLO_PASSES_SHARDING_PARTITIONER_H_
#define HLO_PASSES_SHARDING_PARTITIONER_H_

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/factors/local_op.h"
#include "ir/mesh/axes.h"
#include "ir/module.h"
#include "passes/sharding/op_fit.h"
#include "passes/sharding/reshard_instructions.h"

namespace hlo {

class Partitioner {
 public:
  explicit Partitioner(Module& module) : module_(module), axes_(Axes::Of(module)), supply_(module) {}

  // Replaces the entry. The old computations become unreachable. Errors (U044): an array without a sharding of the
  // module's mesh, an op with a side effect, or a change of a split that no collective makes.
  Status Run();

  // Arrays that each device gathers whole, with the op that needs them.
  const std::vector<std::string>& gathered() const { return gathered_; }

 private:
  // The instructions of one computation on a device.
  struct Local {
    Computation& to;
    DeviceDigits digits;
    std::unordered_map<const Instruction*, Instruction*> values;
    // Values in other splits. An array that several ops need in one split changes once.
    std::vector<std::pair<std::pair<const Instruction*, ArraySplit>, Instruction*>> resharded;
  };

  Result<Computation*> Partitioned(const Computation& computation);
  Status AddInstruction(Local& local, const Instruction& inst);
  Result<Instruction*> Parameter(Local& local, const Instruction& inst);
  Result<Instruction*> Constant(Local& local, const Instruction& inst);
  Result<Instruction*> ControlFlow(Local& local, const Instruction& inst);
  Result<Instruction*> RegionBorder(Local& local, const Instruction& inst);
  Result<Instruction*> ComputedInParts(Local& local, const Instruction& inst);
  // The rows of an operand's part that the op's windows read.
  static Instruction& RowsOf(Instruction& part, const OperandRows& rows);
  // Indices of a scatter, counted from the first element of the device's part.
  Instruction& IndicesInPart(Local& local, Instruction& indices, const FactorIndex& index,
                             const std::vector<uint8_t>& atoms, int64_t size);
  // In `type`, for parts of `size` elements.
  Instruction& FirstElement(Local& local, Instruction& like, PrimitiveType type, const std::vector<uint8_t>& atoms,
                            int64_t size);
  // The numbers of the device's part, whose iota dimension is split along `atoms`.
  Instruction& IotaInPart(Local& local, const Instruction& inst, const Shape& part, const std::vector<uint8_t>& atoms);
  Result<Instruction*> WithIdentity(Local& local, Instruction& once, const Factor& factor,
                                    const std::vector<uint8_t>& atoms);

  // The split of a leaf according to its sharding.
  Result<ArraySplit> SplitOf(const Instruction& inst, int64_t leaf) const;
  Result<std::vector<ArraySplit>> SplitsOf(const Instruction& inst) const;
  Result<Shape> LocalShapeOf(const Instruction& inst) const;
  // The value of an array in another split.
  Result<Instruction*> InSplit(Local& local, const Instruction& inst, const ArraySplit& split);
  Result<Instruction*> Changed(Local& local, Instruction& value, const ArraySplit& from, const ArraySplit& to,
                               const Shape& whole, const Instruction& why);

  Module& module_;
  Axes axes_;
  CollectiveSupply supply_;
  std::unordered_map<const Computation*, Computation*> partitioned_;
  std::vector<std::string> gathered_;
};

}  // namespace hlo

#endif  // HLO_PASSES_SHARDING_PARTITIONER_H_
