#include "driver/run/step_alone.h"

#include <utility>

#include "driver/inspect/extract.h"

namespace hlo {

std::unique_ptr<Module> ExtractStep(const Instruction& step) { return Extract(step, 0, false); }

std::unique_ptr<gpu::Executable> CompileAlone(const Module& step, gpu::Device& device, const RunOptions& options) {
  gpu::CompileOptions compile = CompilerOptions(options);
  auto executable = gpu::Compile(step, device, compile);
  if (!executable && !std::exchange(compile.inject, "").empty())  // The planted fault may be meant for another.
    executable = gpu::Compile(step, device, compile);
  return executable ? std::move(*executable) : nullptr;
}

std::array<ArgumentOptions, 3> DecidingArguments(uint64_t seed) {
  return {{{.seed = seed + 1, .profile = InputProfile::kExact},
           {.seed = seed + 2, .profile = InputProfile::kExact},
           {.seed = seed + 3, .profile = InputProfile::kNormal}}};
}

}  // namespace hlo
