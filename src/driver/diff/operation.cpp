#include "driver/diff/operation.h"

#include <algorithm>
#include <iterator>

#include "base/hash_bytes.h"
#include "base/text.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

struct IgnoreWord {
  std::string_view word;
  bool DiffIgnore::* flag;
};
constexpr IgnoreWord kIgnoreWords[] = {
    {"names", &DiffIgnore::names}, {"metadata", &DiffIgnore::metadata}, {"layouts", &DiffIgnore::layouts},
    {"order", &DiffIgnore::order}, {"shapes", &DiffIgnore::shapes},     {"backend_config", &DiffIgnore::backend_config},
};

constexpr std::string_view kOfOrigin[] = {"metadata", "origin", "statistics", "origin_recovery_table",
                                          "debug_attributes"};
constexpr std::string_view kOfLayouts[] = {"operand_layout_constraints", "entry_computation_layout"};

PrintOptions FormOf(const DiffIgnore& ignore) {
  PrintOptions form;
  form.percent = false;
  form.layouts = false;  // ShapeText prints layouts that are not the default.
  form.metadata = !ignore.metadata;
  form.backend_config = !ignore.backend_config;
  form.constants = Constants::kSmall;
  form.index_comments = false;
  form.control_dependencies = false;
  form.async_sugar = AsyncSugar::kNone;
  return form;
}

bool IsIgnored(std::string_view name, const DiffIgnore& ignore) {
  const auto is_of = [&](const auto& names) { return std::ranges::find(names, name) != std::end(names); };
  return (ignore.metadata && is_of(kOfOrigin)) || (ignore.layouts && is_of(kOfLayouts));
}

std::string ShapeText(const Shape& shape, const DiffIgnore& ignore) {
  return ignore.layouts || shape.HasDefaultLayout() ? shape.ToString() : shape.ToStringWithLayout();
}

using AttributeTexts = std::vector<PrintedAttribute>;

void AddChanges(const AttributeTexts& left, const AttributeTexts& right, const DiffIgnore& ignore,
                std::vector<AttributeChange>* changes) {
  const auto find = [](const AttributeTexts& in, std::string_view name) {
    return std::ranges::find(in, name, &PrintedAttribute::name);
  };
  const auto skip = [&](const PrintedAttribute& a) { return a.names_computations || IsIgnored(a.name, ignore); };
  for (const PrintedAttribute& was : left) {
    const auto is = find(right, was.name);
    const std::string now = is != right.end() ? is->text : "";
    if (!skip(was) && was.text != now) changes->push_back({std::string(was.name), was.text, now});
  }
  for (const PrintedAttribute& is : right) {
    if (!skip(is) && find(left, is.name) == left.end()) changes->push_back({std::string(is.name), "", is.text});
  }
}

}  // namespace

Result<DiffIgnore> DiffIgnoreFromWords(std::span<const std::string> words) {
  DiffIgnore ignore;
  for (const std::string& word : words) {
    const auto row = std::ranges::find(kIgnoreWords, std::string_view(word), &IgnoreWord::word);
    if (word.empty()) continue;
    if (row == std::end(kIgnoreWords))
      FAIL(UsageError("F004", Str("--ignore: unknown word '", Escaped(word), "'"))
               .Hint(Str("the words are: ", Join(DiffIgnoreWords(), ", "))));
    ignore.*row->flag = true;
  }
  return ignore;
}

std::vector<std::string> DiffIgnoreWords() {
  std::vector<std::string> words;
  for (const IgnoreWord& row : kIgnoreWords) words.emplace_back(row.word);
  return words;
}

uint64_t HashOfOperation(const Instruction& inst, const DiffIgnore& ignore) {
  uint64_t hash = MixHash(static_cast<uint64_t>(inst.opcode()), 1);
  if (!ignore.shapes) hash = MixHash(hash, HashBytes(ShapeText(inst.shape(), ignore)));
  if (inst.Is(Opcode::kConstant)) hash = MixHash(hash, inst.literal().KeptHash());
  DiffIgnore meaning = ignore;
  meaning.metadata = true;
  for (const PrintedAttribute& attribute : PrintedAttributes(inst, FormOf(meaning))) {
    if (IsIgnored(attribute.name, meaning)) continue;
    hash = MixHash(hash, HashBytes(attribute.name));
    if (!attribute.names_computations) hash = MixHash(hash, HashBytes(attribute.text));
  }
  return hash;
}

uint64_t HashOfKind(const Instruction& inst) {
  return MixHash(static_cast<uint64_t>(inst.opcode()), HashBytes(inst.shape().ToString()));
}

uint64_t HashOfOrigin(const Instruction& inst) {
  const Metadata& metadata = inst.metadata();
  if (metadata.op_name.empty() && metadata.source_file.empty()) return 0;
  uint64_t hash = MixHash(HashBytes(metadata.op_name), HashBytes(metadata.source_file));
  hash = MixHash(hash, static_cast<uint64_t>(metadata.source_line));
  return MixHash(hash, static_cast<uint64_t>(inst.opcode()));
}

std::vector<AttributeChange> ChangesOf(const Instruction& left, const Instruction& right, const DiffIgnore& ignore) {
  std::vector<AttributeChange> changes;
  const auto compare = [&](const char* what, std::string was, std::string is) {
    if (was != is) changes.push_back({what, std::move(was), std::move(is)});
  };
  if (!ignore.names) compare("name", std::string(left.name()), std::string(right.name()));
  compare("opcode", Str(left.opcode()), Str(right.opcode()));
  if (!ignore.shapes) compare("shape", ShapeText(left.shape(), ignore), ShapeText(right.shape(), ignore));
  const bool both_known = left.Is(Opcode::kConstant) && right.Is(Opcode::kConstant);
  if (both_known && !left.literal().BitEquals(right.literal())) {
    std::string was = ConstantText(left.literal(), Constants::kSmall);
    std::string is = ConstantText(right.literal(), Constants::kSmall);
    // If the values print the same and only the types differ, `shape` already lists the change.
    if (was != is || left.shape().type() == right.shape().type())
      changes.push_back({"value", std::move(was), std::move(is)});
  }
  const PrintOptions form = FormOf(ignore);
  AddChanges(PrintedAttributes(left, form), PrintedAttributes(right, form), ignore, &changes);
  return changes;
}

std::vector<AttributeChange> ChangesOf(const Module& left, const Module& right, const DiffIgnore& ignore) {
  std::vector<AttributeChange> changes;
  if (!ignore.names && left.name() != right.name()) changes.push_back({"name", left.name(), right.name()});
  const PrintOptions form = FormOf(ignore);
  AttributeTexts was = PrintedAttributes(left, form), is = PrintedAttributes(right, form);
  if (ignore.shapes) {
    std::erase_if(was, [](const PrintedAttribute& a) { return a.name == "entry_computation_layout"; });
    std::erase_if(is, [](const PrintedAttribute& a) { return a.name == "entry_computation_layout"; });
  }
  AddChanges(was, is, ignore, &changes);
  return changes;
}

std::vector<std::string> CallingAttributes(const Instruction& inst) {
  std::vector<std::string> names;
  for (const PrintedAttribute& attribute : PrintedAttributes(inst, FormOf({}))) {
    if (attribute.names_computations) names.emplace_back(attribute.name);
  }
  return names;
}

}  // namespace hlo
