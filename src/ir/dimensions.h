// Lists of dimension numbers and of sizes.
#ifndef HLO_IR_DIMENSIONS_H_
#define HLO_IR_DIMENSIONS_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace hlo {

inline bool Contains(std::span<const int64_t> dims, int64_t dim) { return std::ranges::find(dims, dim) != dims.end(); }

// 1 for no sizes.
inline int64_t Product(std::span<const int64_t> sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) product *= size;
  return product;
}

// The dimensions of a dot's operand that are neither batch nor contracting dimensions, ascending, as in the result.
inline std::vector<int64_t> FreeDimensions(int64_t rank, std::span<const int64_t> batch,
                                           std::span<const int64_t> contracting) {
  std::vector<int64_t> free;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (!Contains(batch, dim) && !Contains(contracting, dim)) free.push_back(dim);
  }
  return free;
}

}  // namespace hlo

#endif  // HLO_IR_DIMENSIONS_H_
