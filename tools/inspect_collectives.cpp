#include "driver/inspect/collectives.h"
#include "tools/inspect.h"

namespace hlo {

Result<ExitCode> InspectCollectives(Args args) {
  LoadOptions load{.text_only = true};
  std::optional<std::string> json;
  std::string against, topology_name;
  int64_t top = 20;
  FlagSet flags(
      "hlo-inspect collectives", "[flags] MODULE",
      "Lists the collectives of a module. Each has the number of its calls, the number of devices in its groups with "
      "the axes of the mesh, and the bytes of its result on one device. A collective in a loop counts once for each "
      "trip, and all branches of a conditional count. With --topology, the times are estimated too.",
      {"hlo-inspect collectives model.hlo", "hlo-inspect collectives --against=other.hlo model.hlo",
       "hlo-inspect collectives --topology=dgx_h100 model.hlo"});
  flags.String("against", &against, "MODULE", "also show the sums of this module, for comparison");
  flags.String("topology", &topology_name, "NAME",
               Str("estimate times on the links of a model: ", TopologyNames(),
                   "; dgx_h100x128 has 128 nodes, and dgx_h100 has as many as the module needs; default: no times"));
  flags.Int("top", &top,
            "number of instructions that are listed; those with the most bytes are first, or with --topology those "
            "that take longest; 0: all");
  flags.OptionalString("json", &json, "FILE", "print JSON instead of text, or write it to FILE as well");
  const auto module = TRY(InspectedModule(flags, args, &load));
  if (module == nullptr) return ExitCode::kOk;
  std::optional<Topology> topology;
  if (!topology_name.empty()) topology = TRY(FindTopology(topology_name));
  const auto axes = NamedAxesOf(*module);
  const auto report_of = [&](const Module& counted) -> Result<CollectiveReport> {
    if (!topology) return CollectivesOf(counted, std::nullopt, axes);
    return CollectivesOf(counted, TRY(topology->For(DevicesOf(counted))), axes);
  };
  const CollectiveReport report = TRY(report_of(*module));
  std::unique_ptr<Module> other_module;
  std::optional<CollectiveReport> other;
  if (!against.empty()) {
    other_module = TRY(LoadModule(against, load));
    other = TRY(report_of(*other_module));
  }
  const CollectiveReport* const compared = other ? &*other : nullptr;
  TRY(WriteReport(json, CollectivesText(report, compared, top), CollectivesJson(report, compared)));
  return ExitCode::kOk;
}

}  // namespace hlo
