#include "driver/dump/dump_compiled.h"

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/json.h"
#include "base/parallel.h"
#include "base/text.h"
#include "gpu/codegen/host.h"
#include "gpu/codegen/nvptx.h"
#include "gpu/emitters/emitter.h"

namespace hlo {
namespace {

// Code that is dumped if --xla_dump_emitter_re matches `emitter`.
struct Stage {
  std::string_view emitter, suffix;
  Result<std::string> (*text)(const kernel::Kernel& kernel);
};

constexpr Stage kStages[] = {
    {"llvm", "ir-no-opt.ll", [](const kernel::Kernel& kernel) { return kernel::EmitNvptxIr(kernel, false); }},
    {"llvm", "ir-with-opt.ll", [](const kernel::Kernel& kernel) { return kernel::EmitNvptxIr(kernel, true); }},
    {"ptx", "ptx",
     [](const kernel::Kernel& kernel) -> Result<std::string> { return TRY(kernel::EmitPtx(kernel)).text; }},
    {"host", "host.ll",
     [](const kernel::Kernel& kernel) { return kernel::EmitHost(kernel, kernel::HostStage::kOptimized); }},
};

// Launches of equal kernels share this object.
struct DumpedKernel {
  std::shared_ptr<const kernel::Kernel> kernel;
  std::string file_stem;
  std::vector<std::string> files, errors;
  std::optional<kernel::PtxasKernel> ptxas;
};

struct Launch {
  int64_t step;
  size_t number;  // Position of the kernel in the step's plan.
  const gpu::EmittedKernel* emitted;
  size_t kernel;
};

Status WriteStages(DumpedKernel& dumped, bool assemble, Dumper& dumper) {
  for (const Stage& stage : kStages) {
    if (!dumper.WantsEmitter(stage.emitter)) continue;
    const auto text = stage.text(*dumped.kernel);
    if (!text) {
      dumped.errors.push_back(Str(stage.suffix, ": ", text.error().message()));
      continue;
    }
    const std::string suffix = Str(dumped.file_stem, ".", stage.suffix);
    TRY(dumper.Write(suffix, *text));
    dumped.files.push_back(dumper.FileName(suffix));
    if (stage.emitter != "ptx" || !assemble) continue;
    auto report = kernel::Ptxas(*text);
    if (report) dumped.ptxas = std::move(report->kernels.front());
    else dumped.errors.push_back(Str("ptxas: ", report.error().message()));
  }
  return {};
}

void WriteStrings(JsonWriter& json, std::string_view key, const std::vector<std::string>& values) {
  json.Key(key).Open('[');
  for (const std::string& value : values) json.Value(value);
  json.Close(']');
}

std::vector<std::string> InstructionsOf(const Instruction& inst) {
  if (!inst.Is(Opcode::kFusion)) return {std::string(inst.name())};
  std::vector<std::string> names;
  for (const Instruction* fused : inst.attrs<FusionAttrs>().calls->Instructions()) {
    if (!fused->Is(Opcode::kParameter)) names.emplace_back(fused->name());
  }
  return names;
}

void WriteLaunch(JsonWriter& json, const Launch& launch, const gpu::StepInfo& step, const DumpedKernel& dumped) {
  const Instruction& inst = *step.instruction;
  const kernel::Kernel& kernel = *launch.emitted->kernel;
  const Metadata& metadata = inst.metadata();
  json.Open('{').Key("name").Value(kernel.name).Key("emitter").Value(launch.emitted->emitter);
  json.Key("step").Value(launch.step).Key("instruction").Value(inst.name());
  WriteStrings(json, "instructions", InstructionsOf(inst));
  if (!metadata.op_name.empty()) json.Key("op_name").Value(metadata.op_name);
  if (!metadata.source_file.empty()) json.Key("source").Value(Str(metadata.source_file, ":", metadata.source_line));
  json.Key("blocks").Value(kernel.blocks).Key("threads").Value(kernel.threads);
  json.Key("shared_bytes").Value(kernel.SharedBytes());
  json.Key("plan").Raw(ToJson(step.plan.kernels[launch.number]));
  if (!step.plan.slow.empty()) json.Key("slow").Value(step.plan.slow);
  if (dumped.ptxas) {
    json.Key("registers").Value(dumped.ptxas->registers);
    json.Key("spill_store_bytes").Value(dumped.ptxas->spill_store_bytes);
    json.Key("spill_load_bytes").Value(dumped.ptxas->spill_load_bytes);
    json.Key("stack_bytes").Value(dumped.ptxas->stack_bytes);
  }
  WriteStrings(json, "files", dumped.files);
  if (!dumped.errors.empty()) WriteStrings(json, "errors", dumped.errors);
  json.Close('}');
}

std::string StepsText(const gpu::Executable& executable) {
  std::string out;
  for (size_t i = 0; i < executable.steps().size(); ++i) {
    const gpu::StepInfo& step = executable.steps()[i];
    out += Format("%4zu  %-12s %s  (%s)\n", i, std::string(ToString(step.kind)).c_str(),
                  std::string(step.instruction->name()).c_str(), step.how.c_str());
    const bool is_call = !step.plan.kernels.empty() && !step.plan.kernels.front().library.empty();
    if (is_call) out += Str("      backend_config={\"plan\":", ToJson(step.plan), "}\n");
  }
  return out;
}

}  // namespace

Status DumpCompiled(const gpu::Executable& executable, std::string_view platform, Dumper& dumper) {
  if (!dumper.active()) return {};
  TRY(dumper.Write(Str(platform, "_after_optimizations-buffer-assignment.txt"), executable.BuffersText()));
  TRY(dumper.Write("thunk_sequence.txt", StepsText(executable)));

  std::vector<Launch> launches;
  std::vector<DumpedKernel> kernels;
  std::map<kernel::KernelHash, size_t> kernel_by_hash;
  std::set<std::string> stems;
  for (size_t i = 0; i < executable.steps().size(); ++i) {
    for (size_t j = 0; j < executable.steps()[i].kernels.size(); ++j) {
      const gpu::EmittedKernel& emitted = executable.steps()[i].kernels[j];
      const auto [at, fresh] = kernel_by_hash.try_emplace(kernel::Hash(*emitted.kernel), kernels.size());
      if (fresh) {
        std::string stem = FileNamePart(emitted.kernel->name);
        if (!stems.insert(stem).second) stem = *stems.insert(Str(stem, ".step", i)).first;
        kernels.push_back({.kernel = emitted.kernel, .file_stem = std::move(stem)});
      }
      launches.push_back({static_cast<int64_t>(i), j, &emitted, at->second});
    }
  }

  const bool assemble = !kernel::FindPtxas().empty();
  std::vector<Status> done(kernels.size());
  ParallelFor(static_cast<int64_t>(kernels.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) done[i] = WriteStages(kernels[i], assemble, dumper);
  });
  for (Status& status : done) TRY(std::move(status));

  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.kernels/1").Key("module").Value(executable.module().name());
  json.Key("platform").Value(executable.device().name()).Key("kernels").Open('[');
  for (const Launch& launch : launches)
    WriteLaunch(json, launch, executable.steps()[launch.step], kernels[launch.kernel]);
  json.Close(']').Close('}');
  TRY(dumper.Write("kernels.json", json.text() + "\n"));
  return dumper.WriteIndex();
}

}  // namespace hlo
