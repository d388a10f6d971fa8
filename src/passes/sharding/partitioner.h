// Makes the program of one device from one whose arrays have shardings.
//
// FitOp chooses the split of each op, and collectives change the splits of operands and result. All devices run one
// program, which reads partition-id.
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
#include "passes/options.h"
#include "passes/sharding/op_fit.h"
#include "passes/sharding/part_writer.h"
#include "passes/sharding/reshard_instructions.h"

namespace hlo {

class Partitioner {
 public:
  explicit Partitioner(Module& module, const PartitioningOptions& options = {})
      : module_(module), options_(options), axes_(Axes::Of(module)), plans_(axes_), supply_(module) {}

  // Replaces the entry. The old computations become unreachable. Errors: U044 for an array without a sharding of the
  // module's mesh, an op with a side effect, partition-id outside of manual regions, or a change of a split that no
  // collective makes. C040 for an array that is gathered whole and has more than max_gather bytes.
  Status Run();

  // An array that each device gathers whole for an op, or because its split can change in no other way. Gathers that
  // the text asks for are left out: of a result, of a copy that states a sharding, or at a border of a manual region.
  struct Gather {
    std::string text;  // "'x' f32[8,8] (256 B) for 'y' (sort): [{a}, {}] to [{}, {}]"
    int64_t bytes;
  };
  const std::vector<Gather>& gathered() const { return gathered_; }
  // The ids of each old instruction and of its part.
  const std::vector<std::pair<int, int>>& parts() const { return parts_; }

 private:
  using Atoms = PartWriter::Atoms;

  // The instructions of one computation on a device.
  struct Local {
    Computation& to;
    DeviceDigits digits;
    std::unordered_map<const Instruction*, Instruction*> values;
    // Values that were brought to another split, for further ops that need the same split.
    std::vector<std::pair<std::pair<const Instruction*, ArraySplit>, Instruction*>> resharded;
  };

  Result<Computation*> Partitioned(const Computation& computation);
  Status AddInstruction(Local& local, const Instruction& inst);
  Result<Instruction*> Parameter(Local& local, const Instruction& inst);
  Result<Instruction*> Constant(Local& local, const Instruction& inst);
  Result<Instruction*> ControlFlow(Local& local, const Instruction& inst);
  Result<Instruction*> RegionBorder(Local& local, const Instruction& inst);
  Result<Instruction*> GspmdRegionBorder(Local& local, const Instruction& inst);
  Result<Instruction*> ComputedInParts(Local& local, const Instruction& inst);
  // Changes the operands so that the op can compute its part along a split factor.
  Status AdjustOperands(Local& local, PartWriter& writer, const Instruction& inst, const FactorRule& rule,
                        int64_t factor, const Atoms& atoms, std::vector<Instruction*>& operands);
  Status MaskPadding(Local& local, PartWriter& writer, const Instruction& inst, const FactorRule& rule, int64_t factor,
                     const Atoms& atoms, std::vector<Instruction*>& operands);
  // Gathers the parts' results and reduces them with the op's own computation.
  Result<Instruction*> ReducedOverParts(Local& local, PartWriter& writer, const Instruction& inst, const OpFit& fit,
                                        const Atoms& atoms, Instruction& value, std::span<Instruction* const> operands);
  // The value of the one device that has it. Other devices add zeros. The sum of bits keeps -0 and NaN.
  Result<Instruction*> Picked(Local& local, PartWriter& writer, const Instruction& inst, Instruction& value,
                              const ArraySplit& from, const ArraySplit& to);
  // The leaves of an op's value, in the splits `to`.
  Result<Instruction*> InSplits(Local& local, const Instruction& inst, Instruction& value,
                                const std::vector<ArraySplit>& from, const std::vector<ArraySplit>& to);

  Result<ArraySplit> SplitOf(const Instruction& inst, int64_t leaf) const;
  Result<std::vector<ArraySplit>> SplitsOf(const Instruction& inst) const;
  Result<Shape> LocalShapeOf(const Instruction& inst) const;
  Result<Instruction*> InSplit(Local& local, const Instruction& inst, const ArraySplit& split, const Instruction& user);
  Result<Instruction*> Changed(Local& local, Instruction& value, const ArraySplit& from, const ArraySplit& to,
                               const Shape& whole, const Instruction& array, const Instruction& user);
  std::string TextOf(const Instruction& array, const Shape& whole, const ArraySplit& from, const ArraySplit& to,
                     const Instruction& user) const;

  Module& module_;
  const PartitioningOptions options_;
  Axes axes_;
  ReshardPlans plans_;
  CollectiveSupply supply_;
  std::unordered_map<const Computation*, Computation*> partitioned_;
  std::vector<Gather> gathered_;
  std::vector<std::pair<int, int>> parts_;
};

}  // namespace hlo

#endif  // HLO_PASSES_SHARDING_PARTITIONER_H_
