#include "passes/pipelines/selectors.h"

#include <algorithm>

#include "base/text.h"
#include "ir/mutation.h"

namespace hlo {
namespace {

void AddNames(std::span<const PipelineItem> items, PipelineItem::Kind kind, std::vector<std::string_view>* names) {
  for (const PipelineItem& item : items) {
    if (item.kind == kind) names->push_back(item.name);
    AddNames(item.items, kind, names);
  }
}

bool Has(const Pipeline& pipeline, PipelineItem::Kind kind, std::string_view name) {
  std::vector<std::string_view> names;
  AddNames(pipeline.items, kind, &names);
  return std::ranges::any_of(names, [&](std::string_view known) { return SamePassName(known, name); });
}

bool IsStage(const Pipeline& pipeline, std::string_view name) {
  return Has(pipeline, PipelineItem::Kind::kStage, name) || FindDefaultStage(name) != nullptr;
}

Error UnknownStage(const Pipeline& pipeline, std::string_view name) {
  std::vector<std::string_view> known;
  AddNames(pipeline.items, PipelineItem::Kind::kStage, &known);
  std::string message = Str("unknown pipeline '", Escaped(name), "'");
  const std::vector<std::string> near = NearNames(name, known);
  if (!near.empty()) message += Str("; did you mean '", Join(near, "' or '"), "'?");
  return UsageError("F004", std::move(message));
}

}  // namespace

bool Selector::Matches(const PassRun& run, std::span<const std::string_view> stages) const {
  if (!stage.empty() &&
      std::ranges::none_of(stages, [&](std::string_view enclosing) { return SamePassName(stage, enclosing); }))
    return false;
  if (instance != 0 && instance != run.instance) return false;
  if (name.empty() || name == run.pass->class_name || SamePassName(name, run.pass->name)) return true;
  return instance == 0 && stage.empty() &&
         std::ranges::any_of(stages, [&](std::string_view enclosing) { return SamePassName(name, enclosing); });
}

Result<Selector> ParseSelector(std::string_view text, const Pipeline& pipeline) {
  Selector selector;
  std::string_view name = Trim(text);
  if (const size_t slash = name.find('/'); slash != std::string_view::npos) {
    selector.stage = name.substr(0, slash);
    name = name.substr(slash + 1);
  }
  if (!selector.stage.empty() && !IsStage(pipeline, selector.stage)) FAIL(UnknownStage(pipeline, selector.stage));
  if (const size_t hash = name.find('#'); hash != std::string_view::npos) {
    int64_t instance = 0;
    if (!ParseInt(name.substr(hash + 1), &instance) || instance < 1) {
      FAIL(UsageError("F004", Str("'", Escaped(text), "': expected a number from 1 after '#'")));
    }
    selector.instance = static_cast<int>(instance);
    name = name.substr(0, hash);
  }
  selector.name = name;
  if (FindPass(name) != nullptr || Has(pipeline, PipelineItem::Kind::kTodo, name)) return selector;
  if (selector.instance != 0 || !selector.stage.empty() || !IsStage(pipeline, name)) FAIL(UnknownPass(name));
  selector.stage = std::exchange(selector.name, "");
  return selector;
}

Result<std::vector<Selector>> ParseSelectors(const std::vector<std::string>& texts, const Pipeline& pipeline) {
  std::vector<Selector> selectors;
  for (const std::string& text : texts) selectors.push_back(TRY(ParseSelector(text, pipeline)));
  return selectors;
}

Result<std::optional<Injection>> ParseInjection(const std::string& text, const Pipeline& pipeline) {
  if (text.empty()) return std::nullopt;
  const size_t colon = text.find(':');
  if (colon == std::string::npos)
    FAIL(UsageError("F004", Str("expected pass:NAME:FAULT, got 'pass:", Escaped(text), "'")));
  Injection injection{TRY(ParseSelector(text.substr(0, colon), pipeline)), ""};
  const std::string fault = text.substr(colon + 1);
  const PassRow* const pass = FindPass(injection.where.name);
  if (pass == nullptr) FAIL(UnknownPass(injection.where.name));
  std::vector<std::string_view> known(FaultsOf(pass->name).begin(), FaultsOf(pass->name).end());
  for (const Mutation& mutation : Mutations()) known.push_back(mutation.name);
  if (const auto found = std::ranges::find(known, fault); found != known.end()) {
    injection.fault = *found;
    return injection;
  }
  std::string message =
      Str("'", pass->name, "' has no fault '", Escaped(fault), "' to plant; it has: ", Join(known, ", "));
  const std::vector<std::string> near = NearNames(fault, known);
  if (!near.empty()) message += Str("; did you mean '", Join(near, "' or '"), "'?");
  FAIL(UsageError("F004", std::move(message)));
}

}  // namespace hlo
