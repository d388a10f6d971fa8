// The base of the families of grown ops: random numbers, the pool of values, values of a requested shape, and intervals
// of floats.
#ifndef HLO_DRIVER_FUZZ_GROWER_H_
#define HLO_DRIVER_FUZZ_GROWER_H_

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "driver/fuzz/grow.h"
#include "ir/module.h"

namespace hlo {

// A SplitMix64 generator, because the distributions of the standard library differ between platforms.
class Chance {
 public:
  explicit Chance(uint64_t seed) : state_(seed) {}
  uint64_t Bits() {
    uint64_t x = state_ += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }
  int64_t Below(int64_t count) { return static_cast<int64_t>(Bits() % static_cast<uint64_t>(count)); }
  int64_t Between(int64_t low, int64_t high) { return low + Below(high - low + 1); }
  bool Percent(int64_t percent) { return Below(100) < percent; }
  template <class List>
  auto& OneOf(List& list) {
    return list[Below(std::ssize(list))];
  }
  template <class T>
  T OneOf(std::initializer_list<T> list) {
    return list.begin()[Below(static_cast<int64_t>(list.size()))];
  }
  // Distinct numbers below `limit`, in random order.
  std::vector<int64_t> Sample(int64_t limit, int64_t count);
  std::vector<int64_t> SortedSample(int64_t limit, int64_t count);

 private:
  uint64_t state_;
};

// The range of float elements, or of both parts of complex ones.
struct Interval {
  double low = 0, high = 0;
  double size() const { return std::max(std::abs(low), std::abs(high)); }
};

class Grower;

// `grow` adds an instruction and its operands and keeps the result, or returns false if values or budget do not allow
// it.
struct GrowRow {
  Opcode opcode;
  int weight;
  bool kernels;  // If false, the op is only interpreted, and is grown in a quarter of the modules.
  bool (*grow)(Grower& g, Opcode opcode);
};
class Grower {
 public:
  Grower(Module& module, const GrowOptions& options);

  void GrowEntry();

  Chance chance;

  // Infers the shape. The instruction is not in the pool until it is kept.
  Instruction& Add(Opcode opcode, Operands operands, Attributes attrs = NoAttrs());
  Instruction& AddShaped(Opcode opcode, Shape shape, Operands operands, Attributes attrs = NoAttrs());

  // Adds a value to the pool: an array, with a guard if it may become too large, or the elements of a tuple.
  void Keep(Instruction& inst);

  // ---- Values ----

  // A fitting value of the pool, or null. Usually prefers values without users.
  Instruction* Pick(const std::function<bool(const Shape&)>& fits);
  // An array with at least `least_rank` dimensions, from the pool or new.
  Instruction& PickOf(const std::function<bool(PrimitiveType)>& fits, int64_t least_rank = 0);
  // An array from the pool, adapted from a value of the pool, or new.
  Instruction& Any(PrimitiveType type, const Dims& dims);
  Instruction& Adapt(Instruction& value, PrimitiveType type, const Dims& dims);
  Instruction& Convert(Instruction& value, PrimitiveType type);
  Instruction& Leaf(PrimitiveType type, const Dims& dims);
  Instruction& Constant(PrimitiveType type, const Dims& dims);
  Instruction& Scalar(PrimitiveType type, double value);
  Instruction& Splat(PrimitiveType type, const Dims& dims, double value);
  Instruction& Parameter(const Shape& shape);

  PrimitiveType AnyType();
  Dims AnyDims(int64_t least_rank, int64_t most_rank);
  int64_t AnySize(int64_t most);
  int64_t max_elems() const { return options_.max_elems; }
  bool wide() const { return wide_; }

  // Takes multiply-adds from the budget. Returns false if it is exceeded.
  bool Spend(int64_t steps);

  // ---- Intervals ----

  Interval IntervalOf(const Instruction& value) const;
  void SetInterval(const Instruction& value, Interval interval);
  static double LimitOf(PrimitiveType type);  // The limit of the magnitude of floats in the pool.
  // `value`, kept within `limit` if its magnitude may be larger.
  Instruction& Bounded(Instruction& value, double limit);
  // `value` if it is complex or at least `least`, otherwise |value| + least.
  Instruction& Positive(Instruction& value, double least);

  // ---- Computations ----

  Computation& ScalarBinary(Opcode opcode, PrimitiveType type);
  // Calls `grow` with a new computation as the current one.
  Computation& InComputation(std::string_view name, const std::function<void()>& grow);
  // New leaves become parameters, and `operands` receives the caller's values for them.
  Computation& InOpenComputation(std::string_view name, Operands* operands, const std::function<void()>& grow);
  void GrowSome(int64_t count);
  Computation& computation() { return *scope_.computation; }
  int64_t depth() const { return scope_.depth; }
  int64_t most_depth() const { return options_.depth; }
  bool scalars_only() const { return scope_.scalars_only; }
  void SetScalarsOnly() { scope_.scalars_only = true; }
  int64_t budget() const { return scope_.budget; }
  void SetBudget(int64_t budget) { scope_.budget = budget; }
  std::vector<Instruction*> Unused();  // Values without users, except parameters.

 private:
  struct Scope {
    Computation* computation = nullptr;
    std::vector<Instruction*> pool;
    int64_t depth = 0;
    int64_t budget = 0;
    bool scalars_only = false;
    bool open = false;  // New leaves become parameters.
  };

  Instruction& AddUnchecked(Opcode opcode, Shape shape, Operands operands, Attributes attrs);
  void ChangeLayouts();
  void SetRoot();

  Module& module_;
  GrowOptions options_;
  bool wide_ = false;
  std::vector<GrowRow> rows_;
  int64_t steps_left_;
  Scope scope_;
  std::vector<Interval> intervals_;
  std::map<std::pair<Opcode, PrimitiveType>, Computation*> binaries_;
};

std::span<const GrowRow> ElementwiseRows();
std::span<const GrowRow> MovementRows();
std::span<const GrowRow> IndexingRows();
std::span<const GrowRow> ReductionRows();
std::span<const GrowRow> ContractionRows();
std::span<const GrowRow> ControlRows();
std::span<const GrowRow> LinearRows();

// States shardings over a mesh of 2 to 8 partitions.
void GrowShardings(Module& module, uint64_t seed);

}  // namespace hlo

#endif  // HLO_DRIVER_FUZZ_GROWER_H_
