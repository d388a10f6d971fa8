#include "judge/compare/callers.h"

namespace hlo {

Callers::Callers(const Module& module) {
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->Instructions()) {
      for (const Computation* callee : CalledComputations(*inst)) callers_[callee].push_back(inst);
    }
  }
}

const Instruction* Callers::OnlyOneOf(const Computation& computation) const {
  const auto it = callers_.find(&computation);
  return it == callers_.end() || it->second.size() != 1 ? nullptr : it->second.front();
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
    const Instruction* caller = OnlyOneOf(*at);
    once = caller != nullptr && (caller->Is(Opcode::kCall) || caller->Is(Opcode::kFusion));
    if (once) at = &caller->computation();
  }
  for (const Computation* at : passed) known[at] = once;
  return once;
}

}  // namespace hlo
