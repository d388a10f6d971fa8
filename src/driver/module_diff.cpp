#include "driver/module_diff.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "base/counted.h"
#include "base/text.h"
#include "driver/line_diff.h"
#include "driver/optimize.h"
#include "ir/side_effects.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

constexpr std::string_view kRed = "\033[31m", kGreen = "\033[32m", kCyan = "\033[36m", kPlain = "\033[0m";

// Leaves out dead instructions, because dce removes them.
std::unordered_set<const Instruction*> LiveOf(const std::vector<Instruction*>& order) {
  std::unordered_set<const Instruction*> live;
  for (const Instruction* inst : std::views::reverse(order)) {
    const bool is_needed = inst == &inst->computation().root() || inst->Is(Opcode::kParameter) ||
                           HasSideEffect(*inst) || live.contains(inst);
    if (!is_needed) continue;
    live.insert(inst);
    live.insert(inst->operands().begin(), inst->operands().end());
    live.insert(inst->control_predecessors().begin(), inst->control_predecessors().end());
  }
  return live;
}

PrintOptions LineForm() {
  PrintOptions form = ShortForm();
  form.constants = Constants::kSmall;
  form.index_comments = false;
  return form;
}

std::string_view NameOf(std::string_view line) {
  if (line.starts_with("ROOT ")) line.remove_prefix(5);
  return line.substr(0, line.find(' '));
}

class Differ {
 public:
  explicit Differ(const DiffOptions& options) : options_(options) {}

  // Equal lines are the same instruction. Instructions in the longest increasing sequence of places did not move.
  void Compare(const ModuleLines::Part& before, const ModuleLines::Part& after) {
    std::unordered_map<std::string_view, size_t> place;
    for (size_t i = 0; i < before.lines.size(); ++i) place[before.lines[i]] = i;
    std::vector<size_t> places, there;
    std::vector<bool> kept(before.lines.size(), false), known(after.lines.size(), false);
    for (size_t i = 0; i < after.lines.size(); ++i) {
      const auto found = place.find(after.lines[i]);
      if (found == place.end()) continue;
      kept[found->second] = known[i] = true;
      places.push_back(found->second);
      there.push_back(i);
    }
    const std::vector<size_t> stayed = LongestIncreasing(places);
    std::vector<std::string> lines;
    size_t from = 0, to = 0;
    const auto gap = [&](size_t from_end, size_t to_end) {
      const size_t first = lines.size();
      Pairs(before, after, kept, known, {from, from_end}, {to, to_end}, &lines);
      if (lines.size() > first && first > 0) lines.insert(lines.begin() + static_cast<ptrdiff_t>(first), "");
    };
    for (const size_t i : stayed) {
      gap(places[i], there[i]);
      from = places[i] + 1, to = there[i] + 1;
    }
    gap(before.lines.size(), after.lines.size());
    const size_t moved = places.size() - stayed.size();
    if (lines.empty() && moved == 0) return;
    Head(after, moved == 0 ? "" : Str(moved, " moved"));
    Append(lines);
  }

  void New(const ModuleLines::Part& part) {
    Head(part, "new");
    std::vector<std::string> lines;
    for (const std::string& line : part.lines) lines.push_back("+" + line);
    Append(lines);
  }

  // Does not list instructions, because the changes of callers show them.
  void Gone(const ModuleLines::Part& part) {
    Head(part, Str("gone, ", Counted(std::ssize(part.lines), "instruction")));
  }

  std::string Take() {
    if (omitted_ > 0) out_ += Str("... and ", omitted_, omitted_ == 1 ? " more computation\n" : " more computations\n");
    return std::move(out_);
  }

 private:
  struct Range {
    size_t begin, end;
  };

  static void Pairs(const ModuleLines::Part& before, const ModuleLines::Part& after, const std::vector<bool>& kept,
                    const std::vector<bool>& known, Range from, Range to, std::vector<std::string>* lines) {
    std::unordered_map<std::string_view, size_t> was;
    std::unordered_set<std::string_view> is;
    for (size_t i = from.begin; i < from.end; ++i) {
      if (!kept[i]) was[NameOf(before.lines[i])] = i;
    }
    for (size_t i = to.begin; i < to.end; ++i) {
      if (!known[i]) is.insert(NameOf(after.lines[i]));
    }
    size_t next = from.begin;
    const auto take = [&] {
      if (!kept[next]) lines->push_back("-" + before.lines[next]);
      ++next;
    };
    for (size_t i = to.begin; i < to.end; ++i) {
      if (known[i]) continue;
      while (next < from.end && (kept[next] || !is.contains(NameOf(before.lines[next])))) take();
      if (const auto pair = was.find(NameOf(after.lines[i])); pair != was.end()) {
        while (next <= pair->second) take();
      }
      lines->push_back("+" + after.lines[i]);
    }
    while (next < from.end) take();
  }

  bool is_full() const { return options_.most_lines > 0 && printed_ >= options_.most_lines; }

  void Head(const ModuleLines::Part& part, const std::string& what) {
    if (is_full()) {
      ++omitted_;
      return;
    }
    const std::string line =
        Str("@@ ", part.is_entry ? "ENTRY " : "", part.name, what.empty() ? "" : Str(" (", what, ")"), " @@");
    out_ += Str(options_.color ? kCyan : "", line, options_.color ? kPlain : "", "\n");
  }

  void Append(const std::vector<std::string>& lines) {
    if (is_full()) return;
    const size_t left = options_.most_lines > printed_ ? options_.most_lines - printed_ : 0;
    const size_t most = options_.most_lines == 0 ? lines.size() : std::min(lines.size(), left);
    printed_ += most;
    for (size_t i = 0; i < most; ++i) {
      const std::string& line = lines[i];
      if (line.empty()) out_ += "   ...\n";
      else if (!options_.color) out_ += Str(line.substr(0, 1), " ", line.substr(1), "\n");
      else out_ += Str(line[0] == '-' ? kRed : kGreen, line.substr(0, 1), " ", line.substr(1), kPlain, "\n");
    }
    if (most < lines.size())
      out_ += Str("   ... and ", Counted(static_cast<int64_t>(lines.size() - most), "line"), " more\n");
  }

  const DiffOptions options_;
  size_t printed_ = 0;
  size_t omitted_ = 0;
  std::string out_;
};

}  // namespace

ModuleLines LinesOf(const Module& module) {
  const PrintOptions form = LineForm();
  ModuleLines lines;
  for (const Computation* computation : module.PostOrder()) {
    ModuleLines::Part part{.name = computation->name(), .is_entry = computation->IsEntry(), .lines = {}};
    const std::vector<Instruction*> order = computation->PostOrder();
    const std::unordered_set<const Instruction*> live = LiveOf(order);
    for (const Instruction* inst : order) {
      if (live.contains(inst))
        part.lines.push_back(Str(inst == &computation->root() ? "ROOT " : "", Print(*inst, form)));
    }
    lines.parts.push_back(std::move(part));
  }
  return lines;
}

std::string DiffOf(const ModuleLines& before, const ModuleLines& after, const DiffOptions& options) {
  std::map<std::string_view, const ModuleLines::Part*> old;
  for (const ModuleLines::Part& part : before.parts) old[part.name] = &part;
  Differ differ(options);
  std::vector<const ModuleLines::Part*> fresh;
  for (const ModuleLines::Part& part : std::views::reverse(after.parts)) {
    const auto was = old.find(part.name);
    if (was == old.end()) {
      fresh.push_back(&part);
      continue;
    }
    differ.Compare(*was->second, part);
    old.erase(was);
  }
  for (const ModuleLines::Part* part : fresh) differ.New(*part);
  for (const ModuleLines::Part& part : before.parts) {
    if (old.contains(part.name)) differ.Gone(part);
  }
  return differ.Take();
}

std::string ChangeText(const PassRun& run, const ModuleLines& before, const ModuleLines& after, bool color) {
  const std::string rules = RulesText(run), diff = DiffOf(before, after, {.color = color, .most_lines = 0});
  return Str("*** ", Describe(run), rules.empty() ? "" : Str(": ", rules), " ***\n",
             diff.empty() ? "(only dead instructions, or properties that printed instructions do not show)\n" : diff,
             "\n");
}

}  // namespace hlo
