#include "driver/pass_times.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

struct Spent {
  int runs = 0, changed = 0, skipped = 0;
  double wall_ms = 0, processor_ms = 0;
  double after_wall_ms = 0, after_processor_ms = 0;  // Times of the fingerprint and the verifier after the pass.
  int64_t instructions = 0;

  void Add(const PassRun& run, int64_t more_instructions) {
    ++runs;
    changed += run.changed;
    skipped += run.skipped;
    wall_ms += run.milliseconds;
    processor_ms += run.processor_milliseconds;
    after_wall_ms += run.after_milliseconds;
    after_processor_ms += run.after_processor_milliseconds;
    instructions += more_instructions;
  }
  void Add(const Spent& other) {
    runs += other.runs;
    changed += other.changed;
    skipped += other.skipped;
    wall_ms += other.wall_ms;
    processor_ms += other.processor_ms;
    after_wall_ms += other.after_wall_ms;
    after_processor_ms += other.after_processor_ms;
    instructions += other.instructions;
  }
};

struct Node {
  std::string_view name;
  bool is_pass = false;
  Spent spent;
  std::vector<std::unique_ptr<Node>> parts;

  Node& Part(std::string_view part, bool part_is_pass) {
    for (const auto& known : parts) {
      if (known->name == part && known->is_pass == part_is_pass) return *known;
    }
    parts.push_back(std::make_unique<Node>(Node{.name = part, .is_pass = part_is_pass}));
    return *parts.back();
  }
};

Node TreeOf(const PipelineReport& report) {
  Node root{.name = "all passes"};
  int64_t before = report.runs.empty() ? 0 : report.runs.front().instructions;
  for (const PassRun& run : report.runs) {
    const int64_t more = run.instructions - before;
    before = run.instructions;
    Node* node = &root;
    node->spent.Add(run, more);
    for (const std::string& stage : run.stages) {
      node = &node->Part(stage, false);
      node->spent.Add(run, more);
    }
    node->Part(run.pass->name, true).spent.Add(run, more);
  }
  return root;
}

double ShareOf(const Spent& spent, const Spent& all) { return all.wall_ms > 0 ? spent.wall_ms / all.wall_ms : 0; }

std::string Line(const Spent& spent, const Spent& all, int depth, std::string_view name) {
  std::string line =
      Format("%9.1f %9.1f %6.1f %5d %7d %+8lld  ", spent.wall_ms, spent.processor_ms, 100 * ShareOf(spent, all),
             spent.runs, spent.changed, static_cast<long long>(spent.instructions));
  return line + std::string(2 * depth, ' ') + Str(name, "\n");
}

void AddLines(const Node& node, const Spent& all, int depth, std::string* out) {
  constexpr double kNextToNothingMs = 0.05;
  *out += Line(node.spent, all, depth, node.name);
  Spent rest;
  int rest_passes = 0;
  for (const auto& part : node.parts) {
    if (part->is_pass && part->spent.changed == 0 && part->spent.wall_ms < kNextToNothingMs) {
      rest.Add(part->spent);
      ++rest_passes;
    } else {
      AddLines(*part, all, depth + 1, out);
    }
  }
  if (rest_passes > 0)
    *out += Line(rest, all, depth + 1,
                 Str("(", rest_passes, rest_passes == 1 ? " pass" : " passes", " that changed nothing)"));
}

void WriteSpent(JsonWriter& json, const Spent& spent, const Spent& all) {
  json.Key("runs").Value(spent.runs).Key("changed").Value(spent.changed).Key("skipped").Value(spent.skipped);
  json.Key("wall_ms").Value(spent.wall_ms).Key("processor_ms").Value(spent.processor_ms);
  json.Key("share").Value(ShareOf(spent, all));
  json.Key("after_wall_ms").Value(spent.after_wall_ms).Key("after_processor_ms").Value(spent.after_processor_ms);
  json.Key("instructions").Value(spent.instructions);
}

void WriteNode(JsonWriter& json, const Node& node, const Spent& all) {
  json.Open('{').Key(node.is_pass ? "pass" : "stage").Value(node.name);
  WriteSpent(json, node.spent, all);
  if (!node.is_pass) {
    json.Key("parts").Open('[');
    for (const auto& part : node.parts) WriteNode(json, *part, all);
    json.Close(']');
  }
  json.Close('}');
}

}  // namespace

std::string PassTree(const PipelineReport& report) {
  const Node root = TreeOf(report);
  std::string out = "  wall ms    cpu ms      %  runs changed   instrs  pass\n";
  AddLines(root, root.spent, 0, &out);
  out += Format("%9.1f %9.1f %6s %5s %7s %8s  fingerprints and verifier between passes\n", root.spent.after_wall_ms,
                root.spent.after_processor_ms, "", "", "", "");
  return out;
}

std::string PassTimesJson(const PipelineReport& report) {
  const Node root = TreeOf(report);
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.time_passes/1").Key("tree");
  WriteNode(json, root, root.spent);
  json.Key("instances").Open('[');
  for (const PassRun& run : report.runs) {
    json.Open('{').Key("number").Value(run.number).Key("pass").Value(run.pass->name);
    json.Key("instance").Value(run.instance).Key("stages").Open('[');
    for (const std::string& stage : run.stages) json.Value(stage);
    json.Close(']').Key("skipped").Value(run.skipped).Key("changed").Value(run.changed);
    json.Key("wall_ms").Value(run.milliseconds).Key("processor_ms").Value(run.processor_milliseconds);
    json.Key("after_wall_ms").Value(run.after_milliseconds);
    json.Key("after_processor_ms").Value(run.after_processor_milliseconds);
    json.Key("instructions").Value(run.instructions).Key("rules").Open('[');
    for (const auto& [rule, rewrites] : run.rewrites)
      json.Open('{').Key("rule").Value(rule).Key("rewrites").Value(rewrites).Close('}');
    json.Close(']').Close('}');
  }
  json.Close(']').Close('}');
  return json.text() + "\n";
}

std::string PassTable(const PipelineReport& report) {
  struct Row {
    std::string_view name;
    int runs = 0, changed = 0;
    double ms = 0;
    int64_t instructions = 0;
  };
  std::vector<Row> rows;
  std::map<std::string_view, size_t> by_name;
  double total_ms = 0;
  int64_t before = report.runs.empty() ? 0 : report.runs.front().instructions;
  for (const PassRun& run : report.runs) {
    const auto [at, fresh] = by_name.try_emplace(run.pass->name, rows.size());
    if (fresh) rows.push_back({run.pass->name});
    Row& row = rows[at->second];
    ++row.runs;
    row.changed += run.changed;
    row.ms += run.milliseconds;
    row.instructions += run.instructions - before;
    before = run.instructions;
    total_ms += run.milliseconds;
  }
  std::string out = "  #  pass                                   runs  changed        ms      %     instr\n";
  int number = 0, unchanged = 0;
  for (const Row& row : rows) {
    ++number;
    if (row.changed == 0) {
      ++unchanged;
      continue;
    }
    out += Format("%3d  %-38s %5d  %7d  %8.1f  %5.1f  %+8lld\n", number, std::string(row.name).c_str(), row.runs,
                  row.changed, row.ms, total_ms > 0 ? 100 * row.ms / total_ms : 0.0,
                  static_cast<long long>(row.instructions));
  }
  out += Format("     %-38s %5zu  %7s  %8.1f  100.0\n", "total", report.runs.size(), "", total_ms);
  out += Format("not changed by: %d of %zu passes\n", unchanged, rows.size());
  return out;
}

std::string RuleTable(const PipelineReport& report) {
  std::vector<std::pair<int64_t, const Rule*>> rows;
  for (const auto& [id, count] : report.rewrites) {
    for (const Rule* rule : FindRules(id)) rows.emplace_back(count, rule);
  }
  if (rows.empty()) return "";
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out = "rewrites  rule          law\n";
  for (const auto& [count, rule] : rows)
    out +=
        Format("%8lld  %-12s  ", static_cast<long long>(count), std::string(rule->id).c_str()) + Str(rule->law, "\n");
  return out;
}

}  // namespace hlo
