#include <chrono>
#include <set>
#include <utility>

#include "base/text.h"
#include "gpu/runtime/compilation.h"
#include "gpu/runtime/conditions.h"

namespace hlo::gpu {
namespace {

using Clock = std::chrono::steady_clock;
double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Status CompileKernels(Compilation& compilation) {
  const Clock::time_point start = Clock::now();
  Program& program = compilation.program;
  CompileReport& report = compilation.report();
  std::vector<const kernel::Kernel*> kernels;
  std::vector<double> shares;
  std::set<kernel::KernelHash> distinct;
  const auto shares_of_run = SharesOfRun(*program.module, *compilation.options().target);
  for (CompiledStep& step : compilation.steps) {
    step.share = shares_of_run.at(&step.inst);
    step.first_code = static_cast<int>(kernels.size());
    for (const EmittedKernel& kernel : step.kernels) {
      kernels.push_back(kernel.kernel.get());
      shares.push_back(compilation.options().quick_code ? 0 : step.share.share);
      distinct.insert(kernel::Hash(*kernel.kernel));
    }
  }
  report.kernels = static_cast<int>(kernels.size());
  report.distinct_kernels = static_cast<int>(distinct.size());
  kernel::CodeCache* const cache = compilation.options().cache.get();
  program.code = TRY(compilation.device.Compile(kernels, shares, cache));
  report.kernels_ms = MillisecondsSince(start);
  if (cache != nullptr) {
    std::set<kernel::KernelHash> cached;
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (program.code[i]->was_kept()) cached.insert(kernel::Hash(*kernels[i]));
    }
    report.cached_kernels = static_cast<int>(cached.size());
    for (std::string& note : cache->TakeNotes()) report.notes.push_back(std::move(note));
  }
  constexpr double kLong = 2;
  std::set<kernel::KernelHash> slow;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const double seconds = program.code[i]->compile_seconds();
    if (seconds > kLong && slow.insert(kernel::Hash(*kernels[i])).second)
      report.notes.push_back(Str("kernel '", kernels[i]->name, "' took ", Format("%.1f", seconds), " s to compile"));
  }
  return {};
}

}  // namespace

Status CheckFault(std::string_view inject) {
  TRY(ParseFault(inject));
  return {};
}

Result<std::shared_ptr<const Program>> CompileProgram(std::shared_ptr<const PlannedModule> planned, Device& device,
                                                      const CompileOptions& options) {
  const Clock::time_point start = Clock::now();
  Compilation compilation{.planned = *planned, .device = device, .fault = TRY(ParseFault(options.inject))};
  Program& program = compilation.program;
  program.module = {planned, &planned->module()};
  program.options = options;
  program.target = device.target();
  program.report = planned->report();
  for (const PlannedStep& step : planned->steps())
    compilation.steps.push_back({.planned = step, .inst = *step.inst, .kind = step.kind, .plan = step.plan});
  TRY(EmitKernels(compilation));
  program.report.emit_ms += MillisecondsSince(start);
  const Clock::time_point buffers = Clock::now();
  PlanMemory(compilation);
  program.report.buffers_ms = MillisecondsSince(buffers);
  program.report.planted += PlantInBuffers(compilation.fault, program.buffers);
  TRY(CompileKernels(compilation));
  MakeBlock(compilation);
  program.report.planted += PlantInBlock(compilation.fault, program.block);
  std::vector<const EmittedKernel*> kernels;
  for (const CompiledStep& step : compilation.steps) {
    for (const EmittedKernel& kernel : step.kernels) kernels.push_back(&kernel);
  }
  TRY(AddConditions(program, device, kernels));
  TRY(CountPlanted(compilation));
  program.report.total_ms += MillisecondsSince(start);
  return std::make_shared<const Program>(std::move(program));
}

}  // namespace hlo::gpu
