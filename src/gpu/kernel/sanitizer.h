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
  bool pointer = false;  // Loads the pointer of a member of the group `array`.
};

constexpr int kOwnBlock = INT32_MIN;  // Instead of the rank of another one in the cluster.

// Where an array is, or a member of a group.
struct ArrayPlace {
  char* base;  // Null: not watched.
  int64_t elements;
};

class Sanitizer {
 public:
  // `places`: of each array of the kernel, by member.
  Sanitizer(const Kernel& kernel, std::vector<std::vector<ArrayPlace>> places);

  void BeginCluster(int64_t first_block);
  // What follows is done by this block of the cluster.
  void EnterBlock(int rank) { rank_ = rank; }
  void EndBlock();
  void PassBarrier() { ++now().epoch; }
  void PassWarpBarrier(int warp) { ++now().warp_epochs[warp]; }
  void PassClusterBarrier();
  void Fence() { now().fenced = true; }

  // Called before the access; the address to use: `address`, or a sink when it is out of bounds. `member`: the pointer
  // that was loaded for a group's member, else null. `rank`: of the block whose shared array it is, or kOwnBlock.
  void* Access(const AccessSite& site, int thread, void* address, const void* member, int rank);
  void Diverged(Finding finding, int thread);

  SanitizerReport TakeReport() { return std::move(report_); }

 private:
  // The last access of a kind to an element.
  struct Mark {
    int32_t block = -1;
    int32_t epoch = 0;
    int32_t warp_epoch = 0;
    int32_t cluster_epoch = 0;
    int16_t thread = 0;
    bool several_lanes = false;   // Readers: more threads of that warp in that warp epoch.
    bool several_warps = false;   // More warps in that epoch.
    bool several_blocks = false;  // More blocks in that epoch of the cluster.
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

  // Of a block that runs.
  struct Block {
    int32_t number = 0, epoch = 0;
    std::vector<int32_t> warp_epochs;
    bool fenced = false;
    int32_t acquired_at = -1;  // Since when it knows what other blocks released.
    bool ended = false;
    int32_t read_afar = -1;  // The epoch of the cluster in which another block last read its memory.
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
  std::vector<Cells> cells_;                  // By array: its members in turn; those of shared arrays for each rank.
  std::vector<std::vector<int64_t>> begins_;  // By array and member, into cells_.
  std::vector<Block> blocks_;                 // Of the cluster.
  int rank_ = 0;                              // Of the block that runs.
  int32_t cluster_epoch_ = 0;
  // Blocks that announced (fence, barrier, atomic) what they wrote in epochs before.
  std::vector<int32_t> released_before_;
  std::map<std::tuple<Finding, int, int>, size_t> known_;
  SanitizerReport report_;
  alignas(64) char sink_[64] = {};
};

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_SANITIZER_H_
