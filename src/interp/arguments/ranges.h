// What the module's uses ask of its arguments: index ranges, trip counts, positive divisors, sizes that keep long sums
// finite. Found by walking backward from each use to the entry parameters and to elided constants:
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

// Both ends are in it.
struct ClosedInterval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool Bounded() const {
    return low > -std::numeric_limits<double>::infinity() && high < std::numeric_limits<double>::infinity();
  }
  bool operator==(const ClosedInterval&) const = default;
};

// What is known of the wishes for one leaf of a parameter.
struct LeafRange {
  ClosedInterval interval;  // The meet of all uses.
  // Component c along `component_dim` has components[c] (vectors of gather and scatter indices); empty: all alike.
  std::vector<ClosedInterval> components;
  int64_t component_dim = -1;
  bool is_index = false;       // Of gather, scatter or a dynamic slice: profile `edge` goes out of range here ...
  bool is_promised = false;    // ... unless the op relies on what it is told of them.
  bool is_start = false;       // Of a dynamic slice: both ends matter most.
  bool is_trip_count = false;  // Profile `long` makes it large.
  // Of indices as vectors, one for each row: in lexicographic order; no two alike.
  bool rows_sorted = false, rows_unique = false;
  // Keys of a sort or a search for the largest: equal ones leave a choice, which profile `ties` makes often and, where
  // `distinct`, the others never. Along `key_dim`; -1: not known.
  bool is_key = false, distinct = false;
  int64_t key_dim = -1;
  // Terms of a sum along `summed_dim` (-1: not known), or (`repeats`) what such terms are multiplied by.
  bool is_summed = false, repeats = false;
  int64_t summed_dim = -1;
  std::optional<double> exactly;  // The identity of the reducer whose init this is.
  double scale = 1;               // Of free floats: |x| <= scale.
  std::string conflict;           // Two uses that exclude each other, in words; empty: none.
};

// Leaves go depth first.
struct Ranges {
  std::vector<std::vector<LeafRange>> parameters;  // By number and leaf: of the entry.
  std::vector<std::vector<LeafRange>> elided;      // By id and leaf: of elided constants, wherever they stand.
};

Ranges CollectRanges(const Module& module);

}  // namespace hlo

#endif  // HLO_INTERP_ARGUMENTS_RANGES_H_
