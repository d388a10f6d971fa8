// Checks the steps of a run against the optimized module. Steps must run in its order, once per trip of their loops and
// along the taken branches, and read the values that earlier steps left. The results of steps are not judged
// (run_check.h judges them). So faults of the run time show even if every kernel is right: in loops, branches, copies
// or buffer reuse.
#ifndef HLO_DRIVER_RUN_DATAFLOW_CHECK_H_
#define HLO_DRIVER_RUN_DATAFLOW_CHECK_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/run/run.h"
#include "gpu/runtime/executable.h"
#include "ir/literal.h"
#include "ir/module.h"

namespace hlo {

// Follows a run through the module. A value is represented by a hash of its bytes in memory, so views that change the
// shape keep it.
class DataflowCheck {
 public:
  // `module` is Executable::module(). `arguments` are the bound arguments.
  DataflowCheck(const Module& module, std::span<const Literal> arguments);

  // Must be called for every step that ran.
  void Step(const Instruction& step, std::span<const gpu::LoopStep> loops, std::span<const Literal> inputs,
            const Literal& output);
  // Must be called at the end of the run.
  void End(const Literal& outputs);

  const std::string& fault() const { return fault_; }
  const std::string& culprit() const { return culprit_; }  // The name of the instruction with the fault.
  int64_t steps() const { return steps_; }
  int64_t operands() const { return operands_; }

 private:
  // The bits of an array. `number` is the value of a single pred or s32, which may select a branch.
  struct Leaf {
    uint64_t bits = 0;
    int32_t number = 0;
  };
  using Value = std::vector<Leaf>;  // In the order of ForEachLeaf.

  struct Frame {
    const Computation* computation;
    std::vector<Instruction*> order;
    const Instruction* caller;  // A while, conditional or call. Null for the entry.
    int64_t iteration;          // The iteration of a while.
    size_t next = 0;
  };

  // Each computation is entered from one place (gpu::Prepare), so an instruction has one value at a time.
  Value& Of(const Instruction& inst) { return values_[inst.id()]; }
  Leaf LeafOf(const Instruction& inst, const Shape& shape, const Literal& literal);
  Value ValueOf(const Instruction& inst, const Literal& literal);

  // Advances to the next step of the module. Returns null at the end.
  const Instruction* Due();
  void View(const Instruction& inst);
  void Enter(const Instruction& caller);
  void Push(const Computation& computation, const Instruction* caller, int64_t iteration = 0);
  void Leave();
  std::vector<gpu::LoopStep> Loops() const;  // The current loops and their iterations.
  void Fail(const Instruction& where, std::span<const gpu::LoopStep> loops, const std::string& what);

  std::vector<Value> values_;  // Indexed by id.
  std::vector<Frame> frames_;
  const Computation& entry_;
  std::string fault_, culprit_;
  int64_t steps_ = 0, operands_ = 0;
};

// Whether `inst` is in the condition of the loop, and not in its body.
bool IsInCondition(const Instruction& inst, const gpu::LoopStep& step);

struct FollowedRun {
  DataflowSummary summary;
  std::string fault, culprit;
  // Last iterations of loop bodies, by the loop's id. Loops without trips are missing.
  std::map<int, int64_t> last_iterations;
  std::vector<int64_t> runs;  // The number of executions of each step of Executable::steps().
};

// Whether wrong values can cause the error: an endless loop, or a size that does not fit.
bool MayComeOfWrongValues(const Error& error);

// Executes with the bound arguments, which are `arguments`, and follows the values from step to step. Returns an error
// of the run unless a fault preceded it. If `unfinished`, an error that wrong values may cause (MayComeOfWrongValues)
// only ends the run.
Result<FollowedRun> Follow(gpu::Executable& executable, std::span<const Literal> arguments, bool unfinished = false);

std::string ToString(const DataflowSummary& dataflow);

// "" or " in iteration 12 of 'while.3'".
std::string LoopText(std::span<const gpu::LoopStep> loops);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_DATAFLOW_CHECK_H_
