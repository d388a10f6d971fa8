#include "gpu/runtime/tuning/choice.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "ir/fusion.h"
#include "ir/module.h"

namespace hlo::gpu {
namespace {

struct NumberField {
  std::string_view name;
  int64_t KernelPlan::* member;
};
constexpr NumberField kNumbers[] = {{"vector", &KernelPlan::vector}, {"threads", &KernelPlan::threads},
                                    {"splits", &KernelPlan::splits}, {"unroll", &KernelPlan::unroll},
                                    {"stages", &KernelPlan::stages}, {"workspace", &KernelPlan::workspace}};
struct ListField {
  std::string_view name;
  char separator;
  std::vector<int64_t> KernelPlan::* member;
};
constexpr ListField kLists[] = {{"tile", 'x', &KernelPlan::tile}, {"roots", ',', &KernelPlan::roots}};
struct NamesField {
  std::string_view name;
  std::vector<std::string> KernelPlan::* member;
};
constexpr NamesField kInstructions[] = {{"heroes", &KernelPlan::heroes}, {"kept", &KernelPlan::kept}};
struct FlagField {
  std::string_view name;
  bool KernelPlan::* member;
};
constexpr FlagField kFlags[] = {
    {"operand", &KernelPlan::operand}, {"in_place", &KernelPlan::in_place}, {"totals", &KernelPlan::totals}};
struct TextField {
  std::string_view name;
  std::string KernelPlan::* member;
};
constexpr TextField kTexts[] = {{"library", &KernelPlan::library}, {"algorithm", &KernelPlan::algorithm}};

constexpr KernelKind kKinds[] = {
#define KERNEL_KIND(Name, text, fields, what) KernelKind::k##Name,
#include "ir/kernel_kinds.def"
};

// Quotes a text with blanks. Names of libraries and algorithms contain no quotes.
std::string InQuotes(const std::string& text) { return text.find(' ') == text.npos ? text : Str('"', text, '"'); }

std::string KernelText(const KernelPlan& plan, const std::vector<Instruction*>& fused) {
  const KernelPlan nothing;
  std::string out(ToString(plan.kind));
  for (const NamesField& field : kInstructions) {
    std::vector<int64_t> places;
    for (const std::string& name : plan.*field.member)
      places.push_back(std::ranges::find(fused, name, &Instruction::name) - fused.begin());
    if (!places.empty()) out += Str(" ", field.name, "=", Join(places, ","));
  }
  for (const ListField& field : kLists) {
    const std::vector<int64_t>& list = plan.*field.member;
    if (!list.empty()) out += Str(" ", field.name, "=", Join(list, std::string_view(&field.separator, 1)));
  }
  for (const NumberField& field : kNumbers) {
    if (plan.*field.member != nothing.*field.member) out += Str(" ", field.name, "=", plan.*field.member);
  }
  for (const FlagField& field : kFlags) {
    if (plan.*field.member) out += Str(" ", field.name);
  }
  for (const TextField& field : kTexts) {
    if (!(plan.*field.member).empty()) out += Str(" ", field.name, "=", InQuotes(plan.*field.member));
  }
  return out;
}

Error Wrong(std::string message) { return Rejected("A026", std::move(message)); }

Result<std::vector<int64_t>> Numbers(std::string_view name, std::string_view text, char separator) {
  std::vector<int64_t> numbers;
  for (const std::string_view part : Split(text, separator)) {
    int64_t number = 0;
    if (!ParseInt(part, &number) || number < 0)
      FAIL(Wrong(Str("'", name, "' wants numbers, not '", Escaped(text), "'")));
    numbers.push_back(number);
  }
  return numbers;
}

class Reader {
 public:
  explicit Reader(const Instruction& fusion) : fused_(FusedComputation(fusion).Instructions()) {}

  static Result<KernelKind> Kind(const std::string& word) {
    const auto kind = std::ranges::find(kKinds, word, [](KernelKind each) { return ToString(each); });
    if (kind == std::end(kKinds)) FAIL(Wrong(Str("no kind of kernel is called '", Escaped(word), "'")));
    return *kind;
  }

  Status Field(const std::string& word, KernelPlan& plan) const {
    const size_t equals = word.find('=');
    const std::string_view name = std::string_view(word).substr(0, equals);
    const std::string_view value = equals == word.npos ? "" : std::string_view(word).substr(equals + 1);
    for (const FlagField& field : kFlags) {
      if (field.name == word) return Set(plan.*field.member, true);
    }
    for (const NumberField& field : kNumbers) {
      if (field.name == name) return Set(plan.*field.member, TRY(Numbers(name, value, '\0')).front());
    }
    for (const ListField& field : kLists) {
      if (field.name == name) return Set(plan.*field.member, TRY(Numbers(name, value, field.separator)));
    }
    for (const TextField& field : kTexts) {
      if (field.name == name) return Set(plan.*field.member, std::string(value));
    }
    for (const NamesField& field : kInstructions) {
      if (field.name == name) return Set(plan.*field.member, TRY(Names(name, value)));
    }
    FAIL(Wrong(Str("a kernel has no field '", Escaped(word), "'")));
  }

 private:
  template <class T>
  static Status Set(T& member, T value) {
    member = std::move(value);
    return {};
  }

  Result<std::vector<std::string>> Names(std::string_view name, std::string_view value) const {
    std::vector<std::string> names;
    for (const int64_t place : TRY(Numbers(name, value, ','))) {
      if (place >= std::ssize(fused_))
        FAIL(Wrong(Str("'", name, "' names instruction ", place, ", but the fusion has ", fused_.size(),
                       " (numbered from 0)")));
      names.emplace_back(fused_[place]->name());
    }
    return names;
  }

  const std::vector<Instruction*> fused_;
};

}  // namespace

std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> words;
  bool quoted = false, inside = false;
  for (const char c : text) {
    if (c == '"') {
      quoted = !quoted;
      if (!inside) words.emplace_back();
      inside = true;
    } else if (!quoted && (c == ' ' || c == '\t' || c == '\r')) {
      inside = false;
    } else {
      if (!inside) words.emplace_back();
      inside = true;
      words.back() += c;
    }
  }
  return words;
}

std::string ChoiceText(const FusionPlan& plan, const Instruction& fusion) {
  const std::vector<Instruction*> fused = FusedComputation(fusion).Instructions();
  std::vector<std::string> kernels;
  for (const KernelPlan& kernel : plan.kernels) kernels.push_back(KernelText(kernel, fused));
  return Join(kernels, " + ");
}

Result<FusionPlan> ReadChoice(std::string_view text, const Instruction& fusion, std::string_view target) {
  const Reader reader(fusion);
  FusionPlan plan{.target = std::string(target)};
  bool begins = true;
  for (const std::string& word : WordsOf(text)) {
    if (begins) plan.kernels.push_back({.kind = TRY(Reader::Kind(word))});
    else if (word != "+") TRY(reader.Field(word, plan.kernels.back()));
    begins = word == "+";
  }
  if (begins) FAIL(Wrong(plan.kernels.empty() ? "the choice names no kernel" : "the choice ends with '+'"));
  return plan;
}

}  // namespace hlo::gpu
