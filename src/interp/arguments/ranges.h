// The requirements of a module's uses on its arguments: index ranges, trip counts, positive divisors, and scales that
// keep long sums finite. They are found by walks from each use backward to entry parameters and elided constants:
// docs/arguments.md#made-up.
#ifndef HLO_INTERP_ARGUMENTS_RANGES_H_
#define HLO_INTERP_ARGUMENTS_RANGES_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ir/module.h"

namespace hlo {

// Both ends are included.
struct ClosedInterval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool Bounded() const {
    return low > -std::numeric_limits<double>::infinity() && high < std::numeric_limits<double>::infinity();
  }
  bool operator==(const ClosedInterval&) const = default;
};

// The requirements on one leaf of a parameter.
struct LeafRange {
  ClosedInterval interval;  // The intersection over all uses.
  // Component c along `component_dim` has the range components[c], for vectors of gather and scatter indices. Empty if
  // all are alike.
  std::vector<ClosedInterval> components;
  int64_t component_dim = -1;
  bool is_index = false;  // An index of a gather, scatter or dynamic slice. Profile `edge` makes it go out of range.
  // The op relies on a promise that the index is in range, so profile `edge` keeps it there.
  bool is_promised = false;
  bool is_start = false;       // A start of a dynamic slice, where both ends matter most.
  bool is_trip_count = false;  // Profile `long` makes it large.
  // For index vectors in rows: sorted lexicographically, and without duplicates.
  bool rows_sorted = false, rows_unique = false;
  // A key of a sort or arg-reduction. Equal keys allow several results. Profile `ties` makes them frequent; other
  // profiles avoid them if `distinct`. `key_dim` is -1 if unknown.
  bool is_key = false, distinct = false;
  int64_t key_dim = -1;
  // A term of a sum along `summed_dim` (-1 if unknown), or with `repeats` a factor of such terms.
  bool is_summed = false, repeats = false;
  int64_t summed_dim = -1;
  std::optional<double> exactly;  // The identity of the reducer with this initial value.
  double scale = 1;               // For unconstrained floats: |x| <= scale.
  std::string conflict;           // A description of two contradictory uses, or empty.
};

// Leaves are in depth-first order.
struct Ranges {
  std::vector<std::vector<LeafRange>> parameters;  // Indexed by parameter of the entry and leaf.
  std::vector<std::vector<LeafRange>> elided;      // For all elided constants, indexed by id and leaf.
};

Ranges CollectRanges(const Module& module);

}  // namespace hlo

#endif  // HLO_INTERP_ARGUMENTS_RANGES_H_
