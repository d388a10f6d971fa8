// Joins independent kernels into a region "segments", in which each has some of the blocks: updates of an optimizer's
// tensors, and other kernels too small to fill the device.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "ir/analysis/region.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/fusion/regions.h"
#include "passes/fusion/walk.h"
#include "passes/log_why.h"
#include "passes/pass.h"

namespace hlo {
namespace {

constexpr int64_t kMostElements = 4 << 20;   // A larger kernel fills the device.
constexpr int64_t kMostPointers = 1200;      // This many fit a kernel's parameters.
constexpr int64_t kMostInstructions = 4000;  // Instructions of kernels with different code.
constexpr size_t kGroupsTried = 8;

class SegmentFusion {
 public:
  explicit SegmentFusion(Computation& computation) : graph_(computation), logs_(LOGS_WHY()) {}

  bool Run() {
    for (const Instruction* launch : graph_.launches()) {
      const std::string_view why_not = WhyNoSegment(*launch);
      if (why_not.empty()) Place(*launch);
      else if (logs_) Say(*launch, "stays", why_not);
    }
    return graph_.Build("segments", [](const std::vector<Instruction*>& group) { return group.size() > 1; });
  }

 private:
  struct Group {
    int64_t pointers = 0;
    int64_t code = 0;  // Instructions of kernels with different code.
    std::set<std::string> kernels;
  };

  static void Say(const Instruction& inst, std::string_view became, std::string_view why) {
    LogWhy("segment-fusion", inst, became, why);
  }

  static std::string_view WhyNoSegment(const Instruction& launch) {
    if (RegionOf(launch) == "block") return "";
    if (!IsKernel(launch)) return "it is neither a kernel nor a region of one block";
    const auto walk = WalkOf(launch);
    if (!walk) return "its results have different dimensions";
    return walk->iteration.NumElements() <= kMostElements ? ""
                                                          : "it has more than 4194304 elements, which fill the device";
  }

  // `pointers` and `code` count both together.
  std::string_view WhyNotJoined(const Instruction& first, const Instruction& kernel, int64_t pointers, int64_t code) {
    if (pointers > kMostPointers) return "together they have more than 1200 operands and results";
    if (code > kMostInstructions) return "together they have more than 4000 instructions in different kernels";
    return graph_.AreIndependent(first, kernel) ? "" : "one depends on the other";
  }

  // A text that is equal for kernels that differ only in dimensions.
  static std::string LikenessOf(const Instruction& kernel) {
    std::string key;
    for (const Instruction* inst : FusedComputation(kernel).PostOrder()) {
      key += ToString(inst->opcode());
      if (inst->shape().IsArray())
        key += Str(" ", ToString(inst->shape().type()), inst->shape().rank() == 0 ? "s" : "");
      key += ";";
    }
    return key;
  }

  void Place(const Instruction& kernel) {
    const std::string key = LikenessOf(kernel);
    Group one{
        .pointers = graph_.PointerCount(kernel), .code = FusedComputation(kernel).InstructionCount(), .kernels = {key}};
    for (size_t i = last_.size(); i-- > 0;) {
      Group& group = groups_.at(last_[i]);
      const int64_t code = group.code + (group.kernels.contains(key) ? 0 : one.code);
      const std::string_view why_not = WhyNotJoined(*last_[i], kernel, group.pointers + one.pointers, code);
      if (!why_not.empty()) {
        if (logs_) Say(kernel, Str("stays apart from ", last_[i]->name()), why_not);
        continue;
      }
      if (logs_) Say(kernel, Str("=> one region with ", last_[i]->name()), "neither depends on the other");
      graph_.Join(*last_[i], kernel);
      group.pointers += one.pointers;
      group.code = code;
      group.kernels.insert(key);
      const auto joined = last_.begin() + static_cast<std::ptrdiff_t>(i);
      std::rotate(joined, joined + 1, last_.end());
      return;
    }
    groups_[&kernel] = std::move(one);
    last_.push_back(&kernel);
    if (last_.size() > kGroupsTried) last_.erase(last_.begin());
  }

  RegionGraph graph_;
  const bool logs_;
  std::unordered_map<const Instruction*, Group> groups_;  // Keyed by first launch.
  std::vector<const Instruction*> last_;                  // First launches of recent groups.
};

}  // namespace

Result<bool> FuseSegments(Module& module, const PassContext&) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) changed |= SegmentFusion(*computation).Run();
  return changed;
}

}  // namespace hlo
