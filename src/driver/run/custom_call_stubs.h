// --custom_call=TARGET=POLICY replaces custom calls, so that a module with unknown targets can run.
#ifndef HLO_DRIVER_RUN_CUSTOM_CALL_STUBS_H_
#define HLO_DRIVER_RUN_CUSTOM_CALL_STUBS_H_

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/load.h"

namespace hlo {

// Checks TARGET=POLICY. Errors: F004. The policies are:
//   native       the built-in implementation; also called interpreter
//   zeros        results of zeros
//   passthrough  each result is the first unused operand of its shape
//   error        an error at the call
//   FILE.hlo[:COMPUTATION]  a computation that receives the operands
Status CheckCustomCallPolicies(std::span<const std::string> policies);

struct CustomCallStub {
  std::string target, policy;
  int64_t calls = 0;
};

// Replaces the calls by plain HLO. The last policy for a target applies. Returns a stub for each target whose policy is
// not native. Errors: [U007], at the call, if the policy is `error` or does not fit.
Result<std::vector<CustomCallStub>> StubCustomCalls(Module& module, std::span<const std::string> policies,
                                                    const LoadOptions& load);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_CUSTOM_CALL_STUBS_H_
