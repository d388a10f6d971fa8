// row-fusion: joins kernels into a region "rows" if each computes a row of its results from the same row of the others'
// results, which stays on chip, as in a softmax.
//
// attention-fusion does the same for a softmax between two matrix products (a region "attention").
//
// The saved launches and traffic must outweigh multiprocessors that idle when rows are few.
#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/analysis/cost.h"
#include "ir/analysis/region.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/fusion/regions.h"
#include "passes/fusion/rows.h"
#include "passes/log_why.h"
#include "passes/pass.h"

namespace hlo {
namespace {

constexpr int64_t kMostInstructions = 4000;
constexpr int64_t kMostPointers = 128;
constexpr double kMostOfCluster = 1.4e6;  // Bytes of a row in a cluster of eight blocks, from sm_90 on.
constexpr double kMostOfCore = 1 << 20;   // Bytes of a host core's own cache.
constexpr double kBlocksOfCluster = 8;
constexpr double kMostOfHead = 256;  // Elements of a query, key or value.

bool IsDotCall(const Instruction& launch) { return IsFusion(launch) && LibraryOf(launch) == "gemm"; }

const Instruction& DotOf(const Instruction& call) {
  for (const Instruction* inst : FusedComputation(call).instructions()) {
    if (inst->Is(Opcode::kDot)) return *inst;
  }
  return FusedComputation(call).root();
}

class RowFusion {
 public:
  RowFusion(Computation& computation, const CostAnalysis& costs, const DeviceDescription& device, bool attention)
      : graph_(computation), costs_(costs), device_(device), attention_(attention), logs_(LOGS_WHY()) {}

  bool Run() {
    for (const Instruction* launch : graph_.launches()) {
      if (IsKernel(*launch) || (attention_ && IsDotCall(*launch))) Place(*launch);
    }
    return graph_.Build(attention_ ? "attention" : "rows", [&](const std::vector<Instruction*>& group) {
      if (group.size() < 2) return false;
      const std::string_view why_not = attention_ ? WhyNoAttention(group) : "";
      if (logs_ && attention_)
        Say(*group.front(), Str(why_not.empty() ? "=> a region of " : "makes no region of ", group.size(), " launches"),
            why_not.empty() ? "they are two products with a softmax between them" : why_not);
      return why_not.empty();
    });
  }

 private:
  struct Group {
    int64_t rows = 0;  // 0 for a single launch.
    int64_t code = 0;
    int64_t dots = 0;
  };

  void Place(const Instruction& launch) {
    groups_[&launch] = {.code = FusedComputation(launch).InstructionCount(), .dots = IsDotCall(launch)};
    for (const Instruction* producer : graph_.Producers(launch)) {
      if (groups_.contains(producer) && !graph_.AreOne(*producer, launch)) JoinIfItMay(*producer, launch);
    }
  }

  // groups_ is keyed by one launch of each group.
  Group& GroupOf(const Instruction& launch) { return groups_.at(graph_.LaunchesOf(launch).front()); }

  void Say(const Instruction& inst, std::string_view became, std::string_view why) const {
    LogWhy(attention_ ? "attention-fusion" : "row-fusion", inst, became, why);
  }

  void JoinIfItMay(const Instruction& producer, const Instruction& launch) {
    const std::string_view why_not = JoinOrWhyNot(producer, launch);
    if (!logs_) return;
    if (why_not.empty()) {
      Say(launch, Str("=> one region with ", producer.name()), "each of its rows needs only the same row of the other");
    } else {
      Say(launch, Str("stays apart from ", producer.name()), why_not);
    }
  }

  std::string_view JoinOrWhyNot(const Instruction& producer, const Instruction& launch) {
    const Group a = GroupOf(producer), b = GroupOf(launch);
    if (a.dots + b.dots > 2) return "together they have more than two products";
    if (attention_ && a.dots == 2) return "an attention ends with its second product";
    if (a.code + b.code > kMostInstructions) return "together they have more than 4000 instructions";
    if (graph_.PointerCount(producer) + graph_.PointerCount(launch) > kMostPointers)
      return "together they have more than 128 operands and results";
    std::vector<const Instruction*> both;
    for (const Instruction* one : {&producer, &launch}) {
      const std::vector<Instruction*>& launches = graph_.LaunchesOf(*one);
      both.insert(both.end(), launches.begin(), launches.end());
    }
    std::string_view why_not = "none of them reduces along rows";
    for (const int64_t rows : RowCountsOf(both)) {
      if (!MakeRows(both, rows)) {
        why_not = "a row of one needs more than the same row of the other";
        continue;
      }
      why_not = WhyNotWorthIt(both, rows);
      if (!why_not.empty()) continue;
      if (!graph_.CanJoin(producer, launch)) return "one depends on the other through a third launch";
      graph_.Join(producer, launch);
      GroupOf(launch) = {.rows = rows, .code = a.code + b.code, .dots = a.dots + b.dots};
      return "";
    }
    return why_not;
  }

  // Highest counts come first, because shorter rows need less on-chip memory.
  static std::vector<int64_t> RowCountsOf(const std::vector<const Instruction*>& launches) {
    std::vector<int64_t> counts;
    for (const Instruction* launch : launches) {
      for (const int64_t rows : RowCounts(*launch)) {
        if (std::ranges::find(counts, rows) == counts.end()) counts.push_back(rows);
      }
    }
    std::ranges::sort(counts, std::greater());
    return counts;
  }

  // The launch that computes `value`, or null if it is not in `launches`.
  static const Instruction* MakerOf(Instruction& value, const std::vector<const Instruction*>& launches) {
    const Instruction* maker = LaunchOf(value);
    return std::ranges::find(launches, maker) != launches.end() ? maker : nullptr;
  }

  static bool MakeRows(const std::vector<const Instruction*>& launches, int64_t rows) {
    std::unordered_set<const Instruction*> read;
    for (const Instruction* launch : launches) {
      for (Instruction* operand : launch->operands()) read.insert(MakerOf(*operand, launches));
    }
    return std::ranges::all_of(launches, [&](const Instruction* launch) {
      return MakesRows(*launch, rows, read.contains(launch),
                       [&](int64_t i) { return MakerOf(launch->operand(i), launches) != nullptr; });
    });
  }

  std::string_view WhyNotWorthIt(const std::vector<const Instruction*>& launches, int64_t rows) {
    double apart = 0, bytes = 0, on_chip = 0;
    std::unordered_map<const Instruction*, double> reads;
    for (const Instruction* launch : launches) {
      apart += device_.launch_seconds + costs_.CostOf(*launch).bytes() / device_.memory_rate;
      bytes += costs_.CostOf(*launch).bytes_written;
      for (int64_t i = 0; i < launch->operand_count(); ++i) {
        const double read = BytesRead(*launch, i);
        double& known = reads[&launch->operand(i)];
        if (MakerOf(launch->operand(i), launches) != nullptr) {
          if (known == 0) on_chip += read;
          if (known == 0 && !IsReadByOthers(launch->operand(i), launches)) bytes -= read;
          known = read;
          continue;
        }
        if (known > 0) on_chip += read;
        else bytes += read;
        known = std::max(known, read);
      }
    }
    const double row = on_chip / static_cast<double>(rows);
    const bool has_clusters = device_.compute_capability >= 90;
    const double block = device_.is_gpu ? static_cast<double>(device_.shared_memory_bytes.value_or(0)) : kMostOfCore;
    if (!attention_ && row > (has_clusters ? std::max(block, kMostOfCluster) : block))
      return has_clusters ? "a row does not fit into a cluster of blocks" : "a row does not fit into a block";
    const double blocks = static_cast<double>(rows) * (row > block && has_clusters ? kBlocksOfCluster : 1);
    const double filled = std::min(1.0, blocks / device_.multiprocessors);
    return device_.launch_seconds + bytes / (device_.memory_rate * filled) <= apart
               ? ""
               : "with so few rows, idle multiprocessors cost more time than the saved launch and memory traffic";
  }

  // Queries and keys have at most kMostOfHead elements. Instructions outside may read at most kMostOfHead elements per
  // row of the second product, and one per row of other values.
  std::string_view WhyNoAttention(const std::vector<Instruction*>& group) {
    const std::vector<const Instruction*> launches(group.begin(), group.end());
    int64_t dots = 0, reductions = 0;
    const Instruction* first = nullptr;  // The product that computes the scores.
    for (const Instruction* launch : launches) {
      if (!IsDotCall(*launch)) reductions += std::ssize(RowCounts(*launch));
      else if (++dots == 1) first = launch;
    }
    if (dots != 2) return "they do not have exactly two products";
    if (reductions == 0) return "nothing is reduced between the products";
    const Instruction& scores = DotOf(*first);
    double head = 1;
    for (const int64_t d : scores.attrs<DotAttrs>().lhs_contracting)
      head *= static_cast<double>(scores.operand(0).shape().dim(d));
    if (head > kMostOfHead) return "a query or key has more than 256 elements";
    const auto rows = static_cast<double>(GroupOf(*group.front()).rows);
    const bool stays_inside = std::ranges::all_of(launches, [&](const Instruction* launch) {
      const double most = IsDotCall(*launch) && launch != first ? kMostOfHead : 1;
      const auto escapes_long = [&](const Instruction& value) {
        return value.shape().IsArray() && IsReadByOthers(value, launches) &&
               static_cast<double>(value.shape().NumElements()) / rows > most;
      };
      if (!launch->shape().IsTuple()) return !escapes_long(*launch);
      return std::ranges::none_of(launch->users(), [&](const Instruction* user) { return escapes_long(*user); });
    });
    return stays_inside
               ? ""
               : "other instructions read values of the size of the scores, or with more than 256 elements per row";
  }

  RegionGraph graph_;
  const CostAnalysis& costs_;
  const DeviceDescription& device_;
  const bool attention_, logs_;
  std::unordered_map<const Instruction*, Group> groups_;
};

// Includes attention regions: if an attention runs as separate kernels, row-fusion can still join those.
std::vector<Computation*> ComputationsOfRows(const Module& module) {
  std::vector<Computation*> computations = SequentialComputations(module);
  for (size_t i = 0; i < computations.size(); ++i) {
    for (const Instruction* inst : computations[i]->instructions()) {
      if (RegionOf(*inst) == "attention") computations.push_back(inst->attrs<FusionAttrs>().calls);
    }
  }
  return computations;
}

Result<bool> Fuse(Module& module, const PassContext& context, bool attention) {
  const CostAnalysis costs(module);
  bool changed = false;
  for (Computation* computation : attention ? SequentialComputations(module) : ComputationsOfRows(module))
    changed |= RowFusion(*computation, costs, *context.device, attention).Run();
  return changed;
}

}  // namespace

Result<bool> FuseRows(Module& module, const PassContext& context) { return Fuse(module, context, /*attention=*/false); }
Result<bool> FuseAttention(Module& module, const PassContext& context) {
  return Fuse(module, context, /*attention=*/true);
}

}  // namespace hlo
