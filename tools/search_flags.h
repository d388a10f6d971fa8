// Flags that hlo bisect and hlo reduce share.
#ifndef HLO_TOOLS_SEARCH_FLAGS_H_
#define HLO_TOOLS_SEARCH_FLAGS_H_

#include <functional>
#include <string>
#include <vector>

#include "driver/search/symptom.h"
#include "tools/command.h"
#include "tools/flags.h"
#include "tools/run_flags.h"

namespace hlo {

struct SearchFlags {
  std::string property = "fails", script, fail_regex;
  int64_t confirm = 3;
  double trial_timeout = 0;
};

void AddSearchFlags(FlagSet& flags, SearchFlags* f);
Result<Property> PropertyOf(const SearchFlags& f);

// Returns the module's path, or "" after help. Sets `run->run.flags` to the flags except `own_flags`.
Result<std::string> OneModule(FlagSet& flags, Args args, RunFlags* run, const std::vector<std::string>& own_flags);

// Removes these flags and their values, even as separate words. The word `path` is never a value.
std::vector<std::string> WithoutFlags(const std::vector<std::string>& args, const std::vector<std::string>& names,
                                      const std::string& path);

// Prints on stderr, if it is a terminal.
std::function<void(const std::string&)> ProgressLine(const std::string& path, bool quiet);
void ClearProgressLine(bool quiet);

}  // namespace hlo

#endif  // HLO_TOOLS_SEARCH_FLAGS_H_
