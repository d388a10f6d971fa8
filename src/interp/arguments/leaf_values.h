// The values of one leaf of an argument. Private to interp/arguments.
#ifndef HLO_INTERP_ARGUMENTS_LEAF_VALUES_H_
#define HLO_INTERP_ARGUMENTS_LEAF_VALUES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "interp/arguments/leaf_maker.h"
#include "ir/component_type.h"

namespace hlo {

enum class Part : uint8_t { kReal, kImaginary };

struct LeafDraws {
  LeafDraws(const Shape& shape, const LeafRange& range, const ArgumentOptions& options, int64_t parameter,
            int64_t leaf);

  PhiloxBlock Draw(int64_t i, Part part = Part::kReal) const;
  bool IsExactly() const { return range.exactly && options.constrain && options.profile != InputProfile::kEdge; }
  uint64_t Numbers() const { return static_cast<uint64_t>(shape.NumElements()) * (IsComplex(shape.type()) ? 2 : 1); }
  uint64_t PlaceOf(int64_t i, uint64_t count) const;
  // For the profile `ties`, returns an earlier element with the same key, otherwise `i`.
  int64_t KeyOf(int64_t i) const;

  const Shape& shape;
  const LeafRange range;
  const ArgumentOptions& options;
  uint64_t high, key, first;
  std::vector<int64_t> strides;
};

// Position of `i` in a permutation. Repeats a Feistel network on the next power of four until the position is below
// `count`.
uint64_t Permuted(uint64_t i, uint64_t count, uint64_t key);

class LeafFloats {
 public:
  LeafFloats(const LeafDraws& draws, double tighten);

  double At(int64_t i, Part part = Part::kReal) const;
  // Returns the first element that it did not compute.
  int64_t MakePlain(float* out, int64_t begin, int64_t end) const;

 private:
  double Normal(uint32_t word) const;
  bool IsPlain() const;
  int64_t SmallInteger(const PhiloxBlock& block) const;
  double Fingerprint(int64_t i) const;
  double AnyMagnitude(const PhiloxBlock& block) const;
  double Cancelling(int64_t i, Part part, const PhiloxBlock& block) const;
  double Key(int64_t i, Part part) const;
  double DistinctFloat(int64_t i) const;
  double Special(const PhiloxBlock& block) const;

  const LeafDraws& draws_;
  const double tighten_;
  const PrimitiveType type_;  // For complex elements, the type of their parts.
  double low_ = -1, high_end_ = 1;
  double largest_ = 0, smallest_ = 0;
  int significand_ = 0;
  bool positive_ = false;
};

class LeafIntegers {
 public:
  explicit LeafIntegers(const LeafDraws& draws);

  int64_t At(int64_t i) const;

 private:
  void PrepareRows();
  bool HasComponents() const;
  int64_t ComponentAt(int64_t i) const;
  ClosedInterval IntervalAt(int64_t i) const;
  int64_t RowElement(int64_t i) const;
  int64_t SignExtended(uint64_t value) const;
  int64_t Free(const PhiloxBlock& block) const;
  int64_t Within(int64_t i, const PhiloxBlock& block, const ClosedInterval& interval) const;
  int64_t OutOfRange(const PhiloxBlock& block, const ClosedInterval& interval) const;

  const LeafDraws& draws_;
  std::vector<ClosedInterval> row_intervals_;
  uint64_t rows_ = 0;
  double vectors_ = 0;  // Possible rows of indices, or 0 if rows are not made as a whole.
};

}  // namespace hlo

#endif  // HLO_INTERP_ARGUMENTS_LEAF_VALUES_H_
