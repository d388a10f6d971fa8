#include "gpu/codegen/jit.h"

#include <math.h>
#include <strings.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBufferRef.h>

// Functions of libgcc, which has no header for them.
extern "C" {
_Float16 __truncdfhf2(double);
_Float16 __truncsfhf2(float);
float __extendhfsf2(_Float16);
__int128 __multi3(__int128, __int128);
__int128 __divti3(__int128, __int128);
__int128 __modti3(__int128, __int128);
unsigned __int128 __udivti3(unsigned __int128, unsigned __int128);
unsigned __int128 __umodti3(unsigned __int128, unsigned __int128);
}

namespace hlo::kernel {
namespace {

struct Function {
  std::string_view name;
  void* address;
};

template <class F>
Function At(std::string_view name, F* function) {
  return {name, reinterpret_cast<void*>(function)};
}

// Every function that generated code may call. The process is not searched, because it may be stripped. Which functions
// LLVM calls depends on processor and context (a maximum of f16 is fmaxf on AVX2), so the list covers all.
// tests/gpu/host_isa_test.cpp runs each op of each type at each level.
const std::vector<Function>& Functions() {
#define HLO_MATH1(name) At<float(float)>(#name "f", ::name##f), At<double(double)>(#name, ::name)
#define HLO_MATH2(name) At<float(float, float)>(#name "f", ::name##f), At<double(double, double)>(#name, ::name)
  static const std::vector<Function> functions = {
      At<void*(void*, const void*, size_t)>("memcpy", std::memcpy),
      At<void*(void*, const void*, size_t)>("memmove", std::memmove),
      At<void*(void*, int, size_t)>("memset", std::memset),
      At<int(const void*, const void*, size_t)>("memcmp", std::memcmp),
      At<int(const void*, const void*, size_t)>("bcmp", std::memcmp),
      HLO_MATH2(fmax),
      HLO_MATH2(fmin),
      HLO_MATH2(fmod),
      HLO_MATH2(copysign),
      HLO_MATH1(fabs),
      HLO_MATH1(sqrt),
      HLO_MATH1(floor),
      HLO_MATH1(ceil),
      HLO_MATH1(trunc),
      HLO_MATH1(rint),
      HLO_MATH1(nearbyint),
      HLO_MATH1(round),
      HLO_MATH1(roundeven),
      At<float(float, float, float)>("fmaf", ::fmaf),
      At<double(double, double, double)>("fma", ::fma),
      At("__truncdfhf2", __truncdfhf2),
      At("__truncsfhf2", __truncsfhf2),
      At("__extendhfsf2", __extendhfsf2),
      At("__multi3", __multi3),
      At("__divti3", __divti3),
      At("__modti3", __modti3),
      At("__udivti3", __udivti3),
      At("__umodti3", __umodti3),
  };
#undef HLO_MATH1
#undef HLO_MATH2
  return functions;
}

class Resolver : public llvm::LegacyJITSymbolResolver {
 public:
  llvm::JITSymbol findSymbol(const std::string& name) override {
    const auto& functions = Functions();
    const auto found = std::ranges::find(functions, name, &Function::name);
    if (found == functions.end()) return nullptr;
    return {reinterpret_cast<uintptr_t>(found->address), llvm::JITSymbolFlags::Exported};
  }
  llvm::JITSymbol findSymbolInLogicalDylib(const std::string&) override { return nullptr; }
};

// One piece of memory for an object, because its code refers to constants and functions by 32-bit distances. Separate
// pieces may be further apart.
class OnePiece : public llvm::RuntimeDyld::MemoryManager {
 public:
  OnePiece() = default;
  OnePiece(const OnePiece&) = delete;
  ~OnePiece() override {
    if (begin_ != nullptr) munmap(begin_, bytes_);
  }

  bool needsToReserveAllocationSpace() override { return true; }
  void reserveAllocationSpace(uintptr_t code, llvm::Align, uintptr_t constants, llvm::Align, uintptr_t data,
                              llvm::Align) override {
    code_bytes_ = WholePages(code);
    bytes_ = code_bytes_ + WholePages(constants) + WholePages(data);
    void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) begin_ = static_cast<uint8_t*>(memory);
    next_data_ = code_bytes_;
  }
  uint8_t* allocateCodeSection(uintptr_t bytes, unsigned alignment, unsigned, llvm::StringRef) override {
    return Take(next_code_, code_bytes_, bytes, alignment);
  }
  uint8_t* allocateDataSection(uintptr_t bytes, unsigned alignment, unsigned, llvm::StringRef, bool) override {
    return Take(next_data_, bytes_, bytes, alignment);
  }
  bool finalizeMemory(std::string* message) override {
    if (mprotect(begin_, code_bytes_, PROT_READ | PROT_EXEC) == 0) return false;
    *message = std::strerror(errno);
    return true;
  }
  void registerEHFrames(uint8_t*, uint64_t, size_t) override {}
  void deregisterEHFrames() override {}

 private:
  // Adds a page for alignment.
  static uintptr_t WholePages(uintptr_t bytes) { return (bytes + 2 * kPage - 1) / kPage * kPage; }

  uint8_t* Take(uintptr_t& next, uintptr_t end, uintptr_t bytes, unsigned alignment) {
    const uintptr_t at = (next + alignment - 1) / alignment * alignment;
    if (begin_ == nullptr || at + bytes > end) return nullptr;
    next = at + bytes;
    return begin_ + at;
  }

  static constexpr uintptr_t kPage = 4096;
  uint8_t* begin_ = nullptr;
  uintptr_t bytes_ = 0, code_bytes_ = 0, next_code_ = 0, next_data_ = 0;
};

class DyldObject : public LoadedObject {
 public:
  DyldObject() : linker_(memory_, resolver_) {}

  Status Load(std::span<const char> bytes) {
    auto object =
        llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef({bytes.data(), bytes.size()}, "kernel"));
    if (!object) FAIL(InternalError("LLVM object file: " + llvm::toString(object.takeError())));
    linker_.loadObject(**object);
    linker_.resolveRelocations();
    std::string message;
    if (linker_.hasError())
      FAIL(InternalError("a kernel cannot be loaded: LLVM RuntimeDyld: " + linker_.getErrorString().str()));
    if (memory_.finalizeMemory(&message))
      FAIL(InternalError("the memory for compiled kernels cannot be made executable: " + message));
    return {};
  }

  void* Symbol(const std::string& name) const override { return linker_.getSymbolLocalAddress(name); }

 private:
  OnePiece memory_;
  Resolver resolver_;
  llvm::RuntimeDyld linker_;
};

}  // namespace

Result<std::shared_ptr<const LoadedObject>> LoadObject(std::span<const char> object) {
  auto loaded = std::make_shared<DyldObject>();
  TRY(loaded->Load(object));
  return loaded;
}

}  // namespace hlo::kernel
