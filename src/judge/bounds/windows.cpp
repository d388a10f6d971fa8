// Bounds of reduce-window and select-and-scatter. Rules: docs/comparison.md#sums.
#include <algorithm>
#include <optional>

#include "base/parallel.h"
#include "judge/bounds/totals.h"
#include "judge/bounds/window_places.h"

namespace hlo::shadow {
namespace {

// A window with stride 1 that starts `pad_low` before the result's position.
struct Line {
  int64_t dimension, size, pad_low;
};

std::optional<Line> SlidingLine(const Window& window) {
  std::optional<Line> line;
  for (int64_t d = 0; d < std::ssize(window.dims); ++d) {
    const WindowDim& w = window.dims[d];
    const bool plain = w.stride == 1 && w.window_dilation == 1 && w.base_dilation == 1;
    if (!plain) return std::nullopt;
    if (w.size == 1 && w.pad_low == 0 && w.pad_high == 0) continue;
    if (line) return std::nullopt;
    line = Line{d, w.size, w.pad_low};
  }
  return line;
}

// Each result merges the end of one block of `size` elements and the beginning of the next, in three steps for each
// element (van Herk, Gil and Werman). All orders are permitted.
template <class Rule>
void Slide(const Line& line, const Shape& base, const Shape& results, const Source& from, const Source& start,
           const Closing& close, const Sink& sink) {
  const int64_t count = base.dim(line.dimension), windows = results.dim(line.dimension);
  const int64_t stride = RowMajorStrides(base.dims())[line.dimension];
  const int64_t lines = results.NumElements() / windows, block = line.size;
  ParallelFor(lines, std::max<int64_t>(1, (1 << 14) / (count + windows)), [&](int64_t begin, int64_t end) {
    std::vector<Total> heads(count), tails(count);
    for (int64_t at = begin; at < end; ++at) {
      const int64_t outer = at / stride, inner = at % stride;
      const auto take = [&](Total total, int64_t i) {
        const int64_t index = (outer * count + i) * stride + inner;
        Rule::Take(total, from.value[index], from.Bound(index), from.Likely(index));
        return total;
      };
      for (int64_t i = 0; i < count; ++i) heads[i] = take(i % block == 0 ? Rule::kNothing : heads[i - 1], i);
      for (int64_t i = count; i-- > 0;)
        tails[i] = take(i + 1 == count || (i + 1) % block == 0 ? Rule::kNothing : tails[i + 1], i);
      for (int64_t o = 0; o < windows; ++o) {
        // [first, last] are the covered elements. If a window extends beyond the array, its first element begins a
        // block or its last one ends the last block.
        const int64_t first = std::max<int64_t>(0, o - line.pad_low);
        const int64_t last = o - line.pad_low > count - line.size ? count - 1 : o - line.pad_low + line.size - 1;
        Total total = Rule::kNothing;
        if (first <= last) {
          total = first % block == 0 ? heads[last] : tails[first];
          if (first / block != last / block) Rule::Merge(total, heads[last]);
        }
        Rule::Take(total, start.value[0], start.Bound(0), start.Likely(0));
        sink.Put((outer * windows + o) * stride + inner, close(total));
      }
    }
  });
}

}  // namespace

Result<ShadowValue> ReduceWindow(Context& context, const Instruction& inst, Operands operands) {
  const ReduceWindowAttrs& attrs = inst.attrs<ReduceWindowAttrs>();
  const Combiner combiner = CombinerOf(*attrs.to_apply);
  if (operands.size() != 2 || !operands[0]->IsFloat() || !HasRule(combiner)) {
    if (NeverRounds(*attrs.to_apply) && AllExact(operands)) return ThroughInterpreter(context, inst, operands);
    return ReduceWindowByReducer(context, inst, operands);
  }
  const ShadowValue& x = *operands[0];
  const int64_t places = Windows::MostAtAll(attrs.window, x.shape.dims());
  const Closing close(context, inst, combiner, places + 1, AreIntegers(x) && AreIntegers(*operands[1]));
  const Source from(x), start(*operands[1]);
  const bool extreme = combiner == Combiner::kMaximum || combiner == Combiner::kMinimum;
  Sink sink(inst.shape(), extreme ? x.held : context.Held(inst), close.HasLikely() || x.HasLikely());
  const std::optional<Line> line = SlidingLine(attrs.window);
  constexpr int64_t kLongWindow = 16;
  if (line && line->size >= kLongWindow && inst.shape().NumElements() > 0) {
    WithRule(combiner, [&]<class Rule>(Rule) { Slide<Rule>(*line, x.shape, inst.shape(), from, start, close, sink); });
    return sink.Take();
  }
  const Windows windows(attrs.window, x.shape.dims(), inst.shape().dims());
  WithRule(combiner, [&]<class Rule>(Rule) {
    ParallelFor(inst.shape().NumElements(), std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, places)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t o = begin; o < end; ++o) {
                    Total total = Rule::kNothing;
                    Rule::Take(total, start.value[0], start.Bound(0), start.Likely(0));
                    windows.ForEach(
                        o, [&](int64_t i) { Rule::Take(total, from.value[i], from.Bound(i), from.Likely(i)); });
                    sink.Put(o, close(total));
                  }
                });
  });
  return sink.Take();
}

// If other elements are within the bounds of the winner, the winner and each of these may receive the source value or
// not.
Result<ShadowValue> SelectAndScatter(Context& context, const Instruction& inst, Operands operands) {
  const SelectAndScatterAttrs& attrs = inst.attrs<SelectAndScatterAttrs>();
  const Instruction& select = attrs.select->root();
  const bool in_order = select.Is(Opcode::kCompare) && select.operand(0).Is(Opcode::kParameter) &&
                        select.operand(1).Is(Opcode::kParameter) && select.operand(0).parameter_number() == 0 &&
                        select.operand(1).parameter_number() == 1;
  if (!operands[0]->IsFloat() || !in_order || CombinerOf(*attrs.scatter) != Combiner::kAdd) {
    if (AllExact(operands) && NeverRounds(*attrs.scatter)) return ThroughInterpreter(context, inst, operands);
    FAIL(UnsupportedAt(inst, "U042",
                       Str("no error bounds for a select-and-scatter with the computations '", attrs.select->name(),
                           "' and '", attrs.scatter->name(), "'")));
  }
  const ComparisonDirection direction = select.attrs<CompareAttrs>().direction;
  const bool largest = direction == ComparisonDirection::kGe || direction == ComparisonDirection::kGt;
  const bool earlier = direction == ComparisonDirection::kGe || direction == ComparisonDirection::kLe;
  if (direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe) {
    FAIL(UnsupportedAt(inst, "U042", "no error bounds for select-and-scatter that selects by equality"));
  }
  const ShadowValue& x = *operands[0];
  const ShadowValue& source = *operands[1];
  const Windows windows(attrs.window, x.shape.dims(), source.shape.dims());
  const Source from(x), add(source);

  ShadowValue start;
  start.shape = inst.shape();
  start.value = NewBuffer(inst.shape());
  std::ranges::fill(start.value.mutable_data<double>(), Values(operands[2]->value)[0]);
  if (operands[2]->HasBound()) {
    start.bound = NewBuffer(inst.shape());
    std::ranges::fill(start.bound.mutable_data<double>(), Values(operands[2]->bound)[0]);
  }
  Totals totals(start);
  for (int64_t s = 0; s < source.shape.NumElements(); ++s) {
    int64_t best = -1;
    double best_value = 0;
    windows.ForEach(s, [&](int64_t i) {
      const double v = largest ? from.value[i] : -from.value[i];
      const bool keep = best >= 0 && (earlier ? best_value >= v : best_value > v);
      if (keep) return;
      best = i;
      best_value = v;
    });
    if (best < 0) continue;
    totals.Add(best, add.value[s], add.Bound(s), add.Likely(s));
    if (from.bound == nullptr) continue;
    // Comparisons with a NaN are false, so any later element may be selected.
    bool contested = false, may_be_nan = false;
    windows.ForEach(s, [&](int64_t i) { may_be_nan |= std::isnan(from.Bound(i)); });
    windows.ForEach(s, [&](int64_t i) {
      const double v = largest ? from.value[i] : -from.value[i], bounds = from.Bound(i) + from.Bound(best);
      if (i == best || (!may_be_nan && (best_value - v > bounds || bounds == 0))) return;
      contested = true;
      totals.Loosen(i, std::fabs(add.value[s]) + add.Bound(s));
    });
    if (contested) totals.Loosen(best, std::fabs(add.value[s]) + add.Bound(s));
  }
  return totals.Close(context, inst);
}

}  // namespace hlo::shadow
