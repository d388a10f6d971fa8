// What the families of grown ops (grow_*.cpp) share: chance, the pool, values of a wished shape, intervals.
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

// SplitMix64: all chance comes from here, none from the standard library, whose distributions differ by platform.
class Chance {
 public:
  explicit Chance(uint64_t seed) : state_(seed) {}
  uint64_t Bits() {
    uint64_t x = state_ += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }
  // In [0, count).
  int64_t Below(int64_t count) { return static_cast<int64_t>(Bits() % static_cast<uint64_t>(count)); }
  // In [low, high].
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
  // `count` of 0 .. limit - 1, in random order.
  std::vector<int64_t> Sample(int64_t limit, int64_t count);
  std::vector<int64_t> SortedSample(int64_t limit, int64_t count);

 private:
  uint64_t state_;
};

// Of the elements of a float value (of both parts of a complex one).
struct Interval {
  double low = 0, high = 0;
  double size() const { return std::max(std::abs(low), std::abs(high)); }
};

class Grower;

// One kind of instruction that can be grown. `grow` adds it and what it needs and keeps the result; false where the
// values at hand or the budget do not allow it.
struct GrowRow {
  Opcode opcode;
  int weight;
  bool kernels;  // Else interpreted only, so grown in a quarter of the modules.
  bool (*grow)(Grower& g, Opcode opcode);
};
class Grower {
 public:
  Grower(Module& module, const GrowOptions& options);

  // The whole module.
  void GrowEntry();

  Chance chance;

  // Adds an instruction whose shape follows from its operands. It is not in the pool until it is kept.
  Instruction& Add(Opcode opcode, Operands operands, Attributes attrs = NoAttrs());
  // For those whose result has to be written.
  Instruction& AddShaped(Opcode opcode, Shape shape, Operands operands, Attributes attrs = NoAttrs());

  // Into the pool: arrays as they are, behind a guard when they may become too large for what comes; tuples in parts.
  void Keep(Instruction& inst);

  // ---- Values ----

  // One of the pool for which `fits` holds; null when there is none. Those without users come first, most of the time.
  Instruction* Pick(const std::function<bool(const Shape&)>& fits);
  // Any array of these types, with at least `rank` dimensions; made when there is none.
  Instruction& PickOf(const std::function<bool(PrimitiveType)>& fits, int64_t least_rank = 0);
  // An array of this type and these sizes: of the pool, adapted, or new.
  Instruction& Any(PrimitiveType type, const Dims& dims);
  Instruction& Adapt(Instruction& value, PrimitiveType type, const Dims& dims);
  Instruction& Convert(Instruction& value, PrimitiveType type);
  // A new parameter or constant.
  Instruction& Leaf(PrimitiveType type, const Dims& dims);
  Instruction& Constant(PrimitiveType type, const Dims& dims);
  Instruction& Scalar(PrimitiveType type, double value);
  Instruction& Splat(PrimitiveType type, const Dims& dims, double value);
  Instruction& Parameter(const Shape& shape);

  PrimitiveType AnyType();
  Dims AnyDims(int64_t least_rank, int64_t most_rank);
  int64_t AnySize(int64_t most);  // Of one dimension.
  int64_t max_elems() const { return options_.max_elems; }
  // Modules that stay with what has kernels, and those (a quarter) that do not.
  bool wide() const { return wide_; }

  // Whether so many multiply-adds are still within the module's budget; counts them when they are.
  bool Spend(int64_t steps);

  // ---- Intervals ----

  Interval IntervalOf(const Instruction& value) const;
  void SetInterval(const Instruction& value, Interval interval);
  static double LimitOf(PrimitiveType type);  // What is kept of floats stays below.
  // `value`, or a guarded one of at most `limit`.
  Instruction& Bounded(Instruction& value, double limit);
  // |value| + least.
  Instruction& Positive(Instruction& value, double least);

  // ---- Computations ----

  // (x, y) -> x op y.
  Computation& ScalarBinary(Opcode opcode, PrimitiveType type);
  // Grows in a new computation what `grow` does there, and comes back.
  Computation& InComputation(std::string_view name, const std::function<void()>& grow);
  // New leaves become parameters there; `operands` are the values of the caller for them.
  Computation& InOpenComputation(std::string_view name, Operands* operands, const std::function<void()>& grow);
  void GrowSome(int64_t count);  // That many instructions, in this computation.
  Computation& computation() { return *scope_.computation; }
  int64_t depth() const { return scope_.depth; }
  int64_t most_depth() const { return options_.depth; }
  bool scalars_only() const { return scope_.scalars_only; }
  void SetScalarsOnly() { scope_.scalars_only = true; }
  int64_t budget() const { return scope_.budget; }
  void SetBudget(int64_t budget) { scope_.budget = budget; }
  std::vector<Instruction*> Unused();  // Of this computation; parameters are none.

 private:
  struct Scope {
    Computation* computation = nullptr;
    std::vector<Instruction*> pool;
    int64_t depth = 0;
    int64_t budget = 0;  // Instructions left to this computation.
    bool scalars_only = false;
    bool open = false;  // New parameters are welcome.
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
  std::vector<Interval> intervals_;  // By id.
  std::map<std::pair<Opcode, PrimitiveType>, Computation*> binaries_;
};

std::span<const GrowRow> ElementwiseRows();
std::span<const GrowRow> MovementRows();
std::span<const GrowRow> IndexingRows();
std::span<const GrowRow> ReductionRows();
std::span<const GrowRow> ContractionRows();
std::span<const GrowRow> ControlRows();
std::span<const GrowRow> LinearRows();

}  // namespace hlo

#endif  // HLO_DRIVER_FUZZ_GROWER_H_
