// block-fusion: makes a loop and the small kernels around it one launch of one block (a region "block"), with barriers
// instead of launches. One block must run each kernel in less time than a launch takes, and the loop's state must be
// small.
//
// while-loop-fusion: makes each such loop a region by itself. Its kernels may be larger, because the overhead of a trip
// exceeds a launch, also on a host.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/text.h"
#include "ir/analysis/cost.h"
#include "ir/analysis/region.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/fusion/regions.h"
#include "passes/log_why.h"
#include "passes/pass.h"

namespace hlo {
namespace {

constexpr int64_t kMostState = 64 * 1024;  // Elements of the loop's state.
constexpr int64_t kMostInstructions = 4000;
constexpr int64_t kMostPointers = 128;
constexpr size_t kGroupsTried = 8;
constexpr double kMostProducts = 1 << 18;  // A dot with more multiplications is a library call.
// Compile time grows fast with the depth of nested loops.
constexpr int kMostNested = 8;
// A loop's kernel that takes longer on one block should use the whole device.
constexpr double kMostLoopSeconds = 2e-5;

class Blocks {
 public:
  Blocks(const Module& module, const DeviceDescription& device, bool loops_alone)
      : costs_(module), device_(device), loops_alone_(loops_alone) {}

  // `instructions` is 0 if a single block cannot run the launch.
  struct Code {
    int64_t instructions = 0;
    std::string_view why_not;
    int nested = 0;  // Depth of nested loops, including the launch.
  };
  bool loops_alone() const { return loops_alone_; }
  const Code& CodeOf(const Instruction& launch) {
    const auto [at, fresh] = code_.try_emplace(&launch);
    Code& code = at->second;
    if (fresh) code = launch.Is(Opcode::kWhile) ? CodeOfLoop(launch) : CodeOfKernel(launch);
    return code;
  }

 private:
  Code CodeOfKernel(const Instruction& kernel) const {
    if (loops_alone_ && IsRegion(kernel)) return {0, "it is a region"};
    const Cost& cost = costs_.CostOf(kernel);
    Roofline roof = RooflineOf(cost, device_);
    double products = 0;
    roof.dots = 0;
    for (int width = 0; width < kDotWidths; ++width) {
      roof.dots += cost.dot_flops[width] / device_.dot_rates[static_cast<int>(DotWidth::k32)];
      products += cost.dot_flops[width] / 2;
    }
    const double alone = roof.Seconds() * device_.multiprocessors;
    if (loops_alone_ ? alone > kMostLoopSeconds : alone > device_.launch_seconds)
      return {0, "one block would need more time to run it than a launch takes"};
    if (products > kMostProducts) return {0, "its product is large enough for a library call"};
    if (kernel.Is(Opcode::kCopy)) return kernel.shape().IsArray() ? Code{1, ""} : Code{0, "it copies a tuple"};
    if (!IsKernel(kernel) && LibraryOf(kernel) != "gemm") return {0, "it is not a kernel"};
    return {FusedComputation(kernel).InstructionCount(), ""};
  }

  // The code of inner loops must be known.
  Code CodeOfLoop(const Instruction& loop) {
    if (!loop.shape().IsTuple()) return {0, "its state is not a tuple"};
    int64_t state = 0, code = 0;
    int nested = 1;
    for (const Shape& element : loop.shape().elements()) {
      if (!element.IsArray()) return {0, "its state has elements that are not arrays"};
      state += element.NumElements();
    }
    if (state > kMostState) return {0, "its state has more than 65536 elements"};
    const auto& attrs = loop.attrs<WhileAttrs>();
    for (const Computation* called : {attrs.condition, attrs.body}) {
      for (const Instruction* inst : called->instructions()) {
        if (inst->Is(kNoKernel) || inst->Is(Opcode::kConstant) || inst->Is(Opcode::kParameter)) continue;
        if (!IsLaunch(*inst)) return {0, "its body has instructions that are not launches"};
        if (!inst->control_predecessors().empty()) return {0, "its body has control dependencies"};
        const auto known = code_.find(inst);
        const int64_t of_inst = !inst->Is(Opcode::kWhile) ? CodeOf(*inst).instructions
                                : known == code_.end()    ? 0
                                                          : known->second.instructions;
        if (of_inst == 0) return {0, "its body has a launch that one block cannot run"};
        code += of_inst;
        if (inst->Is(Opcode::kWhile)) nested = std::max(nested, known->second.nested + 1);
      }
    }
    if (nested > kMostNested) return {0, "its loops are nested more than 8 deep"};
    return {code, code == 0 ? "its body is empty" : "", nested};
  }

  const CostAnalysis costs_;
  const DeviceDescription& device_;
  const bool loops_alone_;
  std::unordered_map<const Instruction*, Code> code_;
};

class BlockFusion {
 public:
  BlockFusion(Computation& computation, Blocks& blocks) : graph_(computation), blocks_(blocks), logs_(LOGS_WHY()) {}

  // Adds the conditions and bodies of loops in regions to `taken`.
  bool Run(std::unordered_set<const Computation*>* taken) {
    for (const Instruction* launch : graph_.launches()) Place(*launch);
    return graph_.Build("block", [&](const std::vector<Instruction*>& group) {
      const auto is_loop = [](const Instruction* member) { return member->Is(Opcode::kWhile); };
      if (!runs_in_block_.contains(group.front())) return false;
      if (std::ranges::none_of(group, is_loop)) {
        if (logs_ && group.size() > 1)
          Say(*group.front(), Str("makes no region of ", group.size(), " launches"), "there is no loop among them");
        return false;
      }
      for (const Instruction* member : group) {
        if (!member->Is(Opcode::kWhile)) continue;
        taken->insert(member->attrs<WhileAttrs>().condition);
        taken->insert(member->attrs<WhileAttrs>().body);
      }
      return true;
    });
  }

 private:
  void Place(const Instruction& launch) {
    if (blocks_.loops_alone() && !launch.Is(Opcode::kWhile)) return;
    const auto& [code, why_not, nested] = blocks_.CodeOf(launch);
    if (code == 0 || code > kMostInstructions) {
      if (logs_) Say(launch, "stays", code == 0 ? why_not : "it has more than 4000 instructions");
      return;
    }
    runs_in_block_.insert(&launch);
    if (blocks_.loops_alone()) return;
    for (const Instruction* producer : graph_.Producers(launch)) JoinIfItMay(*producer, launch);
    for (const Instruction* other : last_) JoinIfItMay(*other, launch);
    std::erase_if(last_, [&](const Instruction* other) { return graph_.AreOne(*other, launch); });
    last_.push_back(&launch);
    if (last_.size() > kGroupsTried) last_.erase(last_.begin());
  }

  static void Say(const Instruction& inst, std::string_view became, std::string_view why) {
    LogWhy("block-fusion", inst, became, why);
  }

  void JoinIfItMay(const Instruction& a, const Instruction& b) {
    if (!runs_in_block_.contains(&a) || graph_.AreOne(a, b)) return;
    const std::string_view why_not = WhyNotJoined(a, b);
    if (why_not.empty()) graph_.Join(a, b);
    if (!logs_) return;
    if (why_not.empty()) Say(b, Str("=> one region with ", a.name()), "one block computes each of them quickly");
    else Say(b, Str("stays apart from ", a.name()), why_not);
  }

  std::string_view WhyNotJoined(const Instruction& a, const Instruction& b) {
    const Size of_a = SizeOf(a), of_b = SizeOf(b);
    if (of_a.code + of_b.code > kMostInstructions) return "together they have more than 4000 instructions";
    if (of_a.pointers + of_b.pointers > kMostPointers) return "together they have more than 128 operands and results";
    return graph_.CanJoin(a, b) ? "" : "one depends on the other through a third launch";
  }

  // Valid while the group has `launches` launches.
  struct Size {
    size_t launches = 0;
    int64_t code = 0, pointers = 0;
  };
  Size SizeOf(const Instruction& launch) {
    const std::vector<Instruction*>& group = graph_.LaunchesOf(launch);
    Size& size = sizes_[&group];
    if (size.launches == group.size()) return size;
    size = {.launches = group.size(), .pointers = graph_.PointerCount(launch)};
    for (const Instruction* member : group) size.code += blocks_.CodeOf(*member).instructions;
    return size;
  }

  RegionGraph graph_;
  Blocks& blocks_;
  const bool logs_;
  std::unordered_set<const Instruction*> runs_in_block_;
  std::unordered_map<const std::vector<Instruction*>*, Size> sizes_;
  std::vector<const Instruction*> last_;  // One launch of each recent group.
};

Result<bool> Fuse(Module& module, const PassContext& context, bool loops_alone) {
  Blocks blocks(module, *context.device, loops_alone);
  std::vector<Computation*> order = SequentialComputations(module);
  for (const Computation* computation : order) {
    for (const Instruction* inst : computation->instructions()) {
      if (inst->Is(Opcode::kWhile)) blocks.CodeOf(*inst);
    }
  }
  bool changed = false;
  std::unordered_set<const Computation*> taken;
  for (size_t i = order.size(); i-- > 0;) {
    if (!taken.contains(order[i])) {
      changed |= BlockFusion(*order[i], blocks).Run(&taken);
      continue;
    }
    for (const Instruction* inst : order[i]->instructions()) {
      for (const Computation* called : CalledComputations(*inst)) taken.insert(called);
    }
  }
  return changed;
}

}  // namespace

Result<bool> FuseBlocks(Module& module, const PassContext& context) { return Fuse(module, context, false); }
Result<bool> FuseLoops(Module& module, const PassContext& context) { return Fuse(module, context, true); }

}  // namespace hlo
