// The rows that one part of a windowed op reads from an equally split operand.
//
//   f32[64] operand in 8 parts of 8 rows, a window of size 3 with pad_low=1, 8 positions in each part
//   => part p reads the 10 rows from row 8 * p - 1 on: 1 row of the part before, its own 8, and 1 row of the part after
#ifndef HLO_PASSES_SHARDING_HALO_H_
#define HLO_PASSES_SHARDING_HALO_H_

#include <cstdint>
#include <optional>

#include "ir/factors/factor_rules.h"

namespace hlo {

struct Halo {
  int64_t parts = 1;
  int64_t own = 0;                // Rows of each part. The last parts have padding.
  bool is_mirrored = false;       // Part p reads rows around part number parts - 1 - p instead of p.
  int64_t before = 0, after = 0;  // Rows received from the parts before and after.
  int64_t low = 0, high = 0;      // Rows without data that are needed beyond `before` and `after`.
  int64_t rows = 0;               // Rows read by each part.
  int64_t first = 0, step = 0;    // Part p reads from row first + step * p of the whole.
  int64_t start = 0,
          shift = 0;  // The first row read is row start + shift * p of low, before, own, after and high, concatenated.
  // Whether some part reads outside of the whole.
  bool reads_below = false, reads_above = false;

  bool IsLocal() const { return !is_mirrored && before == 0 && after == 0; }
  bool IsMasked() const { return reads_below || reads_above; }
  // Rows that one device receives by collectives.
  int64_t RowsReceived() const { return before + after + (is_mirrored ? own : 0); }
};

// The rows of an operand with `elements` rows that `parts` parts of the factor read. nullopt if the distance between
// two parts' rows is not an integer (base dilation), or a part reads no row.
std::optional<Halo> HaloOf(const Factor& factor, const FactorWindow& read, int64_t elements, int64_t parts);

}  // namespace hlo

#endif  // HLO_PASSES_SHARDING_HALO_H_
