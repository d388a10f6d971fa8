#include "judge/compare/patterns.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "base/small_floats.h"
#include "base/text.h"
#include "ir/literal.h"

namespace hlo {
namespace {

// Coordinates of wrong elements along one dimension.
struct Extent {
  int64_t low = 0, high = 0;
  int64_t step = 1;   // Greatest common divisor of their distances.
  int64_t count = 0;  // Different coordinates.
  int64_t size = 0;

  bool Full() const { return count == size; }
  bool Contiguous() const { return count == high - low + 1; }
  bool Regular() const {
    return step > 1 && count >= 2 && low < step && high + step >= size && count == (high - low) / step + 1;
  }
};

std::vector<Extent> ExtentsOf(const Mistakes& m) {
  const std::vector<int64_t> strides = RowMajorStrides(m.shape.dims());
  std::vector<Extent> extents;
  for (int64_t d = 0; d < m.shape.rank(); ++d) {
    std::vector<uint8_t> hit(m.shape.dim(d));
    for (const int64_t i : m.bad) hit[i / strides[d] % m.shape.dim(d)] = 1;
    Extent extent{.low = -1, .step = 0, .size = m.shape.dim(d)};
    for (int64_t i = 0; i < extent.size; ++i) {
      if (!hit[i]) continue;
      if (extent.low < 0) extent.low = i;
      if (extent.count > 0) extent.step = std::gcd(extent.step, i - extent.high);
      extent.high = i;
      ++extent.count;
    }
    extent.step = std::max<int64_t>(1, extent.step);
    extents.push_back(extent);
  }
  return extents;
}

// Whether all elements with these coordinates are wrong.
bool FillsBox(const Mistakes& m, const std::vector<Extent>& extents) {
  int64_t box = 1;
  for (const Extent& extent : extents) box *= extent.count;
  return box == static_cast<int64_t>(m.bad.size());
}

std::string Ordinal(int64_t n) {
  const bool teen = n % 100 >= 11 && n % 100 <= 13;
  return Str(n, !teen && n % 10 == 1 ? "st" : !teen && n % 10 == 2 ? "nd" : !teen && n % 10 == 3 ? "rd" : "th");
}

using Recogniser = std::function<std::optional<std::string>(const Mistakes&, const std::vector<Extent>&)>;

bool Close(double a, double b) {
  const double off = std::fabs(a - b);
  return a == b || (std::isfinite(off) && off <= 1e-5 * std::max(std::fabs(a), std::fabs(b)));
}

// Whether `same` holds for nearly all wrong elements.
template <class F>
bool Most(const Mistakes& m, F&& same) {
  int64_t hits = 0;
  for (const int64_t i : m.bad) hits += same(i) ? 1 : 0;
  return hits > 0 && hits * 50 >= static_cast<int64_t>(m.bad.size()) * 49;
}

// ---- Positions ------------------------------------------------------------------------------------------------------

std::optional<std::string> PartialTile(const Mistakes& m, const std::vector<Extent>& extents) {
  for (size_t d = 0; d < extents.size(); ++d) {
    const Extent& e = extents[d];
    if (e.high != e.size - 1 || e.Full() || !e.Contiguous()) continue;
    for (const int64_t tile : {256, 128, 64, 32, 16, 8, 4}) {
      if (e.size > tile && e.size % tile == e.count)
        return Str("PARTIAL TILE: the last ", e.count, " of dim ", d, " (", e.size, " mod ", tile, ")");
    }
    if (e.count == 1 && e.size > 4) return Str("PARTIAL TILE: the last element of dim ", d);
  }
  return {};
}

std::optional<std::string> EveryKth(const Mistakes& m, const std::vector<Extent>& extents) {
  for (size_t d = 0; d < extents.size(); ++d) {
    const Extent& e = extents[d];
    if (e.Regular() && e.count > 2)
      return Str("EVERY K-TH ELEMENT: every ", Ordinal(e.step), " of dim ", d, ", from ", e.low);
  }
  return {};
}

std::optional<std::string> OneTile(const Mistakes& m, const std::vector<Extent>& extents) {
  if (extents.empty() || !FillsBox(m, extents)) return {};
  std::vector<std::string> sides;
  for (const Extent& e : extents) {
    sides.push_back(Str(e.count));
    if (e.Full()) continue;
    const bool power = (e.count & (e.count - 1)) == 0;
    if (!e.Contiguous() || !power || e.count < 2 || e.low % e.count != 0) return {};
  }
  const Extent& minor = extents.back();
  if (std::ranges::all_of(extents, [](const Extent& e) { return e.Full(); })) return {};
  if (m.bad.size() == 32 && minor.count == 32)
    return Str("ONE WARP: 32 elements, from index ", minor.low, " of the last dim on");
  return Str("ONE TILE: an aligned box of ", Join(sides, "x"));
}

// ---- Values ---------------------------------------------------------------------------------------------------------

std::optional<std::string> Transposed(const Mistakes& m, const std::vector<Extent>&) {
  const int64_t rank = m.shape.rank();
  if (rank < 2) return {};
  const int64_t rows = m.shape.dim(rank - 2), columns = m.shape.dim(rank - 1);
  if (rows < 2 || columns < 2) return {};
  const bool all = Most(m, [&](int64_t i) {
    const int64_t base = i / (rows * columns) * rows * columns, at = i - base;
    // The expected element if the array were [columns, rows].
    return Close(m.actual[i], m.expected[base + at % rows * columns + at / rows]);
  });
  if (!all) return {};
  return Str("TRANSPOSED: the last two dims are swapped");
}

std::optional<std::string> Shifted(const Mistakes& m, const std::vector<Extent>&) {
  const int64_t count = static_cast<int64_t>(m.expected.size());
  std::vector<int64_t> shifts;
  for (int64_t n = 1; n <= 32; ++n) shifts.insert(shifts.end(), {n, -n});
  for (const int64_t stride : RowMajorStrides(m.shape.dims())) shifts.insert(shifts.end(), {stride, -stride});
  for (const int64_t n : shifts) {
    int64_t inside = 0;
    const bool all = Most(m, [&](int64_t i) {
      if (i + n < 0 || i + n >= count) return true;
      ++inside;
      return Close(m.actual[i], m.expected[i + n]) && m.expected[i + n] != 0;
    });
    if (all && inside > 3) return Str("SHIFTED: element i holds what element i", n > 0 ? "+" : "", n, " should hold");
  }
  return {};
}

std::optional<std::string> Scaled(const Mistakes& m, const std::vector<Extent>&) {
  if (m.bad.size() < 3) return {};
  const double factor = m.actual[m.bad[0]] / m.expected[m.bad[0]];
  if (!std::isfinite(factor) || factor == 0 || Close(factor, 1)) return {};
  if (!Most(m, [&](int64_t i) { return Close(m.actual[i], factor * m.expected[i]); })) return {};
  if (Close(factor, -1)) return "SIGN FLIPPED";
  return Str("SCALED by ", Format("%.6g", factor));
}

std::optional<std::string> Offset(const Mistakes& m, const std::vector<Extent>&) {
  if (m.bad.size() < 3) return {};
  const double offset = m.actual[m.bad[0]] - m.expected[m.bad[0]];
  if (!std::isfinite(offset) || offset == 0) return {};
  const bool all = Most(m, [&](int64_t i) {
    const double size = std::max({std::fabs(m.actual[i]), std::fabs(m.expected[i]), std::fabs(offset)});
    return std::fabs(m.actual[i] - m.expected[i] - offset) <= 1e-5 * size;
  });
  if (!all) return {};
  return Str("CONSTANT OFFSET of ", Format("%.6g", offset));
}

std::optional<std::string> Stale(const Mistakes& m, const std::vector<Extent>&) {
  if (Most(m, [&](int64_t i) { return m.actual[i] == 0; })) return "ZEROS: never written, or cleared";
  if (!IsFloat(m.shape.type())) return {};
  if (Most(m, [&](int64_t i) { return std::isnan(m.actual[i]) && !std::isnan(m.expected[i]); })) {
    return "NaN, OR STALE MEMORY: a number was expected; --detect_nan=warn names the op that makes the NaN, if one "
           "does";
  }
  return {};
}

std::optional<std::string> Saturated(const Mistakes& m, const std::vector<Extent>&) {
  const double first = std::fabs(m.actual[m.bad[0]]);
  const bool extreme = std::isinf(first) || first >= 127;
  if (m.bad.size() < 2 || !extreme) return {};
  if (!Most(m, [&](int64_t i) { return std::fabs(m.actual[i]) == first && std::fabs(m.expected[i]) < first; }))
    return {};
  return Str("SATURATED: all bad values have the magnitude ", Format("%.6g", first));
}

std::optional<std::string> Permuted(const Mistakes& m, const std::vector<Extent>&) {
  if (m.bad.size() < 2) return {};
  std::vector<double> expected, actual;
  for (const int64_t i : m.bad) {
    expected.push_back(m.expected[i]);
    actual.push_back(m.actual[i]);
  }
  std::ranges::sort(expected);
  std::ranges::sort(actual);
  if (expected.front() == expected.back() || !std::ranges::equal(expected, actual, Close)) return {};
  return "PERMUTED: the right values are in other places";
}

int BitsNeeded(double x) {
  if (x == 0 || !std::isfinite(x)) return 0;
  const uint64_t mantissa = std::bit_cast<uint64_t>(x) & 0xF'FFFF'FFFF'FFFF;
  return mantissa == 0 ? 1 : 53 - std::countr_zero(mantissa);
}

std::optional<std::string> Narrowed(const Mistakes& m, const std::vector<Extent>&) {
  if (!IsFloat(m.shape.type()) || BitWidth(m.shape.type()) < 32) return {};
  struct Narrower {
    const char* name;
    int bits;
  };
  for (const Narrower& type : {Narrower{"bf16", 8}, Narrower{"f16 or tf32", 11}, Narrower{"f32", 24}}) {
    if (m.shape.type() == PrimitiveType::kF32 && type.bits == 24) continue;
    const bool all = Most(m, [&](int64_t i) {
      const double size = std::fabs(m.expected[i]);
      return BitsNeeded(m.actual[i]) <= type.bits &&
             std::fabs(m.actual[i] - m.expected[i]) <= 1.01 * std::ldexp(size, -type.bits + 1);
    });
    if (all) return Str("ROUNDED TO ", type.name, ": the values are right to the precision of that type");
  }
  return {};
}

std::optional<std::string> Noise(const Mistakes& m, const std::vector<Extent>&) {
  if (!(m.worst_ratio > 1 && m.worst_ratio <= 8) || m.bad.size() < 4) return {};
  int64_t above = 0;
  for (const int64_t i : m.bad) above += m.actual[i] > m.expected[i] ? 1 : 0;
  const int64_t count = static_cast<int64_t>(m.bad.size());
  if (above * 5 < count || above * 5 > count * 4) return {};
  return Str("ACCUMULATION-ORDER NOISE: at most ", Format("%.1f", m.worst_ratio),
             " times the bound, with both signs; perhaps the kernel adds in a longer chain than its plan promises");
}

}  // namespace

std::string WhereIs(const Mistakes& m) {
  if (m.bad.empty() || m.shape.rank() == 0) return "";
  std::vector<std::string> parts, full;
  const std::vector<Extent> extents = ExtentsOf(m);
  for (size_t d = 0; d < extents.size(); ++d) {
    const Extent& e = extents[d];
    if (e.Full()) {
      if (e.size > 1) full.push_back(Str("all of dim ", d));
    } else if (e.Regular()) {
      parts.push_back(
          Str("every ", Ordinal(e.step), " of dim ", d, " from ", e.low, " (", e.count, " of ", e.size, ")"));
    } else if (e.count == 1) {
      parts.push_back(Str("dim ", d, " = ", e.low));
    } else {
      parts.push_back(Str("dim ", d, " in [", e.low, ",", e.high, "] (", e.count, " of ", e.size, ")"));
    }
  }
  parts.insert(parts.end(), full.begin(), full.end());
  return Join(parts, ", ");
}

std::vector<std::string> LooksLike(const Mistakes& m) {
  if (m.bad.empty()) return {};
  const std::vector<Extent> extents = ExtentsOf(m);
  // Guesses from positions are less informative than guesses from values.
  std::vector<Recogniser> recognisers = {Stale, Saturated, PartialTile, EveryKth, OneTile};
  // Infinities do not show where a value came from.
  const bool numbers =
      std::ranges::any_of(m.bad, [&](int64_t i) { return std::isfinite(m.actual[i]) && std::isfinite(m.expected[i]); });
  // A neighbour's value or a factor of 1 explains nothing if all elements are nearly right.
  const bool near = std::ranges::all_of(m.bad, [&](int64_t i) { return Close(m.actual[i], m.expected[i]); });
  if (near) recognisers = {Narrowed, Noise, PartialTile, EveryKth, OneTile};
  else if (numbers)
    recognisers = {Narrowed, Noise,     Stale,    Transposed,  Shifted,  Scaled,
                   Offset,   Saturated, Permuted, PartialTile, EveryKth, OneTile};
  std::vector<std::string> found;
  for (const Recogniser& recogniser : recognisers) {
    const auto match = recogniser(m, extents);
    if (match && found.size() < 3) found.push_back(*match);
  }
  if (found.empty() && m.bad.size() == m.expected.size() && m.bad.size() > 1) found.push_back("EVERYTHING WRONG");
  return found;
}

}  // namespace hlo
