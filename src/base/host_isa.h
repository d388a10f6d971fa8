// The x86 instruction sets of generated code, of libraries, and of code selected at run time. The program itself needs
// x86-64-v3 (processor_check.cpp).
#ifndef HLO_BASE_HOST_ISA_H_
#define HLO_BASE_HOST_ISA_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hlo {

// Levels in the order of kHostIsaNames.
enum class HostIsa : uint8_t {
  kAvx2,    // x86-64-v3.
  kAvx512,  // x86-64-v4.
  kNative,  // All instructions of this processor.
};
inline constexpr std::array<std::string_view, 3> kHostIsaNames = {"avx2", "avx512", "native"};

// Sets the instruction set (--host_isa), before any kernel is compiled. The default is kNative. Errors: F004 for an
// unknown or unsupported name.
Status ChooseHostIsa(std::string_view name);
HostIsa ChosenHostIsa();

std::vector<HostIsa> HostIsaLevels();
bool MayUseAvx512();
// Bytes of a cache line, or on Intel of an aligned pair of lines, because the prefetcher loads both.
int64_t FetchedBytes();
// Text such as "AVX-512" or "AVX2 (--host_isa=avx2)".
std::string HostIsaText();

}  // namespace hlo

#endif  // HLO_BASE_HOST_ISA_H_
