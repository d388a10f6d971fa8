// Who touched what, and when: the memory of the emulator's sanitizer. Knows nothing of LLVM.
#ifndef HLO_GPU_KERNEL_SANITIZER_H_
#define HLO_GPU_KERNEL_SANITIZER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "gpu/kernel/emulator.h"
#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// One place in the code that touches memory.
struct AccessSite {
  int array = -1;  // Into Kernel::arrays; -1: found by address.
  int source = -1;
  int bytes = 0;
  int alignment = 1;
  bool writes = false;
  bool atomic = false;
};

class Sanitizer {
 public:
  // `bases`: where each array of the kernel begins; null: not watched.
  Sanitizer(const Kernel& kernel, std::vector<char*> bases);

  void BeginBlock(int64_t block);
  void PassBarrier() { ++epoch_; }
  void PassWarpBarrier(int warp) { ++warp_epochs_[warp]; }
  void Fence() { fenced_ = true; }

  // Called before the access; the address to use: `address`, or a sink when it is out of bounds.
  void* Access(const AccessSite& site, int thread, void* address);
  void Diverged(Finding finding, int thread);

  SanitizerReport TakeReport() { return std::move(report_); }

 private:
  // The last access of a kind to an element.
  struct Mark {
    int32_t block = -1;
    int32_t epoch = 0;
    int32_t warp_epoch = 0;
    int16_t thread = 0;
    bool several_lanes = false;  // Readers: more threads of that warp in that warp epoch.
    bool several_warps = false;  // More warps in that epoch.
    bool atomic = false;
  };
  struct Cell {
    Mark write, read;
  };
  // Of one array, by element. Made page by page as they are touched: a few blocks of a large kernel touch little of it.
  class Cells {
   public:
    void Watch(int64_t elements) { pages_.resize((elements + kPage - 1) / kPage); }
    bool watched() const { return !pages_.empty(); }
    Cell& operator[](int64_t element) {
      std::unique_ptr<Cell[]>& page = pages_[element / kPage];
      if (!page) page = std::make_unique<Cell[]>(kPage);
      return page[element % kPage];
    }

   private:
    static constexpr int64_t kPage = 1024;
    std::vector<std::unique_ptr<Cell[]>> pages_;
  };

  bool Conflicts(const Mark& before, bool shared, int thread) const;
  void NoteRead(Mark& read, int thread) const;
  Mark Now(int thread, bool atomic) const;
  int FindArray(const char* address) const;
  void Report(Finding finding, int array, int source, int64_t element, int thread, const Mark* other = nullptr);

  const Kernel& kernel_;
  const std::vector<char*> bases_;
  std::vector<Cells> cells_;  // By array.
  int32_t block_ = 0;
  int32_t epoch_ = 0;
  std::vector<int32_t> warp_epochs_;
  bool fenced_ = false;
  // Blocks that announced (fence, barrier, atomic) what they wrote in epochs before; and since when this block knows.
  std::vector<int32_t> released_before_;
  int32_t acquired_at_ = -1;
  std::map<std::tuple<Finding, int, int>, size_t> known_;
  SanitizerReport report_;
  alignas(64) char sink_[64] = {};
};

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_SANITIZER_H_
