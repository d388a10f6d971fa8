#include <cstdio>

#include "driver/inspect/schedule.h"
#include "driver/optimize.h"
#include "driver/target.h"
#include "tools/inspect.h"

namespace hlo {
namespace {

Result<Topology> TopologyOf(const std::string& name, const DeviceDescription& device) {
  if (!name.empty()) return FindTopology(name);
  if (const Topology* usual = UsualTopology(device.name)) return *usual;
  FAIL(UsageError("F004", Str("no model of the links of '", Escaped(device.name), "' is known"))
           .Hint(Str("--topology=NAME with one of ", TopologyNames())));
}

}  // namespace

Result<ExitCode> InspectSchedule(Args args) {
  LoadOptions load;
  std::string topology_name, target(DefaultDevice().name);
  std::optional<std::string> json;
  int64_t top = 10;
  FlagSet flags(
      "hlo-inspect schedule", "[flags] MODULE",
      "Estimates the time of a step of a program for several devices. The program of one device is simulated with a "
      "queue for kernels and a queue for exchanges. Kernels wait for a synchronous collective. The exchange of a start "
      "and a done op runs in parallel with kernels. Kernels take the times of 'hlo-inspect cost', and collectives take "
      "the times of 'hlo-inspect collectives --topology'. The first row of the table is for this number of devices. "
      "Other rows are for more devices with the same arrays on each.",
      {"hlo-opt --target=h100 model.hlo | hlo-inspect schedule --target=h100 -",
       "hlo-inspect schedule --topology=dgx_h100x128 model.hlo"});
  flags.String(
      "target", &target, "DEVICE",
      Str("device whose description is used: ", TargetNames(), ", sm_NN, or a file of XLA's target configurations"));
  flags.Alias("device", "target");
  flags.String(
      "topology", &topology_name, "NAME",
      Str("model of the links: ", TopologyNames(),
          "; dgx_h100x128 has 128 nodes, and dgx_h100 has any number; default: the usual model for the device"));
  flags.Int("top", &top, "number of collectives that are listed, the most exposed first; 0: all");
  flags.OptionalString("json", &json, "FILE", "print JSON instead of text, or write it to FILE as well");
  const auto module = TRY(InspectedModule(flags, args, &load));
  if (module == nullptr) return ExitCode::kOk;
  const auto device = TRY(FindTarget(target));
  // Library calls would otherwise be custom calls, whose cost is not known.
  if (const std::string note = TRY(TakeLibraryCalls(*module, device->device)); !note.empty())
    std::fprintf(stderr, "note: %s\n", note.c_str());
  const Topology topology = TRY(TopologyOf(topology_name, device->device));
  const ScheduleReport report = TRY(ScheduleOf(*module, device->device, topology));
  TRY(WriteReport(json, ScheduleText(report, top), ScheduleJson(report)));
  return ExitCode::kOk;
}

}  // namespace hlo
