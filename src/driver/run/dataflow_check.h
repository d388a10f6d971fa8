// Whether a run did what the optimized module says between its steps: in the order of the module, as often as loops ask
// for it and along the branches taken, each step reading what the steps before it left. What a step makes of that is
// not looked at here (run_check.h); its result is taken as it is. So a fault of the run time, in loops, branches,
// copies or the reuse of buffers, shows even where every kernel is right.
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

// Walks the module along with the run. Values are kept as hashes of their bytes in memory, so that views which change
// the shape keep them.
class DataflowCheck {
 public:
  // `module` is Executable::module(); `arguments` what was bound.
  DataflowCheck(const Module& module, std::span<const Literal> arguments);

  // A step that ran; to be called for every one.
  void Step(const Instruction& step, std::span<const gpu::LoopStep> loops, std::span<const Literal> inputs,
            const Literal& output);
  // The run is over, with these results.
  void End(const Literal& outputs);

  // What went wrong first; empty when nothing did.
  const std::string& fault() const { return fault_; }
  const std::string& culprit() const { return culprit_; }  // The name of the instruction where it showed.
  int64_t steps() const { return steps_; }
  int64_t operands() const { return operands_; }

 private:
  // An array: its bits, and its number when it is one pred or s32, which may select a branch.
  struct Leaf {
    uint64_t bits = 0;
    int32_t number = 0;
  };
  using Value = std::vector<Leaf>;  // In the order of ForEachLeaf.

  // A computation that is being walked.
  struct Frame {
    const Computation* computation;
    std::vector<Instruction*> order;
    const Instruction* caller;  // While, conditional or call; null for the entry.
    int64_t iteration;          // Of a while.
    size_t next = 0;
  };

  // Each computation is entered from one place (gpu::Prepare), so an instruction has one value at a time.
  Value& Of(const Instruction& inst) { return values_[inst.id()]; }
  Leaf LeafOf(const Instruction& inst, const Shape& shape, const Literal& literal);
  Value ValueOf(const Instruction& inst, const Literal& literal);

  // Walks on to the next step of the module. Null at the end.
  const Instruction* Due();
  void View(const Instruction& inst);
  void Enter(const Instruction& caller);
  void Push(const Computation& computation, const Instruction* caller, int64_t iteration = 0);
  void Leave();
  std::vector<gpu::LoopStep> Loops() const;  // Those that are being walked.
  void Fail(const Instruction& where, std::span<const gpu::LoopStep> loops, const std::string& what);

  std::vector<Value> values_;  // By id.
  std::vector<Frame> frames_;
  const Computation& entry_;
  std::string fault_, culprit_;
  int64_t steps_ = 0, operands_ = 0;
};

// Whether `inst` stands in the condition of the loop itself, and not in its body.
bool IsInCondition(const Instruction& inst, const gpu::LoopStep& step);

struct FollowedRun {
  DataflowSummary summary;
  std::string fault, culprit;              // As of DataflowCheck.
  std::map<int, int64_t> last_iterations;  // Of bodies, by the id of the loop; none of one without trips.
  std::vector<int64_t> runs;               // How often each of Executable::steps() ran.
};

// Whether wrong values may be the cause of a run's error: a loop that does not end, or a size that does not suit.
bool MayComeOfWrongValues(const Error& error);

// Executes with the bound arguments, which are `arguments`, and follows the values from step to step. An `unfinished`
// run, which such an error ends, is followed to the first fault or to the error. If there was no fault
// before, the errors of the run are returned.
Result<FollowedRun> Follow(gpu::Executable& executable, std::span<const Literal> arguments, bool unfinished = false);

std::string ToString(const DataflowSummary& dataflow);

// "" or " in iteration 12 of 'while.3'".
std::string LoopText(std::span<const gpu::LoopStep> loops);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_DATAFLOW_CHECK_H_
