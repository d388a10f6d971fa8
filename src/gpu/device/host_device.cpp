#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/array_memory.h"
#include "base/host_isa.h"
#include "base/parallel.h"
#include "base/text.h"
#include "gpu/codegen/host.h"
#include "gpu/device/device.h"

namespace hlo::gpu {
namespace {

constexpr int64_t kParallelBytes = 1 << 20;

struct HostCode : KernelCode, LoadedKernel {
  explicit HostCode(kernel::HostKernel kernel) : kernel(std::move(kernel)) {}
  double compile_seconds() const override { return kernel.compile_seconds(); }
  bool was_kept() const override { return kernel.was_kept(); }
  kernel::HostKernel kernel;
};

template <class Word>
void FillWords(void* to, uint64_t pattern, int64_t count) {
  constexpr int64_t kPiece = kParallelBytes / sizeof(Word);
  Word* const words = static_cast<Word*>(to);
  const auto fill = [&](int64_t begin, int64_t end) {
    std::fill(words + begin, words + end, static_cast<Word>(pattern));
  };
  if (count < 2 * kPiece) fill(0, count);
  else ParallelFor(count, kPiece, fill);
}

class HostDevice : public Device {
 public:
  std::string name() const override { return "cpu"; }

  std::string description() const override {
    return Str(HostIsaText(), ", ", Threads(), Threads() == 1 ? " thread" : " threads");
  }

  std::string target() const override { return HostIsaText(); }

  DeviceDescription Describe() const override {
    return HostDescription(Threads(), MayUseAvx512() ? 64 : 32, FetchedBytes());
  }

  bool IsHost() const override { return true; }

  Result<void*> Allocate(int64_t bytes) override {
    void* const memory = AllocateArray(bytes, kBufferAlignment);
    if (memory == nullptr) FAIL(LimitError("R020", Str("no memory for ", HumanBytes(bytes), " on the host")));
    return memory;
  }

  void Free(void* memory) override { FreeArray(memory); }

  Status CopyIn(void* to, const void* from, int64_t bytes) override { return Copy(to, from, bytes); }
  Status CopyOut(void* to, const void* from, int64_t bytes) override { return Copy(to, from, bytes); }

  Status Copy(void* to, const void* from, int64_t bytes) override {
    if (bytes < kParallelBytes) {
      if (bytes > 0) std::memcpy(to, from, bytes);
      return {};
    }
    ParallelFor(bytes, kParallelBytes, [&](int64_t begin, int64_t end) {
      std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin, end - begin);
    });
    return {};
  }

  Status Fill(void* to, uint64_t pattern, int width, int64_t count) override {
    switch (width) {
      case 1: FillWords<uint8_t>(to, pattern, count); break;
      case 2: FillWords<uint16_t>(to, pattern, count); break;
      case 4: FillWords<uint32_t>(to, pattern, count); break;
      default: FillWords<uint64_t>(to, pattern, count); break;
    }
    return {};
  }

  Result<std::vector<std::shared_ptr<const KernelCode>>> Compile(std::span<const kernel::Kernel* const> kernels,
                                                                 std::span<const double> shares,
                                                                 kernel::CodeCache* kept) override {
    std::vector<std::shared_ptr<const KernelCode>> code;
    for (kernel::HostKernel& kernel : TRY(kernel::CompileHost(kernels, shares, kept)))
      code.push_back(std::make_shared<HostCode>(std::move(kernel)));
    return code;
  }

  Result<std::vector<std::shared_ptr<const LoadedKernel>>> Load(
      std::span<const std::shared_ptr<const KernelCode>> code) override {
    std::vector<std::shared_ptr<const LoadedKernel>> loaded;
    for (const auto& one : code) loaded.push_back(std::static_pointer_cast<const HostCode>(one));
    return loaded;
  }

  Status Launch(const LoadedKernel& kernel, std::span<void* const> arguments) override {
    static_cast<const HostCode&>(kernel).kernel.Launch(arguments);
    return {};
  }

  Status Synchronize() override { return {}; }
};

}  // namespace

std::unique_ptr<Device> OpenHostDevice() { return std::make_unique<HostDevice>(); }

}  // namespace hlo::gpu
