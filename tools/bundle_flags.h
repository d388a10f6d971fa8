// The flags that hlo-run keeps in a bundle (src/driver/bundle.h), and that commands take from it.
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

// Sets the contents of a bundle that `flag` requested. Errors: an unreadable file, or a folder that is not empty.
Status ResolveBundle(const FlagSet& flags, std::string_view flag, BundleOptions* bundle);

// Returns `args`, after the flags of the bundle if a bundle is the only file in `args`. Prints notes about changed
// files.
Result<std::vector<std::string>> WithFlagsOfBundle(const FlagSet& flags, std::span<const std::string> args);

}  // namespace hlo

#endif  // HLO_TOOLS_BUNDLE_FLAGS_H_
