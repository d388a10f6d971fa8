// The rows that one part of a windowed op reads from an operand that is split in the same way.
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
  int64_t own = 0;                // Rows of each part of the operand, with the padding of the last ones.
  bool is_mirrored = false;       // If true, part p reads around part parts - 1 - p. Otherwise, around part p.
  int64_t before = 0, after = 0;  // Rows received from the parts before and after it.
  int64_t low = 0, high = 0;      // Rows without data that are needed beyond those.
  int64_t rows = 0;               // Rows that each part reads.
  int64_t first = 0, step = 0;    // Part p reads from row first + step * p of the whole on.
  int64_t start = 0,
          shift = 0;  // This is row start + shift * p of `low`, `before`, `own`, `after` and `high` together.
  // Whether some part reads rows before the first row of the whole, or behind its last one.
  bool reads_below = false, reads_above = false;

  bool IsLocal() const { return !is_mirrored && before == 0 && after == 0; }
  bool IsMasked() const { return reads_below || reads_above; }
  // Rows of the results of collectives on a device.
  int64_t RowsReceived() const { return before + after + (is_mirrored ? own : 0); }
};

// The rows of an operand with `elements` rows that `parts` parts of the factor read. Nothing if the distance between
// the rows of two parts is not an integer (base dilation), or if a part reads no row.
std::optional<Halo> HaloOf(const Factor& factor, const FactorWindow& read, int64_t elements, int64_t parts);

}  // namespace hlo

#endif  // HLO_PASSES_SHARDING_HALO_H_
