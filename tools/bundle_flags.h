// The flags that hlo-run keeps in a bundle (src/driver/bundle.h), and that a command takes from one.
#ifndef HLO_TOOLS_BUNDLE_FLAGS_H_
#define HLO_TOOLS_BUNDLE_FLAGS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "driver/bundle.h"
#include "tools/flags.h"

namespace hlo {

// `flag` requested the bundle. Errors: a file cannot be read, or the folder is not empty, which is reported before the
// long work.
Status ResolveBundle(const FlagSet& flags, std::string_view flag, BundleOptions* bundle);

// Returns `args` after the flags of the only bundle among them. Prints notes about changed files.
Result<std::vector<std::string>> WithFlagsOfBundle(const FlagSet& flags, std::span<const std::string> args);

}  // namespace hlo

#endif  // HLO_TOOLS_BUNDLE_FLAGS_H_
