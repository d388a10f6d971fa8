// Runs a loop and selects states for its comparison with another. Internal to judge/compare.
#ifndef HLO_JUDGE_COMPARE_LOOP_RUNS_H_
#define HLO_JUDGE_COMPARE_LOOP_RUNS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "judge/bounds/shadow.h"

namespace hlo {

struct LoopState {
  int64_t iteration = 0;
  ShadowValue value;
  bool ends = false;  // The loop ends with this state.
};

struct LoopRun {
  std::vector<LoopState> states;
  ShadowValue result;
};

// Also records inner loops that iterate at most once, for Noted. Otherwise each loop of a deep nest would run all inner
// loops again.
class LoopRuns {
 public:
  // Keeps the first state, the last, and `iterations` others, selected by `seed`.
  LoopRuns(uint64_t seed, int64_t iterations) : seed_(seed), iterations_(iterations) {}

  std::optional<LoopRun> Noted(const Instruction& loop, const ShadowValue& start) const;
  // `args` are the arguments of the loop's computation.
  Result<LoopRun> Run(const Instruction& loop, std::span<const ShadowValue> args, ShadowOptions options);

 private:
  struct Once {
    ShadowValue start;
    std::optional<ShadowValue> result;  // nullopt: the loop has not ended.
  };

  void NoteIteration(const Instruction& loop, int64_t iteration, const ShadowValue& state);
  void NoteResult(const Instruction& loop, const ShadowValue& result);

  const uint64_t seed_;
  const int64_t iterations_;
  std::unordered_map<const Instruction*, Once> once_;
};

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_LOOP_RUNS_H_
