#include "interp/compare/callers.h"

namespace hlo {

Callers::Callers(const Module& module) {
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->Instructions()) {
      for (const Computation* callee : CalledComputations(*inst)) callers_[callee].push_back(inst);
    }
  }
}

bool Callers::RunsOnceIn(const Computation& computation, const Computation& top) const {
  std::unordered_map<const Computation*, bool>& known = runs_once_[&top];
  known[&top] = true;
  std::vector<const Computation*> passed;
  bool once = true;
  for (const Computation* at = &computation; once;) {
    if (const auto answer = known.find(at); answer != known.end()) {
      once = answer->second;
      break;
    }
    passed.push_back(at);
    const auto it = callers_.find(at);
    once = it != callers_.end() && it->second.size() == 1 &&
           (it->second.front()->Is(Opcode::kCall) || it->second.front()->Is(Opcode::kFusion));
    if (once) at = &it->second.front()->computation();
  }
  for (const Computation* at : passed) known[at] = once;
  return once;
}

}  // namespace hlo
