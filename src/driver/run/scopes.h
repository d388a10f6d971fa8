// --scope_compile=RE, --scope_interpret=RE compile the named part of a program as usual. The rest runs op by op, each
// as a kernel or library call.
//
// Before the passes, each part moves to its own computation. Passes do not look through calls, so neither a fusion nor
// a rewrite crosses the edge of a scope. After the passes the calls are inlined. A part must not depend on itself, so
// instructions in scope with an instruction outside between them are in different parts.
//
// Computations of control flow are divided likewise. A loop belongs to a part if all its computations are in scope, and
// a tuple if all its elements are in scope. Instructions with side effects, control edges or dynamic sizes belong to no
// part.
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
  // Call before the passes. Inlines calls. Errors: [F007] invalid pattern, [F008] a pattern matches nothing.
  static Result<Scopes> Divide(Module& module, const ScopeOptions& options);

  // Call after the passes.
  Status Join(Module& module);

  // Counts steps after Join. Times are not set.
  ScopesSummary Summary(std::span<const gpu::StepInfo> steps) const;
  // Whether the step is in the compiled part (true) or runs op by op (false). Empty if it is in neither.
  std::optional<bool> IsCompiled(const Instruction& step) const;

 private:
  ScopesSummary divided_;
  std::set<int> compiled_, by_op_;  // Ids after Join.
};

// Sets the median times of the parts over several runs. The arguments must be bound.
Status TimeScopes(gpu::Executable& executable, const Scopes& scopes, ScopesSummary* summary);

std::string ToString(const ScopesSummary& scopes);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_SCOPES_H_
