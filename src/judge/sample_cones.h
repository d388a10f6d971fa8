// Cones of the values that samples compare. Private to judge.
#ifndef HLO_JUDGE_SAMPLE_CONES_H_
#define HLO_JUDGE_SAMPLE_CONES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "judge/bounds/slice.h"
#include "judge/loop_states.h"
#include "judge/sample.h"
#include "judge/value_numbers.h"

namespace hlo {

struct Place {
  const Instruction* inst = nullptr;
  int64_t element = -1;  // -1: the instruction itself.
};

const Shape& ShapeOf(const Place& place);

// Numbers of values in memory that slices compute again. `all` means all of them.
struct Cut {
  std::set<int> computed;
  bool all = false;
};

class SampleCones {
 public:
  // Elements of a loop's state, by value number.
  using State = std::unordered_map<int, std::shared_ptr<const Literal>>;

  SampleCones(const Module& before, const Module& after, std::span<const Literal> args, const SampleOptions& options,
              const ValueNumbers& numbers);

  void GiveLeft(const Module& before, const Origins& origins);
  bool IsLeft(int number) const { return left_.contains(number); }
  bool HasLeft() const { return !left_.empty(); }
  void SetState(State state) { state_ = std::move(state); }

  void DropGiven() { held_.clear(); }
  // Returns nullopt if an argument of a loop's body is missing, or a value has a dynamic size or cannot be computed
  // again.
  Result<std::optional<shadow::Cone>> Of(const Place& place, const Cut& cut);

  const Instruction* LoopAround(const Instruction& inst) const;
  const LoopOfComputation& loops_before() const { return loops_before_; }
  const LoopOfComputation& loops_after() const { return loops_after_; }

 private:
  Result<std::shared_ptr<const Literal>> Given(const Instruction& inst, int number, const Cut& cut);
  Result<std::shared_ptr<const Literal>> ElementOf(const Instruction& loop, int64_t element, int number);

  const std::span<const Literal> args_;
  const SampleOptions& options_;
  const ValueNumbers& numbers_;
  const LoopOfComputation loops_before_, loops_after_;
  std::unordered_map<int, int> left_;  // Key: value number. Value: id in the input of a value in memory.
  State state_;                        // The judged state.
  State starts_;                       // Elements that no iteration changes.
  std::vector<std::shared_ptr<const Literal>> held_;
};

std::vector<Literal> ArgumentsOf(const shadow::Cone& cone);
// Steps of all iterations of the loops in a cone. Cone::steps counts only one iteration of each.
double StepsOfLoops(const Computation& computation);

}  // namespace hlo

#endif  // HLO_JUDGE_SAMPLE_CONES_H_
