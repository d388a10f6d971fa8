#include "driver/run/pass_segments.h"

#include <utility>

#include "base/text.h"
#include "ir/text/printer.h"
#include "judge/new_roundings.h"
#include "judge/residues/residues.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

const Instruction* InstructionById(const Module& module, int id) {
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      if (inst->id() == id) return inst;
    }
  }
  return nullptr;
}

}  // namespace

Result<RepeatedPass> RepeatPass(const PassRun& run, const Module& before, const PipelineOptions& pipeline,
                                int64_t fuel) {
  RepeatedPass repeated{.module = before.Clone(/*as_input=*/true), .rewrites = {}};
  RuleBook book;
  for (const std::string& selector : pipeline.disabled_rules) {
    for (const Rule* rule : FindRules(Trim(selector))) book.entries[rule->id].disabled = true;
  }
  PassContext context{.device = pipeline.device, .options = run.options, .fuel = &fuel, .rules = &book};
  context.fault = run.fault;
  TRY(RunOnePass(*repeated.module, run, context));
  // Otherwise dead instructions would be judged, too.
  TRY(FindPass("dce")->function(*repeated.module, {.device = pipeline.device}));
  repeated.module->Sweep();
  for (const auto& [id, entry] : book.entries) {
    if (entry.rewrites > 0) repeated.rewrites[id] = entry.rewrites;
  }
  return repeated;
}

PassSegments::PassSegments(const Module& input, std::vector<Literal> args, SegmentOptions options)
    : args_(std::move(args)), options_(std::move(options)), start_(&input) {}

Status PassSegments::Before(const PassRun& run, Module& module) {
  before_ = nullptr;
  if (is_wrong() || run.skipped || IsExact(run)) return {};
  if (changed_ > 0 && before_copy_ == nullptr) before_copy_ = module.Clone();
  before_ = changed_ > 0 ? before_copy_.get() : start_;
  return {};
}

Status PassSegments::After(const PassRun& run, Module& module) {
  if (!run.skipped) latest_ = run;
  if (is_wrong() || !run.changed) return {};
  if (before_ == nullptr) {
    if (changed_++ == 0) first_ = run;
    last_ = run;
    before_copy_ = nullptr;
    return {};
  }
  TRY(CloseSegment(*before_));
  if (is_wrong()) return {};
  TRY(JudgeInstance(run, module));
  if (is_wrong()) return {};
  before_ = nullptr;
  before_copy_ = nullptr;
  snapshot_ = module.Clone();
  start_ = snapshot_.get();
  return {};
}

Status PassSegments::Finish(const Module& end) {
  if (is_wrong()) return {};
  if (changed_ == 0 && latest_ && Fingerprint(end) != Fingerprint(*start_)) {
    first_ = last_ = latest_;
    changed_ = 1;
  }
  return CloseSegment(end);
}

bool PassSegments::IsExact(const PassRun& run) { return PreservesOf(*run.pass, run.options) == Preserves::kExact; }

// Origins are ids of the input, so of `before` only if that is the input.
OriginsOf PassSegments::OriginsFrom(const Module& before) const {
  const bool is_input = snapshot_ == nullptr && &before == start_;
  return is_input ? OriginsOf::kBefore : OriginsOf::kAncestor;
}

Result<BitsResult> PassSegments::Compare(const Module& before, const Module& after) const {
  BitsOptions bits = options_.bits;
  bits.origins = OriginsFrom(before);
  return CompareByBits(before, after, args_, bits);
}

Result<SampleResult> PassSegments::Sample(const Module& before, const Module& after, Preserves promise) {
  SampleResult result = TRY(CompareBySample(before, after, args_, OriginsFrom(before), promise, *options_.sample));
  const int64_t beyond = std::max<int64_t>(0, result.steps - options_.sample->work_limit);
  options_.sample->reserve = std::max<int64_t>(0, options_.sample->reserve - beyond);
  result_.values += result.compared();
  result_.unchanged += result.unchanged;
  result_.not_compared += result.changed - result.compared();
  result_.elements += result.elements;
  result_.beyond_work |= result.beyond_work;
  return result;
}

Status PassSegments::CloseSegment(const Module& end) {
  if (changed_ == 0) return {};
  if (options_.sample) return CloseSampledSegment(end, {.first = *first_, .last = *last_, .reason = {}});
  BitsResult bits = TRY(Compare(*start_, end));
  JudgedPart part{.first = *first_, .last = *last_, .verdict = bits.verdict, .reason = bits.reason};
  if (bits.verdict == Verdict::kMatch) {
    ++result_.segments;
    result_.exact_instances += changed_;
    Count(bits);
  } else if (bits.verdict == Verdict::kMismatch) {
    SetWrong(std::move(part), *start_, end, std::move(bits.finding));
  } else {
    AddOpen(std::move(part));
  }
  changed_ = 0;
  return {};
}

Status PassSegments::CloseSampledSegment(const Module& end, JudgedPart part) {
  SampleResult sample = TRY(Sample(*start_, end, Preserves::kExact));
  part.verdict = sample.verdict;
  part.reason = std::move(sample.reason);
  if (part.verdict == Verdict::kMatch) {
    ++result_.segments;
    result_.exact_instances += changed_;
  } else if (part.verdict == Verdict::kMismatch) {
    SetWrong(std::move(part), *start_, end, std::move(sample.finding));
  } else {
    AddOpen(std::move(part));
  }
  changed_ = 0;
  return {};
}

Status PassSegments::SampleInstance(const PassRun& run, const Module& after, JudgedPart part) {
  SampleResult sample = TRY(Sample(*before_, after, PreservesOf(*run.pass, run.options)));
  part.verdict = sample.verdict;
  part.reason = std::move(sample.reason);
  if (part.verdict == Verdict::kMismatch) {
    SetWrong(std::move(part), *before_, after, std::move(sample.finding));
  } else if (part.verdict != Verdict::kMatch) {
    AddOpen(std::move(part));
  } else if (sample.in_f64 == 0) {
    ++(sample.by_residues > 0 ? result_.by_residues : result_.equal_in_bits);
  }
  return {};
}

Status PassSegments::JudgeInstance(const PassRun& run, const Module& after) {
  ++result_.other_instances;
  JudgedPart part{.first = run, .last = run, .exact = false, .reason = {}};
  if (options_.sample) return SampleInstance(run, after, std::move(part));
  const BitsResult bits = TRY(Compare(*before_, after));
  if (bits.verdict == Verdict::kMatch) {
    ++result_.equal_in_bits;
    Count(bits);
    return {};
  }
  const RepeatedPass repeated = TRY(RepeatPass(run, *before_, options_.pipeline));
  const std::unique_ptr<const Module> rounded = WithPromisedRoundings(run, *before_, *repeated.module);
  const Module& repeated_after = rounded != nullptr ? *rounded : *repeated.module;
  if (std::optional<BitsResult> decided = TRY(JudgeByResidues(run, *before_, repeated_after, args_, options_.bits))) {
    if (decided->verdict == Verdict::kMatch) {
      ++result_.by_residues;
      Count(*decided);
      return {};
    }
    part.verdict = Verdict::kMismatch;
    part.reason = std::move(decided->reason);
    SetWrong(std::move(part), *before_, repeated_after, std::move(decided->finding));
    return {};
  }
  if (!options_.judge) {
    part.verdict = Verdict::kInconclusive;
    part.reason = Str("the pass is not exact, and nothing else judges it: ", bits.reason);
    AddOpen(std::move(part));
    return {};
  }
  InstanceVerdict said = TRY(options_.judge(run, *before_, repeated_after));
  part.verdict = said.verdict;
  part.reason = std::move(said.reason);
  if (part.verdict == Verdict::kMismatch) SetWrong(std::move(part), *before_, repeated_after);
  else if (part.verdict != Verdict::kMatch) AddOpen(std::move(part));
  return {};
}

void PassSegments::Count(const BitsResult& bits) {
  result_.values += bits.values;
  result_.elements += bits.elements;
  result_.undetermined += bits.undetermined;
}

void PassSegments::AddOpen(JudgedPart part) {
  result_.verdict = Worse(result_.verdict, part.verdict);
  result_.open.push_back(std::move(part));
}

void PassSegments::SetWrong(JudgedPart part, const Module& before, const Module& after,
                            std::optional<BitsFinding> finding) {
  result_.verdict = Verdict::kMismatch;
  result_.wrong = std::move(part);
  result_.before = before.Clone();
  result_.after = after.Clone();
  result_.finding = std::move(finding);
  if (!result_.finding) return;
  result_.finding->before = InstructionById(*result_.before, result_.finding->before->id());
  result_.finding->after = InstructionById(*result_.after, result_.finding->after->id());
}

std::unique_ptr<Module> WithPromisedRoundings(const PassRun& run, const Module& before, const Module& after) {
  if (PreservesOf(*run.pass, run.options) != Preserves::kReassociates) return nullptr;
  return WithNewRoundings(before, after);
}

Result<std::optional<BitsResult>> JudgeByResidues(const PassRun& run, const Module& before, const Module& after,
                                                  std::span<const Literal> args, const BitsOptions& bits) {
  BitsResult result =
      TRY(CompareByResidues(before, after, args,
                            {.interpret = bits.interpret,
                             .functions_have_laws = PreservesOf(*run.pass, run.options) == Preserves::kReassociates,
                             .compare = bits.compare}));
  if (result.verdict == Verdict::kMatch || result.verdict == Verdict::kMismatch) return result;
  return std::nullopt;
}

Result<PassRun> FirstWrongInstance(const JudgedPart& segment, std::span<const Literal> args,
                                   const SegmentOptions& options, const PipelineRunner& run_pipeline) {
  std::unique_ptr<Module> start;
  std::optional<PassRun> wrong;
  BitsOptions bits = options.bits;
  bits.origins = OriginsOf::kAncestor;
  const auto compare = [&](const Module& module) -> Result<Verdict> {
    if (!options.sample) return TRY(CompareByBits(*start, module, args, bits)).verdict;
    return TRY(CompareBySample(*start, module, args, OriginsOf::kAncestor, Preserves::kExact, *options.sample)).verdict;
  };
  const auto before = [&](const PassRun& run, Module& module) -> Status {
    if (run.number == segment.first.number) start = module.Clone();
    return {};
  };
  const auto after = [&](const PassRun& run, Module& module) -> Status {
    if (wrong || start == nullptr || !run.changed || run.number > segment.last.number) return {};
    if (TRY(compare(module)) == Verdict::kMismatch) wrong = run;
    return {};
  };
  TRY(run_pipeline(before, after));
  if (!wrong && options.sample) return segment.last;  // The sample of a single instance may miss the wrong elements.
  if (!wrong)
    FAIL(InternalError(Str("the results differed after the passes ", segment.first.number, " to ", segment.last.number,
                           ", but a second run of the pipeline shows no pass that changes them")));
  return *wrong;
}

}  // namespace hlo
