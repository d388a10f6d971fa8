#include "driver/fuzz/draw_passes.h"

#include <vector>

#include "base/text.h"
#include "driver/fuzz/grower.h"
#include "passes/pass.h"

namespace hlo {
namespace {

constexpr int64_t kMostPasses = 16;

// In small modules, only small limits matter.
std::string DrawValue(const OptionText& option, Chance& chance) {
  if (option.value == "true" || option.value == "false") return chance.Percent(50) ? "true" : "false";
  int64_t number = 0;
  if (ParseInt(option.value, &number)) return Str(int64_t{2} << chance.Below(6));
  return chance.OneOf({"f16", "bf16", "s8", "f32"});
}

std::string DrawPass(Chance& chance) {
  const PassRow& pass = AllPasses()[chance.Below(std::ssize(AllPasses()))];
  std::vector<std::string> options;
  for (const OptionText& option : Describe(pass.defaults())) {
    if (chance.Percent(50)) options.push_back(Str(option.name, "=", DrawValue(option, chance)));
  }
  return Str(pass.name, options.empty() ? "" : Str("{", Join(options, ", "), "}"));
}

}  // namespace

std::string DrawPasses(uint64_t seed) {
  Chance chance(~seed);  // Gives other random bits than growing the module.
  std::vector<std::string> passes(chance.Between(2, kMostPasses));
  for (std::string& pass : passes) pass = DrawPass(chance);
  return Join(passes, ", ");
}

}  // namespace hlo
