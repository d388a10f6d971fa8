// Values for people: whole when small, else their first elements and what is known of all.
#ifndef HLO_DRIVER_RUN_VALUE_TEXT_H_
#define HLO_DRIVER_RUN_VALUE_TEXT_H_

#include <optional>
#include <span>
#include <string>

#include "ir/literal.h"

namespace hlo {

// Over the elements of an array, or of all arrays in a tuple. min and max leave NaNs out; complex numbers count by
// their real parts.
struct ValueStats {
  int64_t elements = 0, nans = 0, infinities = 0;
  double min = 0, max = 0;  // Of those that are numbers; 0 when there is none.
};
ValueStats StatsOf(const Literal& value);

// The first element that is NaN, or infinite: of which leaf, and where.
struct ElementPlace {
  ShapeIndex leaf;
  int64_t linear = 0;  // Row-major.
};
enum class Oddity { kNan, kInfinity };
std::optional<ElementPlace> FindFirst(const Literal& value, Oddity what);

// "[3,961]" of row-major element `linear`; "" of a scalar.
std::string IndexText(const Shape& shape, int64_t linear);

// "f32[2] {1, 2}", leaf by leaf, a line each; of more than `most` elements the first ones, smallest and largest.
std::string ValueText(const Literal& value, int64_t most);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_VALUE_TEXT_H_
