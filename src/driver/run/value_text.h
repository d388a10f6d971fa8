// Values as text: small ones in full, large ones by their first elements and statistics.
#ifndef HLO_DRIVER_RUN_VALUE_TEXT_H_
#define HLO_DRIVER_RUN_VALUE_TEXT_H_

#include <optional>
#include <span>
#include <string>

#include "ir/literal.h"

namespace hlo {

// Statistics over the elements of an array, or of all arrays in a tuple. `min` and `max` ignore NaN. Complex numbers
// count by their real parts.
struct ValueStats {
  int64_t elements = 0, nans = 0, infinities = 0;
  double min = 0, max = 0;  // 0 if all elements are NaN.
};
ValueStats StatsOf(const Literal& value);

// The place of the first NaN or infinite element.
struct ElementPlace {
  ShapeIndex leaf;
  int64_t linear = 0;  // Row-major.
};
enum class Oddity { kNan, kInfinity };
std::optional<ElementPlace> FindFirst(const Literal& value, Oddity what);

// "[3,961]" for the row-major element `linear`. "" for a scalar.
std::string IndexText(const Shape& shape, int64_t linear);

// "f32[2] {1, 2}", with one line per leaf of a tuple. For more than `most` elements, shows the first ones and the
// smallest and largest values.
std::string ValueText(const Literal& value, int64_t most);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_VALUE_TEXT_H_
