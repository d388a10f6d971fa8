#include "gpu/codegen/emulator_machine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gpu/kernel/mma.h"

namespace hlo::kernel {

Machine::Machine(const Kernel& kernel) : kernel_(kernel), threads_(kernel.threads * kernel.cluster) {}

void* Machine::Frame(int64_t bytes) {
  bytes = (bytes + 63) / 64 * 64;
  if (frames_.empty()) frames_.resize(bytes * std::ssize(threads_) + 64);
  char* const aligned = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(frames_.data()) + 63) / 64 * 64);
  return aligned + bytes * (rank_ * kernel_.threads + current_);
}

void Machine::Suspend(int thread, Wait wait, int site, uint32_t value, uint32_t operand) {
  Thread& own = Own(thread);
  own.wait = wait;
  own.site = site;
  own.value = value;
  own.operand = operand;
}

void* Machine::Access(int site, int thread, void* address, const void* member, int rank) {
  void* const allowed = sanitizer_->Access(sites[site], thread, address, member, rank);
  return allowed == address ? InBlock(address, rank) : allowed;
}

// The running block's shared memory is where the code expects it. The memory of other blocks is in kept_.
void* Machine::InBlock(void* shared, int rank) {
  if (rank == kOwnBlock || rank == rank_) return shared;
  for (size_t i = 0; i < shared_.size(); ++i) {
    const int64_t offset = static_cast<char*>(shared) - shared_[i].first;
    if (offset >= 0 && offset < shared_[i].second) return kept_[rank][i].data() + offset;
  }
  return shared;
}

void Machine::Fence() {
  if (sanitizer_) sanitizer_->Fence();
}

void Machine::EndGroup(int thread) {
  Thread& own = Own(thread);
  own.groups.push_back(std::exchange(own.copies, {}));
}

void Machine::WaitForCopies(int thread, int on_their_way) {
  std::deque<std::vector<AsyncCopy>>& groups = Own(thread).groups;
  for (; std::ssize(groups) > on_their_way; groups.pop_front()) {
    for (const AsyncCopy& copy : groups.front()) std::memcpy(copy.to, copy.from, kAsyncBytes);
  }
}

void Machine::Run(Start start, std::span<void* const> arguments, std::span<const int64_t> blocks, Sanitizer* sanitizer,
                  const std::vector<std::pair<char*, int64_t>>& shared) {
  arguments_ = arguments;
  sanitizer_ = sanitizer;
  shared_ = shared;
  std::vector<int64_t> done;
  for (const int64_t block : blocks) {
    const int64_t first = block / kernel_.cluster * kernel_.cluster;
    if (kernel_.cluster > 1 && std::ranges::find(done, first) != done.end()) continue;
    done.push_back(first);
    RunCluster(start, first);
  }
}

void Machine::RunCluster(Start start, int64_t first) {
  constexpr int kUndefined = 0xff;  // Reads as NaN or -1.
  for (const auto& [base, bytes] : shared_) std::memset(base, kUndefined, bytes);
  kept_.assign(kernel_.cluster, {});
  for (auto& arrays : kept_) {
    for (const auto& [base, bytes] : shared_) arrays.emplace_back(kernel_.cluster > 1 ? bytes : 0, kUndefined);
  }
  rank_ = 0;
  if (sanitizer_) sanitizer_->BeginCluster(first);
  for (int rank = 0; rank < kernel_.cluster; ++rank) {
    Enter(rank);
    for (current_ = 0; current_ < kernel_.threads; ++current_) {
      Thread& thread = Own(current_);
      thread = {};
      thread.frame = start(arguments_.data(), current_, static_cast<int32_t>(first + rank));
      NoteEnd(thread);
    }
  }
  for (bool runs = true; runs;) {
    for (int rank = 0; rank < kernel_.cluster; ++rank) {
      Enter(rank);
      while (Step()) {
      }
      const bool ends = std::ranges::all_of(Block(), [](const Thread& thread) { return thread.wait == Wait::kDone; });
      if (ends && sanitizer_) sanitizer_->EndBlock();
    }
    runs = std::ranges::any_of(threads_, [](const Thread& thread) { return thread.wait != Wait::kDone; });
    if (runs) PassClusterBarrier();
  }
}

void Machine::Enter(int rank) {
  if (sanitizer_) sanitizer_->EnterBlock(rank);
  if (rank == rank_) return;
  for (size_t i = 0; i < shared_.size(); ++i) {
    std::memcpy(kept_[rank_][i].data(), shared_[i].first, shared_[i].second);
    std::memcpy(shared_[i].first, kept_[rank][i].data(), shared_[i].second);
  }
  rank_ = rank;
}

// Called when all threads that have not ended wait at a barrier of the cluster.
void Machine::PassClusterBarrier() {
  const int site =
      std::ranges::find_if(threads_, [](const Thread& thread) { return thread.wait != Wait::kDone; })->site;
  const auto same = [&](const Thread& thread) { return thread.wait != Wait::kDone && thread.site == site; };
  if (sanitizer_ && !std::ranges::all_of(threads_, same)) {
    for (int rank = 0; rank < kernel_.cluster; ++rank) {
      Enter(rank);
      for (int thread = 0; thread < kernel_.threads; ++thread) {
        if (Own(thread).wait != Wait::kDone) sanitizer_->Diverged(Finding::kDivergentBarrier, thread);
      }
    }
  }
  if (sanitizer_) sanitizer_->PassClusterBarrier();
  for (int rank = 0; rank < kernel_.cluster; ++rank) {
    Enter(rank);
    for (Thread& thread : Block()) {
      if (thread.wait == Wait::kClusterBarrier) Resume(thread);
    }
  }
}

// A coroutine's frame starts with the function that resumes it, null at the end.
void Machine::NoteEnd(Thread& thread) {
  if (*static_cast<void**>(thread.frame) == nullptr) thread.wait = Wait::kDone;
}

void Machine::Resume(Thread& thread) {
  thread.wait = Wait::kNothing;
  (*static_cast<void (**)(void*)>(thread.frame))(thread.frame);
  NoteEnd(thread);
}

// Runs all warps up to barriers or ends, and passes the block's barrier. False if no thread waits there.
bool Machine::Step() {
  for (int warp = 0; warp < kernel_.warps(); ++warp) {
    while (StepWarp(warp)) {
    }
  }
  const std::span<Thread> threads = Block();
  const auto waits = [](const Thread& thread) { return thread.wait == Wait::kBarrier; };
  const auto first = std::ranges::find_if(threads, waits);
  if (first == threads.end()) return false;
  const bool same =
      std::ranges::all_of(threads, [&](const Thread& thread) { return waits(thread) && thread.site == first->site; });
  if (!same && sanitizer_) {
    for (int thread = 0; thread < kernel_.threads; ++thread) {
      if (waits(threads[thread])) sanitizer_->Diverged(Finding::kDivergentBarrier, thread);
    }
  }
  if (sanitizer_) sanitizer_->PassBarrier();
  for (Thread& thread : threads) {
    if (waits(thread)) Resume(thread);
  }
  return true;
}

// Executes the collective or barrier at which lanes of the warp wait. False if none waits.
bool Machine::StepWarp(int warp) {
  const std::span<Thread> lanes = Block().subspan(warp * kWarpSize, kWarpSize);
  const auto collective = [](const Thread& thread) {
    return thread.wait > Wait::kBarrier && thread.wait < Wait::kDone;
  };
  int waiting = 0, first = -1;
  bool same = true;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if (!collective(lanes[lane])) continue;
    ++waiting;
    if (first < 0) first = lane;
    same = same && lanes[lane].site == lanes[first].site;
  }
  if (waiting == 0) return false;
  const bool whole = same && waiting == kWarpSize;
  if (!whole && sanitizer_) sanitizer_->Diverged(Finding::kDivergentShuffle, warp * kWarpSize + first);
  if (sanitizer_ && lanes[first].wait == Wait::kWarpBarrier) sanitizer_->PassWarpBarrier(warp);
  if (whole && lanes[first].wait == Wait::kBallot) Ballot(lanes);
  if (whole && lanes[first].wait == Wait::kLoadMatrices) LoadMatrices(lanes);
  if (whole && lanes[first].wait == Wait::kMultiply) MultiplyMatrices(lanes);
  for (int lane = 0; lane < kWarpSize; ++lane) lanes[lane].received = lanes[SourceLane(lanes[lane], lane)].value;
  for (Thread& thread : lanes) {
    if (collective(thread)) Resume(thread);
  }
  return true;
}

int Machine::SourceLane(const Thread& thread, int lane) {
  const int operand = static_cast<int>(thread.operand);
  int source = lane;
  if (thread.wait == Wait::kShuffleDown) source = lane + operand;
  if (thread.wait == Wait::kShuffleUp) source = lane - operand;
  if (thread.wait == Wait::kShuffleXor) source = lane ^ operand;
  if (thread.wait == Wait::kShuffleIndexed) source = operand & (kWarpSize - 1);
  return source >= 0 && source < kWarpSize ? source : lane;
}

void Machine::Ballot(std::span<Thread> lanes) {
  uint32_t votes = 0;
  for (int lane = 0; lane < kWarpSize; ++lane) votes |= lanes[lane].value << lane;
  for (Thread& lane : lanes) lane.value = votes;
}

// Executes ldmatrix. Eight lanes gave the row addresses of each matrix. `value` is the number of matrices, and
// `operand` is 1 if they are transposed.
void Machine::LoadMatrices(std::span<Thread> lanes) {
  constexpr int kRows = 8;
  std::array<std::array<uint32_t, 4>, kWarpSize> loaded = {};
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (uint32_t matrix = 0; matrix < lanes[0].value; ++matrix) {
      uint16_t halves[2];
      for (int i = 0; i < 2; ++i) {
        int row = lane / 4, column = lane % 4 * 2 + i;
        if (lanes[0].operand != 0) std::swap(row, column);
        const auto* const line = reinterpret_cast<const char*>(lanes[matrix * kRows + row].words[0]);
        std::memcpy(&halves[i], line + 2 * column, 2);
      }
      loaded[lane][matrix] = halves[0] | static_cast<uint32_t>(halves[1]) << 16;
    }
  }
  for (int lane = 0; lane < kWarpSize; ++lane) std::ranges::copy(loaded[lane], lanes[lane].words.begin());
}

// Executes mma.sync. A lane's words belong to the left fragment, the right one and the sum, in this order. `value` is
// the MmaShape.
void Machine::MultiplyMatrices(std::span<Thread> lanes) {
  const auto shape = static_cast<MmaShape>(lanes[0].value);
  std::vector<uint32_t> matrices[3];
  const auto each_element = [&](const auto& visit) {
    int word = 0;
    for (const FragmentRole role : {FragmentRole::kLeft, FragmentRole::kRight, FragmentRole::kSum}) {
      const FragmentKind kind{shape, role};
      std::vector<uint32_t>& matrix = matrices[static_cast<int>(role)];
      matrix.resize(Rows(kind) * Columns(kind));
      const int per_word = PerWord(kind);
      for (int element = 0; element < LaneElements(kind); ++element) {
        for (int lane = 0; lane < kWarpSize; ++lane) {
          const MatrixPosition at = PositionOf(kind, lane, element);
          visit(role, lanes[lane].words[word + element / per_word], 32 / per_word * (element % per_word),
                matrix[at.row * Columns(kind) + at.column]);
        }
      }
      word += LaneElements(kind) / per_word;
    }
  };
  each_element([](FragmentRole, uint64_t word, int shift, uint32_t& element) {
    element = static_cast<uint32_t>(word >> shift);
  });
  Multiply(shape, matrices[0], matrices[1], matrices[2]);
  each_element([](FragmentRole role, uint64_t& word, int, uint32_t element) {
    if (role == FragmentRole::kSum) word = element;
  });
  constexpr int kSumWords = kMmaRows * kMmaColumns / kWarpSize;
  for (Thread& thread : lanes) std::rotate(thread.words.begin(), thread.words.end() - kSumWords, thread.words.end());
}

}  // namespace hlo::kernel
