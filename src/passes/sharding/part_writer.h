// Instructions on the part of an array that a device holds.
#ifndef HLO_PASSES_SHARDING_PART_WRITER_H_
#define HLO_PASSES_SHARDING_PART_WRITER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ir/factors/factor_rules.h"
#include "ir/mesh/axes.h"
#include "ir/module.h"
#include "passes/sharding/halo.h"
#include "passes/sharding/reshard_instructions.h"

namespace hlo {

// Type of indices: s32, or s64 if a number up to `most` needs it.
PrimitiveType IndexType(int64_t most);

// Writes instructions with the metadata of one op. Atoms split a dimension into parts of equal size.
class PartWriter {
 public:
  using Atoms = std::vector<uint8_t>;  // The major atom first.

  PartWriter(Computation& to, const Instruction& op, const Axes& axes, DeviceDigits& digits, CollectiveSupply& supply)
      : to_(to), op_(op), axes_(axes), digits_(digits), supply_(supply) {}

  Instruction& Add(Opcode opcode, Shape shape, Operands operands, Attributes attributes = NoAttrs());
  Instruction& Scalar(PrimitiveType type, int64_t value);
  Instruction& ZeroBits(PrimitiveType type);
  // Broadcasts to `shape`: a scalar to all elements, or a vector, which lies along `dim` and is repeated along the
  // other dimensions.
  Instruction& Everywhere(Instruction& scalar, const Shape& shape);
  Instruction& Along(Instruction& vector, int64_t dim, const Shape& shape);
  Instruction& Compare(Instruction& a, ComparisonDirection direction, Instruction& b);
  Instruction& Select(Instruction& which, Instruction& a, Instruction& b);
  Instruction& InType(Instruction& value, PrimitiveType type);
  // Clamps to [0, most], in a type of at least 32 bits.
  Instruction& Clamped(Instruction& index, int64_t most);
  Instruction& Rows(Instruction& value, int64_t dim, int64_t first, int64_t count);
  Instruction& Joined(std::vector<Instruction*> values, int64_t dim);

  // first + step * part number
  Instruction& Linear(PrimitiveType type, int64_t first, int64_t step, const Atoms& atoms);
  // The device's part of an iota that is split along its iota_dimension.
  Instruction& IotaInPart(int64_t dim, const Shape& part, const Atoms& atoms);
  // `value` on the devices with the first part, the identity of `reducer` on all others.
  Result<Instruction*> WithIdentity(Instruction& value, Opcode reducer, const Atoms& atoms);
  // Replaces rows that lie behind the last row of the whole array, which has `size` rows.
  Instruction& WithoutPadding(Instruction& part, int64_t dim, int64_t size, Instruction& padding, const Atoms& atoms);

  // The rows that the windows of the device's part read. `padding` is the value of rows outside of the whole. It may be
  // null if `halo` is not masked.
  Instruction& WindowRows(Instruction& part, int64_t dim, int64_t size, const Halo& halo, const Atoms& atoms,
                          Instruction* padding);
  // The device's part of a concatenation, from the rows of all windows of each operand.
  Instruction& PartOfConcatenation(std::span<Instruction* const> rows, std::span<const Halo> halos, int64_t dim,
                                   const Atoms& atoms);
  // The part of the rotated array, whose row i is row i + start of the whole, cyclically.
  Instruction& Rotated(Instruction& part, int64_t dim, int64_t start, const Atoms& atoms);

  // Makes indices of a dimension of `size` elements relative to the first element of the device's part.
  Instruction& IndicesInPart(Instruction& indices, const FactorIndex& index, int64_t size, const Atoms& atoms);
  // Sets a gather's result to zeros where an index is outside of the device's part. `indices` are from IndicesInPart.
  Instruction& GatheredInPart(Instruction& result, Instruction& indices, const FactorIndex& index, int64_t size,
                              const Atoms& atoms);
  // The rows that a dynamic-slice of the whole selects, with zeros for rows outside of the device's part.
  Instruction& SlicedInPart(Instruction& part, int64_t dim, int64_t size, Instruction& start, int64_t width,
                            const Atoms& atoms);
  struct PartUpdate {
    Instruction* rows;      // The update's rows that overlap the part, to be written from `start` on.
    Instruction* start;     // The first row of the part that is written.
    Instruction* is_valid;  // pred[rows]: whether the update has this row.
  };
  PartUpdate UpdateInPart(Instruction& update, int64_t dim, int64_t size, Instruction& start, const Atoms& atoms);

 private:
  // The value of the device with the part `distance` parts before, or zeros if there is none.
  Instruction& FromPart(Instruction& value, const Atoms& atoms, int64_t distance);
  Instruction& FromMirroredPart(Instruction& value, const Atoms& atoms);
  Instruction& Permuted(Instruction& value, const Atoms& atoms, const std::function<int64_t(int64_t)>& target);
  Instruction& Numbered(PrimitiveType type, int64_t count, Instruction& first);
  Instruction& Padded(Instruction& value, int64_t dim, int64_t low, int64_t high);
  Instruction& RowsAt(Instruction& value, int64_t dim, Instruction& start, int64_t count);
  Instruction& StartInPart(Instruction& start, int64_t size, int64_t width, int64_t own, const Atoms& atoms);
  Instruction& Component(Instruction& indices, const FactorIndex& index);

  Computation& to_;
  const Instruction& op_;
  const Axes& axes_;
  DeviceDigits& digits_;
  CollectiveSupply& supply_;
};

}  // namespace hlo

#endif  // HLO_PASSES_SHARDING_PART_WRITER_H_
