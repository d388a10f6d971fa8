// --custom_call=TARGET=POLICY: something else in the place of the custom calls of a target, so that a module with calls
// that nothing here implements can run.
#ifndef HLO_DRIVER_RUN_CUSTOM_CALL_STUBS_H_
#define HLO_DRIVER_RUN_CUSTOM_CALL_STUBS_H_

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/load.h"

namespace hlo {

// F004 where a policy is none: native (the implementation there is, as without the flag; also: interpreter), zeros,
// passthrough (each result is the first operand of its shape that no result before it took), error, or
// FILE.hlo[:COMPUTATION] with the operands as its parameters.
Status CheckCustomCallPolicies(std::span<const std::string> policies);

struct CustomCallStub {
  std::string target, policy;
  int64_t calls = 0;  // That were replaced; 0 where the module has none.
};

// Replaces the calls by plain HLO, for every platform alike; of several policies for a target the last one holds. Gives
// what was asked for beside native. Errors [U007], at the call: the policy is error, or does not fit the call.
Result<std::vector<CustomCallStub>> StubCustomCalls(Module& module, std::span<const std::string> policies,
                                                    const LoadOptions& load);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_CUSTOM_CALL_STUBS_H_
