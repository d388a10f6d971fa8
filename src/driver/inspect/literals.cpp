#include "driver/inspect/literals.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "driver/inspect/stats.h"
#include "driver/inspect/text.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

LiteralStats StatsOf(const Instruction& constant) {
  LiteralStats stats{.constant = &constant, .elided = constant.Is(Opcode::kElidedConstant)};
  const Literal& literal = constant.literal();
  if (stats.elided || !literal.shape().IsArray()) return stats;
  stats.splat = literal.IsSplat();
  double sum = 0;
  for (int64_t i = 0; i < literal.shape().NumElements(); ++i) {
    const double value = literal.GetDouble(i);
    stats.nans += std::isnan(value);
    stats.infinities += std::isinf(value);
    stats.zeros += value == 0;
    if (!std::isfinite(value)) continue;
    stats.min = stats.finite == 0 ? value : std::min(stats.min, value);
    stats.max = stats.finite == 0 ? value : std::max(stats.max, value);
    sum += value;
    ++stats.finite;
  }
  if (stats.finite > 0) stats.mean = sum / static_cast<double>(stats.finite);
  return stats;
}

std::string ValueOf(const LiteralStats& stats) {
  if (stats.elided) return "elided in the text";
  if (!stats.constant->shape().IsArray()) return "tuple";
  if (stats.constant->shape().NumElements() == 0) return "empty";
  if (!stats.splat) return "";
  std::string value;
  AppendElement(value, stats.constant->literal(), 0);
  return stats.constant->shape().IsScalar() ? value : Str("all ", value);
}

}  // namespace

std::vector<LiteralStats> LiteralsOf(const Module& module) {
  std::vector<LiteralStats> literals;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (inst->Is(kHoldsLiteral)) literals.push_back(StatsOf(*inst));
    }
  }
  std::stable_sort(literals.begin(), literals.end(), [](const LiteralStats& a, const LiteralStats& b) {
    return a.constant->shape().ByteSize() > b.constant->shape().ByteSize();
  });
  return literals;
}

std::string LiteralsText(const std::vector<LiteralStats>& literals, int64_t top) {
  const size_t shown = top > 0 ? std::min<size_t>(literals.size(), static_cast<size_t>(top)) : literals.size();
  TextTable table(
      {"constant", "computation", "shape", ">bytes", "value", ">min", ">max", ">mean", ">zeros", ">NaN", ">inf"});
  for (size_t i = 0; i < shown; ++i) {
    const LiteralStats& l = literals[i];
    std::vector<std::string> row = {std::string(l.constant->name()), l.constant->computation().name(),
                                    l.constant->shape().ToString(),
                                    HumanBytes(static_cast<double>(l.constant->shape().ByteSize())), ValueOf(l)};
    if (row.back().empty()) {
      for (const double value : {l.min, l.max, l.mean}) row.push_back(l.finite > 0 ? Format("%.6g", value) : "");
      for (const int64_t count : {l.zeros, l.nans, l.infinities}) row.push_back(Str(count));
    }
    table.Row(std::move(row));
  }
  std::string out = table.empty() ? "" : table.Text("");
  if (shown < literals.size()) out += Format("... and %zu more\n", literals.size() - shown);
  return out + Counted(static_cast<int64_t>(literals.size()), "constant") + "\n";
}

std::string LiteralsJson(const std::vector<LiteralStats>& literals) {
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.literals/1").Key("literals").Open('[');
  for (const LiteralStats& l : literals) {
    json.Open('{').Key("constant").Value(l.constant->name()).Key("computation").Value(l.constant->computation().name());
    json.Key("shape").Value(l.constant->shape().ToString()).Key("bytes").Value(l.constant->shape().ByteSize());
    json.Key("elided").Value(l.elided).Key("splat").Value(l.splat);
    if (l.finite > 0) json.Key("min").Value(l.min).Key("max").Value(l.max).Key("mean").Value(l.mean);
    json.Key("zeros").Value(l.zeros).Key("nan").Value(l.nans).Key("inf").Value(l.infinities).Close('}');
  }
  return json.Close(']').Close('}').text() + "\n";
}

}  // namespace hlo
