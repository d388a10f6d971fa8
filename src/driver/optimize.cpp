#include "driver/optimize.h"

#include <algorithm>

#include "base/counted.h"
#include "base/log.h"
#include "base/text.h"
#include "interp/library_call.h"
#include "ir/control_edges.h"
#include "ir/fusion.h"
#include "ir/fusion_plan.h"
#include "ir/text/printer.h"
#include "ir/verifier/module_layouts.h"
#include "ir/verifier/verifier.h"

namespace hlo {
namespace {

bool HasPlans(const Module& module) {
  for (const auto& computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      if (HasPlan(*inst)) return true;
    }
  }
  return false;
}

// XLA fuses slices with a library call. Such a fusion is not a kernel, so it becomes a call.
bool OpenFusionsOfLibraryCalls(Module& module) {
  bool any = false;
  for (Computation* computation : SequentialComputations(module)) {
    for (Instruction* inst : computation->Instructions()) {
      if (!IsFusion(*inst)) continue;
      Computation& fused = *CalledComputations(*inst).front();
      if (std::ranges::none_of(fused.Instructions(), [](const Instruction* one) { return HasMeaning(*one); })) continue;
      const Operands operands(inst->operands().begin(), inst->operands().end());
      Instruction& call = computation->AddLike(*inst, Opcode::kCall, inst->shape(), operands, CallAttrs{&fused});
      for (Instruction* before : inst->control_predecessors()) call.AddControlPredecessor(*before);
      Replacements gone = {{inst, {&call}}};
      inst->ReplaceAllUses(call);
      computation->Remove(*inst);
      MoveControlEdges(*computation, gone);
      any = true;
    }
  }
  return any;
}

bool HasBitcast(const Module& module) {
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      if (inst->Is(Opcode::kBitcast)) return true;
    }
  }
  return false;
}

bool KeepsBytesOfBitcasts(const Module& module, const PipelineOptions& options) {
  if (!options.passes) return false;
  if (Trim(*options.passes).empty()) return true;
  return !options.passes->contains("layout") && !HasBitcast(module);
}

}  // namespace

bool IsOptimized(const Module& module, const std::string& path) {
  if (module.header.is_scheduled) return true;
  const bool says_so = path.find("after_optimizations") != std::string::npos;
  for (const auto& computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (inst->Is(Opcode::kFusion) && (says_so || HasPlan(*inst))) return true;
    }
  }
  return false;
}

PipelineOptions ForHost(PipelineOptions options) {
  if (options.passes || options.text) return options;
  for (const char* pass : {"block-fusion", "segment-fusion"}) options.disabled.emplace_back(pass);
  return options;
}

Result<std::string> TakeLibraryCalls(Module& module, const DeviceDescription& device) {
  const bool has_fused = OpenFusionsOfLibraryCalls(module);
  int64_t calls = 0;
  for (const auto& computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) calls += static_cast<int64_t>(HasMeaning(*inst));
  }
  if (calls == 0) return "";
  PipelineOptions passes;
  passes.device = &device;
  passes.passes = Str(has_fused ? "call-inliner, " : "",
                      "library-call-expander, tuple-simplifier, gpu-conv-rewriter, cudnn-fused-convolution-rewriter, "
                      "cublas-gemm-rewriter, dce, gpu-schedule");
  TRY(Optimize(module, std::move(passes), /*dumper=*/nullptr));
  return Str(calls, calls == 1 ? " library call of XLA was translated to HLO and then to a library call of hlokit"
                               : " library calls of XLA were translated to HLO and then to library calls of hlokit");
}

Result<PipelineReport> Optimize(Module& module, PipelineOptions options, Dumper* dumper, MisfitLayouts misfits) {
  Verified verified;
  bool layouts_are_normal = false;
  if (!options.verify) {
    options.verify = [&](const Module& m) -> Status {
      TRY(VerifyAgain(m, &verified));
      return layouts_are_normal ? CheckNormalLayouts(m, &verified) : Status();
    };
  }
  options.after = [dumper, &layouts_are_normal, after = std::move(options.after)](const PassRun& run,
                                                                                  Module& m) -> Status {
    layouts_are_normal |= run.pass->name == "layout-assignment" && !run.skipped;
    VLOG(1, run.pipeline, ": ", run.pass->name,
         run.skipped   ? " skipped"
         : run.changed ? " changed"
                       : " unchanged",
         ", ", HumanMilliseconds(run.milliseconds), ", ", Counted(run.instructions, "instruction"));
    if (run.changed && !run.rewrites.empty()) VLOG(2, NameOf(run), " applied ", RulesText(run));
    if (run.changed) VLOG(2, NameOf(run), " left ", Format("%016llx", static_cast<unsigned long long>(Fingerprint(m))));
    if (run.changed) VLOG(3, NameOf(run), " left\n", Print(m));
    if (dumper != nullptr) TRY(dumper->AfterPass(run, m));
    return after ? after(run, m) : Status();
  };
  if (dumper != nullptr) {
    options.before = [dumper, before = std::move(options.before)](const PassRun& run, Module& m) -> Status {
      dumper->BeforePass(run, m);
      return before ? before(run, m) : Status();
    };
  }
  // Layouts change only the value of bitcasts, which read bytes. If an instruction's layout does not fit its operand's,
  // a pass that removes it changes these bytes.
  const bool keeps = misfits == MisfitLayouts::kKeep && KeepsBytesOfBitcasts(module, options);
  const bool fits = keeps || CheckLayoutsFit(module).has_value();
  if (!fits) TRY(RunOnePass(module, {.pass = FindPass("layout-assignment")}, {}));
  const bool had_plans = HasPlans(module);
  auto report = RunPipeline(module, options);
  if (!report) return report;
  report->changed |= !fits;
  if (report->changed && had_plans) RemovePlans(module);
  return report;
}

std::vector<std::string> FindingsOf(const PipelineReport& report) {
  std::vector<std::string> findings;
  const auto add = [&](std::string finding) {
    if (std::ranges::find(findings, finding) == findings.end()) findings.push_back(std::move(finding));
  };
  for (const PassRun& run : report.runs) {
    if (run.misreported)
      add(Str("[I010] ", run.pass->name,
              run.changed ? " reports no change, but changed the module"
                          : " reports a change, but the module is the same"));
  }
  for (const std::string& cycle : report.cycles) add(Str("[I011] ", cycle, "; hlokit ended the repetition"));
  return findings;
}

std::string Describe(const PassRun& run) {
  return Str("pass ", run.pass->name, "#", run.instance, " (instance ", run.number, " of the pipeline, in ",
             run.pipeline, ")");
}

std::string RulesText(const PassRun& run) {
  std::vector<std::pair<std::string_view, int64_t>> rules(run.rewrites);
  std::ranges::stable_sort(rules, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> texts;
  for (const auto& [id, count] : rules) texts.push_back(count == 1 ? std::string(id) : Str(id, " ", count, "x"));
  return Join(texts, ", ");
}

std::string TodoText(const PipelineReport& report) {
  if (report.todo.empty()) return "";
  std::vector<std::string> names;
  for (const std::string& name : report.todo) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  constexpr size_t kMostNames = 4;
  const size_t shown = std::min(names.size(), kMostNames);
  const std::string rest =
      shown == names.size() ? "" : Str(" and ", names.size() - shown, " more; --print_pipeline lists all");
  return Str("skipped ", report.todo.size(), " of the pipeline's ", report.items,
             " passes, which hlokit does not have yet: ", Join(std::span(names).first(shown), ", "), rest);
}

}  // namespace hlo
