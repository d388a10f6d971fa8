#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/parallel.h"
#include "base/text.h"
#include "interp/elements.h"
#include "interp/evaluation.h"
#include "interp/ops/scalar_body.h"
#include "interp/ops/window_runs.h"
#include "interp/strided.h"
#include "ir/analysis/dynamic_indices.h"
#include "ir/dimensions.h"

namespace hlo {

std::vector<Run> WindowRuns(std::span<const int64_t> dims, std::span<const int64_t> from_strides,
                            std::span<const int64_t> to_strides) {
  int64_t together = 1;
  size_t outer = dims.size();
  while (outer > 0 &&
         (dims[outer - 1] == 1 || (from_strides[outer - 1] == together && to_strides[outer - 1] == together))) {
    together *= dims[--outer];
  }
  std::vector<Run> runs;
  for (IndexWalk walk(dims.first(outer)); walk.Valid(); walk.Next()) {
    const Run run = {Dot(walk.index(), from_strides.first(outer)), Dot(walk.index(), to_strides.first(outer)),
                     together};
    if (together > 0) runs.push_back(run);
  }
  return runs;
}

namespace {

class WindowStarts {
 public:
  WindowStarts(const Literal& indices, int64_t index_vector_dim, std::span<const int64_t> start_map,
               std::span<const int64_t> operand_batching, std::span<const int64_t> indices_batching,
               int64_t operand_rank)
      : indices_(indices),
        start_map_(start_map),
        operand_batching_(operand_batching),
        indices_batching_(indices_batching),
        index_vector_dim_(index_vector_dim),
        operand_rank_(operand_rank) {
    const auto& dims = indices.shape().dims();
    const std::vector<int64_t> strides = RowMajorStrides(dims);
    for (int64_t d = 0; d < indices.shape().rank(); ++d) {
      if (d == index_vector_dim) continue;
      batch_dims_.push_back(dims[d]);
      batch_strides_.push_back(strides[d]);
    }
    vector_stride_ = index_vector_dim < indices.shape().rank() ? strides[index_vector_dim] : 0;
  }

  // Sizes of the indices without the dimension of index vectors.
  const std::vector<int64_t>& batch_dims() const { return batch_dims_; }

  // Origin of the window, not clamped.
  void StartOf(const std::vector<int64_t>& batch, std::vector<int64_t>& start) const {
    start.assign(operand_rank_, 0);
    const int64_t at = Dot(batch, batch_strides_);
    for (size_t k = 0; k < start_map_.size(); ++k)
      start[start_map_[k]] = IndexAt(indices_, at + static_cast<int64_t>(k) * vector_stride_);
    for (size_t k = 0; k < operand_batching_.size(); ++k) {
      const int64_t d = indices_batching_[k];
      start[operand_batching_[k]] = batch[d < index_vector_dim_ ? d : d - 1];
    }
  }

 private:
  const Literal& indices_;
  std::span<const int64_t> start_map_, operand_batching_, indices_batching_;
  int64_t index_vector_dim_, operand_rank_;
  std::vector<int64_t> batch_dims_, batch_strides_;
  int64_t vector_stride_ = 0;
};

}  // namespace

Result<Literal> EvalGather(Evaluation& e) {
  const GatherAttrs& attrs = e.inst.attrs<GatherAttrs>();
  const Literal &operand = e.operands[0], &indices = e.operands[1];
  const Shape &from = operand.shape(), &shape = e.inst.shape();
  if (from.NumElements() == 0) return Literal(shape);
  Literal result = Literal::Uninitialized(shape);
  if (result.byte_size() == 0) return result;
  const WindowStarts starts(indices, attrs.index_vector_dim, attrs.start_index_map, attrs.operand_batching_dims,
                            attrs.start_indices_batching_dims, from.rank());
  const std::vector<int64_t> from_strides = RowMajorStrides(from.dims()), to_strides = RowMajorStrides(shape.dims());

  std::vector<int64_t> window, window_from, window_to, batch_to;
  size_t offset = 0;
  for (int64_t d = 0; d < from.rank(); ++d) {
    if (Contains(attrs.collapsed_slice_dims, d) || Contains(attrs.operand_batching_dims, d)) continue;
    window.push_back(attrs.slice_sizes[d]);
    window_from.push_back(from_strides[d]);
    window_to.push_back(to_strides[attrs.offset_dims[offset++]]);
  }
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (!Contains(attrs.offset_dims, d)) batch_to.push_back(to_strides[d]);
  }
  const std::vector<Run> runs = WindowRuns(window, window_from, window_to);

  const int64_t bytes = ByteWidth(from.type());
  std::byte* const out = result.mutable_raw();
  const int64_t windows = Product(starts.batch_dims());
  ParallelFor(windows, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, Product(window))),
              [&](int64_t begin, int64_t end) {
                IndexWalk walk(starts.batch_dims());
                walk.Seek(begin);
                std::vector<int64_t> start;
                for (int64_t i = begin; i < end; ++i, walk.Next()) {
                  starts.StartOf(walk.index(), start);
                  for (int64_t d = 0; d < from.rank(); ++d)
                    start[d] = std::clamp<int64_t>(start[d], 0, from.dim(d) - attrs.slice_sizes[d]);
                  const std::byte* origin = operand.raw() + Dot(start, from_strides) * bytes;
                  std::byte* target = out + Dot(walk.index(), batch_to) * bytes;
                  for (const Run& run : runs)
                    std::memcpy(target + run.to * bytes, origin + run.from * bytes, run.count * bytes);
                }
              });
  return result;
}

// Windows, which may overlap, are applied in row-major order of the indices. A window reaches each element once, so
// runs are combined.
Result<Literal> EvalScatter(Evaluation& e) {
  const ScatterAttrs& attrs = e.inst.attrs<ScatterAttrs>();
  const ScalarBody& body = *TRY(e.session.Body(*attrs.to_apply));
  const size_t arrays = e.operands.size() / 2;
  const Literal& indices = e.operands[arrays];
  const std::span<const Literal> updates = e.operands.subspan(arrays + 1);
  std::vector<Literal> results;
  for (size_t i = 0; i < arrays; ++i) results.push_back(std::move(e.operands[i]));
  const auto finish = [&]() -> Literal {
    return e.inst.shape().IsTuple() ? Literal::Tuple(std::move(results)) : std::move(results[0]);
  };
  TRY(CheckBody(e.inst, body, arrays, results, updates));

  const Shape operand = results[0].shape(), &update = updates[0].shape();
  const WindowStarts starts(indices, attrs.index_vector_dim, attrs.scatter_dims_to_operand_dims,
                            attrs.input_batching_dims, attrs.scatter_indices_batching_dims, operand.rank());
  const std::vector<int64_t> operand_strides = RowMajorStrides(operand.dims()),
                             update_strides = RowMajorStrides(update.dims());
  std::vector<int64_t> window, window_operand, window_update, batch_update, limit(operand.rank());
  size_t next = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    limit[d] = operand.dim(d) - 1;
    if (Contains(attrs.inserted_window_dims, d) || Contains(attrs.input_batching_dims, d)) continue;
    const int64_t in_update = attrs.update_window_dims[next++];
    limit[d] = operand.dim(d) - update.dim(in_update);
    window.push_back(update.dim(in_update));
    window_operand.push_back(operand_strides[d]);
    window_update.push_back(update_strides[in_update]);
  }
  for (int64_t d = 0; d < update.rank(); ++d) {
    if (!Contains(attrs.update_window_dims, d)) batch_update.push_back(update_strides[d]);
  }
  const std::vector<Run> runs = WindowRuns(window, window_operand, window_update);

  ScalarBody::Scratch scratch;
  std::vector<const std::byte*> in(2 * arrays);
  std::vector<std::byte*> out(arrays), data(arrays);
  std::vector<int64_t> bytes(arrays);
  for (size_t i = 0; i < arrays; ++i) {
    bytes[i] = ByteWidth(results[i].shape().type());
    data[i] = results[i].mutable_raw();
  }
  std::vector<int64_t> start;
  for (IndexWalk walk(starts.batch_dims()); walk.Valid(); walk.Next()) {
    starts.StartOf(walk.index(), start);
    bool inside = true;
    for (int64_t d = 0; d < operand.rank(); ++d) inside &= start[d] >= 0 && start[d] <= limit[d];
    if (!inside) continue;
    const int64_t origin = Dot(start, operand_strides), source = Dot(walk.index(), batch_update);
    for (const Run& run : runs) {
      for (int64_t begin = 0; begin < run.count; begin += ScalarBody::kLanes) {
        for (size_t i = 0; i < arrays; ++i) {
          out[i] = data[i] + (origin + run.from + begin) * bytes[i];
          in[i] = out[i];
          in[arrays + i] = updates[i].raw() + (source + run.to + begin) * bytes[i];
        }
        TRY(body.Run(in.data(), out.data(), std::min(ScalarBody::kLanes, run.count - begin), scratch));
      }
    }
  }
  return finish();
}

}  // namespace hlo
