#include "gpu/device/emulated.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gpu/codegen/emulator.h"
#include "gpu/codegen/nvptx.h"
#include "gpu/device/shared_library.h"
#include "gpu/kernel/kernel.h"

namespace hlo::gpu {
namespace {

struct Kept : EmulatedKernel {
  kernel::Kernel source;
  std::vector<Argument> all_arguments;
  std::vector<int64_t> all_pointers;
  std::optional<kernel::EmulatedCode> code[2];
};

struct Shelf {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Kept>, std::less<>> kernels;  // Indexed by PTX text.
};

// Never destroyed, because queued work may run until the process ends.
Shelf& TheShelf() {
  static auto* const shelf = new Shelf;
  return *shelf;
}

// A group member requires 0 bytes if only the launch knows its size.
std::vector<EmulatedKernel::Argument> Arguments(const kernel::Kernel& kernel) {
  std::vector<EmulatedKernel::Argument> arguments;
  for (const kernel::KernelArgument& argument : kernel.Arguments()) {
    const kernel::ArrayInfo& array = kernel.arrays[argument.array];
    int64_t elements = array.elements;
    if (array.members > 0) elements = array.member_elements.empty() ? 0 : array.member_elements[argument.member];
    arguments.push_back({.bytes = elements * kernel::Bytes(array.type),
                         .alignment = array.alignment,
                         .written = array.kind != kernel::ArrayKind::kInput});
  }
  return arguments;
}

const EmulatedKernel* Find(const char* ptx) {
  Shelf& shelf = TheShelf();
  const std::lock_guard lock(shelf.mutex);
  const auto found = shelf.kernels.find(std::string_view(ptx));
  return found != shelf.kernels.end() ? found->second.get() : nullptr;
}

const char* Run(const EmulatedKernel* kernel, void* const* arguments, bool sanitize,
                void (*set_condition)(uint64_t handle, uint32_t value)) {
  static std::string words;
  auto& kept = const_cast<Kept&>(static_cast<const Kept&>(*kernel));
  std::optional<kernel::EmulatedCode>& code = kept.code[sanitize];
  if (!code) {
    auto made = kernel::EmulatedCode::Make(kept.source, {.sanitize = sanitize});
    if (!made) return (words = made.error().message()).c_str();
    code.emplace(std::move(*made));
  }
  const kernel::SanitizerReport report = code->Run(std::span(arguments, kept.all_arguments.size()), set_condition);
  if (report.clean()) return nullptr;
  return (words = report.ToString()).c_str();
}

}  // namespace

bool AttachEmulator(const SharedLibrary& library) {
  using Attach = void(const EmulatorTable*);
  Attach* const attach = library.Find(kAttachSymbol);
  if (attach == nullptr) return false;
  static constexpr EmulatorTable kTable = {.find = Find, .run = Run};
  attach(&kTable);
  return true;
}

void KeepForEmulator(const kernel::Ptx& ptx, const kernel::Kernel& kernel) {
  auto kept = std::make_unique<Kept>();
  kept->source = kernel;
  kept->all_arguments = Arguments(kernel);
  for (const int parameter : kernel.Parameters())
    kept->all_pointers.push_back(std::max<int64_t>(1, kernel.arrays[parameter].members));
  EmulatedKernel& seen = *kept;
  seen = {.name = kept->source.name.c_str(),
          .blocks = kernel.blocks,
          .threads = kernel.threads,
          .cluster = kernel.cluster,
          .dynamic_shared_bytes = ptx.dynamic_shared_bytes,
          .arguments = kept->all_arguments.data(),
          .argument_count = std::ssize(kept->all_arguments),
          .pointers = kept->all_pointers.data(),
          .parameter_count = std::ssize(kept->all_pointers)};
  Shelf& shelf = TheShelf();
  const std::lock_guard lock(shelf.mutex);
  shelf.kernels.try_emplace(ptx.text, std::move(kept));
}

}  // namespace hlo::gpu
