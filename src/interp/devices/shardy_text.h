// Parses Shardy's attributes in frontend attributes: #sdy.sharding_per_value<[<@mesh, [{"x"}, {?}]>]> with {mesh =
// #sdy.mesh<["x"=2, "y"=4]>}. Source: the grammar in the documentation of Shardy's dialect, sdy. Internal to interp/.
#ifndef HLO_INTERP_DEVICES_SHARDY_TEXT_H_
#define HLO_INTERP_DEVICES_SHARDY_TEXT_H_

#include <optional>
#include <string_view>
#include <vector>

#include "ir/sharding.h"

namespace hlo {

// A sharding for each value, with the axes that split its dimensions; priorities and other properties of axes are
// ignored. `meshes` defines the @names. nullopt for other texts.
std::optional<std::vector<NamedSharding>> ReadShardySharding(std::string_view text, std::string_view meshes);

// The names in #sdy<manual_axes{"x", "y"}>, or nullopt for other texts.
std::optional<std::vector<std::string_view>> ReadShardyAxes(std::string_view text);

}  // namespace hlo

#endif  // HLO_INTERP_DEVICES_SHARDY_TEXT_H_
