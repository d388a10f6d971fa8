#include "interp/devices/parts.h"

#include <algorithm>
#include <map>

#include "interp/devices/collectives.h"

namespace hlo {

Literal CutPart(const Literal& whole, const Shape& local, const PartTable& table, int64_t device, std::byte padding) {
  if (!table.IsCut()) return whole;
  Literal part(local);
  if (local.type() == PrimitiveType::kPred) padding &= std::byte{1};
  std::fill_n(reinterpret_cast<std::byte*>(part.mutable_raw()), part.byte_size(), padding);
  const Part box = table.PartOf(device, whole.shape().dims());
  const std::vector<int64_t> origin(local.rank(), 0);
  CopyBox(whole, box.start, part, origin, box.size);
  return part;
}

Literal WithoutPadding(const Literal& part, std::span<const int64_t> sizes) {
  if (std::ranges::equal(part.shape().dims(), sizes)) return part;
  Shape shape = part.shape();
  for (int64_t d = 0; d < shape.rank(); ++d) shape.SetDim(d, sizes[d]);
  const std::vector<int64_t> origin(shape.rank(), 0);
  Literal valid(shape);
  CopyBox(part, origin, valid, origin, sizes);
  return valid;
}

JoinedParts JoinParts(std::span<const Literal* const> parts, const Shape& whole, const PartTable& table) {
  JoinedParts joined{.whole = Literal(whole), .differing = {}};
  const std::vector<int64_t> origin(whole.rank(), 0);
  std::map<std::vector<int64_t>, int64_t> first_with;  // By tile.
  for (int64_t device = 0; device < table.devices(); ++device) {
    const int64_t first = first_with.emplace(table.TileOf(device), device).first->second;
    const Part box = table.PartOf(device, whole.dims());
    if (first == device) CopyBox(*parts[device], origin, joined.whole, box.start, box.size);
    else if (!joined.differing &&
             !WithoutPadding(*parts[first], box.size).BitEquals(WithoutPadding(*parts[device], box.size)))
      joined.differing = {first, device};
  }
  return joined;
}

}  // namespace hlo
