#include "driver/step_alone.h"

#include <utility>

#include "driver/inspect_extract.h"

namespace hlo {

std::optional<StepAlone> CompileAlone(const Instruction& step, gpu::Device& device, const RunOptions& options) {
  std::unique_ptr<Module> module = Extract(step, 0, false);
  gpu::CompileOptions compile = CompilerOptions(options);
  auto executable = gpu::Compile(*module, device, compile);
  if (!executable && !std::exchange(compile.inject, "").empty())  // The planted fault may be meant for another.
    executable = gpu::Compile(*module, device, compile);
  if (!executable) return std::nullopt;
  return StepAlone{std::move(module), std::move(*executable)};
}

}  // namespace hlo
