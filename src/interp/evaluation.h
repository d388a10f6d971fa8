// A handler for each opcode, and their shared state. Internal to interp/.
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

struct DevicePlace {
  int64_t replica = 0, partition = 0;
};

class Session {
 public:
  explicit Session(const InterpretOptions& options, int nesting = 0, std::optional<DevicePlace> place = {});
  ~Session();
  Session(const Session&) = delete;

  const InterpretOptions& options() const { return options_; }
  // Compiled on first use.
  Result<const ScalarBody*> Body(const Computation& computation);
  // Number of interpretations around this one, such as a reduce around its reducer.
  int nesting() const { return nesting_; }
  // Empty if one device runs alone, and within an instruction, such as in a reducer.
  const std::optional<DevicePlace>& place() const { return place_; }

  int64_t infeeds = 0, outfeeds = 0;
  uint64_t rng_state[2];  // Low word first.

 private:
  const InterpretOptions& options_;
  const int nesting_;
  const std::optional<DevicePlace> place_;
  std::unordered_map<const Computation*, std::unique_ptr<ScalarBody>> bodies_;
};

struct Evaluation {
  const Instruction& inst;
  // Values without later uses are not shared, so writing to them copies nothing.
  std::span<Literal> operands;
  Session& session;
};

using Handler = Result<Literal> (*)(Evaluation& e);
// Null for the ops that the interpreter's loop runs itself (parameter, call, fusion, while, conditional, async-start),
// and for exchanges between devices.
Handler HandlerOf(Opcode opcode);
// Whether rendezvous.h handles the op.
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

// Elementwise ops need no function. A missing function is a link error with its name.
#define HLO_OPCODE(Name, ...) Result<Literal> Eval##Name(Evaluation& e);
#include "ir/opcodes.inc"
Result<Literal> EvalElementwise(Evaluation& e);

// Used within an evaluation. Checks neither arguments nor memory.
Result<Literal> EvaluateNested(const Computation& computation, std::span<const Literal> args,
                               const InterpretOptions& options, int nesting);

}  // namespace hlo

#endif  // HLO_INTERP_EVALUATION_H_
