// Joins results of a partitioned module to whole arrays.
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

// The whole result's dimensions at an index, if another source knows them.
using WholeSizes = std::function<std::optional<std::vector<int64_t>>(const ShapeIndex&)>;

struct JoinedResults {
  std::optional<Literal> whole;
  std::string why_not;             // Set if `whole` is empty.
  std::vector<std::string> notes;  // Differences between partitions with the same part.
};
// For each leaf of the result. nullopt if it has no sharding.
using ResultShardings = std::vector<std::optional<StatedSharding>>;
// The shardings of the root, or of its operands if it is a tuple without shardings.
ResultShardings ShardingsOfResult(const Module& module);

// Joins the results of replica 0. Only the size of the whole array shows the padding of the last parts. If `sizes` does
// not know this size, the padding stays.
JoinedResults JoinResults(const Module& module, const ResultShardings& shardings, std::span<const Literal> by_device,
                          const WholeSizes& sizes);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_WHOLE_RESULTS_H_
