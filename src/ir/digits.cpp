#include "ir/digits.h"

#include <algorithm>

namespace hlo {

std::optional<std::vector<std::vector<Digit>>> CutDigits(std::span<const Digit> digits,
                                                         std::span<const int64_t> tiles) {
  std::vector<std::vector<Digit>> cut(tiles.size());
  size_t tile = 0;
  int64_t in_tile = tiles.empty() ? 1 : tiles[0];
  for (const Digit& digit : digits) {
    for (int64_t left = digit.size; left > 1;) {
      while (in_tile == 1 && tile + 1 < tiles.size()) in_tile = tiles[++tile];
      const int64_t size = std::min(left, in_tile);
      if (size <= 1 || std::max(left, in_tile) % size != 0) return std::nullopt;
      left /= size;
      in_tile /= size;
      cut[tile].push_back({size, digit.stride * left});
    }
  }
  return cut;
}

namespace {

// The list must contain each number from 0 on once.
std::optional<std::vector<Digit>> DigitsOfList(std::span<const int64_t> ids) {
  std::vector<Digit> digits;  // The minor digit first.
  const int64_t count = std::ssize(ids);
  for (int64_t block = 1; block < count; block *= digits.back().size) {
    const int64_t stride = ids[block] - ids[0];
    int64_t size = 2;
    while (size * block < count && ids[size * block] == ids[0] + size * stride) ++size;
    if (stride <= 0 || count % (size * block) != 0) return std::nullopt;
    digits.push_back({size, stride});
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t id = 0, left = i;
    for (const Digit& digit : digits) {
      id += left % digit.size * digit.stride;
      left /= digit.size;
    }
    if (ids[i] != id) return std::nullopt;
  }
  std::ranges::reverse(digits);
  return digits;
}

std::optional<std::vector<Digit>> DigitsOf(const DeviceOrder& order) {
  if (!order.IsFormula()) return DigitsOfList(order.listed);
  std::vector<int64_t> strides(order.dims.size(), 1);
  for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * order.dims[i];
  std::vector<Digit> digits;
  for (const int64_t dim : order.permutation) digits.push_back({order.dims[dim], strides[dim]});
  return digits;
}

}  // namespace

std::optional<std::vector<std::vector<Digit>>> DigitsAlong(const DeviceOrder& order, std::span<const int64_t> tiles) {
  const auto digits = DigitsOf(order);
  return digits ? CutDigits(*digits, tiles) : std::nullopt;
}

std::optional<std::vector<std::vector<Digit>>> DigitsOf(const Mesh& mesh, const DeviceOrder& order) {
  std::vector<int64_t> sizes;
  for (const MeshAxis& axis : mesh.axes) sizes.push_back(axis.size);
  return DigitsAlong(order, sizes);
}

std::optional<std::vector<Digit>> DigitsOf(const AxisRef& ref, const Mesh& mesh,
                                           const std::vector<std::vector<Digit>>& axes) {
  if (ref.size == 0) return axes[ref.axis];
  const int64_t minor = mesh.axes[ref.axis].size / (ref.before * ref.size);
  auto parts = CutDigits(axes[ref.axis], std::vector{ref.before, ref.size, minor});
  if (!parts) return std::nullopt;
  return std::move((*parts)[1]);
}

}  // namespace hlo
