#include "gpu/runtime/fault.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "gpu/device/device.h"
#include "gpu/kernel/steering.h"
#include "ir/literal.h"
#include "ir/mutation.h"

namespace hlo::gpu {
namespace {

constexpr std::string_view kLibraryFaults[] = {"bit", "zero", "scale"};
constexpr std::string_view kRuntimeFaults[] = {"early", "branch", "copies", "late", "place"};

const FaultKind* FindKind(std::string_view name) {
  const auto found = std::ranges::find(FaultKinds(), name, &FaultKind::name);
  return found == FaultKinds().end() ? nullptr : &*found;
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> words) {
  const std::vector<std::string> near = NearNames(word, words);
  return near.empty() ? "" : Str("; did you mean '", Join(near, "' or '"), "'?");
}

bool OverlapsInTime(const BufferedValue& a, const BufferedValue& b) { return Overlap(a.live, b.live); }

int LeaveOut(std::vector<CopyWork>& copies) {
  const int planted = copies.empty() ? 0 : 1;
  copies.clear();
  return planted;
}

bool IsSameMemory(const KernelBuffer& a, const KernelBuffer& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == KernelBuffer::Kind::kScratch) return a.scratch == b.scratch;
  return a.kind == KernelBuffer::Kind::kOutput && a.index == b.index;
}

// Finds the values that steer each kernel (kernel/steering.h). An array that steers one kernel of a step counts as
// steering in all of them.
std::vector<kernel::Steering> SteeringOf(const std::vector<EmittedKernel>& kernels) {
  std::vector<kernel::Steering> steering;
  for (const EmittedKernel& one : kernels) steering.push_back(kernel::FindSteering(*one.kernel));
  const auto steers = [&](const KernelBuffer& buffer) {
    for (size_t k = 0; k < kernels.size(); ++k) {
      const std::vector<int> parameters = kernels[k].kernel->Parameters();
      for (size_t p = 0; p < parameters.size(); ++p) {
        if (steering[k].arrays[parameters[p]] && IsSameMemory(kernels[k].buffers[p], buffer)) return true;
      }
    }
    return false;
  };
  for (bool changed = kernels.size() > 1; changed;) {
    changed = false;
    for (size_t k = 0; k < kernels.size(); ++k) {
      std::vector<bool> arrays = steering[k].arrays;
      const std::vector<int> parameters = kernels[k].kernel->Parameters();
      for (size_t p = 0; p < parameters.size(); ++p)
        arrays[parameters[p]] = arrays[parameters[p]] || steers(kernels[k].buffers[p]);
      if (arrays == steering[k].arrays) continue;
      steering[k] = kernel::FindSteering(*kernels[k].kernel, std::move(arrays));
      changed = true;
    }
  }
  return steering;
}

class WrongBoundCall : public BoundCall {
 public:
  WrongBoundCall(std::unique_ptr<BoundCall> call, const std::string& fault, const Shape& result, Device& device)
      : call_(std::move(call)), fault_(fault), result_(result), device_(device) {}

  Status Pack(std::span<void* const> operands, void* packed) override { return call_->Pack(operands, packed); }

  Status Run(std::span<void* const> operands, std::span<void* const> results, void* scratch, void* packed) override {
    TRY(call_->Run(operands, results, scratch, packed));
    Literal value(result_);
    const int64_t elements = result_.NumElements(), bytes = elements * ByteWidth(result_.type());
    TRY(device_.CopyOut(value.mutable_raw(), results[0], bytes));
    if (fault_ == "bit") {
      const int64_t last_byte = (elements / 2 + 1) * ByteWidth(result_.type()) - 1;
      value.mutable_raw()[last_byte] ^= std::byte{1};
    } else if (fault_ == "zero") {
      value.SetDouble(elements - 1, 0);
    } else {
      for (int64_t i = 0; i < elements; ++i) value.SetDouble(i, value.GetDouble(i) * (1 + 0x1p-6));
    }
    return device_.CopyIn(results[0], value.raw(), bytes);
  }

 private:
  const std::unique_ptr<BoundCall> call_;
  const std::string& fault_;
  const Shape& result_;
  Device& device_;
};

class WrongCall : public LibraryCall {
 public:
  WrongCall(std::shared_ptr<const LibraryCall> call, std::string fault, const Shape& result)
      : call_(std::move(call)), fault_(std::move(fault)), result_(result.WithDefaultLayout()) {}

  std::string how() const override { return call_->how(); }
  std::string algorithm() const override { return call_->algorithm(); }
  bool is_whole() const override { return call_->is_whole(); }
  std::vector<std::string> algorithms() const override { return call_->algorithms(); }
  int64_t ScratchBytes() const override { return call_->ScratchBytes(); }
  int64_t InPlaceOperand() const override { return call_->InPlaceOperand(); }
  int64_t PackedBytes() const override { return call_->PackedBytes(); }
  int64_t PackedOperand() const override { return call_->PackedOperand(); }
  Result<std::unique_ptr<BoundCall>> Bind(Device& device) const override {
    return std::make_unique<WrongBoundCall>(TRY(call_->Bind(device)), fault_, result_, device);
  }

 private:
  const std::shared_ptr<const LibraryCall> call_;
  const std::string fault_;
  const Shape result_;
};

}  // namespace

std::span<const FaultKind> FaultKinds() {
  static const std::vector<std::string_view> of_kernels = [] {
    std::vector<std::string_view> names;
    for (const kernel::Mutation& mutation : kernel::Mutations()) names.push_back(mutation.name);
    return names;
  }();
  static const FaultKind kinds[] = {{"kernel", "kernel", of_kernels, true},
                                    {"library", "library call", kLibraryFaults},
                                    {"runtime", "step, loop or conditional", kRuntimeFaults}};
  return kinds;
}

Result<Fault> ParseFault(std::string_view text) {
  if (text.empty()) return Fault{};
  const std::vector<std::string_view> parts = Split(text, ':');
  const FaultKind* kind = FindKind(parts[0]);
  if (kind == nullptr) {
    FAIL(UsageError("F004", Str("'", Escaped(text), "' is not a fault that can be planted"))
             .Hint("expected pass:NAME:FAULT, kernel:NAME:FAULT, library:NAME:FAULT, runtime:NAME:FAULT or crash:NAME "
                   "('hlo help inject')"));
  }
  if (parts.size() != 3 || parts[1].empty())
    FAIL(UsageError("F004", Str("expected ", parts[0], ":NAME:FAULT, got '", Escaped(text), "'")));
  std::vector<std::string_view> known(kind->faults.begin(), kind->faults.end());
  if (kind->takes_mutations) {
    for (const Mutation& mutation : Mutations()) known.push_back(mutation.name);
  }
  if (std::ranges::find(known, parts[2]) == known.end()) {
    FAIL(UsageError("F004", Str("'", Escaped(parts[2]), "' is not a fault of a ", kind->what,
                                "; the faults are: ", Join(known, ", "), DidYouMean(parts[2], known))));
  }
  return Fault{std::string(parts[0]), std::string(parts[1]), std::string(parts[2])};
}

bool PlantInKernels(const kernel::Mutation& mutation, std::vector<EmittedKernel>& kernels) {
  const std::vector<kernel::Steering> steering = SteeringOf(kernels);
  bool planted = false;
  for (size_t k = 0; k < kernels.size(); ++k) {
    auto mutated = std::make_shared<kernel::Kernel>(*kernels[k].kernel);
    if (!mutation.apply(*mutated, steering[k])) continue;
    kernels[k].kernel = std::move(mutated);
    kernels[k].sharable.clear();  // With the fault, elements may be read after another thread has overwritten them.
    planted = true;
  }
  return planted;
}

std::shared_ptr<const LibraryCall> WithFault(std::shared_ptr<const LibraryCall> call, std::string fault,
                                             const Shape& result) {
  return std::make_shared<WrongCall>(std::move(call), std::move(fault), result.IsTuple() ? result.element(0) : result);
}

int PlantInBuffers(const Fault& fault, BufferPlan& plan) {
  int planted = 0;
  if (fault.what != "place") return planted;
  const std::vector<BufferedValue>& values = plan.values.values;
  const std::vector<Place> sound = plan.place_of;
  for (size_t v = 0; v < values.size(); ++v) {
    if (sound[v].area != Area::kArena || values[v].kind != ValueKind::kComputed ||
        !fault.MeantFor("runtime", values[v].definition->name()))
      continue;
    for (size_t other = 0; other < values.size(); ++other) {
      if (sound[other].area != Area::kArena || sound[other] == sound[v] || values[other].bytes < values[v].bytes ||
          !OverlapsInTime(values[v], values[other]))
        continue;
      plan.place_of[v] = sound[other];
      ++planted;
      break;
    }
  }
  return planted;
}

int PlantInBlock(const Fault& fault, Block& block) {
  int planted = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    if (auto* found = std::get_if<std::unique_ptr<LoopNode>>(&block[i])) {
      LoopNode& loop = **found;
      planted += PlantInBlock(fault, loop.condition) + PlantInBlock(fault, loop.body);
      if (!fault.MeantFor("runtime", loop.loop->name())) continue;
      if (fault.what == "early") {
        loop.most_trips = 1;
        ++planted;
      } else if (fault.what == "copies") {
        planted += LeaveOut(loop.back);
        loop.turns.clear();
      }
    } else if (auto* found = std::get_if<std::unique_ptr<BranchNode>>(&block[i])) {
      BranchNode& conditional = **found;
      const bool meant = fault.MeantFor("runtime", conditional.conditional->name());
      for (BranchNode::Branch& branch : conditional.branches) {
        planted += PlantInBlock(fault, branch.block);
        if (meant && fault.what == "copies") planted += LeaveOut(branch.end);
      }
      if (!meant || fault.what != "branch") continue;
      std::ranges::reverse(conditional.branches);
      ++planted;
    } else if (Step& step = std::get<Step>(block[i]); fault.MeantFor("runtime", step.instruction->name())) {
      if (fault.what == "copies") planted += LeaveOut(step.copies);
      if (fault.what == "late" && i + 1 < block.size()) {
        std::swap(block[i], block[i + 1]);
        ++planted;
        ++i;  // Delays a step by one place at most.
      }
    }
  }
  return planted;
}

Error NothingPlanted(const Fault& fault, const std::vector<std::string_view>& names) {
  const std::string_view what = FindKind(fault.kind)->what;
  const bool found = fault.name == "*" || std::ranges::find(names, fault.name) != names.end();
  if (found && !names.empty()) {
    return UsageError("F004", Str("'", Escaped(Str(fault.kind, ":", fault.name, ":", fault.what)), "' fits no ", what));
  }
  constexpr size_t kMostNames = 8;
  const size_t shown = std::min(names.size(), kMostNames);
  const std::string rest = names.size() > shown ? Str(" and ", names.size() - shown, " more") : "";
  return UsageError("F004",
                    Str("no ", what, " '", Escaped(fault.name), "' to plant a fault in", DidYouMean(fault.name, names)))
      .Hint(names.empty() ? Str("the optimized module has no ", what)
                          : Str("'*' selects all of them: ", Join(std::span(names).first(shown), ", "), rest));
}

}  // namespace hlo::gpu
