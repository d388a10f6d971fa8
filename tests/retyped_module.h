// The text of a module in other element types.
#ifndef HLO_TESTS_RETYPED_MODULE_H_
#define HLO_TESTS_RETYPED_MODULE_H_

#include <memory>
#include <string>
#include <string_view>

#include "ir/module.h"
#include "ir/verifier/verifier.h"

namespace hlo {

// The module of a text. Null if the text is invalid at this level.
std::unique_ptr<Module> ValidOrNull(const std::string& text, VerifyLevel level = VerifyLevel::kStrict);

// Replaces each `from[` by `to[`.
std::string Retyped(const std::string& text, std::string_view from, std::string_view to);

}  // namespace hlo

#endif  // HLO_TESTS_RETYPED_MODULE_H_
