#include "passes/pass.h"

#include <vector>

#include "base/text.h"

namespace hlo {

#define PASS(name, class_name, Function, preserves, Options, what) \
  Result<bool> Function(Module& module, const PassContext& context);
#include "passes/passes.def"

namespace {

constexpr PassRow kPasses[] = {
#define PASS(name, class_name, Function, preserves, Options, what) \
  {name, class_name, Function, Preserves::preserves, [] { return PassOptions(Options()); }, what},
#include "passes/passes.def"
};

constexpr std::string_view kAlgsimpFaults[] = {"multiply_by_zero", "drop_add_zero_sign", "swapped_permutation"};
constexpr std::string_view kPartitioningFaults[] = {"dropped_sum", "forgotten_mask", "wrong_digit", "wrong_group",
                                                    "wrong_neighbour"};

char Folded(char c) { return c == '_' || c == ' ' ? '-' : c; }

}  // namespace

std::string_view ToString(Preserves preserves) {
  switch (preserves) {
    case Preserves::kExact: return "exact";
    case Preserves::kReassociates: return "reassociates";
    case Preserves::kChangesPrecision: return "changes_precision";
  }
  return "";
}

Preserves PreservesOf(const PassRow& pass, const PassOptions& options) {
  const AlgebraOptions* const algebra = std::get_if<AlgebraOptions>(&options);
  return algebra != nullptr && algebra->rounding ? Preserves::kChangesPrecision : pass.preserves;
}

std::span<const PassRow> AllPasses() { return kPasses; }

bool SamePassName(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (Folded(a[i]) != Folded(b[i])) return false;
  }
  return true;
}

const PassRow* FindPass(std::string_view name) {
  for (const PassRow& row : kPasses) {
    if (SamePassName(row.name, name) || row.class_name == name) return &row;
  }
  return nullptr;
}

Error UnknownPass(std::string_view name) {
  std::vector<std::string_view> known;
  for (const PassRow& row : kPasses) known.push_back(row.name);
  std::string message = Str("unknown pass '", Escaped(name), "'");
  const std::vector<std::string> near = NearNames(name, known);
  if (!near.empty()) message += Str("; did you mean '", Join(near, "' or '"), "'?");
  return UsageError("F004", std::move(message)).Hint("'hlo-opt --list_passes' names them all");
}

std::span<const std::string_view> FaultsOf(std::string_view pass) {
  if (SamePassName(pass, "algsimp")) return kAlgsimpFaults;
  if (SamePassName(pass, "spmd-partitioning")) return kPartitioningFaults;
  return {};
}

}  // namespace hlo
