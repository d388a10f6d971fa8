// The interpreter defines the meaning of programs (docs/ops.md). All other ways to compute are compared with it.
//
// Values are literals in row-major order. Sums are computed sequentially along the summed index. A sum that is held in
// a wider type may have another order, which depends only on the shape. So the same module and arguments give the same
// bits everywhere. Unsupported ops return a kUnsupported error that names the op; nothing is approximated.
//
// Calls, loops and branches are frames on an explicit stack, so deep nesting takes memory instead of stack. Several
// devices run in turns: each runs until it needs a value from another device.
#ifndef HLO_INTERP_INTERPRETER_H_
#define HLO_INTERP_INTERPRETER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <span>

#include "base/result.h"
#include "ir/literal.h"

namespace hlo {

class Computation;
class Instruction;
class Module;

// The bits of NaNs for instructions that read bits of floats (nan_bits.h).
enum class NanBits : uint8_t {
  kOwn,       // The actual bits.
  kPositive,  // Every NaN is the positive quiet NaN without a payload.
  kNegative,  // Every NaN has all bits set. Like kPositive for types without such a NaN.
};

struct InterpretOptions {
  int64_t memory_limit = 0;         // Limit of live bytes, planned before the run; 0 is three quarters of the memory.
  int64_t max_depth = 8192;         // Limit of nested calls, loops and branches.
  int64_t max_loop_iterations = 0;  // For each loop; 0 is unlimited.
  int64_t max_steps = 0;            // Executed instructions; 0 is unlimited.
  uint64_t seed = 0;                // For `rng` and the custom call GetRngSeed.
  const std::atomic<bool>* stop = nullptr;  // Checked for each instruction; true ends the run with kInterrupted.
  NanBits nan_bits = NanBits::kOwn;

  // Called after each executed instruction with its value, also in called computations, but not in scalar bodies such
  // as a reducer.
  std::function<void(const Instruction&, const Literal&)> on_value;
  // May change the value of a computing instruction before it is used, for runs with other roundings (ensemble.h).
  std::function<Status(const Instruction&, std::span<const Literal> operands, Literal& value)> perturb;
  // Called with the state before iteration `iteration` (from 0) of a while, but not after the last one.
  std::function<void(const Instruction& loop, int64_t iteration, const Literal& state)> on_iteration;
  // Value `number` (from 0) of the infeed, with the data shape of `infeed`. Null means no infeed (R007).
  std::function<Result<Literal>(const Instruction& infeed, int64_t number)> infeed;
  // Receives value `number` of the outfeed of device 0. Null drops the values.
  std::function<void(int64_t number, const Literal& value)> outfeed;
  // Cuts: an instruction with a given value is not evaluated, nor are instructions that only it needs. Called once for
  // each computation to find the cuts, and again for each value.
  std::function<const Literal*(const Instruction&)> given;
};

// Three quarters of the memory of the machine or of the control group.
int64_t DefaultMemoryLimit();

// R004 if the live values, including arguments, need more than memory_limit. A plan; allocates nothing.
Status CheckMemory(const Computation& computation, const InterpretOptions& options = {}, int64_t devices = 1);

// The value of the entry computation. Arguments must have the shapes of the parameters, except for layouts; error A004
// names a wrong parameter. Ops between devices are kUnsupported if the module runs on several.
Result<Literal> Interpret(const Module& module, std::span<const Literal> args, const InterpretOptions& options = {});
Result<Literal> EvaluateComputation(const Computation& computation, std::span<const Literal> args,
                                    const InterpretOptions& options = {});
// replica_count * num_partitions of the module. Errors: R004 if it is more than a process can run, R040 for counts
// below 1.
Result<int64_t> DeviceCount(const Module& module);

// The value of the entry computation on each device of the module, with the number replica * num_partitions +
// partition. `args` has an entry for each device, or one for all. Limits and observers apply to each device. Error
// R040, with exit code 1, for a deadlock: it names where each device waits.
Result<std::vector<Literal>> InterpretDevices(const Module& module, std::span<const std::vector<Literal>> args,
                                              const InterpretOptions& options = {});
Result<Literal> Evaluate(const Instruction& inst, std::span<const Literal> operands,
                         const InterpretOptions& options = {});

// Evaluates instructions as the consecutive steps of a run. Random states and feeds continue from step to step, and
// prepared computations are reused. The module must run on one device and outlive this object.
class StepInterpreter {
 public:
  explicit StepInterpreter(InterpretOptions options);
  ~StepInterpreter();

  // Starts a new run with initial random states and feeds.
  void Restart();
  Result<Literal> Run(const Instruction& inst, std::span<const Literal> operands);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// An upper bound for the live bytes while `computation` runs, including its arguments.
int64_t PeakBytes(const Computation& computation);

// False for ops that are always kUnsupported: custom calls of unknown targets.
bool CanInterpret(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_INTERP_INTERPRETER_H_
