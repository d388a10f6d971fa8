#include "ir/opcode.h"

#include <unordered_map>

#include "ir/shape_rules.h"

namespace hlo {
namespace {

constexpr OpRow kOps[] = {
#define HLO_OP(Name, text, arity, Attrs, shape_rule, traits) \
  {text, arity, shape_rule, static_cast<uint32_t>(traits), [] { return Attributes(Attrs()); }},
#include "ir/ops.def"
};

}  // namespace

const OpRow& RowOf(Opcode opcode) { return kOps[static_cast<int>(opcode)]; }

std::span<const OpRow> AllOps() { return kOps; }

std::optional<Opcode> OpcodeFromText(std::string_view text) {
  static const auto* by_text = [] {
    auto* map = new std::unordered_map<std::string_view, Opcode>;
    for (size_t i = 0; i < std::size(kOps); ++i) map->emplace(kOps[i].text, static_cast<Opcode>(i));
    return map;
  }();
  const auto found = by_text->find(text);
  if (found == by_text->end()) return std::nullopt;
  return found->second;
}

}  // namespace hlo
