// Bounds of scatter. Rules: docs/comparison.md#sums.
#include <algorithm>

#include "base/parallel.h"
#include "ir/analysis/dynamic_indices.h"
#include "judge/bounds/totals.h"

namespace hlo::shadow {
namespace {

// Destinations of updates (docs/ops.md#gather-and-scatter).
class Destinations {
 public:
  Destinations(const ScatterAttrs& attrs, const Shape& operand, const Shape& indices, const Shape& updates)
      : attrs_(attrs),
        operand_(operand),
        indices_(indices),
        updates_(updates),
        strides_(RowMajorStrides(operand.dims())),
        index_strides_(RowMajorStrides(indices.dims())) {
    const auto in = [](const std::vector<int64_t>& list, int64_t d) {
      return std::ranges::find(list, d) != list.end();
    };
    std::vector<int64_t> window_operand_dims;
    for (int64_t d = 0; d < operand.rank(); ++d) {
      if (!in(attrs.inserted_window_dims, d) && !in(attrs.input_batching_dims, d)) window_operand_dims.push_back(d);
    }
    extent_.assign(operand.rank(), 1);
    window_of_.assign(updates.rank(), -1);
    for (size_t k = 0; k < attrs.update_window_dims.size(); ++k) {
      window_of_[attrs.update_window_dims[k]] = window_operand_dims[k];
      extent_[window_operand_dims[k]] = updates.dim(attrs.update_window_dims[k]);
    }
    int64_t next = 0;
    index_dim_of_.assign(updates.rank(), -1);
    for (int64_t d = 0; d < updates.rank(); ++d) {
      if (window_of_[d] >= 0) continue;
      if (next == attrs.index_vector_dim) ++next;
      index_dim_of_[d] = next++;
    }
  }

  // Row-major index of the operand element that element `u` of the updates changes, or -1 if its window exceeds the
  // operand.
  int64_t Of(int64_t u, const Literal& indices) const {
    std::vector<int64_t> offset(operand_.rank(), 0), start(operand_.rank(), 0), at(indices_.rank(), 0);
    for (int64_t d = updates_.rank() - 1; d >= 0; --d) {
      const int64_t i = u % updates_.dim(d);
      u /= updates_.dim(d);
      if (window_of_[d] >= 0) {
        offset[window_of_[d]] = i;
      } else {
        at[index_dim_of_[d]] = i;
      }
    }
    int64_t base = 0;
    for (int64_t d = 0; d < indices_.rank(); ++d) {
      if (d != attrs_.index_vector_dim) base += at[d] * index_strides_[d];
    }
    const bool has_vector = attrs_.index_vector_dim < indices_.rank();
    for (size_t k = 0; k < attrs_.scatter_dims_to_operand_dims.size(); ++k) {
      start[attrs_.scatter_dims_to_operand_dims[k]] =
          IndexAt(indices, base + (has_vector ? static_cast<int64_t>(k) * index_strides_[attrs_.index_vector_dim] : 0));
    }
    for (size_t k = 0; k < attrs_.input_batching_dims.size(); ++k)
      start[attrs_.input_batching_dims[k]] = at[attrs_.scatter_indices_batching_dims[k]];
    int64_t index = 0;
    for (int64_t d = 0; d < operand_.rank(); ++d) {
      if (start[d] < 0 || start[d] > operand_.dim(d) - extent_[d]) return -1;
      index += (start[d] + offset[d]) * strides_[d];
    }
    return index;
  }

 private:
  const ScatterAttrs& attrs_;
  const Shape& operand_;
  const Shape& indices_;
  const Shape& updates_;
  std::vector<int64_t> strides_, index_strides_;
  std::vector<int64_t> extent_;
  std::vector<int64_t> window_of_;     // By dimension of the updates: the operand's window dimension, or -1.
  std::vector<int64_t> index_dim_of_;  // For other dimensions of the updates: the dimension of the indices.
};

// A destination with several updates has an interval that contains all of them.
ShadowValue Overwrite(const Context& context, const Instruction& inst, const ShadowValue& x, const ShadowValue& updates,
                      const std::vector<int64_t>& destination) {
  const Source from(x), with(updates);
  // The indices may break the promise of unique_indices.
  std::vector<uint8_t> written(x.shape.NumElements());
  const bool meet = std::ranges::any_of(destination, [&](int64_t at) { return at >= 0 && written[at]++ != 0; });
  const bool bounded = x.HasBound() || updates.HasBound() || meet;
  ShadowValue result = x;
  result.shape = inst.shape();
  result.likely = Literal();
  result.choices = nullptr;
  if (bounded && !x.HasBound()) result.bound = Zeros(x.shape);
  double* value = result.value.mutable_data<double>().data();
  double* bound = bounded ? result.bound.mutable_data<double>().data() : nullptr;
  std::ranges::fill(written, 0);
  for (size_t u = 0; u < destination.size(); ++u) {
    const int64_t at = destination[u];
    if (at < 0) continue;
    Pair x{with.value[u], with.Bound(u)};
    if (written[at])
      x = HullOf({value[at], bound[at]}, x, context.options.widened ? std::optional(x.value) : std::nullopt);
    written[at] = 1;
    value[at] = x.value;
    if (bound) bound[at] = x.bound;
  }
  return result;
}

}  // namespace

std::vector<int64_t> DestinationsOf(const Instruction& scatter, const Literal& indices) {
  const Shape& updates = scatter.operands().back()->shape();
  const Destinations destinations(scatter.attrs<ScatterAttrs>(), scatter.operand(0).shape(), indices.shape(), updates);
  std::vector<int64_t> destination(updates.NumElements());
  ParallelFor(updates.NumElements(), 1 << 13, [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) destination[u] = destinations.Of(u, indices);
  });
  return destination;
}

Result<ShadowValue> Scatter(Context& context, const Instruction& inst, Operands operands) {
  const ScatterAttrs& attrs = inst.attrs<ScatterAttrs>();
  const Combiner combiner = CombinerOf(*attrs.to_apply);
  if (operands.size() != 3 || !operands[0]->IsFloat()) {
    if (AllExact(operands) && NeverRounds(*attrs.to_apply)) return ThroughInterpreter(context, inst, operands);
    FAIL(UnsupportedAt(inst, "U042",
                       operands.size() == 3
                           ? Str("no error bounds for scatter of ", operands[0]->shape, " whose computation rounds")
                           : Str("no error bounds for scatter of ", operands.size() / 2, " arrays")));
  }
  const ShadowValue &x = *operands[0], &indices = *operands[1], &updates = *operands[2];
  if (AnyOpen(indices)) return Undetermined(inst.shape());

  const std::vector<int64_t> destination = DestinationsOf(inst, indices.exact);
  if (combiner == Combiner::kAssign) return Overwrite(context, inst, x, updates, destination);
  const Source add(updates);
  if (combiner == Combiner::kAdd) {
    Totals totals(x);
    for (size_t u = 0; u < destination.size(); ++u) {
      if (destination[u] >= 0) totals.Add(destination[u], add.value[u], add.Bound(u), add.Likely(u));
    }
    return totals.Close(context, inst);
  }
  if (!HasRule(combiner)) {
    if (AllExact(operands) && NeverRounds(*attrs.to_apply)) return ThroughInterpreter(context, inst, operands);
    FAIL(UnsupportedAt(
        inst, "U042",
        Str("no error bounds for a scatter that combines with the computation '", attrs.to_apply->name(), "'")));
  }
  const Source from(x);
  ShadowValue result;
  WithRule(combiner, [&]<class Rule>(Rule) {
    std::vector<Total> totals(x.shape.NumElements(), Rule::kNothing);
    std::vector<int64_t> terms(totals.size());
    for (size_t u = 0; u < destination.size(); ++u) {
      if (destination[u] < 0) continue;
      Rule::Take(totals[destination[u]], add.value[u], add.Bound(u), add.Likely(u));
      ++terms[destination[u]];
    }
    const int64_t most = terms.empty() ? 0 : *std::ranges::max_element(terms);
    const Closing close(context, inst, combiner, most + 1);
    Sink sink(inst.shape(), context.Held(inst), false);
    for (size_t i = 0; i < totals.size(); ++i) {
      if (terms[i] == 0) {
        sink.Put(i, {from.value[i], from.Bound(i), 0});
        continue;
      }
      Rule::Take(totals[i], from.value[i], from.Bound(i), from.Likely(i));
      sink.Put(i, close(totals[i]));
    }
    result = sink.Take();
  });
  return result;
}

}  // namespace hlo::shadow
