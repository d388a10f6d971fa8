// Checks a run against the optimized module: order, trips and branches, and that each step reads what earlier steps
// computed. This finds faults of the run time. Results of steps are not judged.
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

// Follows a run through the module. A value is a hash of its bytes in memory, which views keep.
class DataflowCheck {
 public:
  // `module` is Executable::module().
  DataflowCheck(const Module& module, std::span<const Literal> arguments);

  // Call for every step that ran.
  void Step(const Instruction& step, std::span<const gpu::LoopStep> loops, std::span<const Literal> inputs,
            const Literal& output);
  void End(const Literal& outputs);

  const std::string& fault() const { return fault_; }
  const std::string& culprit() const { return culprit_; }  // The instruction with the fault.
  int64_t steps() const { return steps_; }
  int64_t operands() const { return operands_; }

 private:
  // `number` is the value of a single pred or s32, which may select a branch.
  struct Leaf {
    uint64_t bits = 0;
    int32_t number = 0;
  };
  using Value = std::vector<Leaf>;  // In the order of ForEachLeaf.

  struct Frame {
    const Computation* computation;
    std::vector<Instruction*> order;
    const Instruction* caller;  // A while, conditional or call. Null for the entry.
    int64_t iteration;
    size_t next = 0;
  };

  // Each computation has one caller (gpu::Prepare), so an instruction has one value at a time.
  Value& Of(const Instruction& inst) { return values_[inst.id()]; }
  Leaf LeafOf(const Instruction& inst, const Shape& shape, const Literal& literal);
  Value ValueOf(const Instruction& inst, const Literal& literal);

  // The step that must run next. Null at the end of the module.
  const Instruction* Due();
  void View(const Instruction& inst);
  void Enter(const Instruction& caller);
  void Push(const Computation& computation, const Instruction* caller, int64_t iteration = 0);
  void Leave();
  std::vector<gpu::LoopStep> Loops() const;
  void Fail(const Instruction& where, std::span<const gpu::LoopStep> loops, const std::string& what);

  std::vector<Value> values_;  // Indexed by id.
  std::vector<Frame> frames_;
  const Computation& entry_;
  std::string fault_, culprit_;
  int64_t steps_ = 0, operands_ = 0;
};

bool IsInCondition(const Instruction& inst, const gpu::LoopStep& step);

struct FollowedRun {
  DataflowSummary summary;
  std::string fault, culprit;
  // The key is the id of the loop. Loops without trips are missing.
  std::map<int, int64_t> last_iterations;
  std::vector<int64_t> runs;  // Indexed like Executable::steps().
};

// Whether wrong values may have caused the error: an endless loop, or a size that does not fit.
bool MayComeOfWrongValues(const Error& error);

// Runs the executable, bound to `arguments`, and checks each step. If the run fails without a fault, returns its error.
// With `unfinished`, ends at the first fault, and does not return errors that wrong values may cause.
Result<FollowedRun> Follow(gpu::Executable& executable, std::span<const Literal> arguments, bool unfinished = false);

std::string ToString(const DataflowSummary& dataflow);

// "" or " in iteration 12 of 'while.3'".
std::string LoopText(std::span<const gpu::LoopStep> loops);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_DATAFLOW_CHECK_H_
