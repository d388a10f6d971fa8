#include "interp/elements.h"

#include <immintrin.h>

#include <array>
#include <cstring>
#include <type_traits>

#include "base/check.h"
#include "ir/literal.h"

namespace hlo {
namespace {

template <class Memory, class T>
void LoadAs(const void* from, void* to, int64_t count) {
  const auto* in = static_cast<const Memory*>(from);
  auto* out = static_cast<T*>(to);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(in[i]);
}

template <class T, class Memory>
void StoreAs(const void* from, void* to, int64_t count) {
  const auto* in = static_cast<const T*>(from);
  auto* out = static_cast<Memory*>(to);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<Memory>(in[i]);
}

// Keeps the low bits, sign-extended.
template <int kBits>
void StoreSigned(const void* from, void* to, int64_t count) {
  const auto* in = static_cast<const int64_t*>(from);
  auto* out = static_cast<int8_t*>(to);
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<int8_t>(static_cast<int64_t>(static_cast<uint64_t>(in[i]) << (64 - kBits)) >> (64 - kBits));
  }
}

template <int kBits>
void StoreUnsigned(const void* from, void* to, int64_t count) {
  const auto* in = static_cast<const uint64_t*>(from);
  auto* out = static_cast<uint8_t*>(to);
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<uint8_t>(in[i] & ((1 << kBits) - 1));
}

void LoadF16(const void* from, void* to, int64_t count) {
  const auto* in = static_cast<const uint16_t*>(from);
  auto* out = static_cast<float*>(to);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  }
  for (; i < count; ++i) out[i] = F16ToFloat(in[i]);
}

void StoreF16(const void* from, void* to, int64_t count) {
  const auto* in = static_cast<const float*>(from);
  auto* out = static_cast<uint16_t*>(to);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
  }
  for (; i < count; ++i) out[i] = FloatToF16(in[i]);
}

void LoadBF16(const void* from, void* to, int64_t count) {
  const auto* in = static_cast<const uint16_t*>(from);
  auto* out = static_cast<float*>(to);
  for (int64_t i = 0; i < count; ++i) out[i] = BF16ToFloat(in[i]);
}

void StoreBF16(const void* from, void* to, int64_t count) {
  const auto* in = static_cast<const float*>(from);
  auto* out = static_cast<uint16_t*>(to);
  for (int64_t i = 0; i < count; ++i) out[i] = FloatToBF16(in[i]);
}

template <PrimitiveType kType>
void LoadByteFloat(const void* from, void* to, int64_t count) {
  static const std::array<float, 256> table = [] {
    std::array<float, 256> values;
    const FloatFormat format = FormatOf(kType);
    for (int bits = 0; bits < 256; ++bits)
      values[bits] = static_cast<float>(DecodeFloat(format, bits & ((1 << format.bits()) - 1)));
    return values;
  }();
  const auto* in = static_cast<const uint8_t*>(from);
  auto* out = static_cast<float*>(to);
  for (int64_t i = 0; i < count; ++i) out[i] = table[in[i]];
}

template <PrimitiveType kType, class From, class Memory>
void StoreRounded(const void* from, void* to, int64_t count) {
  const FloatFormat format = FormatOf(kType);
  const auto* in = static_cast<const From*>(from);
  auto* out = static_cast<Memory*>(to);
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<Memory>(EncodeFloat(format, in[i]));
}

template <class Memory, int kBits>
void LoadBits(const void* from, void* to, int64_t count) {
  const auto* in = static_cast<const Memory*>(from);
  auto* out = static_cast<int64_t*>(to);
  for (int64_t i = 0; i < count; ++i)
    out[i] = static_cast<int64_t>(static_cast<uint64_t>(in[i]) << (64 - kBits)) >> (64 - kBits);
}

template <class Memory, int kBits>
Storer IntegerStorer() {
  if constexpr (std::is_same_v<Memory, int64_t> || std::is_same_v<Memory, uint64_t>) {
    return nullptr;
  } else if constexpr (kBits < 8) {
    return std::is_signed_v<Memory> ? StoreSigned<kBits> : StoreUnsigned<kBits>;
  } else if constexpr (std::is_signed_v<Memory>) {
    return StoreAs<int64_t, Memory>;
  } else {
    return StoreAs<uint64_t, Memory>;
  }
}

}  // namespace

Compute ComputeOf(PrimitiveType type) {
  switch (ClassOf(type)) {
    case TypeClass::kPred: return Compute::kPred;
    case TypeClass::kSigned: return Compute::kS64;
    case TypeClass::kUnsigned: return Compute::kU64;
    case TypeClass::kFloat: return type == PrimitiveType::kF64 ? Compute::kF64 : Compute::kF32;
    case TypeClass::kComplex: return type == PrimitiveType::kC64 ? Compute::kC64 : Compute::kC128;
    default: CHECK(false, "no elements: ", type);
  }
  __builtin_unreachable();
}

int64_t ByteWidth(Compute compute) {
  return WithCompute(compute, []<class T>() { return static_cast<int64_t>(sizeof(T)); });
}

Loader LoaderOf(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kS1:
    case PrimitiveType::kS2:
    case PrimitiveType::kS4:
    case PrimitiveType::kS8: return LoadAs<int8_t, int64_t>;
    case PrimitiveType::kS16: return LoadAs<int16_t, int64_t>;
    case PrimitiveType::kS32: return LoadAs<int32_t, int64_t>;
    case PrimitiveType::kU1:
    case PrimitiveType::kU2:
    case PrimitiveType::kU4:
    case PrimitiveType::kU8: return LoadAs<uint8_t, uint64_t>;
    case PrimitiveType::kU16: return LoadAs<uint16_t, uint64_t>;
    case PrimitiveType::kU32: return LoadAs<uint32_t, uint64_t>;
    case PrimitiveType::kF16: return LoadF16;
    case PrimitiveType::kBF16: return LoadBF16;
#define SMALL(Name) \
  case PrimitiveType::k##Name: return LoadByteFloat<PrimitiveType::k##Name>;
      // clang-format off
#define FOR_BYTE_FLOATS(X) \
  X(F8E5M2) X(F8E4M3) X(F8E4M3FN) X(F8E4M3B11FNUZ) X(F8E3M4) X(F8E5M2FNUZ) X(F8E4M3FNUZ) X(F8E8M0FNU) \
  X(F4E2M1FN) X(F6E3M2FN) X(F6E2M3FN)
      // clang-format on
      FOR_BYTE_FLOATS(SMALL)
#undef SMALL
    default: return nullptr;
  }
}

Storer StorerOf(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kS1: return IntegerStorer<int8_t, 1>();
    case PrimitiveType::kS2: return IntegerStorer<int8_t, 2>();
    case PrimitiveType::kS4: return IntegerStorer<int8_t, 4>();
    case PrimitiveType::kS8: return IntegerStorer<int8_t, 8>();
    case PrimitiveType::kS16: return IntegerStorer<int16_t, 16>();
    case PrimitiveType::kS32: return IntegerStorer<int32_t, 32>();
    case PrimitiveType::kU1: return IntegerStorer<uint8_t, 1>();
    case PrimitiveType::kU2: return IntegerStorer<uint8_t, 2>();
    case PrimitiveType::kU4: return IntegerStorer<uint8_t, 4>();
    case PrimitiveType::kU8: return IntegerStorer<uint8_t, 8>();
    case PrimitiveType::kU16: return IntegerStorer<uint16_t, 16>();
    case PrimitiveType::kU32: return IntegerStorer<uint32_t, 32>();
    case PrimitiveType::kF16: return StoreF16;
    case PrimitiveType::kBF16: return StoreBF16;
#define SMALL(Name) \
  case PrimitiveType::k##Name: return StoreRounded<PrimitiveType::k##Name, float, uint8_t>;
      FOR_BYTE_FLOATS(SMALL)
#undef SMALL
    default: return nullptr;
  }
}

Storer StorerFromDouble(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF32: return StoreAs<double, float>;
    case PrimitiveType::kF16: return StoreRounded<PrimitiveType::kF16, double, uint16_t>;
    case PrimitiveType::kBF16: return StoreRounded<PrimitiveType::kBF16, double, uint16_t>;
#define SMALL(Name) \
  case PrimitiveType::k##Name: return StoreRounded<PrimitiveType::k##Name, double, uint8_t>;
      FOR_BYTE_FLOATS(SMALL)
#undef SMALL
    default: CHECK(false, "no narrow float: ", type);
  }
  return nullptr;
}

Loader BitsLoaderOf(PrimitiveType type) {
  // f8e8m0fnu has no sign.
  if (type == PrimitiveType::kF8E8M0FNU) return LoadAs<uint8_t, int64_t>;
  switch (BitWidth(type)) {
    case 4: return LoadBits<uint8_t, 4>;
    case 6: return LoadBits<uint8_t, 6>;
    case 8: return LoadBits<uint8_t, 8>;
    case 16: return LoadBits<uint16_t, 16>;
    case 32: return LoadBits<uint32_t, 32>;
    case 64: return nullptr;
    default: CHECK(false, "no bits to order: ", type);
  }
  return nullptr;
}

namespace {

template <class F>
void WithWord(int64_t bytes, F&& f) {
  struct Sixteen {
    uint64_t words[2];
  };
  switch (bytes) {
    case 1: return f(uint8_t());
    case 2: return f(uint16_t());
    case 4: return f(uint32_t());
    case 8: return f(uint64_t());
    case 16: return f(Sixteen());
    default: CHECK(false, bytes);
  }
}

}  // namespace

void GatherStrided(const std::byte* from, int64_t stride, int64_t bytes, std::byte* to, int64_t count) {
  if (stride == 1) {
    std::memcpy(to, from, count * bytes);
    return;
  }
  WithWord(bytes, [&](auto word) {
    using Word = decltype(word);
    const auto* in = reinterpret_cast<const Word*>(from);
    auto* out = reinterpret_cast<Word*>(to);
    for (int64_t i = 0; i < count; ++i) out[i] = in[i * stride];
  });
}

void ScatterStrided(const std::byte* from, std::byte* to, int64_t stride, int64_t bytes, int64_t count) {
  if (stride == 1) {
    std::memcpy(to, from, count * bytes);
    return;
  }
  WithWord(bytes, [&](auto word) {
    using Word = decltype(word);
    const auto* in = reinterpret_cast<const Word*>(from);
    auto* out = reinterpret_cast<Word*>(to);
    for (int64_t i = 0; i < count; ++i) out[i * stride] = in[i];
  });
}

void Fill(const std::byte* element, int64_t bytes, std::byte* to, int64_t count) {
  WithWord(bytes, [&](auto word) {
    using Word = decltype(word);
    std::memcpy(&word, element, sizeof word);
    auto* out = reinterpret_cast<Word*>(to);
    for (int64_t i = 0; i < count; ++i) out[i] = word;
  });
}

}  // namespace hlo
