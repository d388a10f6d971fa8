// The x86 instruction sets that generated code and libraries may use, and code that is selected at run time. The
// program itself is compiled for x86-64-v3 and does not start on older processors (processor_check.cpp).
#ifndef HLO_BASE_HOST_ISA_H_
#define HLO_BASE_HOST_ISA_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hlo {

// Instruction sets in the order of kHostIsaNames.
enum class HostIsa : uint8_t {
  kAvx2,    // x86-64-v3.
  kAvx512,  // x86-64-v4.
  kNative,  // All instructions of this processor.
};
inline constexpr std::array<std::string_view, 3> kHostIsaNames = {"avx2", "avx512", "native"};

// Sets the instruction set for the process, before any kernel is compiled (--host_isa). The default is kNative. Errors:
// F004 for a name that is unknown or that this processor does not support.
Status ChooseHostIsa(std::string_view name);
HostIsa ChosenHostIsa();

// The instruction sets that this processor supports.
std::vector<HostIsa> HostIsaLevels();
bool MayUseAvx512();
// The bytes that a core fetches from memory at once: a cache line, or an aligned pair of lines on Intel, whose
// prefetcher loads both.
int64_t FetchedBytes();
// Text for reports, such as "AVX-512" or "AVX2 (--host_isa=avx2)".
std::string HostIsaText();

}  // namespace hlo

#endif  // HLO_BASE_HOST_ISA_H_
