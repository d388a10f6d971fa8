// Values as text: large ones by first elements and statistics.
#ifndef HLO_DRIVER_RUN_VALUE_TEXT_H_
#define HLO_DRIVER_RUN_VALUE_TEXT_H_

#include <optional>
#include <span>
#include <string>

#include "ir/literal.h"

namespace hlo {

// Figures of an array, or of all arrays in a tuple. `min` and `max` ignore NaN and imaginary parts.
struct ValueStats {
  int64_t elements = 0, nans = 0, infinities = 0;
  double min = 0, max = 0;
};
ValueStats StatsOf(const Literal& value);

struct ElementPlace {
  ShapeIndex leaf;
  int64_t linear = 0;  // Row-major.
};
enum class Oddity { kNan, kInfinity };
std::optional<ElementPlace> FindFirst(const Literal& value, Oddity what);
bool HasAt(const Literal& value, const ElementPlace& place, Oddity what);

// "[3,961]" for the row-major element `linear`. "" for a scalar.
std::string IndexText(const Shape& shape, int64_t linear);

// "f32[2] {1, 2}", with a line for each leaf of a tuple. An array of more than `most` elements is abbreviated.
std::string ValueText(const Literal& value, int64_t most);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_VALUE_TEXT_H_
