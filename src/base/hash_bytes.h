// Hashes and comparisons of short texts. They are inline, because a call would take longer than the work.
#ifndef HLO_BASE_HASH_BYTES_H_
#define HLO_BASE_HASH_BYTES_H_

#include <cstdint>
#include <cstring>
#include <string_view>

namespace hlo {

inline uint64_t LoadWord(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}

inline uint64_t HashBytes(std::string_view bytes) {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15, kOther = 0xC2B2AE3D27D4EB4F;
  const auto mix = [](uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  uint64_t hash = bytes.size() ^ kOther;
  const char* p = bytes.data();
  size_t left = bytes.size();
  for (; left > 16; p += 16, left -= 16) hash = mix(LoadWord(p) ^ kOdd, LoadWord(p + 8) ^ hash);
  // Two words hold the remaining bytes. They overlap for 9 to 15 bytes, and are equal for 8.
  uint64_t first = 0, last = 0;
  if (left >= 8) {
    first = LoadWord(p);
    last = LoadWord(p + left - 8);
  } else if (left > 0) {
    std::memcpy(&first, p, left);
  }
  return mix(mix(first ^ kOdd, last ^ hash), kOther);
}

inline bool SameBytes(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  const char *p = a.data(), *q = b.data();
  size_t left = a.size();
  if (left < 8) {
    for (; left > 0; --left) {
      if (*p++ != *q++) return false;
    }
    return true;
  }
  for (; left > 8; p += 8, q += 8, left -= 8) {
    if (LoadWord(p) != LoadWord(q)) return false;
  }
  return LoadWord(p + left - 8) == LoadWord(q + left - 8);
}

}  // namespace hlo

#endif  // HLO_BASE_HASH_BYTES_H_
