#include "gpu/codegen/emulator.h"

#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include "base/check.h"
#include "base/text.h"
#include "gpu/codegen/emulator_conversion.h"
#include "gpu/codegen/emulator_machine.h"
#include "gpu/codegen/jit.h"
#include "gpu/codegen/nvptx_lowering.h"
#include "gpu/codegen/passes.h"
#include "gpu/codegen/sanitizer.h"
#include "gpu/codegen/target.h"

namespace hlo::kernel {
namespace {

// LLVM IR as text: replacing text moves all pointers to a single address space at once.
Result<std::string> FinishedText(const Kernel& kernel, const NvptxOptions& options) {
  std::string text = TRY(EmitNvptxIr(kernel, /*optimized=*/true, options));
  for (const char* space : {" addrspace(1)", " addrspace(3)", " addrspace(4)"}) text = Replaced(text, space, "");
  return Replaced(text, "addrspacecast", "bitcast");
}

std::vector<std::vector<ArrayPlace>> Places(const Kernel& kernel, std::span<void* const> arguments,
                                            const LoadedObject& object) {
  std::vector<std::vector<ArrayPlace>> places(kernel.arrays.size());
  const std::vector<KernelArgument> given = kernel.Arguments();
  for (size_t i = 0; i < given.size(); ++i)
    places[given[i].array].push_back({static_cast<char*>(arguments[i]), kernel.arrays[given[i].array].elements});
  char* const pool = static_cast<char*>(object.Symbol("dynamic_shared"));
  int64_t offset = 0;
  for (size_t i = 0; i < kernel.arrays.size(); ++i) {
    const ArrayInfo& array = kernel.arrays[i];
    for (int64_t m = 0; m < array.members; ++m) {
      int64_t& elements = places[i][m].elements;
      if (array.sizes < 0) elements = array.member_elements[m];
      else std::memcpy(&elements, places[array.sizes].front().base + m * sizeof elements, sizeof elements);
    }
    if (array.IsParameter()) continue;
    char* base = nullptr;
    if (array.kind == ArrayKind::kTable) {
      base = static_cast<char*>(object.Symbol(Str("table", i, "_", EntryName(kernel))));
    } else if (pool) {
      offset = (offset + 15) / 16 * 16;
      base = pool + offset;
      offset += array.elements * Bytes(array.type);
    } else {
      base = static_cast<char*>(object.Symbol(Str("shared", i)));
    }
    places[i].push_back({base, array.elements});
  }
  return places;
}

}  // namespace

// Must not be moved, because the code contains the address of the machine.
struct EmulatedCode::Parts {
  Parts(const Kernel& kernel, const EmulateOptions& options)
      : kernel(kernel), options(options), machine(this->kernel) {}

  const Kernel kernel;
  const EmulateOptions options;
  Machine machine;
  std::shared_ptr<const LoadedObject> object;
  Machine::Start start = nullptr;
};

EmulatedCode::EmulatedCode(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
EmulatedCode::EmulatedCode(EmulatedCode&&) noexcept = default;
EmulatedCode::~EmulatedCode() = default;

Result<EmulatedCode> EmulatedCode::Make(const Kernel& kernel, const EmulateOptions& options) {
  const std::string text = TRY(FinishedText(kernel, options.nvptx));
  llvm::TargetMachine* const target = TRY(HostTarget());
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, diagnostic, context);
  CHECK(module, "kernel '", kernel.name, "': ", diagnostic.getMessage().str());

  auto parts = std::make_unique<Parts>(kernel, options);
  ConvertToCoroutine(parts->kernel, *module, parts->machine, options.sanitize);
  Prepare(*module, *target);
  TRY(Verify(*module));
  TRY(RunPasses(*module, *target, Pipeline::kEmulator));
  llvm::SmallVector<char, 0> bytes;
  TRY(Generate(*module, *target, /*object=*/true, bytes));
  parts->object = TRY(LoadObject(bytes));
  parts->start = reinterpret_cast<Machine::Start>(parts->object->Symbol("start"));
  CHECK(parts->start, "emulated kernel without its start");
  return EmulatedCode(std::move(parts));
}

SanitizerReport EmulatedCode::Run(std::span<void* const> arguments, const SetCondition& set_condition) {
  const Kernel& kernel = parts_->kernel;
  parts_->machine.set_condition = set_condition;
  const std::vector<std::vector<ArrayPlace>> places = Places(kernel, arguments, *parts_->object);
  std::vector<std::pair<char*, int64_t>> shared;
  for (size_t i = 0; i < kernel.arrays.size(); ++i) {
    const ArrayInfo& array = kernel.arrays[i];
    char* const base = places[i].front().base;
    if (array.kind == ArrayKind::kShared && base) shared.emplace_back(base, array.elements * Bytes(array.type));
  }
  std::vector<int64_t> blocks = parts_->options.blocks;
  if (blocks.empty()) {
    blocks.resize(kernel.blocks);
    std::iota(blocks.begin(), blocks.end(), 0);
  }
  if (!parts_->options.sanitize) {
    parts_->machine.Run(parts_->start, arguments, blocks, nullptr, shared);
    return SanitizerReport{.kernel = kernel.name};
  }
  Sanitizer sanitizer(kernel, places);
  parts_->machine.Run(parts_->start, arguments, blocks, &sanitizer, shared);
  return sanitizer.TakeReport();
}

Result<SanitizerReport> Emulate(const Kernel& kernel, std::span<void* const> arguments, const EmulateOptions& options) {
  return TRY(EmulatedCode::Make(kernel, options)).Run(arguments);
}

}  // namespace hlo::kernel
