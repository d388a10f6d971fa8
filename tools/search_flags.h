// What hlo bisect and hlo reduce share: what is searched for, and how it is tried.
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

// The one module of a command, with all flags read: `run->flags` are those that hlo-run would take, too.
Result<std::string> OneModule(FlagSet& flags, Args args, RunFlags* run, const std::vector<std::string>& own_flags);

// `args` but for flags of these names, and for the values that stand behind them; `path` is no value.
std::vector<std::string> WithoutFlags(const std::vector<std::string>& args, const std::vector<std::string>& names,
                                      const std::string& path);

// A line on stderr that is rewritten, on a terminal; nothing elsewhere.
std::function<void(const std::string&)> ProgressLine(const std::string& path, bool quiet);
void ClearProgressLine(bool quiet);

}  // namespace hlo

#endif  // HLO_TOOLS_SEARCH_FLAGS_H_
