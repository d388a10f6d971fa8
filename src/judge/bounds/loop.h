// Loops, with a plan of the steps of a trip. Private to judge/bounds.
#ifndef HLO_JUDGE_BOUNDS_LOOP_H_
#define HLO_JUDGE_BOUNDS_LOOP_H_

#include <memory>
#include <unordered_map>
#include <vector>

#include "judge/bounds/prepared.h"

namespace hlo::shadow {

// A computation as a list of steps, including the steps of fusions and calls. Tuples are steps only if read as a whole.
// Steps that depend only on unchanged state and given values run in the first trip only. Otherwise a sum of a million
// elements in a loop of a million trips would take hours.
class Repeated {
 public:
  // `unchanged` marks state elements that never change.
  Repeated(const Computation& computation, const std::vector<bool>& unchanged)
      : root_(computation.root()), unchanged_(unchanged) {}

  // Stores the root's value in `result`, whose memory is reused. After the first trip, `result` must hold the initial
  // state or an earlier result.
  Status Run(Context& context, Operands args, ShadowValue& result);
  void Restart();
  // Scalar steps (judge/bounds/slice.h) of each later trip.
  int64_t later_steps() const { return later_steps_; }

 private:
  enum class Kind { kArgument, kElement, kGiven, kInstruction };
  struct Step {
    Kind kind = Kind::kInstruction;
    const Instruction* inst = nullptr;
    std::vector<int> operands;                      // Step numbers.
    int64_t index = 0;                              // Number of the argument or state element.
    bool is_unchanged = false;                      // Later trips have the value of the first trip.
    bool is_kept = false;                           // The value is kept for later trips.
    bool is_repeated = false;                       // Later trips compute the step again.
    bool is_large = false;                          // The value is released after its last use in a trip.
    int output = -1;                                // The output that this step computes, or -1.
    std::vector<int> last_in_first, last_in_later;  // Large values that this step reads last.
    std::unique_ptr<PreparedElementwise> rule;
  };
  // A step's value, or the elements of a tuple without a step.
  struct Named {
    int step = -1;
    const Instruction* tuple = nullptr;
    std::vector<Named> elements;
  };
  using Scope = std::unordered_map<const Instruction*, Named>;

  void Plan(const Context& context);
  Named PlanRoot(const Context& context, const Instruction& root, const std::vector<Named>* args);
  Named PlanInstruction(const Context& context, const Instruction& inst, const Scope& scope,
                        const std::vector<Named>* args);
  int StepOf(const Context& context, const Named& value);
  int AddStep(const Context& context, Step step);
  const Computation* Dissolved(const Context& context, const Instruction& inst) const;
  bool IsUnchanged(const Step& step) const;
  bool IsPassedOn(size_t output) const;
  void PlanLaterTrips();
  void PlanLastReads();
  int OwnerOf(int step) const;

  Status RunSteps(Context& context, Operands args, ShadowValue& result);
  Status RunStep(Context& context, Operands args, int number, ShadowValue& result);
  void HandOut(const Context& context, ShadowValue& result);
  ShadowValue& OutputOf(size_t output, ShadowValue& result) const {
    return is_tuple_ ? result.elements[output] : result;
  }

  // Limits on elements of a kept value, and of a value that stays allocated between trips.
  static constexpr int64_t kMostKept = 1 << 20, kMostLeft = 1 << 8;
  static constexpr size_t kMostSteps = 1 << 14;

  const Instruction& root_;
  const std::vector<bool> unchanged_;
  int64_t trips_ = 0, later_steps_ = 0;
  std::vector<Step> steps_;
  std::vector<int> outputs_;
  bool is_tuple_ = false;
  std::vector<int> last_out_;
  std::vector<const ShadowValue*> at_;  // The value of each step.
  std::vector<ShadowValue> made_;
  std::vector<const ShadowValue*> operands_;
  int called_ = 0;  // Depth of nested calls during planning.
};

// A while loop, whose plan is reused.
class Loop {
 public:
  explicit Loop(const Instruction& loop);
  Result<ShadowValue> Run(Context& context, const ShadowValue& init);

 private:
  const Instruction& loop_;
  Repeated condition_, body_;
};

}  // namespace hlo::shadow

#endif  // HLO_JUDGE_BOUNDS_LOOP_H_
