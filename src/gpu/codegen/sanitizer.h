// The access history of the emulator's sanitizer.
#ifndef HLO_GPU_CODEGEN_SANITIZER_H_
#define HLO_GPU_CODEGEN_SANITIZER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "gpu/codegen/emulator.h"
#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

struct AccessSite {
  int array = -1;  // Index in Kernel::arrays, or -1 to find it by address.
  int source = -1;
  int bytes = 0;
  int alignment = 1;
  bool writes = false;
  bool atomic = false;
  bool pointer = false;  // Loads the pointer of a member of group `array`.
};

constexpr int kOwnBlock = INT32_MIN;  // The current block.

// The memory of an array, or of a member of a group.
struct ArrayPlace {
  char* base;  // Null if the code has no such array.
  int64_t elements;
};

class Sanitizer {
 public:
  Sanitizer(const Kernel& kernel, std::vector<std::vector<ArrayPlace>> places);

  void BeginCluster(int64_t first_block);
  void EnterBlock(int rank) { rank_ = rank; }
  void EndBlock();
  void PassBarrier() { ++now().epoch; }
  void PassWarpBarrier(int warp) { ++now().warp_epochs[warp]; }
  void PassClusterBarrier();
  void Fence() { now().fenced = true; }

  // Called before an access. Returns `address`, or a sink if it is out of bounds. `member` is the loaded pointer of a
  // group's member, or null. If site.pointer, it is the address of the group's pointers. `rank` is the block whose
  // shared array is accessed, or kOwnBlock.
  void* Access(const AccessSite& site, int thread, void* address, const void* member, int rank);
  void Diverged(Finding finding, int thread);

  SanitizerReport TakeReport() { return std::move(report_); }

 private:
  // The last read or write of an element.
  struct Mark {
    int32_t block = -1;
    int32_t epoch = 0;
    int32_t warp_epoch = 0;
    int32_t cluster_epoch = 0;
    int16_t thread = 0;
    bool several_lanes = false;   // Several of the warp's threads read in warp_epoch.
    bool several_warps = false;   // Several warps read in `epoch`.
    bool several_blocks = false;  // Several blocks read in cluster_epoch.
    bool atomic = false;
  };
  struct Cell {
    Mark write, read;
  };
  // The history of an array by element. A kernel may touch little of it, so pages are allocated on first access.
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

  struct Block {
    int32_t number = 0, epoch = 0;
    std::vector<int32_t> warp_epochs;
    bool fenced = false;
    // In epochs after this one, the block sees writes that other blocks released. -1 if no block released writes.
    int32_t acquired_at = -1;
    bool ended = false;
    // The cluster_epoch_ of another block's last read of this block's memory.
    int32_t read_afar = -1;
  };
  struct Found {
    int array = -1;
    int64_t member = 0;
  };

  Block& now() { return blocks_[rank_]; }
  const Block& now() const { return blocks_[rank_]; }
  bool IsInCluster(int32_t block) const { return block / kernel_.cluster == now().number / kernel_.cluster; }
  bool Conflicts(const Mark& before, bool shared, int thread) const;
  void NoteRead(Mark& read, bool shared, int thread) const;
  Mark Now(int thread, bool atomic) const;
  Found Find(const AccessSite& site, const char* address, const void* member) const;
  void CheckElements(const AccessSite& site, int thread, const Found& at, int64_t first, int rank);
  void CheckFarRead(const AccessSite& site, int thread, int array, int rank);
  void* Sink();
  void Report(Finding finding, int array, int source, int64_t element, int thread, const Mark* other = nullptr,
              int64_t member = 0);

  const Kernel& kernel_;
  const std::vector<std::vector<ArrayPlace>> places_;
  // Indexed by array. A group's members, or a shared array's blocks, are consecutive.
  std::vector<Cells> cells_;
  std::vector<std::vector<int64_t>> begins_;  // Indexed by array and member: the first cell.
  std::vector<Block> blocks_;
  int rank_ = 0;
  int32_t cluster_epoch_ = 0;
  // For each block, the epoch before which an atomic access after a fence has released its writes.
  std::vector<int32_t> released_before_;
  std::map<std::tuple<Finding, int, int>, size_t> known_;
  SanitizerReport report_;
  alignas(64) char sink_[64] = {};
};

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_SANITIZER_H_
