// Deadlocks of send and recv, checked at strict in scheduled modules: docs/verifier.md#deadlocks.
//
// The entry is walked in order, including called computations. A send and a recv match if their frontend attributes
// list the same pairs of devices.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "ir/device_groups.h"
#include "ir/frontend_attributes.h"
#include "ir/shapes/shape_checks.h"
#include "ir/verifier/checks.h"

namespace hlo {
namespace {

// The error in a list of pairs, or "".
std::string Trouble(const DevicePairs& pairs) {
  std::unordered_map<int64_t, int64_t> next;
  std::unordered_set<int64_t> targets;
  for (const auto& [source, target] : pairs) {
    if (!next.emplace(source, target).second) return Str("source ", source, " occurs twice");
    if (!targets.insert(target).second) return Str("target ", target, " occurs twice");
  }
  // Each source has one target here, so every path ends or becomes a cycle.
  std::unordered_set<int64_t> done;
  for (const auto& [source, target] : pairs) {
    int64_t at = source;
    while (next.contains(at) && done.insert(at).second) {
      at = next[at];
      if (at == source) return Str("device ", source, " waits for itself");
    }
  }
  return "";
}

class DeadlockChecker {
 public:
  explicit DeadlockChecker(Findings& findings) : findings_(findings) {}

  void Run() {
    Walk(findings_.module().entry());
    if (!waiting_.empty())
      Report(*waiting_[0], "V283",
             Str("'", waiting_[0]->name(), "' still waits for its counterpart at the end of the module"));
  }

 private:
  // Reports only the first error, because later errors follow from it.
  void Report(const Instruction& inst, const char* code, std::string message) {
    if (std::exchange(found_, true) || findings_.IsWrong(inst)) return;
    Error error = ErrorAtOpcode(inst, code, std::move(message));
    if (!waiting_.empty() && waiting_[0] != &inst) {
      error.diagnostics.back().notes.push_back({Str("'", waiting_[0]->name(), "' waits"), NameRange(*waiting_[0])});
    }
    findings_.Add(inst, std::move(error));
  }

  void Walk(const Computation& computation) {
    if (!walked_.insert(&computation).second) return;
    for (const Instruction* inst : computation.instructions()) {
      if (inst->Is(Opcode::kSend) || inst->Is(Opcode::kRecv)) {
        Meet(*inst);
        continue;
      }
      const bool starts = inst->Is(kCollective) && CountsAsCollective(*inst);
      if (starts && !waiting_.empty()) {
        Report(*inst, "V282",
               Str("'", inst->name(), "' runs while '", waiting_[0]->name(), "' waits for its ",
                   waiting_[0]->Is(Opcode::kSend) ? "recv" : "send"));
      }
      if (inst->Is(kCollective) || inst->Is(Opcode::kFusion)) continue;
      for (const Computation* callee : CalledComputations(*inst)) Walk(*callee);
    }
  }

  static bool CountsAsCollective(const Instruction& inst) {
    return inst.attributes().GetIf<CollectiveAttrs>() != nullptr || inst.attributes().GetIf<PermuteAttrs>() != nullptr;
  }

  // Makes a send or recv wait, or ends the wait of its counterpart.
  void Meet(const Instruction& inst) {
    if (inst.attrs<ChannelAttrs>().is_host_transfer || FrontendAttribute(inst, "_xla_send_recv_pipeline")) return;
    const std::string text = FrontendAttribute(inst, kSendRecvPairs).value_or("");
    if (const std::string trouble = Trouble(ReadDevicePairs(text)); !trouble.empty()) {
      Report(inst, "V280", Str("source-target pairs ", text, ": ", trouble));
      return;
    }
    const auto counterpart = std::find_if(waiting_.begin(), waiting_.end(), [&](const Instruction* other) {
      return other->opcode() != inst.opcode() && FrontendAttribute(*other, kSendRecvPairs).value_or("") == text;
    });
    if (counterpart != waiting_.end()) {
      waiting_.erase(counterpart);
      return;
    }
    DevicePairs all = ReadDevicePairs(text);
    for (const Instruction* other : waiting_) {
      if (other->opcode() != inst.opcode()) continue;
      const DevicePairs more = ReadDevicePairs(FrontendAttribute(*other, kSendRecvPairs).value_or(""));
      all.insert(all.end(), more.begin(), more.end());
    }
    if (const std::string trouble = Trouble(all); !trouble.empty()) {
      Report(inst, "V281", Str("in the pairs of this and each waiting '", inst.opcode(), "': ", trouble));
      return;
    }
    waiting_.push_back(&inst);
  }

  Findings& findings_;
  bool found_ = false;
  std::vector<const Instruction*> waiting_;
  std::unordered_set<const Computation*> walked_;
};

}  // namespace

void CheckDeadlocks(Findings& findings) { DeadlockChecker(findings).Run(); }

}  // namespace hlo
