#include "driver/inspect/shardings.h"
#include "tools/inspect.h"

namespace hlo {

Result<ExitCode> InspectShardings(Args args) {
  LoadOptions load{.text_only = true};
  std::optional<std::string> json;
  int64_t top = 30;
  FlagSet flags("hlo-inspect shardings", "[flags] MODULE",
                "Lists the values for which the text states a sharding. Each row has the axes that split the value, "
                "the shape and bytes of one device's part, and the kind of statement (sharding=, Shardy's attribute, "
                "or a manual region). The mesh is the coarsest mesh that can express all these shardings.",
                {"hlo-inspect shardings model.hlo", "hlo-inspect shardings --json model.hlo"});
  flags.Int("top", &top, "number of rows for each computation; 0: all");
  flags.OptionalString("json", &json, "FILE", "print JSON instead of text, or write it to FILE as well");
  const auto module = TRY(InspectedModule(flags, args, &load));
  if (module == nullptr) return ExitCode::kOk;
  const ShardingReport report = ShardingReportOf(*module);
  TRY(WriteReport(json, ShardingsText(report, top), ShardingsJson(report)));
  return ExitCode::kOk;
}

}  // namespace hlo
