#include <algorithm>
#include <set>

#include "base/text.h"
#include "gpu/plan/launch_shape.h"
#include "gpu/plan/planner.h"
#include "gpu/plan/rows_space.h"
#include "gpu/plan/scalar.h"
#include "ir/fusion.h"

namespace hlo::gpu {
namespace {

using Kind = ElementNode::Kind;

// Limit of shared memory for kept values. On a GPU, reductions need the rest.
int64_t MostKeptBytes(const DeviceDescription& device) {
  constexpr int64_t kOfReductions = 27 << 10, kOnHost = 200 << 10;
  return device.shared_memory_bytes ? *device.shared_memory_bytes - kOfReductions : kOnHost;
}

// Chooses the row's values that stay on chip between passes. Costs are in additions. Keeping a value costs kWorthIt.
class Keeper {
 public:
  Keeper(const RowsSpace& space, const DeviceDescription& device) : space_(space), is_gpu_(device.is_gpu) {}

  std::vector<std::string> Run() {
    for (int pass = 1; pass < space_.passes; ++pass) {
      before_.clear();
      for (int earlier = 0; earlier < pass; ++earlier) {
        const std::vector<NodeId> nodes = space_.graph.Reachable(space_.InPass(earlier));
        before_.insert(nodes.begin(), nodes.end());
      }
      seen_.clear();
      for (const NodeId id : space_.InPass(pass)) Visit(id);
    }
    std::vector<std::string> names;
    for (const NodeId id : kept_) names.emplace_back(space_.graph.node(id).inst->name());
    return names;
  }

 private:
  static constexpr double kWorthIt = 4;
  // A GPU loads a row again in each pass, a host's cache holds it.
  static constexpr double kOfLoad = 100;

  void Visit(NodeId id) {
    if (!space_.VariesInRow(id) || !seen_.insert(id).second) return;
    if (before_.contains(id)) {
      if (CostOf(id) > kWorthIt) Keep(id);
      return;
    }
    for (const NodeId need : space_.graph.Needs(id)) Visit(need);
  }

  // Keeps the value. If it is cheap to compute from one costly operand, or from costly operands of fewer bytes, keeps
  // these instead.
  void Keep(NodeId id) {
    std::vector<NodeId> costly;
    double bytes = 0;
    for (const NodeId need : space_.graph.Needs(id)) {
      if (CostOf(need) <= kWorthIt) continue;
      costly.push_back(need);
      bytes += BytesOf(need);
    }
    const ElementNode& node = space_.graph.node(id);
    const bool is_own = OwnCost(node) >= kWorthIt || costly.empty() || (costly.size() > 1 && BytesOf(id) <= bytes);
    if (is_own && node.inst->shape().IsArray()) kept_.insert(id);
    if (is_own) return;
    for (const NodeId need : costly) Keep(need);
  }

  double BytesOf(NodeId id) const {
    const Shape& shape = space_.graph.node(id).inst->shape();
    return shape.IsArray() ? kernel::Bytes(KernelTypeOf(shape.type())) : 0;
  }

  double OwnCost(const ElementNode& node) const {
    switch (node.kind) {
      case Kind::kGiven:
      case Kind::kResult: return 0;
      // A cache of any device holds loaded values that are the same for all rows.
      case Kind::kLoad: return is_gpu_ && node.variables.size() > 1 ? kOfLoad : 0;
      case Kind::kScalar: return InstructionCost(*node.inst) + (RoundsToNarrow(*node.inst) ? kWorthIt - 1 : 0);
      case Kind::kReduce: return kWorthIt * static_cast<double>(std::max<size_t>(node.steps.size(), 1));
      case Kind::kPick: return kOfLoad;
      default: return 1;
    }
  }
  static bool RoundsToNarrow(const Instruction& inst) {
    const PrimitiveType type = inst.shape().type();
    return (type == PrimitiveType::kF16 || type == PrimitiveType::kBF16) && !inst.Is(Opcode::kSelect);
  }

  // Cost of computing the value from kept values.
  double CostOf(NodeId id) const {
    double cost = 0;
    std::set<NodeId> counted;
    std::vector<NodeId> stack = {id};
    while (!stack.empty()) {
      const NodeId each = stack.back();
      stack.pop_back();
      if (kept_.contains(each) || !space_.VariesInRow(each) || !counted.insert(each).second) continue;
      cost += OwnCost(space_.graph.node(each));
      for (const NodeId need : space_.graph.Needs(each)) stack.push_back(need);
    }
    return cost;
  }

  const RowsSpace& space_;
  const bool is_gpu_;
  std::set<NodeId> before_, seen_, kept_;
};

int64_t BytesOfRow(const RowsSpace& space, const std::vector<std::string>& kept) {
  int64_t bytes = 0;
  for (const RowsSpace::Kept& each : space.KeptOf(kept)) bytes += kernel::Bytes(each.type) * space.minor().size;
  return bytes;
}

// Drops the values that are cheapest to recompute until rows fit.
bool DropWhatDoesNotFit(const RowsSpace& space, int64_t rows, int64_t most_bytes, std::vector<std::string>& kept) {
  bool dropped = false;
  while (rows * BytesOfRow(space, kept) > most_bytes) {
    const auto worth = [&](const std::string& name) {
      const auto nodes = space.KeptOf({name});
      return nodes.empty() ? -1.0 : InstructionCost(*space.graph.node(nodes.front().node).inst);
    };
    kept.erase(std::ranges::min_element(kept, {}, worth));
    dropped = true;
  }
  return dropped;
}

}  // namespace

Result<PlanAnswer> PlanRows(PlanRequest& request) {
  const FusionBody& body = request.body();
  const std::vector<const Instruction*> heroes = StitchedReduces(body);
  if (heroes.empty() || heroes[0]->operand(0).shape().NumElements() == 0) return PlanAnswer{};
  PlanAnswer answer;
  if (body.HasComplex()) return PlanAnswer{.why = "it has complex numbers"};
  const auto space = TRY(RowsSpaceOf(body, heroes, &answer.why));
  if (space == nullptr) return answer;
  KernelPlan plan{.kind = KernelKind::kRows};
  for (const auto& hero : space->heroes) plan.heroes.emplace_back(hero.inst->name());
  plan.kept = Keeper(*space, request.device()).Run();
  ShapeRows(*space, request.device(), plan);
  if (DropWhatDoesNotFit(*space, plan.tile[0], MostKeptBytes(request.device()), plan.kept))
    answer.why =
        Str("rows of ", space->minor().size, " elements do not fit on chip, so they are read or computed again");
  answer.candidates = {{std::move(plan)}};
  return answer;
}

}  // namespace hlo::gpu
