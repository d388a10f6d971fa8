// Requirements of instructions for arguments: index ranges, trip counts, positive divisors, scales of long sums. Found
// by walking from uses back to parameters and elided constants: docs/arguments.md#generated.
#ifndef HLO_INTERP_ARGUMENTS_RANGES_H_
#define HLO_INTERP_ARGUMENTS_RANGES_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ir/module.h"

namespace hlo {

struct ClosedInterval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool Bounded() const {
    return low > -std::numeric_limits<double>::infinity() && high < std::numeric_limits<double>::infinity();
  }
  bool operator==(const ClosedInterval&) const = default;
};

struct LeafRange {
  ClosedInterval interval;
  // Intervals of index components, which are along `component_dim`. Empty if all have `interval`.
  std::vector<ClosedInterval> components;
  int64_t component_dim = -1;
  bool is_index = false;  // Profile `edge` moves some indices out of range.
  // The op promises sorted or unique indices, so profile `edge` keeps them in range.
  bool is_promised = false;
  bool is_start = false;       // A start of a dynamic slice.
  bool is_trip_count = false;  // Profile `long` makes the number large.
  bool rows_sorted = false, rows_unique = false;
  // The array has keys of a sort or arg-reduction along `key_dim` (-1 if unknown). Profile `ties` repeats keys. The
  // others repeat none if `distinct`.
  bool is_key = false, distinct = false;
  int64_t key_dim = -1;
  // The array has the terms of a sum along `summed_dim` (-1 if unknown), or if `repeats` a factor of these terms.
  bool is_summed = false, repeats = false;
  int64_t summed_dim = -1;
  std::optional<double> exactly;  // The only value: the identity of a reducer.
  double scale = 1;               // Magnitude of floats without an interval.
  std::string conflict;
};

// Leaves are in depth-first order.
struct Ranges {
  std::vector<std::vector<LeafRange>> parameters;  // Indexed by parameter and leaf.
  std::vector<std::vector<LeafRange>> elided;      // Indexed by instruction id and leaf.
};

Ranges CollectRanges(const Module& module);

}  // namespace hlo

#endif  // HLO_INTERP_ARGUMENTS_RANGES_H_
