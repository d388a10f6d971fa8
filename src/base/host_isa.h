// The CPU instructions that code generated, selected or called at run time may use: kernels, our own products, oneDNN.
// The program itself is compiled for x86-64-v3 and does not start on older processors (processor_check.cpp).
#ifndef HLO_BASE_HOST_ISA_H_
#define HLO_BASE_HOST_ISA_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hlo {

// In the order of kHostIsaNames.
enum class HostIsa : uint8_t {
  kAvx2,    // x86-64-v3.
  kAvx512,  // x86-64-v4: AVX-512 with its extensions for all element sizes.
  kNative,  // All instructions of this processor.
};
inline constexpr std::array<std::string_view, 3> kHostIsaNames = {"avx2", "avx512", "native"};

// Sets the level for the process. The tool calls it once at start-up (--host_isa), before anything is compiled. The
// default is kNative. Errors: F004 for an unknown level and for one that this processor does not support.
Status ChooseHostIsa(std::string_view name);
HostIsa ChosenHostIsa();

std::vector<HostIsa> HostIsaLevels();
bool MayUseAvx512();
// The bytes that a core of this processor fetches from memory at once. It is a cache line, or on Intel an aligned pair
// of lines, because the prefetcher loads both.
int64_t FetchedBytes();
// For reports, such as "AVX-512" or "AVX2 (--host_isa=avx2)".
std::string HostIsaText();

}  // namespace hlo

#endif  // HLO_BASE_HOST_ISA_H_
