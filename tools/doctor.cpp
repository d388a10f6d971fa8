// hlo doctor: what works on this machine, and why not.
#include <cstdio>

#include "base/host_isa.h"
#include "base/parallel.h"
#include "base/text.h"
#include "gpu/runtime/doctor.h"
#include "interp/calls/lapack.h"
#include "tools/command.h"
#include "tools/flags.h"
#include "tools/module_flags.h"

namespace hlo {

Result<ExitCode> DoctorCommand(Args args) {
  std::vector<std::string> library_path;
  std::string require, host_isa;
  FlagSet flags("hlo-doctor", "[flags]", "What works on this machine, and why not.",
                {"hlo doctor", "hlo doctor --require=cuda && make gpu-check"});
  flags.List("library_path", &library_path, "DIR", "where to look first for libraries");
  CacheFlags cache;
  AddCacheFlags(flags, &cache);
  AddHostIsaFlag(flags, &host_isa);
  flags.String("require", &require, "NAME", "exit 1 when this is missing");
  const std::vector<std::string> positionals = TRY(flags.Parse(args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return ExitCode::kOk;
  }
  if (!positionals.empty()) FAIL(UsageError("F002", Str("unexpected '", Escaped(positionals[0]), "'")));
  if (!host_isa.empty()) TRY(ChooseHostIsa(host_isa));
  std::printf("hlo %s\n%-13s %-8s %d threads\n", HLO_VERSION, "interpreter", "ok", Threads());
  const std::string lapack = LapackVersion();
  std::printf("%-13s %-8s %s\n", "LAPACK", lapack.empty() ? "missing" : "ok",
              lapack.empty()
                  ? "no liblapack.so.3 and no libopenblas.so.0; eigenvalues, singular values and Schur forms "
                    "of custom calls are not computed"
                  : lapack.c_str());
  bool found = require.empty() || require == "interpreter" || (require == "LAPACK" && !lapack.empty());
  for (const gpu::Capability& capability : gpu::Examine(library_path, CacheOf(cache).get())) {
    std::printf("%-13s %-8s %s%s%s\n", capability.name.c_str(), capability.ok ? "ok" : "missing",
                capability.text.c_str(), capability.consequence.empty() ? "" : "; ", capability.consequence.c_str());
    found = found || (capability.ok && capability.name == require);
  }
  if (found) return ExitCode::kOk;
  std::fprintf(stderr, "hlo-doctor: '%s' is not usable here\n", Escaped(require).c_str());
  return ExitCode::kNo;
}

}  // namespace hlo
