#include "driver/optimize.h"

#include <algorithm>
#include <map>

#include "base/log.h"
#include "base/text.h"
#include "ir/fusion_plan.h"
#include "ir/text/printer.h"
#include "ir/verifier/module_layouts.h"
#include "ir/verifier/verifier.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

bool HasPlans(const Module& module) {
  for (const auto& computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      if (HasPlan(*inst)) return true;
    }
  }
  return false;
}

}  // namespace

bool IsOptimized(const Module& module, const std::string& path) {
  if (module.header.is_scheduled) return true;
  const bool says_so = path.find("after_optimizations") != std::string::npos;
  for (const auto& computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (inst->Is(Opcode::kFusion) && (says_so || HasPlan(*inst))) return true;
    }
  }
  return false;
}

Result<PipelineReport> Optimize(Module& module, PipelineOptions options, Dumper* dumper) {
  Verified verified;
  bool layouts_are_normal = false;  // From layout assignment on.
  if (!options.verify) {
    options.verify = [&](const Module& m) -> Status {
      TRY(VerifyAgain(m, &verified));
      return layouts_are_normal ? CheckNormalLayouts(m) : Status();
    };
  }
  options.after = [dumper, &layouts_are_normal, after = std::move(options.after)](const PassRun& run,
                                                                                  Module& m) -> Status {
    layouts_are_normal |= run.pass->name == "layout-assignment" && !run.skipped;
    VLOG(1, run.pipeline, ": ", run.pass->name,
         run.skipped   ? " skipped"
         : run.changed ? " changed"
                       : " unchanged",
         ", ", HumanMilliseconds(run.milliseconds), ", ", run.instructions, " instructions");
    if (run.changed && !run.rewrites.empty()) VLOG(2, NameOf(run), " applied ", RulesText(run));
    if (run.changed) VLOG(2, NameOf(run), " left ", Format("%016llx", static_cast<unsigned long long>(Fingerprint(m))));
    if (run.changed) VLOG(3, NameOf(run), " left\n", Print(m));
    if (dumper != nullptr) TRY(dumper->AfterPass(run.number, run.pipeline, run.pass->name, run.changed, m));
    return after ? after(run, m) : Status();
  };
  // A layout never changes a value, but for bitcast, which reads the bytes: where values change theirs on the way, a
  // pass that takes such a step away, or a kernel that reads what was handed to it, would change what a bitcast sees.
  const bool fits = !!CheckLayoutsFit(module);
  if (!fits) TRY(RunOnePass(module, {.pass = FindPass("layout-assignment")}, {}));
  const bool had_plans = HasPlans(module);
  auto report = RunPipeline(module, options);
  if (!report) return report;
  report->changed |= !fits;
  // They were for what the fusions were before. What passes chose goes with them; without them it stays.
  if (report->changed && had_plans) RemovePlans(module);
  return report;
}

std::vector<std::string> FindingsOf(const PipelineReport& report) {
  std::vector<std::string> findings;
  const auto add = [&](std::string finding) {
    if (std::ranges::find(findings, finding) == findings.end()) findings.push_back(std::move(finding));
  };
  for (const PassRun& run : report.runs) {
    if (run.misreported)
      add(Str("[I010] ", run.pass->name, " says ", run.changed ? "unchanged" : "changed",
              ", the module says otherwise"));
  }
  for (const std::string& cycle : report.cycles) add(Str("[I011] ", cycle, "; it was stopped there"));
  return findings;
}

std::string Describe(const PassRun& run) {
  return Str("pass ", run.pass->name, "#", run.instance, " (instance ", run.number, " of the pipeline, in ",
             run.pipeline, ")");
}

// A stable sort, so that two runs say the same.
std::string RulesText(const PassRun& run) {
  std::vector<std::pair<std::string_view, int64_t>> rules(run.rewrites);
  std::ranges::stable_sort(rules, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> texts;
  for (const auto& [id, count] : rules) texts.push_back(count == 1 ? std::string(id) : Str(id, " ", count, "x"));
  return Join(texts, ", ");
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

std::string TodoText(const PipelineReport& report) {
  if (report.todo.empty()) return "";
  std::vector<std::string> names;
  for (const std::string& name : report.todo) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  constexpr size_t kMostNames = 4;
  const size_t shown = std::min(names.size(), kMostNames);
  const std::string rest =
      shown == names.size() ? "" : Str(" and ", names.size() - shown, " more; --print_pipeline has all");
  return Str("skipped ", report.todo.size(), " of the pipeline's ", report.items,
             " passes, which hlokit does not have yet: ", Join(std::span(names).first(shown), ", "), rest);
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
