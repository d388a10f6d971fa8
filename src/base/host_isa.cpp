#include "base/host_isa.h"

#include "base/text.h"

namespace hlo {
namespace {

HostIsa g_isa = HostIsa::kNative;

bool HasAvx512() { return __builtin_cpu_supports("x86-64-v4"); }

}  // namespace

Status ChooseHostIsa(std::string_view name) {
  size_t level = 0;
  while (level < std::size(kHostIsaNames) && kHostIsaNames[level] != name) ++level;
  if (level == std::size(kHostIsaNames))
    FAIL(UsageError("F004", Str("--host_isa wants one of ", Join(kHostIsaNames, ", "), ", not '", Escaped(name), "'")));
  const auto isa = static_cast<HostIsa>(level);
  if (isa == HostIsa::kAvx512 && !HasAvx512())
    FAIL(UsageError("F004", "--host_isa=avx512: this processor has AVX2, but not AVX-512 (F, BW, CD, DQ, VL)"));
  g_isa = isa;
  return {};
}

HostIsa ChosenHostIsa() { return g_isa; }

std::vector<HostIsa> HostIsaLevels() {
  if (!HasAvx512()) return {HostIsa::kAvx2, HostIsa::kNative};
  return {HostIsa::kAvx2, HostIsa::kAvx512, HostIsa::kNative};
}

bool MayUseAvx512() { return g_isa != HostIsa::kAvx2 && HasAvx512(); }

int64_t FetchedBytes() { return __builtin_cpu_is("intel") ? 128 : 64; }

std::string HostIsaText() {
  std::string vectors = MayUseAvx512() ? "AVX-512" : "AVX2";
  if (g_isa == HostIsa::kNative) return vectors;
  return Str(vectors, " (--host_isa=", kHostIsaNames[static_cast<size_t>(g_isa)], ")");
}

}  // namespace hlo
