// sort and topk: docs/ops.md#sorting.
#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>

#include "base/check.h"
#include "base/parallel.h"
#include "base/text.h"
#include "interp/contraction.h"
#include "interp/elements.h"
#include "interp/evaluation.h"
#include "interp/ops/order_keys.h"
#include "interp/ops/scalar_body.h"
#include "interp/strided.h"
#include "ir/module.h"

namespace hlo {

void TotalOrderKeys(PrimitiveType type, const void* elements, int64_t* keys, int64_t count) {
  if (IsFloat(type)) {
    const Loader load = BitsLoaderOf(type);
    if (load != nullptr) load(elements, keys, count);
    else std::memcpy(keys, elements, count * sizeof(int64_t));
    for (int64_t i = 0; i < count; ++i) keys[i] = keys[i] < 0 ? keys[i] ^ std::numeric_limits<int64_t>::max() : keys[i];
    return;
  }
  if (type == PrimitiveType::kPred) {
    for (int64_t i = 0; i < count; ++i) keys[i] = static_cast<const uint8_t*>(elements)[i];
    return;
  }
  const Loader load = LoaderOf(type);
  if (load != nullptr) load(elements, keys, count);
  else std::memcpy(keys, elements, count * sizeof(int64_t));
  if (type == PrimitiveType::kU64) {
    for (int64_t i = 0; i < count; ++i) keys[i] ^= std::numeric_limits<int64_t>::min();
  }
}

namespace {

struct Keyed {
  int64_t key, index;
};

// Sorts by keys for a single LT or GT of the first operand. False if this is not a total order, as for NaN in IEEE
// order.
bool OrderByKey(const Instruction& comparison, PrimitiveType type, const std::byte* line, int64_t count,
                Scratch<int64_t>& order) {
  const CompareAttrs& attrs = comparison.attrs<CompareAttrs>();
  if (attrs.direction != ComparisonDirection::kLt && attrs.direction != ComparisonDirection::kGt) return false;
  if (IsComplex(type)) return false;
  Scratch<int64_t> keys(count);
  TotalOrderKeys(type, line, keys.data(), count);
  if (IsFloat(type) && attrs.type != ComparisonType::kTotalOrder) {
    const FloatFormat format = type == PrimitiveType::kF32 || type == PrimitiveType::kF64 ? kF16 : FormatOf(type);
    if (format.specials != Specials::kIeee) return false;
    // Keys beyond the infinities are NaNs. The equal numbers -0 and +0 have the keys -1 and 0.
    Literal infinity = Literal::Scalar(type, std::numeric_limits<double>::infinity());
    int64_t top;
    TotalOrderKeys(type, infinity.raw(), &top, 1);
    for (int64_t& key : keys) {
      if (key > top || key < -1 - top) return false;
      if (key == -1) key = 0;
    }
  }
  Scratch<Keyed> items(count);
  for (int64_t i = 0; i < count; ++i) items[i] = {keys[i], i};
  if (attrs.direction == ComparisonDirection::kLt) {
    std::stable_sort(items.begin(), items.end(), [](const Keyed& a, const Keyed& b) { return a.key < b.key; });
  } else {
    std::stable_sort(items.begin(), items.end(), [](const Keyed& a, const Keyed& b) { return a.key > b.key; });
  }
  for (int64_t i = 0; i < count; ++i) order[i] = items[i].index;
  return true;
}

// Bottom-up merge sort of one line. The merges of a level run side by side, with up to kLanes comparisons as one block.
class MergeSort {
 public:
  MergeSort(const ScalarBody& body, const std::vector<const std::byte*>& lines, const std::vector<int64_t>& bytes,
            const std::vector<bool>& used)
      : body_(body), lines_(lines), bytes_(bytes), used_(used), packed_(2 * lines.size()) {
    for (auto& lane : packed_) lane.resize(ScalarBody::kLanes * 16);
  }

  Status Sort(int64_t count, Scratch<int64_t>& order) {
    std::iota(order.begin(), order.end(), 0);
    Scratch<int64_t> merged(count);
    for (int64_t width = 1; width < count; width *= 2) {
      const int64_t merges = (count + 2 * width - 1) / (2 * width);
      for (int64_t first = 0; first < merges; first += ScalarBody::kLanes) {
        TRY(MergeBlock(first, std::min(ScalarBody::kLanes, merges - first), width, count, order, merged));
      }
      order.swap(merged);
    }
    return {};
  }

 private:
  struct Merge {
    int64_t left, left_end, right, right_end, out;
  };

  Status MergeBlock(int64_t first, int64_t merges, int64_t width, int64_t count, const Scratch<int64_t>& from,
                    Scratch<int64_t>& to) {
    active_.clear();
    for (int64_t i = first; i < first + merges; ++i) {
      const int64_t begin = i * 2 * width, middle = std::min(count, begin + width),
                    end = std::min(count, begin + 2 * width);
      active_.push_back({begin, middle, middle, end, begin});
    }
    while (true) {
      size_t open = 0;
      for (const Merge& merge : active_) {
        if (merge.left < merge.left_end && merge.right < merge.right_end) {
          active_[open++] = merge;
          continue;
        }
        const auto end = std::copy(from.begin() + merge.left, from.begin() + merge.left_end, to.begin() + merge.out);
        std::copy(from.begin() + merge.right, from.begin() + merge.right_end, end);
      }
      active_.resize(open);
      if (open == 0) return {};
      TRY(Compare(from));
      for (size_t i = 0; i < active_.size(); ++i) {
        Merge& merge = active_[i];
        to[merge.out++] = from[less_[i] ? merge.right++ : merge.left++];
      }
    }
  }

  Status Compare(const Scratch<int64_t>& from) {
    std::vector<const std::byte*> in(packed_.size());
    for (size_t k = 0; k < lines_.size(); ++k) {
      const int64_t bytes = bytes_[k];
      for (int side = 0; side < 2; ++side) {
        std::byte* to = packed_[2 * k + side].data();
        in[2 * k + side] = to;
        if (!used_[2 * k + side]) continue;
        for (size_t i = 0; i < active_.size(); ++i) {
          const int64_t index = from[side == 0 ? active_[i].right : active_[i].left];
          std::memcpy(to + i * bytes, lines_[k] + index * bytes, bytes);
        }
      }
    }
    std::byte* out = reinterpret_cast<std::byte*>(less_);
    return body_.Run(in.data(), &out, active_.size(), scratch_);
  }

  const ScalarBody& body_;
  const std::vector<const std::byte*>& lines_;
  const std::vector<int64_t>& bytes_;
  const std::vector<bool>& used_;
  std::vector<std::vector<std::byte>> packed_;
  std::vector<Merge> active_;
  uint8_t less_[ScalarBody::kLanes];
  ScalarBody::Scratch scratch_;
};

std::vector<int64_t> WithLast(int64_t rank, int64_t dimension) {
  std::vector<int64_t> order;
  for (int64_t d = 0; d < rank; ++d) {
    if (d != dimension) order.push_back(d);
  }
  order.push_back(dimension);
  return order;
}

}  // namespace

Result<Literal> EvalSort(Evaluation& e) {
  const SortAttrs& attrs = e.inst.attrs<SortAttrs>();
  const ScalarBody& body = *TRY(e.session.Body(*attrs.to_apply));
  const size_t arrays = e.operands.size();
  bool fits =
      body.parameters().size() == 2 * arrays && body.results() == std::vector<PrimitiveType>{PrimitiveType::kPred};
  for (size_t i = 0; fits && i < 2 * arrays; ++i) fits = body.parameters()[i] == e.operands[i / 2].shape().type();
  if (!fits)
    FAIL(
        UnsupportedAt(e.inst, "U002",
                      "'sort' whose comparator has other types than the operands is not supported by the interpreter"));

  const Shape shape = e.operands[0].shape();
  if (shape.rank() == 0)
    return e.inst.shape().IsTuple() ? Literal::Tuple({e.operands.begin(), e.operands.end()}) : e.operands[0];
  const std::vector<int64_t> order = WithLast(shape.rank(), attrs.dimension.value);
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<int64_t>(i);
  std::vector<Literal> inputs, sorted;
  std::vector<int64_t> bytes;
  std::vector<std::byte*> out;
  for (const Literal& operand : e.operands) {
    inputs.push_back(Transposed(operand, order));
    sorted.push_back(Literal::Uninitialized(inputs.back().shape()));
    bytes.push_back(ByteWidth(operand.shape().type()));
  }
  for (Literal& literal : sorted) out.push_back(literal.mutable_raw());
  std::vector<bool> used;
  for (const Instruction* parameter : attrs.to_apply->parameters())
    used.push_back(!parameter->users().empty() || parameter->IsRoot());

  const int64_t count = shape.dim(attrs.dimension.value), lines = count == 0 ? 0 : shape.NumElements() / count;
  std::mutex mutex;
  Status status;
  ParallelFor(lines, std::max<int64_t>(1, 1024 / std::max<int64_t>(1, count)), [&](int64_t begin, int64_t end) {
    Scratch<int64_t> places(count);
    for (int64_t line = begin; line < end; ++line) {
      std::vector<const std::byte*> from;
      for (size_t i = 0; i < arrays; ++i) from.push_back(inputs[i].raw() + line * count * bytes[i]);
      const bool by_key =
          body.AsComparison() != nullptr && OrderByKey(*body.AsComparison(), shape.type(), from[0], count, places);
      if (!by_key) {
        if (Status done = MergeSort(body, from, bytes, used).Sort(count, places); !done) {
          const std::lock_guard lock(mutex);
          status = std::move(done);
          return;
        }
      }
      for (size_t i = 0; i < arrays; ++i) {
        std::byte* to = out[i] + line * count * bytes[i];
        for (int64_t j = 0; j < count; ++j) std::memcpy(to + j * bytes[i], from[i] + places[j] * bytes[i], bytes[i]);
      }
    }
  });
  TRY(std::move(status));
  for (Literal& literal : sorted) literal = Transposed(literal, back);
  return e.inst.shape().IsTuple() ? Literal::Tuple(std::move(sorted)) : std::move(sorted[0]);
}

// (values, indices) of the k best elements along the last dimension, best first, and equal ones by index.
Literal TopKOf(const Literal& operand, int64_t k, bool largest, const Shape& values_shape, const Shape& indices_shape) {
  const PrimitiveType type = operand.shape().type();
  Literal values = Literal::Uninitialized(values_shape), indices = Literal::Uninitialized(indices_shape);
  const int64_t count = operand.shape().dims().back(), bytes = ByteWidth(type),
                lines = count == 0 ? 0 : operand.shape().NumElements() / count;
  std::byte* const out = values.mutable_raw();
  int32_t* const at = indices.mutable_data<int32_t>().data();
  ParallelFor(lines, std::max<int64_t>(1, 1024 / std::max<int64_t>(1, count)), [&](int64_t begin, int64_t end) {
    const Scratch<int64_t> keys(count);
    const Scratch<Keyed> items(count);
    for (int64_t line = begin; line < end; ++line) {
      const std::byte* from = operand.raw() + line * count * bytes;
      TotalOrderKeys(type, from, keys.data(), count);
      for (int64_t i = 0; i < count; ++i) items[i] = {keys[i], i};
      std::partial_sort(items.begin(), items.begin() + k, items.end(), [largest](const Keyed& a, const Keyed& b) {
        if (a.key != b.key) return largest ? a.key > b.key : a.key < b.key;
        return a.index < b.index;
      });
      for (int64_t i = 0; i < k; ++i) {
        std::memcpy(out + (line * k + i) * bytes, from + items[i].index * bytes, bytes);
        at[line * k + i] = static_cast<int32_t>(items[i].index);
      }
    }
  });
  return Literal::Tuple({std::move(values), std::move(indices)});
}

Result<Literal> EvalTopK(Evaluation& e) {
  const TopKAttrs& attrs = e.inst.attrs<TopKAttrs>();
  if (IsComplex(e.operands[0].shape().type()))
    FAIL(UnsupportedAt(e.inst, "U002", "'topk' of complex numbers is not supported by the interpreter"));
  return TopKOf(e.operands[0], attrs.k, attrs.largest, e.inst.shape().element(0), e.inst.shape().element(1));
}

}  // namespace hlo
