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

// A device by its replica and partition numbers.
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
  // Number of interpretations that enclose this one, such as that of a reduce around its reducer.
  int nesting() const { return nesting_; }
  // Empty if one device runs alone, and in computations within an instruction, such as a reducer.
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
  // A value without later uses is not shared, so writing to it copies nothing.
  std::span<Literal> operands;
  Session& session;
};

using Handler = Result<Literal> (*)(Evaluation& e);
// Null for opcodes that frames handle (parameter, call, while, ...) and for exchanges between devices.
Handler HandlerOf(Opcode opcode);
// True for ops that rendezvous.h handles.
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

// A function for each opcode that is not elementwise. A missing function is a link error with its name.
#define HLO_OPCODE(Name, ...) Result<Literal> Eval##Name(Evaluation& e);
#include "ir/opcodes.inc"
Result<Literal> EvalElementwise(Evaluation& e);

// EvaluateComputation for use within an evaluation. Checks neither arguments nor memory.
Result<Literal> EvaluateNested(const Computation& computation, std::span<const Literal> args,
                               const InterpretOptions& options, int nesting);

}  // namespace hlo

#endif  // HLO_INTERP_EVALUATION_H_
