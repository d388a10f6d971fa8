#include "driver/search/reduce_search.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/hash_bytes.h"
#include "interp/arguments/argument_files.h"
#include "interp/interpreter.h"
#include "ir/text/printer.h"
#include "ir/verifier/verifier.h"

namespace hlo {

ReduceSearch::ReduceSearch(std::shared_ptr<const SourceText> failing, const ReduceOptions& given,
                           const Announce& announces, const Announce& prints)
    : options(given), announce(announces), line(prints), text(std::move(failing)) {
  trial.property = options.property;
  trial.threads = std::max(1, threads / std::max(1, options.jobs));
  SetThreads(1);  // A child process has no pool of threads.
}

bool IsOver(ReduceSearch& s) {
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - s.start;
  s.result.timed_out = s.result.timed_out || taken.count() > s.options.seconds;
  return s.result.timed_out;
}

void JudgeFigure(const ReduceSearch& s, Symptom* symptom) {
  const Property& property = s.options.property;
  if (!property.IsFigure() || !symptom->way.empty() || symptom->figure <= property.limit.value_or(0)) return;
  symptom->way = Str("more than ", property.limit.value_or(0), " ", property.text.substr(0, property.text.find(':')));
  symptom->detail = symptom->way;
}

bool IsTheSame(const ReduceSearch& s, Symptom symptom) {
  JudgeFigure(s, &symptom);
  return symptom.Shows(s.options.property) && symptom.way == s.result.symptom.way;
}

std::string NameOfCandidates(const ReduceSearch& s) {
  return s.options.output.empty() || s.options.output == "-" ? s.text->name() : s.options.output;
}

namespace {

bool FindValues(ReduceSearch& s) {
  InterpretOptions interpret = InterpreterOptions(s.options.run);
  const Computation& entry = s.base.module->entry();
  for (size_t i = 0; i < entry.parameters().size(); ++i)
    s.values[std::string(entry.parameter(static_cast<int64_t>(i)).name())] = s.base.arguments[i];
  interpret.on_value = [&](const Instruction& inst, const Literal& value) {
    if (&inst.computation() == &entry) s.values[std::string(inst.name())] = value;
  };
  // Without a value, no parameter can replace the instruction.
  std::ignore = Interpret(*s.base.module, s.base.arguments, interpret);
  return true;
}

// A parameter gets the value of the original parameter or instruction with its name.
bool GiveArguments(ReduceSearch& s, Candidate* candidate) {
  if (s.values.empty() && !FindValues(s)) return false;
  for (const Instruction* parameter : candidate->module->entry().parameters()) {
    const auto value = s.values.find(std::string(parameter->name()));
    if (value == s.values.end() || !Compatible(value->second.shape(), parameter->shape())) return false;
    candidate->arguments.push_back(value->second);
  }
  const auto file = s.folder.FileFor(s.argument_files++);
  if (!file || !WriteNpz(*file, "arg", candidate->arguments)) return false;
  candidate->run.args = *file;
  candidate->run.arg.clear();
  return true;
}

}  // namespace

std::optional<Candidate> CandidateOf(ReduceSearch& s, std::unique_ptr<Module> module, bool of_same_size) {
  Candidate candidate{.run = s.base.run};
  const std::string text = Print(*module, ShortForm());
  candidate.size = SizeOf(*module, text.size());
  if (of_same_size) std::get<2>(candidate.size) = 0;
  const bool is_smaller = candidate.size < s.base.size;
  if (!is_smaller || !s.tried.insert(HashBytes(text)).second) return std::nullopt;
  if (s.trial.depth != Depth::kRead && !Verify(*module)) return std::nullopt;
  candidate.text = std::make_shared<const SourceText>(NameOfCandidates(s), text);
  candidate.module = std::move(module);
  candidate.size = SizeOf(*candidate.module, text.size());
  if (s.keeps_arguments && !GiveArguments(s, &candidate)) return std::nullopt;
  return candidate;
}

namespace {

void Accept(ReduceSearch& s, Candidate candidate) {
  s.base = std::move(candidate);
  s.values.clear();
  s.result.text = s.base.text->text();
  Keep(s);
}

}  // namespace

std::optional<size_t> Take(ReduceSearch& s, size_t count, const std::function<std::optional<Candidate>(size_t)>& make) {
  struct Running {
    size_t number;
    Candidate candidate;
    std::unique_ptr<Trial> trial;
  };
  std::vector<Running> running;
  std::optional<Running> best;
  size_t next = 0;
  while (true) {
    while (!best && next < count && std::ssize(running) < s.options.jobs && !IsOver(s)) {
      auto candidate = make(next);
      if (candidate) {
        ++s.result.tries;
        auto trial = std::make_unique<Trial>(candidate->text, candidate->run, s.trial);
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
      if (!one.trial->Finished() || !IsTheSame(s, one.trial->symptom())) continue;
      if (!best || one.number < best->number) best = std::move(one);
    }
    std::erase_if(running, [&](const Running& one) {
      return one.trial == nullptr || one.trial->Finished() || (best && one.number > best->number);
    });
  }
  if (!best) return std::nullopt;
  Accept(s, std::move(best->candidate));
  return best->number;
}

void Keep(ReduceSearch& s) {
  if (s.options.output.empty() || s.options.output == "-") return;
  if (const Status written = WriteFile(s.options.output, s.result.text); !written && s.wrote) s.wrote = written;
  if (s.options.on_smaller && s.base.module != nullptr) s.options.on_smaller(s.base.module->InstructionCount());
  if (!s.keeps_arguments) return;
  s.result.args = s.options.output + ".args.npz";
  if (const Status written = WriteNpz(s.result.args, "arg", s.base.arguments); !written && s.wrote) s.wrote = written;
}

}  // namespace hlo
