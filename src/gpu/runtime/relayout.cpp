#include "gpu/runtime/relayout.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/parallel.h"

namespace hlo::gpu {
namespace {

// `from` and `to` are strides in elements.
struct Dim {
  int64_t size, from, to;
};

// Removes dimensions of size 1, sorts by descending `to` and merges neighbours that are contiguous on both sides.
std::vector<Dim> Merged(std::vector<Dim> dims) {
  std::erase_if(dims, [](const Dim& dim) { return dim.size == 1; });
  std::sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) { return a.to > b.to; });
  std::vector<Dim> merged;
  for (const Dim& dim : dims) {
    if (!merged.empty() && merged.back().from == dim.size * dim.from && merged.back().to == dim.size * dim.to) {
      merged.back() = {merged.back().size * dim.size, dim.from, dim.to};
    } else {
      merged.push_back(dim);
    }
  }
  return merged;
}

// A tile's side in elements. The cache holds the tile's lines of both arrays.
constexpr int64_t kTile = 32;

template <class Word>
void CopyPlane(const Dim& a, const Dim& b, const Word* from, Word* to) {
  for (int64_t i0 = 0; i0 < a.size; i0 += kTile) {
    for (int64_t j0 = 0; j0 < b.size; j0 += kTile) {
      const int64_t i1 = std::min(a.size, i0 + kTile), j1 = std::min(b.size, j0 + kTile);
      for (int64_t i = i0; i < i1; ++i) {
        for (int64_t j = j0; j < j1; ++j) to[i * a.to + j * b.to] = from[i * a.from + j * b.from];
      }
    }
  }
}

template <class Word>
void CopyStrided(std::vector<Dim> dims, const Word* from, Word* to) {
  if (dims.empty()) {
    *to = *from;
    return;
  }
  // A plane spans two dimensions: the most minor dimension of the destination and of the source.
  const Dim minor = dims.back();
  dims.pop_back();
  Dim other{1, 0, 0};
  if (minor.from != 1 && !dims.empty()) {
    const auto least =
        std::min_element(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) { return a.from < b.from; });
    other = *least;
    dims.erase(least);
  }
  int64_t planes = 1;
  for (const Dim& dim : dims) planes *= dim.size;
  const int64_t grain = std::max<int64_t>(1, (1 << 16) / (minor.size * other.size));
  ParallelFor(planes, grain, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      int64_t rest = plane, at_from = 0, at_to = 0;
      for (size_t d = dims.size(); d-- > 0;) {
        at_from += rest % dims[d].size * dims[d].from;
        at_to += rest % dims[d].size * dims[d].to;
        rest /= dims[d].size;
      }
      if (minor.from == 1 && minor.to == 1) {
        std::memcpy(to + at_to, from + at_from, minor.size * sizeof(Word));
      } else {
        CopyPlane(other, minor, from + at_from, to + at_to);
      }
    }
  });
}

struct Wide {
  uint64_t low, high;
};

void CopyElements(int width, const std::vector<Dim>& dims, const void* from, void* to) {
  switch (width) {
    case 1: return CopyStrided(dims, static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to));
    case 2: return CopyStrided(dims, static_cast<const uint16_t*>(from), static_cast<uint16_t*>(to));
    case 4: return CopyStrided(dims, static_cast<const uint32_t*>(from), static_cast<uint32_t*>(to));
    case 8: return CopyStrided(dims, static_cast<const uint64_t*>(from), static_cast<uint64_t*>(to));
    default: return CopyStrided(dims, static_cast<const Wide*>(from), static_cast<Wide*>(to));
  }
}

void Copy(const Shape& shape, bool to_layout, const void* from, void* to) {
  if (shape.ByteSize() == 0) return;
  if (shape.HasDefaultLayout()) {
    std::memcpy(to, from, shape.ByteSize());
    return;
  }
  const std::vector<int64_t> row_major = RowMajorStrides(shape.dims()), memory = LayoutStrides(shape);
  std::vector<Dim> dims;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    dims.push_back({shape.dim(d), to_layout ? row_major[d] : memory[d], to_layout ? memory[d] : row_major[d]});
  }
  CopyElements(ByteWidth(shape.type()), Merged(std::move(dims)), from, to);
}

}  // namespace

void ToLayout(const Shape& shape, const void* row_major, void* memory) { Copy(shape, true, row_major, memory); }
void FromLayout(const Shape& shape, const void* memory, void* row_major) { Copy(shape, false, memory, row_major); }

}  // namespace hlo::gpu
