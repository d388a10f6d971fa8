#include "passes/pipelines/text.h"

#include <algorithm>

#include "base/text.h"
#include "ir/mesh/unpartitioned.h"
#include "ir/module.h"

namespace hlo {
namespace {

constexpr std::string_view kComparisons[] = {"==", "!=", "<=", ">=", "<", ">"};
constexpr int kMostNested = 32;

constexpr GateRow kGates[] = {
    {"cc", "compute capability of the device: 9.0 is sm_90; 0 is a host",
     [](const GateInput& input) { return input.device.compute_capability / 10.0; }},
    {"partitions", "number of partitions of each replica of the module",
     [](const GateInput& input) { return double(input.module.header.num_partitions); }},
    {"replicas", "number of replicas of the module",
     [](const GateInput& input) { return double(input.module.header.replica_count); }},
    {"splits",
     "1 if shardings split arrays over the partitions and hlo opt makes the program of one device, otherwise 0",
     [](const GateInput& input) { return double(input.partitions && SplitsArrays(input.module)); }},
};

bool IsPreset(const SourceText* source) {
  return std::ranges::any_of(AllPresets(), [&](const Preset& preset) { return preset.source.get() == source; });
}

class Parser {
 public:
  explicit Parser(std::shared_ptr<const SourceText> source)
      : source_(std::move(source)), text_(source_->text()), is_preset_(IsPreset(source_.get())) {}

  Result<std::vector<PipelineItem>> Run() {
    auto items = TRY(Items(0));
    if (at_ < text_.size()) FAIL(ErrorAt("'}' has no matching '{'", at_, at_ + 1));
    return items;
  }

 private:
  // '}' is not consumed.
  Result<std::vector<PipelineItem>> Items(int depth) {
    std::vector<PipelineItem> items;
    while (true) {
      SkipBetween();
      if (at_ == text_.size() || text_[at_] == '}') return items;
      const size_t begin = at_;
      items.push_back(TRY(Item(depth)));
      items.back().range = {static_cast<uint32_t>(begin), static_cast<uint32_t>(head_end_)};
      items.back().is_preset |= is_preset_;
      SkipBlanks();
      if (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n' && text_[at_] != '}')
        FAIL(ErrorAt(Str("expected ',' or a new line after '", text_.substr(begin, head_end_ - begin), "'"), at_,
                     at_ + 1));
      // Items of a referenced stage get the reference's place.
      if (items.back().is_preset != is_preset_) Place(items.back(), items.back().range);
    }
  }

  static void Place(PipelineItem& item, SourceRange range) {
    item.range = range;
    for (PipelineItem& inner : item.items) Place(inner, range);
  }

  Result<PipelineItem> Item(int depth) {
    const size_t begin = at_;
    const std::string_view head = Words();
    if (head.empty()) FAIL(ErrorAt("expected the name of a pass or pipeline", at_, at_ + 1));
    const std::string_view word = head.substr(0, head.find_first_of(" \t"));
    if (word == "pipeline") return Stage(Trim(head.substr(word.size())), depth);
    if (word == "if") return Gated(head.substr(word.size()), depth);
    if (head == "todo") return Todo();
    return Named(head, begin);
  }

  // pipeline NAME(fixed-point) { ... }
  Result<PipelineItem> Stage(std::string_view name, int depth) {
    if (name.empty()) FAIL(ErrorAt("expected a name after 'pipeline'", at_, at_ + 1));
    PipelineItem item{.kind = PipelineItem::Kind::kStage, .name = std::string(name)};
    item.repeat = TRY(Repeated(item.repeat));
    item.items = TRY(Block(depth));
    return item;
  }

  // if cc>=8.0 { ... }
  Result<PipelineItem> Gated(std::string_view condition, int depth) {
    PipelineItem item{.kind = PipelineItem::Kind::kGate};
    condition.remove_prefix(std::min(condition.find_first_not_of(" \t"), condition.size()));
    const size_t from = condition.data() - text_.data();
    const size_t compares = condition.find_first_of("=!<>");
    const std::string_view name = Trim(condition.substr(0, compares));
    for (const GateRow& row : kGates) {
      if (row.name == name) item.gate.row = &row;
    }
    if (item.gate.row == nullptr) FAIL(UnknownGate(name, from));
    std::string_view value = compares == std::string_view::npos ? "" : condition.substr(compares);
    for (const std::string_view comparison : kComparisons) {
      if (!value.starts_with(comparison) || !item.gate.comparison.empty()) continue;
      item.gate.comparison = comparison;
      value.remove_prefix(comparison.size());
    }
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    const std::string_view number = value.substr(0, value.find_first_of(" \t"));
    if (item.gate.comparison.empty() || !ParseDouble(number, &item.gate.value))
      FAIL(ErrorAt(Str("expected a comparison with a number, as in '", name, ">1'"), from, from + condition.size()));
    if (const std::string_view more = Trim(value.substr(number.size())); !more.empty()) {
      const size_t at = more.data() - text_.data();
      FAIL(ErrorAt(Str("expected '{' after '", text_.substr(from, number.end() - (text_.begin() + from)), "'"), at,
                   at + more.size()));
    }
    item.items = TRY(Block(depth));
    return item;
  }

  // todo(NAME), or todo(NAME: why an existing pass does not run here).
  Result<PipelineItem> Todo() {
    if (!Takes('(')) FAIL(ErrorAt("expected '(' and a name after 'todo'", at_, at_ + 1));
    const size_t from = at_, close = Closing(from);
    if (close == std::string_view::npos) FAIL(ErrorAt("'(' is not closed", from - 1, from));
    const std::string_view inner = text_.substr(from, close - from);
    const std::string_view name = Trim(inner.substr(0, inner.find_first_of("{(:")));
    if (name.empty()) FAIL(ErrorAt("expected the name of a pass", from, close));
    if (FindPass(name) != nullptr && !inner.contains(':'))
      FAIL(ErrorAt(Str("'", name, "' exists in hlokit: write it without todo, or give a reason: todo(", name, ": ...)"),
                   from, close));
    head_end_ = at_ = close + 1;
    return PipelineItem{.kind = PipelineItem::Kind::kTodo, .name = std::string(name)};
  }

  // A pass, or a stage of the default pipeline.
  Result<PipelineItem> Named(std::string_view name, size_t begin) {
    const PassRow* pass = FindPass(name);
    const PipelineItem* stage = is_preset_ ? nullptr : FindDefaultStage(name);
    const bool has_options = Takes('{');
    const size_t brace = at_ - 1;
    if (pass != nullptr && (stage == nullptr || pass->name == name || has_options)) {
      PipelineItem item{.pass = pass, .options = pass->defaults()};
      if (has_options) TRY(Options(pass->name, brace, &item.options));
      item.repeat = TRY(Repeated(item.repeat));
      return item;
    }
    if (stage == nullptr && FindPreset(name) != nullptr) {
      FAIL(Located(UsageError("F009", Str("'", name, "' is a whole pipeline, which cannot be part of another one"))
                       .Hint(Str("--pipeline=", name, " runs it; 'hlo-opt --print_pipeline --pipeline=", name,
                                 "' prints its text")),
                   begin, begin + name.size()));
    }
    if (stage == nullptr) FAIL(Located(UnknownPass(name), begin, begin + name.size()));
    if (has_options) FAIL(ErrorAt(Str("'", stage->name, "' is a pipeline, which has no options"), brace, at_));
    PipelineItem item = *stage;
    item.repeat = TRY(Repeated(item.repeat));
    return item;
  }

  // NAME=VALUE, ... after '{'.
  Status Options(std::string_view pass, size_t brace, PassOptions* options) {
    const size_t close = text_.find_first_of("}\n", at_);
    if (close == std::string_view::npos || text_[close] == '\n') FAIL(ErrorAt("'{' is not closed", brace, brace + 1));
    const std::string_view inside = text_.substr(at_, close - at_);
    std::vector<std::string_view> given;
    for (const std::string_view entry : Split(inside, ',')) {
      if (Trim(entry).empty()) continue;
      const size_t from = entry.data() - text_.data(), equals = entry.find('=');
      const std::string_view name = Trim(entry.substr(0, equals));
      const std::string_view value = equals == std::string_view::npos ? "" : Trim(entry.substr(equals + 1));
      if (std::ranges::find(given, name) != given.end())
        FAIL(ErrorAt(Str("'", pass, "': option '", name, "' is given twice"), from, from + entry.size()));
      given.push_back(name);
      Status set = SetOption(pass, name, value, options);
      if (!set) FAIL(Located(std::move(set.error()), from, from + entry.size()));
    }
    head_end_ = at_ = close + 1;
    return {};
  }

  // (fixed-point), (fixed-point=N), or nothing.
  Result<Repeat> Repeated(Repeat otherwise) {
    if (!Takes('(')) return otherwise;
    const size_t from = at_, close = text_.find_first_of(")\n", at_);
    if (close == std::string_view::npos || text_[close] == '\n') FAIL(ErrorAt("'(' is not closed", from - 1, from));
    const std::string_view inside = Trim(text_.substr(from, close - from));
    constexpr std::string_view kFixedPoint = "fixed-point", kCounted = "fixed-point=";
    int64_t most = kMostRounds;
    const bool counted = inside.starts_with(kCounted);
    if (inside != kFixedPoint &&
        !(counted && ParseInt(inside.substr(kCounted.size()), &most) && most >= 1 && most <= INT32_MAX))
      FAIL(ErrorAt(Str("expected 'fixed-point' or 'fixed-point=N', not '", Escaped(inside), "'"), from, close));
    head_end_ = at_ = close + 1;
    return Repeat{.most = static_cast<int>(most), .fixed_point = true, .stops = counted};
  }

  Result<std::vector<PipelineItem>> Block(int depth) {
    const size_t head_end = head_end_;
    const size_t brace = (SkipBetween(), at_);
    if (!Takes('{')) FAIL(ErrorAt("expected '{'", brace, brace + 1));
    if (depth >= kMostNested)
      FAIL(ErrorAt(Str("pipelines are nested deeper than ", kMostNested, " levels"), brace, brace + 1));
    auto items = TRY(Items(depth + 1));
    if (!Takes('}')) FAIL(ErrorAt("'{' is not closed", brace, brace + 1));
    head_end_ = head_end;
    return items;
  }

  // The parenthesis that closes the one before `from` on the same line, or npos.
  size_t Closing(size_t from) const {
    int open = 1;
    for (size_t i = from; i < text_.size() && text_[i] != '\n'; ++i) {
      open += text_[i] == '(' ? 1 : text_[i] == ')' ? -1 : 0;
      if (open == 0) return i;
    }
    return std::string_view::npos;
  }

  std::string_view Words() {
    SkipBlanks();
    const size_t begin = at_;
    while (at_ < text_.size() && std::string_view(",\n{}()").find(text_[at_]) == std::string_view::npos &&
           !text_.substr(at_).starts_with("//"))
      ++at_;
    const std::string_view words = Trim(text_.substr(begin, at_ - begin));
    head_end_ = begin + words.size();
    return words;
  }

  bool Takes(char c) {
    SkipBlanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void SkipBlanks() {
    while (at_ < text_.size()) {
      if (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r') {
        ++at_;
      } else if (text_.substr(at_).starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        return;
      }
    }
  }
  void SkipBetween() {
    for (SkipBlanks(); at_ < text_.size() && (text_[at_] == ',' || text_[at_] == '\n'); SkipBlanks()) ++at_;
  }

  Error Located(Error error, size_t begin, size_t end) const {
    end = std::min(std::max(end, begin + 1), text_.size());
    begin = std::min(begin, end);
    if (begin == end && begin > 0) --begin;  // At the end of the text, mark the last byte.
    error.source = source_;
    error.diagnostics.front().range = {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
    return error;
  }
  Error ErrorAt(std::string message, size_t begin, size_t end) const {
    return Located(UsageError("F009", std::move(message)).Hint("'hlo help pipelines' explains the syntax"), begin, end);
  }
  Error UnknownGate(std::string_view name, size_t begin) const {
    std::vector<std::string_view> known;
    for (const GateRow& row : kGates) known.push_back(row.name);
    std::string message = Str("unknown gate '", Escaped(name), "'; the gates are: ", Join(known, ", "));
    const std::vector<std::string> near = NearNames(name, known);
    if (!near.empty()) message += Str("; did you mean '", Join(near, "' or '"), "'?");
    return ErrorAt(std::move(message), begin, begin + name.size());
  }

  const std::shared_ptr<const SourceText> source_;
  const std::string_view text_;
  const bool is_preset_;
  size_t at_ = 0;
  size_t head_end_ = 0;  // End of the current item without its block.
};

}  // namespace

std::span<const GateRow> AllGates() { return kGates; }

bool Gate::IsOpen(const GateInput& input) const {
  const double is = row->value(input);
  if (comparison == "==") return is == value;
  if (comparison == "!=") return is != value;
  if (comparison == "<=") return is <= value;
  if (comparison == ">=") return is >= value;
  return comparison == "<" ? is < value : is > value;
}

Result<Pipeline> ParsePipeline(std::shared_ptr<const SourceText> source) {
  Pipeline pipeline{.source = source};
  pipeline.items = TRY(Parser(std::move(source)).Run());
  return pipeline;
}

}  // namespace hlo
