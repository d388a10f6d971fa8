#include <algorithm>
#include <map>
#include <utility>

#include "base/json_reader.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/dump/dump_index.h"
#include "driver/inspect/text.h"
#include "driver/page.h"
#include "driver/xml.h"

namespace hlo {
namespace {

constexpr size_t kModulesInFull = 20;  // Earlier modules have only lists of files.
constexpr size_t kMostLines = 200;
constexpr size_t kMostOfDiffs = size_t{4} << 20;  // Limit for all diffs of the page.

std::string HrefOf(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) || std::string_view("_-.").contains(c);
    out += is_plain ? std::string(1, c) : Format("%%%02X", static_cast<unsigned char>(c));
  }
  return out;
}

std::string Link(std::string_view name, std::string_view text) {
  return Str("<a href=\"", HrefOf(name), "\">", XmlText(text), "</a>");
}

std::string_view KindOf(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {".txt", "text"}, {".diff", "diff"}, {".html", "graph"}, {".dot", "dot"}, {".hlo.pb", "proto"}};
  for (const auto& [extension, kind] : kKinds) {
    if (name.ends_with(extension)) return kind;
  }
  return name;
}

std::string TextOfFile(const std::string& directory, const std::string& name) {
  const auto source = ReadSource(Str(directory, "/", name));
  return source ? std::string((*source)->text()) : "";
}

class Page {
 public:
  Page(const std::string& directory, std::span<const DumpFile> files) : directory_(directory) {
    for (const DumpFile& file : files) modules_[file.number].files.push_back(&file);
  }

  std::string Take() {
    size_t place = 0;
    for (auto& [number, module] : modules_) {
      module.in_full = ++place + kModulesInFull > modules_.size();
      if (module.in_full) ReadPasses(module);
    }
    const std::string title = Str("Dump of ", modules_.size(), modules_.size() == 1 ? " module" : " modules");
    out_ = PageHead(title);
    out_ += Str("<h1>", title, "</h1>\n");
    Contents();
    for (const auto& [number, module] : modules_) Section(number, module);
    return Str(out_, kPageEnd);
  }

 private:
  struct ModulePart {
    std::vector<const DumpFile*> files;
    bool in_full = false;
    JsonValue passes;
    int64_t ran = 0, changed = 0, first_count = -1, last_count = -1;
    double ms = 0;
    const std::string& name() const { return files.front()->module; }
  };

  void ReadPasses(ModulePart& module) const {
    const auto file = std::ranges::find(module.files, "passes", &DumpFile::stage);
    if (file == module.files.end()) return;
    auto json = ReadJson(TextOfFile(directory_, (*file)->name));
    if (!json) return;
    module.passes = std::move(*json);
    module.first_count = module.last_count = module.passes["instructions"].Int().value_or(-1);
    const JsonValue::Array* runs = module.passes["passes"].Items();
    if (runs == nullptr) return;
    for (const JsonValue& run : *runs) {
      if (run["skipped"].IsTrue()) continue;
      ++module.ran;
      module.changed += run["changed"].IsTrue();
      module.ms += run["ms"].Number().value_or(0);
      module.last_count = run["instructions"].Int().value_or(-1);
    }
  }

  static std::string Counts(const ModulePart& module) {
    if (module.ran == 0) return "";
    return Str(module.ran, module.ran == 1 ? " pass ran, " : " passes ran, ", module.changed, " changed it, ",
               Format("%.1f ms; ", module.ms), module.first_count, " → ", Counted(module.last_count, "instruction"));
  }

  void Contents() {
    if (modules_.size() < 2) return;
    out_ += "<ul>\n";
    for (const auto& [number, module] : modules_)
      out_ += Str("<li><a href=\"#", number, "\">", number, " ", XmlText(module.name()), "</a>",
                  Element("span", Counts(module), "s"), "</li>\n");
    out_ += "</ul>\n";
  }

  void Section(int64_t number, const ModulePart& module) {
    out_ += Str("<h2 id=\"", number, "\">", number, " ", XmlText(module.name()), "</h2>\n");
    for (const DumpFile* file : module.files) {
      if (file->stage == "left_out") out_ += Str(Element("p", Trim(TextOfFile(directory_, file->name)), "w"), "\n");
    }
    if (const std::string counts = Counts(module); !counts.empty()) out_ += Str(Element("p", counts), "\n");
    constexpr std::pair<std::string_view, std::string_view> kStates[] = {
        {"before_optimizations", "before the passes"},
        {"after_optimizations", "after the passes"},
        {kRecordedGraph, "graph recorded on the device"}};
    std::vector<std::string> rows;
    for (const auto& [stage, title] : kStates) {
      const std::string links = Links(module, [&](const DumpFile& file) { return file.stage == stage; });
      if (!links.empty()) rows.push_back(Str(Cell(title), "<td>", links, "</td>"));
    }
    out_ += HtmlRows(rows);
    if (module.changed > 0) Passes(module);
    else DumpedStates(module);
    Others(module);
  }

  template <class IsListed>
  static std::string Links(const ModulePart& module, const IsListed& is_listed) {
    std::string links;
    for (const DumpFile* file : module.files) {
      if (is_listed(*file)) links += Link(file->name, KindOf(file->name));
    }
    return links;
  }

  void Passes(const ModulePart& module) {
    std::vector<std::string> rows = {
        TitleCells({">#", "pass that changed it", "pipeline", ">ms", ">instructions", "", "after it"})};
    int64_t count = module.first_count;
    for (const JsonValue& run : *module.passes["passes"].Items()) {
      const int64_t now = run["instructions"].Int().value_or(0), more = now - std::exchange(count, now);
      if (!run["changed"].IsTrue()) continue;
      const int64_t number = run["number"].Int().value_or(-1);
      const auto text = [&](std::string_view key) {
        const std::string* value = run[key].String();
        return value == nullptr ? "" : *value;
      };
      rows.push_back(Str(Cell(Str(number), "n"), Cell(Str(text("pass"), "#", run["instance"].Int().value_or(0))),
                         Cell(text("pipeline")), Cell(Format("%.1f", run["ms"].Number().value_or(0)), "n"),
                         Cell(Str(now), "n"),
                         Cell(more == 0 ? "" : Format("%+lld", static_cast<long long>(more)), "n s"), "<td>",
                         Links(module, [&](const DumpFile& file) { return file.instance == number; }), "</td>"));
      for (const DumpFile* file : module.files) {
        if (file->instance == number && file->name.ends_with(".diff")) Diff(*file, rows);
      }
    }
    out_ += HtmlRows(rows, "f");
  }

  // Dumps of XLA, and incomplete dumps, lack passes.json.
  void DumpedStates(const ModulePart& module) {
    std::map<int64_t, std::pair<const DumpFile*, std::string>> states;
    for (const DumpFile* file : module.files) {
      if (file->instance < 0) continue;
      auto& [first, links] = states[file->instance];
      if (first == nullptr) first = file;
      links += Link(file->name, KindOf(file->name));
    }
    if (states.empty()) return;
    std::vector<std::string> rows;
    for (const auto& [number, state] : states)
      rows.push_back(Str(Cell(Str(number), "n"), Cell(state.first->pass), Cell(state.first->pipeline), "<td>",
                         state.second, "</td>"));
    out_ += HtmlRows(rows);
  }

  void Diff(const DumpFile& file, std::vector<std::string>& rows) {
    if (diffs_ > kMostOfDiffs) return;
    rows.push_back(Str("<td></td><td class=\"d\" colspan=\"6\"><details>", Element("summary", "what it changed", "s"),
                       DiffHtml(TextOfFile(directory_, file.name), kMostLines, "more in the file"), "</details></td>"));
    diffs_ += rows.back().size();
  }

  void Others(const ModulePart& module) {
    std::string links;
    int64_t count = 0;
    for (const DumpFile* file : module.files) {
      const bool is_shown = file->instance >= 0 || file->stage == "before_optimizations" ||
                            file->stage == "after_optimizations" || file->stage == "left_out" ||
                            file->stage == kRecordedGraph;
      if (is_shown) continue;
      ++count;
      links += Str("<li>", Link(file->name, file->suffix),
                   Element("span", HumanBytes(static_cast<double>(file->bytes)), "s"), "</li>\n");
    }
    constexpr int64_t kMostOpen = 8;
    if (count > 0)
      out_ += Str("<details", count <= kMostOpen ? " open" : "", "><summary>", count,
                  count == 1 ? " other file" : " other files", "</summary><ul>\n", links, "</ul></details>\n");
  }

  const std::string& directory_;
  std::map<int64_t, ModulePart> modules_;
  std::string out_;
  size_t diffs_ = 0;
};

}  // namespace

std::string DumpIndexHtml(const std::string& directory, std::span<const DumpFile> files) {
  return Page(directory, files).Take();
}

}  // namespace hlo
