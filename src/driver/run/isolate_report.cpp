// The report of --isolate as text and as JSON ("hlo.isolate/1").
#include <algorithm>
#include <array>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "driver/inspect/text.h"
#include "driver/run/isolate.h"
#include "judge/compare/compare.h"

namespace hlo {
namespace {

// Indexed by IsolatedState.
constexpr std::array<std::string_view, 7> kWords = {"WRONG", "open",        "not run", "not reached",
                                                    "ok",    "interpreter", "nothing"};
std::string_view ToString(IsolatedState state) { return kWords[static_cast<size_t>(state)]; }

std::string PartsText(const Isolation& isolation) {
  const int64_t count = std::ssize(isolation.parts);
  if (isolation.instructions) return Counted(count, "instruction");
  return count == 1 ? "1 kernel or library call" : Str(count, " kernels and library calls");
}

int64_t BadOf(const IsolatedPart& part) {
  int64_t bad = 0;
  if (part.report.culprit.comparison) {
    for (const TensorComparison& tensor : part.report.culprit.comparison->outputs) bad += tensor.bad();
  }
  return bad;
}

double RatioOf(const IsolatedPart& part) { return part.report.local ? part.report.local->worst_ratio : 0; }

std::string RatioText(double ratio) { return ratio >= 1e4 ? Format("%.1e", ratio) : Format("%.2f", ratio); }

std::string ShortShape(const std::string& shape) {
  constexpr size_t kMostCharacters = 48;
  const size_t end = shape.size() > kMostCharacters ? shape.rfind("], ", kMostCharacters) : std::string::npos;
  return end == std::string::npos ? shape : Str(std::string_view(shape).substr(0, end + 1), ", ...)");
}

std::vector<std::string> CellsOf(const IsolatedPart& part) {
  std::vector<std::string> cells = {std::string(ToString(part.state)), Str(part.number), part.name, part.kind,
                                    ShortShape(part.shape)};
  const bool was_judged = part.report.local && part.report.local->checked > 0;
  cells.push_back(was_judged ? Str(part.report.local->elements_checked) : "");
  cells.push_back(part.state == IsolatedState::kWrong ? Str(BadOf(part)) : "");
  cells.push_back(was_judged ? RatioText(RatioOf(part)) : "");
  cells.push_back(part.why.empty() ? part.source : part.why);
  return cells;
}

std::vector<const IsolatedPart*> InOrder(const Isolation& isolation) {
  std::vector<const IsolatedPart*> order;
  for (const IsolatedPart& part : isolation.parts) order.push_back(&part);
  std::ranges::stable_sort(order, {}, &IsolatedPart::state);
  return order;
}

std::string TableOf(const Isolation& isolation) {
  constexpr size_t kMostRows = 40;
  const std::vector<const IsolatedPart*> order = InOrder(isolation);
  TextTable table({"", ">#", isolation.instructions ? "instruction" : "kernel",
                   isolation.instructions ? "opcode" : "kind", "output", ">elements", ">bad", ">err/bound", "source"});
  for (const IsolatedPart* part : std::span(order).first(std::min(order.size(), kMostRows))) table.Row(CellsOf(*part));
  std::string out = table.Text();
  if (order.size() > kMostRows)
    out += Str("  ... and ", order.size() - kMostRows, " more; the first of them is '",
               ToString(order[kMostRows]->state), "'\n");
  return out;
}

std::string WrongText(const IsolatedPart& part) {
  const Culprit& culprit = part.report.culprit;
  std::string out;
  if (culprit.comparison) {
    out += Str("  '", part.name, "' alone:\n", OutputTable(*culprit.comparison, true));
    for (const TensorComparison& tensor : culprit.comparison->outputs) {
      if (tensor.bad() > 0) out += Details(tensor);
    }
  }
  return Str(out, "\n  who is wrong: ", culprit.text, "\n");
}

std::string CountsText(const Isolation& isolation) {
  const int64_t wrong = isolation.Count(IsolatedState::kWrong), right = isolation.Count(IsolatedState::kRight);
  std::string out = wrong > 0 ? Str(wrong, " wrong, ", right, " right") : Str(right, " right");
  const auto add = [&](IsolatedState state, std::string_view text) {
    if (const int64_t count = isolation.Count(state); count > 0) out += Str(", ", count, " ", text);
  };
  add(IsolatedState::kUndecided, "undecided");
  add(IsolatedState::kNotRun, "not run");
  add(IsolatedState::kNotReached, "not reached");
  add(IsolatedState::kInterpreted, "run by the interpreter, which is the reference");
  add(IsolatedState::kNothing, "with nothing to compute");
  if (isolation.left_out > 0) out += Str(", ", isolation.left_out, " left out by the patterns");
  return out;
}

std::string VerdictOf(const Isolation& isolation) {
  const bool not_run = isolation.Count(IsolatedState::kNotRun) + isolation.Count(IsolatedState::kNotReached) > 0;
  return VerdictText(isolation.verdict(), not_run ? "not all ran" : "bounds do not decide all results");
}

}  // namespace

std::string IsolationText(const Isolation& isolation) {
  constexpr int kMostShown = 3;
  std::string out =
      Str(isolation.path, ": ", isolation.module_name, "  (", PartsText(isolation),
          ", each alone; inputs: ", isolation.inputs, ")\n  ", isolation.platform, " ", isolation.device, "\n");
  if (!isolation.planted.empty())
    out += Str("  planted  ", isolation.planted, " in ", isolation.planted_parts, " of them\n");
  for (const std::string& note : isolation.notes) out += Str("  note: ", note, "\n");
  if (!isolation.parts.empty()) out += TableOf(isolation);
  out += Str(VerdictOf(isolation), "  ", CountsText(isolation), "\n");
  int shown = 0;
  for (const IsolatedPart* part : InOrder(isolation)) {
    if (part->state == IsolatedState::kWrong && shown++ < kMostShown) out += WrongText(*part);
  }
  if (shown > kMostShown) out += Str("\n  and ", shown - kMostShown, " more; --filter_by_name=RE shows them alone\n");
  return out;
}

std::string IsolationJson(const Isolation& isolation) {
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.isolate/1").Key("path").Value(isolation.path);
  json.Key("module").Value(isolation.module_name).Key("verdict").Value(VerdictOf(isolation));
  json.Key("exit").Value(static_cast<int>(ExitCodeOf(isolation.verdict())));
  json.Key("by").Value(isolation.instructions ? "instruction" : "kernel").Key("inputs").Value(isolation.inputs);
  json.Key("platform").Value(isolation.platform).Key("device").Value(isolation.device);
  json.Key("left_out").Value(isolation.left_out).Key("parts").Open('[');
  for (const IsolatedPart* part : InOrder(isolation)) {
    json.Open('{').Key("number").Value(part->number).Key("name").Value(part->name).Key("kind").Value(part->kind);
    json.Key("shape").Value(part->shape).Key("state").Value(ToString(part->state));
    if (!part->why.empty()) json.Key("why").Value(part->why);
    if (!part->source.empty()) json.Key("source").Value(part->source);
    if (part->report.local) {
      json.Key("elements").Value(part->report.local->elements);
      json.Key("elements_checked").Value(part->report.local->elements_checked).Key("ratio").Value(RatioOf(*part));
    }
    if (part->state == IsolatedState::kWrong) {
      json.Key("bad").Value(BadOf(*part)).Key("culprit").Value(part->report.culprit.text);
      if (part->report.culprit.comparison) WriteJson(json.Key("comparison"), *part->report.culprit.comparison);
    }
    json.Close('}');
  }
  json.Close(']');
  if (!isolation.notes.empty()) {
    json.Key("notes").Open('[');
    for (const std::string& note : isolation.notes) json.Value(note);
    json.Close(']');
  }
  json.Close('}');
  return json.text() + "\n";
}

}  // namespace hlo
