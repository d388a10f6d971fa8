#include "parser/mlir/stablehlo_ops.h"

#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "parser/mlir/builders.h"

namespace hlo::mlir {
namespace {

constexpr OpRow kOps[] = {
#define MLIR_OP(name, form, opcode, build) {name, form, Opcode::k##opcode, build},
#include "parser/mlir/stablehlo_ops.def"
};

}  // namespace

const OpRow* FindOp(std::string_view name) {
  static const auto* const kTable = [] {
    auto* table = new std::unordered_map<std::string_view, const OpRow*>();
    for (const OpRow& row : kOps) table->emplace(row.name, &row);
    return table;
  }();
  const auto found = kTable->find(name);
  return found == kTable->end() ? nullptr : found->second;
}

Error UnknownOp(std::string_view name, SourceRange range) {
  for (const std::string_view dialect : {"stablehlo.", "chlo."}) {
    if (!name.starts_with(dialect)) continue;
    if (name.substr(dialect.size()).starts_with("dynamic_") || name == "stablehlo.real_dynamic_slice")
      return Unsupported("U011", Str("'", name, "', which makes dynamic shapes, is not supported"), range);
    std::vector<std::string_view> names;
    for (const OpRow& row : kOps) names.push_back(row.name);
    const auto near = NearNames(name, names, 1);
    Error error = Unsupported("U011", Str("the operation '", name, "' is not supported"), range);
    if (!near.empty()) return std::move(error).Hint(Str("did you mean '", near[0], "'?"));
    return error;
  }
  return Unsupported("U011", Str("the operation '", name, "' is not supported; only StableHLO and CHLO are"), range);
}

}  // namespace hlo::mlir
