#include "driver/diff/structure_report.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "driver/diff/columns.h"
#include "driver/diff/renamed.h"
#include "driver/inspect/text.h"
#include "driver/line_diff.h"
#include "driver/page.h"
#include "driver/xml.h"
#include "ir/fusion.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

std::string Microseconds(double seconds) { return Format("%.2f us", seconds * 1e6); }

std::string Said(const std::string& text) { return text.empty() ? "nothing" : text; }

std::string ChangesText(const std::vector<AttributeChange>& changes) {
  std::vector<std::string> texts;
  for (const AttributeChange& change : changes) {
    // Computations may share a name, and long constants are not printed.
    const std::string is = change.left == change.right ? "a different value that prints the same" : Said(change.right);
    texts.push_back(Str(change.attribute, ": ", Said(change.left), " -> ", is));
  }
  return Join(texts, "; ");
}

std::string PlaceText(const Instruction& inst) {
  return inst.computation().IsEntry() ? "" : Str(" in ", inst.computation().name());
}

std::string NamesText(const std::vector<const Instruction*>& instructions, size_t most) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < std::min(instructions.size(), most); ++i) names.push_back(instructions[i]->name());
  const size_t more = instructions.size() - names.size();
  return Str(Join(names, ", "), more == 0 ? "" : Str(" and ", more, " more"));
}

constexpr size_t kMostNames = 4;
constexpr size_t kMostHtmlLines = 2000;

Columns KernelColumns(const StructureDiff& diff) {
  Columns table{{"kernels", "left", "right", ">launches", ">bytes moved", ">est. time", "what", "source"}, {}};
  for (const KernelDiff& kernel : diff.kernels) {
    table.rows.push_back({std::string(ToString(kernel.what)), NamesText(kernel.left, kMostNames),
                          NamesText(kernel.right, kMostNames), Signed(kernel.launches, HumanCount),
                          Signed(kernel.bytes, HumanBytes), Signed(kernel.seconds, Microseconds),
                          ChangesText(kernel.changes), kernel.source});
  }
  return table;
}

Columns ChangedColumns(const StructureDiff& diff) {
  Columns table{{"changed", "right", "what", "source"}, {}};
  for (const InstructionDiff& one : diff.changed) {
    const bool renamed = one.left->name() != one.right->name();
    table.rows.push_back({Str(one.left->name(), PlaceText(*one.left)), renamed ? std::string(one.right->name()) : "",
                          ChangesText(one.changes), one.source});
  }
  return table;
}

Columns OneSidedColumns(const char* title, const std::vector<InstructionDiff>& list) {
  Columns table{{title, "source"}, {}};
  for (const InstructionDiff& one : list) {
    const Instruction& inst = one.left != nullptr ? *one.left : *one.right;
    table.rows.push_back({Str(ToString(inst), PlaceText(inst)), one.source});
  }
  return table;
}

std::vector<Columns> TablesOf(const StructureDiff& diff) {
  return {Filled(KernelColumns(diff)), Filled(ChangedColumns(diff)),
          Filled(OneSidedColumns("only-left", diff.only_left)), Filled(OneSidedColumns("only-right", diff.only_right))};
}

std::string CountChange(std::string_view what, double left, double right) {
  return Str(what, " ", HumanCount(left), left == right ? " = " : " -> ", HumanCount(right));
}

std::vector<std::string> HeadLines(const StructureDiff& diff, const StructureView& view) {
  const StructureFigures &left = diff.left, &right = diff.right;
  std::vector<std::string> lines = {
      Str("structure  ", left.instructions, " vs ", right.instructions, " instructions   matched ", diff.matched,
          "   changed ", diff.changed.size(), "   only-left ", diff.only_left.size(), "   only-right ",
          diff.only_right.size(), diff.moved == 0 ? "" : Str("   moved ", diff.moved)),
      Str("  ", CountChange("fusions", static_cast<double>(left.fusions), static_cast<double>(right.fusions)), "   ",
          CountChange("launches", left.launches, right.launches), "   ",
          CountChange("custom calls", static_cast<double>(left.custom_calls),
                      static_cast<double>(right.custom_calls)))};
  if (!diff.module.empty()) lines.push_back(Str("  module  ", ChangesText(diff.module)));
  const auto change = [](const std::string& was, const std::string& is) {
    return Str(was, was == is ? " = " : " -> ", is);
  };
  lines.push_back(Str("est. time  ", change(Microseconds(left.seconds), Microseconds(right.seconds)),
                      ChangeInPercent(left.seconds, right.seconds), "   bytes moved ",
                      change(HumanBytes(left.bytes), HumanBytes(right.bytes)), ChangeInPercent(left.bytes, right.bytes),
                      "   (cost model of ", view.device.name, ")"));
  return lines;
}

}  // namespace

std::string CountsText(const StructureDiff& diff) {
  std::vector<std::string> parts;
  const auto add = [&](size_t count, std::string_view what) {
    if (count > 0) parts.push_back(Str(count, " ", what));
  };
  add(diff.changed.size(), "changed");
  add(diff.only_left.size(), "only-left");
  add(diff.only_right.size(), "only-right");
  add(diff.moved, "moved");
  if (!diff.kernels.empty()) parts.push_back(Counted(std::ssize(diff.kernels), "group") + " of kernels");
  if (!diff.module.empty()) parts.push_back(Counted(std::ssize(diff.module), "attribute") + " of the module");
  return Join(parts, ", ");
}

std::string StructureText(const StructureDiff& diff, const StructureView& view) {
  const std::vector<std::string> head = HeadLines(diff, view);
  std::string out;
  for (size_t i = 0; i + 1 < head.size(); ++i) out += head[i] + "\n";
  for (const Columns& table : TablesOf(diff)) out += TableText(table, view.top);
  out += head.back() + "\n";
  for (const std::string& note : diff.notes) out += Str("  note: ", note, "\n");
  return out;
}

std::string StructureUnified(const StructureDiff& diff, const StructureView& view) {
  const auto name = [&](std::string_view of_left) { return std::string(view.ignores_names ? of_left : ""); };
  // The rank is the position of the partner. Without a partner, an instruction follows its operands.
  std::vector<int64_t> ranks(view.right.id_limit());
  const auto rank = [&](const Instruction& inst) {
    int64_t& known = ranks[inst.id()];
    known = diff.left_places[inst.id()];
    for (const Instruction* operand : inst.operands()) known = std::max(known, ranks[operand->id()]);
    return known;
  };
  const auto right = Renamed(
      view.right,
      {.of_computation = [&](const Computation& computation) { return name(diff.left_computations[computation.id()]); },
       .of_instruction = [&](const Instruction& inst) { return name(diff.left_names[inst.id()]); },
       .rank = rank});
  if (view.ignores_names) right->SetName(view.left.name());
  PrintOptions form = ShortForm();
  form.constants = Constants::kSmall;
  return UnifiedDiff(view.left_name, Print(view.left, form), view.right_name, Print(*right, form));
}

void WriteJson(JsonWriter& json, const StructureDiff& diff) {
  const auto names = [&](std::string_view key, const std::vector<const Instruction*>& list) {
    json.Key(key).Open('[');
    for (const Instruction* inst : list) json.Value(inst->name());
    json.Close(']');
  };
  const auto changes = [&](const std::vector<AttributeChange>& list) {
    json.Key("changes").Open('[');
    for (const AttributeChange& change : list) {
      json.Open('{').Key("attribute").Value(change.attribute).Key("left").Value(change.left);
      json.Key("right").Value(change.right).Close('}');
    }
    json.Close(']');
  };
  const auto figures = [&](std::string_view key, const StructureFigures& f) {
    json.Key(key).Open('{').Key("instructions").Value(f.instructions).Key("fusions").Value(f.fusions);
    json.Key("custom_calls").Value(f.custom_calls).Key("launches").Value(f.launches).Key("bytes").Value(f.bytes);
    json.Key("est_us").Value(f.seconds * 1e6).Close('}');
  };
  const auto instruction = [&](std::string_view key, const Instruction* inst) {
    if (inst == nullptr) return;
    json.Key(key).Open('{').Key("name").Value(inst->name()).Key("computation").Value(inst->computation().name());
    json.Key("text").Value(ToString(*inst)).Close('}');
  };
  const auto list = [&](std::string_view key, const std::vector<InstructionDiff>& all) {
    json.Key(key).Open('[');
    for (const InstructionDiff& one : all) {
      json.Open('{');
      instruction("left", one.left);
      instruction("right", one.right);
      if (!one.changes.empty()) changes(one.changes);
      json.Key("source").Value(one.source).Close('}');
    }
    json.Close(']');
  };
  figures("left", diff.left);
  figures("right", diff.right);
  json.Key("matched").Value(diff.matched).Key("moved").Value(diff.moved).Key("module").Open('{');
  changes(diff.module);
  json.Close('}');
  list("changed", diff.changed);
  list("only_left", diff.only_left);
  list("only_right", diff.only_right);
  json.Key("kernels").Open('[');
  for (const KernelDiff& kernel : diff.kernels) {
    json.Open('{').Key("what").Value(ToString(kernel.what));
    names("left", kernel.left);
    names("right", kernel.right);
    changes(kernel.changes);
    json.Key("launches").Value(kernel.launches).Key("bytes").Value(kernel.bytes);
    json.Key("est_us").Value(kernel.seconds * 1e6).Key("source").Value(kernel.source).Close('}');
  }
  json.Close(']').Key("notes").Open('[');
  for (const std::string& note : diff.notes) json.Value(note);
  json.Close(']');
}

std::string StructureHtml(const StructureDiff& diff, const StructureView& view) {
  std::string out = "<pre class=\"l\">";
  for (const std::string& line : HeadLines(diff, view)) out += XmlText(line) + "\n";
  for (const std::string& note : diff.notes) out += XmlText(Str("note: ", note)) + "\n";
  out += "</pre>\n";
  for (const Columns& table : TablesOf(diff)) {
    if (!table.rows.empty()) out += TableHtml(table);
  }
  const std::string unified = StructureUnified(diff, view);
  if (!unified.empty())
    out += Str("<details open><summary>the lines that differ, with the names of the left</summary>",
               DiffHtml(unified, kMostHtmlLines, "more: --format=text"), "</details>\n");
  return out;
}

}  // namespace hlo
