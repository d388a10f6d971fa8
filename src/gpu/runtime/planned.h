// A planned module: the steps of a program on a device, each with its plan.
//
// Regions are resolved (gpu/plan/planner.h), libraries have chosen their algorithms, and each step has a plan. Plans in
// the module, from autotuning, a lock file or an editor, are kept. The compiler obeys the plans and makes none.
#ifndef HLO_GPU_RUNTIME_PLANNED_H_
#define HLO_GPU_RUNTIME_PLANNED_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/device/device.h"
#include "gpu/libraries/library.h"
#include "gpu/runtime/executable.h"
#include "ir/fusion_plan.h"
#include "ir/module.h"

namespace hlo::gpu {

struct PlannedStep {
  const Instruction* inst;  // In PlannedModule::module().
  StepKind kind = StepKind::kKernel;
  FusionPlan plan = {};  // Empty for copies and host calls.
  std::shared_ptr<const LibraryCall> call = {};
  std::optional<Error> why_not = {};  // Why there is no plan.
};

// Makes each region one step or expands it. Returns notes. `device` returns the run's device or null, and is called
// only for regions that a library may compute. With `may_measure`, a library may compute a part of the region.
std::vector<std::string> ResolveRegions(Module& module, const std::function<Device*()>& device,
                                        const CompileOptions& options, bool may_measure);

// Only Plan makes it.
class PlannedModule {
 public:
  // From Prepare, with the ids of the optimized module.
  const Module& module() const { return *module_; }
  std::span<const PlannedStep> steps() const { return steps_; }  // In the order of the run.
  const CompileReport& report() const { return report_; }        // Only what planning knows.

 private:
  PlannedModule() = default;
  friend Result<std::shared_ptr<const PlannedModule>> Plan(const Module& optimized, Device& device,
                                                           const CompileOptions& options);

  std::unique_ptr<Module> module_;
  std::vector<PlannedStep> steps_;
  CompileReport report_;
};

// Errors: C001 and C002 for plans in the module that do not fit. Steps that are not supported have `why_not`.
Result<std::shared_ptr<const PlannedModule>> Plan(const Module& optimized, Device& device,
                                                  const CompileOptions& options = {});

using NamesByReason = std::map<std::string, std::vector<std::string_view>>;
// Adds a note for each reason: "'add.1' and 2 more are slow: ...".
void AddNotes(const NamesByReason& names, std::string_view one, std::string_view several,
              std::vector<std::string>* notes);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_PLANNED_H_
