// Values that a pass must keep: which instructions of two modules have the same value, and whether two runs agree on
// them. The runs are observed as hashes of values, so a run may compute anything that can be hashed (bits.h,
// residues.h).
#ifndef HLO_JUDGE_KEPT_VALUES_H_
#define HLO_JUDGE_KEPT_VALUES_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/module.h"

namespace hlo {

uint64_t Mixed(uint64_t a, uint64_t b);

bool HasSeveralDevices(const Module& module);

// The module whose ids the origins of the module after the passes are.
enum class OriginsOf : uint8_t {
  // The module before: the module after was made from before.Clone(/*as_input=*/true).
  kBefore,
  // An earlier module, from which both come. The module before is a clone (`as_input` false) of an earlier state of the
  // module after. Instructions with the same id are the same instruction. A new instruction is compared with the
  // instructions of the module before that have its origin; if there are several, with the set of their values.
  kAncestor,
};

class Origins {
 public:
  Origins(const Module& before, OriginsOf origins);

  // Instructions of the module before whose value `after` has; shapes may differ. Empty: there are none.
  std::vector<const Instruction*> Of(const Instruction& after) const;

 private:
  const Instruction* ById(int id) const;

  OriginsOf origins_;
  std::vector<const Instruction*> by_id_;
  std::unordered_map<int, std::vector<const Instruction*>> by_origin_;
};

struct KeptPair {
  const Instruction* after;
  std::vector<const Instruction*> before;  // `after` has the value of one of these instructions.
};

// Arrays with an origin. The parameters of the entries are equal anyway.
std::vector<KeptPair> KeptPairs(const Module& after, const Origins& origins);

// Loops around the instruction that runs now, the outermost first, each with its iteration.
using LoopPath = std::vector<std::pair<const Instruction*, int64_t>>;

// Observations of one run.
class ObservedRun {
 public:
  // The values of one instruction.
  struct Values {
    int64_t executions = 0;
    uint64_t sequence = 0;         // Hash of all values in order.
    std::vector<uint64_t> hashes;  // Hashes of the first kMostExecutions values.
    bool open = false;             // Some value may differ in the other run without being wrong.
  };
  // The iterations of one loop.
  struct Loop {
    int64_t now = 0;       // Of the execution under way.
    int64_t most = 0;      // Of any execution.
    bool skipped = false;  // Some execution had no iteration.
  };
  // Executions of one instruction whose values are kept apart. Beyond them only the sequence of all values is compared.
  static constexpr int64_t kMostExecutions = 1 << 14;

  explicit ObservedRun(size_t ids = 0) : values_(ids) {}

  void AddValue(const Instruction& inst, uint64_t hash, bool open = false);
  void BeginIteration(const Instruction& loop, int64_t iteration);
  void EndLoop(const Instruction& loop);

  const Values& Of(const Instruction& inst) const { return values_[inst.id()]; }
  // Null: the loop did not run.
  const Loop* LoopOf(const Instruction& loop) const;
  const LoopPath& path() const { return path_; }

 private:
  std::vector<Values> values_;  // By id.
  std::unordered_map<const Instruction*, Loop> loops_;
  LoopPath path_;
};

// By computation id, whether a pass may compute its values for states in which the module did not compute them: it runs
// in a conditional, or in the body of a loop that had no iteration at some time. Iterations of several devices are not
// told apart, so all loops of such a module count.
std::vector<bool> ConditionalComputations(const Module& module, const ObservedRun& run);

enum class Agreement : uint8_t { kEqual, kDiffers, kNotCompared };

// `conditional`: ConditionalComputations of the module before.
Agreement AgreementOf(const KeptPair& pair, const ObservedRun& before, const ObservedRun& after,
                      const std::vector<bool>& conditional);
// The hashes of all values that the pair may have, sorted.
std::vector<uint64_t> ValuesBefore(const KeptPair& pair, const ObservedRun& before);

}  // namespace hlo

#endif  // HLO_JUDGE_KEPT_VALUES_H_
