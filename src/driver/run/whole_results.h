// Joins the results of a partitioned module to whole arrays.
#ifndef HLO_DRIVER_RUN_WHOLE_RESULTS_H_
#define HLO_DRIVER_RUN_WHOLE_RESULTS_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/literal.h"
#include "ir/mesh/stated_shardings.h"
#include "ir/module.h"

namespace hlo {

// Returns the dimensions of the whole result at an index, if another source knows them.
using WholeSizes = std::function<std::optional<std::vector<int64_t>>(const ShapeIndex&)>;

struct JoinedResults {
  std::optional<Literal> whole;
  std::string why_not;             // Set if `whole` is empty.
  std::vector<std::string> notes;  // Differences between partitions with the same part.
};
// For each leaf of the result. nullopt if it has no sharding.
using ResultShardings = std::vector<std::optional<StatedSharding>>;
// The shardings of the root. If the root is a tuple without shardings, the shardings of its operands.
ResultShardings ShardingsOfResult(const Module& module);

// Joins the results of replica 0. The last parts may have padding, which only the size of the whole array shows. If
// `sizes` does not know the size, the padding stays in the whole array.
JoinedResults JoinResults(const Module& module, const ResultShardings& shardings, std::span<const Literal> by_device,
                          const WholeSizes& sizes);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_WHOLE_RESULTS_H_
