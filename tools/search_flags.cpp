#include "tools/search_flags.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "base/text.h"

namespace hlo {

void AddSearchFlags(FlagSet& flags, SearchFlags* f) {
  flags.String("property", &f->property, "P", Str("the failure that is searched for. ", PropertiesText()));
  flags.Alias("bad", "property");
  flags.String("script", &f->script, "CMD", "the same as --property=script:CMD");
  flags.String("fail_regex", &f->fail_regex, "RE", "the failure counts only if its description matches");
  flags.Int("confirm", &f->confirm,
            "number of times that the input and the final module are tried; if the trials disagree, the exit code is 7",
            1, 100);
  flags.Double("trial_timeout", &f->trial_timeout,
               "seconds after which a trial counts as a hang; 0: ten times the time of the first trial, plus 10 s");
}

Result<Property> PropertyOf(const SearchFlags& f) {
  if (!f.script.empty() && f.property != "fails")
    FAIL(UsageError("F004", "--script and --property both describe the failure; give only one of them"));
  return ParseProperty(f.script.empty() ? f.property : Str("script:", f.script), f.fail_regex);
}

Result<std::string> OneModule(FlagSet& flags, Args args, RunFlags* run, const std::vector<std::string>& own_flags) {
  const std::vector<std::string> positionals = TRY(ParseAll(flags, args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return "";
  }
  if (positionals.size() != 1)
    FAIL(flags.WrongFiles(Str("expected one module, got ", positionals.size()), positionals));
  run->path = positionals.front();
  run->run.flags = WithoutFlags({args.begin(), args.end()}, own_flags, run->path);
  std::erase(run->run.flags, run->path);
  TRY(OneStdin(run->passes, positionals));
  TRY(ResolveRunFlags(run));
  ResolveRecording(flags, &run->run);
  return run->path;
}

std::vector<std::string> WithoutFlags(const std::vector<std::string>& args, const std::vector<std::string>& names,
                                      const std::string& path) {
  const auto is_named = [&](const std::string& arg) {
    std::string name = arg.substr(0, arg.find('='));
    name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
    std::ranges::replace(name, '-', '_');
    return std::ranges::find(names, name) != names.end();
  };
  std::vector<std::string> left;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!is_named(args[i])) {
      left.push_back(args[i]);
      continue;
    }
    if (args[i].find('=') == std::string::npos && i + 1 < args.size() && args[i + 1] != path &&
        !args[i + 1].starts_with('-'))
      ++i;
  }
  return left;
}

std::function<void(const std::string&)> ProgressLine(const std::string& path, bool quiet) {
  const bool shows = !quiet && isatty(STDERR_FILENO) != 0;
  return [=](const std::string& what) {
    if (shows) std::fprintf(stderr, "\r\033[K%s: %s", path.c_str(), what.c_str());
  };
}

void ClearProgressLine(bool quiet) {
  if (!quiet && isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
}

}  // namespace hlo
