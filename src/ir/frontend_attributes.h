// The entries of frontend_attributes={name="value",other={...}}.
#ifndef HLO_IR_FRONTEND_ATTRIBUTES_H_
#define HLO_IR_FRONTEND_ATTRIBUTES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attrs.h"

namespace hlo {

class Instruction;

struct FrontendEntry {
  std::string_view name, value;  // The value as written, with its quotes.
};
std::vector<FrontendEntry> FrontendEntries(std::string_view text);

// The value without quotes and escapes, or nullopt.
std::optional<std::string> FrontendAttribute(const Instruction& inst, std::string_view name);
std::optional<std::string> FrontendAttribute(const FrontendAttributes& attributes, std::string_view name);

FrontendAttributes WithoutEntries(const FrontendAttributes& attributes, std::string_view prefix);

}  // namespace hlo

#endif  // HLO_IR_FRONTEND_ATTRIBUTES_H_
