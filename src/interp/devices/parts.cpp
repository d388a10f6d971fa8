#include "interp/devices/parts.h"

#include <algorithm>

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

namespace {

// Padding is undefined, so it may differ.
bool AreEqual(const Literal& a, const Literal& b, const Part& box) {
  if (std::ranges::equal(a.shape().dims(), box.size)) return a.BitEquals(b);
  Shape shape = a.shape();
  for (int64_t d = 0; d < shape.rank(); ++d) shape.SetDim(d, box.size[d]);
  const std::vector<int64_t> origin(shape.rank(), 0);
  Literal left(shape), right(shape);
  CopyBox(a, origin, left, origin, box.size);
  CopyBox(b, origin, right, origin, box.size);
  return left.BitEquals(right);
}

}  // namespace

JoinedParts JoinParts(std::span<const Literal* const> parts, const Shape& whole, const PartTable& table) {
  JoinedParts joined{.whole = Literal(whole), .differing = {}};
  const std::vector<int64_t> origin(whole.rank(), 0);
  for (int64_t device = 0; device < table.devices(); ++device) {
    int64_t first = 0;
    while (!table.HoldSamePart(first, device)) ++first;
    const Part box = table.PartOf(device, whole.dims());
    if (first == device) CopyBox(*parts[device], origin, joined.whole, box.start, box.size);
    else if (!joined.differing && !AreEqual(*parts[first], *parts[device], box)) joined.differing = {first, device};
  }
  return joined;
}

}  // namespace hlo
