// Compute types and conversions: docs/ops.md#compute-types.
#ifndef HLO_INTERP_ELEMENTS_H_
#define HLO_INTERP_ELEMENTS_H_

#include <complex>
#include <cstddef>
#include <cstdint>

#include "ir/primitive_type.h"

namespace hlo {

// Integers are computed in 64 bits, and floats narrower than f32 as float.
enum class Compute : uint8_t { kPred, kS64, kU64, kF32, kF64, kC64, kC128 };

using C64 = std::complex<float>;
using C128 = std::complex<double>;

Compute ComputeOf(PrimitiveType type);
int64_t ByteWidth(Compute compute);

template <class F>
decltype(auto) WithCompute(Compute compute, F&& f) {
  switch (compute) {
    case Compute::kPred: return f.template operator()<bool>();
    case Compute::kS64: return f.template operator()<int64_t>();
    case Compute::kU64: return f.template operator()<uint64_t>();
    case Compute::kF32: return f.template operator()<float>();
    case Compute::kF64: return f.template operator()<double>();
    case Compute::kC64: return f.template operator()<C64>();
    case Compute::kC128: return f.template operator()<C128>();
  }
  __builtin_unreachable();
}

template <class T>
constexpr Compute kComputeOf = [] {
  if constexpr (std::is_same_v<T, bool>) return Compute::kPred;
  if constexpr (std::is_same_v<T, int64_t>) return Compute::kS64;
  if constexpr (std::is_same_v<T, uint64_t>) return Compute::kU64;
  if constexpr (std::is_same_v<T, float>) return Compute::kF32;
  if constexpr (std::is_same_v<T, double>) return Compute::kF64;
  if constexpr (std::is_same_v<T, C64>) return Compute::kC64;
  if constexpr (std::is_same_v<T, C128>) return Compute::kC128;
}();

// Converts memory to the compute type, exactly. Null if both forms are equal.
using Loader = void (*)(const void* from, void* to, int64_t count);
Loader LoaderOf(PrimitiveType type);
// Converts the compute type to memory: integers modulo 2^n, floats rounded once. Null if both forms are equal.
using Storer = void (*)(const void* from, void* to, int64_t count);
Storer StorerOf(PrimitiveType type);
// Converts to a float type narrower than f64, rounded once.
Storer StorerFromDouble(PrimitiveType type);
// Reads bits as a sign-extended int64_t. Null for f64.
Loader BitsLoaderOf(PrimitiveType type);

// Elements of `bytes` bytes, `stride` elements apart, are copied to contiguous memory, and back.
void GatherStrided(const std::byte* from, int64_t stride, int64_t bytes, std::byte* to, int64_t count);
void ScatterStrided(const std::byte* from, std::byte* to, int64_t stride, int64_t bytes, int64_t count);
void Fill(const std::byte* element, int64_t bytes, std::byte* to, int64_t count);

}  // namespace hlo

#endif  // HLO_INTERP_ELEMENTS_H_
