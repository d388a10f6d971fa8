// --scope_compile=RE, --scope_interpret=RE: compiles the named part of a program as usual, with passes, fusion and
// kernels. The rest runs op by op: passes see each instruction alone, and it becomes a kernel or library call of its
// own.
//
// Before the passes, each part to compile and each other computing instruction moves to a computation of its own, which
// is called. Passes do not look through calls, so neither a fusion nor a rewrite crosses the edge of a scope. After the
// passes the calls are inlined. A part must not depend on an instruction that depends on the part. Two inside
// instructions with an outside instruction between them are therefore in two parts.
//
// Control flow stays in place, and its computations are divided in the same way. A loop belongs to a part if all of its
// computations are in scope, and a tuple if all of its elements are. Instructions with side effects, control edges or
// dynamic sizes belong to no part.
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
  // Divides a module before any pass, and inlines its calls. Errors: [F007] invalid pattern, [F008] a pattern matches
  // nothing in the module.
  static Result<Scopes> Divide(Module& module, const ScopeOptions& options);

  // Joins a divided module after the passes.
  Status Join(Module& module);

  // Instructions of the divided module and steps after Join, without times.
  ScopesSummary Summary(std::span<const gpu::StepInfo> steps) const;
  // Whether the step belongs to a part to compile (true) or runs op by op (false). Empty for steps that belong to
  // neither.
  std::optional<bool> IsCompiled(const Instruction& step) const;

 private:
  ScopesSummary divided_;
  std::set<int> compiled_, by_op_;  // Ids of instructions after Join.
};

// Sets the run times of both kinds of steps: the median of some runs in which each step is timed. The arguments must be
// bound.
Status TimeScopes(gpu::Executable& executable, const Scopes& scopes, ScopesSummary* summary);

std::string ToString(const ScopesSummary& scopes);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_SCOPES_H_
