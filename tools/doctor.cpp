#include <cstdio>
#include <optional>
#include <vector>

#include "base/host_isa.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/text.h"
#include "gpu/runtime/doctor.h"
#include "interp/calls/lapack.h"
#include "tools/command.h"
#include "tools/flags.h"
#include "tools/inspect.h"
#include "tools/module_flags.h"

namespace hlo {

Result<ExitCode> DoctorCommand(Args args) {
  std::vector<std::string> library_path;
  std::string require, host_isa;
  std::optional<std::string> json_file;
  FlagSet flags("hlo-doctor", "[flags]",
                "Lists the devices and libraries of this machine that work, and says why the others do not.",
                {"hlo doctor", "hlo doctor --require=cuda && make gpu-check"});
  flags.List("library_path", &library_path, "DIR", "folders that are searched first for libraries");
  CacheFlags cache;
  AddCacheFlags(flags, &cache);
  AddHostIsaFlag(flags, &host_isa);
  flags.OptionalString("json", &json_file, "FILE", "print JSON instead of text, or write it to FILE as well");
  flags.String("require", &require, "NAME", "exit with 1 if this device or library is not usable");
  const std::vector<std::string> positionals = TRY(ParseArgs(flags, args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return ExitCode::kOk;
  }
  if (!positionals.empty()) FAIL(UsageError("F002", Str("unexpected '", Escaped(positionals[0]), "'")));
  if (!host_isa.empty()) TRY(ChooseHostIsa(host_isa));
  const std::string lapack = LapackVersion();
  std::vector<gpu::Capability> capabilities = {
      {.name = "interpreter", .ok = true, .text = Str(Threads(), " threads")},
      {.name = "LAPACK",
       .ok = !lapack.empty(),
       .text = lapack.empty() ? "no liblapack.so.3 and no libopenblas.so.0" : lapack,
       .consequence =
           lapack.empty() ? "eigenvalues, singular values and Schur forms of custom calls are not computed" : ""}};
  for (gpu::Capability& capability : gpu::Examine(library_path, CacheOf(cache).get()))
    capabilities.push_back(std::move(capability));
  std::string text = Str("hlo ", HLO_VERSION, "\n");
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.doctor/1").Key("version").Value(HLO_VERSION).Key("capabilities").Open('[');
  bool found = require.empty();
  for (const gpu::Capability& one : capabilities) {
    text += Format("%-13s %-8s %s%s%s\n", one.name.c_str(), one.ok ? "ok" : "missing", one.text.c_str(),
                   one.consequence.empty() ? "" : "; ", one.consequence.c_str());
    json.Open('{').Key("name").Value(one.name).Key("ok").Value(one.ok).Key("what").Value(one.text);
    json.Key("consequence").Value(one.consequence).Close('}');
    found = found || (one.ok && one.name == require);
  }
  json.Close(']').Close('}');
  TRY(WriteReport(json_file, text, json.text() + "\n"));
  if (found) return ExitCode::kOk;
  std::fprintf(stderr, "hlo-doctor: '%s' is not usable here\n", Escaped(require).c_str());
  return ExitCode::kNo;
}

}  // namespace hlo
