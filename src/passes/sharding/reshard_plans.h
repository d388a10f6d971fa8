// Plans for changing splits on one mesh, each made once.
#ifndef HLO_PASSES_SHARDING_RESHARD_PLANS_H_
#define HLO_PASSES_SHARDING_RESHARD_PLANS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "ir/mesh/reshard.h"

namespace hlo {

class ReshardPlans {
 public:
  // Borrows `axes`.
  explicit ReshardPlans(const Axes& axes) : axes_(axes) {}

  // The result of PlanReshard, valid as long as this object.
  const Result<ReshardPlan>& Between(const ArraySplit& from, const ArraySplit& to, const Shape& shape);

 private:
  const Axes& axes_;
  std::map<std::vector<int64_t>, Result<ReshardPlan>> plans_;
};

}  // namespace hlo

#endif  // HLO_PASSES_SHARDING_RESHARD_PLANS_H_
