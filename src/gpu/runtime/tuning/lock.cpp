#include "gpu/runtime/tuning/lock.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "base/text.h"
#include "gpu/runtime/tuning/choice.h"

namespace hlo::gpu {
namespace {

constexpr std::string_view kTitle = "# autotune.lock ", kVersion = "v1";
constexpr std::string_view kSpread = "\u00b1";

bool IsKey(std::string_view text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

std::string HeaderText(const LockContext& context) {
  std::string out = Str(kTitle, kVersion, "   tool ", context.tool, "   device \"", context.device, "\"");
  for (const auto& [name, version] : context.libraries) out += Str("   ", name, " ", version);
  return out;
}

// Returns "", or why the line is wrong.
std::string ReadHeader(std::string_view line, LockContext* context) {
  const std::vector<std::string> words = WordsOf(line.substr(kTitle.size()));
  if (words.empty() || words[0] != kVersion)
    return Str("expected version ", kVersion, ", found '", words.empty() ? "" : Escaped(words[0]), "'");
  if (words.size() % 2 == 0) return Str("'", Escaped(words.back()), "' has no value");
  for (size_t i = 1; i + 1 < words.size(); i += 2) {
    if (words[i] == "tool") context->tool = words[i + 1];
    else if (words[i] == "device") context->device = words[i + 1];
    else context->libraries[words[i]] = words[i + 1];
  }
  return context->tool.empty() || context->device.empty() ? "the header names no tool or no device" : "";
}

bool TakeNamed(std::string_view word, std::string_view name, std::string* value) {
  if (!word.starts_with(name) || word.substr(name.size(), 1) != "=") return false;
  *value = word.substr(name.size() + 1);
  return !value->empty();
}

// Returns "", or why the line is wrong.
std::string ReadDecision(std::string_view line, Decision* decision) {
  std::vector<std::string> words = WordsOf(line);
  constexpr size_t kEnd = 5, kBeginning = 2;
  constexpr std::string_view kForm = "expected CATEGORY SIGNATURE PLAN... TIMEus \u00b1SPREAD n=N check=WORD key=KEY";
  if (words.size() < kBeginning + 1 + kEnd) return std::string(kForm);
  const std::span<const std::string> end = std::span(words).last(kEnd);
  std::string samples;
  if (!TakeNamed(end[4], "key", &decision->key) || !IsKey(decision->key))
    return Str("expected key= and 16 hexadecimal digits at the end of the line, found '", Escaped(end[4]), "'");
  if (!TakeNamed(end[3], "check", &decision->check)) return Str("expected check=, found '", Escaped(end[3]), "'");
  if (!TakeNamed(end[2], "n", &samples) || !ParseInt(samples, &decision->samples))
    return Str("expected n= and a number, found '", Escaped(end[2]), "'");
  if (!end[1].starts_with(kSpread) || !ParseDouble(end[1].substr(kSpread.size()), &decision->spread))
    return Str("expected \u00b1 and a number, found '", Escaped(end[1]), "'");
  if (!end[0].ends_with("us") ||
      !ParseDouble(std::string_view(end[0]).substr(0, end[0].size() - 2), &decision->microseconds))
    return Str("expected a time in us, found '", Escaped(end[0]), "'");
  decision->category = words[0];
  decision->signature = words[1];
  // `words` lack the quotes of the choice.
  const size_t first = line.find(words[1]) + words[1].size(), last = line.rfind(end[0]);
  decision->choice = Trim(line.substr(first, last - first));
  return "";
}

}  // namespace

std::string ToString(const Decision& decision) {
  return Str(decision.category, "  ", decision.signature, "  ", decision.choice, "  ",
             Format("%.1fus ", decision.microseconds), kSpread, Format("%.1f", decision.spread),
             " n=", decision.samples, " check=", decision.check, " key=", decision.key);
}

Result<Lock> Lock::Parse(std::shared_ptr<const SourceText> source) {
  Lock lock;
  LockContext context;
  bool has_header = false;
  const std::string_view text = source->text();
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = Trim(text.substr(begin, end - begin));
    const SourceRange range = {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
    begin = end + 1;
    std::string wrong;
    if (line.starts_with(kTitle)) {
      context = {};
      wrong = ReadHeader(line, &context);
      if (wrong.empty()) lock.SectionOf(context);
      has_header = true;
    } else if (line.empty() || line.starts_with('#')) {
      continue;
    } else if (!has_header) {
      wrong = Str("an autotune lock must begin with '", kTitle, kVersion, "', tool and device");
    } else {
      Decision decision;
      wrong = ReadDecision(line, &decision);
      if (wrong.empty()) {
        const Decision* const there = lock.Find(context, decision.key);
        if (there == nullptr) lock.SetDecision(context, std::move(decision));
        else if (there->choice != decision.choice) ++lock.conflicts_;
      }
    }
    if (wrong.empty()) continue;
    Error error = Rejected("A026", Str("not a line of an autotune lock: ", wrong), range);
    error.source = std::move(source);
    FAIL(std::move(error));
  }
  return lock;
}

Result<Lock> Lock::ReadIfThere(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return Lock();
  return Parse(TRY(ReadSource(path)));
}

std::string Lock::ToString() const {
  std::vector<const Section*> sections;
  for (const Section& section : sections_) sections.push_back(&section);
  std::ranges::stable_sort(
      sections, {}, [](const Section* section) { return std::tie(section->context.device, section->context.tool); });
  std::string out;
  for (const Section* section : sections) {
    std::vector<std::string> lines;
    for (const auto& [key, decision] : section->decisions) lines.push_back(gpu::ToString(decision));
    std::ranges::sort(lines);
    out += Str(HeaderText(section->context), "\n", Join(lines, "\n"), lines.empty() ? "" : "\n");
  }
  return out;
}

int64_t Lock::size() const {
  int64_t size = 0;
  for (const Section& section : sections_) size += std::ssize(section.decisions);
  return size;
}

Lock::Section& Lock::SectionOf(const LockContext& context) {
  for (Section& section : sections_) {
    if (section.context.SamePlace(context)) return section;
  }
  sections_.push_back({context, {}});
  return sections_.back();
}

const Decision* Lock::Find(const LockContext& context, std::string_view key) const {
  for (const Section& section : sections_) {
    if (!section.context.SamePlace(context)) continue;
    const auto found = section.decisions.find(std::string(key));
    if (found != section.decisions.end()) return &found->second;
  }
  return nullptr;
}

void Lock::SetDecision(const LockContext& context, Decision decision) {
  Section& section = SectionOf(context);
  for (const auto& [name, version] : context.libraries) section.context.libraries[name] = version;
  std::string key = decision.key;
  section.decisions[std::move(key)] = std::move(decision);
}

Lock Lock::Only(const std::function<bool(const Decision&)>& keeps) const {
  Lock some;
  for (const Section& section : sections_) {
    for (const auto& [key, decision] : section.decisions) {
      if (keeps(decision)) some.SetDecision(section.context, decision);
    }
  }
  return some;
}

void Lock::Merge(const Lock& other) {
  for (const Section& section : other.sections_) {
    Section& own = SectionOf(section.context);
    own.context.libraries.insert(section.context.libraries.begin(), section.context.libraries.end());
    for (const auto& [key, decision] : section.decisions) own.decisions.emplace(key, decision);
  }
}

std::string Lock::OthersText(const LockContext& context) const {
  std::vector<std::string> others;
  for (const Section& section : sections_) {
    if (section.context.SamePlace(context) || section.decisions.empty()) continue;
    others.push_back(Str(section.decisions.size(), " for '", Escaped(section.context.device), "' by ",
                         Escaped(section.context.tool)));
  }
  return Join(others, ", ");
}

}  // namespace hlo::gpu
