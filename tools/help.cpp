#include <algorithm>
#include <cctype>
#include <cstdio>
#include <ranges>
#include <span>
#include <vector>

#include "base/text.h"
#include "driver/manual/pages.h"
#include "driver/profile/advice.h"
#include "driver/run/oracles.h"
#include "gpu/runtime/fault.h"
#include "ir/mutation.h"
#include "ir/opcode.h"
#include "ir/verifier/rules.h"
#include "passes/pipelines/text.h"
#include "passes/rewrite.h"
#include "tools/command.h"
#include "tools/inspect.h"

namespace hlo {
namespace {

struct CodeRow {
  std::string_view code, explanation;
};

constexpr CodeRow kCodes[] = {
#define CODE(code, explanation) {code, explanation},
#include "tools/codes.def"
};

struct WordRow {
  std::string_view words, explanation;
};

constexpr WordRow kWords[] = {
#define WORD(words, explanation) {words, explanation},
#include "tools/words.def"
};

const char* WhenSaid(RuleLevel level) {
  switch (level) {
    case RuleLevel::kText: return "A text that breaks this rule is rejected at every level of --verify.";
    case RuleLevel::kDefault: return "An error at --verify=default and strict.";
    case RuleLevel::kWarned: return "An error at --verify=strict, a warning at default, because XLA accepts it.";
    case RuleLevel::kStrict: return "An error at --verify=strict.";
    case RuleLevel::kWarning: return "A warning at --verify=default and strict.";
  }
  return "";
}

void PrintRow(std::string_view code, std::string_view explanation) {
  std::printf("%s  %s\n", std::string(code).c_str(), std::string(explanation).c_str());
}

void PrintRewrite(const Rule& rule) {
  std::printf("  %-11s %-13s %s%s%s\n", std::string(rule.id).c_str(), std::string(ToString(rule.preserves)).c_str(),
              std::string(rule.law).c_str(), rule.options.empty() ? "" : "  ", std::string(rule.options).c_str());
}

void PrintRewrites() {
  std::printf(
      "The rewrite rules of each pass, in the order in which they are tried. Each row has the id, the preserved\n"
      "property and the law. A rule that depends on options of the pass has the required values in {} at the end.\n"
      "'hlo help pipelines' lists the default values. --disable_rules=A.add.1,A.bcast disables rules;\n"
      "--vmodule=algebraic_simplifier=2 logs each rewrite.\n");
  for (const RuleSet& set : AllRules()) {
    std::printf("\n%s\n", std::string(set.pass).c_str());
    for (const Rule& rule : set.rules) PrintRewrite(rule);
  }
}

constexpr char kPipelineGrammar[] =
    R"(A pipeline is a text: a file for --pipeline, or a word for --passes. Its items run one after the
other and are separated by commas or line ends.

  algsimp                                 a pass, by its registered name or class name in XLA (hlo-opt --list_passes)
  fusion{instructions=128}                a pass with options
  algsimp(fixed-point)                    a pass, repeated until it changes nothing; (fixed-point=9): at most 9 times
  pipeline simplification(fixed-point) {  a stage, whose name is used in dumps and by --xla_disable_hlo_passes
    cse, dce
  }
  simplification                          the stage of that name in the default pipeline
  if cc>=8.0 { ... }                      a gate: its items run if the comparison (==, !=, <, <=, >, >=) is true
  todo(gpu-windowed-einsum)               a pass of XLA that hlokit does not have, which is skipped and counted
  // ...                                  a comment

'hlo-opt --print_pipeline --pipeline=2022' prints the text of a pipeline.
)";

void PrintPipelines() {
  std::fputs(kPipelineGrammar, stdout);
  const auto row = [](std::string_view name, std::string_view what) {
    std::printf("  %-38s %s\n", std::string(name).c_str(), std::string(what).c_str());
  };
  std::printf("\nPipelines:\n");
  for (const Preset& preset : AllPresets()) row(preset.name, preset.what);
  std::printf("\nGates:\n");
  for (const GateRow& gate : AllGates()) row(gate.name, gate.what);
  std::printf("\nOptions:\n");
  for (const PassRow& pass : AllPasses()) {
    for (const OptionText& option : Describe(pass.defaults()))
      row(Str(pass.name, "{", option.name, "=", option.value, "}"), option.what);
  }
}

void PrintOracles() {
  std::printf("The oracles that judge a run, in this order; 'hlo help WORD' explains each.\n\n");
  const auto row = [](std::string_view name, std::string_view needs, std::string_view beyond, std::string_view what) {
    std::printf("  %-10s %-12s %-14s %s\n", std::string(name).c_str(), std::string(needs).c_str(),
                std::string(beyond).c_str(), std::string(what).c_str());
  };
  row("", "needs", "beyond limit", "what it does");
  for (const Oracle& oracle : AllOracles())
    row(oracle.name, ToString(oracle.need), ToString(oracle.beyond), oracle.what);
  std::printf(
      "\nKernels exist unless the platform is the interpreter. A reference is the interpreter's results for the whole\n"
      "module, or a file (--reference). The limit is --work_limit, in scalar operations.\n\n"
      "The oracles of each --compare_mode:\n\n");
  for (const CompareModeRow& mode : AllCompareModes())
    std::printf("  %-10s %-50s %s\n", Str(mode.mode).c_str(), std::string(mode.what).c_str(),
                Join(mode.oracles, ", ").c_str());
}

void PrintAdvice() {
  std::printf("The advice of --profile, each with its condition (docs/profile.md):\n\n");
  for (const AdviceRule& rule : AllAdvice())
    std::printf("  %-14s %s\n", std::string(rule.name).c_str(), std::string(rule.when).c_str());
}

struct Kind {
  std::string_view text, what;
};
constexpr Kind kKinds[] = {
#define KERNEL_KIND(Name, text, fields, what) {text, what},
#include "ir/kernel_kinds.def"
};

void PrintKinds() {
  std::printf(
      "Kinds of kernel, in the order in which they are tried for a fusion. The last four are not kernels of hlokit\n"
      "(docs/fusion.md):\n\n");
  for (const Kind& kind : kKinds)
    std::printf("  %-17s %s\n", std::string(kind.text).c_str(), std::string(kind.what).c_str());
}

void PrintFunctions() {
  std::printf("The largest error of each function of f32, in units in the last place (docs/numerics.md):\n\n");
  for (const OpRow& row : AllOps()) {
    if (row.ulps > 0 && row.cost.function)
      std::printf("  %-22s %-5s %s\n", std::string(row.text).c_str(), Str(row.ulps).c_str(),
                  std::string(row.prose).c_str());
  }
}

void PrintNames(std::span<const std::string_view> names) {
  constexpr size_t kWidth = 100;
  std::string line = "     ";
  for (const std::string_view name : names) {
    if (line.size() + 1 + name.size() > kWidth) {
      std::printf("%s\n", line.c_str());
      line = "     ";
    }
    line += Str(" ", name);
  }
  std::printf("%s\n", line.c_str());
}

void PrintFaults() {
  std::printf(
      "--inject=KIND:NAME:FAULT of hlo run and similar commands plants a fault, to test whether the judges find\n"
      "the fault and name the right part. Every report says how often the fault was planted.\n\n"
      "  pass:algsimp:FAULT           once in the result of that pass; pass:algsimp#2:FAULT: of its second run\n"
      "  crash:algsimp                that pass crashes\n");
  for (const gpu::FaultKind& kind : gpu::FaultKinds())
    std::printf("  %-28s in each %s; NAME instead of * selects one\n", Str(kind.name, ":*:FAULT").c_str(),
                std::string(kind.what).c_str());
  std::vector<std::string_view> mutations;
  for (const Mutation& mutation : Mutations()) mutations.push_back(mutation.name);
  std::printf("\nFaults of passes and kernels, planted in the first instruction that they fit:\n");
  PrintNames(mutations);
  for (const PassRow& pass : AllPasses()) {
    if (FaultsOf(pass.name).empty()) continue;
    std::printf("Faults of pass:%s:\n", std::string(pass.name).c_str());
    PrintNames(FaultsOf(pass.name));
  }
  for (const gpu::FaultKind& kind : gpu::FaultKinds()) {
    std::printf("Faults of %s:\n", std::string(kind.name).c_str());
    PrintNames(kind.faults);
  }
}

void PrintWords() {
  for (const WordRow& row : kWords)
    std::printf("%-14s %s\n", std::string(Split(row.words, '|')[0]).c_str(), std::string(row.explanation).c_str());
}

void PrintCodes() {
  for (const CodeRow& row : kCodes) PrintRow(row.code, row.explanation);
  for (const VerifierRule& rule : VerifierRules()) PrintRow(rule.code, rule.text);
}

void PrintPageTitles(bool guides) {
  for (const ManualPage& page : AllPages()) {
    if (page.is_guide == guides)
      std::printf("  %-20s %s\n", std::string(page.name).c_str(), std::string(page.Title()).c_str());
  }
}

void PrintPages() {
  std::printf("Pages of the manual: 'hlo help comparison', or a section of one: 'hlo help comparison#sums'.\n\n");
  PrintPageTitles(false);
  std::printf("\nGuides for tasks: 'hlo help guides/jax'.\n\n");
  PrintPageTitles(true);
  std::printf("\n'hlo help --html=DIR' writes all of them for a browser.\n");
}

struct TopicRow {
  std::string_view name;
  void (*print)();
};

constexpr TopicRow kTopics[] = {
    {"pages", PrintPages},      {"guides", PrintPages},  {"codes", PrintCodes},         {"words", PrintWords},
    {"algebra", PrintRewrites}, {"kinds", PrintKinds},   {"functions", PrintFunctions}, {"pipelines", PrintPipelines},
    {"oracles", PrintOracles},  {"advice", PrintAdvice}, {"inject", PrintFaults},       {"faults", PrintFaults},
};

std::string Folded(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) c = c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return folded;
}

const WordRow* FindWord(std::string_view asked) {
  const std::string folded = Folded(asked);
  for (const WordRow& row : kWords) {
    for (const std::string_view word : Split(row.words, '|')) {
      if (Folded(word) == folded) return &row;
    }
  }
  // The word may have a reason, as in INCONCLUSIVE(too many vacuous bounds).
  const size_t reason = asked.find('(');
  return reason == std::string_view::npos || reason == 0 ? nullptr : FindWord(asked.substr(0, reason));
}

Error Unknown(const std::string& asked, std::span<const std::string_view> commands,
              std::span<const GlossaryTerm> glossary) {
  std::vector<std::string> names(commands.begin(), commands.end());
  for (const WordRow& row : kWords) {
    for (const std::string_view word : Split(row.words, '|')) names.push_back(Folded(word));
  }
  for (const ManualPage& page : AllPages()) {
    names.emplace_back(page.name);
    names.emplace_back(page.name.substr(page.name.rfind('/') + 1));
  }
  for (const TopicRow& topic : kTopics) names.emplace_back(topic.name);
  for (const GlossaryTerm& term : glossary) names.push_back(Folded(term.term));
  for (const PassRow& pass : AllPasses()) names.push_back(Folded(pass.name));
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::vector<std::string> near = NearNames(Folded(asked), known);
  return UsageError("F001",
                    Str("no command, pass, diagnostic code, word of a report or page is called '", Escaped(asked), "'",
                        near.empty() ? "" : Str("; did you mean '", Join(near, "', '"), "'?")))
      .Hint(Str("'hlo help' lists the commands, and 'hlo help pages' lists the pages; other lists: ",
                Join(std::span(kTopics).subspan(2) | std::views::transform(&TopicRow::name), ", ")));
}

}  // namespace

std::string HelpOnWord(std::string_view asked) {
  const WordRow* row = FindWord(asked);
  return row == nullptr ? "" : Str(Join(Split(row->words, '|'), ", "), ": ", row->explanation, "\n");
}

void PointToPage(std::string_view asked) {
  const ManualPage* page = FindPage(asked);
  if (page == nullptr) return;
  std::printf("\nThe page of that name: 'hlo help %s'.\n", std::string(page->file).c_str());
}

std::vector<std::string_view> HelpTopics() {
  std::vector<std::string_view> topics;
  for (const TopicRow& topic : kTopics) topics.push_back(topic.name);
  for (const ManualPage& page : AllPages()) topics.push_back(page.name);
  return topics;
}

Result<ExitCode> HelpOnTopic(const std::string& asked, std::span<const std::string_view> commands) {
  std::string code = asked;
  if (!code.empty()) code[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(code[0])));
  for (const TopicRow& topic : kTopics) {
    if (topic.name != asked) continue;
    topic.print();
    PointToPage(asked);
    return ExitCode::kOk;
  }
  if (const std::vector<const Rule*> rules = FindRules(code); !rules.empty()) {
    for (const Rule* rule : rules) PrintRewrite(*rule);
    return ExitCode::kOk;
  }
  for (const CodeRow& row : kCodes) {
    if (row.code != code) continue;
    std::printf("%s: %s\n", code.c_str(), std::string(row.explanation).c_str());
    return ExitCode::kOk;
  }
  if (const VerifierRule* rule = FindRule(code)) {
    std::printf("%s: %s\n%s\n", code.c_str(), std::string(rule->text).c_str(), WhenSaid(rule->level));
    return ExitCode::kOk;
  }
  if (const std::string text = HelpOnWord(asked); !text.empty()) {
    std::fputs(text.c_str(), stdout);
    PointToPage(asked);
    return ExitCode::kOk;
  }
  const size_t hash = std::min(asked.find('#'), asked.size());
  if (const ManualPage* page = FindPage(asked.substr(0, hash))) {
    std::fputs(TRY(PageText(*page, asked.substr(std::min(hash + 1, asked.size())))).c_str(), stdout);
    return ExitCode::kOk;
  }
  const std::vector<GlossaryTerm> glossary = TRY(Glossary());
  for (const GlossaryTerm& term : glossary) {
    if (Folded(term.term) != Folded(asked)) continue;
    std::printf("%s: %s\n", term.term.c_str(), term.meaning.c_str());
    return ExitCode::kOk;
  }
  for (const Kind& kind : kKinds) {
    if (Folded(kind.text) != Folded(asked)) continue;
    std::printf("%s: kind of kernel: %s ('hlo help kinds')\n", std::string(kind.text).c_str(),
                std::string(kind.what).c_str());
    return ExitCode::kOk;
  }
  if (const std::string_view about = AboutInspect(asked); !about.empty()) {
    std::printf("%s: %s ('hlo inspect %s --help')\n", asked.c_str(), std::string(about).c_str(), asked.c_str());
    return ExitCode::kOk;
  }
  if (const PassRow* pass = FindPass(asked)) {
    std::printf("%s: pass, %s: %s ('hlo opt --list_passes')\n", std::string(pass->name).c_str(),
                std::string(ToString(pass->preserves)).c_str(), std::string(pass->what).c_str());
    return ExitCode::kOk;
  }
  FAIL(Unknown(asked, commands, glossary));
}

}  // namespace hlo
