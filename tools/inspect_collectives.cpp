#include "driver/inspect/collectives.h"
#include "tools/inspect.h"

namespace hlo {

Result<ExitCode> InspectCollectives(Args args) {
  LoadOptions load{.text_only = true};
  std::optional<std::string> json;
  std::string against;
  int64_t top = 20;
  FlagSet flags("hlo-inspect collectives", "[flags] MODULE",
                "Counts the collectives of a module: how often each runs, the number of devices in its groups, and the "
                "bytes of its result on one device. A loop counts its trips, and a conditional all of its branches.",
                {"hlo-inspect collectives model.hlo", "hlo-inspect collectives --against=other.hlo model.hlo"});
  flags.String("against", &against, "MODULE", "also show the sums of this module, to compare");
  flags.Int("top", &top, "number of instructions, those with the most bytes first; 0: all");
  flags.OptionalString("json", &json, "FILE", "print JSON instead of text, or write it to FILE as well");
  const auto module = TRY(InspectedModule(flags, args, &load));
  if (module == nullptr) return ExitCode::kOk;
  const CollectiveReport report = CollectivesOf(*module);
  std::unique_ptr<Module> other_module;
  std::optional<CollectiveReport> other;
  if (!against.empty()) {
    other_module = TRY(LoadModule(against, load));
    other = CollectivesOf(*other_module);
  }
  const CollectiveReport* const compared = other ? &*other : nullptr;
  TRY(WriteReport(json, CollectivesText(report, compared, top), CollectivesJson(report, compared)));
  return ExitCode::kOk;
}

}  // namespace hlo
