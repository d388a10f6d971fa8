// Logs the change of an instruction with its reason on log level 4, for passes without rules. LOGS_WHY registers the
// file for --vmodule.
//
//   dce at m.hlo:5:3 in 'main': b = f32[2] negate(a) => nothing   since nothing uses it
#ifndef HLO_PASSES_LOG_WHY_H_
#define HLO_PASSES_LOG_WHY_H_

#include <source_location>
#include <string>
#include <string_view>

#include "base/log.h"
#include "ir/instruction.h"

namespace hlo {

#define LOGS_WHY() VLOG_IS_ON(4)

std::string PlaceOf(const Instruction& inst);

// `who` is the name of a pass, a rule or a reason. `became` is the outcome, such as "=> nothing" or "stays".
void LogWhy(std::string_view who, const Instruction& inst, std::string_view became, std::string_view why,
            const std::source_location& where = std::source_location::current());

}  // namespace hlo

#endif  // HLO_PASSES_LOG_WHY_H_
