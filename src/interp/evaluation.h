// How the parts of the interpreter meet: a handler for each opcode, and what handlers share. Internal to interp/.
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

// Where a device stands among those that run together.
struct DevicePlace {
  int64_t replica = 0, partition = 0;
};

// What one interpretation shares among its instructions.
class Session {
 public:
  explicit Session(const InterpretOptions& options, int nesting = 0, std::optional<DevicePlace> place = {});
  ~Session();
  Session(const Session&) = delete;

  const InterpretOptions& options() const { return options_; }
  // The scalar computation of a reduce and its like, compiled on first use.
  Result<const ScalarBody*> Body(const Computation& computation);
  // Interpretations within interpretations, for scalar computations that are not made of elementwise ops alone.
  int nesting() const { return nesting_; }
  // Null where one device of several is interpreted alone, or a computation within an instruction.
  const std::optional<DevicePlace>& place() const { return place_; }

  int64_t infeeds = 0, outfeeds = 0;  // Values read and written so far.
  uint64_t rng_state[2];              // Low word first: rng-get-and-update-state, and where `rng` draws from.

 private:
  const InterpretOptions& options_;
  const int nesting_;
  const std::optional<DevicePlace> place_;
  std::unordered_map<const Computation*, std::unique_ptr<ScalarBody>> bodies_;
};

struct Evaluation {
  const Instruction& inst;
  // Values of the operands. Those that nobody needs later are not shared: writing to them, or taking them, copies
  // nothing.
  std::span<Literal> operands;
  Session& session;
};

using Handler = Result<Literal> (*)(Evaluation& e);
// Null for what the frames of the interpreter do themselves: parameter, call, while ..., and where devices meet.
Handler HandlerOf(Opcode opcode);
// Its value needs other devices, or goes to them: meetings.h.
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

// One function for each opcode that is not elementwise; one that is missing does not link, with its name in the
// message.
#define HLO_OPCODE(Name, ...) Result<Literal> Eval##Name(Evaluation& e);
#include "ir/opcodes.inc"
Result<Literal> EvalElementwise(Evaluation& e);

// EvaluateComputation inside an evaluation.
Result<Literal> EvaluateNested(const Computation& computation, std::span<const Literal> args,
                               const InterpretOptions& options, int nesting);

}  // namespace hlo

#endif  // HLO_INTERP_EVALUATION_H_
