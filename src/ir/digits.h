// Digits of device numbers, by which changes of shardings are computed.
//
//   <=[2,4]T(1,0) is the order 0, 4, 1, 5, 2, 6, 3, 7. Its digits are {size 4, stride 1} and {size 2, stride 4}.
#ifndef HLO_IR_DIGITS_H_
#define HLO_IR_DIGITS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/sharding.h"

namespace hlo {

// A digit of a number in a mixed radix: number / stride % size.
struct Digit {
  int64_t size, stride;
  bool operator==(const Digit&) const = default;
};
// For each dimension of an array of tiles, the digits of the device number along it, the major one first. Dimensions of
// size 1 have none. nullopt if the order does not permute digits, or if tiles cut digits unevenly.
std::optional<std::vector<std::vector<Digit>>> DigitsAlong(const DeviceOrder& order, std::span<const int64_t> tiles);
// Distributes digits over `tiles` as DigitsAlong does. Digits and tiles must have equal products.
std::optional<std::vector<std::vector<Digit>>> CutDigits(std::span<const Digit> digits, std::span<const int64_t> tiles);
// The digits of each axis of a mesh whose devices have this order.
std::optional<std::vector<std::vector<Digit>>> DigitsOf(const Mesh& mesh, const DeviceOrder& order);
// The digits of an axis or a part of it. `axes` are the digits of the mesh's axes.
std::optional<std::vector<Digit>> DigitsOf(const AxisRef& ref, const Mesh& mesh,
                                           const std::vector<std::vector<Digit>>& axes);

}  // namespace hlo

#endif  // HLO_IR_DIGITS_H_
