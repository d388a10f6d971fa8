#include "interp/strided.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/parallel.h"

namespace hlo {
namespace {

constexpr int64_t kGrainBytes = 1 << 17;
constexpr int64_t kTile = 16;  // Used if unit strides are in different dimensions.

struct Dim {
  int64_t size, from, to;
};

// Drops dimensions of size 1, and merges dimensions that form one run in both arrays.
std::vector<Dim> Merged(std::span<const int64_t> dims, std::span<const int64_t> from, std::span<const int64_t> to) {
  std::vector<Dim> merged;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    if (!merged.empty()) {
      Dim& before = merged.back();
      if (before.from == dims[d] * from[d] && before.to == dims[d] * to[d]) {
        before = {before.size * dims[d], from[d], to[d]};
        continue;
      }
    }
    merged.push_back({dims[d], from[d], to[d]});
  }
  if (merged.empty()) merged.push_back({1, 1, 1});
  return merged;
}

struct Sixteen {
  uint64_t words[2];
};

template <class Word>
void CopyRow(const Word* from, int64_t from_stride, Word* to, int64_t to_stride, int64_t count) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, count * sizeof(Word));
  } else if (from_stride == 0 && to_stride == 1) {
    std::fill_n(to, count, *from);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

// Copies by rows, or by tiles if `rows` is the contiguous dimension of `from`.
template <class Word>
void CopyPlane(const Dim& rows, const Dim& columns, const Word* from, Word* to) {
  if (rows.from != 1 || columns.from == 1 || rows.size < 4 || columns.size < 4) {
    for (int64_t r = 0; r < rows.size; ++r)
      CopyRow(from + r * rows.from, columns.from, to + r * rows.to, columns.to, columns.size);
    return;
  }
  for (int64_t r0 = 0; r0 < rows.size; r0 += kTile) {
    for (int64_t c0 = 0; c0 < columns.size; c0 += kTile) {
      const int64_t r1 = std::min(rows.size, r0 + kTile), c1 = std::min(columns.size, c0 + kTile);
      for (int64_t r = r0; r < r1; ++r) {
        for (int64_t c = c0; c < c1; ++c) to[r * rows.to + c * columns.to] = from[r + c * columns.from];
      }
    }
  }
}

template <class Word>
void Copy(const std::vector<Dim>& dims, const Word* from, Word* to) {
  const size_t outer = dims.size() - 2;
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < outer; ++d) sizes.push_back(dims[d].size);
  const Dim &rows = dims[outer], &columns = dims[outer + 1];
  const int64_t plane = rows.size * columns.size;
  const int64_t planes = Product(sizes);
  const auto copy_planes = [&](int64_t begin, int64_t end, int64_t row_begin, int64_t row_end) {
    IndexWalk walk(sizes);
    walk.Seek(begin);
    const Dim part = {row_end - row_begin, rows.from, rows.to};
    for (int64_t i = begin; i < end; ++i, walk.Next()) {
      int64_t from_at = row_begin * rows.from, to_at = row_begin * rows.to;
      for (size_t d = 0; d < outer; ++d) {
        from_at += walk[d] * dims[d].from;
        to_at += walk[d] * dims[d].to;
      }
      CopyPlane(part, columns, from + from_at, to + to_at);
    }
  };
  const int64_t grain = kGrainBytes / static_cast<int64_t>(sizeof(Word));
  if (planes >= 4) {
    ParallelFor(planes, std::max<int64_t>(1, grain / plane),
                [&](int64_t begin, int64_t end) { copy_planes(begin, end, 0, rows.size); });
    return;
  }
  for (int64_t i = 0; i < planes; ++i) {
    const int64_t row_grain = (std::max<int64_t>(1, grain / columns.size) + kTile - 1) / kTile * kTile;
    ParallelFor(rows.size, row_grain, [&](int64_t begin, int64_t end) { copy_planes(i, i + 1, begin, end); });
  }
}

}  // namespace

void CopyStrided(std::span<const int64_t> dims, const std::byte* from, std::span<const int64_t> from_strides,
                 std::byte* to, std::span<const int64_t> to_strides, int64_t bytes) {
  if (Product(dims) == 0) return;
  std::vector<Dim> merged = Merged(dims, from_strides, to_strides);
  if (merged.size() == 1 && merged[0].size > 1 << 16 && merged[0].to == 1) {
    const int64_t row = 1 << 14, rows = merged[0].size / row, rest = merged[0].size % row, stride = merged[0].from;
    const int64_t tail_dims[] = {rest}, tail_from[] = {stride}, tail_to[] = {1};
    CopyStrided(tail_dims, from + rows * row * stride * bytes, tail_from, to + rows * row * bytes, tail_to, bytes);
    merged = {{rows, row * stride, row}, {row, stride, 1}};
  }
  // The contiguous dimension of `from` becomes the rows of the innermost plane.
  if (merged.size() > 2 && merged.back().from != 1) {
    for (size_t d = 0; d + 2 < merged.size(); ++d) {
      if (merged[d].from == 1) std::rotate(merged.begin() + d, merged.begin() + d + 1, merged.end() - 1);
    }
  }
  if (merged.size() == 1) merged.insert(merged.begin(), {1, 0, 0});
  switch (bytes) {
    case 1: return Copy(merged, reinterpret_cast<const uint8_t*>(from), reinterpret_cast<uint8_t*>(to));
    case 2: return Copy(merged, reinterpret_cast<const uint16_t*>(from), reinterpret_cast<uint16_t*>(to));
    case 4: return Copy(merged, reinterpret_cast<const uint32_t*>(from), reinterpret_cast<uint32_t*>(to));
    case 8: return Copy(merged, reinterpret_cast<const uint64_t*>(from), reinterpret_cast<uint64_t*>(to));
    case 16: return Copy(merged, reinterpret_cast<const Sixteen*>(from), reinterpret_cast<Sixteen*>(to));
    default: CHECK(false, bytes);
  }
}

std::vector<int64_t> OffsetsOf(const Shape& shape, std::span<const int64_t> dimensions) {
  const std::vector<int64_t> strides = RowMajorStrides(shape.dims());
  std::vector<int64_t> offsets{0};
  for (const int64_t d : dimensions) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * shape.dim(d));
    for (const int64_t offset : offsets) {
      for (int64_t i = 0; i < shape.dim(d); ++i) next.push_back(offset + i * strides[d]);
    }
    offsets = std::move(next);
  }
  return offsets;
}

}  // namespace hlo
