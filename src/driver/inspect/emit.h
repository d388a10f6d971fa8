// The output forms of `hlo-opt --emit`.
#ifndef HLO_DRIVER_INSPECT_EMIT_H_
#define HLO_DRIVER_INSPECT_EMIT_H_

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ir/module.h"

namespace hlo {

struct EmitForm {
  std::string_view name;
  std::string_view what;
  Result<std::string> (*emit)(const Module& module);
};
// All forms except text (ir/text/printer.h).
std::span<const EmitForm> EmitForms();

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_EMIT_H_
