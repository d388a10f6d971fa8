// Finds the first pass at which the sides diverge. A pass without changes has no state, so a state on one side only is
// a divergence, too.
#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/diff/diff.h"
#include "driver/diff/structure_report.h"
#include "driver/dump/dump.h"
#include "driver/dump/dump_index.h"
#include "driver/inspect/text.h"
#include "driver/load.h"
#include "driver/xml.h"

namespace hlo {
namespace {

struct DumpedModule {
  std::string directory, name;
  int64_t number = 0;
  std::vector<DumpFile> states;
  JsonValue passes;

  std::string PathOf(const DumpFile& state) const { return Str(directory, "/", state.name); }
};

Result<std::vector<DumpedModule>> ModulesOf(const std::string& directory) {
  std::map<int64_t, DumpedModule> by_number;
  for (DumpFile& file : TRY(DumpFilesOf(directory))) {
    DumpedModule& module = by_number[file.number];
    module.directory = directory;
    module.name = file.module;
    module.number = file.number;
    const bool is_state =
        !file.is_beside && file.name.ends_with(kText) &&
        (file.stage == kFirstState || file.stage == "after_pass" || file.stage == "after_optimizations");
    if (is_state) {
      module.states.push_back(std::move(file));
    } else if (file.stage == "passes") {
      const auto text = ReadSource(Str(directory, "/", file.name));
      auto json = text ? ReadJson((*text)->text()) : Result<JsonValue>(JsonValue());
      if (json) module.passes = std::move(*json);
    }
  }
  std::vector<DumpedModule> modules;
  for (auto& [number, module] : by_number) {
    if (!module.states.empty()) modules.push_back(std::move(module));
  }
  return modules;
}

const JsonValue& RunOf(const DumpedModule& module, int64_t number) {
  static const JsonValue kNone;
  const JsonValue::Array* runs = module.passes["passes"].Items();
  if (runs == nullptr) return kNone;
  const auto run = std::ranges::find_if(*runs, [&](const JsonValue& one) { return one["number"].Int() == number; });
  return run != runs->end() ? *run : kNone;
}

// Names a state such as "#66 fusion#2 in fusion". The instance "#2" comes from passes.json.
std::string NameOf(const DumpedModule& module, const DumpFile& state) {
  if (state.stage == kFirstState) return "before any pass";
  if (state.stage != "after_pass") return "after all passes";
  const auto instance = RunOf(module, state.instance)["instance"].Int();
  return Str("#", state.instance, " ", state.pass, instance ? Str("#", *instance) : "", " in ", state.pipeline);
}

// Why a pass has a state on one side only.
std::string WhyNot(const DumpedModule& other, const DumpFile& state, std::string_view side) {
  const JsonValue::Array* runs = other.passes["passes"].Items();
  if (runs == nullptr) return "";
  bool ran = false, is_there = false;
  for (const JsonValue& run : *runs) {
    const std::string* pass = run["pass"].String();
    if (pass == nullptr || FileNamePart(*pass) != state.pass) continue;
    is_there = true;
    ran |= !run["skipped"].IsTrue();
  }
  return Str(!is_there ? ": the pass is not in the pipeline of the "
             : !ran    ? ": the pass is skipped on the "
                       : ": the pass changes nothing on the ",
             side);
}

struct LoadedState {
  std::string path;
  std::unique_ptr<Module> module;
};

Result<LoadedState> Load(const DumpedModule& module, const DumpFile& state, const DiffFilesOptions& options) {
  LoadOptions load = options.run.load;
  load.fill_elided_constants = ElidedValues::kKeep;
  const std::string path = module.PathOf(state);
  return LoadedState{path, TRY(LoadModule(path, load))};
}

Result<bool> AreEqual(const DumpedModule& left, const DumpFile& was, const DumpedModule& right, const DumpFile& is,
                      const DiffFilesOptions& options) {
  const auto text = TRY(ReadSource(left.PathOf(was))), other = TRY(ReadSource(right.PathOf(is)));
  if (text->text() == other->text()) return true;
  const LoadedState one = TRY(Load(left, was, options)), two = TRY(Load(right, is, options));
  return TRY(DiffModules(*one.module, *two.module, options.structure)).is_equal();
}

// The first divergence of two sequences of states.
struct Parting {
  std::string pass, why;
  const DumpFile *left = nullptr, *right = nullptr;
};

// Whether the right side lacks the state `left`. Otherwise the left side lacks `right`. A side does not lack a state if
// its pass occurs there later.
bool LeftIsFirst(const DumpFile& left, const DumpFile& right, std::span<const DumpFile> lefts,
                 std::span<const DumpFile> rights) {
  const auto has = [](std::span<const DumpFile> states, const DumpFile& state) {
    return std::ranges::any_of(states, [&](const DumpFile& s) {
      return s.pipeline == state.pipeline && s.pass == state.pass && s.stage == state.stage;
    });
  };
  const bool left_later = has(rights, left), right_later = has(lefts, right);
  if (left_later != right_later) return right_later;
  if (left.stage != right.stage) return left.stage == "after_pass";
  return left.instance <= right.instance;
}

Result<std::optional<Parting>> FindParting(const DumpedModule& left, const DumpedModule& right,
                                           const DiffFilesOptions& options) {
  const std::vector<DumpFile>&was = left.states, &is = right.states;
  size_t l = 0, r = 0;
  while (l < was.size() && r < is.size()) {
    const bool is_same_pass =
        was[l].stage == is[r].stage && was[l].pass == is[r].pass && was[l].pipeline == is[r].pipeline;
    if (is_same_pass) {
      if (!TRY(AreEqual(left, was[l], right, is[r], options)))
        return Parting{NameOf(left, was[l]), "", &was[l], &is[r]};
      ++l, ++r;
      continue;
    }
    if (l == 0 || r == 0) return Parting{"before any pass", ": one side has no dump of that state", &was[l], &is[r]};
    const std::span lefts = std::span(was).subspan(l), rights = std::span(is).subspan(r);
    const bool left_first = LeftIsFirst(was[l], is[r], lefts, rights);
    if (left_first)
      return Parting{NameOf(left, was[l]), Str(" changed only the left", WhyNot(right, was[l], "right")), &was[l],
                     &is[r - 1]};
    return Parting{NameOf(right, is[r]), Str(" changed only the right", WhyNot(left, is[r], "left")), &was[l - 1],
                   &is[r]};
  }
  if (l < was.size() && l > 0) return Parting{NameOf(left, was[l]), " has no state on the right", &was[l], &is.back()};
  if (r < is.size() && r > 0) return Parting{NameOf(right, is[r]), " has no state on the left", &was.back(), &is[r]};
  return std::nullopt;
}

using ModulePair = std::pair<const DumpedModule*, const DumpedModule*>;  // Null if the module is on one side only.

template <class Key>
std::vector<ModulePair> PairsBy(const std::vector<DumpedModule>& left, const std::vector<DumpedModule>& right,
                                const Key& key) {
  std::map<std::string, std::vector<const DumpedModule*>> rights;
  for (const DumpedModule& module : right) rights[key(module)].push_back(&module);
  std::vector<ModulePair> pairs;
  std::set<const DumpedModule*> taken;
  for (const DumpedModule& module : left) {
    std::vector<const DumpedModule*>& same = rights[key(module)];
    const DumpedModule* other = same.empty() ? nullptr : same.front();
    if (other != nullptr) same.erase(same.begin());
    taken.insert(other);
    pairs.emplace_back(&module, other);
  }
  for (const DumpedModule& module : right) {
    if (!taken.contains(&module)) pairs.emplace_back(nullptr, &module);
  }
  return pairs;
}

std::vector<ModulePair> PairsBySize(const std::vector<DumpedModule>& left, const std::vector<DumpedModule>& right) {
  const auto sorted = [](const std::vector<DumpedModule>& modules) {
    std::vector<const DumpedModule*> all;
    for (const DumpedModule& module : modules) all.push_back(&module);
    std::ranges::stable_sort(all, std::greater<>(), [](const DumpedModule* m) { return m->states.front().bytes; });
    return all;
  };
  const std::vector<const DumpedModule*> lefts = sorted(left), rights = sorted(right);
  std::vector<ModulePair> pairs;
  for (size_t i = 0; i < std::max(lefts.size(), rights.size()); ++i)
    pairs.emplace_back(i < lefts.size() ? lefts[i] : nullptr, i < rights.size() ? rights[i] : nullptr);
  return pairs;
}

std::vector<ModulePair> PairsOf(const std::vector<DumpedModule>& left, const std::vector<DumpedModule>& right,
                                DumpPairing pairing) {
  if (pairing == DumpPairing::kBySize) return PairsBySize(left, right);
  if (pairing == DumpPairing::kByName)
    return PairsBy(left, right, [](const DumpedModule& module) { return Str(module.number, ".", module.name); });
  return PairsBy(left, right, [](const DumpedModule& module) { return module.name; });
}

// Returns "" if the modules diverge only at the end.
Result<std::string> EndText(const DumpedModule& left, const DumpedModule& right, const Parting& parting,
                            const DiffFilesOptions& options) {
  const DumpFile &was = left.states.back(), &is = right.states.back();
  if (parting.left == &was && parting.right == &is) return "";
  const LoadedState one = TRY(Load(left, was, options)), two = TRY(Load(right, is, options));
  const StructureDiff diff = TRY(DiffModules(*one.module, *two.module, options.structure));
  return Str("in the end (", was.name, "): ", diff.is_equal() ? "equal again" : CountsText(diff));
}

Result<DiffReport> DiffPair(const DumpedModule& left, const DumpedModule& right, const DiffFilesOptions& options) {
  const std::string name = left.name == right.name ? left.name : Str(left.name, " and ", right.name);
  const auto parting = TRY(FindParting(left, right, options));
  JsonWriter json;
  json.Open('{').Key("left").Value(left.name).Key("right").Value(right.name).Key("states").Open('[');
  json.Value(left.states.size()).Value(right.states.size()).Close(']');
  if (!parting) {
    return DiffReport{.exit = ExitCode::kOk,
                      .verdict = "EQUAL",
                      .detail = Str(name, ": ", Counted(std::ssize(left.states), "state")),
                      .json = Str(json.text(), "},")};
  }
  const LoadedState was = TRY(Load(left, *parting->left, options)), is = TRY(Load(right, *parting->right, options));
  DiffReport report = TRY(DiffStructure(*was.module, *is.module, was.path, is.path, options));
  const std::string end = TRY(EndText(left, right, *parting, options));
  const std::string head = Str(name, ": first differing pass: ", parting->pass, parting->why, "\n  left   ", was.path,
                               "\n  right  ", is.path, "\n");
  if (options.format == DiffFormat::kSummary)
    report.text = Str(head, report.text, end.empty() ? "" : Str("  ", end, "\n"));
  if (options.format == DiffFormat::kHtml)
    report.html =
        Str("<h2>", XmlText(name), "</h2>\n<pre class=\"l\">", XmlText(head), XmlText(end), "</pre>\n", report.html);
  report.detail = Str(name, ": first differing pass ", parting->pass);
  json.Key("first_differing_pass").Value(parting->pass).Key("why").Value(Trim(parting->why));
  json.Key("left_state").Value(parting->left->name).Key("right_state").Value(parting->right->name);
  json.Key("in_the_end").Value(end);
  if (!report.json.empty()) report.json.pop_back();
  report.json = Str(json.text(), report.json.empty() ? "" : ",", report.json, "},");
  return report;
}

}  // namespace

Result<DiffReport> DiffDumps(const std::string& left, const std::string& right, const DiffFilesOptions& options) {
  const std::vector<DumpedModule> was = TRY(ModulesOf(left)), is = TRY(ModulesOf(right));
  DiffReport all{.exit = ExitCode::kOk, .verdict = "EQUAL", .json = "\"modules\":["};
  int64_t equal = 0, differing = 0;
  std::vector<std::string> alone, details;
  for (const auto& [one, other] : PairsOf(was, is, options.pairing)) {
    if (one == nullptr || other == nullptr) {
      const DumpedModule& module = one != nullptr ? *one : *other;
      alone.push_back(Str(one != nullptr ? "only-left   " : "only-right  ", module.states.front().name));
      continue;
    }
    const DiffReport report = TRY(DiffPair(*one, *other, options));
    all.text += report.text;
    all.html += report.html;
    all.json += report.json;
    if (report.exit == ExitCode::kOk) ++equal;
    else details.push_back(report.detail);
    differing += report.exit != ExitCode::kOk;
  }
  if (all.json.ends_with(',')) all.json.pop_back();
  all.json += "],\"alone\":[";
  for (const std::string& line : alone) {
    if (options.format == DiffFormat::kSummary) all.text += Str("  ", line, "\n");
    all.html += Str("<p>", XmlText(line), "</p>\n");
    all.json += Str(all.json.ends_with('[') ? "" : ",", JsonWriter().Value(line).text());
  }
  all.json += "],";
  if (equal + differing == 0) {
    all.exit = ExitCode::kInconclusive;
    all.verdict = "INCONCLUSIVE(no module is in both)";
    return all;
  }
  if (differing > 0 || !alone.empty()) {
    all.exit = ExitCode::kNo;
    all.verdict = "DIFFERENT";
  }
  if (differing == 1) all.detail = details.front();
  else if (differing > 1) all.detail = Str(differing, " of ", Counted(equal + differing, "module"), " differ");
  else all.detail = Counted(equal, "module");
  if (!alone.empty()) all.detail += Str("; ", Counted(std::ssize(alone), "module"), " only on one side");
  return all;
}

}  // namespace hlo
