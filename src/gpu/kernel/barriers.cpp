#include "gpu/kernel/barriers.h"

#include <utility>

namespace hlo::kernel {
namespace {

constexpr int32_t kNoWriter = -1, kSeveral = -2;

struct Touched {
  std::vector<bool> reads;
  std::vector<bool> far_reads;   // Reads of other blocks' shared arrays.
  std::vector<int32_t> writers;  // The writing statement, kNoWriter or kSeveral.

  explicit Touched(size_t arrays) : reads(arrays), far_reads(arrays), writers(arrays, kNoWriter) {}

  void Write(size_t array, int32_t statement) {
    int32_t& writer = writers[array];
    writer = writer == kNoWriter || writer == statement ? statement : kSeveral;
  }

  void Merge(const Touched& other) {
    for (size_t i = 0; i < reads.size(); ++i) {
      if (other.reads[i]) reads[i] = true;
      if (other.far_reads[i]) far_reads[i] = true;
      if (other.writers[i] != kNoWriter) Write(i, other.writers[i]);
    }
  }

  bool ConflictsWith(const Touched& other) const {
    for (size_t i = 0; i < reads.size(); ++i) {
      const bool writes = writers[i] != kNoWriter, other_writes = other.writers[i] != kNoWriter;
      if ((writes && other.reads[i]) || (reads[i] && other_writes)) return true;
      const bool same_statement = writers[i] == other.writers[i] && writers[i] != kSeveral;
      if (writes && other_writes && !same_statement) return true;
    }
    return false;
  }

  bool ConflictsAfar(const Touched& other) const {
    for (size_t i = 0; i < reads.size(); ++i) {
      const bool writes = writers[i] != kNoWriter, other_writes = other.writers[i] != kNoWriter;
      if ((writes && other.far_reads[i]) || (far_reads[i] && other_writes)) return true;
    }
    return false;
  }
};

// Accesses since the last barrier of the block (or warp) and of the cluster.
struct Pending {
  Touched block, cluster;

  explicit Pending(size_t arrays) : block(arrays), cluster(arrays) {}
  void Merge(const Pending& other) {
    block.Merge(other.block);
    cluster.Merge(other.cluster);
  }
};

class Placer {
 public:
  explicit Placer(Kernel& kernel) : kernel_(kernel), nothing_(kernel.arrays.size()) { Number(kernel.body); }

  // Places barriers, and updates `pending` from the region's start to its end.
  void Walk(Region& region, Op barrier, Pending& pending) {
    std::vector<Instruction> body;
    body.reserve(region.body.size());
    for (Instruction& instruction : region.body) {
      switch (instruction.op) {
        case Op::kLoop: {
          // The body may run again, so accesses at its end also precede its start.
          Region trial = instruction.regions[0];
          Pending end = pending;
          Walk(trial, barrier, end);
          Pending begin = pending;
          begin.Merge(end);
          Walk(instruction.regions[0], barrier, begin);
          pending.Merge(begin);
          break;
        }
        case Op::kWhile: {
          // The condition follows the body, and code after the loop follows the condition.
          std::vector<Region> trial = instruction.regions;
          Pending end = pending;
          for (Region& part : trial) Walk(part, barrier, end);
          pending.Merge(end);
          Walk(instruction.regions[0], barrier, pending);
          Pending in_body = pending;
          Walk(instruction.regions[1], barrier, in_body);
          break;
        }
        case Op::kIf: {
          Pending joined = instruction.regions.size() == 1 ? pending : Nothing();
          for (Region& branch : instruction.regions) {
            Pending end = pending;
            Walk(branch, barrier, end);
            joined.Merge(end);
          }
          pending = std::move(joined);
          break;
        }
        case Op::kArrive: pending.block = nothing_; break;
        default: {
          const Touched touched = TouchedBy(instruction);
          if (barrier == Op::kBarrier && pending.cluster.ConflictsAfar(touched)) {
            body.push_back({.op = Op::kClusterBarrier, .source = instruction.source});
            pending = Nothing();
          }
          if (pending.block.ConflictsWith(touched)) {
            body.push_back({.op = barrier, .source = instruction.source});
            pending.block = nothing_;
          }
          pending.block.Merge(touched);
          pending.cluster.Merge(touched);
          if (instruction.op == Op::kWarps) {
            Pending in_warp = Nothing();
            Walk(instruction.regions[0], Op::kWarpBarrier, in_warp);
          }
        }
      }
      body.push_back(std::move(instruction));
    }
    region.body = std::move(body);
  }

  bool ReadsAfar(const Touched& touched) const { return touched.far_reads != nothing_.far_reads; }
  Pending Nothing() const { return Pending(kernel_.arrays.size()); }

 private:
  void Number(Region& region) {
    for (Instruction& instruction : region.body) {
      instruction.statement = statements_++;
      for (Region& inner : instruction.regions) Number(inner);
    }
  }

  Touched TouchedBy(const Instruction& instruction) const {
    Touched touched = nothing_;
    AddTouched(instruction, instruction.statement, touched);
    return touched;
  }

  void AddTouched(const Instruction& instruction, int32_t statement, Touched& touched) const {
    const int effects = instruction.op == Op::kArrive ? int{kNoEffects} : InfoOf(instruction.op).effects;
    if (effects & (kReads | kWrites)) {
      const ArrayKind kind = kernel_.arrays[instruction.imm].kind;
      if (kind == ArrayKind::kShared || kind == ArrayKind::kInOut) {
        if (effects & kReads) touched.reads[instruction.imm] = true;
        if (instruction.op == Op::kLoadCluster) touched.far_reads[instruction.imm] = true;
        if (effects & kWrites) touched.Write(instruction.imm, statement);
      }
    }
    for (const Region& region : instruction.regions) {
      for (const Instruction& inner : region.body) AddTouched(inner, statement, touched);
    }
  }

  Kernel& kernel_;
  const Touched nothing_;
  int32_t statements_ = 0;
};

}  // namespace

void PlaceBarriers(Kernel& kernel) {
  Placer placer(kernel);
  Pending pending = placer.Nothing();
  placer.Walk(kernel.body, Op::kBarrier, pending);
  if (placer.ReadsAfar(pending.cluster)) kernel.body.body.push_back({.op = Op::kClusterBarrier});
}

}  // namespace hlo::kernel
