// block-fusion: kernels so small that one block of threads is through with each sooner than the next could be launched
// become one launch (a region "block"), and so do loops whose bodies are made of such, over a state that stays near the
// block: barriers stand where launches stood. Always true: a region's kernels run as they would by themselves.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/cost.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/region.h"
#include "passes/fusion/regions.h"
#include "passes/pass.h"

namespace hlo {
namespace {

constexpr int64_t kMostState = 64 * 1024;    // Elements that a loop carries.
constexpr int64_t kMostInstructions = 4000;  // Of the code of a block.
constexpr int64_t kMostPointers = 128;       // Operands and results.
constexpr size_t kGroupsAsked = 8;           // The last ones, by a kernel that reads none of them.
constexpr double kMostProducts = 1 << 18;    // Of a matrix product that is worth no library call.

class Blocks {
 public:
  Blocks(const Module& module, const DeviceDescription& device) : costs_(module), device_(device) {}

  // Instructions of the launch's code when it is one that a block runs; else 0.
  int64_t CodeOf(const Instruction& launch) {
    const auto [at, fresh] = code_.try_emplace(&launch, 0);
    if (fresh) at->second = launch.Is(Opcode::kWhile) ? CodeOfLoop(launch) : CodeOfKernel(launch);
    return code_.at(&launch);
  }

 private:
  int64_t CodeOfKernel(const Instruction& kernel) const {
    const Cost& cost = costs_.Of(kernel);
    double dots = 0, products = 0;
    for (int width = 0; width < kDotWidths; ++width) {
      dots += cost.dot_flops[width] / device_.dot_rates[static_cast<int>(DotWidth::k32)];
      products += cost.dot_flops[width] / 2;
    }
    const double alone =
        std::max({cost.bytes() / device_.memory_rate, cost.scalar_work / device_.instruction_rate, dots}) *
        device_.multiprocessors;
    if (alone > device_.launch_seconds || products > kMostProducts) return 0;
    if (kernel.Is(Opcode::kCopy)) return kernel.shape().IsArray() ? 1 : 0;
    if (!IsKernel(kernel) && LibraryOf(kernel) != "gemm") return 0;
    return FusedComputation(kernel).InstructionCount();
  }

  // Loops within it were asked before: nothing here goes deep.
  int64_t CodeOfLoop(const Instruction& loop) {
    if (!loop.shape().IsTuple()) return 0;
    int64_t state = 0, code = 0;
    for (const Shape& element : loop.shape().elements()) {
      if (!element.IsArray()) return 0;
      state += element.NumElements();
    }
    if (state > kMostState) return 0;
    const auto& attrs = loop.attrs<WhileAttrs>();
    for (const Computation* called : {attrs.condition, attrs.body}) {
      for (const Instruction* inst : called->instructions()) {
        if (inst->Is(kOnlyNames) || inst->Is(Opcode::kConstant) || inst->Is(Opcode::kParameter)) continue;
        if (!IsLaunch(*inst) || !inst->control_predecessors().empty()) return 0;
        const auto known = code_.find(inst);
        const int64_t of_inst = inst->Is(Opcode::kWhile) ? (known == code_.end() ? 0 : known->second) : CodeOf(*inst);
        if (of_inst == 0) return 0;
        code += of_inst;
      }
    }
    return code;
  }

  const CostAnalysis costs_;
  const DeviceDescription& device_;
  std::unordered_map<const Instruction*, int64_t> code_;
};

class BlockFusion {
 public:
  BlockFusion(Computation& computation, Blocks& blocks) : graph_(computation), blocks_(blocks) {}

  // `taken`: computations of loops that are in a region now.
  bool Run(std::unordered_set<const Computation*>* taken) {
    for (const Instruction* launch : graph_.launches()) Place(*launch);
    return graph_.Build("block", [&](const std::vector<Instruction*>& group) {
      if (!runs_in_block_.contains(group.front()) || (group.size() == 1 && !group.front()->Is(Opcode::kWhile)))
        return false;
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
    const int64_t code = blocks_.CodeOf(launch);
    if (code == 0 || code > kMostInstructions) return;
    runs_in_block_.insert(&launch);
    for (const Instruction* producer : graph_.Producers(launch)) JoinIfItMay(*producer, launch);
    for (const Instruction* other : last_) JoinIfItMay(*other, launch);
    std::erase_if(last_, [&](const Instruction* other) { return graph_.AreOne(*other, launch); });
    last_.push_back(&launch);
    if (last_.size() > kGroupsAsked) last_.erase(last_.begin());
  }

  void JoinIfItMay(const Instruction& a, const Instruction& b) {
    if (!runs_in_block_.contains(&a) || graph_.AreOne(a, b)) return;
    const Size of_a = SizeOf(a), of_b = SizeOf(b);
    if (of_a.code + of_b.code > kMostInstructions || of_a.pointers + of_b.pointers > kMostPointers) return;
    if (graph_.CanJoin(a, b)) graph_.Join(a, b);
  }

  // Of a group, which is asked for by many and only grows.
  struct Size {
    size_t launches = 0;
    int64_t code = 0, pointers = 0;
  };
  Size SizeOf(const Instruction& launch) {
    const std::vector<Instruction*>& group = graph_.LaunchesOf(launch);
    Size& size = sizes_[&group];
    if (size.launches == group.size()) return size;
    size = {.launches = group.size(), .pointers = graph_.PointerCount(launch)};
    for (const Instruction* member : group) size.code += blocks_.CodeOf(*member);
    return size;
  }

  RegionGraph graph_;
  Blocks& blocks_;
  std::unordered_set<const Instruction*> runs_in_block_;
  std::unordered_map<const std::vector<Instruction*>*, Size> sizes_;
  std::vector<const Instruction*> last_;  // One of each of the last groups.
};

}  // namespace

Result<bool> FuseBlocks(Module& module, const PassContext& context) {
  Blocks blocks(module, *context.device);
  std::vector<Computation*> order = SequentialComputations(module);
  for (const Computation* computation : order) {  // Callees first.
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

}  // namespace hlo
