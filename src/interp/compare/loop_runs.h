// The states that two loops are compared on: those that one of them goes through. Internal to interp/compare.
#ifndef HLO_INTERP_COMPARE_LOOP_RUNS_H_
#define HLO_INTERP_COMPARE_LOOP_RUNS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "interp/shadow/shadow.h"

namespace hlo {

struct LoopState {
  int64_t iteration = 0;
  ShadowValue value;
  bool ends = false;  // No iteration begins with it.
};

struct LoopRun {
  std::vector<LoopState> states;  // In order.
  ShadowValue result;
};

// Of loops nested 2,000 deep each would run all that are in it, once for itself and once for each that it is in. So a
// run notes what the loops in it do, as far as they go round once: loops nested deep that go round more often never
// end.
class LoopRuns {
 public:
  // Of a run the first state, `iterations` seeded ones and the last.
  LoopRuns(uint64_t seed, int64_t iterations) : seed_(seed), iterations_(iterations) {}

  // From this state, when a run noted it.
  std::optional<LoopRun> Noted(const Instruction& loop, const ShadowValue& start) const;
  // `args`: of the loop's computation.
  Result<LoopRun> Run(const Instruction& loop, std::span<const ShadowValue> args, ShadowOptions options);

 private:
  struct Once {
    ShadowValue start;
    std::optional<ShadowValue> result;  // Nothing: it has not ended.
  };

  void NoteIteration(const Instruction& loop, int64_t iteration, const ShadowValue& state);
  void NoteResult(const Instruction& loop, const ShadowValue& result);

  const uint64_t seed_;
  const int64_t iterations_;
  std::unordered_map<const Instruction*, Once> once_;
};

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_LOOP_RUNS_H_
