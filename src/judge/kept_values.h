// Finds instructions of two modules that must have the same value, and compares these values in two runs, by hashes of
// literals (bits.h) or of residues (residues.h).
#ifndef HLO_JUDGE_KEPT_VALUES_H_
#define HLO_JUDGE_KEPT_VALUES_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "ir/module.h"

namespace hlo {

uint64_t Mixed(uint64_t a, uint64_t b);

bool HasSeveralDevices(const Module& module);

bool HaveSameSignature(const Module& before, const Module& after);

enum class OriginsOf : uint8_t {
  // Origins are ids of the module before. The module after was made from before.Clone(/*as_input=*/true).
  kBefore,
  // Origins are ids of an earlier module, the ancestor of both. The module before is a clone (`as_input` false) of an
  // earlier state of the module after, so equal ids are the same instruction. A new instruction is compared with all
  // instructions of the same origin.
  kAncestor,
};

class Origins {
 public:
  Origins(const Module& before, OriginsOf origins);

  // Instructions of the module before whose value `after` has. Shapes may differ.
  std::vector<const Instruction*> Of(const Instruction& after) const;
  // The id of `before` in the module to which origins refer, or -1 if a pass made the instruction.
  int InputId(const Instruction& before) const {
    return origins_ == OriginsOf::kBefore ? before.id() : before.origin();
  }

 private:
  const Instruction* ById(int id) const;

  OriginsOf origins_;
  std::vector<const Instruction*> by_id_;
  std::unordered_map<int, std::vector<const Instruction*>> by_origin_;
};

struct KeptPair {
  const Instruction* after;
  std::vector<const Instruction*> before;  // `after` should have the value of one of these.
};

// Pairs of arrays. Parameters of the entry are equal and left out.
std::vector<KeptPair> KeptPairs(const Module& after, const Origins& origins);

struct KeptValues {
  KeptValues(const Module& before, const Module& after, OriginsOf origins_of);

  Origins origins;
  std::vector<KeptPair> pairs;
  std::vector<bool> in_before, in_after;  // Whether an instruction is in a pair, by id.
};

// The loops around an instruction and their iterations, outermost first.
using LoopPath = std::vector<std::pair<const Instruction*, int64_t>>;

class ObservedRun {
 public:
  struct Values {
    int64_t executions = 0;
    uint64_t sequence = 0;         // Hash of all values in order.
    std::vector<uint64_t> hashes;  // The first kMostExecutions hashes.
    bool open = false;             // Some value may differ between the runs without being wrong.
  };
  struct Loop {
    int64_t now = 0;       // Iterations of the current execution.
    int64_t most = 0;      // Most iterations of a finished execution.
    bool skipped = false;  // Some finished execution had no iteration.
  };
  // With more executions, only `sequence` is compared. If it differs, the values are not compared.
  static constexpr int64_t kMostExecutions = 1 << 14;

  explicit ObservedRun(size_t ids = 0) : values_(ids), executions_(ids) {}

  // Call this for each instruction that ran, before AddValue.
  void Executed(const Instruction& inst);
  void AddValue(const Instruction& inst, uint64_t hash, bool open = false);
  void BeginIteration(const Instruction& loop, int64_t iteration);

  const Values& Of(const Instruction& inst) const { return values_[inst.id()]; }
  int64_t ExecutionsOf(const Instruction& inst) const { return executions_[inst.id()]; }
  // Null if the loop did not run.
  const Loop* LoopOf(const Instruction& loop) const;
  const LoopPath& path() const { return path_; }

 private:
  void EndLoop(const Instruction& loop);

  std::vector<Values> values_;
  std::vector<int64_t> executions_;
  std::unordered_map<const Instruction*, Loop> loops_;
  LoopPath path_;
};

struct ComparedValues {
  std::vector<const KeptPair*> different;  // In the order of KeptValues::pairs.
  int64_t values = 0, elements = 0;
};
ComparedValues CompareValues(const KeptValues& kept, const Module& before, const ObservedRun& run_before,
                             const ObservedRun& run_after);
// Sorted hashes of all values of pair.before, which pair.after may have.
std::vector<uint64_t> ValuesBefore(const KeptPair& pair, const ObservedRun& before);

// The first value of the module after, in order of execution, that no counterpart in the module before has.
template <class Value>
struct FirstDifference {
  const KeptPair* pair = nullptr;
  const Instruction* before = nullptr;  // The first instruction of pair->before that ran.
  std::string loop;  // "iteration 3 of 'while.5'", from 0. Empty outside of loops, and on several devices.
  std::optional<Value> actual;
  std::optional<Value> expected;  // The value of `before` in the same execution, or in its last.
};

// Runs both modules again to find the first difference. observe(module, wanted, watch) runs a module and passes values
// of `wanted`, which is indexed by id, to watch(instruction, value, loop path). `hash` must be the function that hashed
// the values of `run_before`.
template <class Value, class Observe, class Hash>
FirstDifference<Value> FindFirstDifference(const Module& before, const Module& after,
                                           const std::vector<const KeptPair*>& different, const ObservedRun& run_before,
                                           Observe&& observe, Hash&& hash) {
  std::unordered_map<const Instruction*, std::pair<const KeptPair*, std::vector<uint64_t>>> watched;
  std::vector<bool> wanted(after.id_limit());
  for (const KeptPair* pair : different) {
    watched[pair->after] = {pair, ValuesBefore(*pair, run_before)};
    wanted[pair->after->id()] = true;
  }
  FirstDifference<Value> first;
  std::unordered_map<const Instruction*, int64_t> executions;
  int64_t number = 0;
  observe(after, wanted, [&](const Instruction& inst, const Value& value, const LoopPath& path) {
    const int64_t execution = executions[&inst]++;
    if (first.pair != nullptr || std::ranges::binary_search(watched[&inst].second, hash(value))) return;
    first.pair = watched[&inst].first;
    first.actual = value;
    number = execution;
    if (!path.empty() && !HasSeveralDevices(after))
      first.loop = Str("iteration ", path.back().second, " of '", path.back().first->name(), "'");
  });
  first.before = *std::ranges::find_if(first.pair->before,
                                       [&](const Instruction* inst) { return run_before.Of(*inst).executions > 0; });
  std::vector<bool> wanted_before(before.id_limit());
  wanted_before[first.before->id()] = true;
  observe(before, wanted_before, [&](const Instruction&, const Value& value, const LoopPath&) {
    if (number-- >= 0) first.expected = value;
  });
  return first;
}

}  // namespace hlo

#endif  // HLO_JUDGE_KEPT_VALUES_H_
