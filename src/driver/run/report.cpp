// What a person, and a program, gets to read of a run. Text and JSON come from the same struct.
#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "driver/run/run.h"

namespace hlo {
namespace {

std::string OutputName(const ShapeIndex& index) { return Str("{", Join(index, ","), "}"); }

// Shapes that do not fit the column are cut in the middle.
std::string Cut(const std::string& text, size_t width) {
  if (text.size() <= width) return text;
  return Str(text.substr(0, width / 2 - 1), "...", text.substr(text.size() - (width - width / 2 - 2)));
}

// The difference of the ends: shown, not judged.
std::string EndsTable(const Comparison& ends) {
  constexpr size_t kMostRows = 12;
  std::string out = "  output   shape                 elements    max abs    max rel      max ulp\n";
  std::vector<const TensorComparison*> rows;
  for (const TensorComparison& tensor : ends.outputs) rows.push_back(&tensor);
  if (rows.size() > kMostRows) {
    std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return a->max_rel > b->max_rel; });
  }
  for (size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) {
    const TensorComparison& t = *rows[i];
    out += Format("  %-8s %-18s %11lld   %8.2e   %8.1e   %10lld\n", OutputName(t.output).c_str(),
                  Cut(t.ShapeText(), 18).c_str(), static_cast<long long>(t.elements), t.max_abs, t.max_rel,
                  static_cast<long long>(t.max_ulps));
    // The columns speak of elements where both sides are finite.
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

// "1 kernel", "2 kernels".
std::string Counted(int64_t count, std::string_view what) { return Str(count, " ", what, count == 1 ? "" : "s"); }

std::string Share(int64_t part, int64_t whole) {
  if (part == 0) return "0";
  return Format("%lld (%.3g%%)", static_cast<long long>(part),
                100.0 * static_cast<double>(part) / static_cast<double>(std::max<int64_t>(1, whole)));
}

std::string LocalText(const LocalSummary& local) {
  const auto count = [&](ElementClass c) { return local.counts[static_cast<int>(c)]; };
  const bool wrong = count(ElementClass::kViolation) > 0 || !local.wrong.empty();
  if (local.steps == 0 && local.interpreted > 0)
    return Str(
        "nothing to check: ", local.interpreted == 1 ? "the one step is" : Str("all ", local.interpreted, " steps are"),
        " by the interpreter, which is the reference");
  std::string out =
      Str(wrong                     ? "MISMATCH  "
          : local.unchecked.empty() ? "MATCH  "
                                    : "",
          local.checked, " of ", local.steps, " kernels and calls checked, ", local.elements_checked, " elements");
  if (local.sampled > 0) {
    out += Str(", sampled ", local.sampled_checked, " of ", local.sampled_elements, " in ",
               Counted(local.sampled, "kernel"));
  }
  const std::pair<ElementClass, const char*> kClasses[] = {{ElementClass::kViolation, "BEYOND BOUND"},
                                                           {ElementClass::kUndetermined, "undetermined"},
                                                           {ElementClass::kVacuous, "vacuous"},
                                                           {ElementClass::kSuspicious, "suspicious"}};
  for (const auto& [element_class, word] : kClasses) {
    if (count(element_class) > 0) out += Str(", ", Share(count(element_class), local.elements_checked), " ", word);
  }
  if (local.decided > 0) out += Str("; ", Counted(local.decided, "kernel"), " decided on made-up arguments");
  if (local.worst_ratio > 0)
    out += Format("; worst err/bound %.2f", local.worst_ratio) + Str(" ('", local.worst_step, "')");
  return out;
}

// "2 of 180 steps by the interpreter: sort.3, fft.1 (31 % of the run time)"
std::string FallbackText(const FallbackSummary& fallback) {
  constexpr size_t kMostNames = 8;
  const size_t shown = std::min(fallback.names.size(), kMostNames);
  const std::string rest = fallback.names.size() > shown ? Str(" and ", fallback.names.size() - shown, " more") : "";
  return Str(fallback.names.size(), " of ", Counted(fallback.steps, "step"),
             " by the interpreter: ", Join(std::span(fallback.names).first(shown), ", "), rest,
             Format(fallback.share < 0.095 ? " (%.1f %% of the run time)" : " (%.0f %% of the run time)",
                    100 * fallback.share));
}

std::string DataflowText(const DataflowSummary& dataflow) {
  if (!dataflow.sound) return Str("MISMATCH  after ", Counted(dataflow.steps, "step"));
  return Str("MATCH  ", Counted(dataflow.steps, "step"), " in order, ", Counted(dataflow.operands, "operand"),
             " read unchanged");
}

// Every step is judged from what it read, so that each of these is wrong in itself.
std::string AlsoWrong(const LocalSummary& local, const std::string& culprit) {
  constexpr size_t kMostNames = 5;
  std::vector<std::string> others(local.wrong.begin(), local.wrong.end());
  std::erase(others, culprit);
  if (others.empty()) return "";
  const size_t shown = std::min(others.size(), kMostNames);
  const std::string rest = others.size() > shown ? Str(" and ", others.size() - shown, " more") : "";
  return Str("  also wrong: '", Join(std::span(others).first(shown), "', '"), "'", rest, "\n");
}

std::string ExactText(const ExactSummary& exact) {
  std::string out = Str(exact.verdict == Verdict::kMatch      ? "MATCH"
                        : exact.verdict == Verdict::kMismatch ? "MISMATCH"
                                                              : "INCONCLUSIVE",
                        "  ");
  if (exact.bound > 0) out += Str("on integers up to ", exact.bound, ": ");
  if (!exact.reason.empty()) {
    out += exact.reason;
    if (exact.exact_steps > 0) {
      out += Str("; ", exact.exact_steps, " of ", exact.steps, " different kernels and calls round nothing when alone",
                 exact.verdict == Verdict::kMismatch ? ", and not all of these are right" : ", and are right");
    }
    return out;
  }
  out += Str(Counted(exact.instructions, "instruction"), exact.instructions == 1 ? " rounds" : " round",
             " nothing, so the results must be equal");
  return out + (exact.zeros_have_signs ? "" : ", signs of zeros aside");
}

std::string EnsembleText(const EnsembleResult& ensemble) {
  return Str(!ensemble.unsupported.empty() ? "" : ensemble.suspect ? "SUSPECT  " : "MATCH  ", ToString(ensemble));
}

std::string DevicesText(const DevicesSummary& devices) {
  const int64_t count = devices.replicas * devices.partitions;
  std::string out = devices.partitions == 1 ? Counted(count, "replica")
                    : devices.replicas == 1 ? Counted(count, "partition")
                                            : Str(count, ": ", Counted(devices.replicas, "replica"), " of ",
                                                  Counted(devices.partitions, "partition"));
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

// A fault that nothing caught tests nothing when it was nowhere planted.
std::string PlantedText(const PlantedFault& planted) {
  return Str("  planted  ", planted.fault, " ", Counted(planted.times, "time"),
             planted.times == 0 ? ": it found nothing to change, so nothing was tested" : "", "\n");
}

// Where a planted fault is not what is wrong in the end: it changed nothing that these arguments show, or the
// comparison is blind, which are two things.
std::string UnnoticedText(const RunReport& report) {
  const bool any = std::ranges::any_of(report.planted, [](const PlantedFault& planted) { return planted.times > 0; });
  if (!any || report.exit == ExitCode::kNo) return "";
  if (report.exit == ExitCode::kInconclusive)
    return "  planted, and whether anything came of it could not be decided\n";
  return "  planted, and nothing came of it: the results are within bounds all the same\n";
}

// What is in no other line, where it is worth one, and the sum of all. `other` is dumping, opening the device, the
// stubs of custom calls.
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

// The interpreter runs beside a file for arguments that are made up, and to tell who is wrong.
std::string ReferenceText(const RunReport& report) {
  const bool is_file = !report.reference_file.empty();
  const std::string check = report.times.check > 0 ? Str("   check ", HumanMilliseconds(report.times.check)) : "";
  if (!report.reference_skipped.empty())
    return Str("  reference skipped: ", report.reference_skipped, "; --reference_platform=interpreter runs it", check,
               "\n");
  std::string out = is_file ? Str("  reference '", report.reference_file, "'") : "  reference interpreter";
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
               HumanMilliseconds(times.passes), ", kernels ", HumanMilliseconds(times.compile), ")   run ",
               HumanMilliseconds(times.run), " (median of ", times.runs, "; ", HumanMilliseconds(times.run_min), " to ",
               HumanMilliseconds(times.run_max), ")\n");
  }
  if (report.platform == "interpreter") out += Str("  interpreter   run ", HumanMilliseconds(times.run), "\n");
  if (report.devices) out += Str("  devices  ", DevicesText(*report.devices), "\n");
  if (report.compile) {
    out += Str("    ", Counted(report.compile->kernels, "kernel"), " (", report.compile->distinct_kernels,
               " different), ", Counted(report.compile->library_calls, "library call"), "\n");
    if (!report.fallback.names.empty()) out += Str("    ", FallbackText(report.fallback), "\n");
  }
  if (report.memory) out += Str("    memory ", MemoryText(*report.memory, report.process_peak_bytes), "\n");
  out += TimesText(times);
  if (times.reference > 0 || !report.reference_file.empty() || !report.reference_skipped.empty())
    out += ReferenceText(report);
  for (const PlantedFault& planted : report.planted) out += PlantedText(planted);
  for (const CustomCallStub& stub : report.stubs) out += StubText(stub);
  for (const std::string& note : report.notes) out += Str("  note: ", note, "\n");
  const bool ends_decide = report.ends_decide && (!report.exact || report.exact->reason.empty());
  if (report.ends)
    out += ends_decide ? OutputTable(*report.ends, report.exit == ExitCode::kNo) : EndsTable(*report.ends);
  // Those of `exact` follow with the culprit.
  if (report.ends && ends_decide && !report.exact) {
    for (const TensorComparison& tensor : report.ends->outputs) out += Details(tensor);
  }
  if (report.local) out += Str("  local    ", LocalText(*report.local), "\n");
  if (report.dataflow) out += Str("  dataflow ", DataflowText(*report.dataflow), "\n");
  if (!report.widened.empty()) out += Str("  passes   ", report.widened, "\n");
  if (report.exact) out += Str("  exact    ", ExactText(*report.exact), "\n");
  if (report.ensemble) out += Str("  ensemble ", EnsembleText(*report.ensemble), "\n");
  out += report.profile + report.literals;
  out += report.verdict;
  if (!report.detail.empty()) out += Str("  ", report.detail);
  if (!report.bits.empty()) out += Str("   bits ", report.bits);
  out += "\n";
  if (report.culprit.comparison) {
    // Not the module's outputs, whose table stands above.
    if (report.culprit.kind == Culprit::Kind::kKernel || report.culprit.kind == Culprit::Kind::kLibrary)
      out += Str("  '", report.culprit.name, "' from what it read:\n");
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

std::string ReportJson(const RunReport& report) {
  JsonWriter json;
  json.Open('{')
      .Key("schema")
      .Value("hlo.run/1")
      .Key("path")
      .Value(report.path)
      .Key("module")
      .Value(report.module_name);
  json.Key("verdict")
      .Value(report.verdict)
      .Key("exit")
      .Value(static_cast<int>(report.exit))
      .Key("detail")
      .Value(report.detail);
  json.Key("platform").Value(report.platform).Key("device").Value(report.device).Key("inputs").Value(report.inputs);
  json.Key("instructions").Value(report.instructions).Key("parameter_bytes").Value(report.parameter_bytes);
  const RunTimes& times = report.times;
  json.Key("parse_ms").Value(times.parse).Key("passes_ms").Value(times.passes).Key("kernels_ms").Value(times.compile);
  json.Key("compile_ms").Value(times.ready()).Key("run_ms").Value(times.run).Key("run_min_ms").Value(times.run_min);
  json.Key("run_max_ms").Value(times.run_max).Key("runs").Value(times.runs).Key("reference_ms").Value(times.reference);
  json.Key("check_ms").Value(times.check).Key("arguments_ms").Value(times.arguments);
  json.Key("placing_ms").Value(times.placing).Key("all_runs_ms").Value(times.all_runs);
  json.Key("first_run_ms").Value(times.first_run);
  json.Key("results_ms").Value(times.results).Key("saving_ms").Value(times.saving).Key("all_ms").Value(times.all);
  if (report.memory) {
    json.Key("memory")
        .Open('{')
        .Key("peak_bytes")
        .Value(report.memory->peak_bytes())
        .Key("parameter_bytes")
        .Value(report.memory->parameter_bytes);
    json.Key("constant_bytes")
        .Value(report.memory->constant_bytes)
        .Key("output_bytes")
        .Value(report.memory->output_bytes);
    json.Key("arena_bytes")
        .Value(report.memory->arena_bytes)
        .Key("live_bytes")
        .Value(report.memory->arena_lower_bound)
        .Close('}');
  }
  if (report.devices) {
    json.Key("devices").Open('{').Key("replicas").Value(report.devices->replicas);
    json.Key("partitions").Value(report.devices->partitions);
    json.Key("differing").Value(report.devices->differing).Close('}');
  }
  json.Key("process_peak_bytes").Value(report.process_peak_bytes);
  if (report.compile) {
    json.Key("kernels").Value(report.compile->kernels).Key("distinct_kernels").Value(report.compile->distinct_kernels);
    json.Key("library_calls").Value(report.compile->library_calls);
  }
  if (report.compile) {
    json.Key("by_interpreter").Open('{').Key("steps").Value(report.fallback.steps);
    json.Key("share").Value(report.fallback.share).Key("names").Open('[');
    for (const std::string& name : report.fallback.names) json.Value(name);
    json.Close(']').Close('}');
  }
  if (report.local) {
    json.Key("local").Open('{').Key("steps").Value(report.local->steps).Key("checked").Value(report.local->checked);
    json.Key("elements").Value(report.local->elements).Key("elements_checked").Value(report.local->elements_checked);
    json.Key("sampled").Value(report.local->sampled);
    for (int c = 0; c < kElementClasses; ++c)
      json.Key(ToString(static_cast<ElementClass>(c))).Value(report.local->counts[c]);
    json.Key("decided").Value(report.local->decided);
    json.Key("worst_ratio").Value(report.local->worst_ratio).Key("worst_step").Value(report.local->worst_step);
    json.Key("unchecked").Open('[');
    for (const std::string& step : report.local->unchecked) json.Value(step);
    json.Close(']').Key("wrong").Open('[');
    for (const std::string& step : report.local->wrong) json.Value(step);
    json.Close(']').Close('}');
  }
  if (report.dataflow) {
    json.Key("dataflow").Open('{').Key("sound").Value(report.dataflow->sound);
    json.Key("steps").Value(report.dataflow->steps).Key("operands").Value(report.dataflow->operands).Close('}');
  }
  if (!report.widened.empty()) {
    json.Key("passes").Open('{').Key("verdict").Value(VerdictText(report.widened_verdict, ""));
    json.Key("text").Value(report.widened).Close('}');
  }
  if (report.exact) {
    json.Key("exact").Open('{').Key("verdict").Value(VerdictText(report.exact->verdict, ""));
    json.Key("bound").Value(report.exact->bound).Key("instructions").Value(report.exact->instructions);
    json.Key("zeros_have_signs").Value(report.exact->zeros_have_signs).Key("reason").Value(report.exact->reason);
    json.Key("steps").Value(report.exact->steps).Key("exact_steps").Value(report.exact->exact_steps);
    json.Close('}');
  }
  if (report.ensemble) {
    json.Key("ensemble");
    WriteJson(json, *report.ensemble);
  }
  if (report.ends) {
    json.Key("outputs");
    WriteJson(json, *report.ends);
  }
  if (report.culprit.kind != Culprit::Kind::kNone) {
    constexpr const char* kKinds[] = {"none",    "pass",      "kernel",   "library",
                                      "runtime", "reference", "rounding", "unknown"};
    json.Key("culprit")
        .Open('{')
        .Key("kind")
        .Value(kKinds[static_cast<int>(report.culprit.kind)])
        .Key("name")
        .Value(report.culprit.name);
    json.Key("text").Value(report.culprit.text);
    if (report.culprit.comparison) {
      json.Key("comparison");
      WriteJson(json, *report.culprit.comparison);
    }
    json.Close('}');
  }
  if (!report.planted.empty()) {
    json.Key("planted").Open('[');
    for (const PlantedFault& planted : report.planted)
      json.Open('{').Key("fault").Value(planted.fault).Key("times").Value(planted.times).Close('}');
    json.Close(']');
  }
  if (!report.stubs.empty()) {
    json.Key("stubs").Open('[');
    for (const CustomCallStub& stub : report.stubs) {
      json.Open('{').Key("target").Value(stub.target).Key("policy").Value(stub.policy);
      json.Key("calls").Value(stub.calls).Close('}');
    }
    json.Close(']');
  }
  if (!report.reference_file.empty()) json.Key("reference").Value(report.reference_file);
  if (!report.reference_skipped.empty()) json.Key("reference_skipped").Value(report.reference_skipped);
  if (!report.next.empty()) json.Key("next").Value(report.next);
  if (report.filled_constants > 0) json.Key("filled_constants").Value(report.filled_constants);
  json.Key("notes").Open('[');
  for (const std::string& note : report.notes) json.Value(note);
  json.Close(']');
  if (!report.bits.empty()) json.Key("bits").Value(report.bits);
  json.Close('}');
  return json.text() + "\n";
}

}  // namespace hlo
