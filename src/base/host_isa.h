// Which instructions the code that is generated, chosen or called at run time may use: kernels, our own products,
// oneDNN. The program itself is compiled for x86-64-v3, below which it does not start (processor_check.cpp).
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
  kNative,  // All that this processor has.
};
inline constexpr std::array<std::string_view, 3> kHostIsaNames = {"avx2", "avx512", "native"};

// Of the process: set once at start-up by the tool (--host_isa), before anything is compiled; the default is kNative.
// Errors: F004, no such level, or one that this processor has not.
Status ChooseHostIsa(std::string_view name);
HostIsa ChosenHostIsa();

// The levels that this processor has.
std::vector<HostIsa> HostIsaLevels();
// May code use AVX-512?
bool MayUseAvx512();
// Bytes that this processor's cores fetch from memory at a time: a line, or the aligned pair of lines that Intel's
// prefetch together.
int64_t FetchedBytes();
// "AVX-512"; "AVX2 (--host_isa=avx2)".
std::string HostIsaText();

}  // namespace hlo

#endif  // HLO_BASE_HOST_ISA_H_
