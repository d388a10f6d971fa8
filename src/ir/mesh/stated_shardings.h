// The shardings that a text states for its values: sharding= in both spellings, and the attributes of Shardy. Shardy's
// attributes have priority, because XLA copies them to sharding=.
#ifndef HLO_IR_MESH_STATED_SHARDINGS_H_
#define HLO_IR_MESH_STATED_SHARDINGS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/sharding.h"

namespace hlo {

class Instruction;

enum class StatedBy : uint8_t {
  kSharding,      // sharding=
  kShardy,        // xla.sdy.sharding
  kManualRegion,  // xla.sdy.in_shardings or out_shardings of a manual region
};
std::string_view ToString(StatedBy by);

struct StatedSharding {
  Sharding sharding;
  StatedBy by;
  std::vector<int64_t> priorities;  // By dimension, from Shardy's attribute. Empty if all are 0.
};

// An entry for each leaf; nullopt if the text has no readable sharding for it.
std::vector<std::optional<StatedSharding>> StatedShardings(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_MESH_STATED_SHARDINGS_H_
