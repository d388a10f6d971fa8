#include "driver/search/reduce.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/files.h"
#include "base/hash_bytes.h"
#include "base/parallel.h"
#include "base/text.h"
#include "driver/bundle.h"
#include "driver/inspect/extract.h"
#include "driver/load.h"
#include "driver/run/experiment.h"
#include "driver/run/step_alone.h"
#include "driver/search/edits.h"
#include "interp/arguments/argument_files.h"
#include "interp/interpreter.h"
#include "ir/text/printer.h"
#include "ir/verifier/verifier.h"
#include "parser/parser.h"

namespace hlo {
namespace {

using Announce = std::function<void(const std::string&)>;
using Edit = std::function<bool(Module&)>;

int64_t LineCount(std::string_view text) { return std::ranges::count(text, '\n'); }

class ArgumentFolder {
 public:
  ~ArgumentFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Result<std::string> FileFor(size_t number) {
    if (path_.empty()) path_ = TRY(MakeTemporaryDirectory("hlo-reduce"));
    return Str(path_, "/", number, ".npz");
  }

 private:
  std::string path_;
};

struct Candidate {
  std::shared_ptr<const SourceText> text;
  std::unique_ptr<Module> module;
  ModuleSize size;
  RunOptions run;
  std::vector<Literal> arguments;
};

class Reducer {
 public:
  Reducer(std::shared_ptr<const SourceText> text, const ReduceOptions& options, const Announce& announce,
          const Announce& line)
      : options_(options), announce_(announce), line_(line), text_(std::move(text)) {
    trial_.property = options.property;
    trial_.threads = std::max(1, threads_ / std::max(1, options.jobs));
    SetThreads(1);  // A child process has no pool of threads.
  }
  ~Reducer() { SetThreads(threads_); }
  Reducer(const Reducer&) = delete;

  Result<ReducedModule> Run() {
    TRY(LookAtWhatFails());
    if (result_.symptom.stage == "reading" && TRY(ReadTextOnly()) == nullptr) TRY(ReduceText());
    else TRY(ReduceModule());
    return Finish();
  }

 private:
  Status LookAtWhatFails() {
    constexpr double kFirst = 120, kTimes = 10, kMore = 10;
    trial_.seconds = options_.trial_seconds > 0 ? options_.trial_seconds : kFirst;
    announce_("running the failing module");
    result_.text = text_->text();
    for (int i = 0; i < options_.confirm; ++i) {
      Trial trial(text_, options_.run, Trying(trial_, i == 0));
      const Symptom& symptom = trial.symptom();
      if (i == 0) {
        result_.symptom = symptom;
        JudgeFigure(&result_.symptom);
        if (!result_.symptom.Shows(options_.property)) break;
        trial_.depth = DepthOf(symptom, options_.property);
        trial_.asks_for_roundings = symptom.way.starts_with("INCONCLUSIVE");
        if (options_.trial_seconds <= 0) trial_.seconds = kMore + kTimes * symptom.seconds;
      }
      bool same = IsTheSame(symptom);
      if (i == 1 && !same && trial_.depth != Depth::kRun && !options_.property.IsFigure()) {
        trial_.depth = Depth::kRun;  // Only a whole run shows the symptom.
        same = IsTheSame(Trial(text_, options_.run, trial_).symptom());
      }
      result_.confirmed += same;
    }
    if (result_.confirmed == options_.confirm) return {};
    const std::string found = result_.symptom.Text();
    const std::string what =
        result_.confirmed == 0
            ? Str("--property=", options_.property.text, " does not hold for the module: ", found)
            : Str("the failure occurs only in ", result_.confirmed, " of ", options_.confirm, " runs: ", found);
    FAIL(Error(ExitCode::kInconclusive, "N003", what));
  }

  static TrialOptions Trying(TrialOptions trial, bool whole) {
    const bool figures = trial.property.IsFigure();
    if (whole) trial.depth = figures ? Depth::kPasses : Depth::kRun;
    return trial;
  }

  void JudgeFigure(Symptom* symptom) const {
    const Property& property = options_.property;
    if (!property.IsFigure() || !symptom->way.empty() || symptom->figure <= property.limit.value_or(0)) return;
    symptom->way = Str("more than ", property.limit.value_or(0), " ", property.text.substr(0, property.text.find(':')));
    symptom->detail = symptom->way;
  }

  bool IsTheSame(Symptom symptom) const {
    JudgeFigure(&symptom);
    return symptom.Shows(options_.property) && symptom.way == result_.symptom.way;
  }

  // Null if the text cannot be read.
  Result<std::unique_ptr<Module>> ReadTextOnly() const {
    LoadOptions load = options_.run.load;
    load.verify = VerifyLevel::kOff;
    load.text_only = true;
    auto module = LoadModule(text_, load);
    return module ? std::move(*module) : nullptr;
  }

  bool IsOver() {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start_;
    result_.timed_out = result_.timed_out || taken.count() > options_.seconds;
    return result_.timed_out;
  }

  // ---- A module ----

  Status ReduceModule() {
    base_.module = TRY(ReadTextOnly());
    base_.text = text_;
    base_.size = SizeOf(*base_.module, text_->text().size());
    base_.run = options_.run;
    result_.instructions_before = base_.module->InstructionCount();
    result_.elements_before = ElementCount(*base_.module);
    result_.lines_before = LineCount(text_->text());
    keeps_arguments_ = (!options_.run.args.empty() || !options_.run.arg.empty()) && trial_.depth != Depth::kRead &&
                       options_.property.kind != PropertyKind::kScript;
    if (keeps_arguments_ && FailsWithRandomArguments()) {
      line_("  made-up arguments show the failure, too");
      base_.run = WithRandomArguments();
      result_.made_up = true;
      keeps_arguments_ = false;
    }
    if (keeps_arguments_) TRY(TakeArguments());
    Jump();
    for (int round = 1; !IsOver(); ++round) {
      const int64_t instructions = base_.module->InstructionCount(), elements = ElementCount(*base_.module);
      const int tries = result_.tries;
      const ModuleSize size = base_.size;
      const auto start = std::chrono::steady_clock::now();
      Round(round);
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      line_(Str("  round ", round, "  instructions ", instructions, " -> ", base_.module->InstructionCount(),
                "  elements ", elements, " -> ", ElementCount(*base_.module), "  (", result_.tries - tries,
                result_.tries - tries == 1 ? " try, " : " tries, ", Format("%.1f s)", taken.count())));
      if (base_.size == size) break;
    }
    return {};
  }

  RunOptions WithRandomArguments() const {
    RunOptions run = options_.run;
    run.args.clear();
    run.arg.clear();
    return run;
  }

  // Random arguments are preferred, because given ones fix the shapes.
  bool FailsWithRandomArguments() {
    announce_("with made-up arguments");
    Trial trial(text_, WithRandomArguments(), trial_);
    return IsTheSame(trial.symptom());
  }

  Status TakeArguments() {
    Progress progress(/*quiet=*/true);
    Experiment experiment(text_, options_.run, progress);
    base_.arguments = TRY(experiment.Arguments())->values;
    return {};
  }

  // Tries the culprit with ever more of the instructions that lead to it.
  void Jump() {
    const Symptom& symptom = result_.symptom;
    std::vector<std::function<std::unique_ptr<Module>()>> pieces;
    std::unique_ptr<Module> optimized;
    if (symptom.accused == Culprit::Kind::kKernel || symptom.accused == Culprit::Kind::kLibrary) {
      optimized = Optimized();
      for (const int64_t height : {0, 1})
        pieces.emplace_back([&, height] { return Piece(optimized.get(), symptom.name, height); });
    }
    for (const int64_t height : {0, 1, 2, 3, 5, 8, 13, 21, -1})
      pieces.emplace_back([&, height] { return Piece(base_.module.get(), symptom.input, height); });
    announce_("the culprit alone");
    const auto taken = Take(pieces.size(), [&](size_t i) -> std::optional<Candidate> {
      std::unique_ptr<Module> piece = pieces[i]();
      return piece == nullptr ? std::nullopt : CandidateOf(std::move(piece));
    });
    if (!taken) return;
    line_(Str("  the culprit alone  instructions ", result_.instructions_before, " -> ",
              base_.module->InstructionCount(), "  elements ", result_.elements_before, " -> ",
              ElementCount(*base_.module)));
  }

  std::unique_ptr<Module> Optimized() const {
    Progress progress(/*quiet=*/true);
    Experiment experiment(text_, options_.run, progress);
    const auto tuned = experiment.Tuned();
    return tuned ? (*tuned)->Clone() : nullptr;
  }

  static std::unique_ptr<Module> Piece(const Module* module, const std::string& name, int64_t height) {
    if (module == nullptr || name.empty()) return nullptr;
    for (const Computation* computation : module->PostOrder()) {
      for (const Instruction* inst : computation->instructions()) {
        if (inst->name() == name && !inst->Is(Opcode::kParameter)) return Extract(*inst, height, /*users=*/false);
      }
    }
    return nullptr;
  }

  void Round(int round) {
    const std::string title = Str("round ", round, ", ");
    Sweep(
        title + "outputs", [](const Module& m) { return Numbers(m.entry().has_root() ? OutputCount(m) : 0); },
        DropOutputs, /*renumbers=*/true);
    for (const auto& [stand, what] :
         {std::pair(Stand::kParameter, "parameters for instructions"),
          std::pair(Stand::kOperand, "operands for instructions"), std::pair(Stand::kZero, "zeros for instructions")}) {
      const Stand by = stand;
      Sweep(
          title + what, [by](const Module& m) { return Replaceable(m, by); },
          [by](Module& m, std::span<const int> ids) { return Replace(m, ids, by); });
    }
    for (const size_t branch : {0, 1})
      Sweep(title + "bodies for calls", Flattenable,
            [branch](Module& m, std::span<const int> ids) { return Flatten(m, ids, branch); });
    for (const Stand by : {Stand::kShared, Stand::kOne})
      Sweep(
          title + "one parameter for several", [by](const Module& m) { return Replaceable(m, by); },
          [by](Module& m, std::span<const int> ids) { return Replace(m, ids, by); });
    Simplify(title);
  }

  void Simplify(const std::string& title) {
    announce_(title + "metadata of instructions");
    for (const Remark remark :
         {Remark::kMetadata, Remark::kSharding, Remark::kPlan, Remark::kConfig, Remark::kLayout, Remark::kPrecision})
      TakeEdits({[remark](Module& m) { return ForgetRemarks(m, remark); }});
    if (keeps_arguments_) return;
    for (const int64_t size : SizesOf(*base_.module)) {
      if (IsOver()) return;
      announce_(Str(title, "dimensions of ", size));
      ShrinkDimension(size);
    }
    announce_(title + "types");
    for (const auto& [from, to] :
         {std::pair(PrimitiveType::kF64, PrimitiveType::kF32), std::pair(PrimitiveType::kBF16, PrimitiveType::kF32),
          std::pair(PrimitiveType::kF16, PrimitiveType::kF32), std::pair(PrimitiveType::kS64, PrimitiveType::kS32)}) {
      const auto was = from, becomes = to;
      TakeEdits({[=](Module& m) { return Retype(m, was, becomes); }}, /*of_same_size=*/true);
    }
  }

  // Tries the half and the half plus one: parity and the remainder of a tile can matter.
  void ShrinkDimension(int64_t size) {
    for (int64_t from = size; from > 1 && !IsOver();) {
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
      const auto taken = TakeEdits(edits);
      if (!taken) return;
      from = becomes[*taken];
    }
  }

  static std::vector<int> Numbers(int64_t count) {
    std::vector<int> numbers(count);
    for (int64_t i = 0; i < count; ++i) numbers[i] = static_cast<int>(i);
    return numbers;
  }

  // Edits the whole list, then ever smaller chunks. `renumbers`: an edit changes the numbers of the other elements.
  void Sweep(const std::string& what, const std::function<std::vector<int>(const Module&)>& list,
             const std::function<bool(Module&, std::span<const int>)>& edit, bool renumbers = false) {
    for (size_t chunk = std::max<size_t>(1, list(*base_.module).size()); !IsOver(); chunk /= 2) {
      std::set<int> seen;
      size_t passed = 0;
      while (!IsOver()) {
        std::vector<int> left = list(*base_.module);
        if (renumbers) left.erase(left.begin(), left.begin() + static_cast<ptrdiff_t>(std::min(passed, left.size())));
        else std::erase_if(left, [&](int id) { return seen.contains(id); });
        if (left.empty()) break;
        announce_(Str(what, ", ", left.size(), " in chunks of ", chunk));
        const size_t chunks = (left.size() + chunk - 1) / chunk;
        const auto of = [&](size_t i) {
          return std::span<const int>(left).subspan(i * chunk, std::min(chunk, left.size() - i * chunk));
        };
        const auto taken =
            Take(chunks, [&](size_t i) { return Edited([&](Module& m) { return edit(m, of(i)); }, false); });
        if (!taken) break;
        passed += *taken * chunk;
        for (size_t i = 0; i <= *taken; ++i) seen.insert(of(i).begin(), of(i).end());
      }
      if (chunk == 1) break;
    }
  }

  std::optional<size_t> TakeEdits(const std::vector<Edit>& edits, bool of_same_size = false) {
    return Take(edits.size(), [&](size_t i) { return Edited(edits[i], of_same_size); });
  }

  // Empty if the module is unchanged, not smaller, not valid or was tried before.
  std::optional<Candidate> Edited(const Edit& edit, bool of_same_size) {
    std::unique_ptr<Module> module = base_.module->Clone();
    if (!edit(*module)) return std::nullopt;
    Tidy(*module);
    return CandidateOf(std::move(module), of_same_size);
  }

  std::optional<Candidate> CandidateOf(std::unique_ptr<Module> module, bool of_same_size = false) {
    Candidate candidate{.run = base_.run};
    const std::string text = Print(*module, ShortForm());
    candidate.size = SizeOf(*module, text.size());
    if (of_same_size) std::get<2>(candidate.size) = 0;
    const bool is_smaller = candidate.size < base_.size;
    if (!is_smaller || !tried_.insert(HashBytes(text)).second) return std::nullopt;
    if (trial_.depth != Depth::kRead && !Verify(*module)) return std::nullopt;
    candidate.text = std::make_shared<const SourceText>(NameOfCandidates(), text);
    candidate.module = std::move(module);
    candidate.size = SizeOf(*candidate.module, text.size());
    if (keeps_arguments_ && !GiveArguments(&candidate)) return std::nullopt;
    return candidate;
  }

  std::string NameOfCandidates() const {
    return options_.output.empty() || options_.output == "-" ? text_->name() : options_.output;
  }

  // A parameter gets the value of the original parameter or instruction with its name.
  bool GiveArguments(Candidate* candidate) {
    if (values_.empty() && !FindValues()) return false;
    for (const Instruction* parameter : candidate->module->entry().parameters()) {
      const auto value = values_.find(std::string(parameter->name()));
      if (value == values_.end() || !Compatible(value->second.shape(), parameter->shape())) return false;
      candidate->arguments.push_back(value->second);
    }
    const auto file = folder_.FileFor(argument_files_++);
    if (!file || !WriteNpz(*file, "arg", candidate->arguments)) return false;
    candidate->run.args = *file;
    candidate->run.arg.clear();
    return true;
  }

  bool FindValues() {
    InterpretOptions interpret = InterpreterOptions(options_.run);
    const Computation& entry = base_.module->entry();
    for (size_t i = 0; i < entry.parameters().size(); ++i)
      values_[std::string(entry.parameter(static_cast<int64_t>(i)).name())] = base_.arguments[i];
    interpret.on_value = [&](const Instruction& inst, const Literal& value) {
      if (&inst.computation() == &entry) values_[std::string(inst.name())] = value;
    };
    // Without a value, no parameter can replace the instruction.
    std::ignore = Interpret(*base_.module, base_.arguments, interpret);
    return true;
  }

  // ---- Trying ----

  // The first candidate that fails in the same way becomes the base.
  std::optional<size_t> Take(size_t count, const std::function<std::optional<Candidate>(size_t)>& make) {
    struct Running {
      size_t number;
      Candidate candidate;
      std::unique_ptr<Trial> trial;
    };
    std::vector<Running> running;
    std::optional<Running> best;
    size_t next = 0;
    while (true) {
      while (!best && next < count && std::ssize(running) < options_.jobs && !IsOver()) {
        auto candidate = make(next);
        if (candidate) {
          ++result_.tries;
          auto trial = std::make_unique<Trial>(candidate->text, candidate->run, trial_);
          running.push_back({next, std::move(*candidate), std::move(trial)});
        }
        ++next;
      }
      if (running.empty()) break;
      std::vector<ChildProcess*> children;
      for (Running& one : running) {
        if (!one.trial->Finished()) children.push_back(&one.trial->process());
      }
      if (children.size() == running.size()) ChildProcess::WaitForAny(children);
      for (Running& one : running) {
        if (!one.trial->Finished() || !IsTheSame(one.trial->symptom())) continue;
        if (!best || one.number < best->number) best = std::move(one);
      }
      std::erase_if(running, [&](const Running& one) {
        return one.trial == nullptr || one.trial->Finished() || (best && one.number > best->number);
      });
    }
    if (!best) return std::nullopt;
    Accept(std::move(best->candidate));
    return best->number;
  }

  void Accept(Candidate candidate) {
    base_ = std::move(candidate);
    values_.clear();
    result_.text = base_.text->text();
    Keep();
  }

  // Writes the smallest module, because a later step may fail.
  void Keep() {
    if (options_.output.empty() || options_.output == "-") return;
    if (const Status written = WriteFile(options_.output, result_.text); !written && wrote_) wrote_ = written;
    if (options_.on_smaller && base_.module != nullptr) options_.on_smaller(base_.module->InstructionCount());
    if (!keeps_arguments_) return;
    result_.args = options_.output + ".args.npz";
    if (const Status written = WriteNpz(result_.args, "arg", base_.arguments); !written && wrote_) wrote_ = written;
  }

  // ---- A text ----

  Status ReduceText() {
    result_.is_text = true;
    std::vector<std::string> lines;
    for (const std::string_view line : Split(text_->text(), '\n')) lines.emplace_back(line);
    if (!lines.empty() && lines.back().empty()) lines.pop_back();
    result_.lines_before = std::ssize(lines);
    base_.run = options_.run;
    for (size_t before = SIZE_MAX; lines.size() < before && !IsOver();) {
      before = lines.size();
      for (size_t chunk = std::max<size_t>(1, lines.size() / 2);; chunk /= 2) {
        DropLines(chunk, &lines);
        if (chunk <= 1) break;
      }
    }
    return {};
  }

  void DropLines(size_t chunk, std::vector<std::string>* lines) {
    for (size_t at = 0; at < lines->size() && !IsOver();) {
      announce_(Str(lines->size(), " lines in chunks of ", chunk));
      const size_t chunks = (lines->size() - at + chunk - 1) / chunk;
      const auto without = [&](size_t i) {
        std::vector<std::string> left = *lines;
        const auto begin = left.begin() + static_cast<ptrdiff_t>(at + i * chunk);
        left.erase(begin, begin + std::min<ptrdiff_t>(chunk, left.end() - begin));
        return left;
      };
      const auto taken = Take(chunks, [&](size_t i) -> std::optional<Candidate> {
        const std::string text = Join(without(i), "\n") + "\n";
        if (!tried_.insert(HashBytes(text)).second) return std::nullopt;
        return Candidate{.text = std::make_shared<const SourceText>(text_->name(), text), .run = base_.run};
      });
      if (!taken) return;
      *lines = without(*taken);
      at += *taken * chunk;
    }
  }

  // ---- The result ----

  Result<ReducedModule> Finish() {
    TRY(std::move(wrote_));
    Keep();
    TRY(std::move(wrote_));
    const auto text = std::make_shared<const SourceText>(NameOfCandidates(), result_.text);
    for (int i = 0; i < options_.confirm; ++i) {
      announce_("once more");
      // The whole run, with the parts that were left out for speed.
      Trial trial(text, base_.run, Trying(trial_, true));
      result_.reproduced += IsTheSame(trial.symptom());
    }
    result_.lines = LineCount(result_.text);
    if (base_.module != nullptr) {
      result_.instructions = base_.module->InstructionCount();
      result_.elements = ElementCount(*base_.module);
    }
    return std::move(result_);
  }

  const int threads_ = Threads();
  const ReduceOptions& options_;
  const Announce& announce_;
  const Announce& line_;
  const std::shared_ptr<const SourceText> text_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  TrialOptions trial_;
  ReducedModule result_;
  Candidate base_;
  bool keeps_arguments_ = false;
  std::map<std::string, Literal> values_;
  ArgumentFolder folder_;
  size_t argument_files_ = 0;
  std::unordered_set<uint64_t> tried_;
  Status wrote_;
};

}  // namespace

Result<ReducedModule> Reduce(const std::shared_ptr<const SourceText>& text, const ReduceOptions& options,
                             const Announce& announce, const Announce& line) {
  return Reducer(text, options, announce, line).Run();
}

Result<ReducedModule> Reduce(const std::string& path, const ReduceOptions& options, const Announce& announce,
                             const Announce& line) {
  return Reduce(TRY(ReadSource(ModuleFile(path), options.run.load.max_input)), options, announce, line);
}

}  // namespace hlo
