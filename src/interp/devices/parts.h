// Cuts arrays into parts of devices, and joins them. Sizes and devices: ir/mesh/parts.h.
#ifndef HLO_INTERP_DEVICES_PARTS_H_
#define HLO_INTERP_DEVICES_PARTS_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "ir/literal.h"
#include "ir/mesh/parts.h"

namespace hlo {

// `local` is the part's shape. Bytes beyond the end of the whole are `padding`. No op may use them, so tests set values
// that would show.
Literal CutPart(const Literal& whole, const Shape& local, const PartTable& table, int64_t device,
                std::byte padding = std::byte{0});

// The first elements of a part. The others are padding.
Literal WithoutPadding(const Literal& part, std::span<const int64_t> sizes);

struct JoinedParts {
  Literal whole;
  // Two devices with different bits in the same part, besides padding. The whole has the bits of the first device.
  std::optional<std::pair<int64_t, int64_t>> differing;
};
// `parts` is indexed by device.
JoinedParts JoinParts(std::span<const Literal* const> parts, const Shape& whole, const PartTable& table);

}  // namespace hlo

#endif  // HLO_INTERP_DEVICES_PARTS_H_
