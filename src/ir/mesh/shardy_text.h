// Parses Shardy's attributes in frontend attributes: #sdy.sharding_per_value<[<@mesh, [{"x"}, {?}]>]> with {mesh =
// #sdy.mesh<["x"=2, "y"=4]>}. Source: the grammar in the documentation of Shardy's dialect, sdy.
#ifndef HLO_IR_MESH_SHARDY_TEXT_H_
#define HLO_IR_MESH_SHARDY_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/sharding.h"

namespace hlo {

// Names of frontend attributes.
inline constexpr char kShardyMeshes[] = "xla.sdy.meshes";  // At the module.
inline constexpr char kShardySharding[] = "xla.sdy.sharding";
inline constexpr char kShardyGroupId[] = "xla.sdy.sharding_group_id";   // Of a custom-call @xla.sdy.ShardingGroup.
inline constexpr char kShardyInShardings[] = "xla.sdy.in_shardings";    // At the start of a manual region.
inline constexpr char kShardyOutShardings[] = "xla.sdy.out_shardings";  // At the end of a manual region.
inline constexpr char kShardyManualAxes[] = "xla.sdy.manual_axes";

bool Overlap(const Mesh& mesh, const AxisRef& a, const AxisRef& b);

// The meshes in {mesh = #sdy.mesh<["x"=2]>, other = ...}, as far as the text can be read.
std::vector<Mesh> ReadShardyMeshes(std::string_view text);

struct ShardySharding {
  NamedSharding named;
  // By dimension: 1 for {"x"}p1. Propagation begins with the dimensions of priority 0. Empty if all have priority 0.
  std::vector<int64_t> priorities;
};
// A sharding for each value. `meshes` defines the @names. nullopt for other texts, then with the reason in `why`, or ""
// if the grammar has no such text.
std::optional<std::vector<ShardySharding>> ReadShardySharding(std::string_view text, std::string_view meshes,
                                                              std::string* why = nullptr);

// The names in #sdy<manual_axes{"x", "y"}>, or nullopt for other texts.
std::optional<std::vector<std::string_view>> ReadShardyAxes(std::string_view text);

}  // namespace hlo

#endif  // HLO_IR_MESH_SHARDY_TEXT_H_
