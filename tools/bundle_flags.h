// The flags of a bundle (src/driver/bundle.h): the flags that hlo-run keeps in a bundle, and the flags that a command
// takes from one.
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

// Sets the flags and file copies that a new bundle keeps, from the given flags. Messages name the flag `flag`, which
// requested the bundle. Errors: a file cannot be read, or the folder is not empty, which is reported before the long
// work.
Status ResolveBundle(const FlagSet& flags, std::string_view flag, BundleOptions* bundle);

// If the only file among `args` is a bundle, returns `args` after the bundle's flags that the command knows. Prints
// notes about files that changed since the bundle was written.
Result<std::vector<std::string>> WithFlagsOfBundle(const FlagSet& flags, std::span<const std::string> args);

}  // namespace hlo

#endif  // HLO_TOOLS_BUNDLE_FLAGS_H_
