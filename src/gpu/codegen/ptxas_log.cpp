#include "gpu/codegen/ptxas_log.h"

#include <cctype>

#include "base/text.h"

namespace hlo::kernel {
namespace {

// Such as 32 for "32 registers", or 0 without a number.
int64_t NumberBefore(std::string_view text, std::string_view unit) {
  const size_t at = text.find(unit);
  if (at == std::string_view::npos) return 0;
  size_t begin = at;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1]))) --begin;
  int64_t value = 0;
  ParseInt(text.substr(begin, at - begin), &value);
  return value;
}

}  // namespace

// A kernel's name and its properties are in consecutive lines.
std::vector<PtxasKernel> KernelsInLog(std::string_view text) {
  constexpr std::string_view kBegin = "Compiling entry function '";
  std::vector<PtxasKernel> kernels;
  for (size_t at = text.find(kBegin); at != std::string_view::npos;) {
    const size_t next = text.find(kBegin, at + 1);
    const std::string_view part = text.substr(at + kBegin.size(), next - at - kBegin.size());
    kernels.push_back({
        .entry = std::string(part.substr(0, part.find('\''))),
        .registers = NumberBefore(part, " registers"),
        .spill_store_bytes = NumberBefore(part, " bytes spill stores"),
        .spill_load_bytes = NumberBefore(part, " bytes spill loads"),
        .stack_bytes = NumberBefore(part, " bytes stack frame"),
        .shared_bytes = NumberBefore(part, " bytes smem"),
    });
    at = next;
  }
  return kernels;
}

}  // namespace hlo::kernel
