#include <algorithm>

#include "base/text.h"
#include "driver/inspect/text.h"
#include "driver/run/divergence.h"
#include "driver/run/oracles.h"
#include "driver/run/run.h"
#include "driver/run/saved_run.h"
#include "driver/run/scopes.h"
#include "gpu/runtime/tuning/tuner.h"

namespace hlo {
namespace {

std::string OutputName(const ShapeIndex& index) { return Str("{", Join(index, ","), "}"); }

std::string Cut(const std::string& text, size_t width) {
  if (text.size() <= width) return text;
  return Str(text.substr(0, width / 2 - 1), "...", text.substr(text.size() - (width - width / 2 - 2)));
}

// The relative error is of the whole output, because elements near 0 may have large ones in a correct run.
std::string DifferencesTable(const Comparison& outputs) {
  constexpr size_t kMostRows = 12;
  std::string out = "  output   shape                 elements    max abs   norm rel\n";
  std::vector<const TensorComparison*> rows;
  for (const TensorComparison& tensor : outputs.outputs) rows.push_back(&tensor);
  if (rows.size() > kMostRows) {
    std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return a->norm_rel > b->norm_rel; });
  }
  for (size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) {
    const TensorComparison& t = *rows[i];
    out += Format("  %-8s %-18s %11lld   %8.2e   %8.1e\n", OutputName(t.output).c_str(), Cut(t.ShapeText(), 18).c_str(),
                  static_cast<long long>(t.elements), t.max_abs, t.norm_rel);
    // The columns count only elements that are finite on both sides.
    const bool alike = t.nan_actual == t.nan_expected && t.inf_actual == t.inf_expected;
    if (t.nan_actual + t.inf_actual + t.nan_expected + t.inf_expected > 0) {
      out.insert(out.size() - 1, Str("   not finite: ", t.nan_actual, " NaN and ", t.inf_actual, " inf",
                                     alike ? std::string(" on both sides")
                                           : Str(" instead of ", t.nan_expected, " and ", t.inf_expected)));
    }
  }
  if (rows.size() > kMostRows)
    out += Format("  ... and %zu outputs with smaller differences\n", rows.size() - kMostRows);
  return out;
}

// "3 kernels (2 different), 1 library call, 1 fill; 4 steps". Steps are shown if they are not the sum of the others.
std::string CodeText(const RunReport& report) {
  const gpu::CompileReport& compile = *report.compile;
  const std::string cached =
      compile.cached_kernels ? Str(", ", *compile.cached_kernels, " of them from the cache") : "";
  std::string out = Str(Counted(compile.kernels, "kernel"), " (", compile.distinct_kernels, " different", cached, "), ",
                        Counted(compile.library_calls, "library call"));
  if (report.fill_steps > 0) out += Str(", ", Counted(report.fill_steps, "fill"));
  if (report.copy_steps > 0) out += Str(", ", report.copy_steps, report.copy_steps == 1 ? " copy" : " copies");
  const int64_t others = compile.library_calls + report.fill_steps + report.copy_steps + std::ssize(compile.host_calls);
  if (compile.kernels + others != report.fallback.steps) out += Str("; ", Counted(report.fallback.steps, "step"));
  return out;
}

std::string FallbackText(const FallbackSummary& fallback) {
  constexpr size_t kMostNames = 8;
  const size_t shown = std::min(fallback.names.size(), kMostNames);
  const std::string rest = fallback.names.size() > shown ? Str(" and ", fallback.names.size() - shown, " more") : "";
  return Str(fallback.names.size(), " of ", Counted(fallback.steps, "step"),
             " by the interpreter: ", Join(std::span(fallback.names).first(shown), ", "), rest,
             Format(fallback.share < 0.095 ? " (%.1f %% of the run time)" : " (%.0f %% of the run time)",
                    100 * fallback.share));
}

std::string AlsoWrong(const LocalSummary& local, const std::string& culprit) {
  constexpr size_t kMostNames = 5;
  std::vector<std::string> others(local.wrong.begin(), local.wrong.end());
  std::erase(others, culprit);
  if (others.empty()) return "";
  const size_t shown = std::min(others.size(), kMostNames);
  const std::string rest = others.size() > shown ? Str(" and ", others.size() - shown, " more") : "";
  return Str("  also wrong: '", Join(std::span(others).first(shown), "', '"), "'", rest, "\n");
}

std::string DevicesText(const DevicesSummary& devices) {
  const int64_t count = devices.replicas * devices.partitions;
  std::string out = devices.partitions == 1 ? Counted(count, "replica")
                    : devices.replicas == 1 ? Counted(count, "partition")
                                            : Str(count, ": ", Counted(devices.replicas, "replica"), " of ",
                                                  Counted(devices.partitions, "partition"));
  if (devices.joined) return out + "; their results are joined to whole arrays";
  if (devices.differing == 0) return out + "; all have the same results, bit for bit";
  const std::string noun = devices.partitions == 1 ? "replica " : devices.replicas == 1 ? "partition " : "device ";
  const std::string first = Str(noun, devices.first);
  if (devices.differing == 1)
    return Str(out, "; ", first, " has other results than ", noun, "0, in ", devices.first_output);
  return Str(out, "; ", devices.differing, " have other results than ", noun, "0, first ", first, " in ",
             devices.first_output);
}

std::string Size(int64_t bytes) { return HumanBytes(static_cast<double>(bytes)); }

std::string MemoryText(const gpu::MemoryReport& plan, int64_t process_peak_bytes) {
  return Str(Size(plan.peak_bytes()), " planned (parameters ", Size(plan.parameter_bytes), ", constants ",
             Size(plan.constant_bytes), ", outputs ", Size(plan.output_bytes), ", temporaries ", Size(plan.arena_bytes),
             ", at most ", Size(plan.arena_lower_bound), " live at once); process peak ", Size(process_peak_bytes));
}

std::string PlantedText(const PlantedFault& planted) {
  return Str("  planted  ", planted.fault, " ", Counted(planted.times, "time"),
             planted.times == 0 ? ": the fault fits nowhere, so nothing was tested" : "", "\n");
}

// A line for a planted fault that no comparison found, or "".
std::string UnnoticedText(const RunReport& report) {
  // Notes report the checks of a wrong autotuning candidate.
  const bool any = std::ranges::any_of(report.planted, [](const PlantedFault& planted) {
    return planted.times > 0 && planted.fault != kWrongCandidate;
  });
  if (!any || report.exit == ExitCode::kNo) return "";
  if (report.verdict == "RAN") return "  planted, but nothing was compared, so nothing was tested\n";
  if (report.exit == ExitCode::kInconclusive)
    return "  planted, but it could not be decided whether the fault changed results\n";
  return "  planted, but not found: everything that was compared agrees on these arguments\n";
}

// Times that no other line has, and the total, if they exceed a second. `other`: dumping, opening the device, stubs.
std::string TimesText(const RunTimes& times) {
  constexpr double kWorthSaying = 1000;
  const double unsaid = times.all - times.ready() - times.run - times.reference - times.check;
  if (unsaid < kWorthSaying) return "";
  const double other = times.all - times.ready() - times.arguments - times.placing - times.all_runs - times.results -
                       times.saving - times.reference - times.check;
  std::string out = "    ";
  const auto add = [&](const char* what, double ms, const std::string& more = "") {
    out += Str(what, " ", HumanMilliseconds(ms), more, "   ");
  };
  add("arguments", times.arguments);
  if (times.placing > 0) add("placed in", times.placing);
  if (times.first_run < kWorthSaying) add("all runs", times.all_runs);
  else add("all runs", times.all_runs, Str(" (the first, in new memory, ", HumanMilliseconds(times.first_run), ")"));
  add("results", times.results);
  if (times.saving > 0) add("saved in", times.saving);
  add("other", std::max(0.0, other));
  add("in all", times.all);
  out.resize(out.size() - 3);
  return out + "\n";
}

// Even with a reference file, the interpreter checks arguments and finds the culprit.
std::string ReferenceText(const RunReport& report) {
  const bool is_file = !report.reference_file.empty();
  const std::string check = report.times.check > 0 ? Str("   check ", HumanMilliseconds(report.times.check)) : "";
  if (!report.reference_skipped.empty())
    return Str("  reference skipped: ", report.reference_skipped, "; --reference_platform=interpreter computes it",
               check, "\n");
  std::string out = "  reference ";
  if (report.reference_recorded) out += "recorded in the file";
  else if (is_file) out += Str("'", report.reference_file, "'");
  else out += "interpreter";
  if (report.times.reference > 0)
    out += Str("   ", is_file ? "interpreter " : "run ", HumanMilliseconds(report.times.reference));
  out += check;
  if (report.non_finite_outputs > 0)
    out += Format("   %.3g%% of the float outputs are not finite", 100 * report.non_finite_outputs);
  return out + "\n";
}

std::string StubText(const CustomCallStub& stub) {
  return Str("  stub     \"", Escaped(stub.target), "\" = ", stub.policy, " in ", Counted(stub.calls, "call"), "\n");
}

}  // namespace

std::string ReportText(const RunReport& report) {
  std::string out = Str(report.path, ": ", report.module_name, "  (", Counted(report.parameters, "parameter"), ", ",
                        Size(report.parameter_bytes), "; inputs ", report.inputs, ")\n");
  const RunTimes& times = report.times;
  if (times.compile > 0) {
    out += Str("  ", report.platform, " ", report.device, "\n");
    out += Str("    compile ", HumanMilliseconds(times.ready()), " (read ", HumanMilliseconds(times.parse), ", passes ",
               HumanMilliseconds(times.passes), report.tuning ? Str(", autotune ", gpu::Summary(*report.tuning)) : "",
               ", kernels ", HumanMilliseconds(times.compile), ")");
    if (times.runs > 0)
      out += Str("   run ", HumanMilliseconds(times.run),
                 times.runs == 1 ? std::string(" (one run)")
                                 : Str(" (median of ", times.runs, "; ", HumanMilliseconds(times.run_min), " to ",
                                       HumanMilliseconds(times.run_max), ")"));
    if (times.on_device) out += Str(", ", HumanMilliseconds(*times.on_device), " on the device");
    if (report.examples_per_run > 0 && times.run > 0)
      out += Format("   %.4g examples/s", static_cast<double>(report.examples_per_run) * 1000 / times.run);
    out += "\n";
  }
  if (report.platform == "interpreter") out += Str("  interpreter   run ", HumanMilliseconds(times.run), "\n");
  if (report.devices) out += Str("  devices  ", DevicesText(*report.devices), "\n");
  if (report.compile) {
    out += Str("    ", CodeText(report), "\n");
    if (!report.fallback.names.empty()) out += Str("    ", FallbackText(report.fallback), "\n");
  }
  if (report.scopes) out += Str("    scopes ", ToString(*report.scopes), "\n");
  if (report.memory) out += Str("    memory ", MemoryText(*report.memory, report.process_peak_bytes), "\n");
  out += TimesText(times);
  if (times.reference > 0 || !report.reference_file.empty() || !report.reference_skipped.empty())
    out += ReferenceText(report);
  for (const PlantedFault& planted : report.planted) out += PlantedText(planted);
  for (const CustomCallStub& stub : report.stubs) out += StubText(stub);
  for (const std::string& note : report.notes) out += Str("  note: ", note, "\n");
  const bool outputs_decide = report.outputs_decide && (!report.exact || report.exact->reason.empty());
  if (report.outputs)
    out +=
        outputs_decide ? OutputTable(*report.outputs, report.exit == ExitCode::kNo) : DifferencesTable(*report.outputs);
  // The details of `exact` follow with the culprit.
  if (!report.rounded.empty()) out += Str("  rounding ", report.rounded, "\n");
  if (report.outputs && outputs_decide && !report.exact && report.rounded.empty()) {
    for (const TensorComparison& tensor : report.outputs->outputs) out += Details(tensor);
  }
  for (const Oracle& oracle : AllOracles()) {
    const std::string line = oracle.line(report);
    if (!line.empty()) out += Format("  %-8s ", std::string(oracle.name).c_str()) + line + "\n";
  }
  if (!report.not_exercised.empty()) out += Str("  not exercised: ", report.not_exercised, "\n");
  if (report.values) out += Str("  values   ", ToString(*report.values));
  if (report.divergence) out += ToString(*report.divergence);
  if (report.autotune_report && report.tuning) {
    const std::string decisions = ToString(*report.tuning);
    out +=
        decisions.empty()
            ? "  autotune  nothing measured: no step with several candidates takes enough of a run (--autotune_share)\n"
            : Str("  autotune\n", decisions);
  }
  out += report.profile + report.literals;
  out += report.verdict;
  if (!report.detail.empty()) out += Str("  ", report.detail);
  if (!report.bits.empty()) out += Str("   bits ", report.bits);
  out += "\n";
  if (report.culprit.comparison) {
    // The module's outputs are in a table above.
    if (report.culprit.kind == Culprit::Kind::kKernel || report.culprit.kind == Culprit::Kind::kLibrary)
      out += Str("  '", report.culprit.name, "' from the operands that it read:\n");
    out += OutputTable(*report.culprit.comparison, true);
    for (const TensorComparison& tensor : report.culprit.comparison->outputs) {
      if (tensor.bad() > 0) out += Details(tensor);
    }
  }
  if (report.culprit.kind != Culprit::Kind::kNone) {
    out += Str("\n  who is wrong: ", report.culprit.text, "\n");
    if (report.local) out += AlsoWrong(*report.local, report.culprit.name);
  }
  out += UnnoticedText(report);
  if (!report.next.empty()) out += Str("  next: ", report.next, "\n");
  return out;
}

}  // namespace hlo
