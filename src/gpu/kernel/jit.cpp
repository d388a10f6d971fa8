#include "gpu/kernel/jit.h"

#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/ExecutionEngine/SectionMemoryManager.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBufferRef.h>

namespace hlo::kernel {
namespace {

// The plain loader, without a JIT session around it: an object is a unit of its own, and loading one takes 0.1 ms.
class DyldObject : public LoadedObject {
 public:
  DyldObject() : linker_(memory_, memory_) {}

  Status Load(std::span<const char> bytes) {
    auto object =
        llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef({bytes.data(), bytes.size()}, "kernel"));
    if (!object) FAIL(InternalError("LLVM object file: " + llvm::toString(object.takeError())));
    linker_.loadObject(**object);
    linker_.resolveRelocations();
    std::string message;
    if (linker_.hasError()) FAIL(InternalError("LLVM RuntimeDyld: " + linker_.getErrorString().str()));
    if (memory_.finalizeMemory(&message)) FAIL(InternalError("memory for code: " + message));
    return {};
  }

  void* Symbol(const std::string& name) const override { return linker_.getSymbolLocalAddress(name); }

 private:
  llvm::SectionMemoryManager memory_;
  llvm::RuntimeDyld linker_;
};

}  // namespace

Result<std::shared_ptr<const LoadedObject>> LoadObject(std::span<const char> object) {
  auto loaded = std::make_shared<DyldObject>();
  TRY(loaded->Load(object));
  return loaded;
}

}  // namespace hlo::kernel
