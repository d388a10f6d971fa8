#include "passes/sharding/reshard_plans.h"

#include <span>

namespace hlo {
namespace {

// Appends the atoms of each dimension and role, preceded by their number.
void AppendSplit(std::vector<int64_t>& key, const ArraySplit& split) {
  const auto append = [&](const auto& atoms) {
    key.push_back(std::ssize(atoms));
    key.insert(key.end(), atoms.begin(), atoms.end());
  };
  for (int64_t dim = 0; dim < split.rank(); ++dim) append(split.AtomsOf(dim));
  append(split.pending.Atoms());
  append(split.manual.Atoms());
  key.push_back(static_cast<int64_t>(split.reduction));
  key.push_back(split.only_device.value_or(-1));
}

}  // namespace

const Result<ReshardPlan>& ReshardPlans::Between(const ArraySplit& from, const ArraySplit& to, const Shape& shape) {
  std::vector<int64_t> key = {static_cast<int64_t>(shape.type())};
  key.insert(key.end(), shape.dims().begin(), shape.dims().end());
  AppendSplit(key, from);
  AppendSplit(key, to);
  const auto known = plans_.find(key);
  if (known != plans_.end()) return known->second;
  return plans_.emplace(std::move(key), PlanReshard(from, to, shape, axes_)).first->second;
}

}  // namespace hlo
