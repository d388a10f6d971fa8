// The results of a partitioned module as whole arrays, joined from the parts of its partitions.
#ifndef HLO_DRIVER_RUN_WHOLE_RESULTS_H_
#define HLO_DRIVER_RUN_WHOLE_RESULTS_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/literal.h"
#include "ir/module.h"

namespace hlo {

// The sizes of a result that are known from elsewhere; none where they are not.
using WholeSizes = std::function<std::optional<std::vector<int64_t>>(const ShapeIndex&)>;

struct JoinedResults {
  std::optional<Literal> whole;
  std::string why_not;             // Where there is none.
  std::vector<std::string> notes;  // Partitions that hold the same part with different values.
};
// The results of replica 0, by the shardings of the root, or of the operands of a root that is a tuple without one.
// Parts do not tell how far the last ones are filled up: without sizes from elsewhere the filling is part of the whole.
JoinedResults JoinResults(const Module& module, std::span<const Literal> by_device, const WholeSizes& sizes);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_WHOLE_RESULTS_H_
