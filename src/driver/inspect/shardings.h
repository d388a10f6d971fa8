// The distribution of a module's values over devices, as its text states it.
#ifndef HLO_DRIVER_INSPECT_SHARDINGS_H_
#define HLO_DRIVER_INSPECT_SHARDINGS_H_

#include <optional>
#include <string>
#include <vector>

#include "ir/mesh/axes.h"
#include "ir/mesh/stated_shardings.h"
#include "ir/module.h"

namespace hlo {

struct ShardingRow {
  const Instruction* inst;
  ShapeIndex index;  // The leaf of the instruction's value.
  StatedBy by;
  std::optional<ArraySplit> split;  // nullopt, with the reason in `why_not`, unless the sharding splits the module's
                                    // mesh.
  std::string why_not;
  Shape local;        // The shape of a device's part.
  int64_t bytes = 0;  // The size of a device's part.
};

struct ShardingReport {
  const Module* module;
  Axes axes;
  // XLA's partitioner made the module, so its shapes are per device.
  bool is_partitioned = false;
  std::vector<ShardingRow> rows;       // Computations in text order.
  int64_t values = 0;                  // Arrays in the module, with and without a stated sharding.
  std::vector<std::string> conflicts;  // Statements that sharding-propagation ignores, with those that it uses.
};

ShardingReport ShardingReportOf(const Module& module);
// `top` is the number of rows for each computation, 0 for all.
std::string ShardingsText(const ShardingReport& report, int64_t top);
std::string ShardingsJson(const ShardingReport& report);  // "hlo.shardings/1"

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_SHARDINGS_H_
