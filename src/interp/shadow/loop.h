// Loops: computations that run again and again on a state. What a trip needs is found once, so that a trip costs what
// its instructions do. Private to interp/shadow*.cpp.
#ifndef HLO_INTERP_SHADOW_LOOP_H_
#define HLO_INTERP_SHADOW_LOOP_H_

#include <memory>
#include <unordered_map>
#include <vector>

#include "interp/shadow/prepared.h"

namespace hlo::shadow {

// A computation as a list of steps, those of the fusions and calls in it among them. Tuples are no steps: who takes one
// apart reads what it was made of.
//
// Some elements of the state stay what they are. What is computed from those alone, and what is given, is so in the
// first trip; in later ones it is what it was. A sum of a million elements in a loop of a million trips would take
// hours.
class Repeated {
 public:
  // `unchanged`: by element of the state.
  Repeated(const Computation& computation, const std::vector<bool>& unchanged)
      : root_(computation.root()), unchanged_(unchanged) {}

  // The root's value. `result` holds what the loop began with or what an earlier trip gave, whose memory is used again;
  // before the first trip, anything.
  Status Run(Context& context, Operands args, ShadowValue& result);
  // The next trip is a first one.
  void Restart();
  // Scalar steps (interp/shadow/slice.h) of each trip after the first.
  int64_t later_steps() const { return later_steps_; }

 private:
  enum class Kind { kArgument, kElement, kGiven, kInstruction };
  struct Step {
    Kind kind = Kind::kInstruction;
    const Instruction* inst = nullptr;
    std::vector<int> operands;                      // Steps.
    int64_t index = 0;                              // Of the argument, or of the element.
    bool is_unchanged = false;                      // In later trips it is what it was in the first,
    bool is_kept = false;                           // and stays.
    bool is_repeated = false;                       // Later trips need it anew.
    bool is_large = false;                          // Not left until the next trip makes it anew.
    int output = -1;                                // What it makes is this one.
    std::vector<int> last_in_first, last_in_later;  // Large values that it is the last to read, in such a trip.
    std::unique_ptr<PreparedElementwise> rule;
  };
  // What an instruction gives: a step's value or, of a tuple that no step makes, its elements.
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

  // Elements of a value; larger ones take too much memory.
  static constexpr int64_t kMostKept = 1 << 20, kMostLeft = 1 << 8;
  // With those of what is called.
  static constexpr size_t kMostSteps = 1 << 14;

  const Instruction& root_;
  const std::vector<bool> unchanged_;
  int64_t trips_ = 0, later_steps_ = 0;
  std::vector<Step> steps_;
  std::vector<int> outputs_;  // Steps: of the elements of the root, or of the root.
  bool is_tuple_ = false;
  std::vector<int> last_out_;           // Large values that are done with when all is handed out.
  std::vector<const ShadowValue*> at_;  // By step.
  std::vector<ShadowValue> made_;       // By step; arguments, their elements and results lie elsewhere.
  std::vector<const ShadowValue*> operands_;
  int called_ = 0;  // Of planning: calls in each other.
};

// A while, from run to run.
class Loop {
 public:
  explicit Loop(const Instruction& loop);
  Result<ShadowValue> Run(Context& context, const ShadowValue& init);

 private:
  const Instruction& loop_;
  Repeated condition_, body_;
};

}  // namespace hlo::shadow

#endif  // HLO_INTERP_SHADOW_LOOP_H_
