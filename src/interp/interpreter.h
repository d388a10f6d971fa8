// The interpreter defines the meaning of programs (docs/ops.md).
//
// Sums are sequential along the summed index. A sum in a wider type may have another order, which depends only on the
// shape. So the same module and arguments give the same bits everywhere. Unsupported ops are errors that name the op.
// Nothing is approximated.
//
// Deep nesting takes memory instead of stack. Several devices run in turns, each until it needs another one's value.
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

// The bits of NaNs for instructions that read them (nan_bits.h). kOwn leaves them unchanged.
enum class NanBits : uint8_t {
  kOwn,
  kPositive,  // The quiet NaN without a payload.
  kNegative,  // All bits set, or kPositive if the type has no such NaN.
};

struct InterpretOptions {
  int64_t memory_limit = 0;                 // For live bytes. 0 is DefaultMemoryLimit.
  int64_t max_depth = 8192;                 // For nested calls, loops and branches.
  int64_t max_loop_iterations = 0;          // For each loop. 0 is unlimited.
  int64_t max_steps = 0;                    // Executed instructions. 0 is unlimited.
  uint64_t seed = 0;                        // For `rng` and the custom call GetRngSeed.
  const std::atomic<bool>* stop = nullptr;  // True ends the run with kInterrupted.
  NanBits nan_bits = NanBits::kOwn;

  // Called before a device of several continues. Until the next call, the other functions are called for `device`.
  std::function<void(int64_t device)> on_device;
  // Called after each executed instruction, but not in scalar bodies such as a reducer.
  std::function<void(const Instruction&, const Literal&)> on_value;
  // May change a value, for runs with other roundings (ensemble.h). Among collectives only those that reduce call it:
  // once for each operand in each group, with the operands of all members.
  std::function<Status(const Instruction&, std::span<const Literal> operands, Literal& value)> perturb;
  // Called before iteration `iteration` (from 0) of a while.
  std::function<void(const Instruction& loop, int64_t iteration, const Literal& state)> on_iteration;
  // Returns value `number` (from 0), with the data shape of `infeed`. Null means no infeed (R007).
  std::function<Result<Literal>(const Instruction& infeed, int64_t number)> infeed;
  // Receives the values of device 0. Null drops them.
  std::function<void(int64_t number, const Literal& value)> outfeed;
  // Returns a value that replaces the evaluation, or null. Instructions that only given values need are not evaluated
  // either. Called when a computation is prepared, and for each value.
  std::function<const Literal*(const Instruction&)> given;
};

// Three quarters of the machine's memory, or of the memory of its control group if that is less.
int64_t DefaultMemoryLimit();

// Error R004 if live values, including arguments, would exceed memory_limit, which `devices` devices share.
Status CheckMemory(const Computation& computation, const InterpretOptions& options = {}, int64_t devices = 1);

// Arguments must have the parameters' shapes, except for layouts (A004). Collectives of several devices are
// kUnsupported.
Result<Literal> Interpret(const Module& module, std::span<const Literal> args, const InterpretOptions& options = {});
Result<Literal> EvaluateComputation(const Computation& computation, std::span<const Literal> args,
                                    const InterpretOptions& options = {});
// replica_count * num_partitions. Errors: R004 for too many, R040 for counts below 1.
Result<int64_t> DeviceCount(const Module& module);

// The value on each device, indexed by replica * num_partitions + partition. `args` has an entry for each device, or
// one for all. Devices share memory_limit. Other limits, and observers, apply to each device. Error R040, with exit
// code 1, for a deadlock.
Result<std::vector<Literal>> InterpretDevices(const Module& module, std::span<const std::vector<Literal>> args,
                                              const InterpretOptions& options = {});
Result<Literal> Evaluate(const Instruction& inst, std::span<const Literal> operands,
                         const InterpretOptions& options = {});

// Evaluates consecutive steps of a run: random states and feeds continue. The module must run on one device and outlive
// this object.
class StepInterpreter {
 public:
  explicit StepInterpreter(InterpretOptions options);
  ~StepInterpreter();

  void Restart();
  Result<Literal> Run(const Instruction& inst, std::span<const Literal> operands);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// An upper bound, including arguments.
int64_t PeakBytes(const Computation& computation);

// False for custom calls of unknown targets.
bool CanInterpret(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_INTERP_INTERPRETER_H_
