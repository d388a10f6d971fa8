#include "gpu/runtime/tuning/step.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash_bytes.h"
#include "base/text.h"
#include "gpu/codegen/target.h"
#include "gpu/libraries/cublaslt.h"
#include "gpu/libraries/cudnn.h"
#include "gpu/libraries/onednn.h"
#include "gpu/libraries/open.h"
#include "gpu/runtime/prepare.h"
#include "ir/analysis/region.h"
#include "ir/fusion.h"
#include "ir/fusion_plan.h"
#include "ir/text/printer.h"

namespace hlo::gpu {
namespace {

// Prints the instructions in the order in which choices number them.
std::string TextOf(const Computation& computation) {
  PrintOptions options = std::ranges::find(PrintForms(), "fingerprint", &PrintForm::name)->options;
  options.layouts = true;
  options.text_order = true;
  options.constants = Constants::kAll;
  return Print(computation, options);
}

void AddLeaves(const Shape& shape, std::string* out) {
  ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) {
    if (!out->empty() && out->back() != '>') *out += ',';
    *out += leaf.ToString();
  });
}

int64_t FirstLike(const Instruction& step, int64_t i) {
  return std::ranges::find(step.operands(), &step.operand(i)) - step.operands().begin();
}

std::string Hexadecimal(uint64_t hash) { return Format("%016llx", static_cast<unsigned long long>(hash)); }

}  // namespace

LockContext ContextOf(const Device& device, const CompileOptions& options, bool with_libraries) {
  const std::string processor = device.IsHost() ? Str("cpu ", kernel::HostProcessor(), " ") : "";
  LockContext context{.tool = HLO_VERSION, .device = Str(processor, device.description()), .libraries = {}};
  if (!with_libraries || !options.libraries) return context;
  const auto add = [&](const char* name, const Result<std::string>& version) {
    if (version) context.libraries[name] = *version;
  };
  if (device.IsHost()) {
    add("oneDNN", OneDnnVersion(options.library_path));
  } else {
    add("cublasLt", CublasLtVersion(options.library_path));
    add("cudnn", CudnnVersion(options.library_path));
  }
  return context;
}

bool MayTune(const Instruction& inst) {
  if (!IsFusion(inst) || IsRegion(inst) || HasDynamicSizes(inst)) return false;
  const auto plan = ReadPlan(inst);
  if (!plan) return false;  // The compiler reports the error in the plan.
  if (!*plan) return true;
  if (IsOwnAttention(**plan)) return true;
  return (*plan)->kernels.size() == 1 && !IsOwnKernel((*plan)->kernels[0].kind) && (*plan)->kernels[0].library.empty();
}

std::unique_ptr<Module> StepAlone(const Instruction& step) {
  std::unique_ptr<Module> module = step.module().Clone();
  Instruction* original = nullptr;
  for (Computation* computation : module->Computations()) {
    for (Instruction* inst : computation->instructions()) {
      if (inst->id() == step.id()) original = inst;
    }
  }
  CHECK(original != nullptr, step.name(), " has no copy in a copy of its module");
  Computation& entry = module->AddComputation("step");
  std::vector<Instruction*> operands;
  for (int64_t i = 0; i < step.operand_count(); ++i) {
    const int64_t first = FirstLike(step, i);
    operands.push_back(first < i ? operands[first]
                                 : &entry.AddParameter(static_cast<int64_t>(entry.parameters().size()),
                                                       step.operand(i).shape(), Str("operand_", i)));
  }
  entry.SetRoot(entry.AddClone(*original, operands));
  module->SetEntry(entry);
  module->header = {};
  module->header.is_scheduled = true;
  module->RemoveUnreachable();
  return module;
}

Instruction& StepOf(const Module& alone) { return alone.entry().root(); }

std::string KeyOf(const Instruction& step, bool is_cold, const LockContext& context, const CompileOptions& options) {
  std::string text = Str("1\n", context.tool, "\n", context.device, "\n", options.target->name, " ", options.libraries,
                         options.allow_tf32, "\n", LibraryOf(step), " ", step.attrs<FusionAttrs>().kind, "\n");
  for (int64_t i = 0; i < step.operand_count(); ++i) {
    text += Str(FirstLike(step, i), ":", step.operand(i).shape().ToStringWithLayout(), "\n");
  }
  text += Str(step.shape().ToStringWithLayout(), "\n");
  if (IsLibraryCall(step) || HasAttention(step)) {
    for (const auto& [name, version] : context.libraries) text += Str(name, " ", version, "\n");
  }
  if (is_cold) text += "cold\n";
  return Hexadecimal(HashBytes(text + TextOf(FusedComputation(step))));
}

std::string CategoryOf(const Instruction& step) {
  const std::string library = LibraryOf(step);
  return library.empty() ? "fusion" : library;
}

std::string SignatureOf(const Instruction& step) {
  constexpr int64_t kMostOperands = 4;
  std::string out;
  for (int64_t i = 0; i < std::min(step.operand_count(), kMostOperands); ++i) AddLeaves(step.operand(i).shape(), &out);
  if (step.operand_count() > kMostOperands) out += ",..";
  out += "->";
  AddLeaves(step.shape(), &out);
  return out;
}

}  // namespace hlo::gpu
