#include "judge/bits.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/hash_bytes.h"
#include "base/text.h"
#include "interp/nan_bits.h"
#include "ir/module.h"

namespace hlo {
namespace {

// ---- Hashes of values ----------------------------------------------------------------------------------------------

uint64_t HashOf(const Literal& array) {
  constexpr int64_t kBlock = 4096;  // Bytes.
  const Shape& shape = array.shape();
  uint64_t hash = static_cast<uint64_t>(shape.type());
  for (const int64_t size : shape.dims()) hash = Mixed(hash, static_cast<uint64_t>(size));
  const char* const bytes = reinterpret_cast<const char*>(array.raw());
  if (!IsFloat(shape.type()) && !IsComplex(shape.type()))
    return Mixed(hash, HashBytes({bytes, static_cast<size_t>(array.byte_size())}));
  const int64_t width = ByteWidth(shape.type());
  std::array<std::byte, kBlock> block;
  for (int64_t begin = 0; begin < array.byte_size(); begin += kBlock) {
    const int64_t size = std::min(kBlock, array.byte_size() - begin);
    std::memcpy(block.data(), bytes + begin, static_cast<size_t>(size));
    UnifyNans(shape.type(), block.data(), size / width, NanBits::kPositive);
    hash = Mixed(hash, HashBytes({reinterpret_cast<const char*>(block.data()), static_cast<size_t>(size)}));
  }
  return hash;
}

uint64_t HashOfAny(const Literal& value) {
  uint64_t hash = 0;
  ForEachLeaf(value.shape(), [&](const ShapeIndex& index, const Shape& leaf) {
    if (leaf.IsArray()) hash = Mixed(hash, HashOf(value.At(index)));
  });
  return hash;
}

// ---- One interpretation --------------------------------------------------------------------------------------------

struct Interpretation {
  std::optional<Literal> result;
  std::optional<Error> error;
  ObservedRun observed;
  std::vector<uint64_t> outfed;
};

Result<Literal> OfAllDevices(const Module& module, std::span<const Literal> args, const InterpretOptions& options) {
  if (!HasSeveralDevices(module)) return Interpret(module, args, options);
  const std::vector<Literal> of_each(args.begin(), args.end());
  return Literal::Tuple(TRY(InterpretDevices(module, {&of_each, 1}, options)));
}

using Watch = std::function<void(const Instruction&, const Literal&, const LoopPath&)>;

// `wanted` is indexed by id.
Interpretation Observe(const Module& module, std::span<const Literal> args, InterpretOptions options,
                       const std::vector<bool>& wanted, const Watch& watch = nullptr) {
  Interpretation run;
  run.observed = ObservedRun(wanted.size());
  options.on_value = [&](const Instruction& inst, const Literal& value) {
    run.observed.Executed(inst);
    if (!wanted[inst.id()]) return;
    run.observed.AddValue(inst, HashOf(value));
    if (watch) watch(inst, value, run.observed.path());
  };
  options.on_iteration = [&](const Instruction& loop, int64_t iteration, const Literal&) {
    run.observed.BeginIteration(loop, iteration);
  };
  options.outfeed = [&](int64_t, const Literal& value) { run.outfed.push_back(HashOfAny(value)); };
  auto result = OfAllDevices(module, args, options);
  if (result) run.result = std::move(*result);
  else run.error = std::move(result).error();
  return run;
}

// ---- Results of the entry ------------------------------------------------------------------------------------------

// Elements are row-major indices.
struct OutputDifference {
  ShapeIndex index;
  bool in_size = false;
  std::vector<int64_t> elements;
  std::vector<int64_t> undetermined;
};

std::vector<OutputDifference> DifferentOutputs(const Literal& before, const Literal& after) {
  std::vector<OutputDifference> differences;
  ForEachLeaf(before.shape(), [&](const ShapeIndex& index, const Shape& leaf) {
    if (!leaf.IsArray()) return;
    const Literal &x = before.At(index), &y = after.At(index);
    if (HashOf(x) == HashOf(y)) return;
    OutputDifference difference{.index = index, .elements = {}, .undetermined = {}};
    difference.in_size = x.shape().dims() != y.shape().dims();
    if (!difference.in_size) difference.elements = DifferentElements(x, y);
    differences.push_back(std::move(difference));
  });
  return differences;
}

std::string NameOfOutput(ShapeIndex index, bool has_devices) {
  std::string device;
  if (has_devices) {
    device = Str(" of device ", index[0]);
    index.erase(index.begin());
  }
  return Str(index.empty() ? "the result" : Str("output {", Join(index, ","), "}"), device);
}

// ---- The comparison ------------------------------------------------------------------------------------------------

class Comparer {
 public:
  Comparer(const Module& before, const Module& after, std::span<const Literal> args, const BitsOptions& options)
      : before_(before), after_(after), args_(args), options_(options), kept_(before, after, options.origins) {}

  Result<BitsResult> Compare() {
    const bool same_devices = before_.header.replica_count == after_.header.replica_count &&
                              before_.header.num_partitions == after_.header.num_partitions;
    if (!same_devices || !HaveSameSignature(before_, after_)) {
      Decide(Verdict::kUnsupported, "the parameters, the results or the number of devices changed");
      return std::move(result_);
    }
    run_before_ = Observe(before_, args_, options_.interpret, kept_.in_before);
    if (run_before_.error) return FailedBefore();
    run_after_ = Observe(after_, args_, options_.interpret, kept_.in_after);
    if (run_after_.error) return FailedAfter();
    CompareKept();
    CompareResults();
    const bool differ = !different_.empty() || !outputs_.empty() || outfed_differ_;
    if (differ && (ReadsNanBits(before_) || ReadsNanBits(after_))) TRY(SetNanDependentAside());
    return Decided();
  }

 private:
  void Decide(Verdict verdict, std::string reason) {
    result_.verdict = verdict;
    result_.reason = std::move(reason);
  }

  // ---- Failed interpretations ----

  Result<BitsResult> FailedBefore() {
    Error& error = *run_before_.error;
    if (error.exit == ExitCode::kInterrupted || error.exit == ExitCode::kInternal) FAIL(std::move(error));
    Decide(error.exit == ExitCode::kUnsupported ? Verdict::kUnsupported : Verdict::kInconclusive,
           Str("the module before the passes cannot be interpreted: ", error.message()));
    return std::move(result_);
  }

  Result<BitsResult> FailedAfter() {
    Error& error = *run_after_.error;
    if (error.exit == ExitCode::kInterrupted || error.exit == ExitCode::kInternal) FAIL(std::move(error));
    if (error.exit == ExitCode::kUnsupported) {
      Decide(Verdict::kUnsupported, Str("the module after the passes cannot be interpreted: ", error.message()));
    } else if (error.exit != ExitCode::kLimit) {
      Decide(Verdict::kMismatch, Str("only the module after the passes fails: ", error.message()));
    } else if (SomeValueDiffers()) {
      ShowValue();
    } else if (std::string endless = EndlessLoop(); !endless.empty()) {
      Decide(Verdict::kMismatch, std::move(endless));
    } else {
      Decide(Verdict::kInconclusive,
             Str("the module after the passes cannot be interpreted to its end: ", error.message()));
    }
    return std::move(result_);
  }

  // Whether a kept value differs and no instruction reads the bits of NaNs.
  bool SomeValueDiffers() {
    CompareKept();
    return !different_.empty() && !ReadsNanBits(before_) && !ReadsNanBits(after_);
  }

  // Describes a kept loop that ended in the module before, but reached a limit after many more iterations in the module
  // after. Loops that passes made from other operations may reach the limit and are ignored.
  std::string EndlessLoop() const {
    // Passes that peel or unroll loops lower the number of iterations. The margin is for passes that rotate or split
    // loops.
    constexpr int64_t kTimes = 2, kMore = 16;
    for (const Computation* computation : after_.PostOrder()) {
      for (const Instruction* inst : computation->instructions()) {
        const ObservedRun::Loop* const loop = run_after_.observed.LoopOf(*inst);
        if (loop == nullptr) continue;
        const int64_t now = loop->now;
        for (const Instruction* other : kept_.origins.Of(*inst)) {
          const ObservedRun::Loop* const was = run_before_.observed.LoopOf(*other);
          if (was == nullptr || now < kTimes * was->most + kMore) continue;
          return Str("the loop '", inst->name(), "' does not end within ", now,
                     " iterations, and before the passes it ended after ", was->most);
        }
      }
    }
    return "";
  }

  // ---- Values ----

  void CompareKept() {
    ComparedValues compared = CompareValues(kept_, before_, run_before_.observed, run_after_.observed);
    result_.values += compared.values;
    result_.elements += compared.elements;
    different_ = std::move(compared.different);
  }

  void CompareResults() {
    ForEachLeaf(run_after_.result->shape(), [&](const ShapeIndex&, const Shape& leaf) {
      if (!leaf.IsArray()) return;
      ++result_.values;
      result_.elements += leaf.NumElements();
    });
    outputs_ = DifferentOutputs(*run_before_.result, *run_after_.result);
    outfed_differ_ = run_before_.outfed != run_after_.outfed;
  }

  // ---- Values that depend on the bits of NaNs ----

  // Runs both modules with other bits of NaNs. Kept values that then change no longer count as different. Elements of
  // results that change become undetermined.
  Status SetNanDependentAside() {
    for (const NanBits bits : {NanBits::kPositive, NanBits::kNegative}) {
      InterpretOptions options = options_.interpret;
      options.nan_bits = bits;
      for (const bool of_after : {false, true}) {
        const Module& module = of_after ? after_ : before_;
        const Interpretation& own = of_after ? run_after_ : run_before_;
        Interpretation other = Observe(module, args_, options, of_after ? kept_.in_after : kept_.in_before);
        if (other.error && other.error->exit == ExitCode::kInterrupted) FAIL(std::move(*other.error));
        if (other.error) {
          nan_failure_ = Str("a loop or a size depends on the bits of a NaN: ", other.error->message());
          return {};
        }
        SetValuesAside(own, other, of_after);
        SetOutputsAside(*own.result, *other.result);
        if (own.outfed != other.outfed) outfed_undetermined_ = true;
      }
    }
    return {};
  }

  void SetValuesAside(const Interpretation& own, const Interpretation& other, bool of_after) {
    const auto depends = [&](const Instruction* inst) {
      return own.observed.Of(*inst).sequence != other.observed.Of(*inst).sequence;
    };
    std::erase_if(different_, [&](const KeptPair* pair) {
      return of_after ? depends(pair->after) : std::ranges::any_of(pair->before, depends);
    });
  }

  void SetOutputsAside(const Literal& own, const Literal& other) {
    for (OutputDifference& output : outputs_) {
      const Literal &x = own.At(output.index), &y = other.At(output.index);
      const bool sizes_depend = x.shape().dims() != y.shape().dims();
      if (sizes_depend) output.in_size = false;
      const std::vector<int64_t> depend = sizes_depend ? output.elements : DifferentElements(x, y);
      for (const int64_t element : depend) {
        const auto at = std::ranges::lower_bound(output.elements, element);
        if (at == output.elements.end() || *at != element) continue;
        output.undetermined.push_back(element);
        if (!sizes_depend) output.elements.erase(at);
      }
      if (sizes_depend) output.elements.clear();
    }
  }

  std::string NameOf(const OutputDifference& output) const {
    return NameOfOutput(output.index, HasSeveralDevices(before_));
  }

  // ---- The verdict ----

  Result<BitsResult> Decided() {
    for (const OutputDifference& output : outputs_) result_.undetermined += std::ssize(output.undetermined);
    if (!nan_failure_.empty()) {
      Decide(Verdict::kInconclusive, std::move(nan_failure_));
      return std::move(result_);
    }
    const auto wrong = std::ranges::find_if(
        outputs_, [](const OutputDifference& output) { return output.in_size || !output.elements.empty(); });
    if (!different_.empty()) {
      ShowValue();
    } else if (wrong != outputs_.end()) {
      ShowOutput(*wrong);
    } else if (outfed_differ_ && !outfed_undetermined_) {
      Decide(Verdict::kMismatch, "the outfeed receives other values, or the same values in another order");
    } else if (outfed_differ_) {
      Decide(Verdict::kInconclusive, "values of the outfeed depend on the bits of a NaN");
    } else {
      DecideByShare();
    }
    return std::move(result_);
  }

  void DecideByShare() {
    for (const OutputDifference& output : outputs_) {
      const auto count = static_cast<double>(run_before_.result->At(output.index).shape().NumElements());
      const auto open = static_cast<double>(output.undetermined.size());
      if (open <= kMostUndetermined * count) continue;
      return Decide(Verdict::kInconclusive, Str(Format("%.1f", 100 * open / std::max(count, 1.0)), " % of ",
                                                NameOf(output), " depends on the bits of NaNs"));
    }
  }

  void ShowValue() {
    const auto observe = [&](const Module& module, const std::vector<bool>& wanted, const Watch& watch) {
      Observe(module, args_, options_.interpret, wanted, watch);
    };
    const auto first = FindFirstDifference<Literal>(before_, after_, different_, run_before_.observed, observe, HashOf);
    BitsFinding finding{.after = first.pair->after, .before = first.before, .loop = first.loop, .comparison = {}};
    std::string what = "size";
    if (first.expected && first.expected->shape().dims() == first.actual->shape().dims()) {
      finding.comparison = CompareBitwise(*first.expected, *first.actual, options_.compare);
      what = Str(finding.comparison.bad(), " of ", Counted(finding.comparison.elements(), "element"));
    }
    Decide(Verdict::kMismatch,
           Str("'", finding.after->name(), "' differs from '", first.before->name(), "' before the passes in ", what,
               finding.loop.empty() ? "" : Str(" (", finding.loop, ")")));
    result_.finding = std::move(finding);
  }

  void ShowOutput(const OutputDifference& output) {
    const size_t place = HasSeveralDevices(before_) ? 1 : 0;  // The first index is the device.
    const auto instruction_of = [&](const Module& module) {
      const Instruction& root = module.entry().root();
      return output.index.size() > place && root.Is(Opcode::kTuple) ? &root.operand(output.index[place]) : &root;
    };
    BitsFinding finding{
        .after = instruction_of(after_), .before = instruction_of(before_), .loop = {}, .comparison = {}};
    const Literal& expected = run_before_.result->At(output.index);
    Literal actual = run_after_.result->At(output.index);
    if (output.in_size) {
      Decide(Verdict::kMismatch, Str(NameOf(output), " is ", actual.shape(),
                                     " at run time, but before the passes it is ", expected.shape()));
    } else {
      const int64_t width = ByteWidth(expected.shape().type());
      for (const int64_t i : output.undetermined)
        std::memcpy(actual.mutable_raw() + i * width, expected.raw() + i * width, static_cast<size_t>(width));
      finding.comparison = CompareBitwise(expected, actual, options_.compare);
      for (TensorComparison& tensor : finding.comparison.outputs) tensor.output = output.index;
      Decide(Verdict::kMismatch, Str(NameOf(output), " differs in ", output.elements.size(), " of ",
                                     expected.shape().NumElements(), " elements"));
    }
    result_.finding = std::move(finding);
  }

  const Module& before_;
  const Module& after_;
  const std::span<const Literal> args_;
  const BitsOptions& options_;
  const KeptValues kept_;
  Interpretation run_before_, run_after_;
  std::vector<const KeptPair*> different_;
  std::vector<OutputDifference> outputs_;
  bool outfed_differ_ = false, outfed_undetermined_ = false;
  std::string nan_failure_;  // Set if a module fails with other bits of NaNs.
  BitsResult result_;
};

}  // namespace

Result<BitsResult> CompareByBits(const Module& before, const Module& after, std::span<const Literal> args,
                                 const BitsOptions& options) {
  return Comparer(before, after, args, options).Compare();
}

std::string ToString(const BitsResult& result) {
  if (result.verdict != Verdict::kMatch) return result.reason;
  return Str("values: ", result.values, ", elements: ", result.elements, ", the same bits",
             result.undetermined == 0 ? "" : Str("; ", result.undetermined, " undetermined (bits of NaNs)"));
}

}  // namespace hlo
