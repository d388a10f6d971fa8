#include "gpu/kernel/barriers.h"

#include <utility>

namespace hlo::kernel {
namespace {

constexpr int32_t kNobody = -1, kSeveral = -2;

// The arrays that statements touch; by index into Kernel::arrays.
struct Touched {
  std::vector<bool> reads;
  std::vector<int32_t> writers;  // A statement, kNobody or kSeveral.

  explicit Touched(size_t arrays) : reads(arrays), writers(arrays, kNobody) {}

  void Write(size_t array, int32_t statement) {
    int32_t& writer = writers[array];
    writer = writer == kNobody || writer == statement ? statement : kSeveral;
  }

  void Merge(const Touched& other) {
    for (size_t i = 0; i < reads.size(); ++i) {
      if (other.reads[i]) reads[i] = true;
      if (other.writers[i] != kNobody) Write(i, other.writers[i]);
    }
  }

  bool ConflictsWith(const Touched& other) const {
    for (size_t i = 0; i < reads.size(); ++i) {
      const bool writes = writers[i] != kNobody, other_writes = other.writers[i] != kNobody;
      if ((writes && other.reads[i]) || (reads[i] && other_writes)) return true;
      const bool same_statement = writers[i] == other.writers[i] && writers[i] != kSeveral;
      if (writes && other_writes && !same_statement) return true;
    }
    return false;
  }
};

class Placer {
 public:
  explicit Placer(Kernel& kernel) : kernel_(kernel), nothing_(kernel.arrays.size()) { Number(kernel.body); }

  // Walks one region with what is pending at its begin; leaves what is pending at its end.
  void Walk(Region& region, Op barrier, Touched& pending) {
    std::vector<Instruction> body;
    body.reserve(region.body.size());
    for (Instruction& instruction : region.body) {
      switch (instruction.op) {
        case Op::kLoop: {
          // The begin of the body follows its own end.
          Region trial = instruction.regions[0];
          Touched end = pending;
          Walk(trial, barrier, end);
          Touched begin = pending;
          begin.Merge(end);
          Walk(instruction.regions[0], barrier, begin);
          pending.Merge(begin);
          break;
        }
        case Op::kIf: {
          Touched joined = instruction.regions.size() == 1 ? pending : nothing_;
          for (Region& branch : instruction.regions) {
            Touched end = pending;
            Walk(branch, barrier, end);
            joined.Merge(end);
          }
          pending = std::move(joined);
          break;
        }
        case Op::kArrive: pending = nothing_; break;
        default: {
          const Touched touched = TouchedBy(instruction);
          if (pending.ConflictsWith(touched)) {
            body.push_back({.op = barrier, .source = instruction.source});
            pending = nothing_;
          }
          pending.Merge(touched);
          if (instruction.op == Op::kWarps) {
            Touched in_warp = nothing_;
            Walk(instruction.regions[0], Op::kWarpBarrier, in_warp);
          }
        }
      }
      body.push_back(std::move(instruction));
    }
    region.body = std::move(body);
  }

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
  Touched pending(kernel.arrays.size());
  Placer(kernel).Walk(kernel.body, Op::kBarrier, pending);
}

}  // namespace hlo::kernel
