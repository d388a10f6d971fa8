// The meaning of a program, plainly: every other way to compute is compared with this one. docs/ops.md tells it.
//
// Values are literals in logical row-major order. Sums go along the summed index in sequence, or where they are held in
// a wider type in an order that hangs on the shape alone: the same module and arguments give the same bits everywhere.
// What is not implemented returns an error of kUnsupported that names the op; nothing is approximated.
//
// Calls, loops and branches are frames on an explicit stack; deep nesting costs memory, not stack. Several devices take
// turns: each runs until it needs what another has yet to give.
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

// The bits of NaNs that an instruction sees if it reads bits of floats (nan_bits.h).
enum class NanBits : uint8_t {
  kOwn,       // Those that the NaN has.
  kPositive,  // The positive quiet NaN without a payload, for every NaN.
  kNegative,  // All bits are ones, for every NaN. If the type has no such NaN, as kPositive.
};

struct InterpretOptions {
  int64_t memory_limit = 0;  // Bytes of values alive at once, planned before the run; 0: three quarters of the machine.
  int64_t max_depth = 8192;  // Frames of calls, loops and branches.
  int64_t max_loop_iterations = 0;          // Of one loop; 0: no limit.
  int64_t max_steps = 0;                    // Executed instructions; 0: no limit.
  uint64_t seed = 0;                        // Of `rng` and custom-call GetRngSeed.
  const std::atomic<bool>* stop = nullptr;  // Polled for each instruction; true ends the run with kInterrupted.
  NanBits nan_bits = NanBits::kOwn;

  // After each executed instruction, in order of execution, with its value; called computations too, but not the scalar
  // bodies of reduce and its like.
  std::function<void(const Instruction&, const Literal&)> on_value;
  // Changes the value of an instruction that computes, before anything sees it: a run with other roundings
  // (ensemble.h).
  std::function<Status(const Instruction&, std::span<const Literal> operands, Literal& value)> perturb;
  // Before iteration `iteration` (from 0) of a while: its state. After the last one it is not called.
  std::function<void(const Instruction& loop, int64_t iteration, const Literal& state)> on_iteration;
  // Value `number` (from 0) of the infeed, of the shape of the data that `infeed` reads; null: there is none, [R007].
  std::function<Result<Literal>(const Instruction& infeed, int64_t number)> infeed;
  // Takes value `number` of the outfeed of device 0; null: they are dropped.
  std::function<void(int64_t number, const Literal& value)> outfeed;
  // Cuts: an instruction for which this gives a value is not evaluated, and what only it needs is not either. Whether
  // it is null is asked once for each computation, the value each time.
  std::function<const Literal*(const Instruction&)> given;
};

// Three quarters of the machine, or of what its control group may use.
int64_t DefaultMemoryLimit();

// R004 when the values alive at once, arguments included, need more than memory_limit; planned, nothing is allocated.
Status CheckMemory(const Computation& computation, const InterpretOptions& options = {}, int64_t devices = 1);

// The value of the entry computation. Arguments must have the shapes of the parameters (layouts aside); the error
// [A004] names the parameter otherwise. What needs other devices is kUnsupported unless the module runs on one.
Result<Literal> Interpret(const Module& module, std::span<const Literal> args, const InterpretOptions& options = {});
Result<Literal> EvaluateComputation(const Computation& computation, std::span<const Literal> args,
                                    const InterpretOptions& options = {});
// replica_count * num_partitions of the module. Errors: [R004] more than one process runs; [R040] counts below 1.
Result<int64_t> DeviceCount(const Module& module);

// The value of the entry computation on each of the replica_count * num_partitions devices of the module; the number of
// a device is replica * num_partitions + partition. `args` by device, or once for all. Limits and observers hold for
// each device. Error [R040], with exit code 1, when devices wait for each other and none can go on: it says who waits
// where.
Result<std::vector<Literal>> InterpretDevices(const Module& module, std::span<const std::vector<Literal>> args,
                                              const InterpretOptions& options = {});
// One instruction, from the values of its operands.
Result<Literal> Evaluate(const Instruction& inst, std::span<const Literal> operands,
                         const InterpretOptions& options = {});

// Instructions as the steps of one run, one after the other: random states and feeds go on from step to step, and what
// is made ready of the computations that a step calls is kept. The module runs on one device, and outlives this.
class StepInterpreter {
 public:
  explicit StepInterpreter(InterpretOptions options);
  ~StepInterpreter();

  // A new run: random numbers and feeds begin anew.
  void Restart();
  // The value of an instruction from those of its operands.
  Result<Literal> Run(const Instruction& inst, std::span<const Literal> operands);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Bytes of values alive at once while `computation` runs, its arguments included; an upper bound from liveness.
int64_t PeakBytes(const Computation& computation);

// False for an op whose evaluation always answers kUnsupported: a custom-call to a target that is not known.
bool CanInterpret(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_INTERP_INTERPRETER_H_
