// The internal interface of the interpreter: a handler for each opcode, and shared state of handlers. Internal to
// interp/.
#ifndef HLO_INTERP_EVALUATION_H_
#define HLO_INTERP_EVALUATION_H_

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>

#include "interp/interpreter.h"
#include "ir/instruction.h"

namespace hlo {

class ScalarBody;

// The position of a device in a run with several devices.
struct DevicePlace {
  int64_t replica = 0, partition = 0;
};

// The shared state of one interpretation.
class Session {
 public:
  explicit Session(const InterpretOptions& options, int nesting = 0, std::optional<DevicePlace> place = {});
  ~Session();
  Session(const Session&) = delete;

  const InterpretOptions& options() const { return options_; }
  // The scalar computation of a reduce or similar op, compiled on first use.
  Result<const ScalarBody*> Body(const Computation& computation);
  // Depth of nested interpretations, for scalar computations that do not only consist of elementwise ops.
  int nesting() const { return nesting_; }
  // Empty for one device interpreted alone, and for a computation within an instruction.
  const std::optional<DevicePlace>& place() const { return place_; }

  int64_t infeeds = 0, outfeeds = 0;  // Number of values read and written.
  uint64_t rng_state[2];              // Low word first. The state of rng-get-and-update-state and `rng`.

 private:
  const InterpretOptions& options_;
  const int nesting_;
  const std::optional<DevicePlace> place_;
  std::unordered_map<const Computation*, std::unique_ptr<ScalarBody>> bodies_;
};

struct Evaluation {
  const Instruction& inst;
  // Values of the operands. A value without later uses is not shared, so writing to it or moving it copies nothing.
  std::span<Literal> operands;
  Session& session;
};

using Handler = Result<Literal> (*)(Evaluation& e);
// Null for opcodes that the interpreter's frames handle (parameter, call, while, ...) and for exchanges between
// devices.
Handler HandlerOf(Opcode opcode);
// Whether the value comes from other devices or is sent to them (rendezvous.h).
constexpr bool MeetsDevices(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kCollectiveReduce:
    case Opcode::kRaggedAllToAll:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kReduceScatter:
    case Opcode::kSend: return true;
    default: return false;
  }
}

// A function for each opcode that is not elementwise. A missing one is a link error with its name.
#define HLO_OPCODE(Name, ...) Result<Literal> Eval##Name(Evaluation& e);
#include "ir/opcodes.inc"
Result<Literal> EvalElementwise(Evaluation& e);

// EvaluateComputation within an evaluation.
Result<Literal> EvaluateNested(const Computation& computation, std::span<const Literal> args,
                               const InterpretOptions& options, int nesting);

}  // namespace hlo

#endif  // HLO_INTERP_EVALUATION_H_
