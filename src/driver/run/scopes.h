// --scope_compile=RE, --scope_interpret=RE: the named part of a program is compiled as programs are, with passes,
// fusion and kernels; the rest op by op, as without a compiler: each instruction goes through the passes by itself and
// is a kernel of its own, or the call of a library.
//
// Before the passes, each part to compile and each other instruction that computes is put in a computation of its own,
// which is called; no pass looks through a call. After them the calls are inlined. So nothing crosses the edge of a
// scope, neither a fusion nor a rewrite. A part to compile waits for nothing that waits for it: where an instruction
// outside stands between two inside, these are two parts.
//
// Control flow stays where it is, and what it runs is divided alike; a loop that is in scope with all that it runs goes
// with its part. So do tuples, of what is in scope. What has side effects, is ordered by control edges or has sizes
// that are known only at run time stays as it is: then it is in no part.
#ifndef HLO_DRIVER_RUN_SCOPES_H_
#define HLO_DRIVER_RUN_SCOPES_H_

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "base/result.h"
#include "driver/run/run.h"
#include "gpu/runtime/executable.h"
#include "ir/module.h"

namespace hlo {

class Scopes {
 public:
  // Divides the module, which no pass has seen; calls in it are inlined. Errors: [F007] a pattern that is none, [F008]
  // one that nothing of the module has.
  static Result<Scopes> Divide(Module& module, const ScopeOptions& options);

  // The module, which passes made of the divided one, whole again.
  Status Join(Module& module);

  // Of the module as it was divided, and of the steps that run after Join; without times.
  ScopesSummary Summary(std::span<const gpu::StepInfo> steps) const;
  // Is the step in a part to compile, or op by op? Nothing: a copy that was needed between, or what stays as it is.
  std::optional<bool> IsCompiled(const Instruction& step) const;

 private:
  ScopesSummary divided_;
  std::set<int> compiled_, by_op_;  // Ids of instructions after Join.
};

// What a run takes in both, as the median of some runs in which each step is timed. The arguments are in place.
Status TimeScopes(gpu::Executable& executable, const Scopes& scopes, ScopesSummary* summary);

std::string ToString(const ScopesSummary& scopes);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_SCOPES_H_
