#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>

#include "base/json.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/diff/columns.h"
#include "driver/diff/diff.h"
#include "driver/diff/profile_match.h"
#include "driver/inspect/text.h"
#include "driver/load.h"
#include "driver/xml.h"

namespace hlo {
namespace {

using What = KernelDiff::What;

Result<std::vector<ProfileSummary>> ReadSide(const std::string& path) {
  std::error_code error;
  std::vector<std::string> files = {path};
  if (std::filesystem::is_directory(path, error)) files = TRY(ProfilesIn(path));
  std::vector<ProfileSummary> profiles;
  for (const std::string& file : files) {
    profiles.push_back(TRY(ReadProfileSummary(file)));
    const ProfileSummary &first = profiles.front(), &last = profiles.back();
    const bool same = first.input == last.input && first.code == last.code && first.platform == last.platform &&
                      first.device == last.device;
    if (!same)
      FAIL(Error(ExitCode::kRejected, "A025",
                 Str("'", Escaped(file), "' and '", Escaped(files.front()),
                     "' are on the same side, but profile different code or different devices"))
               .Hint("all profiles of one side must be of the same program on the same device"));
  }
  return profiles;
}

struct Sides {
  std::vector<ProfileSummary> left, right;
};

bool IsOneSided(const StepPair& pair) { return pair.left.empty() || pair.right.empty(); }

enum class Change : uint8_t { kSlower, kFaster, kNew, kGone, kNone };
constexpr std::string_view kChangeWords[] = {"slower", "faster", "new", "gone", "not told apart"};
Change ChangeOf(const StepPair& pair) {
  if (pair.left.empty()) return Change::kNew;
  if (pair.right.empty()) return Change::kGone;
  if (!pair.is_significant) return Change::kNone;
  return pair.time.difference() > 0 ? Change::kSlower : Change::kFaster;
}

struct ChangeSum {
  int64_t count = 0;
  double ms = 0;
};
std::array<ChangeSum, std::size(kChangeWords)> SumsOf(const ProfileDiff& diff) {
  std::array<ChangeSum, std::size(kChangeWords)> sums;
  for (const StepPair& pair : diff.steps) {
    ChangeSum& sum = sums[static_cast<size_t>(ChangeOf(pair))];
    ++sum.count;
    sum.ms += pair.time.difference();
  }
  return sums;
}

std::string NamesText(const std::vector<const StepRow*>& rows) {
  constexpr size_t kMost = 4;
  std::vector<std::string_view> names;
  for (size_t i = 0; i < std::min(rows.size(), kMost); ++i) names.push_back(rows[i]->step.name);
  return Str(Join(names, ", "), rows.size() > kMost ? Str(" and ", rows.size() - kMost, " more") : "");
}

// Compares how both sides compute the same work, or gives the word for the grouping, such as "split".
std::string WhatText(const StepPair& pair) {
  if (!pair.same_work) return IsOneSided(pair) ? "" : std::string(ToString(pair.what));
  const StepRow &was = *pair.left[0], &is = *pair.right[0];
  std::vector<std::string> parts;
  const auto add = [&](std::string_view title, const std::string& left, const std::string& right) {
    if (left != right) parts.push_back(Str(title, left, " -> ", right));
  };
  if (was.step.how != is.step.how) add("", was.step.how, is.step.how);
  else add("", was.step.kind, is.step.kind);
  add("times ", Format("%.4g", was.figures.executions), Format("%.4g", is.figures.executions));
  return Join(parts, "; ");
}

std::string SourceOf(const StepPair& pair) {
  const ProfiledStep& step = (pair.left.empty() ? pair.right : pair.left).back()->step;
  return Str(step.source, step.source.empty() || step.op_name.empty() ? "" : " ", step.op_name);
}

std::string Percent(double left, double right) { return left > 0 ? Format("%+.1f %%", 100 * (right / left - 1)) : ""; }

Columns StepColumns(const ProfileDiff& diff) {
  Columns table{{"steps", "left", "right", ">left", ">right", ">change", ">p", "what", "source"}, {}};
  for (const StepPair& pair : diff.steps) {
    const Change change = ChangeOf(pair);
    if (change == Change::kNone) continue;
    const std::string was = NamesText(pair.left), is = NamesText(pair.right);
    table.rows.push_back({std::string(kChangeWords[static_cast<size_t>(change)]), was, was == is ? "" : is,
                          pair.left.empty() ? "" : HumanMilliseconds(pair.time.left_ms),
                          pair.right.empty() ? "" : HumanMilliseconds(pair.time.right_ms),
                          IsOneSided(pair) ? "" : Percent(pair.time.left_ms, pair.time.right_ms),
                          IsOneSided(pair) ? "" : ProbabilityText(pair.p), WhatText(pair), SourceOf(pair)});
  }
  return table;
}

struct Figure {
  std::string title, key;
  std::function<double(const ProfileSummary&)> of;
  std::string (*text)(double);
};
std::vector<Figure> Figures() {
  std::vector<Figure> figures = {
      {"device busy", "busy_ms", [](const ProfileSummary& of) { return of.busy_ms; }, HumanMilliseconds}};
  for (int cause = 0; cause < kGapCauses; ++cause) {
    const std::string word(ToString(static_cast<GapCause>(cause)));
    figures.push_back({Str("gaps: ", word), Str(word, "_gap_ms"),
                       [cause](const ProfileSummary& of) { return of.gaps[cause].ms; }, HumanMilliseconds});
  }
  const auto bytes = [](int64_t MemoryProfile::* field) {
    return [field](const ProfileSummary& of) { return static_cast<double>(of.memory.*field); };
  };
  figures.push_back({"by the interpreter", "interpreted_ms", [](const ProfileSummary& of) { return of.interpreted_ms; },
                     HumanMilliseconds});
  figures.push_back({"launches", "launches", [](const ProfileSummary& of) { return of.launches; }, HumanCount});
  figures.push_back({"memory, planned", "planned_bytes", bytes(&MemoryProfile::planned_bytes), HumanBytes});
  figures.push_back({"memory, live at once", "peak_bytes", bytes(&MemoryProfile::peak_bytes), HumanBytes});
  return figures;
}

double ValueOf(const Figure& figure, const std::vector<ProfileSummary>& side) {
  std::vector<double> values;
  for (const ProfileSummary& profile : side) values.push_back(figure.of(profile));
  return Percentile(std::move(values), 0.5);
}

Columns RunColumns(const ProfileDiff& diff, const Sides& sides) {
  Columns table{{"of a run", ">left", ">right", ">change", ">p"}, {}};
  const auto add = [&](const std::string& title, double was, double is, std::string (*text)(double),
                       const std::string& p) {
    if (was != 0 || is != 0) table.rows.push_back({title, text(was), text(is), was == is ? "" : Percent(was, is), p});
  };
  add("time, median", diff.run.left_ms, diff.run.right_ms, HumanMilliseconds,
      diff.run.left.empty() || diff.run.right.empty() ? "" : ProbabilityText(diff.run.p));
  for (const Figure& figure : Figures())
    add(figure.title, ValueOf(figure, sides.left), ValueOf(figure, sides.right), figure.text, "");
  return table;
}

std::vector<std::string> HeadLines(const ProfileDiff& diff) {
  const ProfileSummary &left = *diff.left, &right = *diff.right;
  const auto samples = [&](size_t count, const ProfileSummary& of) {
    if (diff.by_profile) return Counted(static_cast<int64_t>(count), "profile");
    const auto runs = static_cast<int64_t>(count);
    return runs > 0 && runs < of.runs ? Str(runs, " of ", of.runs, " runs") : Counted(runs, "run");
  };
  std::vector<std::string> lines = {Str("profiles   ", left.module_name, " on ", left.platform, " (", left.device,
                                        "), planned for ", left.target, "   ", samples(diff.left_samples, left), " vs ",
                                        samples(diff.right_samples, right))};
  const auto add = [&](std::string_view what, const std::string& was, const std::string& is) {
    if (was != is) lines.push_back(Str("  ", what, "  ", was, " -> ", is));
  };
  add("module", left.module_name, right.module_name);
  add("platform", left.platform, right.platform);
  add("device", left.device, right.device);
  add("planned for", left.target, right.target);
  if (!diff.same_input) lines.emplace_back("  the modules differ: only steps that compute the same are compared");
  else if (!diff.same_code) lines.emplace_back("  the module is the same, but the passes made different code from it");
  return lines;
}

std::string SumsText(const ProfileDiff& diff) {
  std::vector<std::string> parts;
  const auto sums = SumsOf(diff);
  for (size_t i = 0; i < sums.size(); ++i) {
    const std::string ms = Signed(sums[i].ms, HumanMilliseconds);
    if (sums[i].count > 0) parts.push_back(Str(sums[i].count, " ", kChangeWords[i], ms.empty() ? "" : " ", ms));
  }
  // Number of pairs without a row in the table, by kind.
  std::map<std::string_view, int64_t> others;
  for (const StepPair& pair : diff.steps) {
    if (ChangeOf(pair) == Change::kNone && !pair.same_work) ++others[ToString(pair.what)];
  }
  std::vector<std::string> what;
  for (const auto& [word, count] : others) what.push_back(Str(count, " ", word));
  if (!what.empty()) parts.back() += Str(" (", Join(what, ", "), ")");
  return Str("steps      ", Join(parts, ",   "));
}

std::vector<std::string> NotesOn(const ProfileDiff& diff, double significance) {
  std::vector<std::string> notes;
  const std::string samples =
      Str(diff.left_samples, " and ", diff.right_samples, diff.by_profile ? " profiles" : " runs");
  if (!diff.can_tell(significance)) {
    notes.push_back(Str("with ", samples, " p is at least ", Format("%.2g", diff.least_p),
                        ", so no difference in time can be significant; more samples are needed"));
  } else if (static_cast<double>(diff.tested) * diff.least_p >= significance) {
    notes.push_back(Str("with ", samples, " no difference in any of the ", diff.tested,
                        " steps can be significant; more samples are needed"));
  }
  if (!diff.by_profile)
    notes.emplace_back(
        "the runs of each side come from one process, so other work of the machine meanwhile looks like a difference; "
        "two directories with several profiles each are compared profile by profile");
  return notes;
}

void WriteJson(JsonWriter& json, const ProfileDiff& diff, const Sides& sides, const std::vector<std::string>& notes) {
  const auto side = [&](std::string_view key, const std::vector<ProfileSummary>& profiles) {
    const ProfileSummary& first = profiles.front();
    json.Key(key).Open('{').Key("module").Value(first.module_name).Key("platform").Value(first.platform);
    json.Key("device").Value(first.device).Key("target").Value(first.target);
    json.Key("profiles").Value(profiles.size());
    for (const Figure& figure : Figures()) json.Key(figure.key).Value(ValueOf(figure, profiles));
    json.Close('}');
  };
  const auto time = [&](const TimePair& pair) {
    json.Key("left_ms").Value(pair.left_ms).Key("right_ms").Value(pair.right_ms);
  };
  side("left", sides.left);
  side("right", sides.right);
  json.Key("same_input").Value(diff.same_input).Key("same_code").Value(diff.same_code);
  json.Key("sample").Value(diff.by_profile ? "profile" : "run").Key("left_samples").Value(diff.left_samples);
  json.Key("right_samples").Value(diff.right_samples).Key("test").Value("mann-whitney, holm").Key("run").Open('{');
  time(diff.run);
  json.Key("p").Value(diff.run.p).Close('}').Key("steps").Open('[');
  for (const StepPair& pair : diff.steps) {
    json.Open('{').Key("what").Value(kChangeWords[static_cast<size_t>(ChangeOf(pair))]);
    json.Key("structure").Value(pair.same_work ? "same" : ToString(pair.what));
    for (const auto& [key, rows] : {std::pair("left", &pair.left), std::pair("right", &pair.right)}) {
      json.Key(key).Open('[');
      for (const StepRow* row : *rows) json.Value(row->step.name);
      json.Close(']');
    }
    time(pair.time);
    if (!IsOneSided(pair)) json.Key("p").Value(pair.time.p).Key("p_holm").Value(pair.p);
    json.Key("change").Value(WhatText(pair)).Key("source").Value(SourceOf(pair)).Close('}');
  }
  json.Close(']').Key("notes").Open('[');
  for (const std::string& note : notes) json.Value(note);
  json.Close(']');
}

void SetVerdict(const ProfileDiff& diff, double significance, DiffReport* report) {
  const auto sums = SumsOf(diff);
  const bool run_differs = diff.run.p < significance;
  std::vector<std::string> parts;
  if (run_differs) parts.push_back(Str("a run ", Percent(diff.run.left_ms, diff.run.right_ms)));
  for (const Change change : {Change::kSlower, Change::kFaster, Change::kNew, Change::kGone}) {
    const auto i = static_cast<size_t>(change);
    if (sums[i].count > 0) parts.push_back(Str(sums[i].count, " ", kChangeWords[i]));
  }
  const bool matches = diff.tested > 0, differs = !parts.empty() || !diff.same_input;
  if (!diff.same_input) parts.emplace_back("of different modules");
  report->exit = !matches ? ExitCode::kInconclusive : ExitCode::kNo;
  report->verdict = !matches ? "INCONCLUSIVE(nothing is the same in both)" : "DIFFERENT";
  report->detail = Join(parts, ", ");
  if (!matches || differs) return;
  const bool can_tell = diff.can_tell(significance);
  report->exit = can_tell ? ExitCode::kOk : ExitCode::kInconclusive;
  report->verdict = can_tell ? "EQUAL" : "INCONCLUSIVE(too few runs)";
  report->detail =
      Str("no significant difference in the time of a run and in ", Counted(static_cast<int64_t>(diff.tested), "step"));
}

}  // namespace

Result<DiffReport> DiffProfiles(const std::string& left, const std::string& right, const DiffFilesOptions& options) {
  const Sides sides{.left = TRY(ReadSide(left)), .right = TRY(ReadSide(right))};
  const ProfileDiff diff = DiffProfileSummaries(sides.left, sides.right, options.significance);
  const std::vector<std::string> notes = NotesOn(diff, options.significance);
  DiffReport report;
  SetVerdict(diff, options.significance, &report);
  std::vector<std::string> head = HeadLines(diff);
  const Columns run = Filled(RunColumns(diff, sides)), steps = Filled(StepColumns(diff));
  for (const std::string& line : head) report.text += line + "\n";
  report.text += TableText(run, 0) + TableText(steps, options.format == DiffFormat::kText ? 0 : options.top);
  report.text += SumsText(diff) + "\n";
  for (const std::string& note : notes) report.text += Str("  note: ", note, "\n");
  if (options.format == DiffFormat::kHtml) {
    report.html = Str("<pre class=\"l\">", XmlText(Join(head, "\n")), "</pre>\n", TableHtml(run), TableHtml(steps),
                      "<p>", XmlText(SumsText(diff)), "</p>\n");
    for (const std::string& note : notes) report.html += Str("<p>note: ", XmlText(note), "</p>\n");
  }
  JsonWriter json;
  json.Open('{');
  WriteJson(json, diff, sides, notes);
  report.json = Str("\"profile\":", json.Close('}').text(), ",");
  return report;
}

}  // namespace hlo
