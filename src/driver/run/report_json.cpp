#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "driver/run/divergence.h"
#include "driver/run/run.h"
#include "driver/run/saved_run.h"
#include "gpu/runtime/tuning/tuner.h"

namespace hlo {
namespace {

void WriteNames(JsonWriter& json, const auto& names) {
  json.Open('[');
  for (const std::string& name : names) json.Value(name);
  json.Close(']');
}

void WriteTimes(JsonWriter& json, const RunTimes& times) {
  json.Key("parse_ms").Value(times.parse).Key("passes_ms").Value(times.passes).Key("kernels_ms").Value(times.compile);
  json.Key("autotune_ms").Value(times.tuning);
  json.Key("compile_ms").Value(times.ready()).Key("run_ms").Value(times.run).Key("run_min_ms").Value(times.run_min);
  json.Key("run_max_ms").Value(times.run_max).Key("runs").Value(times.runs).Key("reference_ms").Value(times.reference);
  json.Key("check_ms").Value(times.check).Key("arguments_ms").Value(times.arguments);
  json.Key("placing_ms").Value(times.placing).Key("all_runs_ms").Value(times.all_runs);
  json.Key("first_run_ms").Value(times.first_run);
  if (times.on_device) json.Key("on_device_ms").Value(*times.on_device);
  json.Key("results_ms").Value(times.results).Key("saving_ms").Value(times.saving).Key("all_ms").Value(times.all);
}

void WriteMemory(JsonWriter& json, const gpu::MemoryReport& memory) {
  json.Key("memory").Open('{').Key("peak_bytes").Value(memory.peak_bytes());
  json.Key("parameter_bytes").Value(memory.parameter_bytes).Key("constant_bytes").Value(memory.constant_bytes);
  json.Key("output_bytes").Value(memory.output_bytes).Key("arena_bytes").Value(memory.arena_bytes);
  json.Key("live_bytes").Value(memory.arena_lower_bound).Close('}');
}

void WriteCode(JsonWriter& json, const gpu::CompileReport& compile, const FallbackSummary& fallback) {
  json.Key("kernels").Value(compile.kernels).Key("distinct_kernels").Value(compile.distinct_kernels);
  if (compile.cached_kernels) json.Key("cached_kernels").Value(*compile.cached_kernels);
  json.Key("library_calls").Value(compile.library_calls);
  json.Key("by_interpreter").Open('{').Key("steps").Value(fallback.steps).Key("share").Value(fallback.share);
  WriteNames(json.Key("names"), fallback.names);
  json.Close('}');
}

void WriteTuning(JsonWriter& json, const gpu::TuningReport& tuning) {
  json.Key("autotune").Open('{').Key("wanted").Value(tuning.wanted).Key("cached").Value(tuning.cached);
  json.Key("unfinished").Value(tuning.unfinished).Key("steps").Open('[');
  for (const gpu::TunedStep& step : tuning.steps) {
    json.Open('{').Key("name").Value(step.name).Key("steps").Value(step.steps).Key("share").Value(step.share);
    json.Key("cold").Value(step.is_cold);
    json.Key("key").Value(step.decision.key).Key("choice").Value(step.decision.choice);
    json.Key("cached").Value(step.was_cached).Key("us").Value(step.decision.microseconds);
    json.Key("candidates").Open('[');
    for (const gpu::Candidate& candidate : step.race.candidates) {
      json.Open('{').Key("plan").Value(candidate.words).Key("us").Value(candidate.microseconds);
      json.Key("spread_us").Value(candidate.spread).Key("samples").Value(candidate.samples);
      json.Key("check").Value(candidate.check).Key("failure").Value(candidate.failure);
      json.Key("wrong").Value(candidate.is_wrong).Close('}');
    }
    json.Close(']').Close('}');
  }
  json.Close(']').Close('}');
}

void WriteLocal(JsonWriter& json, const LocalSummary& local) {
  json.Key("local").Open('{').Key("steps").Value(local.steps).Key("checked").Value(local.checked);
  json.Key("elements").Value(local.elements).Key("elements_checked").Value(local.elements_checked);
  json.Key("sampled").Value(local.sampled);
  for (int c = 0; c < kElementClasses; ++c) json.Key(ToString(static_cast<ElementClass>(c))).Value(local.counts[c]);
  json.Key("disproved").Value(local.disproved).Key("decided").Value(local.decided).Key("open").Open('[');
  for (const LocalSummary::OpenStep& step : local.open) json.Value(step.name);
  json.Close(']');
  json.Key("worst_ratio").Value(local.worst_ratio).Key("worst_step").Value(local.worst_step);
  WriteNames(json.Key("unchecked"), local.unchecked);
  WriteNames(json.Key("wrong"), local.wrong);
  json.Close('}');
}

void WriteExact(JsonWriter& json, const ExactSummary& exact) {
  json.Key("exact").Open('{').Key("verdict").Value(VerdictText(exact.verdict, ""));
  json.Key("bound").Value(exact.bound).Key("instructions").Value(exact.instructions);
  json.Key("zeros_have_signs").Value(exact.zeros_have_signs).Key("reason").Value(exact.reason);
  json.Key("steps").Value(exact.steps).Key("exact_steps").Value(exact.exact_steps).Close('}');
}

void WritePartition(JsonWriter& json, const PartitionSummary& partition) {
  json.Key("partition").Open('{').Key("verdict").Value(VerdictText(partition.verdict, ""));
  json.Key("devices").Value(partition.devices).Key("collectives").Value(partition.collectives);
  json.Key("bytes").Value(partition.bytes).Key("text").Value(partition.text).Close('}');
}

void WriteOracles(JsonWriter& json, const RunReport& report) {
  if (report.local) WriteLocal(json, *report.local);
  if (report.dataflow) {
    json.Key("dataflow").Open('{').Key("sound").Value(report.dataflow->sound);
    json.Key("steps").Value(report.dataflow->steps).Key("operands").Value(report.dataflow->operands).Close('}');
  }
  if (!report.widened.empty()) {
    json.Key("passes").Open('{').Key("verdict").Value(VerdictText(report.widened_verdict, ""));
    json.Key("text").Value(report.widened);
    if (!report.not_exercised.empty()) json.Key("not_exercised").Value(report.not_exercised);
    json.Close('}');
  }
  if (report.partition) WritePartition(json, *report.partition);
  if (report.values) WriteJson(json.Key("values"), *report.values);
  if (report.divergence) WriteJson(json.Key("divergence"), *report.divergence);
  if (report.exact) WriteExact(json, *report.exact);
  if (report.ensemble) WriteJson(json.Key("ensemble"), *report.ensemble);
  if (report.outputs) WriteJson(json.Key("outputs"), *report.outputs);
}

void WriteCulprit(JsonWriter& json, const Culprit& culprit) {
  constexpr const char* kKinds[] = {"none",      "pass",     "kernel",  "library", "runtime",
                                    "reference", "rounding", "unknown", "stub"};
  json.Key("culprit").Open('{').Key("kind").Value(kKinds[static_cast<int>(culprit.kind)]);
  json.Key("name").Value(culprit.name);
  if (!culprit.made_by.empty()) json.Key("made_by").Value(culprit.made_by);
  json.Key("text").Value(culprit.text);
  if (culprit.comparison) WriteJson(json.Key("comparison"), *culprit.comparison);
  json.Close('}');
}

void WritePlanted(JsonWriter& json, const RunReport& report) {
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
}

void WriteScopes(JsonWriter& json, const ScopesSummary& scopes) {
  json.Key("scopes").Open('{');
  for (const auto& [key, part] : {std::pair("compiled", &scopes.compiled), std::pair("by_op", &scopes.by_op)}) {
    json.Key(key).Open('{').Key("instructions").Value(part->instructions).Key("steps").Value(part->steps);
    json.Key("ms").Value(part->ms).Close('}');
  }
  json.Close('}');
}

}  // namespace

std::string ReportJson(const RunReport& report) {
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.run/1").Key("path").Value(report.path);
  json.Key("module").Value(report.module_name).Key("verdict").Value(report.verdict);
  json.Key("exit").Value(static_cast<int>(report.exit)).Key("detail").Value(report.detail);
  json.Key("platform").Value(report.platform).Key("device").Value(report.device).Key("inputs").Value(report.inputs);
  json.Key("instructions").Value(report.instructions).Key("parameter_bytes").Value(report.parameter_bytes);
  WriteTimes(json, report.times);
  if (report.examples_per_run > 0 && report.times.run > 0)
    json.Key("examples_per_second").Value(static_cast<double>(report.examples_per_run) * 1000 / report.times.run);
  if (report.memory) WriteMemory(json, *report.memory);
  if (report.devices) {
    json.Key("devices").Open('{').Key("replicas").Value(report.devices->replicas);
    json.Key("partitions").Value(report.devices->partitions);
    json.Key("differing").Value(report.devices->differing);
    if (report.devices->joined) json.Key("joined").Value(true);
    json.Close('}');
  }
  json.Key("process_peak_bytes").Value(report.process_peak_bytes);
  if (report.compile) WriteCode(json, *report.compile, report.fallback);
  if (report.tuning) WriteTuning(json, *report.tuning);
  if (report.scopes) WriteScopes(json, *report.scopes);
  WriteOracles(json, report);
  if (report.culprit.kind != Culprit::Kind::kNone) WriteCulprit(json, report.culprit);
  WritePlanted(json, report);
  if (!report.reference_file.empty()) json.Key("reference").Value(report.reference_file);
  if (!report.rounded.empty()) json.Key("rounding").Value(report.rounded);
  if (!report.reference_skipped.empty()) json.Key("reference_skipped").Value(report.reference_skipped);
  if (!report.next.empty()) json.Key("next").Value(report.next);
  if (report.filled_constants > 0) json.Key("filled_constants").Value(report.filled_constants);
  WriteNames(json.Key("notes"), report.notes);
  if (!report.bits.empty()) json.Key("bits").Value(report.bits);
  json.Close('}');
  return json.text() + "\n";
}

}  // namespace hlo
