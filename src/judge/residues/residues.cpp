#include "judge/residues/residues.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/counted.h"
#include "base/text.h"
#include "judge/residues/rules.h"

namespace hlo {
namespace {

using residue::Value;

// ---- Differences ---------------------------------------------------------------------------------------------------

struct Difference {
  std::vector<int64_t> elements;
  std::vector<int64_t> undetermined;
};

Difference DifferenceOf(const Value& x, const Value& y) {
  Difference difference;
  for (int64_t i = 0; i < x.shape.NumElements(); ++i) {
    bool same = true, open = false;
    const auto take = [&](const Value& a, const Value& b) {
      if (a.IsFloat()) {
        const residue::Number &of_a = a.numbers()[i], &of_b = b.numbers()[i];
        same &= of_a.residue() == of_b.residue() &&
                residue::MayBeEqual({of_a.value, of_a.error()}, {of_b.value, of_b.error()});
        open |= of_a.open() || of_b.open();
        return;
      }
      const int64_t width = ByteWidth(a.shape.type());
      same &= std::memcmp(a.data.raw() + i * width, b.data.raw() + i * width, static_cast<size_t>(width)) == 0;
      open |= a.IsOpen(i) || b.IsOpen(i);
    };
    if (x.parts.empty()) take(x, y);
    for (size_t part = 0; part < x.parts.size(); ++part) take(x.parts[part], y.parts[part]);
    if (!same) (open ? difference.undetermined : difference.elements).push_back(i);
  }
  return difference;
}

template <class F>
void ForEachArray(const Value& before, const Value& after, F&& f, ShapeIndex index = {}) {
  if (before.shape.IsArray()) return f(index, before, after);
  for (size_t i = 0; i < before.parts.size(); ++i) {
    index.push_back(static_cast<int64_t>(i));
    ForEachArray(before.parts[i], after.parts[i], f, index);
    index.pop_back();
  }
}

// Compares in f64 for the report. Elements with equal residues are shown as equal.
Comparison Shown(const Value& before, const Value& after, const CompareOptions& options) {
  const auto literal = [](const Value& value) { return value.IsFloat() ? ValuesOf(value) : ToLiteral(value); };
  const Literal expected = literal(before);
  Literal actual = expected;
  const Literal other = literal(after);
  const int64_t width = ByteWidth(expected.shape().type());
  for (const int64_t i : DifferenceOf(before, after).elements)
    std::memcpy(actual.mutable_raw() + i * width, other.raw() + i * width, static_cast<size_t>(width));
  return CompareBitwise(expected, actual, options);
}

// ---- The comparison ------------------------------------------------------------------------------------------------

struct NumberRun {
  std::optional<Value> result;
  std::optional<Error> error;
  ObservedRun observed;
};

class Comparer {
 public:
  Comparer(const Module& before, const Module& after, std::span<const Literal> args, const ResiduesOptions& options,
           residue::Shared& shared)
      : before_(before), after_(after), options_(options), shared_(shared), kept_(before, after, options.origins) {
    for (const Literal& arg : args) args_.push_back(residue::ToValue(arg));
  }

  Result<BitsResult> Compare() {
    run_before_ = Observe(before_, kept_.in_before);
    if (run_before_.error) return Failed(*run_before_.error, "before");
    run_after_ = Observe(after_, kept_.in_after);
    if (run_after_.error) return Failed(*run_after_.error, "after");
    CompareKept();
    CompareResults();
    return std::move(result_);
  }

 private:
  using Watch = std::function<void(const Instruction&, const Value&, const LoopPath&)>;

  // `wanted` is indexed by id.
  NumberRun Observe(const Module& module, const std::vector<bool>& wanted, const Watch& watch = nullptr) {
    NumberRun run;
    run.observed = ObservedRun(wanted.size());
    residue::Context context{.options = options_.interpret,
                             .shared = shared_,
                             .of_after = &module == &after_,
                             .work = options_.work_limit,
                             .on_value = {},
                             .on_iteration = {}};
    context.on_value = [&](const Instruction& inst, const Value& value) {
      run.observed.Executed(inst);
      if (!wanted[inst.id()]) return;
      run.observed.AddValue(inst, HashOf(value), AnyOpen(value));
      if (watch) watch(inst, value, run.observed.path());
    };
    context.on_iteration = [&](const Instruction& loop, int64_t iteration) {
      run.observed.BeginIteration(loop, iteration);
    };
    std::vector<const Value*> args;
    for (const Value& arg : args_) args.push_back(&arg);
    auto result = residue::Run(context, module.entry(), args);
    if (result) run.result = std::move(*result);
    else run.error = std::move(result).error();
    return run;
  }

  void Decide(Verdict verdict, std::string reason) {
    result_.verdict = verdict;
    result_.reason = std::move(reason);
  }

  Result<BitsResult> Failed(Error& error, std::string_view which) {
    if (error.exit == ExitCode::kInterrupted || error.exit == ExitCode::kInternal) FAIL(std::move(error));
    const bool is_open = error.exit == ExitCode::kInconclusive || error.exit == ExitCode::kLimit;
    Decide(is_open ? Verdict::kInconclusive : Verdict::kUnsupported,
           Str("residues of the module ", which, " the passes: ", error.message()));
    return std::move(result_);
  }

  void CompareKept() {
    ComparedValues compared = CompareValues(kept_, before_, run_before_.observed, run_after_.observed);
    result_.values += compared.values;
    result_.elements += compared.elements;
    different_ = std::move(compared.different);
  }

  void CompareResults() {
    std::optional<ShapeIndex> wrong;
    std::string inconclusive;
    ForEachArray(*run_before_.result, *run_after_.result,
                 [&](const ShapeIndex& index, const Value& before, const Value& after) {
                   const Difference difference = DifferenceOf(before, after);
                   const int64_t count = before.shape.NumElements(), open = std::ssize(difference.undetermined);
                   ++result_.values;
                   result_.elements += count;
                   result_.undetermined += open;
                   if (!difference.elements.empty() && !wrong) wrong = index;
                   if (static_cast<double>(open) > kMostUndetermined * static_cast<double>(count))
                     inconclusive = Str(open, " of ", count, " elements of ", NameOfOutput(index),
                                        " depend on decisions that roundings may change");
                 });
    if (different_.empty() && !wrong) {
      if (!inconclusive.empty()) Decide(Verdict::kInconclusive, std::move(inconclusive));
      return;
    }
    if (const Value* alone = OpaqueOfOneSide())
      return Decide(Verdict::kUnsupported,
                    Str("only one of the modules computes ", alone->shape, " by an instruction that has no residues"));
    if (!different_.empty()) ShowValue();
    else ShowOutput(*wrong);
  }

  static std::string NameOfOutput(const ShapeIndex& index) {
    return index.empty() ? "the result" : Str("output {", Join(index, ","), "}");
  }

  // The result of an instruction without a rule that only one module has, or null.
  const Value* OpaqueOfOneSide() const {
    for (const auto& [hash, opaque] : shared_.opaque) {
      if (!opaque.sides.IsBoth()) return &opaque.result;
    }
    return nullptr;
  }

  // ---- The finding ----

  void ShowValue() {
    const auto observe = [&](const Module& module, const std::vector<bool>& wanted, const Watch& watch) {
      Observe(module, wanted, watch);
    };
    const auto first =
        FindFirstDifference<Value>(before_, after_, different_, run_before_.observed, observe, residue::HashOf);
    const int64_t wrong = std::ssize(DifferenceOf(*first.expected, *first.actual).elements);
    Decide(Verdict::kMismatch,
           Str("'", first.pair->after->name(), "' differs from '", first.before->name(), "' before the passes in ",
               wrong, " of ", Counted(first.actual->shape.NumElements(), "real number"),
               first.loop.empty() ? "" : Str(" (", first.loop, ")")));
    result_.finding = BitsFinding{.after = first.pair->after,
                                  .before = first.before,
                                  .loop = first.loop,
                                  .comparison = Shown(*first.expected, *first.actual, options_.compare)};
  }

  void ShowOutput(const ShapeIndex& wrong) {
    const auto instruction_of = [&](const Module& module) {
      const Instruction& root = module.entry().root();
      return !wrong.empty() && root.Is(Opcode::kTuple) ? &root.operand(wrong[0]) : &root;
    };
    BitsFinding finding{
        .after = instruction_of(after_), .before = instruction_of(before_), .loop = {}, .comparison = {}};
    ForEachArray(*run_before_.result, *run_after_.result,
                 [&](const ShapeIndex& index, const Value& before, const Value& after) {
                   if (index != wrong) return;
                   finding.comparison = Shown(before, after, options_.compare);
                   Decide(Verdict::kMismatch, Str(NameOfOutput(index), " has other real numbers in ",
                                                  std::ssize(DifferenceOf(before, after).elements), " of ",
                                                  before.shape.NumElements(), " elements"));
                 });
    for (TensorComparison& tensor : finding.comparison.outputs) tensor.output = wrong;
    result_.finding = std::move(finding);
  }

  const Module& before_;
  const Module& after_;
  const ResiduesOptions& options_;
  residue::Shared& shared_;
  const KeptValues kept_;
  std::vector<Value> args_;
  NumberRun run_before_, run_after_;
  std::vector<const KeptPair*> different_;
  BitsResult result_;
};

}  // namespace

Result<BitsResult> CompareByResidues(const Module& before, const Module& after, std::span<const Literal> args,
                                     const ResiduesOptions& options) {
  const auto unsupported = [](std::string reason) {
    return BitsResult{.verdict = Verdict::kUnsupported, .reason = std::move(reason), .finding = {}};
  };
  if (HasSeveralDevices(before) || HasSeveralDevices(after)) return unsupported("residues are computed on one device");
  if (!HaveSameSignature(before, after)) return unsupported("the parameters or the results changed");
  // A number has 16 bytes, whereas an element may have 1, and rules keep copies.
  constexpr int64_t kTimes = 8;
  const int64_t most_bytes = options.interpret.memory_limit > 0 ? options.interpret.memory_limit : DefaultMemoryLimit();
  if (kTimes * std::max(PeakBytes(before.entry()), PeakBytes(after.entry())) > most_bytes)
    return unsupported("residues would take more than the memory limit");
  residue::Shared shared;
  if (!options.functions_have_laws) shared.functions = std::make_unique<residue::Functions>();
  BitsResult result = TRY(Comparer(before, after, args, options, shared).Compare());
  if (options.functions_have_laws || result.verdict != Verdict::kMismatch) return result;
  shared.functions->are_known = true;
  return Comparer(before, after, args, options, shared).Compare();
}

}  // namespace hlo
