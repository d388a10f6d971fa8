#include "driver/inspect/stats.h"

#include <algorithm>
#include <unordered_map>

#include "base/json.h"
#include "driver/inspect/text.h"
#include "ir/fusion.h"

namespace hlo {
namespace {

using Counts = std::map<std::string, int64_t>;

std::vector<std::pair<std::string, int64_t>> MostFirst(const Counts& counts) {
  std::vector<std::pair<std::string, int64_t>> list(counts.begin(), counts.end());
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return list;
}

std::string RoleFor(const Instruction& caller) {
  constexpr std::pair<Opcode, std::string_view> kRoles[] = {{Opcode::kAsyncStart, "asynchronous"},
                                                            {Opcode::kCall, "called"},
                                                            {Opcode::kConditional, "branch"},
                                                            {Opcode::kFusion, "fused"},
                                                            {Opcode::kWhile, "loop body or condition"}};
  const auto role = std::ranges::find(kRoles, caller.opcode(), &std::pair<Opcode, std::string_view>::first);
  return role != std::end(kRoles) ? std::string(role->second) : Str("of ", ToString(caller.opcode()));
}

std::vector<std::pair<std::string, int64_t>> RolesOf(const std::vector<Computation*>& computations,
                                                     const std::unordered_map<const Computation*, std::string>& roles) {
  Counts counts;
  for (const Computation* computation : computations) {
    if (computation->IsEntry()) continue;
    const auto role = roles.find(computation);
    ++counts[role != roles.end() ? role->second : "not called"];
  }
  auto list = MostFirst(counts);
  list.insert(list.begin(), {"entry", 1});
  return list;
}

bool IsValue(const Instruction& inst) {
  return inst.shape().IsArray() && !inst.Is(kView) && !inst.Is(Opcode::kGetTupleElement);
}

std::string CountsText(const std::vector<std::pair<std::string, int64_t>>& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) parts.push_back(Str(count, " ", name));
  return Join(parts, ", ");
}

void AppendCounts(JsonWriter& json, std::string_view key, const std::vector<std::pair<std::string, int64_t>>& counts) {
  json.Key(key).Open('{');
  for (const auto& [name, count] : counts) json.Key(name).Value(count);
  json.Close('}');
}

std::string Size(double bytes) { return HumanBytes(bytes); }

std::string OpcodeTable(const ModuleStats& stats) {
  std::map<PrimitiveType, int64_t> types;
  for (const OpcodeStats& op : stats.opcodes) {
    for (const auto& [type, count] : op.by_type) types[type] += count;
  }
  std::vector<std::string> titles = {"opcode", ">count", ">bytes", ">flop"};
  for (const auto& [type, count] : types) titles.push_back(Str(">", ToString(type)));
  TextTable table(titles);
  for (const OpcodeStats& op : stats.opcodes) {
    std::vector<std::string> row = {std::string(ToString(op.opcode)), Str(op.count),
                                    Size(static_cast<double>(op.bytes)),
                                    HumanCount(op.cost.flops + op.cost.transcendentals)};
    for (const auto& [type, count] : types) {
      const auto own = op.by_type.find(type);
      row.push_back(own != op.by_type.end() ? Str(own->second) : "");
    }
    table.Row(std::move(row));
  }
  return table.Text();
}

bool IsCaller(const Instruction& inst) {
  return inst.Is(kControl) || inst.Is(Opcode::kFusion) || inst.Is(Opcode::kAsyncStart);
}

}  // namespace

ModuleStats StatsOf(const Module& module, int64_t largest) {
  const CostAnalysis costs(module);
  ModuleStats stats{.path = module.source->name(), .name = module.name()};
  stats.text_bytes = static_cast<int64_t>(module.source->text().size());
  stats.cost = costs.CostOf(module.entry());
  stats.gaps = costs.gaps();
  for (const Instruction* parameter : module.entry().parameters()) {
    ++stats.parameters;
    stats.parameter_bytes += parameter->shape().ByteSize();
  }
  stats.result_bytes = module.entry().root().shape().ByteSize();

  std::vector<OpcodeStats> by_opcode(AllOps().size());
  Counts fusions, custom_calls, collectives;
  std::unordered_map<const Computation*, std::string> roles;
  const std::vector<Computation*> computations = module.Computations();
  for (const Computation* computation : computations) {
    for (const Instruction* inst : computation->Instructions()) {
      const bool elided = inst->Is(Opcode::kElidedConstant);
      const Opcode opcode = elided ? Opcode::kConstant : inst->opcode();
      OpcodeStats& op = by_opcode[static_cast<int>(opcode)];
      op.opcode = opcode;
      ++op.count;
      op.bytes += inst->shape().ByteSize();
      ++op.by_type[inst->shape().type()];
      if (!IsCaller(*inst)) op.cost += costs.CostOf(*inst);
      for (const Computation* called : CalledComputations(*inst)) roles.emplace(called, RoleFor(*inst));
      ++stats.instructions;
      if (inst->Is(Opcode::kFusion)) ++fusions[std::string(ToString(inst->attrs<FusionAttrs>().kind))];
      if (inst->Is(Opcode::kCustomCall)) ++custom_calls[inst->attrs<CustomCallAttrs>().target];
      if (inst->Is(kCollective)) ++collectives[std::string(ToString(inst->opcode()))];
      if (opcode == Opcode::kConstant) {
        ++stats.constants;
        stats.constant_bytes += inst->shape().ByteSize();
        stats.elided_constants += elided;
      }
      if (IsValue(*inst)) stats.largest.push_back(inst);
    }
  }
  stats.computations = RolesOf(computations, roles);
  stats.fusions = MostFirst(fusions);
  stats.custom_calls = MostFirst(custom_calls);
  stats.collectives = MostFirst(collectives);
  for (OpcodeStats& op : by_opcode) {
    if (op.count > 0) stats.opcodes.push_back(std::move(op));
  }
  std::stable_sort(stats.opcodes.begin(), stats.opcodes.end(),
                   [](const OpcodeStats& a, const OpcodeStats& b) { return a.count > b.count; });
  const size_t kept = std::min<size_t>(stats.largest.size(), static_cast<size_t>(std::max<int64_t>(largest, 0)));
  std::partial_sort(stats.largest.begin(), stats.largest.begin() + static_cast<std::ptrdiff_t>(kept),
                    stats.largest.end(), [](const Instruction* a, const Instruction* b) {
                      const int64_t left = a->shape().ByteSize(), right = b->shape().ByteSize();
                      return left != right ? left > right : a->id() < b->id();
                    });
  stats.largest.resize(kept);
  return stats;
}

std::vector<std::string> GapTexts(const std::vector<CostGap>& gaps) {
  std::vector<std::pair<CostGap, int64_t>> kinds;
  for (const CostGap& gap : gaps) {
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first.what == gap.what; });
    if (kind == kinds.end()) {
      kinds.emplace_back(gap, 1);
    } else {
      ++kind->second;
    }
  }
  std::vector<std::string> texts;
  for (const auto& [gap, count] : kinds) {
    const std::string others = count > 1 ? Str(" and ", Counted(count - 1, "other")) : "";
    texts.push_back(Str("'", gap.inst->name(), "'", others, ": ", gap.what));
  }
  return texts;
}

std::string StatsText(const ModuleStats& stats) {
  int64_t computations = 0;
  for (const auto& [role, count] : stats.computations) computations += count;
  std::string out =
      Str(stats.path, ": ", stats.name, "  (", Size(static_cast<double>(stats.text_bytes)), " of text)\n");
  const auto line = [&](const char* title, const std::string& text) { out += Format("  %-14s ", title) + text + "\n"; };
  line("computations", Str(computations, ": ", CountsText(stats.computations)));
  line("instructions", Str(stats.instructions));
  line("parameters", Str(stats.parameters, ", ", Size(static_cast<double>(stats.parameter_bytes)), "; result ",
                         Size(static_cast<double>(stats.result_bytes))));
  line("constants", Str(stats.constants, ", ", Size(static_cast<double>(stats.constant_bytes)),
                        stats.elided_constants > 0 ? Str("; ", stats.elided_constants, " elided in the text") : ""));
  if (!stats.fusions.empty()) line("fusions", CountsText(stats.fusions));
  if (!stats.collectives.empty()) line("collectives", CountsText(stats.collectives));
  if (!stats.custom_calls.empty()) line("custom calls", CountsText(stats.custom_calls));
  line("one run",
       Str(HumanCount(stats.cost.flops), " flop, ", HumanCount(stats.cost.transcendentals), " transcendental; reads ",
           Size(stats.cost.bytes_read), ", writes ", Size(stats.cost.bytes_written)));
  for (const std::string& gap : GapTexts(stats.gaps)) line("  inexact", gap);
  out += "\n" + OpcodeTable(stats);
  if (stats.largest.empty()) return out;
  TextTable largest({"largest values", ">bytes", "shape", "opcode", "computation"});
  for (const Instruction* inst : stats.largest) {
    largest.Row({std::string(inst->name()), Size(static_cast<double>(inst->shape().ByteSize())),
                 inst->shape().ToString(), std::string(ToString(inst->opcode())), inst->computation().name()});
  }
  return out + "\n" + largest.Text();
}

std::string StatsJson(const ModuleStats& stats) {
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.stats/1").Key("path").Value(stats.path).Key("module").Value(stats.name);
  json.Key("text_bytes").Value(stats.text_bytes).Key("instructions").Value(stats.instructions);
  json.Key("parameters").Value(stats.parameters).Key("parameter_bytes").Value(stats.parameter_bytes);
  json.Key("result_bytes").Value(stats.result_bytes);
  json.Key("constants").Value(stats.constants).Key("constant_bytes").Value(stats.constant_bytes);
  json.Key("elided_constants").Value(stats.elided_constants);
  json.Key("flops").Value(stats.cost.flops).Key("transcendentals").Value(stats.cost.transcendentals);
  json.Key("bytes_read").Value(stats.cost.bytes_read).Key("bytes_written").Value(stats.cost.bytes_written);
  json.Key("not_modelled").Open('[');
  for (const std::string& gap : GapTexts(stats.gaps)) json.Value(gap);
  json.Close(']');
  AppendCounts(json, "computations", stats.computations);
  AppendCounts(json, "fusions", stats.fusions);
  AppendCounts(json, "collectives", stats.collectives);
  AppendCounts(json, "custom_calls", stats.custom_calls);
  json.Key("opcodes").Open('[');
  for (const OpcodeStats& op : stats.opcodes) {
    json.Open('{').Key("opcode").Value(ToString(op.opcode)).Key("count").Value(op.count).Key("bytes").Value(op.bytes);
    json.Key("flops").Value(op.cost.flops).Key("transcendentals").Value(op.cost.transcendentals).Key("types").Open('{');
    for (const auto& [type, count] : op.by_type) json.Key(ToString(type)).Value(count);
    json.Close('}').Close('}');
  }
  json.Close(']').Key("largest").Open('[');
  for (const Instruction* inst : stats.largest) {
    json.Open('{').Key("name").Value(inst->name()).Key("opcode").Value(ToString(inst->opcode()));
    json.Key("shape").Value(inst->shape().ToString()).Key("bytes").Value(inst->shape().ByteSize());
    json.Key("computation").Value(inst->computation().name()).Close('}');
  }
  return json.Close(']').Close('}').text() + "\n";
}

}  // namespace hlo
