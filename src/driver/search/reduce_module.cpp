#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/text.h"
#include "driver/inspect/extract.h"
#include "driver/load.h"
#include "driver/run/experiment.h"
#include "driver/search/edits.h"
#include "driver/search/reduce_search.h"

namespace hlo {
namespace {

using Edit = std::function<bool(Module&)>;

RunOptions WithRandomArguments(const ReduceSearch& s) {
  RunOptions run = s.options.run;
  run.args.clear();
  run.arg.clear();
  return run;
}

// Random arguments are preferred, because given ones fix the shapes.
bool FailsWithRandomArguments(const ReduceSearch& s) {
  s.announce("with made-up arguments");
  Trial trial(s.text, WithRandomArguments(s), s.trial);
  return IsTheSame(s, trial.symptom());
}

Status TakeArguments(ReduceSearch& s) {
  Progress progress(/*quiet=*/true);
  Experiment experiment(s.text, s.options.run, progress);
  s.base.arguments = TRY(experiment.Arguments())->values;
  return {};
}

std::unique_ptr<Module> Optimized(const ReduceSearch& s) {
  Progress progress(/*quiet=*/true);
  Experiment experiment(s.text, s.options.run, progress);
  const auto tuned = experiment.Tuned();
  return tuned ? (*tuned)->Clone() : nullptr;
}

std::unique_ptr<Module> Piece(const Module* module, const std::string& name, int64_t height) {
  if (module == nullptr || name.empty()) return nullptr;
  for (const Computation* computation : module->PostOrder()) {
    for (const Instruction* inst : computation->instructions()) {
      if (inst->name() == name && !inst->Is(Opcode::kParameter)) return Extract(*inst, height, /*users=*/false);
    }
  }
  return nullptr;
}

// Tries the culprit with ever more of the instructions that lead to it.
void Jump(ReduceSearch& s) {
  const Symptom& symptom = s.result.symptom;
  std::vector<std::function<std::unique_ptr<Module>()>> pieces;
  std::unique_ptr<Module> optimized;
  if (symptom.accused == Culprit::Kind::kKernel || symptom.accused == Culprit::Kind::kLibrary) {
    optimized = Optimized(s);
    for (const int64_t height : {0, 1})
      pieces.emplace_back([&, height] { return Piece(optimized.get(), symptom.name, height); });
  }
  for (const int64_t height : {0, 1, 2, 3, 5, 8, 13, 21, -1})
    pieces.emplace_back([&, height] { return Piece(s.base.module.get(), symptom.input, height); });
  s.announce("the culprit alone");
  const auto taken = Take(s, pieces.size(), [&](size_t i) -> std::optional<Candidate> {
    std::unique_ptr<Module> piece = pieces[i]();
    return piece == nullptr ? std::nullopt : CandidateOf(s, std::move(piece));
  });
  if (!taken) return;
  s.line(Str("  the culprit alone  instructions ", s.result.instructions_before, " -> ",
             s.base.module->InstructionCount(), "  elements ", s.result.elements_before, " -> ",
             ElementCount(*s.base.module)));
}

// Empty if the module is unchanged, not smaller, not valid or was tried before.
std::optional<Candidate> Edited(ReduceSearch& s, const Edit& edit, bool of_same_size) {
  std::unique_ptr<Module> module = s.base.module->Clone();
  if (!edit(*module)) return std::nullopt;
  Tidy(*module);
  return CandidateOf(s, std::move(module), of_same_size);
}

std::optional<size_t> TakeEdits(ReduceSearch& s, const std::vector<Edit>& edits, bool of_same_size = false) {
  return Take(s, edits.size(), [&](size_t i) { return Edited(s, edits[i], of_same_size); });
}

// Edits the whole list, then ever smaller chunks. `renumbers`: an edit changes the numbers of the other elements.
void Sweep(ReduceSearch& s, const std::string& what, const std::function<std::vector<int>(const Module&)>& list,
           const std::function<bool(Module&, std::span<const int>)>& edit, bool renumbers = false) {
  for (size_t chunk = std::max<size_t>(1, list(*s.base.module).size()); !IsOver(s); chunk /= 2) {
    std::set<int> seen;
    size_t passed = 0;
    while (!IsOver(s)) {
      std::vector<int> left = list(*s.base.module);
      if (renumbers) left.erase(left.begin(), left.begin() + static_cast<ptrdiff_t>(std::min(passed, left.size())));
      else std::erase_if(left, [&](int id) { return seen.contains(id); });
      if (left.empty()) break;
      s.announce(Str(what, ", ", left.size(), " in chunks of ", chunk));
      const size_t chunks = (left.size() + chunk - 1) / chunk;
      const auto of = [&](size_t i) {
        return std::span<const int>(left).subspan(i * chunk, std::min(chunk, left.size() - i * chunk));
      };
      const auto taken =
          Take(s, chunks, [&](size_t i) { return Edited(s, [&](Module& m) { return edit(m, of(i)); }, false); });
      if (!taken) break;
      passed += *taken * chunk;
      for (size_t i = 0; i <= *taken; ++i) seen.insert(of(i).begin(), of(i).end());
    }
    if (chunk == 1) break;
  }
}

std::vector<int> Numbers(int64_t count) {
  std::vector<int> numbers(count);
  for (int64_t i = 0; i < count; ++i) numbers[i] = static_cast<int>(i);
  return numbers;
}

// Tries the half and the half plus one: parity and the remainder of a tile can matter.
void ShrinkDimension(ReduceSearch& s, int64_t size) {
  for (int64_t from = size; from > 1 && !IsOver(s);) {
    std::set<int64_t> smaller;
    for (const int64_t to : {int64_t{1}, int64_t{2}, int64_t{3}, from / 4, from / 2, from / 2 + 1, from - 1}) {
      if (to >= 1 && to < from) smaller.insert(to);
    }
    std::vector<Edit> edits;
    std::vector<int64_t> becomes;
    for (const int64_t to : smaller) {
      for (const bool multiples : {true, false}) {
        edits.emplace_back([=](Module& m) { return Resize(m, from, to, multiples); });
        becomes.push_back(to);
      }
    }
    const auto taken = TakeEdits(s, edits);
    if (!taken) return;
    from = becomes[*taken];
  }
}

void Simplify(ReduceSearch& s, const std::string& title) {
  s.announce(title + "metadata of instructions");
  for (const Remark remark :
       {Remark::kMetadata, Remark::kSharding, Remark::kPlan, Remark::kConfig, Remark::kLayout, Remark::kPrecision})
    TakeEdits(s, {[remark](Module& m) { return ForgetRemarks(m, remark); }});
  if (s.keeps_arguments) return;
  for (const int64_t size : SizesOf(*s.base.module)) {
    if (IsOver(s)) return;
    s.announce(Str(title, "dimensions of ", size));
    ShrinkDimension(s, size);
  }
  s.announce(title + "types");
  for (const auto& [from, to] :
       {std::pair(PrimitiveType::kF64, PrimitiveType::kF32), std::pair(PrimitiveType::kBF16, PrimitiveType::kF32),
        std::pair(PrimitiveType::kF16, PrimitiveType::kF32), std::pair(PrimitiveType::kS64, PrimitiveType::kS32)}) {
    const auto was = from, becomes = to;
    TakeEdits(s, {[=](Module& m) { return Retype(m, was, becomes); }}, /*of_same_size=*/true);
  }
}

void Round(ReduceSearch& s, int round) {
  const std::string title = Str("round ", round, ", ");
  Sweep(
      s, title + "outputs", [](const Module& m) { return Numbers(m.entry().has_root() ? OutputCount(m) : 0); },
      DropOutputs, /*renumbers=*/true);
  for (const auto& [stand, what] :
       {std::pair(Stand::kParameter, "parameters for instructions"),
        std::pair(Stand::kOperand, "operands for instructions"), std::pair(Stand::kZero, "zeros for instructions")}) {
    const Stand by = stand;
    Sweep(
        s, title + what, [by](const Module& m) { return Replaceable(m, by); },
        [by](Module& m, std::span<const int> ids) { return Replace(m, ids, by); });
  }
  for (const size_t branch : {0, 1})
    Sweep(s, title + "bodies for calls", Flattenable,
          [branch](Module& m, std::span<const int> ids) { return Flatten(m, ids, branch); });
  for (const Stand by : {Stand::kShared, Stand::kOne})
    Sweep(
        s, title + "one parameter for several", [by](const Module& m) { return Replaceable(m, by); },
        [by](Module& m, std::span<const int> ids) { return Replace(m, ids, by); });
  Simplify(s, title);
}

}  // namespace

Result<std::unique_ptr<Module>> ReadTextOnly(const ReduceSearch& s) {
  LoadOptions load = s.options.run.load;
  load.verify = VerifyLevel::kOff;
  load.text_only = true;
  auto module = LoadModule(s.text, load);
  return module ? std::move(*module) : nullptr;
}

Status ReduceModule(ReduceSearch& s) {
  s.base.module = TRY(ReadTextOnly(s));
  s.base.text = s.text;
  s.base.size = SizeOf(*s.base.module, s.text->text().size());
  s.base.run = s.options.run;
  s.result.instructions_before = s.base.module->InstructionCount();
  s.result.elements_before = ElementCount(*s.base.module);
  s.result.lines_before = LineCount(s.text->text());
  s.keeps_arguments = (!s.options.run.args.empty() || !s.options.run.arg.empty()) && s.trial.depth != Depth::kRead &&
                      s.options.property.kind != PropertyKind::kScript;
  if (s.keeps_arguments && FailsWithRandomArguments(s)) {
    s.line("  made-up arguments show the failure, too");
    s.base.run = WithRandomArguments(s);
    s.result.made_up = true;
    s.keeps_arguments = false;
  }
  if (s.keeps_arguments) TRY(TakeArguments(s));
  Jump(s);
  for (int round = 1; !IsOver(s); ++round) {
    const int64_t instructions = s.base.module->InstructionCount(), elements = ElementCount(*s.base.module);
    const int tries = s.result.tries;
    const ModuleSize size = s.base.size;
    const auto start = std::chrono::steady_clock::now();
    Round(s, round);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    s.line(Str("  round ", round, "  instructions ", instructions, " -> ", s.base.module->InstructionCount(),
               "  elements ", elements, " -> ", ElementCount(*s.base.module), "  (", s.result.tries - tries,
               s.result.tries - tries == 1 ? " try, " : " tries, ", Format("%.1f s)", taken.count())));
    if (s.base.size == size) break;
  }
  return {};
}

}  // namespace hlo
