// The flags of a bundle (src/driver/bundle.h): what hlo-run leaves there of its own, and what every command takes from
// there.
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

// Of the flags that `flags` were given, those that others need to see the same; copies of the files that they name.
// `flag` has the folder written. Errors: a folder that is there already, so that it is said before hours of work; a
// file that cannot be read.
Status ResolveBundle(const FlagSet& flags, std::string_view flag, BundleOptions* bundle);

// `args` with the flags of the bundle among its files in front, as far as the command knows them. Of several files none
// has a say. A note on stderr of what changed since the bundle was written.
Result<std::vector<std::string>> WithFlagsOfBundle(const FlagSet& flags, std::span<const std::string> args);

}  // namespace hlo

#endif  // HLO_TOOLS_BUNDLE_FLAGS_H_
