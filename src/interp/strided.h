#ifndef HLO_INTERP_STRIDED_H_
#define HLO_INTERP_STRIDED_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/dimensions.h"
#include "ir/shape.h"

namespace hlo {

// to[sum i_d * to_strides[d]] = from[sum i_d * from_strides[d]] for all indices i below `dims`. Strides count elements
// of `bytes` (1, 2, 4, 8 or 16) bytes. They may be negative, and zero in `from`. Positions in `to` must differ.
void CopyStrided(std::span<const int64_t> dims, const std::byte* from, std::span<const int64_t> from_strides,
                 std::byte* to, std::span<const int64_t> to_strides, int64_t bytes);

// Row-major offsets of the indices of `dimensions`, the last one fastest.
std::vector<int64_t> OffsetsOf(const Shape& shape, std::span<const int64_t> dimensions);

// All indices below `dims`, in row-major order. A scalar has one index.
class IndexWalk {
 public:
  explicit IndexWalk(std::span<const int64_t> dims) : dims_(dims.begin(), dims.end()), index_(dims.size(), 0) {
    for (const int64_t dim : dims) valid_ &= dim > 0;
  }

  bool Valid() const { return valid_; }
  const std::vector<int64_t>& index() const { return index_; }
  int64_t operator[](int64_t d) const { return index_[d]; }
  void Next() {
    for (size_t d = dims_.size(); d-- > 0;) {
      if (++index_[d] < dims_[d]) return;
      index_[d] = 0;
    }
    valid_ = false;
  }
  void Seek(int64_t linear) {
    for (size_t d = dims_.size(); d-- > 0;) {
      index_[d] = linear % dims_[d];
      linear /= dims_[d];
    }
  }

 private:
  std::vector<int64_t> dims_, index_;
  bool valid_ = true;
};

inline int64_t Dot(std::span<const int64_t> index, std::span<const int64_t> strides) {
  int64_t sum = 0;
  for (size_t d = 0; d < index.size(); ++d) sum += index[d] * strides[d];
  return sum;
}

}  // namespace hlo

#endif  // HLO_INTERP_STRIDED_H_
