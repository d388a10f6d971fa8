#include "passes/sharding/halo.h"

#include <algorithm>

#include "ir/factors/local_op.h"

namespace hlo {

std::optional<Halo> HaloOf(const Factor& factor, const FactorWindow& read, int64_t elements, int64_t parts) {
  const WindowDim& window = read.window;
  const int64_t positions = factor.size;
  const bool from_end = factor.kind == FactorKind::kSum && window.reversed;  // A reversed kernel.
  const int64_t in_part = (positions + parts - 1) / parts, last = parts - 1;
  if (in_part * window.stride % window.base_dilation != 0 || elements == 0) return std::nullopt;
  const auto rows_of = [&](int64_t part, int64_t count) {
    const int64_t from = from_end ? positions - (part + 1) * in_part : part * in_part;
    return UnclampedWindowOf(window, {from, count}).rows;
  };
  const IndexRange rows_of_first = rows_of(0, in_part);
  Halo halo{.parts = parts, .own = (elements + parts - 1) / parts, .is_mirrored = (window.stride < 0) != from_end};
  halo.rows = rows_of_first.size;
  if (halo.rows < 1) return std::nullopt;
  halo.first = rows_of_first.first;
  halo.step = (parts > 1 ? rows_of(1, in_part).first : halo.first) - halo.first;
  const auto base_of = [&](int64_t part) { return halo.own * (halo.is_mirrored ? last - part : part); };
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t count = std::min(in_part, positions - part * in_part);
    if (count < 1) break;
    const IndexRange rows = rows_of(part, count);
    const int64_t end = rows.first + rows.size;
    halo.reads_below |= rows.first < 0;
    halo.reads_above |= end > elements;
    const int64_t from = std::max<int64_t>(rows.first, 0), to = std::min(end, elements);
    if (from >= to) continue;
    halo.before = std::max(halo.before, base_of(part) - from);
    halo.after = std::max(halo.after, to - (base_of(part) + halo.own));
  }
  const auto start_of = [&](int64_t part) {
    return halo.first + halo.step * part - (base_of(part) - halo.before) + halo.low;
  };
  halo.low = std::max<int64_t>(0, -std::min(start_of(0), start_of(last)));
  halo.start = start_of(0);
  halo.shift = parts > 1 ? start_of(1) - halo.start : 0;
  const int64_t end = std::max(start_of(0), start_of(last)) + halo.rows;
  halo.high = std::max<int64_t>(0, end - (halo.low + halo.before + halo.own + halo.after));
  return halo;
}

}  // namespace hlo
