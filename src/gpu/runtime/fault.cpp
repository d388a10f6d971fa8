#include "gpu/runtime/fault.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "gpu/emitters/emitter.h"
#include "ir/mutation.h"

namespace hlo::gpu {
namespace {

constexpr std::string_view kLibraryFaults[] = {"bit", "zero", "scale"};
constexpr std::string_view kRuntimeFaults[] = {"early", "branch", "copies", "late", "place"};

constexpr FaultKind kKinds[] = {{"kernel", "kernel", kKernelFaults, true},
                                {"library", "library call", kLibraryFaults},
                                {"runtime", "step, loop or conditional", kRuntimeFaults}};

const FaultKind* FindKind(std::string_view name) {
  const auto* found = std::ranges::find(kKinds, name, &FaultKind::name);
  return found == std::end(kKinds) ? nullptr : found;
}

// "; did you mean 'x'?", or "".
std::string DidYouMean(std::string_view word, std::span<const std::string_view> words) {
  const std::vector<std::string> near = NearNames(word, words);
  return near.empty() ? "" : Str("; did you mean '", Join(near, "' or '"), "'?");
}

bool OverlapsInTime(const Value& a, const Value& b) { return Overlap(a.live, b.live); }

int LeaveOut(std::vector<CopyWork>& copies) {
  const int planted = copies.empty() ? 0 : 1;
  copies.clear();
  return planted;
}

}  // namespace

std::span<const FaultKind> FaultKinds() { return kKinds; }

Result<Fault> ParseFault(std::string_view text) {
  if (text.empty()) return Fault{};
  const std::vector<std::string_view> parts = Split(text, ':');
  const FaultKind* kind = FindKind(parts[0]);
  if (kind == nullptr) {
    FAIL(UsageError("F004", Str("'", Escaped(text), "' plants a fault in nothing that there is"))
             .Hint("expected pass:NAME:FAULT, kernel:NAME:FAULT, library:NAME:FAULT or runtime:NAME:FAULT"));
  }
  if (parts.size() != 3 || parts[1].empty())
    FAIL(UsageError("F004", Str("expected ", parts[0], ":NAME:FAULT, got '", Escaped(text), "'")));
  std::vector<std::string_view> known(kind->faults.begin(), kind->faults.end());
  if (kind->takes_mutations) {
    for (const Mutation& mutation : Mutations()) known.push_back(mutation.name);
  }
  if (std::ranges::find(known, parts[2]) == known.end()) {
    FAIL(UsageError("F004", Str("no ", kind->what, " has a fault '", Escaped(parts[2]),
                                "' to plant; there are: ", Join(known, ", "), DidYouMean(parts[2], known))));
  }
  return Fault{std::string(parts[0]), std::string(parts[1]), std::string(parts[2])};
}

int PlantInBuffers(const Fault& fault, BufferPlan& plan) {
  int planted = 0;
  if (fault.what != "place") return planted;
  const std::vector<Value>& values = plan.values.values;
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
        loop.planted_early = true;
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
        ++i;  // Not later still.
      }
    }
  }
  return planted;
}

Error NothingPlanted(const Fault& fault, const std::vector<std::string_view>& names) {
  const std::string_view what = FindKind(fault.kind)->what;
  const bool found = fault.name == "*" || std::ranges::find(names, fault.name) != names.end();
  if (found && !names.empty()) {
    return UsageError("F004", Str("no ", what, " has a place to plant '",
                                  Escaped(Str(fault.kind, ":", fault.name, ":", fault.what)), "' in"));
  }
  constexpr size_t kMostNames = 8;
  const size_t shown = std::min(names.size(), kMostNames);
  const std::string rest = names.size() > shown ? Str(" and ", names.size() - shown, " more") : "";
  return UsageError("F004",
                    Str("no ", what, " '", Escaped(fault.name), "' to plant a fault in", DidYouMean(fault.name, names)))
      .Hint(names.empty() ? Str("the optimized module has no ", what)
                          : Str("'*' is every one of them: ", Join(std::span(names).first(shown), ", "), rest));
}

}  // namespace hlo::gpu
