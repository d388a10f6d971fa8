// reduce-window and select-and-scatter: docs/ops.md#windows.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>

#include "base/check.h"
#include "base/parallel.h"
#include "base/text.h"
#include "interp/elements.h"
#include "interp/evaluation.h"
#include "interp/ops/scalar_body.h"
#include "interp/strided.h"

namespace hlo {
namespace {

// Index that `offset` of the window reads at `position`, or -1 for padding and holes.
int64_t BaseIndex(const WindowDim& window, int64_t size, int64_t position, int64_t offset) {
  const int64_t at = position * window.stride + offset * window.window_dilation - window.pad_low;
  if (at < 0 || at % window.base_dilation != 0) return -1;
  const int64_t index = at / window.base_dilation;
  return index < size ? index : -1;
}

struct Offsets {
  int64_t begin = 0, end = 0;
};

// Offsets that may read an element for some position in [first, last]. Leaves out padding, which may be large.
Offsets OffsetsThatMeet(const WindowDim& window, int64_t size, int64_t first, int64_t last) {
  using Wide = __int128;
  const auto floor_of = [&](Wide a) {
    const Wide b = window.window_dilation;
    return a / b - (a % b < 0 ? 1 : 0);
  };
  // 0 <= position * stride + offset * window_dilation - pad_low <= (size - 1) * base_dilation
  const Wide begin = -floor_of(Wide{last} * window.stride - window.pad_low);
  const Wide end = floor_of((Wide{size} - 1) * window.base_dilation - Wide{first} * window.stride + window.pad_low) + 1;
  if (size == 0 || std::max<Wide>(begin, 0) >= std::min<Wide>(end, window.size)) return {};
  return {static_cast<int64_t>(std::max<Wide>(begin, 0)), static_cast<int64_t>(std::min<Wide>(end, window.size))};
}

bool IsTrivial(const WindowDim& window) { return window == WindowDim(); }

// Outer dimensions, and lanes: the trailing dimensions over which no window slides, or else the last dimension.
struct Sliding {
  std::vector<WindowDim> outer;
  std::vector<int64_t> outer_base, outer_out;
  WindowDim lane_window;
  int64_t lane_base = 1, lanes = 1;

  Sliding(const Window& window, std::span<const int64_t> base, std::span<const int64_t> out) {
    size_t outside = base.size();
    while (outside > 0 && IsTrivial(window.dims[outside - 1])) lanes *= base[--outside];
    lane_base = lanes;
    if (lanes < 8 && !base.empty() && (lanes == 1 || outside == base.size())) {
      outside = base.size() - 1;
      lane_window = window.dims[outside];
      lane_base = base[outside];
      lanes = out[outside];
    }
    for (size_t d = 0; d < outside; ++d) {
      outer.push_back(window.dims[d]);
      outer_base.push_back(base[d]);
      outer_out.push_back(out[d]);
    }
  }

  std::vector<Offsets> OuterOffsets(const std::vector<int64_t>& position) const {
    std::vector<Offsets> offsets;
    for (size_t d = 0; d < outer.size(); ++d)
      offsets.push_back(OffsetsThatMeet(outer[d], outer_base[d], position[d], position[d]));
    return offsets;
  }

  // Base element (lane 0, offset 0) at outer indices `position` and offsets `offsets`.begin + `at`, or -1.
  int64_t OuterElement(const std::vector<int64_t>& position, const std::vector<Offsets>& offsets,
                       const std::vector<int64_t>& at) const {
    int64_t element = 0;
    for (size_t d = 0; d < outer.size(); ++d) {
      const int64_t index = BaseIndex(outer[d], outer_base[d], position[d], offsets[d].begin + at[d]);
      if (index < 0) return -1;
      element = element * outer_base[d] + index;
    }
    return element * lane_base;
  }

  // Calls f(first lane, count, first base element, base stride) for lanes in [begin, end) with an element at `offset`.
  template <class F>
  void ForEachLaneRun(int64_t begin, int64_t end, int64_t offset, F&& f) const {
    const WindowDim& window = lane_window;
    if (window.base_dilation != 1) {
      for (int64_t lane = begin; lane < end; ++lane) {
        const int64_t index = BaseIndex(window, lane_base, lane, offset);
        if (index >= 0) f(lane, int64_t{1}, index, int64_t{1});
      }
      return;
    }
    // lane * stride + shift must be in [0, lane_base).
    const int64_t shift = offset * window.window_dilation - window.pad_low;
    const int64_t first = std::max(begin, shift >= 0 ? 0 : (-shift + window.stride - 1) / window.stride);
    const int64_t last = std::min(end, lane_base - 1 - shift < 0 ? 0 : (lane_base - 1 - shift) / window.stride + 1);
    if (first < last) f(first, last - first, first * window.stride + shift, window.stride);
  }
};

// Windows that all begin at the first element, as in a cumulative sum. Each result is the previous one combined with
// the next element. This is the defined order, so it suits every body.
struct Running {
  int64_t before = 1, size = 0, out = 0, lanes = 1;
  int64_t first = 0;  // The window at position i has clamp(first + i, 0, size) elements.

  static std::optional<Running> Make(const Window& window, std::span<const int64_t> base,
                                     std::span<const int64_t> out) {
    Running running;
    const WindowDim* along = nullptr;
    for (size_t d = 0; d < base.size(); ++d) {
      const WindowDim& dim = window.dims[d];
      if (IsTrivial(dim)) {
        (along != nullptr ? running.lanes : running.before) *= base[d];
        continue;
      }
      const bool slides = dim.stride == 1 && dim.window_dilation == 1 && dim.base_dilation == 1;
      if (along != nullptr || !slides || dim.pad_low < out[d] - 1) return std::nullopt;
      along = &dim;
      running.size = base[d];
      running.out = out[d];
      running.first = dim.size - dim.pad_low;
    }
    return along != nullptr ? std::optional(running) : std::nullopt;
  }

  int64_t CountAt(int64_t position) const { return std::clamp<int64_t>(first + position, 0, size); }
};

struct Arrays {
  std::vector<const std::byte*> in, init;
  std::vector<std::byte*> out;
  std::vector<int64_t> bytes;
};

Status RunAlong(const Running& running, const ScalarBody& body, const Arrays& arrays, int64_t row, int64_t begin,
                int64_t count, ScalarBody::Scratch& scratch) {
  const size_t number = arrays.out.size();
  const ElementwiseOp* const binary = number == 1 ? body.AsBinary() : nullptr;
  std::vector<const std::byte*> in(2 * number);
  std::vector<std::byte*> out(number);
  int64_t done = 0;
  for (int64_t position = 0; position < running.out; ++position) {
    for (size_t a = 0; a < number; ++a) {
      out[a] = arrays.out[a] + ((row * running.out + position) * running.lanes + begin) * arrays.bytes[a];
      in[a] = out[a] - running.lanes * arrays.bytes[a];
      if (position > 0) continue;
      Fill(arrays.init[a], arrays.bytes[a], out[a], count);
      in[a] = out[a];
    }
    const int64_t end = running.CountAt(position);
    if (position > 0 && done == end) {
      for (size_t a = 0; a < number; ++a) std::memcpy(out[a], in[a], count * arrays.bytes[a]);
    }
    // Only the first position may have several new elements.
    for (; done < end; ++done) {
      for (size_t a = 0; a < number; ++a)
        in[number + a] = arrays.in[a] + ((row * running.size + done) * running.lanes + begin) * arrays.bytes[a];
      if (binary != nullptr) binary->Run(in.data(), out[0], count);
      else TRY(body.Run(in.data(), out.data(), count, scratch));
    }
  }
  return {};
}

Status RunAlong(const Running& running, const ScalarBody& body, const Arrays& arrays) {
  std::mutex mutex;
  Status status;
  const int64_t blocks = (running.lanes + ScalarBody::kLanes - 1) / ScalarBody::kLanes;
  const int64_t work = running.out * std::min(running.lanes, ScalarBody::kLanes);
  ParallelFor(running.before * blocks, std::max<int64_t>(1, (1 << 13) / std::max<int64_t>(1, work)),
              [&](int64_t begin, int64_t end) {
                ScalarBody::Scratch scratch;
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t lane = i % blocks * ScalarBody::kLanes;
                  const int64_t count = std::min(running.lanes - lane, ScalarBody::kLanes);
                  Status done = RunAlong(running, body, arrays, i / blocks, lane, count, scratch);
                  if (done) continue;
                  const std::lock_guard lock(mutex);
                  status = std::move(done);
                  return;
                }
              });
  return status;
}

Status Slide(const Sliding& sliding, const ScalarBody& body, const Arrays& arrays) {
  const size_t number = arrays.out.size();
  const ElementwiseOp* const binary = number == 1 ? body.AsBinary() : nullptr;

  std::mutex mutex;
  Status status;
  std::atomic<bool> failed = false;
  const int64_t blocks = (sliding.lanes + ScalarBody::kLanes - 1) / ScalarBody::kLanes,
                rows = Product(sliding.outer_out);
  int64_t work = std::min(sliding.lanes, ScalarBody::kLanes) * std::min(sliding.lane_window.size, sliding.lane_base);
  for (size_t d = 0; d < sliding.outer.size(); ++d) work *= std::min(sliding.outer[d].size, sliding.outer_base[d]);
  ParallelFor(
      rows * blocks, std::max<int64_t>(1, (1 << 13) / std::max<int64_t>(1, work)), [&](int64_t begin, int64_t end) {
        ScalarBody::Scratch scratch;
        std::vector<std::byte> packed(number * ScalarBody::kLanes * 16);
        std::vector<const std::byte*> in(2 * number);
        std::vector<std::byte*> accumulators(number);
        IndexWalk row(sliding.outer_out);
        for (int64_t i = begin; i < end && !failed.load(std::memory_order_relaxed); ++i) {
          row.Seek(i / blocks);
          const int64_t lane_begin = i % blocks * ScalarBody::kLanes,
                        lane_end = std::min(sliding.lanes, lane_begin + ScalarBody::kLanes);
          const int64_t row_out = i / blocks * sliding.lanes;
          for (size_t a = 0; a < number; ++a)
            Fill(arrays.init[a], arrays.bytes[a], arrays.out[a] + (row_out + lane_begin) * arrays.bytes[a],
                 lane_end - lane_begin);
          const std::vector<Offsets> outer = sliding.OuterOffsets(row.index());
          std::vector<int64_t> counts;
          for (const Offsets& offsets : outer) counts.push_back(offsets.end - offsets.begin);
          const Offsets inner = OffsetsThatMeet(sliding.lane_window, sliding.lane_base, lane_begin, lane_end - 1);
          for (IndexWalk at(counts); at.Valid(); at.Next()) {
            const int64_t element = sliding.OuterElement(row.index(), outer, at.index());
            if (element < 0) continue;
            for (int64_t offset = inner.begin; offset < inner.end; ++offset) {
              sliding.ForEachLaneRun(
                  lane_begin, lane_end, offset, [&](int64_t lane, int64_t count, int64_t base, int64_t stride) {
                    for (size_t a = 0; a < number; ++a) {
                      in[a] = accumulators[a] = arrays.out[a] + (row_out + lane) * arrays.bytes[a];
                      const std::byte* from = arrays.in[a] + (element + base) * arrays.bytes[a];
                      in[number + a] = from;
                      if (stride == 1 || count == 1) continue;
                      GatherStrided(from, stride, arrays.bytes[a], packed.data() + a * ScalarBody::kLanes * 16, count);
                      in[number + a] = packed.data() + a * ScalarBody::kLanes * 16;
                    }
                    if (binary != nullptr) {
                      binary->Run(in.data(), accumulators[0], count);
                      return;
                    }
                    if (Status done = body.Run(in.data(), accumulators.data(), count, scratch); !done) {
                      const std::lock_guard lock(mutex);
                      status = std::move(done);
                      failed = true;
                    }
                  });
            }
          }
        }
      });
  return status;
}

}  // namespace

Result<Literal> EvalReduceWindow(Evaluation& e) {
  const ReduceWindowAttrs& attrs = e.inst.attrs<ReduceWindowAttrs>();
  const ScalarBody& body = *TRY(e.session.Body(*attrs.to_apply));
  const size_t arrays = e.operands.size() / 2;
  const auto inputs = e.operands.first(arrays), inits = e.operands.subspan(arrays);
  TRY(CheckBody(e.inst, body, arrays, inits, inputs));
  const Shape& out_shape = e.inst.shape().IsTuple() ? e.inst.shape().element(0) : e.inst.shape();

  std::vector<Literal> results;
  Arrays raw;
  for (size_t a = 0; a < arrays; ++a) {
    results.push_back(Literal::Uninitialized(e.inst.shape().IsTuple() ? e.inst.shape().element(a) : e.inst.shape()));
    raw.in.push_back(inputs[a].raw());
    raw.init.push_back(inits[a].raw());
    raw.bytes.push_back(ByteWidth(inits[a].shape().type()));
  }
  for (Literal& result : results) raw.out.push_back(result.mutable_raw());
  if (const auto running = Running::Make(attrs.window, inputs[0].shape().dims(), out_shape.dims()))
    TRY(RunAlong(*running, body, raw));
  else TRY(Slide(Sliding(attrs.window, inputs[0].shape().dims(), out_shape.dims()), body, raw));
  return e.inst.shape().IsTuple() ? Literal::Tuple(std::move(results)) : std::move(results[0]);
}

// For each source element in row-major order, `select` chooses a place in its window of the operand, and `scatter`
// combines the element with the result there.
Result<Literal> EvalSelectAndScatter(Evaluation& e) {
  const SelectAndScatterAttrs& attrs = e.inst.attrs<SelectAndScatterAttrs>();
  const ScalarBody& select = *TRY(e.session.Body(*attrs.select));
  const ScalarBody& scatter = *TRY(e.session.Body(*attrs.scatter));
  const Literal &operand = e.operands[0], &source = e.operands[1], &init = e.operands[2];
  TRY(CheckBody(e.inst, scatter, 1, {&init, 1}, {&source, 1}));
  const PrimitiveType type = operand.shape().type();
  if (type != init.shape().type() || select.parameters() != std::vector<PrimitiveType>{type, type} ||
      select.results().size() != 1 || select.results()[0] != PrimitiveType::kPred) {
    FAIL(UnsupportedAt(e.inst, "U002",
                       "'select-and-scatter' whose computations have other types than the operands is not supported by "
                       "the interpreter"));
  }
  const int64_t bytes = ByteWidth(type);
  Literal result = Literal::Uninitialized(e.inst.shape());
  std::byte* const out = result.mutable_raw();
  Fill(init.raw(), bytes, out, result.shape().NumElements());

  size_t outside = operand.shape().rank();
  int64_t lanes = 1;
  while (outside > 0 && IsTrivial(attrs.window.dims[outside - 1])) lanes *= operand.shape().dim(--outside);
  const std::vector<int64_t> base(operand.shape().dims().begin(), operand.shape().dims().begin() + outside);
  const std::vector<int64_t> positions(source.shape().dims().begin(), source.shape().dims().begin() + outside);
  std::vector<int64_t> window;
  for (size_t d = 0; d < outside; ++d) window.push_back(attrs.window.dims[d].size);

  ScalarBody::Scratch scratch;
  std::vector<std::byte> best(ScalarBody::kLanes * 16), taken(ScalarBody::kLanes * 16);
  std::vector<int64_t> best_at(ScalarBody::kLanes);
  std::vector<uint8_t> keeps(ScalarBody::kLanes);
  int64_t number = 0;
  for (IndexWalk position(positions); position.Valid(); position.Next(), ++number) {
    for (int64_t lane = 0; lane < lanes; lane += ScalarBody::kLanes) {
      const int64_t count = std::min(ScalarBody::kLanes, lanes - lane);
      bool found = false;
      for (IndexWalk at(window); at.Valid(); at.Next()) {
        int64_t element = 0;
        bool inside = true;
        for (size_t d = 0; d < outside && inside; ++d) {
          const int64_t index = BaseIndex(attrs.window.dims[d], base[d], position[d], at[d]);
          inside = index >= 0;
          element = element * base[d] + index;
        }
        if (!inside) continue;
        element = element * lanes + lane;
        const std::byte* values = operand.raw() + element * bytes;
        if (!found) {
          std::memcpy(best.data(), values, count * bytes);
          for (int64_t l = 0; l < count; ++l) best_at[l] = element + l;
          found = true;
        }
        const std::byte* in[] = {best.data(), values};
        std::byte* kept = reinterpret_cast<std::byte*>(keeps.data());
        TRY(select.Run(in, &kept, count, scratch));
        for (int64_t l = 0; l < count; ++l) {
          if (keeps[l]) continue;
          std::memcpy(best.data() + l * bytes, values + l * bytes, bytes);
          best_at[l] = element + l;
        }
      }
      if (!found) continue;
      for (int64_t l = 0; l < count; ++l) std::memcpy(taken.data() + l * bytes, out + best_at[l] * bytes, bytes);
      const std::byte* in[] = {source.raw() + (number * lanes + lane) * bytes, taken.data()};
      std::byte* sum = taken.data();
      TRY(scatter.Run(in, &sum, count, scratch));
      for (int64_t l = 0; l < count; ++l) std::memcpy(out + best_at[l] * bytes, taken.data() + l * bytes, bytes);
    }
  }
  return result;
}

}  // namespace hlo
