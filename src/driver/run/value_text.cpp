#include "driver/run/value_text.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "base/text.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

// Calls f(index, element as a complex number) until f returns false.
template <class F>
void ForEachElement(const Literal& array, F&& f) {
  const int64_t count = array.shape().NumElements();
  const auto walk = [&]<class T>(std::span<const T> values) {
    for (int64_t i = 0; i < count && f(i, std::complex<double>(values[i])); ++i) {
    }
  };
  switch (array.shape().type()) {
    case PrimitiveType::kF32: return walk(array.data<float>());
    case PrimitiveType::kF64: return walk(array.data<double>());
    default:
      for (int64_t i = 0; i < count && f(i, array.GetComplex(i)); ++i) {
      }
  }
}

bool IsNan(std::complex<double> x) { return std::isnan(x.real()) || std::isnan(x.imag()); }
bool IsInfinite(std::complex<double> x) { return std::isinf(x.real()) || std::isinf(x.imag()); }

bool HasOddities(const Shape& shape) { return IsFloat(shape.type()) || IsComplex(shape.type()); }

std::string LeafText(const Literal& leaf, int64_t most) {
  const Shape& shape = leaf.shape();
  if (!shape.IsArray()) return shape.ToString();
  if (shape.NumElements() <= most) return Str(shape, " ", Print(leaf));
  std::string out = Str(shape, " {");
  constexpr int64_t kShown = 8;
  for (int64_t i = 0; i < kShown; ++i) {
    AppendElement(out, leaf, i);
    out += ", ";
  }
  const ValueStats stats = StatsOf(leaf);
  out += Format("...}  min %.6g, max %.6g", stats.min, stats.max);
  if (stats.nans > 0) out += Str(", ", stats.nans, " NaN");
  if (stats.infinities > 0) out += Str(", ", stats.infinities, " infinite");
  return out;
}

}  // namespace

ValueStats StatsOf(const Literal& value) {
  ValueStats stats;
  bool any = false;
  ForEachLeaf(value.shape(), [&](const ShapeIndex& index, const Shape& shape) {
    if (!shape.IsArray()) return;
    ForEachElement(value.At(index), [&](int64_t, std::complex<double> x) {
      ++stats.elements;
      if (IsNan(x)) return ++stats.nans, true;
      stats.infinities += IsInfinite(x);
      stats.min = any ? std::min(stats.min, x.real()) : x.real();
      stats.max = any ? std::max(stats.max, x.real()) : x.real();
      return any = true;
    });
  });
  return stats;
}

std::optional<ElementPlace> FindFirst(const Literal& value, Oddity what) {
  std::optional<ElementPlace> found;
  ForEachLeaf(value.shape(), [&](const ShapeIndex& index, const Shape& shape) {
    if (found || !shape.IsArray() || !HasOddities(shape)) return;
    ForEachElement(value.At(index), [&](int64_t i, std::complex<double> x) {
      if (what == Oddity::kNan ? IsNan(x) : IsInfinite(x)) found = ElementPlace{index, i};
      return !found;
    });
  });
  return found;
}

bool HasAt(const Literal& value, const ElementPlace& place, Oddity what) {
  const Literal& leaf = value.At(place.leaf);
  if (!HasOddities(leaf.shape())) return false;
  const std::complex<double> x = leaf.GetComplex(place.linear);
  return what == Oddity::kNan ? IsNan(x) : IsInfinite(x);
}

std::string IndexText(const Shape& shape, int64_t linear) {
  if (shape.rank() == 0) return "";
  std::vector<int64_t> index(shape.rank());
  for (int64_t d = shape.rank(); d-- > 0;) {
    index[d] = linear % shape.dim(d);
    linear /= shape.dim(d);
  }
  return Str("[", Join(index, ","), "]");
}

std::string ValueText(const Literal& value, int64_t most) {
  if (!value.shape().IsTuple()) return LeafText(value, most);
  std::string out = value.shape().ToString();
  ForEachLeaf(value.shape(), [&](const ShapeIndex& index, const Shape&) {
    out += Str("\n  {", Join(index, ","), "} ", LeafText(value.At(index), most));
  });
  return out;
}

}  // namespace hlo
